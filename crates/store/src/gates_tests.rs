//! Approvals, grants and marks together, as the control plane uses them.

use cloister_policy::engine::{ChatCall, Engine, Ownership, Person, Place, Request};
use cloister_policy::gate::{
    self, Action, Asker, Cleared, Decision, Effect, GrantId, Surroundings,
};
use cloister_policy::provenance::{Flow, Labels};
use cloister_protocol::link::{Call, Cause, Step};
use cloister_protocol::{
    Answer, ApprovalId, ChatId, TaskId, TaskState, UserId, UserName, WorkspaceId,
};

use crate::actor::Actor;
use crate::answers::{AnswerRefused, Answered, Given, Standing};
use crate::approvals::{Approval, ApprovalKind, ApprovalState, Asked, NewApproval};
use crate::audit::Entry;
use crate::choices::FoundHost;
use crate::db::Store;
use crate::grants::{GrantEnded, Passing, Reach};
use crate::inbox::{Inbound, Meant};
use crate::ledger::{Called, SaidStep};
use crate::provenance::NewContent;
use crate::raises::Raise;
use crate::tasks::{Ending, NewTask, Task};
use crate::test_world;
use crate::users::UserLimits;

const CHAT: ChatId = ChatId::from_number(1);

struct Setup {
    dir: tempfile::TempDir,
    store: Store,
    user: UserId,
    workspace: WorkspaceId,
}

async fn user(store: &Store, name: &str) -> (UserId, WorkspaceId) {
    let limits = UserLimits { quota_bytes: 1, max_executors: 9, daily_budget: 1, task_budget: 1 };
    let name: UserName = name.parse().unwrap();
    let user = store.users().add_user(&Actor::Operator, &name, limits).await.unwrap();
    store.chats().ensure_first_chat(&Actor::person("test"), user.workspace).await.unwrap();
    (user.id, user.workspace)
}

async fn setup() -> Setup {
    let (dir, store) = test_world::store().await;
    let (user, workspace) = user(&store, "ada").await;
    Setup { dir, store, user, workspace }
}

impl Setup {
    /// A task of the turn that an inbox row started.
    async fn in_turn_of(&self, row: i64, name: &str) -> Task {
        let turn = cloister_protocol::TurnId::of_message(row);
        let new = NewTask { turn, ..self.new_task(name, None, &[]) };
        self.store.tasks().delegate(new, "test", name).await.unwrap()
    }

    async fn said(&self, text: &str) -> i64 {
        let (from, text) = ("ada".to_owned(), text.to_owned());
        self.came_in(Cause::Message { from, text, attachments: Vec::new(), instead: None }).await
    }

    async fn came_in(&self, cause: Cause) -> i64 {
        let inbound = Inbound {
            source: "test".to_owned(),
            external_id: format!("{cause:?}"),
            workspace: self.workspace,
            chat: CHAT,
            cause,
            meant: Meant::Words,
            heard_in: None,
        };
        self.store.inbox().accept(inbound).await.unwrap().item.id
    }

    fn new_task(&self, name: &str, parent: Option<TaskId>, marks: &[&str]) -> NewTask {
        NewTask {
            workspace: self.workspace,
            chat: CHAT,
            person: self.user,
            parent,
            turn: cloister_protocol::TurnId::of_message(1),
            title: name.to_owned(),
            instructions: name.to_owned(),
            request: String::new(),
            files: Vec::new(),
            plan_first: false,
            budget: 1,
            hosts: None,
            secrets: None,
            marks: marks.iter().map(|mark| (*mark).to_owned()).collect(),
        }
    }

    async fn task(&self, name: &str, parent: Option<TaskId>, marks: &[&str]) -> Task {
        let new = self.new_task(name, parent, marks);
        self.store.tasks().delegate(new, "test", name).await.unwrap();
        loop {
            let started = self.store.tasks().start_next().await.unwrap().unwrap();
            if started.title == name {
                return started;
            }
        }
    }

    fn question(&self, task: &Task, digest: &str) -> NewApproval {
        NewApproval {
            workspace: self.workspace,
            chat: CHAT,
            task: Some(task.id),
            user: self.user,
            kind: ApprovalKind::Effect,
            digest: digest.to_owned(),
            class: "outward".to_owned(),
            reason: "it sends".to_owned(),
            sources: vec!["a page".to_owned()],
            people: 1,
            offered: Answer::ALL.to_vec(),
            title: "send".to_owned(),
            text: "all of it".to_owned(),
            describes: "send anything there".to_owned(),
            template: Some("{}".to_owned()),
            host: None,
            call: None,
            proposal: None,
            raise: None,
            park: true,
        }
    }

