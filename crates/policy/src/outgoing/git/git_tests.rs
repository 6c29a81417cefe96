use proptest::prelude::*;

use super::asks::Asks;
use super::*;
use crate::egress::{Destination, Scheme};
use crate::outgoing::Outgoing;

const PLACE: &str = "https://git.test/a.git";

fn line(text: &str) -> String {
    format!("{:04x}{text}", text.len() + 4)
}

fn id(number: u32) -> String {
    format!("{number:040x}")
}

/// What a repository with these branches answers.
fn offers(count: u32) -> Repositories {
    let mut known = Repositories::default();
    let first = format!(
        "{}0000{}{}",
        line("# service=git-upload-pack\n"),
        line("version 2\n"),
        line("agent=git/2.47.3-Linux\n")
    );
    known.learn(PLACE, format!("{first}{}0000", line("object-format=sha1\n")).as_bytes());
    let refs: String =
        (0..count).map(|n| line(&format!("{} refs/heads/b{n}\n", id(n + 10)))).collect();
    let head = line(&format!("{} HEAD symref-target:refs/heads/b0\n", id(10)));
    known.learn(PLACE, format!("{head}{refs}0000").as_bytes());
    known
}

fn post(body: &str, known: &Repositories) -> Outgoing {
    let to = Destination {
        scheme: Scheme::Https,
        host: "git.test".parse().unwrap(),
        port: 443,
        path: "/a.git/git-upload-pack".to_owned(),
    };
    let headers = [
        ("Content-Type".to_owned(), REQUEST_TYPE.to_owned()),
        ("User-Agent".to_owned(), "git/2.1.secret".to_owned()),
    ];
    let body = Bytes::copy_from_slice(body.as_bytes());
    let draft = Draft {
        method: "POST",
        to: &to,
        query: None,
        headers: &headers,
        body: &body,
        secrets: &[],
    };
    Outgoing::rebuild(&draft, Content::Foreign(known)).unwrap()
}

fn fetch(more: &[String]) -> String {
    let head = [
        line("command=fetch"),
        line("agent=git/2.47.3-Linux"),
        line("object-format=sha1"),
        "0001".into(),
    ];
    let args = [line("thin-pack"), line("ofs-delta")];
    format!("{}{}{}0000", head.concat(), args.concat(), more.concat())
}

/// Ids that nobody offered are data.
#[test]
fn only_what_was_offered_is_wanted() {
    let known = offers(3);
    let clone = |ids: &[u32]| {
        let wants = ids.iter().map(|n| line(&format!("want {}\n", id(*n))));
        post(&fetch(&wants.chain([line("done\n")]).collect::<Vec<_>>()), &known)
    };
    let read = clone(&[10, 11, 12]);
    assert!(read.git().is_some());
    let said = String::from_utf8(read.body().to_vec()).unwrap();
    assert!(said.contains(&id(11)) && said.ends_with("0009done\n0000"), "{said}");
    assert!(!said.contains("Linux"), "{said}");
    assert!(clone(&[4711]).git().is_none());
    assert!(clone(&[10, 4711]).git().is_none());
    let elsewhere = Repositories::default();
    assert!(post(&fetch(&[line(&format!("want {}\n", id(10)))]), &elsewhere).git().is_none());
}

/// What a clone has already is not told: one line that means nothing stands for all of it.
#[test]
fn what_a_clone_has_does_not_leave() {
    let known = offers(1);
    let want = line(&format!("want {}\n", id(10)));
    let haves = |ids: &[u32]| {
        let haves = ids.iter().map(|n| line(&format!("have {}\n", id(*n))));
        let lines: Vec<String> = std::iter::once(want.clone()).chain(haves).collect();
        post(&fetch(&lines), &known)
    };
    assert_eq!(haves(&[77, 78]), haves(&[99]));
    assert!(haves(&[77]).git().is_some());
    assert!(!String::from_utf8_lossy(haves(&[77]).body()).contains(&id(77)));
}

#[test]
fn what_there_is_is_asked_for_in_one_way() {
    let known = offers(1);
    let ls = |args: &[&str]| {
        let args: String = args.iter().map(|arg| line(arg)).collect();
        post(&format!("{}{}0001{args}0000", line("command=ls-refs\n"), line("agent=git/1")), &known)
    };
    let plain = ls(&["peel", "symrefs"]);
    assert!(plain.git().is_some_and(|read| read.lists));
    assert_eq!(
        plain,
        ls(&["symrefs", "peel", "unborn", "ref-prefix refs/heads/secret", "ref-prefix x"])
    );
    assert!(ls(&["secret"]).git().is_none());
    assert!(ls(&["peel", "a b"]).git().is_none());
}

