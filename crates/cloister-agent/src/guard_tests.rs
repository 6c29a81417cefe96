use cloister_protocol::link::{CallStatus, Outcome, Step};

use super::*;

fn ledger(calls: &[(&str, &str, &str)]) -> Ledger {
    let mut ledger = Ledger::default();
    for (number, (name, arguments, output)) in calls.iter().enumerate() {
        let id = format!("c{number}");
        let call = Call { id: id.clone(), name: (*name).into(), arguments: (*arguments).into() };
        ledger.push(Step::Answer { text: String::new(), calls: vec![call] });
        let outcome = Outcome { status: CallStatus::Ok, output: (*output).into() };
        ledger.push(Step::Result { call: id, outcome });
    }
    ledger
}

const TURN: LoopLimits = LoopLimits { model_calls: 12, repeat: Repeat::Call, one_call: false };
const TASK: LoopLimits =
    LoopLimits { model_calls: 12, repeat: Repeat::CallAndResult, one_call: false };

#[test]
fn the_fourth_same_call_is_a_loop_however_it_is_written() {
    let three = [
        ("ls", r#"{"a":1,"b":2}"#, "x"),
        ("ls", r#"{"b":2, "a":1}"#, "y"),
        ("ls", "{\"a\":1,\n\"b\":2}", "z"),
    ];
    assert_eq!(check_repeats(&ledger(&three), TURN), None);
    let mut four = three.to_vec();
    four.push(("ls", r#"{ "b" : 2 , "a" : 1 }"#, "x"));
    let looping = check_repeats(&ledger(&four), TURN).unwrap();
    let told = looping.told(&Phrases::default());
    assert!(told.contains(r#"4 times without getting anywhere: ls {"a":1,"b":2}."#), "{told}");
}

#[test]
fn work_that_changes_something_is_no_loop() {
    let changing =
        [("bash", "{}", "1"), ("bash", "{}", "2"), ("bash", "{}", "3"), ("bash", "{}", "4")];
    assert_eq!(check_repeats(&ledger(&changing), TASK), None);
    let same = [("bash", "{}", "1"); 4];
    assert!(check_repeats(&ledger(&same), TASK).is_some());
}

#[test]
fn too_many_questions_to_the_model_are_a_loop() {
    let names: Vec<String> = (0..12).map(|n| format!("tool{n}")).collect();
    let calls: Vec<_> = names.iter().map(|name| (name.as_str(), "{}", "")).collect();
    assert_eq!(check_steps(&ledger(&calls[..11]), TURN), None);
    assert_eq!(check_steps(&ledger(&calls), TURN), Some(Looping::TooManySteps { steps: 12 }));
}
