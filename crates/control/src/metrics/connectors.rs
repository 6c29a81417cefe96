//! How connectors are doing, read each time somebody asks. Their labels name accounts of ours, and no
//! person's.

use cloister_protocol::admin::ConnectorState;
use cloister_store::connectors::ConnectorLoad;

use super::exposition::{Exposition, float};
use super::names;
use crate::surfaces::Health;

/// Every connector at one moment; none of them has a health while nothing was heard of it.
#[derive(Debug)]
pub(crate) struct Connectors {
    pub(crate) all: Vec<(ConnectorLoad, Option<Health>)>,
    /// Milliseconds since 1970.
    pub(crate) now: i64,
}

impl Connectors {
    pub(crate) fn expose(&self, to: &mut Exposition) {
        self.expose_states(to);
        let heard = |_: &ConnectorLoad, health: Option<&Health>| {
            health.and_then(|health| health.last_heard_at).map(|at| self.seconds_since(at))
        };
        self.expose_each(names::CONNECTOR_HEARD_SECONDS, to, heard);
        let conversations =
            |load: &ConnectorLoad, _: Option<&Health>| Some(whole(load.conversations));
        self.expose_each(names::CONNECTOR_CONVERSATIONS, to, conversations);
        let waiting = |load: &ConnectorLoad, _: Option<&Health>| Some(whole(load.waiting));
        self.expose_each(names::CONNECTOR_WAITING, to, waiting);
        let oldest = |load: &ConnectorLoad, _: Option<&Health>| {
            Some(load.oldest_waiting_at.map_or(0.0, |at| self.seconds_since(at)))
        };
        self.expose_each(names::CONNECTOR_OLDEST_WAITING, to, oldest);
    }

    fn expose_states(&self, to: &mut Exposition) {
        let mut values = Vec::new();
        for (load, health) in &self.all {
            let now = health.as_ref().map_or(ConnectorState::Starting, |health| health.state);
            for state in ConnectorState::ALL {
                let labels = [load.surface.as_str(), load.account.as_str(), state.as_str()];
                values.push((labels, f64::from(u8::from(state == now))));
            }
        }
        to.gauges_by(names::CONNECTOR_STATE, ["surface", "account", "state"], &values);
    }

    fn expose_each<'a>(
        &'a self,
        name: names::Name,
        to: &mut Exposition,
        value: impl Fn(&ConnectorLoad, Option<&Health>) -> Option<f64>,
    ) {
        let sample = |(load, health): &'a (ConnectorLoad, Option<Health>)| {
            let labels = [load.surface.as_str(), load.account.as_str()];
            Some((labels, value(load, health.as_ref())?))
        };
        let samples: Vec<([&str; 2], f64)> = self.all.iter().filter_map(sample).collect();
        to.gauges_by(name, ["surface", "account"], &samples);
    }

    fn seconds_since(&self, at: i64) -> f64 {
        whole(self.now.saturating_sub(at)) / 1e3
    }
}

fn whole(number: i64) -> f64 {
    float(u64::try_from(number).unwrap_or(0))
}
