//! `cloister doctor`, of what is kept: whether the data directory can be written, has room, and its database is whole.

use std::path::Path;
use std::time::Duration;

use cloister_control::layout::Layout;
use cloister_control::ports::{Check, CheckStatus};
use cloister_protocol::with_causes;
use cloister_store::{Store, Trouble};
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use super::doctor::check;
use crate::output::CliError;

/// With less nothing can be stored safely: `up` is not ready then.
const LEAST_FREE_MB: u64 = 64;
/// How long a large database may take to be looked through.
const PATIENCE: Duration = Duration::from_secs(20);

/// The same where somebody waits for another answer.
const SHORT_PATIENCE: Duration = Duration::from_secs(3);

pub(super) async fn checks(data: &Path) -> Vec<Check> {
    if !data.is_dir() {
        return Vec::new();
    }
    let mut checks = vec![writable(data), room(data)];
    checks.extend(database(data).await);
    checks
}

/// What keeps a control plane from running on it, if that is how it is kept.
pub(crate) async fn trouble(data: &Path) -> Option<Check> {
    let checks = tokio::time::timeout(SHORT_PATIENCE, checks(data)).await.ok()?;
    checks.into_iter().find(|check| check.status == CheckStatus::Failed)
}

/// What runs on a damaged database would take messages that it can't answer.
pub(super) async fn refuse_damaged(data: &Path) -> Result<(), CliError> {
    let path = Layout::new(data).database();
    match tokio::time::timeout(PATIENCE, Store::check_file(&path)).await {
        Ok(Err(error)) if Trouble::of(&error) == Some(Trouble::Damaged) => Err(error.into()),
        // Whatever else there is, opening it says.
        Ok(_) => Ok(()),
        Err(_late) => {
            tracing::warn!(
                seconds = PATIENCE.as_secs(),
                "the database is too large to be looked through at the start; `cloister doctor` does it"
            );
            Ok(())
        }
    }
}

fn writable(data: &Path) -> Check {
    let id = "data.writable";
    let read_only = statvfs(data).is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY));
    if read_only || access(data, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return troubled(id, Trouble::ReadOnly, Trouble::ReadOnly.words().to_owned());
    }
    check(id, CheckStatus::Ok, "can be written")
}

fn room(data: &Path) -> Check {
    let id = "data.room";
    let free = match statvfs(data) {
        Ok(stat) => stat.f_bavail.saturating_mul(stat.f_frsize) >> 20,
        Err(error) => return check(id, CheckStatus::Note, format!("not known: {error}")),
    };
    let found = format!("{free} MB free");
    if free < LEAST_FREE_MB {
        return troubled(id, Trouble::Full, format!("{}: {found}", Trouble::Full.words()));
    }
    check(id, CheckStatus::Ok, found)
}

/// Nothing is said of one that is not there yet.
async fn database(data: &Path) -> Option<Check> {
    let (id, layout) = ("data.database", Layout::new(data));
    if let Err(lost) = crate::wiring::refuse_lost_database(&layout) {
        let found = check(id, CheckStatus::Failed, lost.body.message);
        return Some(Check { fix: lost.body.fix, ..found });
    }
    let path = layout.database();
    if !path.exists() {
        return None;
    }
    Some(match tokio::time::timeout(PATIENCE, Store::check_file(&path)).await {
        Ok(Ok(())) => check(id, CheckStatus::Ok, "whole"),
        Ok(Err(error)) => match Trouble::of(&error) {
            Some(trouble @ Trouble::Damaged) => {
                troubled(id, trouble, format!("{} ({})", trouble.words(), with_causes(&error)))
            }
            // What stands in the way of reading it has its own check.
            _ => check(id, CheckStatus::Note, format!("not looked at: {}", with_causes(&error))),
        },
        Err(_late) => {
            let found = format!("not looked through within {} s", PATIENCE.as_secs());
            check(id, CheckStatus::Note, found)
        }
    })
}

fn troubled(id: &'static str, trouble: Trouble, found: String) -> Check {
    Check { fix: Some(trouble.fix().to_owned()), ..check(id, CheckStatus::Failed, found) }
}
