//! The connector is a program of its own: what becomes of it is nobody else's trouble.

use cloister_testkit::stack::processes::{self, Kind};
use rustix::process::Signal;

use crate::world::{World, count, eventually};

/// Ends the connector, as a crash or the kernel would.
fn kill_connector(world: &World) -> Option<u32> {
    let all = world.stack.pid().map(processes::below).unwrap_or_default();
    let connector = all.into_iter().find(|process| process.kind == Kind::Connector)?;
    processes::signal(connector.pid, Signal::KILL).then_some(connector.pid)
}

/// X1, X8: killed at any moment it is started again, what was said meanwhile is answered once, and whoever is on the
/// web or in the terminal notices nothing.
#[tokio::test]
async fn a_connector_that_is_killed_comes_back() {
    let world = World::start().await;
    let (ann, place) = world.met("ann").await;
    ann.ask(&place, "before", "echo: before").await;
    for round in 0..3 {
        let killed = kill_connector(&world).expect("a connector runs");
        ann.say(&place, &format!("round-{round}."));
        let said = world.stack.cli_ok(&["chat", "--user", "ann", &format!("typed-{round}.")]).await;
        assert!(said.unwrap().contains(&format!("echo: typed-{round}.")));
        ann.wait_for_text(&place, &format!("echo: round-{round}.")).await;
        // Killed before it is known that a message got there, it would be said again, and say so.
        eventually("it is known to be there", || async {
            let bots = world.json(&["telegram", "list"]).await;
            (bots[0]["waiting"] == 0).then_some(())
        })
        .await;
        eventually("another one runs", || async {
            let all = world.stack.pid().map(processes::below).unwrap_or_default();
            let other = |process: &processes::Process| {
                process.kind == Kind::Connector && process.pid != killed
            };
            all.iter().any(other).then_some(())
        })
        .await;
    }
    for round in 0..3 {
        assert_eq!(count(&ann, &place, &format!("echo: round-{round}.")), 1);
    }
}

/// O1: an operator sees that it runs, and what it takes.
#[tokio::test]
async fn its_memory_is_a_row_of_the_status() {
    let world = World::start().await;
    let row = eventually("a row", || async {
        let status = world.stack.cli(&["--json", "status"]).await.unwrap().stdout;
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        let lines = status["lines"].as_array().cloned().unwrap_or_default();
        lines.into_iter().find(|line| line["id"] == "program.telegram")
    })
    .await;
    let value = row["value"].as_str().unwrap();
    let megabytes = value.rsplit(", ").next().and_then(|part| part.strip_suffix(" MB"));
    let megabytes: u64 = megabytes.and_then(|number| number.parse().ok()).expect(value);
    assert!((1..500).contains(&megabytes), "{value}");
}
