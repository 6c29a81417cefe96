//! An agent program that has gone over to the other side, in every kind of sandbox: coordinator and executor,
//! of a private workspace and of a community. It speaks the link itself, and gets nothing.

use std::path::PathBuf;

use cloister_protocol::admin::Session;
use cloister_protocol::{ChatId, TaskState, WorkspaceId};
use cloister_store::Store;
use cloister_testkit::hostile::{FORGED, REPORT, Report, TREASURE};
use cloister_testkit::{ModelServer, Stack};
use serde_json::Value;

use crate::world::{Talk, World, eventually, files_with, report};

/// A chat that is somebody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    workspace: u32,
    chat: u32,
}

const fn place(workspace: u32, chat: u32) -> Place {
    Place { workspace, chat }
}

/// The owner's chats, Bob's, and those of the club: C2 and C3 are contexts of their own.
const PLACES: [Place; 6] =
    [place(1, 1), place(1, 2), place(2, 1), place(3, 1), place(3, 2), place(3, 3)];

impl Place {
    fn folder(self, world: &World) -> PathBuf {
        let data = world.stack.data().join("workspaces").join(format!("w{}", self.workspace));
        data.join("chats").join(format!("C{}", self.chat))
    }

    fn treasure(self) -> String {
        format!("{TREASURE} w{} C{}", self.workspace, self.chat)
    }
}

/// What each attack reads in the replies to its requests.
fn outcomes<'a>(report: &'a Report, outcome: &'a str) -> impl Iterator<Item = Value> + 'a {
    let bodies = report.answers.iter().filter_map(|answer| answer.split_once(": "));
    let parsed = bodies.filter_map(|(_, json)| serde_json::from_str::<Value>(json).ok());
    parsed.filter(move |value| value["outcome"] == outcome)
}

struct Attacked {
    world: World,
    bob: Session,
}

impl Attacked {
    async fn new() -> Self {
        let model = ModelServer::builder().start().await.unwrap();
        let stack = Stack::builder().agent("hostile-agent").start().await.unwrap();
        let world = World { stack, model };
        world.json(&["chats", "new"]).await;
        let bob = world.add_user("bob").await;
        let club = world.json(&["workspace", "add", "book-club"]).await;
        assert_eq!(club["id"], "w3");
        world.json(&["role", "give", "bob", "member", "--scope", "workspace:w3"]).await;
        for name in ["reading", "board"] {
            let room = format!("!{name}:example.org");
            let there = ["--surface", "matrix", "--conversation", &room];
            world
                .json(&[&["context", "add", name, "--in", "book-club"], &there[..]].concat())
                .await;
        }
        let attacked = Self { world, bob };
        for at in PLACES {
            assert_eq!(attacked.client(at).await.say("hello").await.text, "hostile: hello");
            // A task of each place, which is none of the others' business.
            let mut client = attacked.client(at).await;
            client.say("quiet").await;
            report(&mut client).await;
            for file in
                ["files/treasure.txt", "incoming/treasure.txt", "history.db", "history.db-wal"]
            {
                std::fs::write(at.folder(&attacked.world).join(file), at.treasure()).unwrap();
            }
        }
        attacked
    }

    async fn client(&self, at: Place) -> cloister_testkit::AgentClient {
        let session = match at.workspace {
            1 => self.world.stack.session("owner").await.unwrap(),
            _ => self.bob.clone(),
        };
        let workspace = WorkspaceId::from_number(at.workspace);
        let agent_ws = format!("/cells/{workspace}/v1/agent_ws/{{chat}}/");
        let session = Session { agent_ws, workspace, ..session };
        self.world.stack.client(&session, ChatId::from_number(at.chat))
    }

    /// Everything that is kept of what was said anywhere.
    async fn told(&self) -> String {
        let store = Store::open(&self.world.stack.data().join("cloister.db")).await.unwrap();
        let mut told = String::new();
        for at in PLACES {
            let (workspace, chat) =
                (WorkspaceId::from_number(at.workspace), ChatId::from_number(at.chat));
            for row in store.outbox_after(workspace, chat, 0).await.unwrap() {
                told.push_str(&serde_json::to_string(&row.frame).unwrap());
            }
        }
        store.close().await.unwrap();
        told
    }

