//! What an operator sees: metrics, readiness, status, the log, and a stop that loses nothing.

use std::path::Path;
use std::time::Duration;

use cloister_protocol::{AgentFrame, ErrorCode};
use cloister_testkit::stack::processes;
use cloister_testkit::{ModelServer, Reply, Stack};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use crate::exposition::Exposed;
use crate::world::{PATIENCE, Talk, World, ask_for_report, bash, eventually, frame, jobs};

/// One request as it is written, and the whole answer.
async fn raw(address: &str, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n{headers}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}

async fn metrics(world: &World) -> Exposed {
    let answer = world.stack.http("GET", "/metrics", None, Vec::new()).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    Exposed::parse(&answer.text())
}

#[tokio::test]
async fn the_metrics_move_with_what_happens() {
    let world = World::with("", jobs(vec![("work", vec![bash("echo worked")])])).await;
    let before = metrics(&world).await;
    assert_eq!(before.sum("cloister_turns_ended_total"), 0.0);
    let mut client = world.owner().await;
    client.say("hello").await;
    ask_for_report(&mut client, "job:work").await;
    let after = eventually("the last call is booked, a moment after it was told", || async {
        let now = metrics(&world).await;
        (now.sum("cloister_model_calls_total") >= 5.0).then_some(now)
    })
    .await;
    let accepted = "cloister_messages_accepted_total{surface=\"socket\"}";
    assert_eq!(after.value(accepted), 2.0);
    // Two messages, and the report of the task.
    assert_eq!(after.value("cloister_turns_ended_total{outcome=\"answered\"}"), 3.0);
    assert_eq!(after.value("cloister_turn_duration_seconds_count"), 3.0);
    assert_eq!(after.value("cloister_first_model_request_seconds_count"), 3.0);
    assert_eq!(after.value("cloister_acknowledgement_seconds_count"), 2.0);
    assert_eq!(after.value("cloister_tasks_ended_total{state=\"done\"}"), 1.0);
    assert_eq!(after.value("cloister_cell_launches_total{role=\"executor\"}"), 1.0);
    assert_eq!(after.value("cloister_cell_launches_total{role=\"coordinator\"}"), 1.0);
    assert!(after.sum("cloister_tokens_total") > 0.0);
    assert_eq!(after.value("cloister_live_cells"), 1.0);
    assert_eq!(after.value("cloister_unanswered_messages"), 0.0);
    assert_eq!(after.value("cloister_lost_messages"), 0.0);
    assert!(after.value("process_resident_memory_bytes") > 1e6);
    assert!(after.value("process_open_fds") > 3.0);
    assert!(after.value("cloister_disk_free_bytes") > 0.0);

    // What costs nothing needs no budget.
    world.stack.cli_ok(&["budget", "set", "owner", "--daily", "0"]).await.unwrap();
    assert_eq!(client.say("and free?").await.error, None);
    let url = world.model.base_url();
    let add = ["model", "add", "dear", "--base-url", &url, "--model", "m", "--no-test"];
    let prices = ["--prompt-price", "1", "--completion-price", "1"];
    world.stack.cli_ok(&[add.as_slice(), prices.as_slice()].concat()).await.unwrap();
    world.stack.cli_ok(&["model", "use", "dear"]).await.unwrap();
    assert_eq!(client.say("and now?").await.error, Some(ErrorCode::OverBudget));
    let refused = metrics(&world).await;
    assert_eq!(refused.value("cloister_budget_refusals_total{budget=\"day\"}"), 1.0);
    assert_eq!(refused.value("cloister_turns_ended_total{outcome=\"over_budget\"}"), 1.0);
}

