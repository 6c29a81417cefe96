use super::*;

fn menu() -> Vec<MenuItem> {
    let item = |item: cloister_control::MenuItem| MenuItem {
        name: item.name.to_owned(),
        usage: item.usage.to_owned(),
        help: item.help.to_owned(),
    };
    cloister_control::menu().map(item).collect()
}

fn names(scope: Scope) -> Vec<String> {
    commands(&menu(), scope, Language::English).into_iter().map(|command| command.command).collect()
}

/// X5: what is offered fits its place, and is what Telegram takes.
#[test]
fn each_scope_offers_what_is_of_use_there() {
    let private = names(Scope::Private);
    for name in
        ["start", "new", "archive", "rename", "chats", "clear", "status", "cancel", "settings"]
    {
        assert!(private.iter().any(|offered| offered == name), "{name} is not in {private:?}");
    }
    for name in ["task", "approve", "deny"] {
        for scope in Scope::ALL {
            assert!(names(scope).iter().any(|offered| offered == name), "{name} in {scope:?}");
        }
    }
    assert!(!names(Scope::Groups).iter().any(|name| name == "admin_channel" || name == "pair"));
    assert!(names(Scope::Admins).iter().any(|name| name == "admin_channel"));
    for scope in Scope::ALL {
        assert!(!names(scope).iter().any(|name| name == "stop"), "{scope:?}");
        for language in Language::ALL {
            for command in commands(&menu(), scope, language) {
                assert!(is_name(&command.command), "{}", command.command);
                let length = command.description.chars().count();
                assert!((1..=MAX_DESCRIPTION).contains(&length), "{}", command.command);
            }
        }
    }
}

/// Everything that is offered is offered in Russian, too, and nothing is translated that does not exist.
#[test]
fn everything_is_said_in_russian() {
    let offered = |item: &MenuItem| Scope::ALL.iter().any(|scope| scope.has(&item.name));
    for item in menu().into_iter().filter(offered) {
        assert!(RUSSIAN.iter().any(|(name, _)| *name == item.name), "{} is not", item.name);
    }
    for (name, _) in RUSSIAN {
        assert!(menu().iter().any(|item| item.name == *name), "there is no {name}");
    }
    for name in IN_GROUPS.iter().chain(FOR_ADMINS).chain(UNTOLD) {
        assert!(menu().iter().any(|item| item.name == *name), "there is no {name}");
    }
}
