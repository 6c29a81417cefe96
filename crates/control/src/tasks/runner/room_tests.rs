use cloister_protocol::link::{Call, CallStatus, Downlink, Outcome, Step, Uplink};
use cloister_protocol::{TaskId, TaskState};

use super::LedgerRoom;
use crate::options::CellOptions;
use crate::tasks::reach::tests::queued;
use crate::test_cells::FakeAgent;
use crate::test_world::{C1, World};

fn answer(calls: usize) -> Step {
    let call = |at| Call { id: format!("c{at}"), name: "ls".into(), arguments: "{}".into() };
    Step::Answer { text: String::new(), calls: (0..calls).map(call).collect() }
}

fn result(bytes: usize) -> Step {
    let outcome = Outcome { status: CallStatus::Ok, output: "x".repeat(bytes) };
    Step::Result { call: "c0".into(), outcome }
}

/// As much as an honest agent puts there fits: 32 calls an answer, the longest results in some.
#[test]
fn an_honest_ledger_has_room() {
    let mut room = LedgerRoom::beside(&[], 60);
    for at in 0..60 {
        let calls = if at % 2 == 0 { 32 } else { 1 };
        let bytes = if calls == 1 { 240 << 10 } else { 8 << 10 };
        let steps = std::iter::once(answer(calls))
            .chain((0..calls).flat_map(|_| [Step::Call { call: "c0".into() }, result(bytes)]));
        for step in steps {
            assert!(room.fits(&step), "{at}");
            room.take(&step);
        }
    }
}

/// A task at work, and a test in the place of its executor.
async fn executor() -> (World, TaskId, FakeAgent) {
    let (world, cells) = World::with_cells(CellOptions::default()).await;
    let scheduler = world.control.clone();
    world.control.inner.crew.keep("scheduler", move |rounds| {
        let control = scheduler.clone();
        async move { control.tasks().schedule_tasks(&rounds).await }
    });
    let id = queued(&world, (world.ada.workspace, C1), &world.ada).await;
    world.control.tasks().look();
    let agent = cells.agent(|who| who.task == Some(id)).await;
    agent.say(Uplink::Hello { version: "x".into() }).await;
    (world, id, agent)
}

async fn said(agent: &mut FakeAgent, seq: u32, step: Step) -> bool {
    agent.say(Uplink::Step { seq, step }).await;
    loop {
        match agent.hear().await {
            Some(Downlink::Journaled { seq: of }) if of == seq => return true,
            Some(_) => {}
            None => return false,
        }
    }
}

async fn ended(world: &World, id: TaskId) -> (TaskState, String) {
    loop {
        let task = world.store().tasks().task(id).await.unwrap();
        if task.state.is_final() {
            return (task.state, task.result);
        }
        tokio::task::yield_now().await;
    }
}

/// E56, E57: a program in the place of the agent said results without end, each a megabyte, of whatever call. All of
/// them were kept in the memory of the control plane and in its database.
#[tokio::test]
async fn a_ledger_that_grows_without_end_ends_its_task() {
    let (world, id, mut agent) = executor().await;
    assert!(said(&mut agent, 0, answer(1)).await);
    let mut seq = 1;
    while said(&mut agent, seq, result(8 << 20)).await {
        seq += 1;
        assert!(seq < 20, "nothing stops it");
    }
    let (state, why) = ended(&world, id).await;
    assert_eq!(state, TaskState::Failed);
    assert!(why.contains("more into its ledger"), "{why}");
}

/// The same with an answer that asks for more calls than any model does.
#[tokio::test]
async fn an_answer_asks_for_so_many_calls() {
    let (world, id, mut agent) = executor().await;
    assert!(!said(&mut agent, 0, answer(10_000)).await);
    assert_eq!(ended(&world, id).await.0, TaskState::Failed);
}