    /// Something of a task that this grant lets happen once.
    fn cleared(&self, task: &Task, grant: u32) -> Cleared {
        let action = Action::Tool { name: "bash".to_owned(), arguments: "{}".to_owned() };
        let asker = Asker {
            user: self.user,
            workspace: self.workspace,
            chat: CHAT,
            task: Some(task.id),
            why: String::new(),
            origin: Labels::default(),
        };
        let effect = Effect { action, surroundings: Surroundings::default(), asker };
        let grant = gate::Grant {
            id: GrantId(grant),
            user: self.user,
            workspace: self.workspace,
            chat: CHAT,
            reach: gate::Reach::Once { task: Some(task.id), effect: effect.digest() },
            ended: false,
        };
        let flow = Flow::Ask { sources: Vec::new(), reason: "foreign".to_owned() };
        let role = format!("member@workspace:{}", self.workspace);
        let person = Person { user: self.user, roles: vec![role.parse().unwrap()] };
        let place = Place::workspace(self.workspace, Ownership::Private { owner: self.user });
        let asked = Request::chat(&person, ChatCall::Read, &place, CHAT);
        let verdict = Engine::new(&[]).unwrap().decide(&asked);
        match gate::decide(&effect, &[grant], &verdict, &flow) {
            Decision::Run(pass) => pass.clear(effect).unwrap(),
            other => panic!("it does not run: {other:?}"),
        }
    }

    async fn ask(&self, task: &Task, digest: &str) -> Approval {
        self.store.approvals().ask(self.question(task, digest)).await.unwrap().approval
    }

    fn given(&self, id: ApprovalId, answer: Answer) -> Given {
        let workspace = self.workspace;
        Given { workspace, id, user: self.user, answer, digest: None }
    }

    async fn answer(&self, id: ApprovalId, answer: Answer) -> Answered {
        self.store
            .inbox()
            .answer(&Actor::person("ada"), &self.given(id, answer), settle)
            .await
            .unwrap()
    }

    async fn end(&self, task: &Task) {
        let ending = Ending {
            state: TaskState::Done,
            result: String::new(),
            not_shown: Vec::new(),
            known_to_person: true,
        };
        self.store.tasks().end_task(task.id, ending).await.unwrap().unwrap();
    }

    async fn marks(&self, task: &Task) -> Vec<String> {
        self.store.approvals().task_content(task.id).await.unwrap().marks
    }

    async fn state(&self, task: &Task) -> TaskState {
        self.store.tasks().task(task.id).await.unwrap().state
    }
}

fn settle(people: u8, answers: &[(UserId, Answer)]) -> Standing {
    if answers.iter().any(|(_, answer)| !answer.is_allowing()) {
        return Standing::Denied;
    }
    let given = u8::try_from(answers.len()).unwrap();
    match answers.last() {
        Some((_, answer)) if given >= people => Standing::Allowed(*answer),
        _ => Standing::Waiting { people: people - given },
    }
}

fn refused(answered: &Answered) -> AnswerRefused {
    match answered {
        Answered::Refused(refused) => *refused,
        Answered::Taken { .. } => panic!("it was taken"),
    }
}

fn content(mark: &str) -> NewContent {
    NewContent { marks: vec![mark.to_owned()], ..NewContent::default() }
}

