use cloister_protocol::link::Call;
use serde_json::json;

use super::*;

fn ran(command: &str, output: &str) -> Vec<Step> {
    let call = Call {
        id: "c1".into(),
        name: "bash".into(),
        arguments: json!({"command": command}).to_string(),
    };
    let outcome = Outcome { status: CallStatus::Ok, output: output.into() };
    vec![
        Step::Answer { text: String::new(), calls: vec![call] },
        Step::Call { call: "c1".into() },
        Step::Result { call: "c1".into(), outcome },
    ]
}

#[test]
fn a_step_is_its_command_and_what_came_back_to_the_letter() {
    let shown = list(Language::En, &ran("echo <b>\u{202e}x", "</pre><img src=x>")).into_string();
    assert!(shown.contains("<code>echo &lt;b&gt;⟨U+202E⟩x</code>"), "{shown}");
    assert!(shown.contains("data-status=\"ok\""), "{shown}");
    assert!(shown.contains("&lt;/pre&gt;&lt;img src=x&gt;") && !shown.contains("<img"), "{shown}");
}

#[test]
fn a_long_command_is_one_line_and_whole_below_it() {
    let shown = list(Language::En, &ran("cd /tmp\nrm -r old", "")).into_string();
    assert!(shown.contains("<code>cd /tmp …</code>"), "{shown}");
    assert!(shown.contains("cd /tmp\nrm -r old</pre>"), "{shown}");
}

#[test]
fn the_end_of_a_task_is_a_step_in_words() {
    let end = json!({"result": "It is done.\nAll of it.", "claims": []});
    assert_eq!(
        line("finish", &end),
        ("It is done. …".to_owned(), Some("It is done.\nAll of it.".to_owned()))
    );
}

#[test]
fn what_the_todos_show_already_is_no_step() {
    let todos = ToolCall {
        turn: None,
        task: None,
        id: "c".into(),
        name: UNSHOWN.into(),
        arguments: json!({}),
    };
    assert!(begun(Language::En, &todos).is_none());
    let call = ToolCall { name: "ls".into(), ..todos };
    let shown = begun(Language::En, &call).unwrap().into_string();
    assert!(shown.contains("<code>ls</code>") && shown.contains("running"), "{shown}");
}
