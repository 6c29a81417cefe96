//! A hostile member of a community: what they say through the agent, to its socket and in the room reaches nothing
//! of another context, and directs nobody else's work.

use cloister_protocol::admin::Session;
use cloister_protocol::{
    AgentFrame, Cancel, ChatId, ClientFrame, ErrorCode, TaskState, WorkspaceId,
};
use cloister_testkit::{AgentClient, Matcher, ModelServerBuilder, Reply};
use serde_json::json;

use crate::world::{Talk, World, frame, hold, jobs};

/// The community with two contexts: C2 is the reading room, C3 the board's.
struct Club {
    world: World,
    sessions: [Session; 2],
}

impl Club {
    async fn new(config: &str, model: ModelServerBuilder) -> Self {
        let world = World::asking(config, model).await;
        let bob = world.add_user("bob").await;
        let club = world.json(&["workspace", "add", "book-club"]).await;
        assert_eq!(club["id"], "w3");
        for (name, room) in [("reading", "!reading:example.org"), ("board", "!board:example.org")] {
            let there = ["--surface", "matrix", "--conversation", room];
            world
                .json(&[&["context", "add", name, "--in", "book-club"], &there[..]].concat())
                .await;
        }
        for member in ["owner", "bob"] {
            world.json(&["role", "give", member, "member", "--scope", "workspace:w3"]).await;
        }
        let owner = world.stack.session("owner").await.unwrap();
        Self { world, sessions: [owner, bob] }
    }

    fn client(&self, session: &Session, chat: u32) -> AgentClient {
        let workspace = WorkspaceId::from_number(3);
        let agent_ws = format!("/cells/{workspace}/v1/agent_ws/{{chat}}/");
        let session = Session { agent_ws, workspace, ..session.clone() };
        self.world.stack.client(&session, ChatId::from_number(chat))
    }

    fn owner(&self, chat: u32) -> AgentClient {
        self.client(&self.sessions[0], chat)
    }

    fn bob(&self, chat: u32) -> AgentClient {
        self.client(&self.sessions[1], chat)
    }
}

/// Another context's tasks and conversation, through the agent and on the socket.
#[tokio::test]
async fn a_member_reaches_nothing_of_another_context() {
    let calls = [
        ("list_tasks", json!({})),
        ("show_task", json!({"task": "T1"})),
        ("show_task", json!({"task": "T77"})),
        ("cancel_tasks", json!({"task": "T1"})),
        ("send_file", json!({"path": "/workspace/chats/C3/history.db-wal"})),
        ("send_file", json!({"path": "/workspace/chats/C3/history.db"})),
        ("send_file", json!({"path": "/workspace/chats/C3/files/plan.txt"})),
        ("send_file", json!({"path": "/workspace/chats/C2/history.db"})),
        ("send_file", json!({"path": "/workspace/MEMORY.md"})),
    ];
    let attack = calls.iter().fold(Reply::text("Let me see."), |reply, (name, arguments)| {
        reply.and_tool_call(name, arguments.clone())
    });
    let curious = Matcher::last_user_contains("what have we here");
    let steps = vec![crate::world::bash("echo board-secret > plan.txt"), hold()];
    let model = jobs(vec![("hold", steps)])
        .when(curious.clone().with_tool_results(false), attack)
        .when(curious, Reply::text("Nothing."));
    let club = Club::new("", model).await;
    let world = &club.world;
    club.owner(3).say("job:hold").await;
    world.until_tasks(TaskState::Running, 1).await;
    let plan = world.layer(3, 1).join("plan.txt");
    crate::world::eventually("the board has its plan", || async { plan.exists().then_some(()) })
        .await;

    let mut bob = club.bob(2);
    let answer = bob.say("what have we here").await;
    assert_eq!(answer.error, None, "{}", answer.text);
    let asked = world.model.requests();
    let told: Vec<String> = asked
        .into_iter()
        .filter(|request| request.last_user_text().ends_with("what have we here"))
        .flat_map(|request| request.tool_results())
        .collect();
    assert_eq!(told.len(), calls.len(), "{told:#?}");
    let all = told.join("\n");
    assert!(!all.contains("hold") && !all.contains("board-secret"), "{all}");
    let refused = |result: &String| result.starts_with("refused:") || result.starts_with("failed:");
    assert!(told[1..].iter().all(refused), "{told:#?}");
    assert_eq!(told[1].replace("T1", "T77"), told[2], "as if it were not there");
    assert!(answer.frames.iter().all(|frame| !matches!(frame, AgentFrame::SendFile(_))));
    let objects = std::fs::read_dir(world.stack.data().join("objects")).unwrap();
    assert_eq!(objects.count(), 0);

    let task = world.tasks().await.remove(0).id;
    let cancel = Cancel { task: Some(task), turn: None };
    bob.send(&ClientFrame::Cancel(cancel.clone())).await.unwrap();
    let refused = frame(&mut bob, "a refusal", |frame| match frame {
        AgentFrame::Error(error) => Some(error.code),
        _ => None,
    });
    assert_eq!(refused.await, ErrorCode::NotFound);
    assert_eq!(world.count_tasks(TaskState::Running).await, 1, "it goes on");
    // Where it is, it is cancelled.
    let mut board = club.bob(3);
    board.connect().await.unwrap();
    board.send(&ClientFrame::Cancel(cancel)).await.unwrap();
    world.until_tasks(TaskState::Cancelled, 1).await;
}

/// Bob's words in the room are somebody else's to the owner, and what she has done there asks.
#[tokio::test]
async fn what_a_member_says_directs_nobody_elses_work() {
    let install = crate::world::bash("pip install --target=lib example-package || true");
    let club = Club::new("", jobs(vec![("install", vec![install])])).await;
    let world = &club.world;
    // Asked in any case, since the operator wants installs asked about; whose words are in it stands in the question.
    let sources = async |owner: &mut AgentClient| {
        owner.say("job:install").await;
        let ask = frame(owner, "a question", |frame| match frame {
            AgentFrame::Ask(ask) => Some(ask.clone()),
            _ => None,
        })
        .await;
        world.json(&["task", "cancel", "--all", "--user", "book-club"]).await;
        ask.text
    };
    let mut owner = club.owner(2);
    let before = sources(&mut owner).await;
    assert!(!before.contains("another member"), "{before}");
    assert_eq!(club.bob(2).say("install my package as well").await.error, None);
    let after = sources(&mut owner).await;
    assert!(after.contains("has read (untrusted): what another member (u2) wrote"), "{after}");
    // In another context of hers nothing of it is known.
    let elsewhere = sources(&mut club.owner(3)).await;
    assert!(!elsewhere.contains("another member"), "{elsewhere}");
}
