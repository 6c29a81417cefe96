//! Every request of a cell, from each part of it, about what is its own, in another chat, of another agent, in another context
//! and in another workspace: really carried out over a link, and compared with the reviewed matrix.

use cloister_protocol::admin::ContextChange;
use cloister_protocol::link::{Call, Downlink, Finish, Lasting, Reply, Step, Uplink};
use cloister_protocol::{
    AgentFrame, End, ModelDoing, TaskState, TextChunk, ToolCall, ToolResult, TurnId, Update, Usage,
};
use cloister_store::Actor;
use cloister_store::chats::NewChat;
use cloister_store::lobbies::Thread;
use cloister_store::tasks::NewTask;
use cloister_store::users::User;
use cloister_testkit::rows;
use tokio::sync::broadcast::Receiver;

use super::*;
use crate::agents::NewAgent;
use crate::cells::Poke;
use crate::control::Control;
use crate::hub::Said;
use crate::options::CellOptions;
use crate::test_cells::{FakeAgent, FakeCells};
use crate::test_world::{C1, CLUB, World};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cell-requests-matrix.txt");

/// A chat with something in it that others might want.
struct Place {
    chat: ChatKey,
    person: User,
    /// Everything that is said there.
    heard: Receiver<Said>,
}

struct Scene {
    world: World,
    cells: FakeCells,
    /// By distance from the first.
    places: Vec<Place>,
    coordinator: FakeAgent,
    /// A turn of the own chat that stays open.
    fence: TurnId,
    number: u32,
}

impl Scene {
    async fn new() -> Self {
        let (world, cells) = World::with_cells(CellOptions::default()).await;
        world.role(&world.bob, "member").await;
        world.club_room("reading", CLUB).await;
        let club = world.club.workspace;
        let chat_of = async |name: &str| {
            let contexts = world.store().chats().contexts(club).await.unwrap();
            contexts.into_iter().find(|context| context.name == name).unwrap().chat.unwrap()
        };
        let own = chat_of("reading").await;
        let thread = Thread { connector: world.connector.id, external_id: "$t", title: "thread" };
        let beside = world
            .store()
            .chats()
            .put_thread(&Actor::person("test"), thread, (club, "reading"))
            .await
            .unwrap()
            .chat;
        let change = ContextChange {
            surface: Some("matrix".into()),
            conversation: Some("!board:example.org".into()),
            new: true,
            ..ContextChange::default()
        };
        world
            .control
            .contexts()
            .change_context(&Actor::person("root"), club, "board", change)
            .await
            .unwrap();
        let board = chat_of("board").await;
        let (root, nora) = (Actor::person("test"), NewAgent { name: "Nora", manner: "" });
        let nora = world.control.chats().agents().add(&root, club, nora, None).await.unwrap();
        let new = NewChat { title: "theirs", agent: nora.id, context: Some("reading") };
        let theirs = world.store().chats().new_chat(&root, club, new, None).await.unwrap().id;
        let bob = world.bob.clone();
        let ada = world.ada.clone();
        let mut places = Vec::new();
        for (chat, person) in [
            ((club, own), &bob),
            ((club, beside), &bob),
            ((club, theirs), &bob),
            ((club, board), &bob),
            ((ada.workspace, C1), &ada),
        ] {
            world.control.cells().prepare_workspace(chat.0, vec![chat.1]).await.unwrap();
            let files = world.control.layout().chat_files(chat.0, chat.1);
            std::fs::write(
                files.join("treasure.txt"),
                format!("treasure of {} {}", chat.0, chat.1),
            )
            .unwrap();
            let heard = world.control.hub().listen(chat.0, chat.1);
            places.push(Place { chat, person: person.clone(), heard });
        }
        let scheduler = world.control.clone();
        world.control.inner.crew.keep("scheduler", move |rounds| {
            let control = scheduler.clone();
            async move { control.tasks().schedule_tasks(&rounds).await }
        });
        let row = world.stored(places[0].chat, &bob, "stay", None).await;
        world.control.cells().poke(places[0].chat, Poke::Inbox);
        let own = places[0].chat;
        let coordinator =
            cells.agent(|who| (who.workspace, who.chat) == own && who.task.is_none()).await;
        let fence = TurnId::of_trigger(&row.trigger().unwrap());
        Self { world, cells, places, coordinator, fence, number: 0 }
    }

