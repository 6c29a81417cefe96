use cloister_protocol::link::Call;
use cloister_protocol::{ChatId, TaskId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::users::User;
use cloister_testkit::rows;

use super::calls::CallGate;
use crate::test_world::{C1, World};

const DOCS: &str = include_str!("../../../../docs/gates.md");
const HEAD: &str = "| command | clean | foreign content |";

/// The commands of the table, and how many questions it says that each of them is.
fn table() -> Vec<(String, [u32; 2])> {
    let (_, rows) = DOCS.split_once(HEAD).unwrap();
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    let row = |line: &str| {
        let (command, counts) = line.strip_prefix("| `").unwrap().split_once("` |").unwrap();
        let counts: Vec<u32> = counts
            .trim_end_matches('|')
            .split('|')
            .map(|count| count.trim().parse().unwrap())
            .collect();
        (command.replace(r"\|", "|"), counts.try_into().unwrap())
    };
    rows.map(row).collect()
}

fn call(id: &str, command: &str) -> Call {
    let arguments = serde_json::json!({"command": command}).to_string();
    Call { id: id.to_owned(), name: "bash".to_owned(), arguments }
}

impl World {
    async fn task_in(&self, user: &User, chat: ChatId) -> TaskId {
        let new = rows::task((user.workspace, chat), user.id);
        self.store().tasks().delegate(new, "test", &format!("{user:?}{chat}")).await.unwrap().id
    }

    /// With a layer of its own, as every executor has that may write.
    async fn layered_task(&self, user: &User, chat: ChatId) -> TaskId {
        let id = self.task_in(user, chat).await;
        self.store().layers().open((user.workspace, chat, id), 0).await.unwrap();
        id
    }

    async fn chat_with_a_strangers_file(&self, user: &User) -> ChatId {
        let (by, workspace) = (Actor::person("test"), user.workspace);
        let chat = self.store().chats().new_chat(&by, workspace, "other", None).await.unwrap().id;
        let entry = Entry::of_cell((workspace, None), "file.upload", chat);
        let came = self.control.provenance().file_comes_in(workspace, chat, "page.html", entry);
        came.await.unwrap();
        chat
    }

    async fn questions(&self, workspace: WorkspaceId) -> u32 {
        self.control.gates().pending(workspace).await.unwrap().len().try_into().unwrap()
    }

    async fn gated(&self, task: TaskId, command: &str) -> CallGate {
        self.control.gates().gate_call(task, &call("c1", command)).await.unwrap()
    }
}

#[tokio::test]
async fn everyday_commands_ask_as_often_as_the_documentation_says() {
    let table = table();
    assert_eq!(table.len(), 40);
    let world = World::new().await;
    let (clean, foreign) = (&world.ada, &world.bob);
    let other = world.chat_with_a_strangers_file(foreign).await;
    let tasks = [world.layered_task(clean, C1).await, world.layered_task(foreign, other).await];
    for (command, says) in table {
        for ((task, user), says) in tasks.iter().zip([clean, foreign]).zip(says) {
            let before = world.questions(user.workspace).await;
            let gate = world.gated(*task, &command).await;
            let asked = world.questions(user.workspace).await - before;
            assert_eq!(asked, says, "{command}: {:?}", user.name);
            assert_eq!(matches!(gate, CallGate::Run(_)), says == 0, "{command}");
        }
    }
}

/// What no layer takes back is asked about as ever: in a task that has none, and of what people sent.
#[tokio::test]
async fn what_can_not_be_taken_back_is_asked_about() {
    let world = World::new().await;
    let other = world.chat_with_a_strangers_file(&world.bob).await;
    let bare = world.task_in(&world.ada, C1).await;
    assert!(matches!(world.gated(bare, "rm -rf build").await, CallGate::Wait));
    let layered = world.layered_task(&world.bob, other).await;
    assert!(matches!(
        world.gated(layered, "mv incoming/page.html /tmp/").await,
        CallGate::Refuse { .. }
    ));
    assert!(matches!(world.gated(layered, "rm incoming/page.html").await, CallGate::Wait));
}
