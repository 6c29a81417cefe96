//! The hostile agent: what a compromised `cloister-agent` does with its sandbox and its door.
//!
//! A person who says `attack` makes the coordinator attack, `delegate` makes it start a task whose executor
//! does, `quiet` one that does not; anything else is answered. Whatever it finds and is answered is in a report that lies among its own
//! files, for the test to read.

mod campaign;
mod door;
mod files;

use std::collections::HashSet;
use std::process::ExitCode;

use cloister_protocol::link::{
    Asked, Call, CallStatus, Cause, Downlink, Finish, Outcome, Request, Step, Trigger, Uplink,
};
use cloister_protocol::{End, TurnId, Usage};

use campaign::{Campaign, Role};
pub use campaign::{FORGED, Report, TREASURE};
use door::Link;

/// How much an executor says at the end of its attack, if nobody stops it.
pub const FLOOD_MB: u32 = 300;

/// Where the report is, beneath the chat's folder (coordinator) or its files (executor).
pub const REPORT: &str = "hostile-report.json";

/// Runs until it is stopped.
pub fn main() -> ExitCode {
    let role = match std::env::args().nth(1).as_deref() {
        Some("coordinator") => Role::Coordinator,
        Some("executor") => Role::Executor,
        Some(_) | None => return ExitCode::from(64),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(_error) => return ExitCode::FAILURE,
    };
    match runtime.block_on(serve(role)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_gone) => ExitCode::FAILURE,
    }
}

async fn serve(role: Role) -> Result<(), door::Gone> {
    let mut link = Link::open().await?;
    link.say(&Uplink::Hello { version: "hostile".into() }).await?;
    // What comes again after a link was opened anew has been answered.
    let mut answered = HashSet::new();
    loop {
        match link.hear().await? {
            Downlink::Trigger(trigger) => {
                if answered.insert(trigger.id.clone()) {
                    turn(&mut link, trigger).await?;
                }
            }
            Downlink::Start(start) if start.title == "quiet" => {
                let result = "hostile: quiet".to_owned();
                let finish =
                    Finish { ok: true, result, claims: Vec::new(), usage: Usage::default() };
                link.say(&Uplink::Finish(finish)).await?;
            }
            Downlink::Start(start) => {
                let campaign = Campaign::of_executor(start.task);
                let report = campaign.run(&mut link).await;
                let result = format!("hostile: {} answers", report.answers.len());
                report.keep(role);
                flood(&mut link).await?;
                let finish =
                    Finish { ok: true, result, claims: Vec::new(), usage: Usage::default() };
                link.say(&Uplink::Finish(finish)).await?;
            }
            Downlink::Stop => return Ok(()),
            Downlink::Stored { .. }
            | Downlink::CancelTurn { .. }
            | Downlink::YieldTurn { .. }
            | Downlink::Journaled { .. }
            | Downlink::Began { .. }
            | Downlink::Reply { .. } => {}
        }
    }
}

/// Results without end, of a call that was asked for once: all that is said of a task is kept.
async fn flood(link: &mut Link) -> Result<(), door::Gone> {
    let call = || "c1".to_owned();
    let asked = Call { id: call(), name: "ls".to_owned(), arguments: "{}".to_owned() };
    let answer = Step::Answer { text: String::new(), calls: vec![asked] };
    link.say(&Uplink::Step { seq: 0, step: answer }).await?;
    for seq in 1..=FLOOD_MB {
        let outcome = Outcome { status: CallStatus::Ok, output: "x".repeat(1_000_000) };
        let step = Step::Result { call: call(), outcome };
        link.say(&Uplink::Step { seq, step }).await?;
    }
    Ok(())
}

async fn turn(link: &mut Link, trigger: Trigger) -> Result<(), door::Gone> {
    let turn = TurnId::of_trigger(&trigger.id);
    let text = match &trigger.cause {
        Cause::Message { text, .. } => text.clone(),
        Cause::TasksEnded { reports } => {
            reports.iter().map(|report| report.result.clone()).collect::<Vec<_>>().join("; ")
        }
        Cause::Clear => String::new(),
    };
    link.say(&Uplink::Accepted { id: trigger.id.clone() }).await?;
    let text = match text.as_str() {
        "attack" => {
            let campaign = Campaign::of_coordinator(trigger.chat, turn.clone());
            let report = campaign.run(link).await;
            let answers = report.answers.len();
            report.keep(Role::Coordinator);
            format!("attacked: {answers} answers")
        }
        "delegate" | "quiet" => {
            let title = if text == "quiet" { "quiet" } else { "attack" };
            let ask = Asked::Delegate {
                title: title.into(),
                instructions: title.into(),
                risky: false,
                hosts: None,
                secrets: None,
            };
            let id = format!("delegate-{turn}");
            let request = id.parse().ok().map(|id| Request {
                id,
                chat: Some(trigger.chat),
                turn: Some(turn.clone()),
                ask,
            });
            if let Some(request) = request {
                link.say(&Uplink::Request(request)).await?;
                // A turn that is over delegates nothing.
                link.answers(1).await;
            }
            "delegated".to_owned()
        }
        other => format!("hostile: {other}"),
    };
    let end = End { turn, message: None, text, usage: Usage::default(), error: None };
    link.say(&Uplink::End(end)).await
}
