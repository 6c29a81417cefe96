//! Connectors that live in this program: their calls and orders go straight to the other side, in the words of the
//! surface protocol.

use std::sync::{Arc, OnceLock};

use cloister_control::ports::SurfaceHost;
use cloister_control::{Control, Reach, RemoteHost, SurfaceDesk};
use cloister_kit::{Host, Line, News, Plane, serve};
use cloister_protocol::surface::{AnyCall, AnyOrder};
use cloister_protocol::{ErrorBody, ErrorCode};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;

/// Calls that go to the desk beside.
struct ToDesk(Arc<SurfaceDesk>);

impl Line for ToDesk {
    fn call(&self, call: AnyCall) -> BoxFuture<'_, Result<Value, ErrorBody>> {
        self.0.answer(call).boxed()
    }
}

/// Orders that go to the host beside, as soon as there is one.
struct ToHost<H>(OnceLock<Arc<H>>);

impl<H: Host> Reach for ToHost<H> {
    fn order(&self, order: AnyOrder) -> BoxFuture<'_, Result<Value, ErrorBody>> {
        match self.0.get() {
            Some(host) => serve(&**host, order).boxed(),
            None => {
                let message = "this surface is not there yet".to_owned();
                let code = ErrorCode::ShuttingDown;
                let body = ErrorBody { code, message, fix: None, retry_after_s: None };
                futures_util::future::ready(Err(body)).boxed()
            }
        }
    }
}

/// A surface whose connectors live in this program.
pub(crate) fn beside<H: Host>(
    control: &Control,
    surface: &'static str,
    host: impl FnOnce(Plane) -> Arc<H>,
) -> Arc<dyn SurfaceHost> {
    let reach = Arc::new(ToHost(OnceLock::new()));
    let desk = SurfaceDesk::new(control.clone(), surface, Arc::clone(&reach) as _);
    let news = News::new(control.stop_token());
    control.work_beside(pass_on(control, &news));
    let line = Arc::new(ToDesk(Arc::clone(&desk)));
    let (plane, teller) = Plane::new(surface, line, desk.settings(), news);
    control.work_beside(teller);
    reach.0.get_or_init(|| host(plane));
    RemoteHost::new(control.clone(), surface, reach, desk)
}

/// Lets connectors know what changes, until the control plane stops.
fn pass_on(control: &Control, news: &News) -> impl Future<Output = ()> + Send + 'static {
    let (mut chats, mut access) = (control.chat_changes(), control.access_changes());
    let (stop, news) = (control.stop_token(), news.clone());
    async move {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = chats.next() => news.chats_changed(),
                () = access.next() => news.access_changed(),
            }
        }
    }
}
