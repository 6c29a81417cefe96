use super::*;

#[test]
fn a_note_goes_behind_what_is_kept_on_a_line_of_its_own() {
    let text = |memory: &str, arguments: &str| match ask(memory, arguments).unwrap() {
        Asked::Propose { what: Lasting::Memory, path, text, .. } if path == FILE => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(text("", r#"{"note":"Ada likes\n# tea"}"#), "- Ada likes # tea\n");
    assert_eq!(text("# Mine\n- one\n\n", r#"{"fact":"two"}"#), "# Mine\n- one\n- two\n");
    assert!(ask("", r#"{"note":"  "}"#).is_err());
}
