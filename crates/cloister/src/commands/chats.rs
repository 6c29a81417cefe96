//! `cloister chats`.

use axum::http::Method;
use cloister_protocol::ChatId;
use cloister_protocol::admin::{ChatChange, ChatView, Line};

use super::Context;
use crate::args::{Chats, ForUser};
use crate::client::Client;
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: Chats) -> Result<(), CliError> {
    let client = context.client().await?;
    let chat: ChatView = match command {
        Chats::List { user } => {
            let path = path(&client, &user).await?;
            let chats: Vec<ChatView> = client.get(&path).await?;
            return context.output.result(&chats, || list(&chats));
        }
        Chats::Show { user, chat, last } => {
            let path = format!("{}/{chat}?last={last}", path(&client, &user).await?);
            let lines: Vec<Line> = client.get(&path).await?;
            return context.output.result(&lines, || transcript(&lines));
        }
        Chats::New { user, title, agent } => {
            let change = ChatChange { title, agent, ..ChatChange::default() };
            client.post(&path(&client, &user).await?, &change).await?
        }
        Chats::Rename { user, chat, title } => {
            change(&client, &user, chat, ChatChange { title: Some(title), ..ChatChange::default() })
                .await?
        }
        Chats::Archive { user, chat, undo } => {
            change(
                &client,
                &user,
                chat,
                ChatChange { archived: Some(!undo), ..ChatChange::default() },
            )
            .await?
        }
        Chats::Clear { user, chat } => {
            change(&client, &user, chat, ChatChange { clear: true, ..ChatChange::default() })
                .await?
        }
    };
    context.output.result(&chat, || list(std::slice::from_ref(&chat)))
}

async fn path(client: &Client, user: &ForUser) -> Result<String, CliError> {
    Ok(format!("/admin/v1/users/{}/chats", client.user(user.user.as_ref()).await?))
}

async fn change(
    client: &Client,
    user: &ForUser,
    chat: ChatId,
    change: ChatChange,
) -> Result<ChatView, CliError> {
    let path = format!("{}/{chat}", path(client, user).await?);
    client.call(Method::PATCH, &path, Some(&change)).await
}

fn list(chats: &[ChatView]) -> String {
    // Whose a chat is, is said where there are several agents.
    let several = chats.iter().any(|chat| !chat.agent.is_first());
    let rows: Vec<Vec<String>> = chats
        .iter()
        .map(|chat| {
            let state = if chat.archived { "archived" } else { "" };
            let agent = several.then(|| chat.agent.to_string());
            let title = if chat.opening.is_empty() { &chat.title } else { &chat.opening };
            let row = [chat.id.to_string(), title.clone(), chat.created_at.clone()];
            row.into_iter().chain(agent).chain([state.to_owned()]).collect()
        })
        .collect();
    if several {
        return table(&["CHAT", "TITLE", "CREATED", "AGENT", ""], &rows);
    }
    table(&["CHAT", "TITLE", "CREATED", ""], &rows)
}

fn transcript(lines: &[Line]) -> String {
    let lines: Vec<String> =
        lines.iter().map(|line| format!("[{}] {}: {}", line.at, line.from, line.text)).collect();
    lines.join("\n")
}
