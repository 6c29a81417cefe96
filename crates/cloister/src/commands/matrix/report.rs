//! What `cloister matrix` tells people.

use std::fmt::Write as _;

use cloister_protocol::admin::{
    AddedConnector, ConnectorState, ConnectorView, ReconcileReport, ResetReport, Skipped,
};

use crate::output::{table, time};

/// Of a long list, what is shown to people; programs get all of it.
const SHOWN: usize = 20;

const NOT_RUNNING: &str = "not running";

/// As people write it.
fn address(view: &ConnectorView) -> &str {
    view.address.trim_end_matches('/')
}

/// `runs`: a control plane does; without one nothing is connected.
pub(super) fn list(accounts: &[ConnectorView], runs: bool) -> String {
    if accounts.is_empty() {
        return "No Matrix account is connected. `cloister matrix --help` says how to get there."
            .to_owned();
    }
    let row = |view: &ConnectorView| {
        vec![
            view.account.clone(),
            address(view).to_owned(),
            if runs { view.state.as_str() } else { NOT_RUNNING }.to_owned(),
            view.conversations.to_string(),
            view.waiting.to_string(),
            view.last_heard_at.map_or_else(|| "-".to_owned(), time),
        ]
    };
    let rows: Vec<Vec<String>> = accounts.iter().map(row).collect();
    let heads = ["ACCOUNT", "HOMESERVER", "STATE", "ROOMS", "WAITING", "LAST HEARD"];
    let mut text = table(&heads, &rows);
    for view in accounts {
        if let Some(problem) = &view.problem {
            text.push_str(&format!("{}: {problem}\n", view.account));
        }
    }
    text
}

pub(super) fn status(accounts: &[ConnectorView], runs: bool) -> String {
    if accounts.is_empty() {
        return list(accounts, runs);
    }
    let each: Vec<String> = accounts.iter().map(|view| one(view, runs)).collect();
    each.join("\n")
}

fn one(view: &ConnectorView, runs: bool) -> String {
    let state = if runs { view.state.words() } else { NOT_RUNNING };
    let mut text = format!("{} on {}: {state}\n", view.account, address(view));
    let mut fact = |name: &str, value: &str| {
        // Writing to a string can't fail.
        writeln!(text, "  {name:<18} {value}").ok();
    };
    if let Some(problem) = &view.problem {
        fact("problem", problem);
    } else if view.state == ConnectorState::LoggedOut {
        fact(
            "problem",
            &format!("connect it again: cloister matrix add --user {} …", view.account),
        );
    }
    for (name, value) in &view.facts {
        fact(name, value);
    }
    fact("rooms", &view.conversations.to_string());
    fact("waiting to be sent", &view.waiting.to_string());
    fact("last heard", &view.last_heard_at.map_or_else(|| "never".to_owned(), time));
    match &view.reconciled {
        None => fact("last comparison", "none since the start"),
        Some(report) => fact("last comparison", reconciled(report).trim_end()),
    }
    text
}

pub(super) fn added(added: &AddedConnector) -> String {
    let AddedConnector { view, recovery_key } = added;
    let mut text = match view.state {
        ConnectorState::Connected => {
            format!("{} is connected to {}.\n", view.account, address(view))
        }
        state => format!(
            "{} is logged in to {} ({}; `cloister matrix status` says how it goes on).\n",
            view.account,
            address(view),
            state.words()
        ),
    };
    if let Some(problem) = &view.problem {
        text.push_str(&format!("But: {problem}\n"));
    }
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

pub(super) fn removed(account: &str) -> String {
    format!(
        "{account} is logged out and forgotten, with its keys. Its rooms stay on the homeserver and its chats \
         stay here; what people were to be told there, they find on the web and in the terminal."
    )
}

pub(super) fn reconciled(report: &ReconcileReport) -> String {
    let mut text = format!(
        "{} rooms looked at in {} ms: {} restored, {} repaired, {} skipped, {} in conflict\n",
        report.looked_at,
        report.took_ms,
        report.restored.len(),
        report.repaired.len(),
        report.skipped.len(),
        report.conflicts.len()
    );
    names(&mut text, "restored", &report.restored);
    names(&mut text, "repaired", &report.repaired);
    reasons(&mut text, "skipped", &report.skipped);
    reasons(&mut text, "conflict", &report.conflicts);
    text
}

pub(super) fn reset(report: &ResetReport) -> String {
    let (forgotten, left) = (report.forgotten.len(), report.left.len());
    let mut text = if report.dry_run {
        format!(
            "Nothing was changed. It would forget {forgotten} here and leave {left} rooms on the homeserver.\n"
        )
    } else {
        format!("{forgotten} forgotten here, {left} rooms left on the homeserver.\n")
    };
    let (forget, leave) =
        if report.dry_run { ("would forget", "would leave") } else { ("forgotten", "left") };
    names(&mut text, forget, &report.forgotten);
    names(&mut text, leave, &report.left);
    reasons(&mut text, "failed", &report.failed);
    if !report.by_hand.is_empty() {
        text.push_str("What people must still do themselves:\n");
    }
    for step in &report.by_hand {
        text.push_str(&format!("  - {step}\n"));
    }
    text
}

fn names(text: &mut String, what: &str, names: &[String]) {
    for name in names.iter().take(SHOWN) {
        text.push_str(&format!("  {what}: {name}\n"));
    }
    more(text, what, names.len());
}

fn reasons(text: &mut String, what: &str, rooms: &[Skipped]) {
    for Skipped { room, why } in rooms.iter().take(SHOWN) {
        text.push_str(&format!("  {what}: {room}: {why}\n"));
    }
    more(text, what, rooms.len());
}

fn more(text: &mut String, what: &str, count: usize) {
    if let Some(more) = count.checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("  {what}: and {more} more (--json has all)\n"));
    }
}
