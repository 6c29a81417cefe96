use super::*;

fn item(name: &str, usage: &str, help: &str) -> MenuItem {
    MenuItem { name: name.to_owned(), usage: usage.to_owned(), help: help.to_owned() }
}

/// Those that there are.
fn commands() -> Commands {
    let menu = cloister_control::menu().map(|told| item(told.name, told.usage, told.help));
    Commands { menu: menu.collect(), urgent: Vec::new() }
}

#[test]
fn every_command_is_told_as_discord_takes_it() {
    let all = all(&commands());
    assert!(all.len() > 15 && all.len() <= MOST_COMMANDS);
    for command in &all {
        let name = text(command, "name");
        let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        assert!((1..=32).contains(&name.len()) && name.chars().all(fine), "{name}");
        let described =
            |value: &Value| (1..=100).contains(&text(value, "description").chars().count());
        assert!(described(command), "{name}");
        let options = list(command, "options");
        assert!(options.len() <= 25 && options.iter().all(described), "{name}");
        // What must be given comes first.
        let required: Vec<bool> =
            options.iter().map(|option| option["required"].as_bool().unwrap()).collect();
        assert!(required.is_sorted_by(|a, b| a >= b), "{name}");
        for option in options {
            assert!(text(option, "name").chars().all(fine));
            assert!(option.get("choices").is_none() || option.get("autocomplete").is_none());
        }
        assert_eq!(command["contexts"], json!([0, 1]));
    }
    // X6: the commands that it names and that exist.
    let named = ["task", "status", "approve", "deny", "chats", "new", "cancel", "settings"];
    for name in named.into_iter().chain(["admin-channel"]) {
        assert!(all.iter().any(|command| text(command, "name") == name), "{name}");
    }
}

#[test]
fn every_option_is_of_a_command_that_exists() {
    for (name, _) in OPTIONS {
        assert!(known(&commands(), name).is_some(), "{name}");
    }
}

/// The control plane may be newer, and say more than Discord takes.
#[test]
fn no_more_is_told_than_discord_takes() {
    let long = item("greet", "/greet", &"äh ".repeat(60));
    let many = Commands { menu: vec![long; MOST_COMMANDS + 1], urgent: Vec::new() };
    let all = all(&many);
    assert_eq!(all.len(), MOST_COMMANDS);
    assert_eq!(text(&all[0], "description").chars().count(), MAX_DESCRIPTION);
}

#[test]
fn a_command_that_the_table_does_not_know_takes_its_words() {
    let options = |usage: &str| -> Vec<(String, Value)> {
        let told = command(&item("greet", usage, "greets"));
        let options = list(&told, "options").iter();
        options.map(|option| (text(option, "name"), option["required"].clone())).collect()
    };
    assert_eq!(options("/greet NAME"), [("words".to_owned(), json!(true))]);
    assert_eq!(options("/greet [NAME]"), [("words".to_owned(), json!(false))]);
    assert!(options("/greet").is_empty());
    let menu = vec![item("greet", "/greet NAME", "greets")];
    let typed = typed(&Commands { menu, urgent: Vec::new() }, "greet", &[("words", "Ann")]);
    assert_eq!(typed.as_deref(), Some("/greet Ann"));
}

#[test]
fn a_slash_command_is_what_would_be_typed() {
    let there = commands();
    let typed = |name, values: &[(&str, &str)]| typed(&there, name, values).unwrap();
    assert_eq!(typed("status", &[]), "/status");
    assert_eq!(typed("task", &[("what", " fix\n the  roof ")]), "/task fix  the  roof");
    assert_eq!(typed("approve", &[("how", "always"), ("question", "A3")]), "/approve A3 always");
    assert_eq!(typed("deny", &[("question", "A3"), ("stop", "true")]), "/deny A3 stop");
    assert_eq!(typed("deny", &[("question", "A3"), ("stop", "false")]), "/deny A3");
    assert_eq!(typed("archive", &[("undo", "true")]), "/archive undo");
    assert_eq!(typed("admin-channel", &[("state", "enable")]), "/admin-channel enable");
    assert_eq!(typed("admin_channel", &[("state", "enable")]), "/admin-channel enable");
    assert_eq!(typed("stop", &[("reason", "fire"), ("what", "all")]), "/stop all fire");
    assert_eq!(typed("chats", &[("unknown", "x")]), "/chats");
    assert_eq!(super::typed(&there, "nonsense", &[]), None);
}

#[test]
fn chats_tasks_and_questions_are_offered() {
    let there = commands();
    let choices_of = |command: &str, option: &str| choices_of(&there, command, option);
    assert_eq!(choices_of("chats", "chat"), Some(ChoiceKind::Chats));
    assert_eq!(choices_of("archive", "chat"), Some(ChoiceKind::ToArchive));
    assert_eq!(choices_of("cancel", "task"), Some(ChoiceKind::Tasks));
    assert_eq!(choices_of("approve", "question"), Some(ChoiceKind::Approvals));
    assert_eq!(choices_of("approve", "how"), None);
    assert_eq!(choices_of("nonsense", "x"), None);
}

/// As Discord gives them back: with what it adds, without what is usual, in another order.
fn given_back(commands: &[Value]) -> Vec<Value> {
    let mut back: Vec<Value> = commands.to_vec();
    back.reverse();
    for command in &mut back {
        command["id"] = json!("1");
        command["version"] = json!("2");
        command["default_member_permissions"] = Value::Null;
        command["nsfw"] = json!(false);
        if list(command, "options").is_empty() {
            command.as_object_mut().unwrap().remove("options");
            continue;
        }
        for option in command["options"].as_array_mut().unwrap() {
            if option["required"] == json!(false) {
                option.as_object_mut().unwrap().remove("required");
            }
        }
    }
    back
}

#[test]
fn discord_is_told_only_what_it_does_not_know() {
    let wanted = all(&commands());
    let mut there = given_back(&wanted);
    assert!(is_same(&there, &wanted));
    there[0]["description"] = json!("something else");
    assert!(!is_same(&there, &wanted));
    let there = given_back(&wanted[1..]);
    assert!(!is_same(&there, &wanted) && !is_same(&[], &wanted));
    let mut there = given_back(&wanted);
    let with_choice = there.iter_mut().find(|command| text(command, "name") == "chats").unwrap();
    with_choice["options"][0]["autocomplete"] = json!(false);
    assert!(!is_same(&there, &wanted));
}
