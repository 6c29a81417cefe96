//! Whether the control plane can take work now, and what to do if not.

use std::time::Duration;

use cloister_protocol::with_causes;
use cloister_store::{StoreError, Trouble};
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::ports::CheckStatus;
use crate::status::Status;
use crate::status::watchdog;

/// How long the database may take to begin a write or to read, and a trial cell to start.
const PATIENCE: Duration = Duration::from_millis(900);
/// How long an answer is good for: anybody may ask, and that must cost nothing.
const FRESH: Duration = Duration::from_millis(500);
/// With less room than this nothing can be stored safely.
pub(crate) const LEAST_FREE: u64 = 64 << 20;

/// One thing that must be so.
#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    pub id: &'static str,
    pub ok: bool,
    pub found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Readiness {
    pub ready: bool,
    pub checks: Vec<Ready>,
}

/// What was found last.
#[derive(Debug, Default)]
pub(crate) struct LastChecks {
    found: Mutex<Option<(Instant, Vec<Ready>)>>,
}

impl LastChecks {
    async fn read(&self, status: &Status) -> Vec<Ready> {
        let mut found = self.found.lock().await;
        if let Some((at, checks)) = &*found
            && at.elapsed() < FRESH
        {
            return checks.clone();
        }
        let (writes, reads, cells) =
            tokio::join!(status.database_writes(), status.database_reads(), status.launches());
        let checks = vec![writes, reads, status.disk_room(), cells];
        *found = Some((Instant::now(), checks.clone()));
        checks
    }
}

impl Status {
    /// Looks at what a new message would need. Cheap, and never longer than two seconds.
    pub async fn readiness(&self) -> Readiness {
        let mut checks = vec![self.accepts(), self.nobody_holds_it()];
        checks.extend(self.control.inner.last_checks.read(self).await);
        Readiness { ready: checks.iter().all(|check| check.ok), checks }
    }

    fn accepts(&self) -> Ready {
        match self.control.closing() {
            false => good("accepting", "messages are taken"),
            true => bad(
                "accepting",
                "the control plane is stopping",
                "start it again with `cloister up`, or send traffic to another one",
            ),
        }
    }

    /// Whether everybody lets go of the database in time. This one does not touch it.
    fn nobody_holds_it(&self) -> Ready {
        let id = "database_held";
        let held = self.held_too_long();
        if held.is_empty() {
            return good(id, "nobody holds or waits for the database for long");
        }
        bad(
            id,
            watchdog::in_words(&held),
            "if the disk is fast (`iostat -x 1`) and no other program has the database open, keep the log, \
             report it, and start again with `cloister up`",
        )
    }

    async fn database_reads(&self) -> Ready {
        let id = "database_reads";
        // Damage is found by whoever reads the page that has it: the next check may read another one.
        if self.control.store().platform().trouble() == Some(Trouble::Damaged) {
            return bad(id, Trouble::Damaged.words(), Trouble::Damaged.fix());
        }
        match timeout(PATIENCE, self.control.store().platform().check_readable()).await {
            Ok(Ok(())) => good(id, "can be read"),
            Ok(Err(error)) => {
                tracing::error!(error = with_causes(&error), "the database can't be read");
                failed(id, "can't be read", &error)
            }
            Err(_late) => bad(
                id,
                "was not read in time",
                "too much is read at once or the disk is slow: look at `iostat -x 1`, or raise \
                 `[store] readers`",
            ),
        }
    }

    async fn database_writes(&self) -> Ready {
        let id = "database";
        match timeout(PATIENCE, self.control.store().platform().check_writable()).await {
            Ok(Ok(())) => good(id, "takes writes"),
            Ok(Err(error)) => {
                tracing::error!(error = with_causes(&error), "the database takes no writes");
                failed(id, "takes no writes", &error)
            }
            Err(_late) => bad(
                id,
                "did not begin a write in time",
                "the disk may be slow or stuck: look at `iostat -x 1` and `dmesg`",
            ),
        }
    }

    fn disk_room(&self) -> Ready {
        let id = "disk";
        match self.disk() {
            Ok((free, _)) if free >= LEAST_FREE => good(id, format!("{} MB free", free >> 20)),
            Ok((free, _)) => bad(
                id,
                format!("{} MB free", free >> 20),
                "make room where the data directory is (`df -h` and `du` show what takes it); work goes on by itself",
            ),
            Err(error) => bad(id, error.to_string(), "look at the data directory"),
        }
    }

    /// After a launch that failed a trial decides: else who is not ready would never be asked again.
    async fn launches(&self) -> Ready {
        let id = "cells";
        if !self.control.metrics().last_launch_failed() {
            return good(id, "can be launched");
        }
        let failed = match timeout(PATIENCE, self.control.backend().check()).await {
            Ok(checks) => checks.into_iter().find(|check| check.status == CheckStatus::Failed),
            Err(_late) => {
                let fix = "the machine is overloaded: look at `uptime`";
                return bad(id, "a trial cell did not start in time", fix);
            }
        };
        match failed {
            None => good(id, "the last one did not start, a trial one does"),
            Some(check) => {
                let fix = check.fix.unwrap_or_else(|| "run `cloister doctor`".to_owned());
                bad(id, format!("{}: {}", check.id, check.found), &fix)
            }
        }
    }
}

fn good(id: &'static str, found: impl Into<String>) -> Ready {
    Ready { id, ok: true, found: found.into(), fix: None }
}

/// What the database or its disk did not do, and what to do about it.
fn failed(id: &'static str, found: &str, error: &StoreError) -> Ready {
    match Trouble::of(error) {
        Some(trouble) => bad(id, format!("{found}: {}", trouble.words()), trouble.fix()),
        None => bad(id, found, "see the log; look at the disk with `df -h` and `dmesg`"),
    }
}

fn bad(id: &'static str, found: impl Into<String>, fix: &str) -> Ready {
    Ready { id, ok: false, found: found.into(), fix: Some(fix.to_owned()) }
}
