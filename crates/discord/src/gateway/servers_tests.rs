use tokio::time::Instant;

use super::{COME_WITHIN, Servers};
use crate::gateway::position::ShardPosition;
use crate::gateway::shard::Heard;

fn awaiting(servers: &[&str]) -> Servers {
    Servers::of(servers.iter().map(|server| (*server).to_owned()).collect())
}

/// Channels are to be asked until every server has told which it has (X1).
#[test]
fn what_was_missed_is_open_until_every_server_came() {
    let mut servers = awaiting(&["7", "8"]);
    servers.came("8");
    servers.came("9");
    assert!(!servers.are_there(Instant::now()));
    servers.came("7");
    assert!(servers.are_there(Instant::now()));
    assert!(awaiting(&[]).are_there(Instant::now()), "a bot without servers waits for none");
}

/// A server that is out of order does not hold it for ever.
#[test]
fn a_server_that_does_not_come_is_waited_for_in_bounds() {
    let servers = awaiting(&["7"]);
    assert!(!servers.are_there(Instant::now()));
    assert!(servers.are_there(Instant::now() + COME_WITHIN * 2));
}

/// Killed after a session began and before its servers came: the next life still asks (X1).
#[test]
fn a_kill_after_the_beginning_forgets_nothing() {
    let mut at = ShardPosition::fresh(500);
    at.ask_again(100);
    let heard = Heard::from(&at);
    assert_eq!(heard.since(), Some(400));
    assert!(
        !Servers::default().are_there(Instant::now()),
        "which servers come is not known any more"
    );
}
