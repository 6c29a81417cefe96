use super::*;

#[test]
fn commands_are_spelled_as_they_are_typed_there() {
    for (plain, elsewhere) in [
        ("/help lists them", "!help lists them"),
        ("try `/retry T1` (/tasks lists them)", "try `!retry T1` (!tasks lists them)"),
        ("did you mean /clear?", "did you mean !clear?"),
        ("/etc/hosts and /tmp/new", "/etc/hosts and /tmp/new"),
        ("https://example.org/new", "https://example.org/new"),
        ("/newest /new-thing /new_thing", "/newest /new-thing /new_thing"),
        ("either/new", "either/new"),
        ("“/allow é”", "“!allow é”"),
        ("", ""),
        ("/", "/"),
    ] {
        assert_eq!(spell_commands(CommandSign::Bang, plain), elsewhere);
        assert_eq!(spell_commands(CommandSign::Slash, plain), plain);
    }
}

#[test]
fn a_slip_is_recognised_and_a_word_is_not() {
    for (typed, meant) in [
        ("hlep", "help"),
        ("statsu", "status"),
        ("archiv", "archive"),
        ("aprove", "approve"),
        ("ye", "yes"),
        ("taks", "task"),
        ("tsaks", "tasks"),
        ("contxt", "context"),
    ] {
        assert_eq!(nearest(typed), Some(meant), "{typed}");
    }
    for other in ["frobnicate", "important", "q", "xy", ""] {
        assert_eq!(nearest(other), None, "{other}");
    }
}

#[test]
fn slips_are_counted() {
    for (typed, meant, count) in
        [("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("ab", "ba", 1), ("kitten", "sitting", 3)]
    {
        assert_eq!(slips(typed, meant), count, "{typed} {meant}");
    }
}
