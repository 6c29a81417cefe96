use cloister_protocol::link::{Asked, Cause, Downlink, Reply, Request, Trigger, Uplink};
use cloister_protocol::{End, TurnId, Usage};
use cloister_store::Actor;
use cloister_store::inbox::{Inbound, InboxItem, Meant};
use cloister_store::users::User;
use cloister_testkit::rows;

use super::*;
use crate::options::{CellOptions, SecondMessage};
use crate::test_cells::{FakeAgent, FakeCells};
use crate::test_world::{C1, World};

async fn message(world: &World, chat: ChatId, text: &str) -> InboxItem {
    let key = (world.ada.workspace, chat);
    let row = world.stored(key, &world.ada, text, None).await;
    world.control.cells().poke(key, Poke::Inbox);
    row
}

async fn coordinator(cells: &FakeCells, chat: ChatId) -> FakeAgent {
    cells.agent(|who| who.chat == chat && who.task.is_none()).await
}

async fn trigger(agent: &mut FakeAgent) -> Trigger {
    loop {
        if let Some(Downlink::Trigger(trigger)) = agent.hear().await {
            return trigger;
        }
    }
}

async fn end(agent: &mut FakeAgent, row: &InboxItem) {
    let turn = TurnId::of_trigger(&row.trigger().unwrap());
    let (text, usage) = ("done".to_owned(), Usage::default());
    agent.say(Uplink::End(End { turn, message: None, text, usage, error: None })).await;
}

async fn answered(world: &World, row: &InboxItem) {
    while world.store().inbox().inbox_item(row.id).await.unwrap().unwrap().state
        != cloister_store::inbox::InboxState::Answered
    {
        tokio::task::yield_now().await;
    }
}

/// One coordinator served all chats of a workspace.
#[tokio::test]
async fn each_chat_has_a_coordinator_of_its_own_that_hears_of_no_other() {
    let (world, cells) = World::with_cells(CellOptions::default()).await;
    let other = world
        .store()
        .chats()
        .new_chat(&cloister_store::Actor::person("test"), world.ada.workspace, "other", None)
        .await
        .unwrap()
        .id;
    let (first, second) = (message(&world, C1, "one").await, message(&world, other, "two").await);
    let mut here = coordinator(&cells, C1).await;
    let mut there = coordinator(&cells, other).await;
    assert_eq!(trigger(&mut here).await.id, first.trigger().unwrap());
    assert_eq!(trigger(&mut there).await.id, second.trigger().unwrap());
    // Neither ends what is the other's.
    end(&mut here, &second).await;
    end(&mut here, &first).await;
    answered(&world, &first).await;
    let open = world.store().inbox().unanswered_in(world.ada.workspace, other).await.unwrap();
    assert_eq!(open.iter().map(|row| row.id).collect::<Vec<_>>(), [second.id]);
    assert_eq!(world.control.cells().live_cells(), [world.ada.workspace]);
    assert_eq!(world.control.cells().cell_memory(world.ada.workspace).await, Some(2), "of both");
    end(&mut there, &second).await;
    answered(&world, &second).await;
}

/// A person with many chats has a bounded number of coordinators; the one that is idle for longest makes room.
#[tokio::test]
async fn a_workspace_has_so_many_coordinators_and_all_are_answered() {
    let options = CellOptions { coordinators: 2, ..CellOptions::default() };
    let (world, cells) = World::with_cells(options).await;
    let mut chats = vec![C1];
    for number in 0..3 {
        let title = number.to_string();
        chats.push(
            world
                .store()
                .chats()
                .new_chat(&cloister_store::Actor::person("test"), world.ada.workspace, &title, None)
                .await
                .unwrap()
                .id,
        );
    }
    let mut rows = Vec::new();
    for chat in &chats {
        rows.push(message(&world, *chat, "hello").await);
    }
    // In whatever order they come: those that run stay until another needs their place.
    let mut served: Vec<(ChatId, FakeAgent)> = Vec::new();
    for count in 1..=chats.len() {
        let known: Vec<ChatId> = served.iter().map(|(chat, _)| *chat).collect();
        let (who, mut agent) = cells.newest(|who| !known.contains(&who.chat)).await;
        let at = chats.iter().position(|chat| *chat == who.chat).unwrap();
        assert_eq!(trigger(&mut agent).await.id, rows[at].trigger().unwrap());
        assert!(cells.running() <= 2, "{count}");
        end(&mut agent, &rows[at]).await;
        answered(&world, &rows[at]).await;
        served.push((who.chat, agent));
    }
    assert_eq!(cells.opened(), 4, "each was launched once");
}