    fn control(&self) -> &Control {
        &self.world.control
    }

    /// An open turn of a place; of the own chat, one that its coordinator has been handed.
    async fn turn(&mut self, place: usize) -> TurnId {
        let Place { chat, person, .. } = &self.places[place];
        let row = self.world.stored(*chat, person, "hello", None).await;
        let turn = TurnId::of_trigger(&row.trigger().unwrap());
        if place == 0 {
            self.control().cells().poke(*chat, Poke::Inbox);
            loop {
                match self.coordinator.hear().await.unwrap() {
                    Downlink::Trigger(trigger) if TurnId::of_trigger(&trigger.id) == turn => break,
                    _ => {}
                }
            }
        }
        turn
    }

    /// An open task of a place.
    async fn task(&mut self, place: usize) -> TaskId {
        self.number += 1;
        let Place { chat, person, .. } = &self.places[place];
        let title = format!("secret work {}", self.number);
        let task = NewTask { title, ..rows::task(*chat, person.id) };
        let key = self.number.to_string();
        let task =
            self.world.store().tasks().delegate(task, "admission tests", &key).await.unwrap().id;
        // Nobody asked over a link, so nobody told the scheduler: without a word it looks every few seconds.
        self.control().tasks().look();
        task
    }

    /// Ends what a case left behind: executors are few.
    async fn clear_away(&self) {
        for workspace in [self.places[0].chat.0, self.places[4].chat.0] {
            self.control()
                .tasks()
                .cancel_tasks(&Actor::person("the test"), workspace, None)
                .await
                .unwrap();
        }
    }

    /// What there is of everybody: tasks that are open, turns that are, files that were sent.
    async fn state(&self) -> String {
        let mut state = Vec::new();
        for Place { chat, .. } in &self.places {
            let open = self.world.store().tasks().open_tasks(chat.0).await.unwrap();
            let open: Vec<TaskId> = open.iter().map(|task| task.id).collect();
            let turns = self.world.store().inbox().unanswered_in(chat.0, chat.1).await.unwrap();
            let turns: Vec<_> = turns.iter().map(|row| (row.id, row.state)).collect();
            state.push(format!("{chat:?} {open:?} {turns:?}"));
        }
        let objects = std::fs::read_dir(self.control().layout().objects()).unwrap().count();
        format!("{} objects {objects}", state.join(" "))
    }

    /// What was said anywhere, but for the states of tasks, which change by themselves.
    fn heard(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        for Place { chat, heard, .. } in &mut self.places {
            while let Ok(Said { frame, .. }) = heard.try_recv() {
                if !matches!(&*frame, AgentFrame::Update(Update::Task { .. })) {
                    all.push(format!("{chat:?} {frame:?}"));
                }
            }
        }
        all
    }

    /// Waits until the coordinator's frames so far have been taken; what it was answered.
    async fn fence(&mut self, number: u32) -> Vec<Reply> {
        let id: cloister_protocol::RequestId = format!("fence-{number}").parse().unwrap();
        let (turn, ask) = (Some(self.fence.clone()), Asked::ListTasks);
        self.coordinator
            .say(Uplink::Request(Request { id: id.clone(), chat: None, turn, ask }))
            .await;
        let mut replies = Vec::new();
        loop {
            match self.coordinator.hear().await.unwrap() {
                Downlink::Reply { id: of, .. } if of == id => return replies,
                Downlink::Reply { result, .. } => replies.push(result),
                _ => {}
            }
        }
    }
}

fn call() -> Call {
    Call { id: "c1".into(), name: "ls".into(), arguments: "{}".into() }
}