#[tokio::test]
async fn the_metrics_are_for_the_operator_alone() {
    let world = World::start().await;
    let address = world.stack.address().get().unwrap();
    let own = raw(&address, "/metrics", "").await;
    assert!(own.starts_with("HTTP/1.1 200") && own.contains("version=0.0.4"), "{own}");
    for header in ["x-forwarded-for: 203.0.113.9", "forwarded: for=203.0.113.9", "via: 1.1 proxy"] {
        let proxied = raw(&address, "/metrics", &format!("{header}\r\n")).await;
        assert!(proxied.starts_with("HTTP/1.1 404"), "{header}: {proxied}");
        assert!(!proxied.contains("cloister_"), "{header}: {proxied}");
        let token = world.stack.operator_token().unwrap();
        let bearer = format!("{header}\r\nauthorization: Bearer {token}\r\n");
        let known = raw(&address, "/metrics", &bearer).await;
        assert!(known.starts_with("HTTP/1.1 200"), "{header}: {known}");
    }
    // A user's session is not the operator's token.
    let session = world.stack.session("owner").await.unwrap();
    let bearer = format!("via: 1.1 proxy\r\nauthorization: Bearer {}\r\n", session.token);
    assert!(raw(&address, "/metrics", &bearer).await.starts_with("HTTP/1.1 404"));

    let mut local = UnixStream::connect(world.stack.data().join("control.sock")).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: cloister\r\nconnection: close\r\n\r\n";
    local.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    local.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn the_dashboard_and_the_alerts_use_only_metrics_that_exist() {
    let world = World::start().await;
    let exposed = metrics(&world).await;
    let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
    for file in ["grafana/cloister.json", "prometheus/alerts.yml"] {
        let text = std::fs::read_to_string(deploy.join(file)).unwrap();
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let names = text.split(|c: char| !word(c)).filter(|name| {
            (name.starts_with("cloister_") || name.starts_with("process_")) && name.len() > 9
        });
        let mut count = 0;
        for name in names {
            count += 1;
            let parts = ["_bucket", "_sum", "_count"];
            let family = parts.iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name);
            let known = exposed.families.contains_key(name)
                || exposed.families.get(family).is_some_and(|kind| kind == "histogram");
            assert!(known, "{file} names {name}");
        }
        assert!(count > 5, "{file}");
    }
    let dashboard = std::fs::read(deploy.join("grafana/cloister.json")).unwrap();
    let dashboard: Value = serde_json::from_slice(&dashboard).unwrap();
    assert!(dashboard["panels"].as_array().unwrap().len() > 5);
}

#[tokio::test]
async fn readiness_names_each_thing_that_a_message_needs() {
    let world = World::start().await;
    let answer = world.stack.http("GET", "/readyz", None, Vec::new()).await.unwrap();
    let ready: Value = answer.json().unwrap();
    assert_eq!((answer.status, &ready["ready"]), (200, &json!(true)), "{ready}");
    let ids: Vec<&str> =
        ready["checks"].as_array().unwrap().iter().filter_map(|c| c["id"].as_str()).collect();
    let expected = ["accepting", "database_held", "database", "database_reads", "disk", "cells"];
    assert_eq!(ids, expected);
}