#[tokio::test]
async fn a_question_is_asked_once_while_it_says_something() {
    let setup = setup().await;
    let task = setup.task("work", None, &[]).await;
    let first = setup.store.approvals().ask(setup.question(&task, "d1")).await.unwrap();
    assert!(first.told.is_some());
    assert_eq!(setup.state(&task).await, TaskState::Waiting);
    let again = setup.store.approvals().ask(setup.question(&task, "d1")).await.unwrap();
    assert!(again.told.is_none());
    assert_eq!(again.approval.id, first.approval.id);
    assert_ne!(setup.ask(&task, "d2").await.id, first.approval.id, "one byte more is another one");

    let id = first.approval.id;
    assert!(matches!(setup.answer(id, Answer::Allow).await, Answered::Taken { .. }));
    assert_eq!(setup.state(&task).await, TaskState::Queued);
    let unused = setup.ask(&task, "d1").await;
    assert_eq!((unused.id, unused.state), (id, ApprovalState::Allowed));
    let [grant] = &setup
        .store
        .approvals()
        .live_grants(setup.user, setup.workspace, Some(task.id))
        .await
        .unwrap()[..]
    else {
        panic!("one grant")
    };
    assert_eq!(grant.reach, Reach::Once);
    let passing = || Passing::of(setup.cleared(&task, grant.id), Vec::new());
    assert!(setup.store.approvals().pass(passing()).await.unwrap().is_ok());
    let again = setup.store.approvals().pass(passing()).await.unwrap();
    assert!(matches!(again, Err(GrantEnded)), "it was for once");
    assert_ne!(setup.ask(&task, "d1").await.id, id, "used up, it has to be asked again");

    let no = setup.ask(&task, "d3").await;
    setup.answer(no.id, Answer::Deny).await;
    assert_eq!(setup.ask(&task, "d3").await.id, no.id, "no stays no");
}

/// E63: what was answered, is not there, is somebody else's or was not offered counts for nothing, and is in
/// the audit trail.
#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_and_noted() {
    let setup = setup().await;
    let task = setup.task("work", None, &[]).await;
    let approval = setup.ask(&task, "d1").await;
    let (mallory, elsewhere) = user(&setup.store, "mallory").await;
    let foreign =
        Given { workspace: elsewhere, user: mallory, ..setup.given(approval.id, Answer::Allow) };
    assert_eq!(
        refused(
            &setup.store.inbox().answer(&Actor::person("mallory"), &foreign, settle).await.unwrap()
        ),
        AnswerRefused::Unknown
    );
    let stale = Given { digest: Some("d0".to_owned()), ..setup.given(approval.id, Answer::Allow) };
    assert_eq!(
        refused(&setup.store.inbox().answer(&Actor::person("ada"), &stale, settle).await.unwrap()),
        AnswerRefused::Changed
    );
    let missing = ApprovalId::from_number(99);
    assert_eq!(refused(&setup.answer(missing, Answer::Allow).await), AnswerRefused::Unknown);
    assert_eq!(setup.state(&task).await, TaskState::Waiting);
    setup.answer(approval.id, Answer::Deny).await;
    assert_eq!(refused(&setup.answer(approval.id, Answer::Allow).await), AnswerRefused::Closed);
    let narrow =
        NewApproval { offered: vec![Answer::Allow, Answer::Deny], ..setup.question(&task, "d2") };
    let narrow = setup.store.approvals().ask(narrow).await.unwrap().approval;
    assert_eq!(
        refused(&setup.answer(narrow.id, Answer::AllowAlways).await),
        AnswerRefused::NotOffered
    );
    setup.end(&task).await;
    assert_eq!(refused(&setup.answer(narrow.id, Answer::Allow).await), AnswerRefused::Void);
    let trail = setup.store.audit().audit_tail(100).await.unwrap();
    let noted = trail.iter().filter(|row| row.action == "approval.refused");
    assert_eq!(noted.count(), 6);
    assert!(setup.store.approvals().grants(setup.workspace).await.unwrap().is_empty());
}

/// G1: where two people are demanded, one person is one.
#[tokio::test]
async fn two_people_are_two_people() {
    let setup = setup().await;
    let (bob, _) = user(&setup.store, "bob").await;
    let task = setup.task("work", None, &[]).await;
    let asked = NewApproval { people: 2, ..setup.question(&task, "d1") };
    let id = setup.store.approvals().ask(asked).await.unwrap().approval.id;
    let Answered::Taken { approval, standing } = setup.answer(id, Answer::Allow).await else {
        panic!("refused")
    };
    assert_eq!(
        (approval.state, standing),
        (ApprovalState::Pending, Standing::Waiting { people: 1 })
    );
    assert_eq!(refused(&setup.answer(id, Answer::Allow).await), AnswerRefused::SamePerson);
    assert_eq!(setup.state(&task).await, TaskState::Waiting);
    let second = Given { user: bob, ..setup.given(id, Answer::Allow) };
    let Answered::Taken { approval, .. } =
        setup.store.inbox().answer(&Actor::person("bob"), &second, settle).await.unwrap()
    else {
        panic!("refused")
    };
    assert_eq!(approval.state, ApprovalState::Allowed);
    let who: Vec<&str> = approval.answers.iter().map(|given| given.by.as_str()).collect();
    assert_eq!(who, ["ada", "bob"]);
}

