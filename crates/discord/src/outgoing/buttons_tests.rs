use super::*;

#[test]
fn buttons_stand_in_rows_and_more_than_fit_are_left_out() {
    let buttons: Vec<Button> =
        (0..40).map(|n| Button::command(format!("{n} {}", "x".repeat(100)), "/chats")).collect();
    let tokens: Vec<String> = (0..40).map(|n| format!("{n:022}")).collect();
    let rows = rows(&buttons, &tokens);
    assert_eq!(rows.len(), ROWS);
    for row in &rows {
        let inside = row["components"].as_array().unwrap();
        assert!(row["type"] == json!(1) && inside.len() == IN_A_ROW);
        for button in inside {
            let label = button["label"].as_str().unwrap();
            assert!(super::super::text::length(label) <= LONGEST_LABEL, "{label}");
            assert!(button["custom_id"].as_str().is_some_and(|id| id.len() <= 100));
        }
    }
    assert_eq!(
        super::rows(&[Button::command("", "/x")], &tokens)[0]["components"][0]["label"],
        json!("…")
    );
    assert!(super::rows(&[], &[]).is_empty());
}

#[test]
fn what_allows_and_what_refuses_look_different() {
    let approval = "A3".parse().unwrap();
    let styles = |answer: Answer| look(&Press::Answer { approval, answer });
    assert_eq!(styles(Answer::Allow), Look::Good);
    assert_eq!(styles(Answer::AllowAlways), Look::Plain);
    assert_eq!(styles(Answer::Deny), Look::Dangerous);
    assert_eq!(styles(Answer::DenyAndStop), Look::Dangerous);
    assert_eq!(capitalised("allow once"), "Allow once");
}
