//! The audit trail as an operator meets it: shown, taken along, and proven whole; and every way to tamper with
//! it on a real data directory, found by name.

use std::path::{Path, PathBuf};

use cloister_protocol::TaskState;
use cloister_testkit::{ModelServer, Product, Reply, Stack};
use serde_json::Value;

use crate::gates::Outside;
use crate::world::{Talk as _, World, ask_for_report, bash, cloister, jobs, program, run};

const QUICK: &str = "[audit]\nsegment_entries = 5\ncheckpoint_s = 1\n";

/// A data directory with a sealed audit, which nobody runs on any more.
struct Left {
    _stack: Stack,
    data: PathBuf,
    witness: PathBuf,
}

impl Left {
    async fn behind() -> Self {
        let witness = tempfile::NamedTempFile::new().unwrap().into_temp_path().keep().unwrap();
        let config = format!("{QUICK}witness_file = {witness:?}\n");
        let world = World::with(&config, ModelServer::builder()).await;
        let mut owner = world.owner().await;
        for text in ["one", "two", "three", "four"] {
            assert_eq!(owner.say(text).await.error, None);
        }
        world.stack.cli_ok(&["egress", "allow", "example.org"]).await.unwrap();
        let Product { mut stack, model: _ } = world.product;
        stack.stop().await.unwrap();
        Self { data: stack.data().to_owned(), _stack: stack, witness }
    }

    fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.data.join("cloister.db")).unwrap()
    }

    /// What `audit verify` says: the exit code and the report.
    async fn verify(&self, more: &[&str]) -> (i32, Value) {
        verify(&self.data, more).await
    }

    async fn verify_with_witness(&self) -> (i32, Value) {
        let witness = self.witness.to_str().unwrap().to_owned();
        self.verify(&["--witness", &witness]).await
    }

    /// Something was changed: it must be found, and the first entry named.
    async fn assert_found(&self, fault: &str, entry: &str) {
        let (code, report) = self.verify(&[]).await;
        assert_eq!(code, 1, "{report:#}");
        assert_eq!(report["whole"], false);
        let first = &report["findings"][0];
        assert_eq!(
            (first["fault"].as_str(), first["entry"].as_str()),
            (Some(fault), Some(entry)),
            "{report:#}"
        );
    }
}

async fn verify(data: &Path, more: &[&str]) -> (i32, Value) {
    let output = run(cloister(data).args(["--json", "audit", "verify"]).args(more)).await;
    let report = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (output.status.code().unwrap(), report)
}

/// U1: what a person asked and was told, and what an operator changed, is in the chains; the running control
/// plane seals and signs it by itself, and what the command line proves is what was recorded.
#[tokio::test]
async fn what_happens_is_recorded_signed_and_proven_while_all_runs() {
    let world = World::with(QUICK, ModelServer::builder()).await;
    let mut owner = world.owner().await;
    owner.say("hello").await;
    world.stack.cli_ok(&["egress", "allow", "example.org"]).await.unwrap();
    let tail = world.stack.cli_ok(&["audit", "tail", "-n", "50"]).await.unwrap();
    for action in ["message.in", "message.out", "egress.allow", "session.new"] {
        assert!(tail.contains(action), "{action} is missing:\n{tail}");
    }
    assert!(!tail.contains("hello"), "an entry proves the words, and does not repeat them");
    let mine = ["--json", "audit", "tail", "--user", "owner", "-n", "5"];
    let mine = world.stack.cli_ok(&mine).await.unwrap();
    let newest: Value = serde_json::from_str(mine.lines().last().unwrap()).unwrap();
    let newest = newest["entry"].as_str().unwrap().to_owned();
    assert!(newest.starts_with("u1/"), "{newest}");
    let proof = crate::world::eventually("a checkpoint signs for it", || async {
        let proof = world.json(&["audit", "show", &newest]).await;
        proof["checkpoint"].is_u64().then_some(proof)
    })
    .await;
    assert_eq!(proof["hash"].as_str().unwrap().len(), 64);
    let (code, report) = verify(world.stack.data(), &[]).await;
    assert_eq!((code, &report["whole"]), (0, &Value::Bool(true)), "{report:#}");

    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("chain.jsonl");
    let file = file.to_str().unwrap();
    world.stack.cli_ok(&["audit", "export", "--user", "owner", "--out", file]).await.unwrap();
    let (code, report) = verify(world.stack.data(), &["--export", file]).await;
    assert_eq!(code, 0, "{report:#}");
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, text.replacen("egress.allow", "egress.hidden", 1)).unwrap();
    let (code, report) = verify(world.stack.data(), &["--export", file]).await;
    assert_eq!(code, 1, "{report:#}");

    let number = newest.strip_prefix("u1/").unwrap();
    let why = ["--user", "owner", "--why", "asked for"];
    world.stack.cli_ok(&[&["audit", "redact", number], &why[..]].concat()).await.unwrap();
    let shown = world.json(&["audit", "show", &newest]).await;
    assert_eq!((&shown["redacted"], &shown["detail"]), (&Value::Bool(true), &Value::from("")));
    let (code, report) = verify(world.stack.data(), &[]).await;
    assert_eq!(code, 0, "{report:#}");
}

