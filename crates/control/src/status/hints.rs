//! What to do about what the log complains of.

use crate::metrics::RecentError;

/// What to do about what a connector complains of.
const CONNECTORS_HINT: &str = "`cloister doctor` says how each connector is doing and what to do";

/// What to do about a complaint of the log.
pub fn error_hint(error: &RecentError) -> &'static str {
    const HINTS: &[(&str, &str)] = &[
        ("did not start", "run `cloister doctor`; the fields have the launcher's words"),
        (
            "the coordinator",
            "its message is tried again by itself; if it comes often, look at its memory limit",
        ),
        ("an executor", "it is tried again by itself; `cloister task show` has what it did"),
        ("a connector", CONNECTORS_HINT),
        ("model", "run `cloister model test NAME`"),
        ("database", "look at the disk: `df -h` and `dmesg`"),
        ("quota", "`cloister user list` shows who is over it"),
        (
            "did not end in time",
            "they are taken up at the next start; `[work] drain_s` gives them longer",
        ),
    ];
    let known = HINTS.iter().find(|(word, _)| error.message.contains(word));
    if let Some((_, hint)) = known {
        return hint;
    }
    // Whatever a connector complains of says which surface's it is.
    match error.fields.starts_with("surface=") {
        true => CONNECTORS_HINT,
        false => "the log around that time says more (`CLOISTER_LOG=debug` says most)",
    }
}
