//! The ground on which insiders meet: a control plane with people, and whoever runs it to set it up and to look.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::Method;
use cloister::{CliError, Client};
use cloister_protocol::admin::{Session, TaskView, UserView, WorkspaceView};
use cloister_protocol::{AgentFrame, ChatId, End, WorkspaceId};
use cloister_testkit::{AgentClient, Answer, Stack, StackBuilder};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::super::failed;

pub(super) const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) struct Ground {
    pub(super) stack: Stack,
    /// Whoever runs the machine.
    pub(super) root: Client,
}

impl Ground {
    pub(super) async fn new(stack: StackBuilder) -> Result<Self, CliError> {
        let stack = stack.start().await.map_err(failed)?;
        let root = Client::running(stack.data()).await?;
        Ok(Self { stack, root })
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, CliError> {
        self.root.get(path).await
    }

    pub(super) async fn add_user(&self, name: &str) -> Result<UserView, CliError> {
        self.root.post("/admin/v1/users", &json!({"name": name, "daily_usd": 1e6})).await
    }

    pub(super) async fn give_role(
        &self,
        user: &str,
        role: &str,
        scope: &str,
    ) -> Result<(), CliError> {
        let path = format!("/admin/v1/users/{user}/roles");
        let _given: Value = self.root.post(&path, &json!({"role": role, "scope": scope})).await?;
        Ok(())
    }

    /// A community with a context for each of these names: their chats are C2, C3, …
    pub(super) async fn add_community(
        &self,
        name: &str,
        contexts: &[&str],
    ) -> Result<WorkspaceId, CliError> {
        let made: WorkspaceView =
            self.root.post("/admin/v1/workspaces", &json!({"name": name})).await?;
        for context in contexts {
            let path = format!("/admin/v1/workspaces/{name}/contexts/{context}");
            let conversation = format!("!{context}:example.org");
            let there = json!({"surface": "matrix", "conversation": conversation, "new": true});
            let _made: Value = self.root.call(Method::PUT, &path, Some(&there)).await?;
        }
        Ok(made.id)
    }

    pub(super) async fn session(&self, user: &str) -> Result<Session, CliError> {
        self.stack.session(user).await.map_err(failed)
    }

    /// A client of a chat that need not be in the session's own workspace.
    pub(super) fn client(
        &self,
        session: &Session,
        workspace: WorkspaceId,
        chat: u32,
    ) -> AgentClient {
        let agent_ws = format!("/cells/{workspace}/v1/agent_ws/{{chat}}/");
        let session = Session { agent_ws, workspace, ..session.clone() };
        self.stack.client(&session, ChatId::from_number(chat))
    }

    pub(super) async fn tasks(&self) -> Result<Vec<TaskView>, CliError> {
        self.root.get("/admin/v1/tasks").await
    }

    pub(super) fn chat_folder(&self, workspace: WorkspaceId, chat: u32) -> PathBuf {
        let workspaces = self.stack.data().join("workspaces").join(workspace.to_string());
        workspaces.join("chats").join(ChatId::from_number(chat).to_string())
    }

    /// Whether anything that was sent to anybody holds this.
    pub(super) fn was_sent(&self, text: &str) -> bool {
        files_with(&self.stack.data().join("objects"), text)
    }
}

/// Puts a file where it is to be stolen from: whoever is in the sandbox could read it.
pub(super) fn plant(path: &Path, text: &str) -> Result<(), CliError> {
    let readable = std::fs::Permissions::from_mode(0o644);
    std::fs::write(path, text)
        .and_then(|()| std::fs::set_permissions(path, readable))
        .map_err(|error| failed(format!("{}: {error}", path.display())))
}

pub(super) async fn say(client: &mut AgentClient, text: &str) -> Result<Answer, CliError> {
    client.ask(text).await.map_err(failed)
}

/// The next frame that fits; what comes before it is passed over.
pub(super) async fn frame<T>(
    client: &mut AgentClient,
    what: &str,
    fits: impl Fn(AgentFrame) -> Option<T>,
) -> Result<T, CliError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let frame = client.frame_or_reconnect(left).await;
        let frame = frame.map_err(|error| failed(format!("{what}: {error}")))?;
        if let Some(found) = fits(frame) {
            return Ok(found);
        }
    }
}

/// The end of the next turn that no message started: what the agent says of its tasks. It may have come before the
/// answer that it is a report on was whole.
pub(super) async fn report(client: &mut AgentClient, answer: &Answer) -> Result<End, CliError> {
    let of_task = |frame| match frame {
        AgentFrame::End(end) if end.message.is_none() => Some(end),
        _ => None,
    };
    match answer.frames.iter().cloned().find_map(of_task) {
        Some(end) => Ok(end),
        None => frame(client, "a report", of_task).await,
    }
}

/// Looks again and again until there is something to see.
pub(super) async fn eventually<T>(
    what: &str,
    mut look: impl AsyncFnMut() -> Result<Option<T>, CliError>,
) -> Result<T, CliError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look().await? {
            return Ok(seen);
        }
        if Instant::now() > deadline {
            return Err(failed(format!("never: {what}")));
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Whether a file below a directory holds this text.
pub(super) fn files_with(dir: &Path, text: &str) -> bool {
    let holds = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    };
    super::super::judge::files(dir).iter().any(holds)
}
