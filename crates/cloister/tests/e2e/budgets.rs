//! Budgets: hard, explained, and held by fifty calls at once.

use std::time::Duration;

use cloister_protocol::{AgentFrame, Ask, ErrorCode, MessageId, TaskState, Update};
use cloister_testkit::{AgentClient, Matcher, ModelServer, ModelServerBuilder, Reply};

use crate::world::{PATIENCE, Talk, World, frame, jobs};

/// A call costs 30 cents: 300 tokens of an answer, at a thousand dollars a million.
const PER_CALL_USD: f64 = 0.3;

async fn expensive(model: ModelServerBuilder) -> World {
    let world = World::with("", model).await;
    let url = world.model.base_url();
    let add = ["model", "add", "dear", "--base-url", &url, "--model", "m", "--max-output", "300"];
    let add = [&add[..], &["--no-test"]].concat();
    let prices = ["--prompt-price", "0", "--completion-price", "1000"];
    world.stack.cli_ok(&[add.as_slice(), prices.as_slice()].concat()).await.unwrap();
    world.stack.cli_ok(&["model", "use", "dear"]).await.unwrap();
    world
}

#[tokio::test]
async fn at_the_limit_it_is_said_how_to_go_on() {
    let answer = Reply::text("fine").usage(10, 300);
    let world = expensive(ModelServer::builder().when(Matcher::any(), answer)).await;
    world.stack.cli_ok(&["budget", "set", "owner", "--daily", "1"]).await.unwrap();
    let mut client = world.owner().await;
    for _ in 0..3 {
        assert_eq!(client.say("hello").await.text, "fine");
    }
    let refused = client.say("hello").await;
    assert_eq!(refused.error, Some(ErrorCode::OverBudget));
    let how = ". Raise it with `cloister budget set owner --daily";
    assert!(refused.text.contains(" wanted. ") && refused.text.contains(how), "{}", refused.text);
    // Who can't do that is not told to.
    world.stack.cli_ok(&["user", "add", "mia"]).await.unwrap();
    world.stack.cli_ok(&["budget", "set", "mia", "--daily", "0.1"]).await.unwrap();
    let told = world.client("mia", 1).await.say("hello").await;
    assert_eq!(told.error, Some(ErrorCode::OverBudget));
    let how = ". It is there again tomorrow (UTC); whoever runs this machine can raise it.";
    assert!(told.text.contains(" wanted. ") && told.text.ends_with(how), "{}", told.text);
    assert_eq!(world.model.request_count(), 3, "no call was made for nothing");
    let said = world.stack.cli(&["chat", "hello"]).await.unwrap();
    assert_eq!(said.code, Some(1), "{said:?}");

    let shown = world.budget("owner", |shown| shown["spent_usd"] == 0.9).await;
    let row = &shown["usage"][0];
    assert_eq!((&row["level"], &row["model"]), (&"coordinator".into(), &"dear".into()));
    assert_eq!((&row["calls"], &row["completion_tokens"]), (&3.into(), &900.into()));

    // Once more than the limit is wanted, another amount each time: one limit is one question.
    let longer = format!("hello {}", "and so on ".repeat(400));
    assert_eq!(client.say(&longer).await.error, Some(ErrorCode::OverBudget));
    let waits = world.json(&["task", "approvals"]).await;
    assert_eq!(waits.as_array().unwrap().len(), 1, "{waits}");
    world.stack.cli_ok(&["budget", "set", "owner", "--daily", "5"]).await.unwrap();
    let waits = world.json(&["task", "approvals"]).await;
    assert_eq!(waits.as_array().unwrap().len(), 0, "there is room: {waits}");
    assert_eq!(client.say("hello").await.text, "fine");
    // The owner can also do it from the chat; the smallest budget is not shown as none.
    assert!(client.say("/budget 0.001").await.text.contains("of $0.001 spent today"));
    assert!(client.say("/budget 1").await.text.contains("1.00"));
    assert_eq!(client.say("hello").await.error, Some(ErrorCode::OverBudget));
}

async fn question(client: &mut AgentClient) -> Ask {
    frame(client, "a question", |frame| match frame {
        AgentFrame::Ask(ask) => Some(ask.clone()),
        _ => None,
    })
    .await
}

