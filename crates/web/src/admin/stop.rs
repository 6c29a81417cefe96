//! The emergency stop.

use axum::extract::State as Extract;
use cloister_control::rows::Stop;
use cloister_policy::engine::PlatformCall;
use cloister_protocol::admin::{StopAll, StopView};

use super::authorise::Asker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, json};

pub(super) fn routes() -> Vec<Route> {
    use PlatformCall::{EmergencyRelease, EmergencyStop, ReadStatus};
    vec![
        Route::get("/admin/v1/stop", About::Platform(ReadStatus), show),
        Route::post("/admin/v1/stop", About::Platform(EmergencyStop), stop),
        Route::post("/admin/v1/release", About::Platform(EmergencyRelease), release),
    ]
}

fn view(stop: Stop) -> StopView {
    StopView {
        stopped: true,
        by: Some(stop.stopped_by),
        since: Some(time(stop.stopped_at)),
        reason: Some(stop.reason).filter(|reason| !reason.is_empty()),
        ..StopView::default()
    }
}

async fn show(Extract(admin): Extract<Admin>) -> Answer<StopView> {
    json(admin.control.stops().emergency_stop().await?.map(view).unwrap_or_default())
}

async fn stop(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(asked): Body<StopAll>,
) -> Answer<StopView> {
    let done = admin.control.stops().stop_all(asker.actor(), &asked.reason).await?;
    json(StopView { ended: done.ended, left: done.left, ..view(done.stop) })
}

/// Answers with what was stopped until now.
async fn release(Extract(admin): Extract<Admin>, asker: Asker) -> Answer<StopView> {
    let released = admin.control.stops().release_all(asker.actor()).await?;
    json(StopView { stopped: false, ..released.map(view).unwrap_or_default() })
}