/// A frame of this kind that names what is in a place.
fn frame(
    kind: CellRequest,
    at: ChatKey,
    turn: &TurnId,
    task: TaskId,
    own: &TurnId,
) -> Option<Uplink> {
    let ask = |ask: Asked| {
        let names_turn = kind.row().names == Names::Turn;
        let (turn, chat) = if names_turn { (turn, Some(at.1)) } else { (own, None) };
        let id = format!("r-{}-{}", turn, kind as u32).parse().unwrap();
        Some(Uplink::Request(Request { id, chat, turn: Some(turn.clone()), ask }))
    };
    let turn_of = Some(turn.clone());
    Some(match kind {
        CellRequest::Hello => Uplink::Hello { version: "x".into() },
        CellRequest::Accepted => {
            Uplink::Accepted { id: turn.as_str().strip_prefix("t-").unwrap().parse().unwrap() }
        }
        CellRequest::TextChunk => {
            Uplink::TextChunk(TextChunk { turn: turn.clone(), seq: 0, text: "forged".into() })
        }
        CellRequest::ToolCall => Uplink::ToolCall(ToolCall {
            turn: turn_of,
            task: Some(task),
            id: "c".into(),
            name: "x".into(),
            arguments: serde_json::json!({}),
        }),
        CellRequest::ToolResult => Uplink::ToolResult(ToolResult {
            turn: turn_of,
            task: Some(task),
            id: "c".into(),
            ok: true,
            output: "forged".into(),
        }),
        CellRequest::Restart => Uplink::Update(Update::Restart { turn: turn.clone() }),
        CellRequest::Model => Uplink::Update(Update::Model {
            turn: turn.clone(),
            doing: ModelDoing::Thinks,
            attempt: 1,
            thought: "forged".into(),
        }),
        CellRequest::Progress => Uplink::Update(Update::Progress {
            task: Some(task),
            text: "forged".into(),
            doing: None,
            attempt: None,
        }),
        CellRequest::Tell => Uplink::Update(Update::Notice { text: "forged".into() }),
        CellRequest::End => Uplink::End(End {
            turn: turn.clone(),
            message: None,
            text: "forged".into(),
            usage: Usage::default(),
            error: None,
        }),
        CellRequest::Step => {
            Uplink::Step { seq: 0, step: Step::Answer { text: String::new(), calls: vec![call()] } }
        }
        CellRequest::Todos => Uplink::Todos { todos: Vec::new() },
        CellRequest::Finish => Uplink::Finish(Finish {
            ok: true,
            result: "forged".into(),
            claims: Vec::new(),
            usage: Usage::default(),
        }),
        CellRequest::Delegate => {
            return ask(Asked::Delegate {
                title: "more".into(),
                instructions: "do more".into(),
                risky: false,
                hosts: None,
                secrets: None,
            });
        }
        CellRequest::ListTasks => return ask(Asked::ListTasks),
        CellRequest::ShowTask => return ask(Asked::ShowTask { task }),
        CellRequest::CancelTask => return ask(Asked::CancelTasks { task: Some(task) }),
        CellRequest::CancelTasks => return ask(Asked::CancelTasks { task: None }),
        CellRequest::SendFile => {
            let path = format!("/workspace/chats/{}/files/treasure.txt", at.1);
            return ask(Asked::SendFile { path, name: None });
        }
        CellRequest::ProposePlan => return ask(Asked::ProposePlan { plan: "1. look".into() }),
        CellRequest::Propose => {
            return ask(Asked::Propose {
                what: Lasting::Memory,
                path: "MEMORY.md".into(),
                text: format!("# What to keep in mind\n\n- forged {turn}\n"),
                why: "because".into(),
            });
        }
        // Of the door, not of the link; what names nothing can name nothing of others.
        CellRequest::OpenLink
        | CellRequest::ListModels
        | CellRequest::CallModel
        | CellRequest::Fetch
        | CellRequest::Search
        | CellRequest::Proxy
        | CellRequest::ReadAuthority
        | CellRequest::ReadRefusals
        | CellRequest::ListSecrets => return None,
    })
}

