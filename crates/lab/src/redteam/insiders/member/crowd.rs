//! What one member uses up that is everybody's in the community: patience, sockets, executors, the rooms themselves.
//! The harm is that another member is not answered, does not get in, or has nothing done meanwhile.

use std::time::Duration;

use cloister::CliError;
use cloister_protocol::AgentFrame;
use cloister_testkit::AgentClient;
use serde_json::Value;
use tokio::time::timeout;

use super::super::super::failed;
use super::super::ground::{report, say};
use super::super::{Tried, harm_if};
use super::{BOARD, CLUB, Club, READING};

/// Messages, and commands, of a flood.
const FLOOD: usize = 200;
/// How long somebody else may wait meanwhile.
const PATIENCE: Duration = Duration::from_secs(15);
/// More sockets and tasks than one person may have.
const SOCKETS: usize = 120;
const TASKS: usize = 6;

/// Whether something that another member says is taken and answered in time.
async fn is_heard(client: &mut AgentClient, text: &str) -> bool {
    let answered = timeout(PATIENCE, say(client, text)).await;
    answered.is_ok_and(|answer| answer.is_ok_and(|answer| answer.error.is_none()))
}

/// Messages and commands in the community itself: another member is answered there, and may still stop things.
pub(super) async fn flood(club: &Club) -> Result<Tried, CliError> {
    let mut bob = club.bob();
    bob.connect().await.map_err(failed)?;
    for number in 0..FLOOD {
        for text in ["and another thing", "/status"] {
            let id = format!("flood-{number}-{}", text.len()).parse().map_err(failed)?;
            bob.send_message(&id, text).await.map_err(failed)?;
        }
    }
    let mut owner = club.owner(BOARD);
    let mut unheard = Vec::new();
    for text in ["am I heard?", "/status", "/tasks"] {
        if !is_heard(&mut owner, text).await {
            unheard.push(text);
        }
    }
    let mut taken = 0;
    while let Ok(frame) = bob.next(Duration::from_secs(1)).await {
        taken += usize::from(matches!(frame, AgentFrame::Accepted { .. }));
    }
    let harm = harm_if(!unheard.is_empty(), || format!("another member is not heard: {unheard:?}"));
    let all = harm_if(taken >= 2 * FLOOD, || "all of a flood was taken".to_owned());
    Ok(Tried::new(FLOOD, harm.or(all)))
}

/// As many sockets as he gets: another member still gets in.
pub(super) async fn sockets(club: &Club) -> Result<Tried, CliError> {
    let mut open = Vec::new();
    for _ in 0..SOCKETS {
        let mut bob = club.bob();
        if bob.connect().await.is_err() {
            break;
        }
        open.push(bob);
    }
    let entered = club.owner(BOARD).connect().await;
    let harm = entered.err().map(|error| format!("another member does not get in: {error}"));
    Ok(Tried::new(open.len(), harm))
}

/// Tasks that never end: another member's is done meanwhile.
pub(super) async fn executors(club: &Club) -> Result<Tried, CliError> {
    let scope = format!("workspace:{}", club.workspace);
    club.ground.add_user("dora").await?;
    club.ground.give_role("dora", "member", &scope).await?;
    let dora = club.ground.session("dora").await?;
    let mut bob = club.bob();
    for _ in 0..TASKS {
        say(&mut bob, "run: sleep 602").await?;
    }
    let mut dora = club.ground.client(&dora, club.workspace, READING);
    let answer = say(&mut dora, "run: echo all is well").await?;
    let done = timeout(PATIENCE, report(&mut dora, &answer)).await;
    let done = done.is_ok_and(|done| done.is_ok_and(|end| end.text.contains("all is well")));
    say(&mut bob, "/cancel all").await?;
    Ok(Tried::new(TASKS, harm_if(!done, || "another member's task does not run".to_owned())))
}

/// What only who administers a community does in its rooms, at its socket; and his own settings, told to all.
pub(super) async fn direct(club: &Club) -> Result<Tried, CliError> {
    let mut bob = club.bob();
    let tries = ["/archive", "/archive C3", "/new mine", "/new", "/model default always"];
    for text in tries {
        say(&mut bob, text).await?;
    }
    let told = say(&mut bob, "/settings").await?.text;
    let path = format!("/admin/v1/users/{CLUB}/chats");
    let chats: Vec<Value> = club.ground.root.get(&path).await?;
    let archived = chats.iter().any(|chat| chat["archived"] == true);
    let harm = harm_if(archived || chats.len() != 3, || format!("the chats are {chats:?}"));
    let told = harm_if(told.contains("Linked accounts"), || format!("everybody was told {told}"));
    let twin = say(&mut bob, "/rename Books").await?;
    Ok(Tried::new(tries.len() + 1, harm.or(told)).twin(twin.error.is_none(), &twin.text))
}
