use super::*;

fn words(text: &str) -> Result<Args, ArgsError> {
    parse(text.split_whitespace().map(str::to_owned))
}

#[test]
fn a_role_alone_uses_the_places_of_the_sandbox() {
    let args = words("coordinator").unwrap();
    assert_eq!(args.door, PathBuf::from(DOOR_PATH));
    assert_eq!(args.role, AgentRole::Coordinator { workspace: WORKSPACE_PATH.into() });
    let args = words("executor --chat /c --door /d").unwrap();
    let role = AgentRole::Executor { chat: "/c".into(), proxy_port: PROXY_PORT };
    assert_eq!(args, Args { door: "/d".into(), role });
}

#[test]
fn wrong_arguments_are_named() {
    assert_eq!(words(""), Err(ArgsError::NoRole));
    assert_eq!(words("boss"), Err(ArgsError::UnknownRole("boss".into())));
    assert_eq!(
        words("executor --workspace /w"),
        Err(ArgsError::UnknownOption("--workspace".into()))
    );
    assert_eq!(words("executor --proxy-port x"), Err(ArgsError::NotAPort("x".into())));
    assert_eq!(words("coordinator --door"), Err(ArgsError::NoValue("--door".into())));
}
