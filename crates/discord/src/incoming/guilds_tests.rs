use super::is_short_for;

#[test]
fn a_name_that_had_to_be_cut_renames_nothing() {
    let title = "a very long title ".repeat(10);
    let cut: String = title.chars().take(99).chain(['…']).collect();
    assert!(is_short_for(&cut, &title));
    assert!(is_short_for("holidays", "holidays"));
    assert!(!is_short_for("holi", "holidays"), "a short name was chosen by somebody");
    assert!(!is_short_for("other", &title));
}