/// E77: an entry edited in the database, in its words or with its hash made anew.
#[tokio::test]
async fn an_edit_is_found_by_the_name_of_the_entry() {
    let left = Left::behind().await;
    let sql = "UPDATE audit_entries SET detail = 'something else' WHERE chain = 'u1' AND seq = 3";
    left.database().execute(sql, []).unwrap();
    left.assert_found("edited", "u1/3").await;
}

/// E77: an entry deleted, in the middle and at the end.
#[tokio::test]
async fn a_deletion_and_a_truncation_are_found() {
    let left = Left::behind().await;
    left.database()
        .execute("DELETE FROM audit_entries WHERE chain = 'u1' AND seq = 4", [])
        .unwrap();
    left.assert_found("missing", "u1/4").await;

    let left = Left::behind().await;
    let last: i64 = left
        .database()
        .query_row("SELECT MAX(seq) FROM audit_entries WHERE chain = 'u1'", [], |row| row.get(0))
        .unwrap();
    let cut = last - 1;
    left.database()
        .execute("DELETE FROM audit_entries WHERE chain = 'u1' AND seq >= ?", [cut])
        .unwrap();
    left.assert_found("truncated", &format!("u1/{cut}")).await;
}

/// E77: entries swapped, and one put in between.
#[tokio::test]
async fn a_reorder_and_an_insertion_are_found() {
    let left = Left::behind().await;
    left.database()
        .execute_batch(
            "UPDATE audit_entries SET seq = -3 WHERE chain = 'u1' AND seq = 3;
             UPDATE audit_entries SET seq = 3 WHERE chain = 'u1' AND seq = 4;
             UPDATE audit_entries SET seq = 4 WHERE chain = 'u1' AND seq = -3;",
        )
        .unwrap();
    left.assert_found("edited", "u1/3").await;

    let left = Left::behind().await;
    left.database()
        .execute_batch(
            "UPDATE audit_entries SET seq = -seq WHERE chain = 'u1' AND seq >= 3;
             UPDATE audit_entries SET seq = 1 - seq WHERE chain = 'u1' AND seq < 0;
             INSERT INTO audit_entries (chain, seq, at, action, actor, subject, names_salt, names_hash, detail,
               detail_salt, detail_hash, prev, hash)
             SELECT chain, 3, at, 'user.add', actor, subject, names_salt, names_hash, detail, detail_salt,
               detail_hash, prev, hash FROM audit_entries WHERE chain = 'u1' AND seq = 2;",
        )
        .unwrap();
    left.assert_found("edited", "u1/3").await;
}

/// E77: a segment changed, cut, and taken away.
#[tokio::test]
async fn a_change_to_a_segment_file_is_found() {
    let left = Left::behind().await;
    let segment = left.data.join("audit/u1/000001.seg");
    let text = std::fs::read_to_string(&segment).unwrap();
    std::fs::write(&segment, text.replacen("message.in", "message.im", 1)).unwrap();
    let (code, report) = left.verify(&[]).await;
    assert_eq!((code, &report["findings"][0]["fault"]), (1, &Value::from("edited")), "{report:#}");

    std::fs::write(&segment, text.get(..text.len() / 2).unwrap()).unwrap();
    let (code, report) = left.verify(&[]).await;
    assert_eq!(code, 1, "{report:#}");

    std::fs::remove_file(&segment).unwrap();
    let (code, report) = left.verify(&[]).await;
    assert_eq!(
        (code, &report["findings"][0]["fault"]),
        (1, &Value::from("truncated")),
        "{report:#}"
    );
    // Without the database too.
    let files = left.data.join("audit");
    let (code, report) = left.verify(&["--files", files.to_str().unwrap()]).await;
    assert_eq!(code, 1, "{report:#}");
}

