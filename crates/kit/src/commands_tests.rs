use super::*;

fn commands() -> Commands {
    let item = |name: &str| MenuItem {
        name: name.to_owned(),
        usage: format!("/{name}"),
        help: String::new(),
    };
    Commands {
        menu: ["yes", "task", "admin_channel", "rename"].map(item).into(),
        urgent: vec!["yes".to_owned()],
    }
}

#[test]
fn commands_are_told_from_words() {
    for command in
        ["!yes", "/help", " !new a chat ", "/YES now", "/admin-channel enable", "/task a\nb"]
    {
        assert!(commands().is_command(command), "{command:?}");
    }
    for words in ["", "!", "! yes", "/etc/hosts", "!yes\nplease", "yes", "!!", "/ a", "/-", "/_x"] {
        assert!(!commands().is_command(words), "{words:?}");
    }
}

#[test]
fn what_helps_against_a_flood_is_urgent() {
    assert!(commands().is_urgent("/yes") && commands().is_urgent(" !YES please"));
    for words in ["/rename yes", "yes", "/yes\nplease", "/yesterday", "/"] {
        assert!(!commands().is_urgent(words), "{words:?}");
    }
}

#[test]
fn commands_are_spelled_as_the_surface_types_them() {
    let words = "say `/yes`, or /rename it; /etc/hosts and a/yes stay (/admin-channel too)";
    let spelled = "say `!yes`, or !rename it; /etc/hosts and a/yes stay (!admin-channel too)";
    assert_eq!(commands().spelled('!', words), spelled);
    assert_eq!(commands().spelled('/', words), words);
}
