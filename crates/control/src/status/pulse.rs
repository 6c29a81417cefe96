//! Reading how things are going: bounded, and not more often than once a second.

use std::time::Duration;

use cloister_protocol::admin::ConnectorState;
use cloister_protocol::with_causes;
use cloister_store::connectors::ConnectorLoad;
use cloister_store::pulse::Pulse;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::metrics::{Connectors, Exposition, Gauges};
use crate::status::Status;
use crate::surfaces::Health;

/// How long a reading is good for.
const FRESH: Duration = Duration::from_secs(1);
/// How long the database may take for one.
const PATIENCE: Duration = Duration::from_secs(2);

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The newest reading.
#[derive(Debug, Default)]
pub(crate) struct LastPulse {
    read: Mutex<Option<(Instant, Option<Pulse>)>>,
}

impl Status {
    /// The numbers of the database, at most a second old; none if it did not answer in time.
    pub async fn pulse(&self) -> Option<Pulse> {
        let mut last = self.control.inner.last_pulse.read.lock().await;
        if let Some((at, pulse)) = *last
            && at.elapsed() < FRESH
        {
            return pulse;
        }
        let pulse = match timeout(PATIENCE, self.control.store().platform().pulse()).await {
            Ok(Ok(pulse)) => Some(pulse),
            Ok(Err(error)) => {
                tracing::error!(
                    error = with_causes(&error),
                    "the database could not be read for the status"
                );
                None
            }
            Err(_late) => {
                tracing::error!("the database took too long to read for the status");
                None
            }
        };
        *last = Some((Instant::now(), pulse));
        pulse
    }

    /// Everything that is measured, as Prometheus reads it.
    pub async fn metrics_text(&self) -> String {
        let now = self.control.store().clock.now_ms();
        let held = self.held_too_long();
        let waiting = held.iter().filter(|hold| hold.waits).count();
        let gauges = Gauges {
            held: (held.len() - waiting, waiting),
            pulse: self.pulse().await,
            now,
            live_cells: self.control.cells().live_cells().len(),
            running_executors: self.control.tasks().running_executors(),
            executor_limit: self.control.inner.parts.cells.executors,
            disk: self.disk().ok(),
            stopping: self.control.stopping(),
            stopped: self.control.stops().is_stopped(),
            started_at: started_at(now, self.control.metrics().uptime()),
        };
        let mut text = Exposition::default();
        self.control.metrics().expose(&mut text);
        gauges.expose(&mut text);
        if let Some(all) = self.connector_healths().await {
            Connectors { all, now }.expose(&mut text);
        }
        text.into_text()
    }

    /// Every connector, with how it is doing; none if the database did not answer in time.
    pub(crate) async fn connector_healths(&self) -> Option<Vec<(ConnectorLoad, Option<Health>)>> {
        let loads =
            match timeout(PATIENCE, self.control.store().conversations().connector_loads()).await {
                Ok(Ok(loads)) => loads,
                Ok(Err(error)) => {
                    tracing::error!(
                        error = with_causes(&error),
                        "the database could not be read for the connectors"
                    );
                    return None;
                }
                Err(_late) => return None,
            };
        let with_health = |load: ConnectorLoad| {
            let health = self.control.surfaces().health_of(load.connector);
            (load, health)
        };
        Some(loads.into_iter().map(with_health).collect())
    }

    /// Waits until connectors that are connected have told what there is to tell, and no longer than this.
    pub async fn tell_the_rest(&self, most: Duration) {
        let owes = |(load, health): &(ConnectorLoad, Option<Health>)| {
            let connected = |health: &Health| health.state == ConnectorState::Connected;
            load.waiting > 0 && health.as_ref().is_some_and(connected)
        };
        let told = async {
            while self.connector_healths().await.is_some_and(|all| all.iter().any(owes)) {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        if timeout(most, told).await.is_err() {
            tracing::info!("some of what people are to be told goes out after the next start");
        }
    }

    /// Free and whole bytes of the filesystem that the data is on.
    pub(crate) fn disk(&self) -> std::io::Result<(u64, u64)> {
        let stat = rustix::fs::statvfs(self.control.layout().root())?;
        Ok((
            stat.f_bavail.saturating_mul(stat.f_frsize),
            stat.f_blocks.saturating_mul(stat.f_frsize),
        ))
    }
}

/// Seconds since 1970.
fn started_at(now_ms: i64, uptime: Duration) -> f64 {
    let now = Duration::from_millis(u64::try_from(now_ms).unwrap_or(0));
    now.saturating_sub(uptime).as_secs_f64()
}
