use cloister_protocol::link::{Call, Outcome};
use serde_json::json;

use super::*;

fn step(id: &str, name: &str, arguments: Value, status: CallStatus) -> [Step; 2] {
    let call = Call { id: id.into(), name: name.into(), arguments: arguments.to_string() };
    let outcome = Outcome { status, output: String::new() };
    [
        Step::Answer { text: String::new(), calls: vec![call] },
        Step::Result { call: id.into(), outcome },
    ]
}

#[test]
fn what_was_written_is_shown_line_by_line_and_what_failed_is_not() {
    let edit = json!({"path": "a.txt", "old": "one\ntwo", "new": "<b>"});
    let whole = json!({"file_path": "b.txt", "content": "x\ny\nz"});
    let failed = json!({"path": "c.txt", "old": "no", "new": "yes"});
    let mut steps = Vec::new();
    steps.extend(step("1", "edit_file", edit, CallStatus::Ok));
    steps.extend(step("2", "write_file", whole, CallStatus::Ok));
    steps.extend(step("3", "edit_file", failed, CallStatus::Failed));
    let page = shown(Language::En, &steps).into_string();
    assert!(
        page.contains("+1 −2") && page.contains("− two") && page.contains("+ &lt;b&gt;"),
        "{page}"
    );
    assert!(page.contains("written whole, +3 −0"), "{page}");
    assert!(!page.contains("c.txt") && !page.contains("commands and programs"), "{page}");
}

#[test]
fn what_the_ledger_cannot_know_is_said() {
    let steps = step("1", "bash", json!({"command": "make"}), CallStatus::Ok);
    let page = shown(Language::En, &steps).into_string();
    assert!(page.contains("is not listed") && !page.contains("Files that it wrote"), "{page}");
    assert_eq!(shown(Language::En, &[]).into_string(), "");
}