/// E77: whoever has taken the machine with its signing key rewrites the chain from the start and signs it anew.
/// By itself that holds; the witness knows better.
#[tokio::test]
async fn a_history_that_was_signed_anew_is_caught_by_the_witness() {
    let left = Left::behind().await;
    let (code, report) = left.verify_with_witness().await;
    assert_eq!(code, 0, "{report:#}");
    assert!(report["witnessed"].as_u64().unwrap() > 0, "{report:#}");
    // A thief's own history: another chain of entries, sealed and signed with the key that was here.
    let (data, audit) = (&left.data, left.data.join("audit"));
    left.database()
        .execute_batch(
            "DELETE FROM audit_entries; DELETE FROM audit_chains; DELETE FROM audit_segments;
             DELETE FROM audit_checkpoints; DELETE FROM audit_witnesses;",
        )
        .unwrap();
    for name in ["checkpoints.jsonl", "u1", "platform"] {
        let path = audit.join(name);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else if path.exists() {
            std::fs::remove_file(path).unwrap();
        }
    }
    let added = run(cloister(data).args(["user", "add", "mallory"])).await;
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let out = left.data.join("chain.jsonl");
    let sealed =
        run(cloister(data).args(["audit", "export", "--platform", "--out"]).arg(&out)).await;
    assert!(sealed.status.success(), "{}", String::from_utf8_lossy(&sealed.stderr));
    let (code, report) = left.verify(&[]).await;
    assert_eq!(code, 0, "the thief's history holds by itself: {report:#}");
    let (code, report) = left.verify_with_witness().await;
    assert_eq!(code, 1, "{report:#}");
    let first = &report["findings"][0];
    assert_eq!(first["fault"], "resigned", "{report:#}");
    assert!(first["entry"].is_string(), "{report:#}");
}

/// E77: entries whose time lies before that of older ones, and a clock that differs from the witness's.
#[tokio::test]
async fn a_clock_that_was_set_back_is_found() {
    let left = Left::behind().await;
    let kept = std::fs::read_to_string(&left.witness).unwrap();
    let shifted: Vec<String> = kept
        .lines()
        .map(|line| {
            let mut seen: Value = serde_json::from_str(line).unwrap();
            let at = seen["received_at"].as_i64().unwrap();
            seen["received_at"] = Value::from(at + 3_600_000);
            seen.to_string()
        })
        .collect();
    std::fs::write(&left.witness, shifted.join("\n")).unwrap();
    let (code, report) = left.verify_with_witness().await;
    assert_eq!(
        (code, &report["findings"][0]["fault"]),
        (1, &Value::from("clock_back")),
        "{report:#}"
    );
}