/// What the coordinator is told of the first message when a second one comes.
async fn told_of_first(
    second_message: SecondMessage,
    who: fn(&World) -> &User,
) -> Option<Downlink> {
    let options = CellOptions { second_message, ..CellOptions::default() };
    let (world, cells) = World::with_cells(options).await;
    let first = message(&world, C1, "one").await;
    let mut agent = coordinator(&cells, C1).await;
    trigger(&mut agent).await;
    let key = (world.ada.workspace, C1);
    let second = world.stored(key, who(&world), "two", None).await;
    world.control.cells().poke(key, Poke::Inbox);
    assert_eq!(trigger(&mut agent).await.id, second.trigger().unwrap());
    end(&mut agent, &first).await;
    let said = agent.hear().await.filter(|frame| !matches!(frame, Downlink::Stored { .. }));
    end(&mut agent, &second).await;
    answered(&world, &second).await;
    said
}

#[tokio::test]
async fn a_second_message_does_to_the_answer_before_it_what_is_set() {
    let turn = TurnId::of_message(1);
    let ada: fn(&World) -> &User = |world| &world.ada;
    let steered = Downlink::YieldTurn { turn: turn.clone() };
    assert_eq!(told_of_first(SecondMessage::default(), ada).await, Some(steered));
    let stopped = Downlink::CancelTurn { turn };
    assert_eq!(told_of_first(SecondMessage::Interrupt, ada).await, Some(stopped));
    assert_eq!(told_of_first(SecondMessage::Queue, ada).await, None);
}

/// What the coordinator is told of a report on ada's task when this person writes.
async fn told_of_report(
    second_message: SecondMessage,
    who: fn(&World) -> &User,
) -> Option<Downlink> {
    let options = CellOptions { second_message, ..CellOptions::default() };
    let (world, cells) = World::with_cells(options).await;
    let key = (world.ada.workspace, C1);
    let task = rows::task(key, world.ada.id);
    let task = world.store().tasks().delegate(task, "test", "report").await.unwrap();
    let cause = Cause::TasksEnded { reports: vec![task.report()] };
    let inbound = Inbound {
        source: "tasks".into(),
        external_id: "W1:t1".into(),
        workspace: key.0,
        chat: key.1,
        cause,
        meant: Meant::Words,
        heard_in: None,
    };
    let report = world.store().inbox().accept(inbound).await.unwrap().item;
    world.control.cells().poke(key, Poke::Inbox);
    let mut agent = coordinator(&cells, C1).await;
    trigger(&mut agent).await;
    let second = world.stored(key, who(&world), "two", None).await;
    world.control.cells().poke(key, Poke::Inbox);
    assert_eq!(trigger(&mut agent).await.id, second.trigger().unwrap());
    end(&mut agent, &report).await;
    let said = agent.hear().await.filter(|frame| !matches!(frame, Downlink::Stored { .. }));
    end(&mut agent, &second).await;
    answered(&world, &second).await;
    said
}

/// A report makes way for who gave its task, is never cancelled for them, and not for anybody else.
#[tokio::test]
async fn a_report_makes_way_for_the_one_it_is_for() {
    let ada: fn(&World) -> &User = |world| &world.ada;
    let yields = Downlink::YieldTurn { turn: TurnId::of_message(1) };
    for second_message in [SecondMessage::Steer, SecondMessage::Interrupt] {
        assert_eq!(told_of_report(second_message, ada).await, Some(yields.clone()));
        assert_eq!(told_of_report(second_message, |world| &world.bob).await, None);
    }
    assert_eq!(told_of_report(SecondMessage::Queue, ada).await, None);
}

#[tokio::test]
async fn nobody_ends_the_answer_that_somebody_else_waits_for() {
    for second_message in [SecondMessage::Steer, SecondMessage::Interrupt] {
        assert_eq!(told_of_first(second_message, |world| &world.bob).await, None);
    }
}

