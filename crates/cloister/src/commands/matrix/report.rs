//! What only `cloister matrix` tells people.

use cloister_protocol::admin::{AddedConnector, ResetReport};

use crate::commands::connectors::{MATRIX, report};

pub(super) fn added(added: &AddedConnector) -> String {
    let AddedConnector { view, recovery_key } = added;
    let mut text = report::added(MATRIX, view);
    if let Some(key) = recovery_key {
        text.push_str(&format!(
            "\nIts recovery key, said this once:\n\n    {}\n\n\
             Keep it where you keep passwords, not on this machine. With it a new device of the bot reads \
             what was encrypted before (`cloister matrix add … --recovery-key-file FILE`); without it, if \
             this data directory is lost, nothing does.\n",
            key.expose()
        ));
    }
    text.push_str(&format!(
        "\nNext: write `pair` to {} from your own Matrix account, then `cloister pair CODE --user NAME`.\n",
        view.account
    ));
    text
}

pub(super) fn reset(done: &ResetReport) -> String {
    let (forgotten, left) = (done.forgotten.len(), done.left.len());
    let mut text = if done.dry_run {
        format!(
            "Nothing was changed. It would forget {forgotten} here and leave {left} rooms on the homeserver.\n"
        )
    } else {
        format!("{forgotten} forgotten here, {left} rooms left on the homeserver.\n")
    };
    let (forget, leave) =
        if done.dry_run { ("would forget", "would leave") } else { ("forgotten", "left") };
    report::names(&mut text, forget, &done.forgotten);
    report::names(&mut text, leave, &done.left);
    report::reasons(&mut text, "failed", &done.failed);
    if !done.by_hand.is_empty() {
        text.push_str("What people must still do themselves:\n");
    }
    for step in &done.by_hand {
        text.push_str(&format!("  - {step}\n"));
    }
    text
}