    /// The attack from this chat: by its coordinator, then by an executor of it.
    async fn attack(&self, at: Place) -> [Report; 2] {
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            std::fs::remove_file(&path).unwrap();
            serde_json::from_str::<Report>(&text).unwrap()
        };
        let executors = at.folder(&self.world).join("files").join(REPORT);
        let mut client = self.client(at).await;
        let answer = client.say("attack").await;
        assert!(answer.text.starts_with("attacked: "), "{}", answer.text);
        let coordinators = read(at.folder(&self.world).join(REPORT));
        client.say("delegate").await;
        let told = report(&mut client).await;
        assert!(told.text.contains("hostile: "), "{}", told.text);
        [coordinators, read(executors)]
    }
}

/// Nothing of anybody else is in what the hostile agent of a chat got.
fn got_nothing(at: Place, report: &Report, beside: &[Place]) {
    let own = |path: &str| {
        path.starts_with(&format!("/workspace/chats/C{}/", at.chat)) || path.starts_with("/chat/")
    };
    let foreign: Vec<_> = report.seen.iter().filter(|path| !own(path)).collect();
    assert!(foreign.is_empty(), "{at:?} sees {foreign:?}");
    assert!(!report.seen.is_empty(), "{at:?} was not even able to look");
    assert!(report.writable.is_empty(), "{at:?} writes to {:?}", report.writable);
    assert!(report.answers.len() > 100, "{at:?}: {} answers", report.answers.len());
    let places = [&format!("chats/C{}/files/", at.chat), &format!("chats/C{}/incoming/", at.chat)];
    for sent in outcomes(report, "sent") {
        let path = sent["file"]["path"].as_str().unwrap();
        assert!(places.iter().any(|place| path.starts_with(place.as_str())), "{at:?} got {path}");
    }
    for tasks in outcomes(report, "tasks") {
        for task in tasks["tasks"].as_array().unwrap() {
            let id = task["task"].as_str().unwrap().strip_prefix('T').unwrap();
            let id: u32 = id.parse().unwrap();
            // The first task of each place is made in the order of the places.
            let of = PLACES.get(id as usize - 1);
            let known = of.is_none_or(|of| *of == at || beside.contains(of));
            assert!(known, "{at:?} was shown {task}, which is of {of:?}");
        }
    }
    for line in &report.http {
        assert!(!line.contains(" 200 ") && !line.contains(" 101 "), "{at:?}: {line}");
    }
}

/// Issue 13, class of points 6 to 9: whatever the agent program says, from whatever sandbox.
#[tokio::test]
async fn a_hostile_agent_gets_nothing_from_any_sandbox() {
    let attacked = Attacked::new().await;
    let before = attacked.told().await;
    assert!(!before.contains(FORGED) && !before.contains(TREASURE), "{before}");
    let memories = || {
        let memory =
            |w: u32| attacked.world.stack.data().join(format!("workspaces/w{w}/MEMORY.md"));
        (1..=3).map(|w| std::fs::read_to_string(memory(w)).unwrap()).collect::<Vec<_>>()
    };
    let kept = memories();
    // A private chat, whose other chat is of the same context; and two contexts of a community.
    for (at, beside) in
        [(place(1, 1), vec![place(1, 2)]), (place(3, 2), vec![]), (place(3, 1), vec![])]
    {
        let [coordinator, executor] = attacked.attack(at).await;
        got_nothing(at, &coordinator, &beside);
        got_nothing(at, &executor, &beside);
        assert_eq!(outcomes(&executor, "tasks").count(), 0, "an executor sees its own task only");
        assert_eq!(outcomes(&executor, "cancelled").count(), 0);
    }
    // What was sent was the attackers' own.
    let objects = attacked.world.stack.data().join("objects");
    for at in [place(1, 2), place(2, 1), place(3, 3)] {
        assert_eq!(files_with(&objects, &at.treasure()), Vec::<PathBuf>::new(), "{at:?}");
    }
    assert_eq!(memories(), kept);
    let told = attacked.told().await;
    assert!(!told.contains(FORGED), "somebody was told what the agent forged");
    // Everybody is as well as before.
    for at in PLACES {
        let answer = attacked.client(at).await.say("still there?").await;
        assert_eq!(answer.text, "hostile: still there?", "{at:?}");
    }
    let world = &attacked.world;
    eventually("no task is left open", || async {
        let open = world.tasks().await.into_iter().filter(|task| !task.state.is_final());
        (open.count() == 0).then_some(())
    })
    .await;
    assert_eq!(world.count_tasks(TaskState::Cancelled).await, 0, "nobody's task was cancelled");
    assert!(!world.stack.log().contains("panicked"), "{}", world.stack.log());
}
