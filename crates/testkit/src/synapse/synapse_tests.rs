//! What is installed is what is looked for, and what is missing is said with what to do.

use std::path::PathBuf;

use super::{SynapseError, VERSION};

#[test]
fn the_script_installs_the_version_that_tests_use() {
    let script = include_str!("../../../../scripts/synapse");
    assert!(script.contains(&format!("version={VERSION}\n")), "{script}");
}

#[test]
fn a_missing_homeserver_is_told_with_what_to_do() {
    let told =
        SynapseError::NotInstalled { venv: PathBuf::from("target/synapse/venv") }.to_string();
    assert!(told.contains("scripts/synapse") && told.contains("make test"), "{told}");
}