/// M3: at its limit a task waits for a yes, through a restart; with it, it goes on where its ledger ends; without
/// it, it ends with what it has. It never spends more than it may.
#[tokio::test]
async fn a_task_at_its_budget_asks_for_more_and_goes_on_from_its_ledger() {
    let step = |n: u32| crate::world::bash(&format!("echo {n} >> ran.txt")).usage(10, 300);
    let mut world = expensive(jobs(vec![("dear", (0..9).map(step).collect())])).await;
    world.stack.cli_ok(&["budget", "set", "owner", "--daily", "100", "--task", "1"]).await.unwrap();
    let mut client = world.owner().await;
    client.say("job:dear").await;
    let first = question(&mut client).await;
    assert!(first.title.contains("$1.00 more on task T1"), "{}", first.title);
    assert!(first.text.contains("spent: $0.90 of $1.00"), "{}", first.text);
    world.until_tasks(TaskState::Waiting, 1).await;
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    assert_eq!(world.count_tasks(TaskState::Waiting).await, 1);
    let ran = world.layer(1, 1).join("ran.txt");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "0\n1\n2\n");

    client.say("/yes").await;
    let second = question(&mut client).await;
    assert_ne!((second.approval, &second.digest), (first.approval, &first.digest));
    assert!(second.text.contains("of $2.00"), "{}", second.text);
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "0\n1\n2\n3\n4\n5\n");
    client.say("/no").await;
    let end = crate::world::report(&mut client).await;
    assert!(end.text.contains("said no"), "{}", end.text);
    let tasks = world.tasks().await;
    assert!(tasks[0].spent_usd <= 2.0 && tasks[0].spent_usd > 1.7, "{tasks:?}");
    assert_eq!(tasks[0].state, TaskState::Failed);
    let audit = world.audit().await;
    let raises: Vec<_> = audit.iter().filter(|row| row.action == "budget.raise").collect();
    assert_eq!(raises.len(), 1, "{raises:?}");
    let shown = world.budget("owner", |shown| shown["usage"][1].is_object()).await;
    let levels: Vec<&str> =
        shown["usage"].as_array().unwrap().iter().filter_map(|row| row["level"].as_str()).collect();
    assert_eq!(levels, ["coordinator", "executor"]);
}

/// M3: the day's limit of a person is raised for the day by who may change budgets, and not by themselves.
#[tokio::test]
async fn a_day_is_given_more_by_whoever_may_change_budgets() {
    let answer = Reply::text("fine").usage(10, 300);
    let world = expensive(ModelServer::builder().when(Matcher::any(), answer)).await;
    world.add_user("mallory").await;
    world.stack.cli_ok(&["budget", "set", "mallory", "--daily", "0.5"]).await.unwrap();
    let mut mallory = world.client("mallory", 1).await;
    assert_eq!(mallory.say("hello").await.text, "fine");
    let refused = mallory.say("hello").await;
    assert_eq!(refused.error, Some(ErrorCode::OverBudget));
    assert!(refused.text.contains("A1 asks whether more may be spent"), "{}", refused.text);
    assert_eq!(mallory.say("hello").await.error, Some(ErrorCode::OverBudget));
    let mut owner = world.owner().await;
    owner.connect().await.unwrap();
    frame(&mut owner, "a word to who runs the platform", |frame| match frame {
        AgentFrame::Update(Update::Notice { text }) => {
            text.contains("cloister task approve A1 --user mallory").then_some(())
        }
        _ => None,
    })
    .await;
    let own = mallory.say("/approve A1").await;
    assert_eq!(own.error, Some(ErrorCode::Forbidden), "{}", own.text);
    world.stack.cli_ok(&["task", "approve", "A1", "--user", "mallory"]).await.unwrap();
    assert_eq!(mallory.say("hello").await.text, "fine");
    let asked = world.audit().await;
    let asked = asked.iter().filter(|row| row.action == "approval.ask").count();
    assert_eq!(asked, 1, "one limit is one question");
}

#[tokio::test]
async fn fifty_messages_at_once_do_not_pass_the_limit() {
    let slow = Reply::text("fine").usage(10, 300).slow_first_byte(Duration::from_millis(150));
    let world = expensive(ModelServer::builder().when(Matcher::any(), slow)).await;
    world.stack.cli_ok(&["budget", "set", "owner", "--daily", "2"]).await.unwrap();
    let mut clients = vec![world.owner().await];
    for chat in 2..=10 {
        world.json(&["chats", "new"]).await;
        clients.push(world.client("owner", chat).await);
    }
    let talks = clients.iter_mut().map(|client| async {
        for number in 0..5 {
            let id: MessageId = format!("m{number}").parse().unwrap();
            client.submit(id, "hello").await;
        }
        while client.unanswered().next().is_some() {
            client.frame_or_reconnect(PATIENCE).await.unwrap();
        }
    });
    futures_util::future::join_all(talks).await;
    let answers: Vec<_> = clients.iter().flat_map(|client| client.ends().values()).collect();
    assert_eq!(answers.len(), 50);
    let fine = answers.iter().filter(|answer| answer.error.is_none()).count();
    for answer in &answers {
        let said = answer.error;
        assert!([None, Some(ErrorCode::OverBudget)].contains(&said), "{said:?}: {}", answer.text);
    }
    let calls = world.model.request_count();
    assert_eq!(calls, fine);
    assert_eq!(calls, 6, "six calls at 30 cents fit into two dollars");
    let shown = world.budget("owner", |shown| shown["usage"][0]["calls"] == 6).await;
    let spent = shown["spent_usd"].as_f64().unwrap();
    assert!((spent - 6.0 * PER_CALL_USD).abs() < 1e-6, "{spent}");
}

#[tokio::test]
async fn more_chats_at_once_than_a_door_lets_through_are_all_answered() {
    let slow = Reply::echo().slow_first_byte(Duration::from_millis(300));
    let world = World::with("", ModelServer::builder().when(Matcher::any(), slow)).await;
    let mut clients = vec![world.owner().await];
    for chat in 2..=14 {
        world.json(&["chats", "new"]).await;
        clients.push(world.client("owner", chat).await);
    }
    let talks = clients.iter_mut().map(|client| client.say("hello"));
    for answer in futures_util::future::join_all(talks).await {
        assert_eq!((answer.text.as_str(), answer.error), ("hello", None));
    }
}
