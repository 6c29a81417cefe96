use super::*;

const FILE: &str = r#"
# config/matrix-agents.yaml
user_agents:
  "@user0:matrix.example.org": agent-0
  "@user1:matrix.example.org": agent-1
agents:
  - id: agent-0
    label: "Agent 0"
    base_url: "ws://example.org:7000/agent_0/"
    workspace_path: "/agents/0/"
  - id: agent-1
    label: "Agent 1"
    base_url: "ws://example.org:7000/agent_1/"
    workspace_path: "/agents/1/"
  - id: agent-2
version: 3
"#;

fn routes(text: &str) -> Result<Routes, CliError> {
    parse(text, Path::new("matrix-agents.yaml"))
}

fn name(text: &str) -> UserName {
    text.parse().unwrap()
}

fn link(id: &str, user: &str) -> Link {
    Link { id: id.to_owned(), user: name(user) }
}

/// X9: the accounts of a file of routes become those of users who are named as the agents were.
#[test]
fn each_account_becomes_a_users() {
    let report = plan(routes(FILE).unwrap(), &KnownAccounts::default());
    assert_eq!(report.made, [name("agent-0"), name("agent-1")]);
    let (first, second) = ("@user0:matrix.example.org", "@user1:matrix.example.org");
    assert_eq!(report.linked, [link(first, "agent-0"), link(second, "agent-1")]);
    assert!(report.conflicts.is_empty() && report.already.is_empty(), "{report:?}");
    for said in ["version: not known", "agents agent-0 base_url:", "agents agent-1 workspace_path:"]
    {
        assert!(report.ignored.iter().any(|line| line.starts_with(said)), "{said}: {report:?}");
    }
    assert!(report.ignored.iter().any(|line| line.contains("agent-2: no account")), "{report:?}");
}

#[test]
fn the_same_file_again_changes_nothing() {
    let mut known = KnownAccounts::default();
    let first = plan(routes(FILE).unwrap(), &known);
    known.users.extend(first.made.clone());
    known.accounts.extend(first.linked.iter().map(|link| (link.id.clone(), link.user.clone())));
    let again = plan(routes(FILE).unwrap(), &known);
    assert_eq!(again.already, first.linked);
    assert!(again.made.is_empty() && again.linked.is_empty(), "{again:?}");
}

/// E81: an account that is somebody's is not made somebody else's by a file.
#[test]
fn what_is_somebodys_is_not_taken_over() {
    let mut known = KnownAccounts::default();
    known.users.insert(name("ada"));
    known.accounts.insert("@user0:matrix.example.org".into(), name("ada"));
    let report = plan(routes(FILE).unwrap(), &known);
    assert_eq!(report.linked.len(), 1);
    assert_eq!(report.made, [name("agent-1")], "nobody is made for an account that is not linked");
    let [conflict] = report.conflicts.as_slice() else { panic!("{report:?}") };
    assert!(conflict.why.contains("it is ada's"), "{conflict:?}");
    assert!(
        words(&report).ends_with("1 linked, 0 already, 1 in conflict, 8 ignored"),
        "{}",
        words(&report)
    );
}

#[test]
fn what_names_nobody_is_said() {
    let text = "user_agents:\n  ada: agent-0\n  '@b:c': Agent Zero\n  '@d:e': agent-1\n  '@x\u{202e}:e': a\n";
    let report = plan(routes(text).unwrap(), &KnownAccounts::default());
    let wrong: Vec<&str> = report.conflicts.iter().map(|conflict| conflict.id.as_str()).collect();
    assert_eq!(wrong, ["@b:c", "@x\u{202e}:e", "ada"]);
    assert_eq!(report.linked, [link("@d:e", "agent-1")]);
}

#[test]
fn a_file_that_is_no_file_of_routes_is_refused_with_what_is_expected() {
    for text in
        ["", "[]", "user_agents: [a, b]", "user_agents: {a: {b: c}}", "agents: []", "{{{", "\t- x"]
    {
        let error = routes(text).unwrap_err();
        assert!(error.body.message.starts_with("matrix-agents.yaml "), "{text:?}: {error:?}");
        assert!(error.body.fix.is_some(), "{text:?}");
    }
    let twice = "user_agents:\n  '@a:b': x\n  '@a:b': y\n";
    assert!(routes(twice).is_err(), "one account for two users");
}

/// A file that grows without end when it is read is refused, and quickly.
#[test]
fn a_file_that_would_explode_is_refused() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 10].join(",")));
    }
    bomb.push_str("user_agents: {'@a:b': x}\n");
    assert!(routes(&bomb).is_err());
}