/// While somebody holds the database, readiness, metrics, status and the log say who; and
/// it is ready again by itself.
#[tokio::test]
async fn readiness_says_who_holds_the_database() {
    let world = World::start().await;
    let readyz = || world.stack.http("GET", "/readyz", None, Vec::new());
    // Another program has it; a writer of ours waits for it to let go.
    let other = rusqlite::Connection::open(world.stack.data().join("cloister.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let looking = async {
        let said = eventually("readiness names who holds the database", || async {
            let answer = readyz().await.unwrap();
            (answer.status == 503 && answer.text().contains("holds the writer for"))
                .then(|| answer.text())
        })
        .await;
        assert!(said.contains("database_held"), "{said}");
        assert!(said.contains(".rs:"), "{said}");
        let metric = "cloister_database_held_too_long{state=\"holds\"} 1";
        eventually("the metrics count it", || async {
            let measured = world.stack.http("GET", "/metrics", None, Vec::new()).await.unwrap();
            measured.text().contains(metric).then_some(())
        })
        .await;
        eventually("the status says who", || async {
            let status = world.stack.cli(&["status"]).await.unwrap();
            (status.code == Some(1) && status.stdout.contains("holds the writer")).then_some(())
        })
        .await;
        eventually("the doctor says who", || async {
            let doctor = world.stack.cli(&["doctor"]).await.unwrap();
            doctor.stdout.contains("FAIL  control.database_held: ").then_some(())
        })
        .await;
        eventually("the log says it", || async {
            world.stack.log().contains("the database is held for too long").then_some(())
        })
        .await;
    };
    // Whoever writes gives up after a while: somebody must want to all the time, as whoever asks for readiness does.
    let wanting = async {
        loop {
            readyz().await.ok();
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    };
    tokio::select! {
        () = looking => {}
        () = wanting => {}
    }
    other.execute_batch("ROLLBACK").unwrap();
    eventually("it is ready again", || async {
        (readyz().await.unwrap().status == 200).then_some(())
    })
    .await;
    let mut owner = world.owner().await;
    owner.ask("still there?").await.unwrap();
}

/// Every other stack of the tests has one reader; with as many as the product has by default it is the same.
#[tokio::test]
async fn with_several_readers_it_is_the_same() {
    let jobs = jobs(vec![("one", vec![bash("echo worked")]), ("two", vec![bash("echo worked")])]);
    let world = World::with("[store]\n", jobs).await;
    let config = std::fs::read_to_string(world.stack.data().join("cloister.toml")).unwrap();
    assert!(!config.contains("readers"), "{config}");
    let mut client = world.owner().await;
    ask_for_report(&mut client, "job:one").await;
    ask_for_report(&mut client, "job:two").await;
    let ready = world.stack.http("GET", "/readyz", None, Vec::new()).await.unwrap();
    assert_eq!(ready.status, 200, "{}", ready.text());
}

#[tokio::test]
async fn the_status_says_what_is_going_on_and_what_to_do() {
    let stack = Stack::start().await.unwrap();
    let status: Value =
        serde_json::from_str(&stack.cli_ok(&["--json", "status"]).await.unwrap()).unwrap();
    assert_eq!(status["judgement"], json!("attention"), "{status}");
    let line = |id: &str| {
        let lines = status["lines"].as_array().unwrap();
        lines.iter().find(|line| line["id"] == id).unwrap_or_else(|| panic!("{id}")).clone()
    };
    assert!(line("models")["fix"].as_str().unwrap().contains("cloister model add"));
    for id in [
        "messages.oldest",
        "messages.queue",
        "messages.lost",
        "tasks.queue",
        "cells",
        "spend.today",
        "egress",
        "log",
        "messages.acknowledgement",
    ] {
        assert_eq!(line(id)["judgement"], json!("ok"), "{}", line(id));
    }
    // How full the disk is, is this machine's own affair.
    assert!(line("disk")["value"].as_str().unwrap().contains(" MB free; workspaces take "));
    let words = stack.cli_ok(&["status"]).await.unwrap();
    assert!(words.contains("look  Models: ") && words.contains("do: "), "{words}");
    assert!(words.contains("Oldest unanswered message: none waits"), "{words}");
}

/// O1: what is wrong with what is kept is said in words, with what to do, by every command.
#[tokio::test]
async fn a_database_that_is_damaged_or_gone_is_told_and_not_replaced() {
    let mut stack = Stack::start().await.unwrap();
    stack.session("owner").await.unwrap();
    stack.stop().await.unwrap();
    let path = stack.data().join("cloister.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4096..8 * 4096].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    for command in [&["up"][..], &["model", "list"], &["budget", "show"]] {
        let said = stack.cli(command).await.unwrap();
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.stderr.contains("error: the database is damaged"), "{said:?}");
        assert!(said.stderr.contains("put back a backup of the whole directory"), "{said:?}");
    }
    // Also those that need a control plane which runs.
    for command in [&["status"][..], &["chat", "hello"], &["login-url"]] {
        let said = stack.cli(command).await.unwrap();
        assert_eq!(said.code, Some(69), "{said:?}");
        assert!(said.stderr.contains("and the database is damaged"), "{said:?}");
        assert!(said.stderr.contains("put back a backup") && !said.stderr.contains("os error"));
    }
    let doctor = stack.cli(&["doctor"]).await.unwrap();
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.stdout.contains("FAIL  data.database: the database is damaged"), "{doctor:?}");

    std::fs::remove_file(&path).unwrap();
    for command in [&["up"][..], &["user", "list"]] {
        let said = stack.cli(command).await.unwrap();
        assert_eq!(said.code, Some(69), "{said:?}");
        assert!(said.stderr.contains("is gone, and what belongs to it is there"), "{said:?}");
    }
    assert!(!path.exists(), "nothing begins anew by itself");
    let doctor = stack.cli(&["doctor"]).await.unwrap();
    assert!(doctor.stdout.contains("FAIL  data.database: "), "{doctor:?}");
}

