//! A message of the largest size, made of one thing over and over: each is read in the time that its length takes. Whoever
//! goes through the rest of it at every step takes minutes for one, on a worker that others wait for.

use std::sync::mpsc;
use std::time::Duration;

use cloister_protocol::link::{Call, CallStatus, Finish, Outcome, Step};
use cloister_protocol::{Usage, UserId};

use super::phrase::Phrase;
use super::{Address, Asked, Flow, Labels, Mark, Seen, Sink, TaskContext};
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
        "From: \n",
        "x@y wrote ",
        "](",
        "<a ",
        "„",
        "\"\n",
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

/// E57: an address that goes on from as many links as a page can have was compared with all that the person wrote once for
/// each of them, word by word.
#[test]
fn any_address_is_judged_in_the_time_that_its_length_takes() {
    let words = format!("look at evil.test for {}", "a ".repeat(LARGEST / 2));
    let asked = Asked::from_words(&words);
    let beside = |at: usize| format!("https://evil.test/?{at}");
    let above = |at: usize| format!("https://evil.test{}", "/a".repeat(at));
    let above = (0..2000).map(above).collect();
    let kinds: [(&str, Vec<String>); 2] =
        [("beside each other", (0..20_000).map(beside).collect()), ("below each other", above)];
    for (kind, links) in kinds {
        let mut seen = Seen::default();
        links.iter().for_each(|link| seen.link(link));
        let labels = Labels::of(Mark::web("https://evil.test/"));
        let context = TaskContext::resume(UserId::from_number(1), labels, asked.clone(), seen);
        let path = format!("{}/b", "/a".repeat(200));
        let to = Address::parse(&format!("https://evil.test{path}")).unwrap();
        let flow = in_time(kind, move || context.decide(&Sink::Read { to: &to }));
        assert!(matches!(flow, Flow::Ask { .. }), "{kind}");
    }
}

/// E56: so many links of the longest kind took eighty megabytes for each task, in memory and in the database.
#[test]
fn the_links_that_are_known_are_bounded() {
    let page = |number: usize| -> Seen {
        let long = "x".repeat(4000);
        let links = (0..400).map(|at| format!("https://evil.test/{number}/{at}/{long} "));
        let mut seen = Seen::default();
        seen.text(&links.collect::<String>());
        seen
    };
    let (mut all, mut kept) = (Seen::default(), 0);
    for number in 0..4 {
        let page = page(number);
        assert_eq!(page.links().count(), 400);
        let new: Vec<String> = all.new_in(&page).into_iter().map(ToString::to_string).collect();
        kept += new.iter().map(String::len).sum::<usize>();
        new.iter().for_each(|link| all.link(link));
        assert!(all.new_in(&page).is_empty(), "it is known, or there is no room for it");
    }
    assert!((3 << 20..5 << 20).contains(&kept), "{kept}");
    let bytes: usize = all.links().map(|link| link.to_string().len()).sum();
    assert_eq!(bytes, kept);
}
