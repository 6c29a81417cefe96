use cloister_protocol::link::{CallStatus, Outcome};

use super::*;

/// A ledger in which each of these commands ran and printed this.
fn ledger(ran: &[(&str, &str)]) -> Vec<Step> {
    let steps = ran.iter().enumerate().flat_map(|(at, (command, output))| {
        let id = format!("c{at}");
        let call =
            Call { id: id.clone(), name: "bash".to_owned(), arguments: (*command).to_owned() };
        let outcome = Outcome { status: CallStatus::Ok, output: (*output).to_owned() };
        [
            Step::Answer { text: String::new(), calls: vec![call] },
            Step::Call { call: id.clone() },
            Step::Result { call: id, outcome },
        ]
    });
    steps.collect()
}

#[test]
fn the_same_call_with_the_same_result_is_a_loop() {
    let found = looping(&ledger(&[("ls", "a"); MOST_REPEATS])).unwrap();
    assert_eq!((found.tool.as_str(), found.times), ("bash", MOST_REPEATS));
    assert!(found.to_string().contains("6 times"), "{found}");
    assert_eq!(looping(&ledger(&[("ls", "a"); MOST_REPEATS - 1])), None);
    assert!(ended_in_circles(&ledger(&[("ls", "a"); 4])));
}

#[test]
fn work_that_changes_something_is_none() {
    let outputs: Vec<String> = (0..20).map(|n| n.to_string()).collect();
    let polling: Vec<(&str, &str)> = outputs.iter().map(|output| ("ls", output.as_str())).collect();
    assert_eq!(looping(&ledger(&polling)), None);
    let commands: Vec<(&str, &str)> =
        outputs.iter().map(|command| (command.as_str(), "ok")).collect();
    assert_eq!(looping(&ledger(&commands)), None);
    assert!(!ended_in_circles(&ledger(&commands)));
}
