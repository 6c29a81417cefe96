//! What an operator does with bot accounts: connect, look, compare, forget; and what no file, log or process
//! list may show of it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cloister_testkit::Stack;
use cloister_testkit::stack::{command_lines, files_with};
use cloister_testkit::synapse::{Account, Synapse};
use serde_json::{Value, json};

use crate::world::{World, eventually};

/// An operator's machine without a bot, and an account that waits to be one.
struct Bare {
    stack: Stack,
    synapse: Synapse,
    bot: Account,
}

impl Bare {
    async fn start() -> Self {
        let synapse = Synapse::shared().await.unwrap_or_else(|error| panic!("{error}"));
        let stack = Stack::builder().log_filter("debug").start().await.unwrap();
        let bot = synapse.register("bot").await.unwrap();
        Self { stack, synapse, bot }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path =
            self.stack.data().parent().unwrap().join(format!("{}-{name}", self.bot.localpart()));
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        path
    }

    /// `matrix add`, with what it says and its exit code.
    async fn add(&self, homeserver: &str, user: &str, password: &Path) -> (Option<i32>, Value) {
        let password = password.to_str().unwrap();
        let add = ["--json", "matrix", "add", "--homeserver", homeserver, "--user", user];
        let output =
            self.stack.cli(&[&add[..], &["--password-file", password]].concat()).await.unwrap();
        let said = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {output:?}"));
        (output.code, said)
    }

    async fn list(&self) -> Value {
        serde_json::from_str(&self.stack.cli_ok(&["--json", "matrix", "list"]).await.unwrap())
            .unwrap()
    }
}

/// X2: what does not log in leaves nothing behind, and says what to do.
#[tokio::test]
async fn an_account_that_does_not_log_in_is_not_kept() {
    let bare = Bare::start().await;
    let url = bare.synapse.url();
    let right = bare.file("right", &bare.bot.password);
    let wrong = bare.file("wrong", "not the password");
    let closed = "http://127.0.0.1:9";
    for (what, homeserver, user, file) in [
        ("wrong password", url.as_str(), bare.bot.user_id.as_str(), &wrong),
        ("unreachable", closed, bare.bot.user_id.as_str(), &right),
        ("another server's account", &url, "@bot:elsewhere.example", &right),
        ("no such account", &url, "@nobody-here:localhost", &right),
    ] {
        let (code, said) = bare.add(homeserver, user, file).await;
        assert_eq!(code, Some(1), "{what}: {said}");
        assert!(said["error"]["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{what}: {said}");
        assert!(!said.to_string().contains("not the password"), "{what}: {said}");
        assert_eq!(bare.list().await, json!([]), "{what}");
    }
    let left: Vec<_> = std::fs::read_dir(bare.stack.data().join("surfaces/matrix"))
        .into_iter()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
    // What is wrong already as it is typed never gets to the homeserver.
    for arguments in [
        &["--homeserver", "localhost:8008", "--user", "@b:c", "--password-file", "x"][..],
        &["--homeserver", "http://h", "--user", "bot", "--password-file", "x"],
        &["--homeserver", "http://h", "--user", "@b:c"],
        &[
            "--homeserver",
            "http://h",
            "--user",
            "@b:c",
            "--password-file",
            "x",
            "--token-file",
            "y",
        ],
    ] {
        let output =
            bare.stack.cli(&[&["--json", "matrix", "add"], arguments].concat()).await.unwrap();
        assert_eq!(output.code, Some(2), "{output:?}");
    }
    let empty = bare.file("empty", "\n");
    let (code, said) = bare.add(&url, &bare.bot.user_id, &empty).await;
    assert_eq!((code, &said["error"]["code"]), (Some(1), &json!("bad_request")), "{said}");
}

/// The whole life of an account: added, listed, looked at, compared, removed, added again.
#[tokio::test]
async fn an_account_is_added_listed_looked_at_and_removed() {
    let bare = Bare::start().await;
    let (url, user) = (bare.synapse.url(), bare.bot.user_id.clone());
    let password = bare.file("password", &bare.bot.password);
    let (code, added) = bare.add(&url, &user, &password).await;
    assert_eq!(code, Some(0), "{added}");
    assert_eq!(added["view"]["account"], json!(user));
    assert!(added["recovery_key"].as_str().is_some_and(|key| key.len() > 20), "{added}");

    let state = || async {
        let listed = bare.list().await;
        Some(listed[0].clone()).filter(|view| view["state"] == "connected")
    };
    let view = eventually("it is connected", state).await;
    assert_eq!(view["address"].as_str().unwrap().trim_end_matches('/'), url);
    let words = bare.stack.cli_ok(&["matrix", "status", &user]).await.unwrap();
    assert!(words.starts_with(&format!("{user} on {url}: connected\n")), "{words}");
    assert!(words.contains("last comparison"), "{words}");
    let doctor = bare.stack.cli(&["doctor"]).await.unwrap().stdout;
    assert!(doctor.contains(&format!("surfaces.connector: {user} is connected")), "{doctor}");
    let status = bare.stack.cli(&["status"]).await.unwrap().stdout;
    assert!(status.contains(&format!("Connector {user}: connected")), "{status}");
    let compared = bare.stack.cli_ok(&["matrix", "reconcile", &user]).await.unwrap();
    assert!(compared.contains("rooms looked at"), "{compared}");
    let unknown = bare.stack.cli(&["--json", "matrix", "status", "@no:localhost"]).await.unwrap();
    assert_eq!(unknown.code, Some(1), "{unknown:?}");

    bare.stack.cli_ok(&["matrix", "rm", &user, "--yes"]).await.unwrap();
    assert_eq!(bare.list().await, json!([]));
    let (code, again) = bare.add(&url, &user, &password).await;
    assert_eq!(code, Some(0), "{again}");
    let audit = bare.stack.cli_ok(&["audit", "tail"]).await.unwrap();
    for action in ["connector.add", "connector.rm"] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
}

/// X4: a reset that is only tried changes nothing here and nothing there.
#[tokio::test]
async fn a_dry_reset_changes_nothing() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    let bot = world.bot.user_id.as_str();
    let before = world.bot_view().await;
    for mode in ["local-only", "server-leave-forget"] {
        let dry = world.json(&["matrix", "reset", bot, "--mode", mode, "--dry-run"]).await;
        assert_eq!(dry["dry_run"], json!(true), "{dry}");
        assert!(!dry["forgotten"].as_array().unwrap().is_empty(), "{mode}: {dry}");
        let left = dry["left"].as_array().unwrap().is_empty();
        assert_eq!(left, mode == "local-only", "{dry}");
    }
    assert_eq!(world.bot_view().await["conversations"], before["conversations"]);
    ann.ask(&c1, "still there?", "echo: still there?").await;
    // Nobody is asked on a pipe; nothing is done without a word.
    let reset = ["--json", "matrix", "reset", bot, "--mode", "server-leave-forget"];
    let refused = world.stack.cli(&reset).await.unwrap();
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stdout.contains("--yes"), "{refused:?}");
    ann.ask(&c1, "and now?", "echo: and now?").await;
}

