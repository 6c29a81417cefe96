//! Chaos is worth what its count is worth: each broken promise is planted, and must be found.

use cloister_protocol::link::{Call, CallStatus, Outcome, Step};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use super::{Verdict, count};

const SCHEMA: &str = include_str!("../../../store/migrations/0001_spine.sql");

/// The data directory of a control plane that answered one message and ran one task for it.
struct Data {
    dir: TempDir,
    db: Connection,
}

impl Data {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let db = Connection::open(dir.path().join("cloister.db")).unwrap();
        db.execute_batch(&format!("PRAGMA foreign_keys = OFF; {SCHEMA}")).unwrap();
        let data = Self { dir, db };
        data.message(1);
        data.end("t-m1", "answer one.");
        data.task(5, "one.0", "done", "[]");
        data.run("c1", Some(CallStatus::Ok));
        data.write("one.0.0\n");
        data.report(2, "T5");
        data.end("t-m2", "report from T5");
        data
    }

    fn sql(&self, sql: &str) {
        self.db.execute_batch(sql).unwrap();
    }

    fn message(&self, id: u32) {
        let cause = json!({"cause": "message", "from": "u0", "text": "hi", "attachments": []});
        self.inbox(id, "socket", &cause);
    }

    fn report(&self, id: u32, task: &str) {
        let report =
            json!({"task": task, "title": "", "state": "done", "result": "", "not_shown": []});
        self.inbox(id, "tasks", &json!({"cause": "tasks_ended", "reports": [report]}));
    }

    fn inbox(&self, id: u32, source: &str, cause: &serde_json::Value) {
        self.sql(&format!(
            "INSERT INTO inbox VALUES ({id}, '{source}', 'x{id}', 1, 1, '{cause}', 'answered', 0, 0)"
        ));
    }

    fn end(&self, turn: &str, text: &str) {
        let frame = json!({"type": "end", "turn": turn, "text": text});
        self.outbox(turn, &frame);
    }

    fn outbox(&self, turn: &str, frame: &serde_json::Value) {
        self.sql(&format!(
            "INSERT INTO outbox (workspace_id, chat, turn, seq, frame, created_at) \
             SELECT 1, 1, '{turn}', count(*), '{frame}', 0 FROM outbox WHERE turn = '{turn}'"
        ));
    }

    fn task(&self, id: u32, title: &str, state: &str, not_shown: &str) {
        self.sql(&format!(
            "INSERT INTO tasks (id, workspace_id, chat, depth, turn, title, instructions, request, files, \
             plan_first, state, not_shown, budget, created_at, reported) \
             VALUES ({id}, 1, 1, 0, 't-m1', '{title}', '', '', '[]', 0, '{state}', '{not_shown}', 0, 0, 1)"
        ));
    }

    /// A call of task T5 that appends `one.0.0`, and how it ended.
    fn run(&self, call: &str, status: Option<CallStatus>) {
        let arguments =
            json!({"command": "mkdir -p ledger; echo one.0.0 >> ledger/one.0.0"}).to_string();
        let (id, name) = (call.to_owned(), "bash".to_owned());
        let asked = Call { id, name, arguments };
        self.step(&Step::Answer { text: String::new(), calls: vec![asked] });
        self.step(&Step::Call { call: call.to_owned() });
        if let Some(status) = status {
            let outcome = Outcome { status, output: String::new() };
            self.step(&Step::Result { call: call.to_owned(), outcome });
        }
    }

    fn step(&self, step: &Step) {
        let json = serde_json::to_string(step).unwrap();
        let sql = "INSERT INTO task_steps SELECT 5, count(*), ?, 0 FROM task_steps";
        self.db.execute(sql, [json]).unwrap();
    }

    fn write(&self, ledger: &str) {
        let dir = self.dir.path().join("workspaces/w1/chats/C1/files/ledger");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("one.0.0"), ledger).unwrap();
    }

    fn count(self, delegated: &[&str]) -> Verdict {
        drop(self.db);
        let delegated: Vec<String> = delegated.iter().map(|&id| id.to_owned()).collect();
        count(self.dir.path(), &[], &delegated).unwrap()
    }
}