/// O1: damage in the middle, which no query of the start comes by. Nothing runs on it, and what runs already is not ready.
#[tokio::test]
async fn a_database_that_is_partly_damaged_is_not_served_as_whole() {
    let mut world = World::start().await;
    world.owner().await.say("hello").await;
    world.stack.restart().await.unwrap();
    let path = world.stack.data().join("cloister.db");
    let whole = std::fs::read(&path).unwrap();
    let write_over = |from: usize, to: usize| {
        let mut bytes = whole.clone();
        bytes[from * 4096..to * 4096].fill(0xa5);
        // In place: it is open.
        let mut file = std::fs::File::options().write(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, &bytes).unwrap();
    };
    write_over(1, whole.len() / 4096);
    let said = world.stack.cli(&["chats", "list"]).await.unwrap();
    assert!(said.stderr.contains("error: the database is damaged"), "{said:?}");
    let ready = || world.stack.http("GET", "/readyz", None, Vec::new());
    let found = eventually("it is not ready", || async {
        let answer = ready().await.ok()?;
        (answer.status == 503).then(|| answer.text())
    })
    .await;
    assert!(found.contains("the database is damaged"), "{found}");
    world.stack.kill().await.unwrap();
    drop(std::fs::remove_file(path.with_extension("db-wal")));
    write_over(20, 26);
    let said = world.stack.cli(&["up", "--listen", "127.0.0.1:0"]).await.unwrap();
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.stderr.contains("error: the database is damaged"), "{said:?}");
}

#[tokio::test]
async fn the_status_page_is_for_the_operator() {
    let world = World::start().await;
    let guest = world.add_user("guest").await;
    let owner = world.stack.session("owner").await.unwrap();
    let address = world.stack.address().get().unwrap();
    let port = address.rsplit(':').next().unwrap();
    let cookie = |token: &str| format!("accept: text/html\r\ncookie: cloister-{port}={token}\r\n");
    let shown = raw(&address, "/status", &cookie(&owner.token)).await;
    assert!(shown.starts_with("HTTP/1.1 200"), "{shown}");
    assert!(shown.contains("Oldest unanswered message"), "{shown}");
    let refused = raw(&address, "/status", &cookie(&guest.token)).await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(!refused.contains("Oldest unanswered message"), "{refused}");
}

