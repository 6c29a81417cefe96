//! A message of the largest size, made of one thing over and over: each is read in the time that its length takes. Whoever
//! goes through the rest of it at every step takes minutes for one, on a worker that others wait for.

use std::sync::mpsc;
use std::time::Duration;

use cloister_protocol::Usage;
use cloister_protocol::link::{Call, CallStatus, Finish, Outcome, Step};

use super::Asked;
use super::phrase::Phrase;
use crate::not_shown;

const LARGEST: usize = 250_000;
/// Hundreds of times what it takes, and a small part of what it took.
const PATIENCE: Duration = Duration::from_secs(30);

fn in_time<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, heard) = mpsc::sync_channel(1);
    std::thread::spawn(move || done.send(work()));
    heard.recv_timeout(PATIENCE).unwrap_or_else(|_late| panic!("too slow: {what:?}"))
}

#[test]
fn any_message_is_read_in_the_time_that_its_length_takes() {
    let parts = [
        ">",
        "> ",
        "- ",
        "1. ",
        "`",
        "```",
        "~~~",
        "```\n",
        "~~~~\n```\n",
        "<q>",
        "<",
        "</pre>",
        "<!--",
        "&gt;",
        "\u{200b}",
        "\t",
        " ",
        "\n",
        "\r",
        "\u{2028}>",
        "a; ",
        "a. ",
        "a ",
        "a.",
        ". ",
        "a@b.c ",
        "https://a ",
        "a.b/",
        "#",
        "@",
        "(",
        "\"",
        "---------- forwarded message",
    ];
    let frames = [("x\n", "```"), ("```", "\nx"), ("> ", "~~~ x")];
    for (part, frame) in parts.into_iter().zip(frames.into_iter().cycle()) {
        for (head, tail) in [("", ""), frame] {
            let text = format!("{head}{}{tail}", part.repeat(LARGEST / part.len()));
            in_time(part, move || {
                let asked = Asked::from_words(&text);
                let quotes = Asked::quotes_others(&text);
                let phrase = Phrase::in_search(&text);
                let said = phrase.is_some_and(|phrase| asked.has_phrase(&phrase, None));
                let sent = Phrase::in_address(&text);
                (asked.has_saying(&text), said, sent, quotes)
            });
        }
    }
    let fences: String = (3..600).map(|n| format!("- {}\n", "`".repeat(n))).collect();
    let all = format!("{fences}{}", "- ~~~\n".repeat(10_000));
    in_time("kinds of fences", move || Asked::quotes_others(&all));
}

#[test]
fn any_report_is_checked_in_the_time_that_its_length_takes() {
    let call = |at: usize| Call {
        id: format!("c{at}"),
        name: "write_file".to_owned(),
        arguments: "x".repeat(60_000),
    };
    let outcome = || Outcome { status: CallStatus::Ok, output: String::new() };
    let mut ledger = Vec::new();
    for at in 0..20 {
        ledger.push(Step::Answer { text: String::new(), calls: vec![call(at)] });
        ledger.push(Step::Call { call: format!("c{at}") });
        ledger.push(Step::Result { call: format!("c{at}"), outcome: outcome() });
    }
    let names: String = (0..50_000).map(|n| format!("f{n}.a ")).collect();
    let finish = Finish {
        ok: true,
        result: format!("created {names}"),
        claims: Vec::new(),
        usage: Usage::default(),
    };
    let missing = in_time("a report", move || not_shown(&ledger, &finish));
    assert!(missing.iter().any(|said| said.contains("were not looked for")), "{missing:?}");
}