/// E78: a database that takes no more entries. A message is not acknowledged, an answer to an approval not
/// taken, a rule not set; what waited still waits; and when entries can be written again, all goes on.
#[tokio::test]
async fn nothing_happens_that_is_not_recorded() {
    let plan = serde_json::json!({"plan": "1. delete keep.txt: `rm keep.txt; echo gone`"});
    let steps = vec![Reply::tool_call("propose_plan", plan), bash("rm keep.txt; echo gone")];
    let script = jobs(vec![("keep", vec![bash("echo precious > keep.txt")]), ("wipe", steps)]);
    let world = World::with("", script).await;
    let mut owner = world.owner().await;
    ask_for_report(&mut owner, "job:keep").await;
    owner.say("please delete it with risky:wipe").await;
    world.until_tasks(TaskState::Waiting, 1).await;
    // The one writer of the control plane gives the file free with its next write.
    world.stack.cli_ok(&["egress", "allow", "example.net"]).await.unwrap();
    let database = rusqlite::Connection::open(world.stack.data().join("cloister.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    database
        .execute_batch(
            "CREATE TRIGGER no_entries BEFORE INSERT ON audit_entries BEGIN \
             SELECT RAISE(ABORT, 'the disk is full'); END",
        )
        .unwrap();

    let said = world.stack.cli(&["chat", "not to be heard"]).await.unwrap();
    assert!(!said.ok(), "a message: {said:?}");
    let approved = world.stack.cli(&["task", "approve", "A1"]).await.unwrap();
    assert!(!approved.ok(), "an approval: {approved:?}");
    let allowed = world.stack.cli(&["egress", "allow", "example.org"]).await.unwrap();
    assert!(!allowed.ok(), "a rule: {allowed:?}");
    assert_eq!(world.count_tasks(TaskState::Waiting).await, 1);
    assert!(world.files(1, 1).join("keep.txt").exists(), "the task did not go on");
    let rules = world.stack.cli_ok(&["egress", "list"]).await.unwrap();
    assert!(!rules.contains("example.org"), "{rules}");
    let lines = world.transcript("C1").await;
    assert!(lines.iter().all(|line| !line.text.contains("not to be heard")));

    let made = world.stack.cli(&["chats", "new", "not to be made"]).await.unwrap();
    assert!(!made.ok(), "a chat: {made:?}");
    let session = world.stack.session("owner").await;
    assert!(session.is_err(), "a session");
    // A stop is in force all the same, says that it is not recorded, and is released as any other.
    let stopped = world.stack.cli(&["stop", "--all"]).await.unwrap();
    assert!(!stopped.ok() && stopped.stderr.contains("could not be recorded"), "{stopped:?}");
    let status = world.stack.cli(&["status"]).await.unwrap();
    assert!(status.stdout.contains("Everything was stopped by operator"), "{status:?}");
    let released = world.stack.cli_ok(&["release"]).await.unwrap();
    assert!(released.contains("Everything goes on"), "{released}");
    database.execute_batch("DROP TRIGGER no_entries").unwrap();
    world.stack.cli_ok(&["task", "approve", "A1"]).await.unwrap();
    world.until_tasks(TaskState::Done, 2).await;
    assert!(!world.files(1, 1).join("keep.txt").exists());
    let (code, report) = verify(world.stack.data(), &[]).await;
    assert_eq!(code, 0, "{report:#}");
}

/// A backup on a disk that nobody can write to is proven where it lies; SQLite has nowhere to put its files there.
#[tokio::test]
async fn a_copy_that_can_not_be_written_is_verified() {
    let left = Left::behind().await;
    let data = left.data.to_str().unwrap();
    let read_only =
        "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\" && shift && exec \"$@\"";
    let mut command = program(Path::new("/usr/bin/unshare"));
    command.args(["-Urm", "sh", "-c", read_only, "sh", data]);
    command.arg(env!("CARGO_BIN_EXE_cloister")).args(["--data", data, "--json", "audit", "verify"]);
    let told = run(&mut command).await;
    let said = String::from_utf8_lossy(&told.stdout);
    assert_eq!(told.status.code(), Some(0), "{told:?}");
    let report: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(report["whole"], true, "{report:#}");
}

/// What proves content, as an entry has it.
fn print(content: &str) -> String {
    cloister_store::audit::Fingerprint::of(content.as_bytes()).to_string()
}

/// U1: what an agent was shown is in the chain, by what proves it: each call of a model, arguments to their last
/// character, results, and the files that people sent and fetched.
#[tokio::test]
async fn what_an_agent_was_shown_and_given_is_in_the_chain() {
    let long = format!("echo {} > /dev/null; echo {}", "a".repeat(900), "shown".repeat(100));
    let huge = format!(": {}; echo fine", "b".repeat(20_000));
    let send = Reply::tool_call("send_file", serde_json::json!({"path": "incoming/notes.txt"}));
    let steps = vec![bash(&long), bash(&huge), send];
    let world = World::with("", jobs(vec![("look", steps)])).await;
    let session = world.stack.session("owner").await.unwrap();
    world.upload(&session, "notes.txt", b"buy milk").await;
    let mut owner = world.owner().await;
    owner.say("job:look").await;
    let file = crate::world::frame(&mut owner, "a file", |frame| match frame {
        cloister_protocol::AgentFrame::SendFile(file) => Some(file.clone()),
        _ => None,
    })
    .await;
    crate::world::report(&mut owner).await;
    let url = file.url.unwrap();
    let token = owner.session().token.clone();
    let fetched = world.stack.http("GET", &url, Some(&token), Vec::new()).await.unwrap();
    assert_eq!(fetched.status, 200);
    owner.say("/new").await;

    let audit = world.audit().await;
    let of = |action: &str| -> Vec<String> {
        let rows = audit.iter().filter(|row| row.action == action);
        rows.map(|row| format!("{} {}", row.subject, row.detail)).collect()
    };
    let milk = print("buy milk");
    let uploads = of("file.upload");
    assert_eq!(uploads.len(), 2, "{uploads:?}");
    assert!(
        uploads
            .iter()
            .any(|row| row.contains("chats/C1/incoming/notes.txt") && row.contains(&milk))
    );
    assert!(of("file.send")[0].contains(&milk), "{:?}", of("file.send"));
    assert!(of("file.download")[0].contains("notes.txt"), "{:?}", of("file.download"));
    assert_eq!(of("chat.new").len(), 2, "the first chat and the new one");
    let calls = of("tool.call");
    assert!(calls.iter().any(|row| row.contains(&long)), "arguments are whole: {calls:?}");
    let big = serde_json::json!({"command": huge}).to_string();
    assert!(calls.iter().any(|row| row.contains(&print(&big))), "{calls:?}");
    let shown = print(&format!("{}\n[exit code 0]", "shown".repeat(100)));
    let results = of("tool.result");
    assert_eq!(results.len(), 3, "{results:?}");
    assert!(results.iter().any(|row| row.contains(&shown)), "{results:?}");
    let asked = world.model.requests().len();
    assert_eq!(of("model.call").len(), asked, "every call of a model: {:?}", of("model.call"));
    let (code, report) = verify(world.stack.data(), &[]).await;
    assert_eq!((code, &report["whole"]), (0, &Value::Bool(true)), "{report:#}");
}

/// A task that asks for the same thing again and again, of which nothing may leave, could fill its person's chain: it
/// is counted to the last, and summed up. What leaves has an entry each, and waits for its turn.
#[tokio::test]
async fn a_flood_of_requests_is_counted_and_does_not_fill_the_chain() {
    const POSTS: u64 = 30;
    const READS: usize = 12;
    let outside = Outside::start().await;
    let url = outside.url("hook.test", "/in");
    let again = |times: u64, how: &str| {
        bash(&format!("for i in $(seq {times}); do curl -sS {how} {url} > /dev/null; done"))
    };
    let config = format!(
        "[gates]\nrequest_burst = 4\nrequests_per_second = 40.0\n\
         denial_burst = 3\ndenials_per_second = 0.001\n\
         [egress.hosts]\n\"hook.test:{}\" = \"127.0.0.1\"\n",
        outside.port
    );
    let steps = vec![again(POSTS, "-d x"), again(READS.try_into().unwrap(), "")];
    let world = World::with(&config, jobs(vec![("flood", steps)])).await;
    world.stack.cli_ok(&["egress", "allow", &outside.url("hook.test", "")]).await.unwrap();
    let own = tempfile::tempdir().unwrap();
    let closed = "@id(\"reads-only\")\n@reason(\"this house only reads\")\n\
        forbid (principal, action == Action::\"fetch_writing\", resource);\n";
    std::fs::write(own.path().join("mine.cedar"), closed).unwrap();
    world.stack.cli_ok(&["policy", "apply", own.path().to_str().unwrap()]).await.unwrap();

    let mut owner = world.owner().await;
    // Named by the person, so that nothing that is read there makes it a question.
    owner.say(&format!("job:flood at {url}")).await;
    world.until_tasks(TaskState::Done, 1).await;
    let denied = crate::world::eventually("a sum", || async {
        let rows = world.audit().await.into_iter();
        let denied = rows.filter(|row| row.action == "gate.deny").map(|row| row.detail);
        let denied: Vec<String> = denied.collect();
        denied.iter().any(|detail| detail.contains("more were denied")).then_some(denied)
    })
    .await;
    let summed = |detail: &String| detail.strip_suffix(" more were denied")?.parse::<u64>().ok();
    let sum: u64 = denied.iter().filter_map(summed).sum();
    let own = denied.iter().filter(|detail| detail.contains("this house only reads")).count();
    assert_eq!((own, sum), (3, POSTS - 3), "{denied:?}");
    let audit = world.audit().await;
    let sent = audit.iter().filter(|row| row.action == "egress.request").count();
    let got = outside.got();
    assert_eq!(got.len(), sent, "each has its entry");
    assert_eq!(got.iter().filter(|one| one.starts_with("GET")).count(), sent, "{got:?}");
    assert_eq!(sent, READS);
}
