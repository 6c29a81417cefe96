use super::*;

fn call(id: &str) -> Call {
    Call { id: id.into(), name: "bash".into(), arguments: "{}".into() }
}

fn answer(text: &str, calls: &[&str]) -> Step {
    Step::Answer { text: text.into(), calls: calls.iter().map(|id| call(id)).collect() }
}

fn begun(id: &str) -> Step {
    Step::Call { call: id.into() }
}

fn ended(id: &str, output: &str) -> Step {
    let outcome = Outcome { status: CallStatus::Ok, output: output.into() };
    Step::Result { call: id.into(), outcome }
}

#[test]
fn every_prefix_of_a_turn_has_one_next_move() {
    let steps = [
        answer("let me look", &["a", "b"]),
        begun("a"),
        ended("a", "1"),
        begun("b"),
        ended("b", "2"),
        answer("done", &[]),
    ];
    let moves = [
        Next::AskModel,
        Next::Start(call("a")),
        Next::Resume(call("a")),
        Next::Start(call("b")),
        Next::Resume(call("b")),
        Next::AskModel,
        Next::Done,
    ];
    for (length, expected) in moves.into_iter().enumerate() {
        let ledger = Ledger::new(steps[..length].to_vec());
        assert_eq!(ledger.next(), expected, "after {length} steps");
    }
}

#[test]
fn reused_call_ids_are_made_unique() {
    let ledger = Ledger::new(vec![answer("", &["x", "x-2"])]);
    let ids: Vec<String> = ledger
        .with_fresh_ids(vec![call("x"), call("x"), call("y")])
        .into_iter()
        .map(|c| c.id)
        .collect();
    assert_eq!(ids, ["x-3", "x-4", "y"]);
}

#[test]
fn old_outputs_are_shortened_and_new_ones_whole() {
    let ledger = Ledger::new(vec![
        answer("", &["a", "b"]),
        ended("a", &"o".repeat(1000)),
        ended("b", &"n".repeat(1000)),
    ]);
    let messages = ledger.messages(1500);
    assert_eq!(messages.len(), 3);
    let ChatMessage::Tool { content: old, .. } = &messages[1] else { panic!() };
    let ChatMessage::Tool { content: new, .. } = &messages[2] else { panic!() };
    assert!(old.contains("800 bytes left out"), "{old}");
    assert_eq!(new.len(), 1000);
}

#[test]
fn a_task_that_searches_the_web_is_research() {
    let mut ledger = Ledger::new(vec![answer("let me look", &["a"]), begun("a"), ended("a", "1")]);
    assert_eq!(ledger.kind(), None);
    let search = Call { id: "b".into(), name: WEB_SEARCH.into(), arguments: "{}".into() };
    ledger.push(Step::Answer { text: String::new(), calls: vec![search] });
    assert_eq!(ledger.kind(), Some(WorkKind::Research));
}

#[test]
fn what_is_shown_of_long_work_is_bounded_and_stays_the_same_for_several_steps() {
    let write = |n: usize| Call {
        id: format!("w{n}"),
        name: "write_file".into(),
        arguments: format!("{{\"content\":\"{}\",\"path\":\"f{n}\"}}", "c".repeat(1_000)),
    };
    let mut ledger = Ledger::default();
    let (mut before, mut kept) = (String::new(), 0);
    for n in 0..40 {
        ledger.push(Step::Answer { text: String::new(), calls: vec![write(n)] });
        ledger.push(ended(&format!("w{n}"), &"o".repeat(1_000)));
        let shown = serde_json::to_string(&ledger.messages(10_000)).unwrap();
        assert!(shown.len() < 10_000 + 40 * 600, "{} after {n}", shown.len());
        assert!(shown.contains(&format!("f{n}")) && shown.contains("f0"));
        kept += usize::from(shown.starts_with(before.trim_end_matches(']')));
        before = shown;
    }
    assert!(kept >= 24, "{kept} of 40 went on where the step before ended");
    // One that is larger than all there is room for is shown in part.
    let ledger = Ledger::new(vec![answer("", &["a"]), ended("a", &"o".repeat(50_000))]);
    let ChatMessage::Tool { content, .. } = &ledger.messages(10_000)[1] else { panic!() };
    assert!((5_000..6_000).contains(&content.len()), "{}", content.len());
}