/// E65: what waits is there after a restart, and answered then.
#[tokio::test]
async fn a_question_outlives_the_control_plane() {
    let setup = setup().await;
    let task = setup.task("work", None, &[]).await;
    let id = setup.ask(&task, "d1").await.id;
    setup.store.close().await.unwrap();
    let store = Store::open(&setup.dir.path().join("cloister.db")).await.unwrap();
    store.tasks().requeue_running().await.unwrap();
    assert_eq!(store.tasks().task(task.id).await.unwrap().state, TaskState::Waiting);
    let [waiting] = &store.approvals().pending_approvals(setup.workspace).await.unwrap()[..] else {
        panic!("one waits")
    };
    assert_eq!((waiting.id, waiting.sources.as_slice()), (id, &["a page".to_owned()][..]));
    store
        .inbox()
        .answer(&Actor::person("ada"), &setup.given(id, Answer::AllowForTask), settle)
        .await
        .unwrap();
    let grants =
        store.approvals().live_grants(setup.user, setup.workspace, Some(task.id)).await.unwrap();
    assert_eq!(grants.iter().map(|grant| grant.reach).collect::<Vec<_>>(), [Reach::Task]);
}

#[tokio::test]
async fn what_was_granted_for_a_task_ends_with_it_and_always_until_revoked() {
    let setup = setup().await;
    let task = setup.task("work", None, &[]).await;
    for (digest, answer) in [("d1", Answer::AllowForTask), ("d2", Answer::AllowAlways)] {
        let id = setup.ask(&task, digest).await.id;
        setup.answer(id, answer).await;
    }
    let other = setup.task("other", None, &[]).await;
    let elsewhere =
        setup.store.approvals().live_grants(setup.user, setup.workspace, Some(other.id)).await;
    assert_eq!(elsewhere.unwrap().len(), 1, "a task's own grant helps no other task");
    setup.end(&task).await;
    let left = setup.store.approvals().grants(setup.workspace).await.unwrap();
    let [always] = &left[..] else { panic!("{left:?}") };
    assert_eq!((always.reach, always.given_by.as_str()), (Reach::Always, "ada"));
    assert_eq!(always.chat, CHAT, "it is of the chat whose question it answers");
    let (_, foreign) = user(&setup.store, "bob").await;
    assert!(
        setup
            .store
            .approvals()
            .revoke_grant(&Actor::person("bob"), foreign, always.id)
            .await
            .is_err()
    );
    setup
        .store
        .approvals()
        .revoke_grant(&Actor::person("ada"), setup.workspace, always.id)
        .await
        .unwrap();
    assert!(
        setup
            .store
            .approvals()
            .revoke_grant(&Actor::person("ada"), setup.workspace, always.id)
            .await
            .is_err()
    );
    assert!(setup.store.approvals().grants(setup.workspace).await.unwrap().is_empty());
}

/// A7: what is allowed more than once at a host is what a task can choose among there.
#[tokio::test]
async fn what_was_allowed_more_than_once_at_a_host_is_counted() {
    let setup = setup().await;
    let (task, other) = (setup.task("work", None, &[]).await, setup.task("other", None, &[]).await);
    for (task, digest, host, answer) in [
        (&task, "d1", "h.test", Answer::AllowForTask),
        (&task, "d2", "www.h.test", Answer::AllowForTask),
        (&task, "d3", "h.test", Answer::Allow),
        (&task, "d4", "a.test", Answer::AllowForTask),
        (&other, "d5", "h.test", Answer::AllowForTask),
        (&other, "d6", "h.test", Answer::AllowAlways),
    ] {
        let question = NewApproval { host: Some(host.into()), ..setup.question(task, digest) };
        let asked = setup.store.approvals().ask(question).await.unwrap();
        setup.answer(asked.approval.id, answer).await;
    }
    let count = async |task: &Task, names: [&str; 2]| {
        let who = (setup.user, setup.workspace, task.id);
        setup.store.approvals().lasting_grants_at(who, names).await.unwrap()
    };
    assert_eq!(count(&task, ["h.test", "www.h.test"]).await, 3);
    assert_eq!(count(&task, ["a.test", "www.a.test"]).await, 1);
    assert_eq!(count(&other, ["h.test", "www.h.test"]).await, 2);
    assert_eq!(count(&other, ["b.test", "www.b.test"]).await, 0);
}

