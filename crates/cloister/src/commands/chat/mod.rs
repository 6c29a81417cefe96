//! `cloister chat`: one message and its answer, or a conversation. A client of the agent socket like
//! any other; the connection may break as often as it likes.

mod editor;
mod live;
mod once;
mod paths;
mod questions;
mod stdin;
mod telling;
mod words;
mod wrap;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::{Attachment, ErrorCode, MAX_TEXT_BYTES, Message, MessageId};

use super::Context;
use crate::args::Chat;
use crate::connection::Connection;
use crate::output::CliError;
use crate::terminal::stdout_is_terminal;

pub(super) async fn run(context: Context, chat: Chat) -> Result<ExitCode, CliError> {
    let client = context.running().await?;
    let user = client.user(chat.user.user.as_ref()).await?;
    let place = match &chat.agent {
        Some(agent) => super::agent::newest_chat(&client, &user, agent).await?,
        None => chat.chat,
    };
    let connection = Connection::open(&client, user.clone(), place).await?;
    let text = chat.text.join(" ");
    let said_something = !text.is_empty() || !chat.files.is_empty();
    let people = std::io::stdin().is_terminal() && stdout_is_terminal() && !context.output.json;
    if !said_something && people {
        let who = live::Who::ask(&client, user, place).await?;
        return live::converse(context.output, connection, who, chat.save).await;
    }
    let mut attachments = Vec::new();
    for file in &chat.files {
        attachments.push(connection.upload(file).await?);
    }
    let text = if said_something {
        let (text, attached) = stdin::add_to(text, &connection, context.output).await?;
        attachments.extend(attached);
        text
    } else {
        stdin::as_message(context.output).await?
    };
    let talk = once::Talk {
        output: context.output,
        connection,
        client,
        wait: chat.wait,
        timeout: Duration::from_secs(chat.timeout.max(1)),
        save: chat.save,
        live: stdout_is_terminal() && !context.output.json,
    };
    talk.say(message(text, attachments)?).await
}

fn message(text: String, attachments: Vec<Attachment>) -> Result<Message, CliError> {
    if text.len() > MAX_TEXT_BYTES {
        let (size, most) = (text.len() >> 10, MAX_TEXT_BYTES >> 10);
        let message = format!("a message of {size} KB is too long: at most {most} KB are taken");
        let fix = "send it as a file: /file PATH, or --file PATH";
        return Err(CliError::new(ErrorCode::BadRequest, message).fix(fix));
    }
    Ok(Message { id: new_id()?, chat: None, text, attachments, instead: None, from: None })
}

fn new_id() -> Result<MessageId, CliError> {
    let mut bytes = [0u8; 12];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|errno| CliError::io("no message id could be made")(errno.into()))?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // By its beginning the agent is told where it is read.
    format!("term-{hex}")
        .parse()
        .map_err(|error| cloister_control::ControlError::from(error).into())
}