/// A clear is the control plane's doing: the coordinator ends, and what it kept is gone, before what was said
/// counts no more. That a coordinator says so itself means nothing.
#[tokio::test]
async fn a_clear_ends_the_coordinator_and_removes_what_it_kept() {
    let (world, cells) = World::with_cells(CellOptions::default()).await;
    let workspace = world.ada.workspace;
    let first = message(&world, C1, "one").await;
    let mut agent = coordinator(&cells, C1).await;
    trigger(&mut agent).await;
    let folder = world.control.layout().workspace(workspace).join("chats/C1");
    for kept in ["history.db", "history.db-wal", "hidden"] {
        std::fs::write(folder.join(kept), "what was said").unwrap();
    }
    std::fs::create_dir(folder.join("deep")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("deep/link")).unwrap();
    std::fs::write(folder.join("files/mine.txt"), "mine").unwrap();
    world.control.inbox().clear_chat(&Actor::person("ada"), workspace, C1, "k").await.unwrap();
    let clear = world.store().inbox().unanswered_in(workspace, C1).await.unwrap().pop().unwrap();
    assert!(matches!(clear.cause, Cause::Clear));
    // It waits for the turn before it; the coordinator's word for it is nothing.
    end(&mut agent, &clear).await;
    let second = message(&world, C1, "two").await;
    let id = "fence".parse().unwrap();
    let turn = Some(TurnId::of_trigger(&first.trigger().unwrap()));
    agent.say(Uplink::Request(Request { id, chat: None, turn, ask: Asked::ListTasks })).await;
    while !matches!(agent.hear().await, Some(Downlink::Reply { result: Reply::Tasks { .. }, .. })) {
    }
    assert_eq!(world.store().inbox().unanswered_in(workspace, C1).await.unwrap().len(), 3);
    assert!(folder.join("history.db").exists());
    let launched = cells.opened();
    end(&mut agent, &first).await;
    answered(&world, &first).await;
    // The old one is told to stop; what was said after the clear is heard by another.
    while agent.hear().await.is_some() {}
    while cells.opened() == launched {
        tokio::task::yield_now().await;
    }
    let mut fresh = coordinator(&cells, C1).await;
    assert_eq!(trigger(&mut fresh).await.id, second.trigger().unwrap());
    for gone in ["history.db", "history.db-wal", "hidden", "deep"] {
        assert!(!folder.join(gone).exists(), "{gone}");
    }
    assert!(folder.join("files/mine.txt").exists());
    assert_eq!(world.store().approvals().authors_in(workspace, C1).await.unwrap(), ["ada"]);
}