/// T4: the record of a call is in the transaction of its step, and what it uses up is used once.
#[tokio::test]
async fn a_step_passes_with_its_record_or_not_at_all() {
    let setup = setup().await;
    let task = setup.task("work", None, &[]).await;
    let id = setup.ask(&task, "d1").await.id;
    setup.answer(id, Answer::Allow).await;
    let grant = setup.store.approvals().grants(setup.workspace).await.unwrap()[0].id;
    let calls = vec![Call { id: "c".into(), name: "bash".into(), arguments: "{}".into() }];
    let answer = Step::Answer { text: String::new(), calls };
    let store = &setup.store;
    let said = SaidStep::of(&answer).unwrap();
    store.tasks().append_said(task.id, 0, said, Vec::new()).await.unwrap();
    let passing = || {
        let entry =
            Entry::of_cell((setup.workspace, Some(task.id)), "tool.call", task.id).with("bash");
        Passing::of(setup.cleared(&task, grant), vec![entry])
    };
    let stored = store.tasks().append_call(task.id, 1, "c", passing()).await.unwrap();
    assert!(matches!(stored, Called::New(_)));
    let again = store.tasks().append_call(task.id, 1, "c", passing()).await.unwrap();
    assert!(matches!(again, Called::Known), "the same step again is the same step");
    let ended = store.tasks().append_call(task.id, 2, "d", passing()).await.unwrap();
    assert!(matches!(ended, Called::GrantEnded));
    assert_eq!(store.tasks().steps(task.id).await.unwrap().len(), 2);
    let trail = store.audit().audit_tail(100).await.unwrap();
    assert_eq!(trail.iter().filter(|row| row.action == "tool.call").count(), 1);
}

/// E67, E68: marks go from a task to its chat's files at once, to later and sub-tasks, and from a sub-task to
/// its parent; clearing the history leaves those of the files.
#[tokio::test]
async fn marks_spread_and_stay() {
    let setup = setup().await;
    let (web, own) = ("\"web\"", "\"own\"");
    let reader = setup.task("reader", None, &[own]).await;
    let beside = setup.task("beside", None, &[own]).await;
    setup.store.approvals().record_content(reader.id, content(web)).await.unwrap();
    let chat = setup.store.approvals().chat_content(setup.workspace, CHAT).await.unwrap();
    // Whose words led to a task counts too: they are foreign to everybody else.
    assert_eq!(chat.files, [own, web], "the file may be there before the task ends");
    assert_eq!(setup.marks(&beside).await, [own]);
    let child = setup.task("child", Some(reader.id), &[]).await;
    assert_eq!(setup.marks(&child).await, [own, web]);
    let tool = "\"tool\"";
    setup.store.approvals().record_content(child.id, content(tool)).await.unwrap();
    setup.end(&child).await;
    assert!(setup.marks(&reader).await.contains(&tool.to_owned()));
    setup.end(&reader).await;
    setup.store.approvals().history_cleared(setup.workspace, CHAT).await.unwrap();
    let after = setup.task("after", None, &[own]).await;
    assert_eq!(setup.marks(&after).await, [own, tool, web]);
    let chat = setup.store.approvals().chat_content(setup.workspace, CHAT).await.unwrap();
    assert!(chat.history.is_empty());
    assert!(chat.files.len() >= 2);
    // What everybody reads marks everybody.
    setup
        .store
        .approvals()
        .mark_workspace(setup.workspace, &["\"memory\"".to_owned()])
        .await
        .unwrap();
    let elsewhere = setup
        .store
        .approvals()
        .chat_content(setup.workspace, ChatId::from_number(7))
        .await
        .unwrap();
    assert_eq!(elsewhere.files, ["\"memory\""]);
}

