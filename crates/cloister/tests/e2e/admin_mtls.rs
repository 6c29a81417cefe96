//! Administration from another machine: another account's configuration directory stands for it.

use std::path::PathBuf;

use cloister_protocol::admin::UserView;
use cloister_protocol::{ErrorCode, ErrorEnvelope};
use serde_json::{Value, json};

use crate::world::{World, cloister, run, run_with_input};

/// The other machine: it has the program, a configuration directory, and nothing of the control plane.
struct Elsewhere {
    dir: tempfile::TempDir,
}

struct Said {
    code: i32,
    text: String,
    json: Value,
}

impl Elsewhere {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn command(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut command = cloister(&self.dir.path().join("no-data"));
        command.arg("--json").args(arguments).env("XDG_CONFIG_HOME", self.dir.path());
        command
    }

    async fn cli(&self, arguments: &[&str]) -> Said {
        said(run(&mut self.command(arguments)).await)
    }

    async fn enrol(&self, world: &World, user: &str, name: &str) -> Said {
        let invited = world.json(&["admin", "invite", user]).await;
        let word = invited["invitation"].as_str().unwrap();
        let mut command = self.command(&["admin", "enroll", "-", "--as", name, "--name", "laptop"]);
        said(run_with_input(&mut command, &format!("{word}\n")).await)
    }

    fn identity(&self, name: &str) -> PathBuf {
        self.dir.path().join("cloister/remotes").join(name).join("identity.json")
    }

    fn read_identity(&self, name: &str) -> Value {
        serde_json::from_slice(&std::fs::read(self.identity(name)).unwrap()).unwrap()
    }
}

fn said(output: std::process::Output) -> Said {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let json = serde_json::from_str(&text).unwrap_or_default();
    let text = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    Said { code: output.status.code().unwrap(), text, json }
}

impl Said {
    fn ok(self) -> Value {
        assert_eq!(self.code, 0, "{}", self.text);
        self.json
    }

    fn error(&self) -> ErrorCode {
        let envelope: ErrorEnvelope = serde_json::from_value(self.json.clone())
            .unwrap_or_else(|e| panic!("{e}: {}", self.text));
        envelope.error.code
    }
}

