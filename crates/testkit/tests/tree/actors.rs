//! Every write says who acts, or stands in a reviewed list with the reason why it does not.

use std::collections::BTreeSet;

use super::{root, rust_files};

const REVIEWED: &str = include_str!("writes-without-an-actor.txt");
/// What writes are made with; no query of its own.
const MACHINERY: [&str; 2] = ["db.rs", "writer.rs"];

/// The functions of a file: their names, what they take, and their bodies.
fn functions(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    let begins = text.match_indices("async fn ").filter_map(|(at, _)| {
        let line = text.get(..at)?.rfind('\n')? + 1;
        let before = text.get(line..at)?;
        let indent = before.len() - before.trim_start().len();
        let rest = text.get(at + "async fn ".len()..)?;
        let end = rest.find(&format!("\n{}}}\n", " ".repeat(indent)))?;
        rest.get(..end)
    });
    begins.filter_map(|function| {
        let (name, _) = function.split_once(['(', '<'])?;
        let (taken, body) = function.split_once(" {\n")?;
        Some((name, taken, body))
    })
}

fn writes(body: &str) -> bool {
    const BEGIN: [&str; 6] = [
        ".begin()",
        ".begin_one()",
        ".begin_turn()",
        ".write_turn(",
        ".write_one(",
        ".beside.note(",
    ];
    BEGIN.iter().any(|begin| body.contains(begin))
}

/// Whoever writes says who acts, so that the audit can have it from there.
#[test]
fn a_write_without_an_actor_is_a_decision() {
    let src = root().join("crates/store/src");
    let (mut files, mut found, mut with) = (Vec::new(), BTreeSet::new(), 0);
    rust_files(&src, &mut files);
    for file in files {
        let name = file.strip_prefix(&src).unwrap().to_string_lossy().into_owned();
        if name.ends_with("_tests.rs") || MACHINERY.contains(&name.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for (function, taken, _) in functions(&text).filter(|(_, _, body)| writes(body)) {
            if taken.contains("Actor") {
                with += 1;
            } else {
                found.insert(format!("{name} {function}"));
            }
        }
    }
    assert!(with > 30, "the walk found only {with} writes with an actor");
    let lines = REVIEWED.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut reviewed = BTreeSet::new();
    for line in lines {
        let (write, reason) = line.split_once(": ").unwrap();
        assert!(!reason.trim().is_empty(), "{write} has no reason");
        assert!(reviewed.insert(write.to_owned()), "{write} is listed twice");
    }
    let new: Vec<_> = found.difference(&reviewed).collect();
    assert!(new.is_empty(), "let these take an `Actor`, or list them with a reason: {new:?}");
    let gone: Vec<_> = reviewed.difference(&found).collect();
    assert!(gone.is_empty(), "these are listed and are no such writes: {gone:?}");
}