#[tokio::test]
async fn links_and_hosts_are_those_of_the_task_and_of_the_tasks_above_it() {
    let setup = setup().await;
    let parent = setup.task("parent", None, &[]).await;
    let seen = NewContent {
        links: vec!["https://a.test/1".to_owned(), "https://a.test/1".to_owned()],
        hosts: vec!["a.test".to_owned()],
        ..NewContent::default()
    };
    setup.store.approvals().record_content(parent.id, seen.clone()).await.unwrap();
    setup.store.approvals().record_content(parent.id, seen).await.unwrap();
    let child = setup.task("child", Some(parent.id), &[]).await;
    let other = setup.task("other", None, &[]).await;
    let known = setup.store.approvals().task_content(child.id).await.unwrap();
    assert_eq!((known.links.len(), known.hosts.as_slice()), (1, &["a.test".to_owned()][..]));
    let known = setup.store.approvals().task_content(other.id).await.unwrap();
    assert!(known.links.is_empty() && known.hosts.is_empty());
}

/// A page had the coordinator delegate again with every report, and each task began at nothing: a file left in
/// fifteen of them, unasked.
#[tokio::test]
async fn what_a_report_leads_to_chooses_on_the_count_of_the_message_that_it_came_of() {
    let setup = setup().await;
    let tasks = setup.store.tasks();
    let mut known = Vec::new();
    for (name, said) in [("one", "read it"), ("two", "read it once more")] {
        let first = setup.in_turn_of(setup.said(said).await, name).await;
        // Beside it in the same turn, and below that.
        let beside =
            setup.in_turn_of(first.turn.message().unwrap(), &format!("{name} beside")).await;
        let below = setup.task(&format!("{name} below"), Some(beside.id), &[]).await;
        let mut last = vec![first.clone(), beside, below];
        for report in 0..3 {
            let reports = last.iter().map(Task::report).collect();
            let row = setup.came_in(Cause::TasksEnded { reports }).await;
            last = vec![setup.in_turn_of(row, &format!("{name} after {report}")).await];
            let task = tasks.task(last[0].id).await.unwrap();
            assert_eq!(setup.store.approvals().first_task(task.id).await.unwrap(), first.id);
        }
        known.push(first.id);
    }
    assert_ne!(known[0], known[1], "what the person asks for anew begins anew");
}

/// What a task and those below it choose at a host adds up, and is not forgotten when one of them starts again.
#[tokio::test]
async fn choices_add_up_for_a_task_and_those_below_it() {
    let setup = setup().await;
    let top = setup.task("top", None, &[]).await;
    let below = setup.task("below", Some(top.id), &[]).await;
    let store = &setup.store;
    assert_eq!(store.approvals().top_task(below.id).await.unwrap(), top.id);
    assert_eq!(store.approvals().top_task(top.id).await.unwrap(), top.id);
    assert!(store.approvals().choose(top.id, "a.test", 40, 64).await.unwrap());
    assert!(!store.approvals().choose(top.id, "a.test", 25, 64).await.unwrap());
    assert!(store.approvals().choose(top.id, "a.test", 24, 64).await.unwrap());
    assert!(!store.approvals().choose(top.id, "b.test", 65, 64).await.unwrap());
    assert!(store.approvals().choose(top.id, "b.test", 1, 64).await.unwrap());
    let again = Store::open(&setup.dir.path().join("cloister.db")).await.unwrap();
    assert_eq!(again.approvals().chosen_bits(top.id, "a.test").await.unwrap(), 64);
    again.approvals().choose_anew(top.id, "a.test").await.unwrap();
    assert_eq!(again.approvals().chosen_bits(top.id, "a.test").await.unwrap(), 0);
    assert_eq!(again.approvals().chosen_bits(top.id, "b.test").await.unwrap(), 1);
}

