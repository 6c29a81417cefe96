//! A start on a backlog: everybody has written while the control plane was away (on the web: it was killed right
//! after it took what they wrote). It starts, answers all of it once and in order, and is there for everybody
//! meanwhile.

use super::{RoomsError, RoomsOptions, RoomsOutcome, Server, Talk, Where, verdict};
use crate::stack::Stack;
use crate::{ModelServer, Received, Reply};

/// Little may be said at once, so that most of it waits for its turn; budgets are not what is tested.
const CONFIG: &str = "[users]\ndaily_budget_usd = 1000000.0\n[cells]\nttl_s = 5\n\
                      [limits]\nperson_burst = 20\nperson_per_s = 20.0\ncommand_burst = 1000\n\
                      connect_burst = 1000\nsurface_burst = 500\n[matrix]\nedit_every_ms = 500\n";
/// What the log must not have.
const COMPLAINTS: [&str; 3] = [
    "the database is held for too long",
    "some wait for the database for too long",
    "a write is taken back",
];

/// Lets so many messages pile up in all rooms together, starts, and counts.
pub async fn run(options: RoomsOptions, messages: usize) -> Result<RoomsOutcome, RoomsError> {
    let server = Server::start(options.on).await?;
    let model = ModelServer::builder().seed(options.seed).keep(0).rule(echo).start().await;
    let model = model.map_err(RoomsError::Model)?;
    let mut stack = Stack::builder().config(CONFIG).start().await?;
    stack.use_model(&model).await?;
    match run_on(&mut stack, &server, options, messages).await {
        Ok(mut outcome) if !outcome.verdict.holds() => {
            outcome.kept = Some(stack.keep());
            Ok(outcome)
        }
        Ok(outcome) => Ok(outcome),
        Err(error) => Err(RoomsError::BrokenOff { kept: stack.keep(), source: Box::new(error) }),
    }
}

fn echo(received: &Received) -> Option<Reply> {
    Some(Reply::text(format!("echo: {}", received.last_user_text())))
}

async fn run_on(
    stack: &mut Stack,
    server: &Server,
    options: RoomsOptions,
    messages: usize,
) -> Result<RoomsOutcome, RoomsError> {
    let bot = server.connect_bot(stack).await?;
    let mut talks = Vec::new();
    for number in 0..options.people {
        let user = format!("u{number}");
        let rooms = server.meet(stack, &bot, (&user, options.rooms)).await?;
        talks.extend(rooms.into_iter().map(|room| Talk { room, said: Vec::new() }));
    }
    if options.on != Where::Web {
        stack.stop().await?;
    }
    for number in 0..messages {
        let count = talks.len().max(1);
        let Some(talk) = talks.get_mut(number % count) else { break };
        let text = format!("{} message {} of a room", talk.room.whose(), number / count);
        if talk.room.say(&text).await {
            talk.said.push(text);
        }
    }
    if options.on == Where::Web {
        stack.kill().await?;
    }
    stack.restart().await?;
    let mut verdict = verdict::wait_and_count(talks, options.drain).await?;
    let mut wrong: Vec<String> = server.complaints();
    let ready = stack.http("GET", "/readyz", None, Vec::new()).await?;
    if ready.status != 200 {
        wrong.push(format!("it is not ready: {}", ready.text()));
    }
    stack.stop().await?;
    let log = stack.log();
    let complaints = COMPLAINTS.iter().filter(|complaint| log.contains(**complaint));
    wrong.extend(complaints.map(|complaint| format!("the log says: {complaint}")));
    verdict.strange += wrong.len();
    verdict.problems.extend(wrong);
    Ok(RoomsOutcome { options, kills: 0, verdict, kept: None })
}