#[test]
fn what_is_right_is_not_counted() {
    let verdict = Data::new().count(&["T5"]);
    assert!(verdict.holds(), "{verdict:?}");
    assert_eq!(verdict.tasks, 1);
}

#[test]
fn an_answer_that_is_missing_double_or_an_error_is_found() {
    let data = Data::new();
    data.message(3);
    assert_eq!(data.count(&[]).lost, 1);

    let data = Data::new();
    data.end("t-m1", "another answer");
    assert_eq!(data.count(&[]).doubled, 1);

    let data = Data::new();
    data.message(3);
    data.end("t-m3", "answer one.");
    assert_eq!(data.count(&[]).doubled, 1);

    let data = Data::new();
    data.message(3);
    data.outbox("t-m3", &json!({"type": "end", "turn": "t-m3", "text": "", "error": "internal"}));
    assert_eq!(data.count(&[]).failed, 1);
}

#[test]
fn a_task_that_is_open_untold_or_gone_is_found() {
    let data = Data::new();
    data.sql("UPDATE tasks SET state = 'running'");
    assert_eq!(data.count(&[]).vanished, 1);

    let data = Data::new();
    data.task(6, "one.1", "failed", "[]");
    assert_eq!(data.count(&[]).vanished, 1);

    assert_eq!(Data::new().count(&["T5", "T9"]).vanished, 1);

    let data = Data::new();
    data.report(4, "T5");
    data.end("t-m4", "report again");
    assert_eq!(data.count(&[]).doubled, 1);
}

#[test]
fn work_that_was_done_twice_or_not_at_all_is_found() {
    for ledger in ["one.0.0\none.0.0\n", "", "one.0.0\nnobody\n"] {
        let data = Data::new();
        data.write(ledger);
        assert_eq!(data.count(&[]).repeated_unreported, 1, "{ledger:?}");
    }

    // A model that repeats what is known to have worked.
    let data = Data::new();
    data.run("c2", Some(CallStatus::Ok));
    data.write("one.0.0\none.0.0\n");
    assert_eq!(data.count(&[]).repeated_unreported, 1);

    let data = Data::new();
    data.sql("UPDATE tasks SET id = 7 WHERE id = 5");
    data.task(5, "one.0", "cancelled", "[]");
    assert_eq!(data.count(&[]).repeated_unreported, 1);
}

#[test]
fn an_unknown_outcome_must_be_told() {
    for status in [Some(CallStatus::Unknown), None] {
        let data = Data::new();
        data.run("c2", status);
        assert_eq!(data.count(&[]).repeated_unreported, 1);

        let data = Data::new();
        data.run("c2", status);
        data.write("one.0.0\none.0.0\n");
        data.sql("UPDATE tasks SET not_shown = '[\"outcome unknown: bash\"]'");
        // In the record, but the person was told something else.
        assert_eq!(data.count(&[]).repeated_unreported, 1);

        let data = Data::new();
        data.run("c2", status);
        data.write("one.0.0\none.0.0\n");
        data.sql("UPDATE tasks SET not_shown = '[\"outcome unknown: bash\"]'");
        data.sql(
            "UPDATE outbox SET frame = replace(frame, 'report from T5', 'outcome unknown: bash')",
        );
        let verdict = data.count(&[]);
        assert!(verdict.holds(), "{verdict:?}");
        assert_eq!(verdict.unknown_reported, 1);
    }
}

#[test]
fn a_broken_database_is_found() {
    let data = Data::new();
    let chat = data.dir.path().join("workspaces/w1/chats/C1");
    std::fs::create_dir_all(&chat).unwrap();
    std::fs::write(
        chat.join("history.db"),
        "not a database, and long enough to be read as one".repeat(99),
    )
    .unwrap();
    assert_eq!(data.count(&[]).broken_databases, 1);
}
