use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::LazyLock;

use cloister_protocol::{ChatId, TaskId, UserId, WorkspaceId};
use proptest::prelude::*;

use super::request::{Facts, Resource};
use super::*;
use crate::class::Rated;
use crate::egress;

/// The default policies, read once.
static DEFAULT: LazyLock<Engine> =
    LazyLock::new(|| Engine::new(&[]).unwrap_or_else(|errors| panic!("{errors}")));

/// Policies that name entities of every kind that they can name.
static SPELLED_OUT: LazyLock<Engine> = LazyLock::new(|| {
    with(
        "@id(\"a\") @reason(\"a\") forbid (principal == Executor::\"T2\", action, resource);
         @id(\"b\") @reason(\"b\") forbid (principal is User, action, resource in Workspace::\"w2\");
         @id(\"c\") permit (principal == User::\"u3\", action, resource);
         @id(\"d\") @reason(\"d\") forbid (principal, action, resource == Tool::\"w1/x\");
         @id(\"e\") @ask(\"middle\") @reason(\"e\") forbid (principal is Executor, action, resource)
           when { principal.workspace == Workspace::\"w3\" && principal.user == User::\"u2\" };
         @id(\"f\") @reason(\"f\") forbid (principal is Executor, action, resource is Model)
           when { principal has context && principal.context == Context::\"w3/room-1\" };",
    )
});

const CHAT: ChatId = ChatId::from_number(1);

fn engine() -> &'static Engine {
    &DEFAULT
}

fn with(text: &str) -> Engine {
    Engine::new(&[Source { file: "op.cedar", text }]).unwrap_or_else(|errors| panic!("{errors}"))
}

fn person(user: u32, roles: &[&str]) -> Person {
    let roles = roles.iter().map(|role| role.parse().unwrap()).collect();
    Person { user: UserId::from_number(user), roles }
}

/// The private workspace w1 of u1.
fn private() -> Place {
    let ownership = Ownership::Private { owner: UserId::from_number(1) };
    Place::workspace(WorkspaceId::from_number(1), ownership)
}

fn community() -> Place {
    let workspace = Place::workspace(WorkspaceId::from_number(2), Ownership::Community);
    Place { context: Some("general".to_owned()), ..workspace }
}

fn executor(person: Person, place: Place, manifest: Manifest) -> Cell {
    let part = Part::Executor { task: TaskId::from_number(1), manifest };
    Cell { part, person, place, chat: CHAT, lists: ContextLists::UNLIMITED }
}

fn coordinator(person: Person, place: Place) -> Cell {
    let lists = ContextLists::UNLIMITED;
    Cell { part: Part::Coordinator, person, place, chat: CHAT, lists }
}

const CALM: Known = Known { stopped: false, plan_pending: false, untrusted: false };

fn tool(name: &str, changes: bool, risk: Rated) -> CellAsk {
    CellAsk::CallTool { tool: name.to_owned(), changes, risk, bounds: Bounds::Sandbox }
}

fn fetch(kind: FetchKind) -> CellAsk {
    CellAsk::Fetch { host: "a.test".parse().unwrap(), kind, rules: egress::Decision::Allow }
}

/// Every request that a cell can make.
fn every_ask() -> Vec<CellAsk> {
    let named = || "x".to_owned();
    let mut asks: Vec<_> = CellCall::ALL.iter().map(|call| CellAsk::Chat(*call)).collect();
    asks.extend(Proposal::ALL.iter().map(|proposal| CellAsk::Propose(*proposal)));
    asks.extend([
        CellAsk::CallModel { model: named() },
        fetch(FetchKind::Reading),
        fetch(FetchKind::Writing),
        tool("x", false, Rated::Safe),
        tool("x", true, Rated::Safe),
        CellAsk::UseSkill { skill: named() },
        CellAsk::UseSecret { secret: named() },
        CellAsk::ReadMail { mailbox: named() },
        CellAsk::SendMail { mailbox: named() },
    ]);
    asks
}

/// Every call that a person can make about a place and what is in it.
fn every_call(person: &Person, place: &Place) -> Vec<Request> {
    let host = "a.test".parse().unwrap();
    let mut calls = Vec::new();
    calls.extend(PlatformCall::ALL.iter().map(|call| Request::platform(person, *call)));
    calls.extend(ModelCall::ALL.iter().map(|call| Request::model(person, *call, "x")));
    calls.extend(WorkspaceCall::ALL.iter().map(|call| Request::workspace(person, *call, place)));
    calls.extend(
        ContextCall::ALL.iter().map(|call| Request::context(person, *call, place, "general")),
    );
    calls.extend(ChatCall::ALL.iter().map(|call| Request::chat(person, *call, place, CHAT)));
    calls.extend(SecretCall::ALL.iter().map(|call| Request::secret(person, *call, place, "x")));
    calls.extend(DomainCall::ALL.iter().map(|call| Request::domain(person, *call, place, &host)));
    calls.extend(SkillCall::ALL.iter().map(|call| Request::skill(person, *call, place, "x")));
    calls.extend(ToolCall::ALL.iter().map(|call| Request::tool(person, *call, place, "x")));
    calls.extend(MailboxCall::ALL.iter().map(|call| Request::mailbox(person, *call, place, "x")));
    let platform = Assigned { owner: None, to_self: false };
    calls.push(Request::assign_role(person, Role::Member, &Scope::Platform, platform));
    let here = Assigned { owner: place.owner(), to_self: false };
    let scopes = [Scope::Workspace(place.workspace), Scope::Mailbox(place.workspace, "x".into())];
    for scope in &scopes {
        let roles = [Role::Viewer, Role::Operator, Role::Admin].into_iter();
        calls.extend(roles.map(|role| Request::assign_role(person, role, scope, here)));
    }
    calls.push(Request::answer(person, place, CHAT, Class::Outward, true));
    calls
}

fn manifest() -> Manifest {
    Manifest { secrets: Names::All, mailboxes: Names::All, ..Manifest::plain() }
}

#[test]
fn every_request_fits_the_schema() {
    let engine = engine();
    let anna = person(1, &["member@workspace:w1", "admin@context:w2/general", "viewer@model:x"]);
    let mut requests = Vec::new();
    for place in [private(), community()] {
        requests.extend(every_call(&anna, &place));
        for cell in [
            coordinator(anna.clone(), place.clone()),
            executor(anna.clone(), place.clone(), manifest()),
        ] {
            requests.extend(every_ask().iter().map(|ask| Request::cell(&cell, ask, &place, CALM)));
        }
    }
    for request in &requests {
        let checked = engine.judge(request, &Sketch::of(request), Some(&engine.schema));
        if let Err(error) = checked {
            panic!("{request}: {error}: {:?}", std::error::Error::source(&error));
        }
        assert_eq!(engine.decide(request), engine.decide_checked(request), "{request}");
    }
    // And the schema has nothing that no request asks for.
    let groups = [
        "content",
        "use",
        "observe",
        "operate",
        "manage",
        "rule",
        "coordinate",
        "execute",
        "change",
        "propose",
    ];
    let asked: BTreeSet<_> = requests.iter().map(|request| request.action).chain(groups).collect();
    for action in engine.schema.actions() {
        let name = action.id().unescaped();
        assert!(asked.contains(name), "no request asks for {name}");
    }
}

/// The action; of a role that is given, also which and where.
fn row_name(request: &Request) -> String {
    let (Facts::Role { role, .. }, Resource::Scope(scope, _)) = (&request.facts, &request.resource)
    else {
        return request.action.to_owned();
    };
    let scope = scope.to_string();
    let kind = scope.split(':').next().unwrap();
    format!("assign {role}@{kind}")
}

#[test]
fn people_may_do_exactly_what_the_matrix_says() {
    let engine = engine();
    let columns: [(&str, Person, Place); 11] = [
        ("owner", person(1, &["member@workspace:w1"]), private()),
        ("owner without role", person(1, &[]), private()),
        ("overlord", person(2, &["overlord@platform"]), private()),
        ("admin", person(2, &["admin@platform"]), private()),
        ("operator", person(2, &["operator@platform"]), private()),
        ("member", person(2, &["member@platform"]), private()),
        ("viewer", person(2, &["viewer@platform"]), private()),
        ("team admin", person(2, &["admin@workspace:w2"]), community()),
        ("team member", person(2, &["member@workspace:w2"]), community()),
        ("team viewer", person(2, &["viewer@context:w2/general"]), community()),
        ("stranger", person(2, &["admin@workspace:w3"]), community()),
    ];
    let mut matrix = String::new();
    let names: Vec<_> = columns.iter().map(|(name, ..)| *name).collect();
    writeln!(matrix, "{:<28}{}", "", names.join(" | ")).unwrap();
    let calls: Vec<Vec<Request>> =
        columns.iter().map(|(_, person, place)| every_call(person, place)).collect();
    for row in 0..calls[0].len() {
        let cells = calls.iter().zip(names.iter()).map(|(calls, name)| {
            let verdict = engine.decide(&calls[row]);
            let mark = match verdict.outcome {
                Outcome::Allow => "yes",
                Outcome::Ask { .. } => "ask",
                Outcome::Deny { .. } => "-",
            };
            format!("{mark:<width$}", width = name.len())
        });
        let cells: Vec<_> = cells.collect();
        writeln!(matrix, "{:<28}{}", row_name(&calls[0][row]), cells.join(" | ")).unwrap();
    }
    let trimmed: Vec<_> = matrix.lines().map(str::trim_end).collect();
    let matrix = trimmed.join("\n") + "\n";
    assert_eq!(matrix, include_str!("matrix.txt"), "the matrix is now:\n{matrix}");
}

fn outcome(engine: &Engine, cell: &Cell, ask: &CellAsk, known: Known) -> (Outcome, Vec<String>) {
    let Verdict { outcome, policies } =
        engine.decide(&Request::cell(cell, ask, &cell.place, known));
    (outcome, policies.iter().map(PolicyId::to_string).collect())
}

fn denied_by(engine: &Engine, cell: &Cell, ask: &CellAsk, known: Known) -> String {
    let (outcome, policies) = outcome(engine, cell, ask, known);
    assert!(matches!(outcome, Outcome::Deny { .. }), "{ask:?}: {outcome:?}");
    policies.into_iter().next().unwrap_or_else(|| "nothing allows it".to_owned())
}

fn asked_as(engine: &Engine, cell: &Cell, ask: &CellAsk, known: Known) -> Class {
    match outcome(engine, cell, ask, known).0 {
        Outcome::Ask { class, .. } => class,
        other @ (Outcome::Allow | Outcome::Deny { .. }) => panic!("{ask:?}: {other:?}"),
    }
}

#[test]
fn a_cell_is_held_where_it_should_be() {
    let engine = engine();
    let anna = person(1, &["member@workspace:w1"]);
    let cell = executor(anna.clone(), private(), manifest());
    let allowed = |cell: &Cell, ask: &CellAsk| outcome(engine, cell, ask, CALM).0 == Outcome::Allow;
    for ask in [
        CellAsk::Chat(CellCall::Delegate),
        CellAsk::Chat(CellCall::SendFile),
        CellAsk::CallModel { model: "x".to_owned() },
        fetch(FetchKind::Reading),
        tool("bash", true, Rated::Safe),
        tool("bash", true, Rated::Unknown),
        CellAsk::UseSecret { secret: "x".to_owned() },
        CellAsk::Propose(Proposal::Memory),
    ] {
        assert!(allowed(&cell, &ask), "{ask:?}");
    }
    let class = |ask: &CellAsk| asked_as(engine, &cell, ask, CALM);
    assert_eq!(class(&tool("bash", true, Rated::Middle)), Class::Middle);
    assert_eq!(class(&tool("bash", true, Rated::Destructive)), Class::Destructive);
    assert_eq!(class(&tool("bash", true, Rated::Outward)), Class::Outward);
    assert_eq!(class(&fetch(FetchKind::Writing)), Class::Outward);
    assert_eq!(class(&CellAsk::SendMail { mailbox: "x".to_owned() }), Class::Outward);
    assert_eq!(class(&CellAsk::Propose(Proposal::Config)), Class::Middle);
    let within =
        |risk, bounds| CellAsk::CallTool { tool: "mcp".to_owned(), changes: true, risk, bounds };
    assert_eq!(class(&within(Rated::Unknown, Bounds::Nothing)), Class::Middle);
    // What can be taken back is no question; what leaves is one wherever it runs.
    for risk in [Rated::Safe, Rated::Unknown, Rated::Middle, Rated::Destructive] {
        assert!(allowed(&cell, &within(risk, Bounds::Layer)), "{risk}");
    }
    assert_eq!(class(&within(Rated::Outward, Bounds::Layer)), Class::Outward);
    let untrusted = Known { untrusted: true, ..CALM };
    for ask in [
        fetch(FetchKind::Reading),
        CellAsk::UseSecret { secret: "x".to_owned() },
        CellAsk::Propose(Proposal::Memory),
    ] {
        assert_eq!(asked_as(engine, &cell, &ask, untrusted), Class::Outward);
    }
    // A coordinator talks and delegates; it has no hands.
    let head = coordinator(anna, private());
    for ask in [
        fetch(FetchKind::Writing),
        CellAsk::UseSecret { secret: "x".to_owned() },
        CellAsk::Chat(CellCall::ProposePlan),
    ] {
        assert_eq!(denied_by(engine, &head, &ask, CALM), "nothing allows it", "{ask:?}");
    }
}

#[test]
fn a_cell_is_refused_by_the_first_limit_it_meets() {
    let engine = engine();
    let anna = person(1, &["member@workspace:w1"]);
    let narrow = Manifest { tools: Names::only(["ls"]), ..Manifest::plain() };
    let cell = executor(anna.clone(), private(), narrow);
    let by = |cell: &Cell, ask: &CellAsk, known| denied_by(engine, cell, ask, known);
    let bash = tool("bash", true, Rated::Safe);
    assert_eq!(by(&cell, &bash, CALM), "manifest-list");
    let lists = ContextLists { tools: Names::none(), ..ContextLists::UNLIMITED };
    assert_eq!(by(&Cell { lists, ..cell.clone() }, &bash, CALM), "context-list");
    assert_eq!(by(&cell, &CellAsk::UseSecret { secret: "x".to_owned() }, CALM), "manifest-list");
    let stopped = Known { stopped: true, ..CALM };
    for ask in every_ask() {
        assert_eq!(by(&cell, &ask, stopped), "all-is-stopped", "{ask:?}");
    }
    let pending = Known { plan_pending: true, ..CALM };
    let wide = executor(anna.clone(), private(), manifest());
    assert_eq!(by(&wide, &bash, pending), "plan-first");
    assert_eq!(by(&wide, &fetch(FetchKind::Writing), pending), "plan-first");
    assert_eq!(outcome(engine, &wide, &fetch(FetchKind::Reading), pending).0, Outcome::Allow);
    // Of somebody who may not work here, or somebody else's.
    let nobody = executor(person(1, &["viewer@platform"]), private(), manifest());
    assert_eq!(by(&nobody, &bash, CALM), "executor-for-a-member");
    let other = executor(person(2, &["member@platform"]), private(), manifest());
    assert_eq!(by(&other, &bash, CALM), "executor-of-the-owner");
    // Something that is elsewhere.
    let elsewhere = Request::cell(&wide, &CellAsk::Chat(CellCall::ShowTask), &community(), CALM);
    assert_ne!(engine.decide(&elsewhere).outcome, Outcome::Allow);
    let secret = CellAsk::UseSecret { secret: "x".to_owned() };
    let Outcome::Deny { reason } =
        engine.decide(&Request::cell(&wide, &secret, &community(), CALM)).outcome
    else {
        panic!("another workspace's secret");
    };
    assert_eq!(reason, "it belongs to another workspace");
}

#[test]
fn roles_hold_in_their_scope_and_nowhere_else() {
    let engine = engine();
    let allows = |request: &Request| engine.decide(request).outcome == Outcome::Allow;
    let ben = person(2, &["admin@context:w2/general"]);
    assert!(allows(&Request::context(&ben, ContextCall::Change, &community(), "general")));
    assert!(!allows(&Request::context(&ben, ContextCall::Change, &community(), "other")));
    assert!(allows(&Request::chat(&ben, ChatCall::SendMessage, &community(), CHAT)));
    let other = Place { context: Some("other".to_owned()), ..community() };
    assert!(!allows(&Request::chat(&ben, ChatCall::SendMessage, &other, CHAT)));
    assert!(!allows(&Request::workspace(&ben, WorkspaceCall::ListTasks, &community())));
    let keeper = person(2, &["operator@model:opus", "admin@mailbox:w2/info", "admin@skill:w2/x"]);
    assert!(allows(&Request::model(&keeper, ModelCall::Test, "opus")));
    assert!(!allows(&Request::model(&keeper, ModelCall::Test, "other")));
    assert!(allows(&Request::mailbox(&keeper, MailboxCall::Change, &community(), "info")));
    assert!(!allows(&Request::mailbox(&keeper, MailboxCall::Change, &community(), "sales")));
    assert!(allows(&Request::skill(&keeper, SkillCall::Install, &community(), "x")));
    // An admin raises neither themselves nor anyone to admin.
    let admin = person(2, &["admin@workspace:w2"]);
    let here = Scope::Workspace(WorkspaceId::from_number(2));
    let [others, own] = [false, true].map(|to_self| Assigned { owner: None, to_self });
    assert!(allows(&Request::assign_role(&admin, Role::Operator, &here, others)));
    assert!(!allows(&Request::assign_role(&admin, Role::Operator, &here, own)));
    assert!(!allows(&Request::assign_role(&admin, Role::Admin, &here, others)));
    assert!(!allows(&Request::assign_role(&admin, Role::Viewer, &Scope::Platform, others)));
}

/// Roles in a private workspace, and in whatever is inside of it, are its owner's matter.
#[test]
fn nobody_but_the_owner_and_overlords_assigns_roles_in_a_private_workspace() {
    let engine = engine();
    let scopes = ["workspace:w1", "context:w1/x", "skill:w1/x", "tool:w1/x", "mailbox:w1/x"];
    let decided = |person: &Person, role, scope: &str, to_self| {
        let assigned = Assigned { owner: private().owner(), to_self };
        let scope = scope.parse().unwrap();
        engine.decide(&Request::assign_role(person, role, &scope, assigned))
    };
    let allows = |person: &Person, role, scope: &str| {
        decided(person, role, scope, false).outcome == Outcome::Allow
    };
    let owner = person(1, &["member@workspace:w1"]);
    let overlord = person(3, &["overlord@platform"]);
    for scope in scopes {
        // Also an admin of that very workspace, whom an overlord made one.
        for held in ["admin@platform", "admin@workspace:w1", "operator@platform"] {
            for role in Role::ALL {
                let admin = person(2, &[held]);
                let verdict = decided(&admin, role, scope, false);
                assert!(matches!(verdict.outcome, Outcome::Deny { .. }), "{held} {role} {scope}");
                let by: Vec<_> = verdict.policies.iter().map(PolicyId::as_str).collect();
                assert!(by.contains(&"private-roles-are-the-owners"), "{by:?}");
            }
        }
        assert!(Role::ALL.iter().all(|role| allows(&overlord, *role, scope)));
        for role in Role::ALL {
            // An operator there could raise what the owner spends.
            let may = matches!(role, Role::Viewer | Role::Member);
            assert_eq!(allows(&owner, role, scope), may, "{role} {scope}");
            assert_ne!(decided(&owner, role, scope, true).outcome, Outcome::Allow, "to themselves");
        }
        assert!(!allows(&person(1, &[]), Role::Viewer, scope), "an owner who is no member");
    }
}

#[test]
fn only_the_right_people_answer() {
    let engine = engine();
    let answers = |person: &Person, place: &Place, class, own| {
        engine.decide(&Request::answer(person, place, CHAT, class, own)).outcome == Outcome::Allow
    };
    let member = person(3, &["member@workspace:w2"]);
    assert!(answers(&member, &community(), Class::Middle, true));
    assert!(!answers(&member, &community(), Class::Middle, false));
    assert!(!answers(&member, &community(), Class::Outward, true));
    assert!(answers(
        &person(4, &["admin@context:w2/general"]),
        &community(),
        Class::Outward,
        false
    ));
    assert!(answers(&person(1, &["member@workspace:w1"]), &private(), Class::Outward, true));
    assert!(!answers(&person(2, &["admin@platform"]), &private(), Class::Outward, false));
    assert!(!answers(&person(2, &["operator@platform"]), &community(), Class::Middle, true));
}

#[test]
fn an_operators_policies_narrow_hold_and_widen() {
    let anna = person(1, &["member@workspace:w1"]);
    let cell = executor(anna.clone(), private(), manifest());
    let forbid = with(
        "@id(\"no-bash\") @reason(\"no shell here\") forbid (principal is Executor, action, resource == Tool::\"w1/bash\");",
    );
    assert_eq!(denied_by(&forbid, &cell, &tool("bash", true, Rated::Safe), CALM), "no-bash");
    let two = with(
        "@id(\"two\") @ask(\"outward\") @people(\"2\") @reason(\"two of us\") forbid (principal is Executor, action in Action::\"execute\", resource) when { context.risk == \"outward\" };",
    );
    let (held, _) = outcome(&two, &cell, &tool("bash", true, Rated::Outward), CALM);
    let reason = "it sends something out; two of us".to_owned();
    assert_eq!(held, Outcome::Ask { class: Class::Outward, people: 2, reason });
    // A permit more never removes an ask, nor wins over a forbid.
    let permit = with("@id(\"all\") permit (principal, action, resource);");
    assert_eq!(asked_as(&permit, &cell, &fetch(FetchKind::Writing), CALM), Class::Outward);
    let stopped = Known { stopped: true, ..CALM };
    assert_eq!(denied_by(&permit, &cell, &fetch(FetchKind::Reading), stopped), "all-is-stopped");
    assert_eq!(
        permit.decide(&Request::platform(&anna, PlatformCall::PruneAudit)).outcome,
        Outcome::Allow
    );
}

#[test]
fn a_policy_that_fails_denies() {
    let broken = with(
        "@id(\"overflow\") @reason(\"x\") forbid (principal is User, action, resource) \
         when { 9223372036854775807 + 1 > 0 };",
    );
    let overlord = person(1, &["overlord@platform"]);
    let verdict = broken.decide(&Request::platform(&overlord, PlatformCall::ReadStatus));
    let Outcome::Deny { reason } = verdict.outcome else { panic!("it was left out") };
    assert!(reason.contains("could not be evaluated"), "{reason}");
}

#[test]
fn what_is_wrong_with_a_policy_is_named_with_its_place() {
    for (text, expected) in [
        ("permit (principal, action, resource);", "op.cedar: a policy starts with @id"),
        ("\n\n@id(\"a\") permit (principal, action resource);", "op.cedar:3: "),
        ("@id(\"a\")\nforbid (principal, action, resource);", "op.cedar:1 (a): a forbid says why"),
        ("@id(\"Ä\") permit (principal, action, resource);", "op.cedar: a policy starts with @id"),
        (
            "@id(\"viewer-reads\") permit (principal, action, resource);",
            "the id is taken by default/people.cedar:",
        ),
        (
            "// x\n@id(\"a\") permit (principal, action == Action::\"fly\", resource);",
            "op.cedar:2 (a): ",
        ),
        (
            "@id(\"a\") permit (principal is User, action, resource) when { principal.age > 1 };",
            "op.cedar:1 (a): ",
        ),
        (
            "@id(\"a\") @ask(\"outward\") permit (principal, action, resource);",
            "@ask belongs to a forbid",
        ),
        (
            "@id(\"a\") @ask(\"huge\") @reason(\"x\") forbid (principal, action, resource);",
            "\"huge\" is not a class",
        ),
        (
            "@id(\"a\") @ask(\"safe\") @reason(\"x\") forbid (principal, action, resource);",
            "what is safe is not asked",
        ),
        (
            "@id(\"a\") @ask(\"middle\") @people(\"9\") @reason(\"x\") forbid (principal, action, resource);",
            "@people is",
        ),
        (
            "@id(\"a\") @people(\"2\") @reason(\"x\") forbid (principal, action, resource);",
            "@people belongs",
        ),
        ("@id(\"a\") permit (principal == ?principal, action, resource);", "a template"),
        (
            "@id(\"a\") permit (principal is Executor, action == Action::\"read_status\", resource);",
            "op.cedar:1 (a): ",
        ),
    ] {
        let errors = Engine::check(&[Source { file: "op.cedar", text }]).err();
        let errors = errors.unwrap_or_else(|| panic!("{text} is taken")).to_string();
        assert!(errors.contains(expected), "{text}: {errors}");
    }
}

/// An engine takes the default policies as they are: what is wrong with them is found here.
#[test]
fn the_default_policies_are_valid() {
    let validated = Engine::with_policies(&[], DEFAULT_POLICIES);
    assert!(validated.unwrap_or_else(|errors| panic!("{errors}")).meta.len() > 20);
    let wrong = "@id(\"wrong\") permit (principal is Executor, action == Action::\"read_status\", resource);";
    let wrong = [DEFAULT_POLICIES, &[Source { file: "default/wrong.cedar", text: wrong }]].concat();
    let errors = Engine::with_policies(&[], &wrong).err().unwrap().to_string();
    assert!(errors.starts_with("default/wrong.cedar:1 (wrong): "), "{errors}");
}

#[test]
fn an_explanation_says_which_policies_decided() {
    let engine = engine();
    let ben = person(2, &["operator@platform"]);
    let request = Request::workspace(&ben, WorkspaceCall::ReadFiles, &private());
    let explanation = engine.explain(&request);
    let text = explanation.to_string();
    let line = explanation.decided[0].line;
    assert!(text.starts_with("user u2 asks for read_files on workspace w1\ndeny: the content of a private workspace is its owner's alone\n"), "{text}");
    assert!(
        text.contains(&format!(
            "forbid private-content-is-the-owners (default/people.cedar:{line})"
        )),
        "{text}"
    );
    let request = Request::platform(&ben, PlatformCall::CreateUser);
    let text = engine.explain(&request).to_string();
    assert!(text.contains("deny: no policy allows create_user"), "{text}");
    assert!(text.contains("admin-manages (default/people.cedar:"), "{text}");
}

#[test]
fn an_operators_cases_are_run() {
    #[derive(serde::Deserialize)]
    struct Cases {
        case: Vec<Case>,
    }
    let cases: Cases = toml::from_str(
        r#"
        [[case]]
        name = "an operator stops a cell"
        expect = "allow"
        by = "operator-operates"
        request = { user = "u2", roles = ["operator@platform"], action = "stop_cell", workspace = "w1", owner = "u1" }
        [[case]]
        name = "a push is asked about"
        expect = "ask"
        request = { user = "u1", roles = ["member@workspace:w1"], part = "executor", action = "change_by_tool", name = "bash", risk = "outward", workspace = "w1" }
        [[case]]
        name = "wrong on purpose"
        expect = "allow"
        request = { user = "u2", action = "read_status" }
        [[case]]
        name = "no such thing"
        expect = "deny"
        request = { user = "u2", action = "fly", workspace = "w1" }
        [[case]]
        name = "half of it"
        expect = "deny"
        request = { user = "u2", action = "read_chat", workspace = "w1" }
        "#,
    )
    .unwrap();
    let failures = engine().test(&cases.case);
    let failures: Vec<_> = failures.iter().map(Failure::to_string).collect();
    assert_eq!(
        failures,
        [
            "wrong on purpose: user u2 asks for read_status on platform: deny: no policy allows read_status (by )",
            "no such thing: there is no action \"fly\" for a person",
            "half of it: read_chat needs chat to be given",
        ]
    );
}

fn names() -> impl Strategy<Value = Names> {
    let some = proptest::collection::btree_set("[abx]", 0..3).prop_map(Names::Only);
    prop_oneof![Just(Names::All), some]
}

fn manifests() -> impl Strategy<Value = Manifest> {
    (names(), names(), names(), names(), names()).prop_map(
        |(tools, models, skills, secrets, mailboxes)| Manifest {
            tools,
            models,
            skills,
            secrets,
            mailboxes,
        },
    )
}

fn lists() -> impl Strategy<Value = ContextLists> {
    (names(), names(), names()).prop_map(|(tools, models, skills)| ContextLists {
        tools,
        models,
        skills,
    })
}

fn knowns() -> impl Strategy<Value = Known> {
    (proptest::bool::weighted(0.1), any::<bool>(), any::<bool>())
        .prop_map(|(stopped, plan_pending, untrusted)| Known { stopped, plan_pending, untrusted })
}

fn assignments() -> impl Strategy<Value = Assignment> {
    let role = proptest::sample::select(&Role::ALL[..]);
    let scope = proptest::sample::select(
        &["platform", "workspace:w1", "workspace:w2", "context:w2/general", "model:x"][..],
    );
    (role, scope).prop_map(|(role, scope)| Assignment { role, scope: scope.parse().unwrap() })
}

fn people(user: u32) -> impl Strategy<Value = Person> {
    proptest::collection::vec(assignments(), 0..4)
        .prop_map(move |roles| Person { user: UserId::from_number(user), roles })
}

/// How far a verdict lets a request go.
fn width(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Deny { .. } => 0,
        Outcome::Ask { .. } => 1,
        Outcome::Allow => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn a_narrower_manifest_or_context_never_gains(
        wide in (manifests(), lists()),
        more in (manifests(), lists()),
        more_roles in people(1),
        known in knowns(),
    ) {
        let engine = engine();
        let narrow = (more.0.inside(&wide.0), more.1.inside(&wide.1));
        // Who may do nothing here would show nothing.
        let member = Person { roles: [more_roles.roles, person(1, &["member@workspace:w1"]).roles].concat(), ..more_roles };
        let mut allowed = 0;
        for ask in every_ask() {
            let decide = |(manifest, lists): &(Manifest, ContextLists)| {
                let cell = executor(member.clone(), private(), manifest.clone());
                let cell = Cell { lists: lists.clone(), ..cell };
                width(&outcome(engine, &cell, &ask, known).0)
            };
            let (less, most) = (decide(&narrow), decide(&wide));
            prop_assert!(less <= most, "{ask:?}");
            allowed += u32::from(most > 0);
        }
        prop_assert!(known.stopped || allowed > 0, "nothing was allowed: the comparison is empty");
    }

    #[test]
    fn a_permission_for_one_never_widens_anothers(
        other in people(2),
        action in proptest::sample::select(&["content", "use", "observe", "operate", "manage", "rule"][..]),
        ask in proptest::sample::select(&["coordinate", "execute", "propose"][..]),
        known in knowns(),
    ) {
        let engine = engine();
        let widened = with(&format!(
            "@id(\"for-one\") permit (principal == User::\"u1\", action in Action::\"{action}\", resource);\n\
             @id(\"for-ones-executors\") permit (principal is Executor, action in Action::\"{ask}\", resource) \
               when {{ principal.user == User::\"u1\" }};\n\
             @id(\"for-ones-coordinator\") permit (principal == Coordinator::\"w1\", action in Action::\"{ask}\", resource);",
        ));
        // It does widen the one's.
        let one = person(1, &[]);
        let wider = every_call(&one, &private()).iter().filter(|call| {
            width(&widened.decide(call).outcome) > width(&engine.decide(call).outcome)
        }).count();
        prop_assert!(wider > 0);
        for place in [private(), community()] {
            for request in every_call(&other, &place) {
                prop_assert_eq!(engine.decide(&request), widened.decide(&request));
            }
        }
        for cell in [executor(other.clone(), community(), manifest()), coordinator(other, community())] {
            for ask in every_ask() {
                let request = Request::cell(&cell, &ask, &cell.place, known);
                prop_assert_eq!(engine.decide(&request), widened.decide(&request));
            }
        }
    }

    /// What is remembered is what would be decided anew, also where policies spell names out.
    #[test]
    fn a_remembered_verdict_is_the_one_that_would_be_given(
        someone in people(1),
        numbers in proptest::collection::vec(1_u32..4, 6),
        known in knowns(),
    ) {
        let at = |index: usize| numbers[index];
        let person = Person { user: UserId::from_number(at(0)), ..someone };
        let place = |workspace: u32, owner: u32, shared: bool| Place {
            workspace: WorkspaceId::from_number(workspace),
            ownership: if shared { Ownership::Community } else { Ownership::Private { owner: UserId::from_number(owner) } },
            context: (workspace > 1).then(|| format!("room-{owner}")),
            chat: None,
        };
        let here = place(at(1), at(2), at(3) > 2);
        let elsewhere = place(at(4), at(5), false);
        let task = TaskId::from_number(at(3));
        let part = Part::Executor { task, manifest: manifest() };
        let cell = Cell { part, ..coordinator(person.clone(), here.clone()) };
        let mut requests = every_call(&person, &here);
        for at in [&here, &elsewhere] {
            requests.extend(every_ask().iter().map(|ask| Request::cell(&cell, ask, at, known)));
        }
        for engine in [&*DEFAULT, &*SPELLED_OUT] {
            for request in &requests {
                prop_assert_eq!(engine.decide(request), engine.decide_anew(request), "{}", request);
            }
        }
    }

    #[test]
    fn a_role_more_never_takes_away(before in people(2), more in assignments()) {
        let engine = engine();
        let mut after = before.clone();
        after.roles.push(more);
        for place in [private(), community()] {
            for (less, more) in every_call(&before, &place).iter().zip(every_call(&after, &place)) {
                prop_assert!(width(&engine.decide(less).outcome) <= width(&engine.decide(&more).outcome));
            }
        }
    }

    #[test]
    fn an_ask_or_forbid_more_never_widens(roles in people(1), hold in any::<bool>()) {
        let engine = engine();
        let ask = if hold { "@ask(\"middle\")" } else { "" };
        let text = format!("@id(\"more\") {ask} @reason(\"x\") forbid (principal, action in [Action::\"use\", Action::\"execute\"], resource);");
        let narrowed = with(&text);
        let cell = executor(roles.clone(), private(), manifest());
        let asks = every_ask();
        let asks = asks.iter().map(|ask| Request::cell(&cell, ask, &cell.place, CALM));
        for request in every_call(&roles, &private()).into_iter().chain(asks) {
            prop_assert!(width(&narrowed.decide(&request).outcome) <= width(&engine.decide(&request).outcome));
        }
    }
}