/// A coordinator that took longer to connect than the TTL was stopped as idle, and the message that it was launched
/// for lay there until somebody wrote again (found by `make backlog` on two busy cores).
#[tokio::test]
async fn a_coordinator_that_connects_late_gets_what_it_was_launched_for() {
    let options = CellOptions { ttl_s: 0, ..CellOptions::default() };
    let (world, cells) = World::with_cells(options).await;
    let row = message(&world, C1, "hello").await;
    while cells.running() == 0 {
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    tokio::time::advance(CONNECT_TIME / 2).await;
    tokio::time::resume();
    let mut agent = coordinator(&cells, C1).await;
    let Some(Downlink::Trigger(first)) = agent.hear().await else { panic!("it was stopped") };
    assert_eq!(first.id, row.trigger().unwrap());
    end(&mut agent, &row).await;
    answered(&world, &row).await;
}

fn forged(row: &InboxItem) -> Uplink {
    let turn = TurnId::of_trigger(&row.trigger().unwrap());
    let (text, usage) = ("FORGED: everything is stopped".to_owned(), Usage::default());
    Uplink::End(End { turn, message: None, text, usage, error: None })
}

/// A hostile coordinator ended every row of its chat that appeared, and so answered `/stop` in the control plane's
/// place; it was never carried out.
#[tokio::test]
async fn a_coordinator_answers_no_command_and_nothing_that_it_was_not_handed() {
    let (world, cells) = World::with_cells(CellOptions::default()).await;
    let key = (world.ada.workspace, C1);
    let first = message(&world, C1, "hello").await;
    let mut agent = coordinator(&cells, C1).await;
    trigger(&mut agent).await;
    // Stored, and the actor has not looked yet: the moment that a flood of guessed ends waits for.
    let command = world.stored(key, &world.ada, "/help", None).await;
    let words = world.stored(key, &world.ada, "and this", None).await;
    for row in [&command, &words] {
        agent.say(forged(row)).await;
        let turn = Some(TurnId::of_trigger(&row.trigger().unwrap()));
        let id = format!("r{}", row.id).parse().unwrap();
        agent.say(Uplink::Request(Request { id, chat: None, turn, ask: Asked::ListTasks })).await;
        loop {
            match agent.hear().await {
                Some(Downlink::Reply { result: Reply::Refused { .. }, .. }) => break,
                Some(Downlink::Reply { result, .. }) => panic!("{result:?}"),
                Some(Downlink::Stored { turn }) => panic!("{turn} was ended by a guess"),
                _ => {}
            }
        }
        let row = world.store().inbox().inbox_item(row.id).await.unwrap().unwrap();
        assert_ne!(row.state, cloister_store::inbox::InboxState::Answered);
    }
    // While it goes on talking, the person is heard.
    let up = agent.up.clone();
    let nothing = InboxItem { id: words.id + 1000, ..words.clone() };
    let (flood, told) = (forged(&nothing), forged(&first));
    let mut flooding = tokio::task::JoinSet::new();
    flooding.spawn(async move { while up.send(flood.clone()).await.is_ok() {} });
    world.control.cells().poke(key, Poke::Inbox);
    answered(&world, &command).await;
    agent.say(told).await;
    answered(&world, &first).await;
    end(&mut agent, &words).await;
    answered(&world, &words).await;
    flooding.abort_all();
    let lines = world.store().outbox().transcript(key.0, key.1, 50).await.unwrap();
    let said: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(said.iter().filter(|text| text.contains("FORGED")).count(), 1, "its own: {said:?}");
}

/// The store holds by itself: what is for the control plane is not ended in the words of a cell.
#[tokio::test]
async fn the_store_takes_no_end_of_a_command_from_a_cell() {
    let (world, _cells) = World::with_cells(CellOptions::default()).await;
    let key = (world.ada.workspace, C1);
    let row = world.stored(key, &world.ada, "/stop", None).await;
    let turn = TurnId::of_trigger(&row.trigger().unwrap());
    let outbox = world.store().outbox();
    assert!(outbox.end_turn_of_cell(row.id, key, &turn, None).await.unwrap().told.is_none());
    let open = world.store().inbox().unanswered_in(key.0, key.1).await.unwrap();
    assert_eq!(open.iter().map(|row| row.id).collect::<Vec<_>>(), [row.id]);
}

#[tokio::test]
async fn hosts_are_told_to_an_agent_only_where_nobody_else_reads_along() {
    let (world, _cells) = World::with_cells(CellOptions::default()).await;
    for user in [&world.ada, &world.club] {
        let rules = world.control.egress();
        rules.allow_egress(&Actor::person("root"), user.id, "forge.example").await.unwrap();
    }
    let scene = async |owner: &User| {
        let row = world.stored((owner.workspace, C1), &world.ada, "hello", None).await;
        world.control.cells().scene_of_turn(&row).await.unwrap()
    };
    let private = scene(&world.ada).await;
    assert!(private.lasting.contains("forge.example"), "{private:?}");
    assert!(private.lasting.contains("You talk with ada"), "{private:?}");
    assert!(private.lasting.contains("There is no web search here"), "{private:?}");
    assert!(private.now.contains("Written by ada."), "{private:?}");
    assert!(private.now.contains("web page or in a terminal"), "{private:?}");
    let mut row = world.stored((world.ada.workspace, C1), &world.ada, "again", None).await;
    for (id, told) in
        [("web-1f", "formulas ($…$"), ("term-1f", "in a terminal: Markdown is shown as")]
    {
        row.external_id = format!("W1:C1:{id}");
        let scene = world.control.cells().scene_of_turn(&row).await.unwrap();
        assert!(scene.now.contains(told) && !scene.lasting.contains("read you"), "{id}: {scene:?}");
    }
    let shared = scene(&world.club).await;
    assert!(!shared.lasting.contains("forge.example"), "{shared:?}");
    assert!(shared.lasting.contains("Several people write here"), "{shared:?}");
}
