//! The arguments: a role, and for tests where its door and its files are.

use std::path::PathBuf;

use cloister_protocol::link::{CHAT_PATH, DOOR_PATH, PROXY_PORT, WORKSPACE_PATH};

pub(crate) const USAGE: &str = "usage: cloister-agent coordinator [--door PATH] [--workspace PATH]\n       \
     cloister-agent executor [--door PATH] [--chat PATH] [--proxy-port PORT]";

#[derive(Debug, PartialEq)]
pub(crate) struct Args {
    pub(crate) door: PathBuf,
    pub(crate) role: AgentRole,
}

#[derive(Debug, PartialEq)]
pub(crate) enum AgentRole {
    Coordinator { workspace: PathBuf },
    Executor { chat: PathBuf, proxy_port: u16 },
}

#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum ArgsError {
    #[error("say what to be: coordinator or executor")]
    NoRole,
    #[error("{0:?} is not a role: expected coordinator or executor")]
    UnknownRole(String),
    #[error("{0:?} is not an option of this role")]
    UnknownOption(String),
    #[error("{0} needs a value after it")]
    NoValue(String),
    #[error("{0:?} is not a port")]
    NotAPort(String),
}

pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, ArgsError> {
    let role = words.next().ok_or(ArgsError::NoRole)?;
    let files_option = match role.as_str() {
        "coordinator" => "--workspace",
        "executor" => "--chat",
        _ => return Err(ArgsError::UnknownRole(role)),
    };
    let mut door = PathBuf::from(DOOR_PATH);
    let mut files = None;
    let mut proxy_port = PROXY_PORT;
    while let Some(option) = words.next() {
        let of_executor = option == "--proxy-port" && role == "executor";
        if option != "--door" && option != files_option && !of_executor {
            return Err(ArgsError::UnknownOption(option));
        }
        let Some(value) = words.next() else { return Err(ArgsError::NoValue(option)) };
        if option == "--door" {
            door = PathBuf::from(value);
        } else if of_executor {
            proxy_port = value.parse().or(Err(ArgsError::NotAPort(value)))?;
        } else {
            files = Some(PathBuf::from(value));
        }
    }
    let role = if role == "coordinator" {
        AgentRole::Coordinator { workspace: files.unwrap_or_else(|| WORKSPACE_PATH.into()) }
    } else {
        AgentRole::Executor { chat: files.unwrap_or_else(|| CHAT_PATH.into()), proxy_port }
    };
    Ok(Args { door, role })
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