#[test]
fn what_else_is_in_a_body_makes_it_none_of_gits() {
    let known = offers(1);
    let want = line(&format!("want {}\n", id(10)));
    for more in [
        "secret",
        "want secret",
        "have x",
        "deepen secret",
        "deepen 99999",
        "filter blob:limit=4711",
        "shallow 1",
    ] {
        let body = fetch(&[want.clone(), line(more)]);
        assert!(post(&body, &known).git().is_none(), "{more}");
    }
    let good = fetch(&[want.clone(), line("deepen 1"), line("filter blob:none"), line("done\n")]);
    assert!(post(&good, &known).git().is_some());
    for bad in [
        format!("{good}x"),
        format!("0003{good}"),
        good.replace("0000", "+000"),
        String::new(),
        "0000".to_owned(),
    ] {
        assert!(post(&bad, &known).git().is_none(), "{bad}");
    }
    // The first version of the protocol, with the ids that git itself would send.
    let first = format!(
        "{}00000009done\n",
        line(&format!(
            "want {} multi_ack_detailed no-done side-band-64k thin-pack ofs-delta agent=git/2\n",
            id(10)
        ))
    );
    let read = post(&first, &known);
    let said = String::from_utf8(read.body().to_vec()).unwrap();
    assert!(read.git().is_some() && said.ends_with("00000009done\n"), "{said}");
    assert!(
        said.contains("multi_ack_detailed no-done side-band-64k no-progress include-tag ofs-delta")
    );
}

/// Which of the offered ones is wanted says something, and is counted; all of them, or the first, say nothing.
#[test]
fn choosing_among_what_is_offered_is_counted() {
    let known = offers(64);
    let bits = |ids: &[u32]| {
        let wants = ids.iter().map(|n| line(&format!("want {}\n", id(*n))));
        post(&fetch(&wants.collect::<Vec<_>>()), &known).git().unwrap().bits
    };
    let all: Vec<u32> = (10..74).collect();
    assert_eq!(bits(&all), 8);
    assert_eq!(bits(&[10]), 8);
    assert_eq!(bits(&[11]), 14);
    assert_eq!(bits(&(10..42).collect::<Vec<u32>>()), 3 + 64 + 5, "as many as there are");
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in proptest::collection::vec(any::<u8>(), 0..200), answer in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut known = offers(2);
        known.learn(PLACE, &answer);
        let _asks = Asks::parse(&body);
    }

    /// Whatever agent, order, repetition and version of a line a cell chooses: one clone is one request.
    #[test]
    fn every_spelling_of_a_clone_is_one(order in Just(vec![10_u32, 11, 12]).prop_shuffle(), agent in "[!-~]{1,40}", twice in any::<bool>(), caps in proptest::sample::subsequence(vec!["thin-pack", "ofs-delta", "no-progress", "include-tag"], 0..4)) {
        let known = offers(3);
        let mut wants: Vec<String> = order.iter().map(|n| line(&format!("want {}\n", id(*n)))).collect();
        if twice {
            wants.extend(wants.clone());
        }
        let head = [line("command=fetch\n"), line(&format!("agent={agent}")), line("session-id=abc"), "0001".into()];
        let caps = caps.iter().map(|cap| line(cap));
        let body = format!("{}{}{}{}0000", head.concat(), caps.collect::<String>(), wants.concat(), line("done"));
        let usual = [10, 11, 12].map(|n| line(&format!("want {}\n", id(n))));
        let plain = post(&fetch(&[usual.concat(), line("done\n")]), &known);
        prop_assert_eq!(post(&body, &known), plain);
    }
}

/// E57: for each request the six usual sets were made of all that is offered: of a hostile repository with as much as is
/// kept, one want took as long as reading two megabytes.
#[test]
fn a_short_request_costs_little_however_much_is_offered() {
    let known = offers(90_000);
    let body = fetch(&[line(&format!("want {}\n", id(4_711))), line("done\n")]);
    let (told, heard) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let read = (0..300).filter(|_| post(&body, &known).git().is_some());
        told.send(read.count())
    });
    let read = heard.recv_timeout(std::time::Duration::from_secs(30)).expect("too slow");
    assert_eq!(read, 300);
}

/// E56: thirty-two repositories of a hostile server, each with as much as one may have, took half a gigabyte for each
/// task.
#[test]
fn what_is_offered_to_a_task_is_bounded() {
    let mut known = Repositories::default();
    let refs: String = (0..90_000).map(|n| line(&format!("{} refs/heads/b{n}\n", id(n)))).collect();
    let places: Vec<String> = (0..4).map(|n| format!("https://git.test/{n}.git")).collect();
    for place in &places {
        known.learn(place, format!("{refs}0000").as_bytes());
        assert!(known.knows(place), "the newest one is known");
    }
    assert_eq!(places.iter().filter(|place| known.knows(place)).count(), 2);
}
