use super::*;

#[test]
fn a_find_is_shown_with_what_stands_around_it() {
    assert_eq!(around("plant Beans", "beans"), "plant Beans");
    let long = format!("{} beans {}", "x".repeat(300), "y".repeat(300));
    let shown = around(&long, "beans");
    assert!(
        shown.starts_with("…x") && shown.ends_with("y…") && shown.contains(" beans "),
        "{shown}"
    );
    assert!(shown.chars().count() < 200);
}
