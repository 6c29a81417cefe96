//! The steps that bring a database up to date, in their order.
//!
//! A database remembers the number, name and checksum of every step it took: a step that was released never
//! changes. Adding one: put its file into `migrations/` and its name at the end of the list; a test compares.

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// A file's name without its ending, and what is in it.
type MigrationStep = (&'static str, &'static str);

macro_rules! step {
    ($name:literal) => {
        ($name, include_str!(concat!("../migrations/", $name, ".sql")))
    };
}

const STEPS: &[MigrationStep] = &[
    step!("0001_spine"),
    step!("0002_egress"),
    step!("0003_chat_history"),
    step!("0004_start"),
    step!("0005_audit_chain_and_secrets"),
    step!("0006_gates"),
    step!("0007_people"),
    step!("0008_platform"),
    step!("0009_pki"),
    step!("0010_surfaces"),
    step!("0011_waiting_events"),
    step!("0012_trust"),
    step!("0013_buttons"),
    step!("0014_admin_hub"),
    step!("0015_choices"),
    step!("0016_relative_trust"),
    step!("0020_budget_questions"),
    step!("0021_lobbies"),
    step!("0022_surface_customs"),
    step!("0023_commands"),
    step!("0024_model_profiles"),
    step!("0030_pinned_chats"),
    step!("0031_model_choices"),
    step!("0032_languages"),
    step!("0035_shares"),
    step!("0036_work_kinds"),
    step!("0037_own_models"),
    step!("0038_display_names"),
    step!("0040_agents"),
    step!("0045_branches"),
    step!("0046_passed_on"),
    step!("0050_cached_tokens"),
    step!("0052_instead"),
    step!("0053_layers"),
    step!("0054_second_message"),
    step!("0055_task_documents"),
    step!("0056_retention"),
];

/// All of them.
pub(crate) fn all() -> Migrator {
    Migrator::with_migrations(STEPS.iter().filter_map(migration).collect())
}

/// `0003_chat_history` is step 3, "chat history".
fn migration((name, sql): &MigrationStep) -> Option<Migration> {
    let (number, words) = name.split_once('_')?;
    let description = words.replace('_', " ").into();
    let sql = SqlStr::from_static(sql);
    Some(Migration::new(number.parse().ok()?, description, MigrationType::Simple, sql, false))
}

#[cfg(test)]
#[path = "migrations_tests.rs"]
mod tests;
