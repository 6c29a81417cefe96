//! Connectors that stopped working, and those that work again.

use std::collections::HashMap;
use std::time::Duration;

use cloister_protocol::admin::ConnectorState;
use cloister_store::admin_hub::{AdminHub, Trouble};
use cloister_store::connectors::ConnectorId;
use tokio::time::Instant;

use crate::error::Fault;
use crate::surfaces::AdminHubs;
use crate::surfaces::{Health, words};

/// Networks fail for moments; what lasts longer is told.
const LASTS: Duration = Duration::from_secs(120);
/// How much of a reason is told, in characters.
const MAX_PROBLEM: usize = 300;

impl AdminHubs {
    /// Tells hubs what has changed since they were last told.
    pub(super) async fn tell_troubles(
        &self,
        hubs: &[AdminHub],
        unwell: &mut HashMap<ConnectorId, Instant>,
    ) -> Result<(), Fault> {
        let now = Instant::now();
        for known in self.control.store().outbox().troubles().await? {
            let Some(health) = self.control.surfaces().health_of(known.connector) else { continue };
            let Some(trouble) = trouble_of(known.connector, &health, unwell, now) else { continue };
            if known.told.as_deref() == trouble {
                continue;
            }
            let status = self.control.surfaces().typed(&known.surface, "status");
            let text = sentence(&known, &health, trouble, &status);
            let told = self
                .control
                .store()
                .outbox()
                .tell_trouble(known.connector, trouble, hubs, &text)
                .await?;
            self.say_all(told);
        }
        Ok(())
    }
}

/// What is to be known of a connector now (none: it works); no answer: that can't be said yet.
fn trouble_of(
    id: ConnectorId,
    health: &Health,
    unwell: &mut HashMap<ConnectorId, Instant>,
    now: Instant,
) -> Option<Option<&'static str>> {
    match health.state {
        ConnectorState::Connected => {
            unwell.remove(&id);
            Some(None)
        }
        ConnectorState::LoggedOut => Some(Some(ConnectorState::LoggedOut.as_str())),
        ConnectorState::Starting | ConnectorState::Retrying => {
            let since = *unwell.entry(id).or_insert(now);
            let lasts = now.saturating_duration_since(since) >= LASTS;
            lasts.then_some(Some(ConnectorState::Retrying.as_str()))
        }
    }
}

fn sentence(known: &Trouble, health: &Health, trouble: Option<&str>, status: &str) -> String {
    let Trouble { surface, account, .. } = known;
    if trouble.is_none() {
        return format!("**{surface} {account}** works again.");
    }
    let problem = match &health.problem {
        Some(problem) => format!(": {}", words::short(problem, MAX_PROBLEM)),
        None => String::new(),
    };
    format!(
        "**{surface} {account}** does not work ({}){problem}\n\n`{status}` says more.",
        health.state.words()
    )
}

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod tests;
