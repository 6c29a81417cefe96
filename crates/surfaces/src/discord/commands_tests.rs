use super::*;

#[test]
fn every_command_is_told_as_discord_takes_it() {
    let all = all();
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
        assert!(menu().any(|item| item.name == *name), "{name}");
    }
}

#[test]
fn a_slash_command_is_what_would_be_typed() {
    let typed = |name, values: &[(&str, &str)]| typed(name, values).unwrap();
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
    assert_eq!(super::typed("nonsense", &[]), None);
}

#[test]
fn chats_tasks_and_questions_are_offered() {
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
    let wanted = all();
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
