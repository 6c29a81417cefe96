//! The executor: works on one task and ends.
//!
//! Promises: every step is in the control plane's ledger before it takes effect; what an earlier
//! attempt left with an unknown outcome is told to the model, never silently done again; told to stop,
//! it kills what it runs.

mod job;
mod prompt;
mod showing;
mod telling;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::link::{Downlink, Finish, Start, Uplink};
use cloister_protocol::with_causes;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::egress::Egress;
use crate::link::{self, Link};
use crate::log;
use crate::model::Model;
use crate::tools::ChatFolder;
use crate::tools::program::Programs;

use job::Job;

const START_TIMEOUT: Duration = Duration::from_secs(60);
/// After `finish`, how long the control plane may take to end the link.
const FAREWELL: Duration = Duration::from_secs(5);

pub(crate) async fn run(door: PathBuf, chat: PathBuf, proxy_port: u16) -> ExitCode {
    let (link, frames, driver) = link::new(&door);
    tokio::select! {
        () = driver.run() => {
            log::line(format_args!("the link is gone"));
            ExitCode::FAILURE
        }
        code = work(link, frames, Tools {
            model: Model::new(&door),
            place: ChatFolder::new(chat),
            egress: Egress::new(&door, proxy_port),
        }) => code,
    }
}

/// What a task is worked on with.
struct Tools {
    model: Model,
    place: ChatFolder,
    egress: Egress,
}

async fn work(link: Link, mut frames: mpsc::Receiver<Downlink>, tools: Tools) -> ExitCode {
    let mut start = match timeout(START_TIMEOUT, first_start(&mut frames)).await {
        Ok(Some(start)) => start,
        Ok(None) => return ExitCode::SUCCESS,
        Err(_elapsed) => {
            log::line(format_args!("no task came within {} s", START_TIMEOUT.as_secs()));
            return ExitCode::FAILURE;
        }
    };
    let (journaled, seen) = watch::channel(None);
    let task = start.task;
    let Tools { model, place, mut egress } = tools;
    let secrets = egress.learn_secrets().await;
    let programs = Programs::found();
    start.without.extend(programs.missing_tools());
    let base = prompt::messages(&start, secrets.as_deref(), &programs);
    let tools = Tools { model, place, egress };
    let job = Box::pin(Job::new(link.clone(), tools, seen, base, start).run());
    // Leaving this select drops the job, and with it whatever program it runs is killed.
    let finish = tokio::select! {
        finish = job => finish,
        () = attend(&mut frames, &journaled) => return ExitCode::SUCCESS,
    };
    match finish {
        Ok(finish) => farewell(&link, &mut frames, finish).await,
        Err(error) => {
            let why = with_causes(&error);
            log::line(format_args!("task {task} is left for another attempt: {why}"));
            ExitCode::FAILURE
        }
    }
}

/// The task, or none when told to stop before it came.
async fn first_start(frames: &mut mpsc::Receiver<Downlink>) -> Option<Start> {
    loop {
        match frames.recv().await? {
            Downlink::Start(start) => return Some(start),
            Downlink::Stop => return None,
            other => ignore(&other),
        }
    }
}

/// Passes on what the ledger has taken; returns when told to stop.
async fn attend(frames: &mut mpsc::Receiver<Downlink>, journaled: &watch::Sender<Option<u32>>) {
    while let Some(frame) = frames.recv().await {
        match frame {
            Downlink::Journaled { seq } => {
                journaled.send_modify(|last| *last = (*last).max(Some(seq)));
            }
            Downlink::Stop => return,
            // Comes again after a reconnect; the job is under way.
            Downlink::Start(_) => {}
            other => ignore(&other),
        }
    }
}

/// Says that the task is over and waits for the control plane to end the link. If the word gets lost,
/// the next attempt finds the last answer in the ledger and says it again.
async fn farewell(link: &Link, frames: &mut mpsc::Receiver<Downlink>, finish: Finish) -> ExitCode {
    let mut state = link.state();
    let said = async {
        if link.send(Uplink::Finish(finish)).await.is_err() {
            return;
        }
        let stopped =
            async { while !matches!(frames.recv().await, None | Some(Downlink::Stop)) {} };
        tokio::select! {
            _ = state.wait_for(|state| !state.up) => {}
            () = stopped => {}
        }
    };
    if timeout(FAREWELL, said).await.is_err() {
        log::line(format_args!("nobody ended the link after the task was finished"));
    }
    ExitCode::SUCCESS
}

fn ignore(frame: &Downlink) {
    let kind = match frame {
        Downlink::Began { .. } => "began",
        Downlink::Trigger(_) => "trigger",
        Downlink::Stored { .. } => "stored",
        Downlink::CancelTurn { .. } => "cancel_turn",
        Downlink::YieldTurn { .. } => "yield_turn",
        Downlink::Start(_) => "start",
        Downlink::Journaled { .. } => "journaled",
        Downlink::Reply { .. } => "reply",
        Downlink::Stop => "stop",
    };
    log::line(format_args!("ignored a {kind} frame"));
}