/// D1: invite here, enrol there, and every command works there as the person who was invited.
#[tokio::test]
async fn an_enrolled_machine_runs_the_commands_from_elsewhere() {
    let world = World::start().await;
    let there = Elsewhere::new();
    let enrolled = there.enrol(&world, "owner", "home").await.ok();
    assert_eq!(enrolled["user"], "owner");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(there.identity("home")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the key is for its owner alone");

    there.cli(&["--remote", "home", "user", "add", "bob"]).await.ok();
    let users = there.cli(&["--remote", "home", "user", "list"]).await.ok();
    let users: Vec<UserView> = serde_json::from_value(users).unwrap();
    assert!(users.iter().any(|user| user.name.as_str() == "bob"));
    let said = there.cli(&["--remote", "home", "chat", "hello from elsewhere"]).await;
    assert_eq!(said.code, 0, "{}", said.text);
    assert!(said.text.contains("hello from elsewhere"), "{}", said.text);
    let clients = world.json(&["admin", "clients"]).await;
    assert_eq!((&clients[0]["name"], &clients[0]["user"]), (&json!("laptop"), &json!("owner")));

    for local in [["up"].as_slice(), &["doctor"], &["init", "--unattended"]] {
        let refused = there.cli(&[&["--remote", "home"], local].concat()).await;
        assert_eq!((refused.code, refused.error()), (2, ErrorCode::BadRequest), "{}", refused.text);
    }
    let unknown = there.cli(&["--remote", "away", "user", "list"]).await;
    assert_eq!(unknown.error(), ErrorCode::NotFound);
}

/// I1, E79: a role counts from elsewhere as it does here, and a revoked machine has none.
#[tokio::test]
async fn a_machine_can_do_what_its_person_may_until_it_is_revoked() {
    let world = World::start().await;
    world.add_user("oscar").await;
    world.json(&["role", "give", "oscar", "operator", "--scope", "platform"]).await;
    let there = Elsewhere::new();
    let enrolled = there.enrol(&world, "oscar", "home").await.ok();
    there.cli(&["--remote", "home", "status"]).await.ok();
    let content = there.cli(&["--remote", "home", "chats", "show", "C1", "--user", "owner"]).await;
    assert_eq!(content.error(), ErrorCode::Forbidden, "{}", content.text);
    let more = there.cli(&["--remote", "home", "admin", "invite", "oscar"]).await;
    assert_eq!(more.error(), ErrorCode::Forbidden, "{}", more.text);

    world.json(&["admin", "revoke", enrolled["client"].as_str().unwrap()]).await;
    let refused = there.cli(&["--remote", "home", "status"]).await;
    assert_eq!(refused.code, 69, "{}", refused.text);
    assert!(refused.text.contains("revoked"), "{}", refused.text);
    let actions: Vec<String> = world.audit().await.into_iter().map(|entry| entry.action).collect();
    for action in ["client.invite", "client.enroll", "client.revoke"] {
        assert!(actions.iter().any(|seen| seen == action), "{action} left no entry");
    }
}

/// S3: certificates are short-lived and renewed by whatever command comes next.
#[tokio::test]
async fn a_certificate_is_renewed_before_it_ends_and_when_the_root_changes() {
    let world = World::start().await;
    let there = Elsewhere::new();
    there.enrol(&world, "owner", "home").await.ok();
    let first = there.read_identity("home");
    let life = first["expires_at"].as_i64().unwrap() - first["issued_at"].as_i64().unwrap();
    assert_eq!(life, 24 * 3600 * 1000);
    there.cli(&["--remote", "home", "user", "list"]).await.ok();
    assert_eq!(there.read_identity("home"), first, "it is young");

    // As if two thirds of its life were over.
    let mut older = first.clone();
    older["issued_at"] = json!(first["issued_at"].as_i64().unwrap() - 3 * life);
    let path = there.identity("home");
    std::fs::write(&path, older.to_string()).unwrap();
    there.cli(&["--remote", "home", "user", "list"]).await.ok();
    let second = there.read_identity("home");
    assert_ne!(second["certificate"], first["certificate"]);
    assert_ne!(second["key"], first["key"], "with a new key");

    world.json(&["admin", "ca", "rotate"]).await;
    there.cli(&["--remote", "home", "user", "list"]).await.ok();
    let third = there.read_identity("home");
    let roots = third["roots"].as_str().unwrap().matches("BEGIN CERTIFICATE").count();
    assert_eq!(roots, 2, "it trusts the old root and the new one");
    let done = world.json(&["admin", "ca", "finish"]).await;
    assert_eq!(done["phase"], "settled");
    there.cli(&["--remote", "home", "user", "list"]).await.ok();

    std::fs::write(&path, first.to_string()).unwrap();
    let ended = there.cli(&["--remote", "home", "user", "list"]).await;
    assert_ne!(ended.code, 0, "what the old root issued is worth nothing: {}", ended.text);
}

/// The authority and the clients are there after a restart; the listener can be turned off.
#[tokio::test]
async fn enrolment_survives_a_restart() {
    let config = format!("[admin]\nlisten = \"127.0.0.1:{}\"\n", free_port().await);
    let mut world = World::with(&config, cloister_testkit::ModelServer::builder()).await;
    let there = Elsewhere::new();
    there.enrol(&world, "owner", "home").await.ok();
    world.stack.restart().await.unwrap();
    there.cli(&["--remote", "home", "user", "list"]).await.ok();

    std::fs::write(world.stack.data().join("cloister.toml"), "[admin]\nenabled = false\n").unwrap();
    world.stack.restart().await.unwrap();
    let gone = there.cli(&["--remote", "home", "user", "list"]).await;
    assert_eq!(gone.code, 69, "{}", gone.text);
    let (_, refused) = world.failing(&["admin", "invite", "owner"]).await;
    assert_eq!(refused.error.code, ErrorCode::Refused);
}

async fn free_port() -> u16 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().port()
}