#[tokio::test]
async fn the_log_is_json_on_demand_and_holds_no_content_and_no_key() {
    const WORDS: &str = "CANARY-of-what-was-said";
    const KEY: &str = "sk-CANARY-of-the-key-0123456789";
    let model = ModelServer::builder().any_key().start().await.unwrap();
    let stack = Stack::builder().config("log = \"json\"\n").start().await.unwrap();
    let key = stack.data().join("canary.key");
    std::fs::write(&key, KEY).unwrap();
    let (url, key) = (model.base_url(), key.display().to_string());
    let add = ["model", "add", "canary", "--base-url", &url, "--model", "m", "--key-file", &key];
    stack.cli_ok(&add).await.unwrap();
    stack.cli_ok(&["model", "use", "canary"]).await.unwrap();
    let session = stack.session("owner").await.unwrap();
    let mut client = stack.client(&session, cloister_protocol::ChatId::from_number(1));
    client.ask(WORDS).await.unwrap();
    client.ask("run: echo CANARY-of-a-task").await.unwrap();
    let log = eventually("the log has the turn", || async {
        let log = stack.log();
        (log.contains("a turn ended") && log.contains("\"model call\"")).then_some(log)
    })
    .await;
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let turn = lines.iter().find(|line| line["message"] == "a turn ended").unwrap();
    for field in ["timestamp", "level", "workspace", "chat", "turn", "outcome", "ms"] {
        assert!(!turn[field].is_null(), "{field}: {turn}");
    }
    assert!(lines.iter().any(|line| line["message"] == "model call" && line["model"] == "canary"));
    for canary in [WORDS, KEY, "CANARY"] {
        assert!(!log.contains(canary), "{log}");
    }
}

#[tokio::test]
async fn a_stop_lets_a_running_turn_end_and_takes_nothing_new() {
    let mut world = World::with("[work]\ndrain_s = 25\n", ModelServer::builder()).await;
    let address = world.stack.address().get().unwrap();
    let mut client = world.owner().await;
    let mut other = world.owner().await;
    other.connect().await.unwrap();
    let (reply, steps) = Reply::text("an answer in many pieces").chunks(6).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    client.submit("m1".parse().unwrap(), "hello").await;
    frame(&mut client, "a chunk", |f| matches!(f, AgentFrame::TextChunk(_)).then_some(())).await;

    let meanwhile = async {
        eventually("it is not ready any more", || async {
            raw(&address, "/readyz", "").await.starts_with("HTTP/1.1 503").then_some(())
        })
        .await;
        other.send_message(&"m2".parse().unwrap(), "too late").await.unwrap();
        let code = frame(&mut other, "a refusal", |frame| match frame {
            AgentFrame::Error(error) => Some(error.code),
            _ => None,
        })
        .await;
        assert_eq!(code, ErrorCode::ShuttingDown);
        steps.allow(100);
        frame(&mut client, "the end", |frame| match frame {
            AgentFrame::End(end) => Some(end.clone()),
            _ => None,
        })
        .await
    };
    let (stopped, end) = tokio::join!(world.stack.stop(), meanwhile);
    stopped.unwrap();
    assert_eq!((end.text.as_str(), end.error), ("an answer in many pieces", None));
    assert!(world.stack.log().contains("stopped"));
}

#[tokio::test]
async fn asked_twice_it_stops_at_once() {
    let mut world = World::with("[work]\ndrain_s = 600\n", ModelServer::builder()).await;
    world.model.enqueue(Reply::hang());
    let mut client = world.owner().await;
    client.connect().await.unwrap();
    client.send_message(&"m1".parse().unwrap(), "hello").await.unwrap();
    eventually("the model is asked", || async { (world.model.request_count() > 0).then_some(()) })
        .await;
    processes::signal(world.stack.pid().unwrap(), Signal::TERM);
    eventually("it drains", || async { world.stack.log().contains("stopping:").then_some(()) })
        .await;
    timeout(Duration::from_secs(15), world.stack.stop()).await.unwrap().unwrap();
    assert!(world.stack.log().contains("once more"), "{}", world.stack.log());
    // What was accepted is answered after the next start.
    world.stack.restart().await.unwrap();
    let end = frame(&mut client, "the end", |frame| match frame {
        AgentFrame::End(end) => Some(end.clone()),
        _ => None,
    })
    .await;
    assert_eq!(end.text, "echo: hello");
}