/// P2: what an account logs in with is in no log, no process list, no audit entry, no status, and in no file
/// that is not sealed.
#[tokio::test]
async fn a_secret_is_nowhere_to_be_seen() {
    let bare = Bare::start().await;
    let (url, user) = (bare.synapse.url(), bare.bot.user_id.clone());
    let password = bare.file("password", &bare.bot.password);
    let (_, added) = bare.add(&url, &user, &password).await;
    let recovery = added["recovery_key"].as_str().unwrap().to_owned();
    std::fs::remove_file(&password).unwrap();
    bare.stack.cli_ok(&["matrix", "reconcile", &user]).await.unwrap();
    let mut shown = bare.stack.log();
    for command in [
        &["matrix", "status"][..],
        &["--json", "matrix", "list"],
        &["status"],
        &["doctor"],
        &["audit", "tail"],
        &["secret", "list", "--platform"],
    ] {
        let output = bare.stack.cli(command).await.unwrap();
        shown.push_str(&output.stdout);
        shown.push_str(&output.stderr);
    }
    let ps = command_lines();
    for secret in [&bare.bot.password, &recovery, &recovery.replace(' ', "")] {
        assert!(!shown.contains(secret.as_str()), "{shown}");
        assert!(!ps.contains(secret.as_str()));
        assert_eq!(files_with(bare.stack.data(), secret), Vec::<PathBuf>::new());
    }
}

/// E71: who has an agent and no role on the platform connects nothing, over any way in.
#[tokio::test]
async fn a_member_may_not_add_an_account() {
    let bare = Bare::start().await;
    bare.stack.cli_ok(&["user", "add", "mallory"]).await.unwrap();
    let session = bare.stack.session("mallory").await.unwrap();
    let body = json!({
        "address": bare.synapse.url(),
        "account": bare.bot.user_id,
        "credential": { "password": bare.bot.password },
    });
    let path = "/admin/v1/surfaces/matrix/connectors";
    let body = serde_json::to_vec(&body).unwrap();
    let answer = bare.stack.http("POST", path, Some(&session.token), body).await.unwrap();
    assert!(answer.status == 404 || answer.status == 401, "{}", answer.status);
    assert_eq!(bare.list().await, json!([]));
    let explained = ["policy", "explain", "user", "mallory", "manage_connectors"];
    let output = bare.stack.cli(&explained).await.unwrap();
    assert!(output.stdout.contains("deny"), "{output:?}");
}

/// X4: a homeserver that is away holds nothing up, and where nothing runs the accounts are still known.
#[tokio::test]
async fn a_start_does_not_wait_for_the_homeserver_and_offline_the_account_is_known() {
    let mut world = World::builder().behind_proxy().start().await;
    world.until_state("connected").await;
    world.stack.stop().await.unwrap();
    let offline = world.json(&["matrix", "list"]).await;
    assert_eq!(offline[0]["account"], json!(world.bot.user_id));
    assert!(offline[0]["problem"].as_str().unwrap().contains("cloister up"), "{offline}");
    let doctor = world.stack.cli(&["doctor"]).await.unwrap().stdout;
    assert!(doctor.contains("it connects when the control plane runs"), "{doctor}");

    world.proxy().lay("", cloister_testkit::synapse::Fault::Hang);
    world.stack.restart().await.unwrap();
    // It answers while the bot has not connected.
    let mut client = {
        let session = world.stack.session("owner").await.unwrap();
        world.stack.client(&session, cloister_protocol::ChatId::from_number(1))
    };
    assert_eq!(client.ask("hello").await.unwrap().text, "echo: hello");
    world.proxy().heal();
    world.until_state("connected").await;
    let state = format!(
        "cloister_connector_state{{surface=\"matrix\",account=\"{}\",state=\"connected\"}}",
        world.bot.user_id
    );
    assert_eq!(world.metric(&state).await, Some(1.0));
}
