//! What people are told about the bot accounts of a surface.

use std::fmt::Write as _;

use cloister_protocol::admin::{ConnectorState, ConnectorView, ReconcileReport, Skipped};

use super::Surface;
use crate::output::{table, time};

/// Of a long list, what is shown to people; programs get all of it.
const SHOWN: usize = 20;

const NOT_RUNNING: &str = "not running";

/// As people write it.
pub(crate) fn address(view: &ConnectorView) -> &str {
    view.address.trim_end_matches('/')
}

/// `runs`: a control plane does; without one nothing is connected.
pub(crate) fn list(surface: Surface, accounts: &[ConnectorView], runs: bool) -> String {
    if accounts.is_empty() {
        let Surface { name, title, .. } = surface;
        let command = if surface.own { "connector" } else { name };
        return format!(
            "No {title} account is connected. `cloister {command} --help` says how to get there."
        );
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
    let (server, places) = (surface.server.to_uppercase(), surface.places.to_uppercase());
    let heads = ["ACCOUNT", &server, "STATE", &places, "WAITING", "LAST HEARD"];
    let mut text = table(&heads, &rows);
    for view in accounts {
        if let Some(problem) = &view.problem {
            text.push_str(&format!("{}: {problem}\n", view.account));
        }
    }
    text
}

pub(crate) fn status(surface: Surface, accounts: &[ConnectorView], runs: bool) -> String {
    if accounts.is_empty() {
        return list(surface, accounts, runs);
    }
    let each: Vec<String> = accounts.iter().map(|view| one(surface, view, runs)).collect();
    each.join("\n")
}

fn one(surface: Surface, view: &ConnectorView, runs: bool) -> String {
    let state = if runs { view.state.words() } else { NOT_RUNNING };
    let mut text = format!("{} on {}: {state}\n", view.account, address(view));
    let mut fact = |name: &str, value: &str| {
        // Writing to a string can't fail.
        writeln!(text, "  {name:<18} {value}").ok();
    };
    if let Some(problem) = &view.problem {
        fact("problem", problem);
    } else if view.state == ConnectorState::LoggedOut {
        fact("problem", &format!("connect it again: {}", surface.connect_again(&view.account)));
    }
    for (name, value) in &view.facts {
        fact(name, value);
    }
    fact(surface.places, &view.conversations.to_string());
    fact("waiting to be sent", &view.waiting.to_string());
    fact("last heard", &view.last_heard_at.map_or_else(|| "never".to_owned(), time));
    match &view.reconciled {
        None if surface.compares => fact("last comparison", "none since the start"),
        None => {}
        Some(report) => fact("last comparison", reconciled(report).trim_end()),
    }
    text
}

/// The beginning of what is said about an account that was added.
pub(crate) fn added(surface: Surface, view: &ConnectorView) -> String {
    let mut text = match view.state {
        ConnectorState::Connected => {
            format!("{} is connected to {}.\n", view.account, address(view))
        }
        state => format!(
            "{} is logged in to {} ({}; `{}` says how it goes on).\n",
            view.account,
            address(view),
            state.words(),
            surface.typed("status")
        ),
    };
    if let Some(problem) = &view.problem {
        text.push_str(&format!("But: {problem}\n"));
    }
    text
}

pub(crate) fn removed(surface: Surface, account: &str) -> String {
    let Surface { title, server, places, gone, .. } = surface;
    let there = if server == "server" { title.to_owned() } else { format!("the {server}") };
    format!(
        "{account} is {gone}. Its {places} stay on {there} and its chats \
         stay here; what people were to be told there, they find on the web and in the terminal."
    )
}

pub(crate) fn reconciled(report: &ReconcileReport) -> String {
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

pub(crate) fn names(text: &mut String, what: &str, names: &[String]) {
    for name in names.iter().take(SHOWN) {
        text.push_str(&format!("  {what}: {name}\n"));
    }
    more(text, what, names.len());
}

pub(crate) fn reasons(text: &mut String, what: &str, rooms: &[Skipped]) {
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
