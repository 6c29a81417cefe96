use super::*;

#[test]
fn a_name_in_any_script_becomes_one_for_commands_if_it_can() {
    let name = |called: &str| user_name_of(called).map(|name| name.to_string());
    for (called, expected) in [
        ("Zoë", "zoe"),
        ("Jörg Groß", "joerg-gross"),
        ("  Łukasz ", "lukasz"),
        ("O'Neill", "oneill"),
        ("R2-D2!", "r2-d2"),
    ] {
        assert_eq!(name(called).as_deref(), Some(expected), "{called}");
    }
    let long = name(&"n".repeat(99)).unwrap();
    assert_eq!(long.len(), MOST_NAME_CHARS);
    for called in ["Вася", "李", "42", "…"] {
        assert_eq!(name(called), None, "{called}");
    }
}
