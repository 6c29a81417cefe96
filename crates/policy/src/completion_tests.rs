use super::*;
use cloister_protocol::link::{Claim, Outcome};
use proptest::prelude::*;

fn ledger(calls: &[(&str, &str, &str, Option<CallStatus>)]) -> Vec<Step> {
    let mut steps = Vec::new();
    for (id, name, arguments, status) in calls {
        let call = Call { id: (*id).into(), name: (*name).into(), arguments: (*arguments).into() };
        steps.push(Step::Answer { text: String::new(), calls: vec![call] });
        steps.push(Step::Call { call: (*id).into() });
        if let Some(status) = status {
            let outcome = Outcome { status: *status, output: String::new() };
            steps.push(Step::Result { call: (*id).into(), outcome });
        }
    }
    steps
}

fn finish(result: &str) -> Finish {
    Finish { ok: true, result: result.into(), claims: vec![], usage: Default::default() }
}

#[test]
fn a_claim_that_the_ledger_shows_needs_no_remark() {
    let steps = ledger(&[("1", "write_file", r#"{"path":"report.md"}"#, Some(CallStatus::Ok))]);
    assert!(not_shown(&steps, &finish("I created report.md with the summary.")).is_empty());
}

#[test]
fn a_file_that_was_never_written_is_named() {
    let steps = ledger(&[("1", "bash", r#"{"command":"ls"}"#, Some(CallStatus::Ok))]);
    let missing = not_shown(&steps, &finish("I have saved the table to `out/table.csv`."));
    assert!(missing.iter().any(|m| m.contains("table.csv")), "{missing:?}");
}

#[test]
fn a_failed_write_does_not_count() {
    let steps = ledger(&[("1", "write_file", r#"{"path":"a.txt"}"#, Some(CallStatus::Failed))]);
    let missing = not_shown(&steps, &finish("Wrote a.txt."));
    assert_eq!(missing.len(), 2, "{missing:?}");
}

#[test]
fn done_without_any_step_is_said() {
    assert!(!not_shown(&[], &finish("Done! Everything is completed.")).is_empty());
    assert!(not_shown(&[], &finish("The capital of France is Paris.")).is_empty());
}

#[test]
fn green_tests_need_a_test_run() {
    let steps = ledger(&[("1", "bash", r#"{"command":"ls"}"#, Some(CallStatus::Ok))]);
    assert!(!not_shown(&steps, &finish("All tests pass.")).is_empty());
    let steps = ledger(&[("1", "bash", r#"{"command":"make test"}"#, Some(CallStatus::Ok))]);
    assert!(not_shown(&steps, &finish("All tests pass.")).is_empty());
}

#[test]
fn an_unknown_outcome_is_always_reported() {
    let steps = ledger(&[("1", "bash", r#"{"command":"pay"}"#, Some(CallStatus::Unknown))]);
    for ok in [true, false] {
        let missing = not_shown(&steps, &Finish { ok, ..finish("ok") });
        assert_eq!(missing, ["outcome unknown: bash “pay”"], "as people read it");
    }
}

#[test]
fn a_call_that_was_begun_and_has_no_result_is_unknown() {
    let mut steps = ledger(&[("1", "bash", r#"{"command":"pay"}"#, None)]);
    let ended = Finish { ok: false, ..finish("it took too long") };
    let missing = not_shown(&steps, &ended);
    assert!(missing.iter().any(|m| m.contains("outcome unknown")), "{missing:?}");
    steps.retain(|step| !matches!(step, Step::Call { .. }));
    assert_eq!(not_shown(&steps, &ended), [""; 0], "it was never begun");
}

#[test]
fn a_structured_claim_must_cite_a_step_that_succeeded() {
    let steps = ledger(&[
        ("1", "bash", "{}", Some(CallStatus::Ok)),
        ("2", "bash", "{}", Some(CallStatus::Failed)),
    ]);
    let claim = |call: Option<&str>| Claim { what: "it".into(), call: call.map(Into::into) };
    let with = |call| Finish { claims: vec![claim(call)], ..finish("ok") };
    assert!(not_shown(&steps, &with(Some("1"))).is_empty());
    for call in [Some("2"), Some("3"), None] {
        assert_eq!(not_shown(&steps, &with(call)).len(), 1, "{call:?}");
    }
}

#[test]
fn a_claim_in_words_is_shown_by_a_step_that_mentions_it() {
    let steps = ledger(&[
        ("1", "write_file", r#"{"path":"fib.py","content":"…"}"#, Some(CallStatus::Ok)),
        ("2", "write_file", r#"{"path":"chart.png"}"#, Some(CallStatus::Failed)),
    ]);
    let with = |what: &str, call: Option<&str>| {
        let claim = Claim { what: what.into(), call: call.map(Into::into) };
        not_shown(&steps, &Finish { claims: vec![claim], ..finish("ok") })
    };
    assert!(with("fib.py was made", None).is_empty());
    assert!(with("fib.py was made", Some("an id it made up")).is_empty());
    for unshown in ["chart.png was drawn", "a chart", "it"] {
        assert_eq!(with(unshown, None).len(), 1, "{unshown}");
    }
}

proptest! {
    #[test]
    fn any_text_is_judged_without_a_panic(result in ".{0,300}", arguments in ".{0,100}") {
        let steps = ledger(&[("1", "bash", &arguments, Some(CallStatus::Ok))]);
        let _judged = not_shown(&steps, &finish(&result));
    }
}

/// What a task changed is known better by its layer than by what its calls say.
#[test]
fn a_file_that_the_task_did_not_change_is_named() {
    let echo = r#"{"command":"python make.py report.pdf > out.csv && rm -f out.csv"}"#;
    let steps = ledger(&[("1", "bash", echo, Some(CallStatus::Ok))]);
    let told = |result: &str, changed: &[&str]| {
        let changed: Vec<String> = changed.iter().map(|path| (*path).to_owned()).collect();
        not_shown_beside(&steps, &finish(result), Some(&changed))
    };
    let missing = told("Saved the table to out.csv.", &[]);
    assert_eq!(missing, ["“out.csv”: no such file is among those that it changed"]);
    assert!(not_shown(&steps, &finish("Saved the table to out.csv.")).is_empty());
    assert!(told("Saved the table to out.csv.", &["tables/out.csv"]).is_empty());
    // What a program wrote is in no call.
    assert!(told("I created summary.md from report.pdf.", &["summary.md"]).is_empty());
    assert_eq!(told("I created summary.md from other.pdf.", &["summary.md"]).len(), 1);
    // What is gone or was sent was changed by nobody.
    assert!(told("I deleted out.csv.", &[]).is_empty());
    assert!(told("I sent report.pdf.", &[]).is_empty());
}