/// Whether a coordinator got anything by this frame.
async fn coordinator_gets(scene: &mut Scene, kind: CellRequest, place: usize) -> bool {
    scene.number += 1;
    let number = scene.number;
    let (own, turn, task) = (scene.turn(0).await, scene.turn(place).await, scene.task(place).await);
    let at = scene.places[place].chat;
    let Some(mut frame) = frame(kind, at, &turn, task, &own) else { panic!("{kind:?}") };
    if let Uplink::Request(Request { ask: Asked::SendFile { path, .. }, .. }) = &mut frame
        && place == 4
    {
        *path = format!("/workspace/../{}/chats/{}/files/treasure.txt", at.0, at.1);
    }
    scene.fence(number).await;
    let (before, _) = (scene.state().await, scene.heard());
    scene.coordinator.say(frame.clone()).await;
    if kind == CellRequest::Accepted {
        // Noted a little later, in order: when a later one is, this one was.
        let last = scene.turn(0).await;
        let id = last.as_str().strip_prefix("t-").unwrap().parse().unwrap();
        let before = scene.state().await;
        scene.coordinator.say(Uplink::Accepted { id }).await;
        while scene.control().tasks().row_of_turn(&last).await.unwrap().unwrap().state
            != InboxState::Journaled
        {
            tokio::task::yield_now().await;
        }
        let row = scene.control().tasks().row_of_turn(&turn).await.unwrap().unwrap();
        assert_ne!(before, scene.state().await);
        return row.state == InboxState::Journaled;
    }
    let mut replies = Vec::new();
    if matches!(frame, Uplink::Request(_)) {
        loop {
            if let Downlink::Reply { result, .. } = scene.coordinator.hear().await.unwrap() {
                break replies.push(result);
            }
        }
    }
    replies.extend(scene.fence(number + 1_000_000).await);
    let (after, heard) = (scene.state().await, scene.heard());
    let asked = matches!(frame, Uplink::Request(_));
    let refused = asked
        && replies.iter().all(|reply| match reply {
            Reply::Refused { error } => !error.message.contains("the person is asked"),
            _ => false,
        });
    scene.clear_away().await;
    if refused {
        assert_eq!(before, after, "{kind:?} {place}: refused, and yet something changed");
        assert!(heard.iter().all(|said| !said.contains("forged")), "{kind:?} {place}: {heard:?}");
    }
    let secret = format!("{replies:?}").contains("treasure of");
    assert!(!secret, "{kind:?} {place}: {replies:?}");
    match kind {
        CellRequest::Hello => true,
        _ if asked => !refused,
        _ => before != after || !heard.is_empty(),
    }
}

/// Whether an executor got anything by this frame.
async fn executor_gets(scene: &mut Scene, kind: CellRequest, place: usize) -> bool {
    let mine = scene.task(0).await;
    let mut agent = scene.cells.agent(|who| who.task == Some(mine)).await;
    let (turn, task) = (scene.turn(place).await, scene.task(place).await);
    let at = scene.places[place].chat;
    let own = "t-m1".parse().unwrap();
    let Some(mut frame) = frame(kind, at, &turn, task, &own) else { panic!("{kind:?}") };
    if let Uplink::Request(request) = &mut frame {
        match kind.row().names {
            // Its turn is known from its door; what it can name is a chat.
            Names::Turn => request.turn = None,
            Names::Nothing | Names::Message | Names::Task | Names::Path => request.turn = None,
        }
        if let Asked::SendFile { path, .. } = &mut request.ask {
            *path = match place {
                0 => "treasure.txt".to_owned(),
                4 => format!("/workspaces/{}/chats/{}/files/treasure.txt", at.0, at.1),
                _ => format!("../../{}/files/treasure.txt", at.1),
            };
        }
    }
    let (before, _) = (scene.state().await, scene.heard());
    agent.say(frame.clone()).await;
    // Answered, or the attempt is over and the link closed; else the hello after it is answered.
    let asks = matches!(frame, Uplink::Request(_) | Uplink::Step { .. } | Uplink::Hello { .. });
    if !asks {
        agent.say(Uplink::Hello { version: "fence".into() }).await;
    }
    let told = agent.hear().await;
    let (after, heard) = (scene.state().await, scene.heard());
    let heard = heard.iter().any(|said| said.contains("forged") || said.contains("Todos"));
    let gets = match &told {
        Some(Downlink::Reply { result: Reply::Refused { error }, .. }) => {
            assert_eq!(before, after, "{kind:?} {place}");
            error.message.contains("the person is asked")
        }
        Some(Downlink::Reply { .. } | Downlink::Journaled { .. }) | None => true,
        Some(_) if kind == CellRequest::Hello => true,
        Some(_) => before != after || heard,
    };
    scene.clear_away().await;
    gets
}