/// E61: where a host was found is kept with the task, until nobody answers there.
#[tokio::test]
async fn where_a_host_was_found_is_kept() {
    let setup = setup().await;
    let task = setup.task("t", None, &[]).await;
    let found = FoundHost {
        host: "a.test".to_owned(),
        addresses: vec!["192.0.2.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
        shown: true,
    };
    setup.store.approvals().host_found(task.id, &found).await.unwrap();
    assert_eq!(setup.store.approvals().hosts_found(task.id).await.unwrap(), [found]);
    setup.store.approvals().host_lost(task.id, "a.test").await.unwrap();
    assert_eq!(setup.store.approvals().hosts_found(task.id).await.unwrap(), []);
}

/// M3: one limit is one question, whoever runs into it; the answer raises it in its own transaction, and whoever
/// waited goes on. What was refused is not asked again, and a day's question ends with the day.
#[tokio::test]
async fn more_is_asked_for_once_and_raised_with_the_answer() {
    let setup = setup().await;
    let parent = setup.task("parent", None, &[]).await;
    let child = setup.task("child", Some(parent.id), &[]).await;
    let other = setup.task("other", None, &[]).await;
    let for_more = |task: Option<TaskId>, digest: &str, raise: Raise| NewApproval {
        task,
        raise: Some(raise),
        template: None,
        park: false,
        ..setup.question(&child, digest)
    };
    let of_task = || for_more(Some(child.id), "task", Raise::Task { task: child.id, by: 5 });
    let asked = setup.store.tasks().ask_for_more(of_task(), Some(child.id)).await.unwrap();
    assert!(asked.told.is_some());
    assert_eq!(setup.state(&child).await, TaskState::Waiting);
    let again = setup.store.tasks().ask_for_more(of_task(), Some(child.id)).await.unwrap();
    assert_eq!((again.approval.id, again.told.is_none()), (asked.approval.id, true));
    setup.answer(asked.approval.id, Answer::Allow).await;
    assert_eq!(setup.state(&child).await, TaskState::Queued);
    let budget = |task: TaskId| setup.store.tasks().task_budget_state(setup.user, task);
    assert_eq!(budget(child.id).await.unwrap().limit, 6);
    assert_eq!(budget(parent.id).await.unwrap().limit, 6, "what is spent below is spent above");
    assert_eq!(budget(other.id).await.unwrap().limit, 1);
    assert!(
        setup.store.approvals().grants(setup.workspace).await.unwrap().is_empty(),
        "it is no grant"
    );

    let today = setup.store.clock.today();
    let of_day =
        |digest: &str, day: &str| for_more(None, digest, Raise::Day { day: day.to_owned(), by: 7 });
    let asked =
        setup.store.tasks().ask_for_more(of_day("d1", &today), Some(other.id)).await.unwrap();
    let turn = setup.store.tasks().ask_for_more(of_day("d1", &today), None).await.unwrap();
    assert_eq!((turn.approval.id, turn.told.is_none()), (asked.approval.id, true));
    setup.answer(asked.approval.id, Answer::Deny).await;
    assert_eq!(setup.state(&other).await, TaskState::Queued);
    let refused =
        setup.store.tasks().ask_for_more(of_day("d1", &today), Some(other.id)).await.unwrap();
    assert_eq!(refused.approval.state, ApprovalState::Denied);
    let asked = setup.store.tasks().ask_for_more(of_day("d2", &today), None).await.unwrap();
    setup.answer(asked.approval.id, Answer::Allow).await;
    assert_eq!(setup.store.tasks().budget_state(setup.user).await.unwrap().limit, 8);
    let raised = setup.store.audit().audit_tail(100).await.unwrap();
    let raised = raised.iter().filter(|row| row.action == "budget.raise" && row.actor == "ada");
    assert_eq!(raised.count(), 2);

    // More a day, or a yes to another question about it, makes room: nobody has to answer what is left.
    let left =
        setup.store.tasks().ask_for_more(of_day("d4", &today), Some(other.id)).await.unwrap();
    let more = setup.store.tasks().ask_for_more(of_day("d5", &today), None).await.unwrap();
    setup.answer(more.approval.id, Answer::Allow).await;
    let store = &setup.store;
    let state = |asked: Asked| async move {
        store.approvals().approval(asked.approval.id).await.unwrap().state
    };
    assert_eq!(state(more).await, ApprovalState::Allowed);
    assert_eq!(state(left).await, ApprovalState::Void);
    let name = setup.store.users().user_of(setup.workspace).await.unwrap().name;
    for (daily_budget, expected) in [(0, ApprovalState::Pending), (100, ApprovalState::Void)] {
        let left = setup.store.tasks().ask_for_more(of_day("d6", &today), None).await.unwrap();
        let limits = setup.store.users().user(&name).await.unwrap().limits;
        let limits = UserLimits { daily_budget, ..limits };
        setup.store.users().set_limits(&Actor::Operator, &name, limits).await.unwrap();
        assert_eq!(state(left).await, expected, "{daily_budget}");
    }
    let old = setup.store.tasks().ask_for_more(of_day("d3", "2000-01-01"), None).await.unwrap();
    assert_eq!(setup.store.tasks().end_past_days().await.unwrap(), 1);
    let ended = setup.store.approvals().approval(old.approval.id).await.unwrap();
    assert_eq!(ended.state, ApprovalState::Void);
}
