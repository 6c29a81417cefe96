use super::*;

#[test]
fn commands_are_told_from_talk() {
    assert_eq!(parse("/Status ").unwrap().verb, Some(Verb::Status));
    assert_eq!(parse("!cancel T3").unwrap().rest, "T3");
    assert!(parse("/frobnicate").unwrap().verb.is_none());
    for talk in ["status", "/etc/hosts is wrong", "/", "!?", "/new\nline", "and /help"] {
        assert!(parse(talk).is_none(), "{talk:?}");
    }
}

#[test]
fn every_command_is_found_by_its_name() {
    for command in COMMANDS {
        assert_eq!(parse(&format!("/{}", command.name)).unwrap().verb, Some(command.verb));
    }
}