fn line(kind: CellRequest, asker: Asker, cells: &[&str]) -> String {
    let row = kind.row();
    let needs = match row.needs {
        Needs::Nothing => "-".to_owned(),
        Needs::Gate => "the gate".to_owned(),
        Needs::Action(call) => call.as_str().to_owned(),
    };
    let names = format!("{:?}", row.names).to_lowercase();
    let mut line = format!("{:<27} {:<12} {names:<8} {needs:<18}", kind.as_str(), asker.as_str());
    for cell in cells {
        line.push_str(&format!(" {cell:<16}"));
    }
    line.trim_end().to_owned()
}

fn head() -> String {
    let mut head = "\
# What a cell may ask for, from where, and how far it reaches. Written by `make matrix` from the table of
# requests (crates/policy/src/reach.rs); a test carries out every one of these over a link and compares.
#
# yes  it is carried out      -  nothing comes of it      .  it can name nothing there
#
"
    .to_owned();
    let columns = Distance::ALL.map(Distance::as_str);
    let mut line = format!("{:<27} {:<12} {:<8} {:<18}", "request", "asker", "names", "needs");
    for column in columns {
        line.push_str(&format!(" {column:<16}"));
    }
    head.push_str(line.trim_end());
    head.push('\n');
    head
}

#[expect(clippy::disallowed_methods, reason = "whoever reviews the matrix says when it is written")]
fn wants_writing() -> bool {
    std::env::var_os("CLOISTER_WRITE_MATRIX").is_some()
}

#[tokio::test]
async fn every_request_reaches_as_far_as_the_reviewed_matrix_says() {
    let mut scene = Scene::new().await;
    let mut text = head();
    for kind in CellRequest::ALL {
        for asker in Asker::ALL {
            let row = kind.row();
            let reach = row.reach(asker);
            let of_link = frame(
                kind,
                (scene.places[0].chat.0, C1),
                &scene.fence,
                TaskId::from_number(1),
                &scene.fence,
            );
            let mut cells = Vec::new();
            for (place, distance) in Distance::ALL.into_iter().enumerate() {
                if row.names == Names::Nothing && place > 0 {
                    cells.push(".");
                    continue;
                }
                let expected = reach.covers(distance);
                if of_link.is_some() {
                    let gets = match asker {
                        Asker::Coordinator => coordinator_gets(&mut scene, kind, place).await,
                        Asker::Executor => executor_gets(&mut scene, kind, place).await,
                    };
                    assert_eq!(
                        gets,
                        expected,
                        "{} of a {}: {}",
                        kind.as_str(),
                        asker.as_str(),
                        distance.as_str()
                    );
                }
                cells.push(if expected { "yes" } else { "-" });
            }
            text.push_str(&line(kind, asker, &cells));
            text.push('\n');
        }
    }
    if wants_writing() {
        std::fs::write(FILE, &text).unwrap();
    }
    let reviewed = std::fs::read_to_string(FILE).unwrap_or_default();
    assert_eq!(reviewed, text, "`make matrix` writes it; review what changed");
}

/// A list shows the tasks of the context that the chat is in and of its agent, and no others.
#[tokio::test]
async fn a_list_shows_the_tasks_of_its_own_context() {
    let mut scene = Scene::new().await;
    let mut ids = Vec::new();
    for place in 0..5 {
        ids.push(scene.task(place).await);
    }
    let own = scene.fence.clone();
    let id = "list".parse().unwrap();
    let ask = Asked::ListTasks;
    scene.coordinator.say(Uplink::Request(Request { id, chat: None, turn: Some(own), ask })).await;
    let tasks = loop {
        let heard = scene.coordinator.hear().await.unwrap();
        if let Downlink::Reply { result: Reply::Tasks { tasks }, .. } = heard {
            break tasks;
        }
    };
    let mut listed: Vec<TaskId> = tasks.iter().map(|task| task.task).collect();
    listed.sort();
    assert_eq!(listed, ids[..2]);
    assert!(tasks.iter().all(|task| task.state != TaskState::Done));
}
