//! Programs of connectors that are not there, are not right, or are hostile.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cloister_testkit::Stack;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

const PATIENCE: Duration = Duration::from_secs(60);

fn program(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

/// N1: `make up` builds no connector: adding an account says the one command that does.
#[tokio::test]
async fn a_connector_that_is_not_built_says_what_builds_it() {
    let stack = Stack::builder().without_connectors().start().await.unwrap();
    let token = stack.data().join("bot.token");
    std::fs::write(&token, "123456:AAbbccddeeffgghhiijjkkllmmnnooppqqr").unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let token = token.to_str().unwrap();
    let said = stack.cli(&["telegram", "add", "--token-file", token]).await.unwrap();
    assert!(!said.ok());
    assert!(said.stderr.contains("make telegram-connector"), "{}", said.stderr);
    // Nobody is asked for a password that is of no use yet.
    let add = ["matrix", "add", "--homeserver", "http://127.0.0.1:9", "--user", "@bot:example.org"];
    let said = stack.cli(&[&add[..], &["--password-file", "/not/there"]].concat()).await.unwrap();
    assert!(!said.ok());
    let why = said.stderr.lines().next().unwrap_or_default();
    assert!(why.contains("the connector of matrix is not here: "), "{}", said.stderr);
    assert!(why.ends_with("/cloister-matrix"), "{}", said.stderr);
    let hint =
        "build it with `make matrix-connector`, or take it from a release archive; then try again";
    assert!(said.stderr.contains(hint), "{}", said.stderr);
    // Nothing else is the worse for it.
    let listed = stack.cli_ok(&["--json", "telegram", "list"]).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap(), serde_json::json!([]));
    stack.cli_ok(&["doctor"]).await.unwrap();
}

/// X8: a program that speaks another version, or for another surface, is refused with the reason.
#[tokio::test]
async fn a_connector_that_is_not_right_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let hello = |version: u32, surface: &str| {
        format!(
            "#!/usr/bin/env python3\nimport json, socket\n\
             s = socket.socket(socket.AF_UNIX)\ns.connect('/run/cloister/door.sock')\n\
             s.sendall(json.dumps({{'type': 'hello', 'version': {version}, 'surface': '{surface}'}}).encode() + b'\\n')\n\
             s.recv(65536)\n"
        )
    };
    let newer = program(dir.path(), "newer", &hello(99, "newer"));
    let other = program(dir.path(), "other", &hello(1, "telegram"));
    let mute = program(dir.path(), "mute", "#!/bin/sh\necho 'I have no library' >&2\nexit 3\n");
    let config = format!(
        "[connectors.newer]\nprogram = {newer:?}\n[connectors.other]\nprogram = {other:?}\n\
         [connectors.mute]\nprogram = {mute:?}\n"
    );
    let stack = Stack::builder().config(&config).start().await.unwrap();
    for (name, why) in
        [("newer", "version 99"), ("other", "not of telegram"), ("mute", "I have no library")]
    {
        let said = stack.cli(&["connector", "add", name, "--account", "x"]).await.unwrap();
        assert!(!said.ok());
        assert!(said.stderr.contains(why), "{name}: {}", said.stderr);
    }
}

/// What a hostile connector tries, one after the other, and writes down what came of it.
const HOSTILE: &str = r#"#!/usr/bin/env python3
import json, os, socket, sys, threading

DOOR = "/run/cloister/door.sock"
VICTIM = json.load(open("/state/victim.json"))
line = socket.socket(socket.AF_UNIX)
line.connect(DOOR)
reader = line.makefile("r")
report = {}

def send(frame):
    line.sendall(json.dumps(frame).encode() + b"\n")

send({"type": "hello", "version": 1, "surface": "evil", "hosts": ["declared.invalid", "localhost", "*.nip.io"]})
welcome = json.loads(reader.readline())
numbers = iter(range(1, 1000))
answers = {}
come = threading.Condition()

def listen():
    for text in reader:
        frame = json.loads(text)
        if frame["type"] == "answer":
            with come:
                answers[frame["id"]] = frame
                come.notify_all()
        elif frame["type"] == "order":
            send({"type": "answer", "id": frame["id"], "ok": None})
            if frame["order"]["order"] == "start":
                threading.Thread(target=attack).start()

def call(**call):
    number = next(numbers)
    send({"type": "call", "id": number, "call": call})
    with come:
        come.wait_for(lambda: number in answers, timeout=20)
    return answers.get(number, {"error": {"message": "no answer"}})

def connect(host, port):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(15)
    s.connect(DOOR)
    s.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\n\r\n".encode())
    return s.recv(200).decode(errors="replace")

def directly(host, port):
    s = socket.socket()
    s.settimeout(5)
    s.connect((host, port))
    return "connected"

def attempt(name, what):
    try:
        report[name] = str(what())
    except Exception as error:
        report[name] = "refused: " + type(error).__name__

def attack():
    port, web, theirs = VICTIM["port"], VICTIM["web"], VICTIM["connector"]
    attempt("connect loopback", lambda: connect("127.0.0.1", port))
    attempt("connect by a declared name", lambda: connect("localhost", port))
    attempt("connect by a name that leads home", lambda: connect("127.0.0.1.nip.io", 443))
    attempt("connect the control plane", lambda: connect("127.0.0.1", web))
    attempt("connect the machine's metadata", lambda: connect("169.254.169.254", 80))
    attempt("connect anywhere", lambda: connect("example.com", 443))
    attempt("dial directly", lambda: directly("127.0.0.1", port))
    attempt("another's secret", lambda: call(call="open_secret", connector=theirs))
    attempt("another's conversations", lambda: call(call="conversations", connector=theirs))
    attempt("another's position", lambda: call(call="set_position", connector=theirs, position="0"))
    attempt("an account nobody asked for", lambda: call(call="put_connector", account="mine",
            address=f"http://127.0.0.1:{port}", settings={}, by="owner"))
    attempt("a person of another surface", lambda: call(call="person_by_id", user="u1"))
    attempt("chats of a person", lambda: call(call="chats", workspace="w1"))
    attempt("a call that there is not", lambda: call(call="give_me_everything"))
    for place in [VICTIM["data"] + "/master.key", VICTIM["data"] + "/cloister.db", "/etc/shadow", "/root"]:
        attempt("read " + os.path.basename(place), lambda: os.listdir(place) if place == "/root" else open(place).read(8))
    attempt("another hello", lambda: second_hello())
    with open("/state/report.tmp", "w") as file:
        json.dump(report, file)
    os.rename("/state/report.tmp", "/state/report.json")

def second_hello():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(15)
    s.connect(DOOR)
    s.sendall(json.dumps({"type": "hello", "version": 1, "surface": "telegram"}).encode() + b"\n")
    return s.recv(200).decode(errors="replace") or "refused: hung up"

listen()
"#;

/// E53, X8: a connector that does whatever its platform's bytes made it do reaches no host that is not its own, nothing
/// of another surface, no file of the host, and adds no account.
#[tokio::test]
async fn a_hostile_connector_gets_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let evil = program(dir.path(), "evil", HOSTILE);
    let good =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/folder-surface/surface.py");
    let good = good.canonicalize().unwrap();
    let config =
        format!("[connectors.evil]\nprogram = {evil:?}\n[connectors.folder]\nprogram = {good:?}\n");
    let stack = Stack::builder().config(&config).start().await.unwrap();
    stack.cli_ok(&["connector", "add", "folder", "--account", "office"]).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let victim = serde_json::json!({
        "port": listener.local_addr().unwrap().port(),
        "web": stack.url().rsplit(':').next().unwrap().parse::<u16>().unwrap(),
        "connector": 1,
        "data": stack.data(),
    });
    let state = stack.data().join("surfaces/evil");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::write(state.join("victim.json"), victim.to_string()).unwrap();
    // It takes the order to add an account, and answers nonsense.
    let added = stack.cli(&["connector", "add", "evil", "--account", "x"]).await.unwrap();
    assert!(!added.ok());
    let began = Instant::now();
    let report = loop {
        if let Ok(text) = std::fs::read_to_string(state.join("report.json")) {
            break serde_json::from_str::<serde_json::Map<String, Value>>(&text).unwrap();
        }
        assert!(began.elapsed() < PATIENCE, "no report");
        sleep(Duration::from_millis(50)).await;
    };
    assert!(report.len() >= 19, "{report:#?}");
    for (attempt, came) in &report {
        let came = came.as_str().unwrap();
        let refused =
            came.starts_with("refused: ") || came.contains(" 502 ") || came.contains("'error'");
        assert!(refused, "{attempt}: {came}");
    }
    let nobody = tokio::time::timeout(Duration::from_millis(100), listener.accept()).await;
    assert!(nobody.is_err(), "somebody was reached");
    let listed = stack.cli_ok(&["--json", "connector", "list", "evil"]).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&listed).unwrap(), serde_json::json!([]));
}

/// One that does as it is told, and says of everything that somebody else ordered it.
const LIAR: &str = r#"#!/usr/bin/env python3
import json, socket, sys

line = socket.socket(socket.AF_UNIX)
line.connect("/run/cloister/door.sock")
reader = line.makefile("r")

def send(frame):
    line.sendall(json.dumps(frame).encode() + b"\n")

def call(**call):
    send({"type": "call", "id": 1, "call": call})
    for text in reader:
        frame = json.loads(text)
        if frame["type"] == "answer":
            return frame["ok"]

send({"type": "hello", "version": 1, "surface": "liar", "hosts": []})
connector = None
for text in reader:
    frame = json.loads(text)
    if frame["type"] == "stop":
        sys.exit()
    if frame["type"] != "order":
        continue
    order, done = frame["order"], None
    if order["order"] == "add":
        connector = call(call="put_connector", account="x", address="", settings={}, by="owner")
        call(call="keep_secret", connector=connector["id"], address="", value="s3cret", by="owner")
        done = {"connector": connector, "recovery_key": None}
    elif order["order"] == "remove":
        call(call="forget_secret", connector=connector["id"], by="owner")
        call(call="remove_connector", connector=connector["id"], by="owner")
    elif order["order"] == "facts":
        done = []
    send({"type": "answer", "id": frame["id"], "ok": done})
"#;

/// A8: who added and removed an account is who ordered it, also where the connector says that it was somebody else.
#[tokio::test]
async fn a_connector_does_not_say_who_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let liar = program(dir.path(), "liar", LIAR);
    let config = format!("[connectors.liar]\nprogram = {liar:?}\n");
    let stack = Stack::builder().config(&config).start().await.unwrap();
    stack.cli_ok(&["connector", "add", "liar", "--account", "x"]).await.unwrap();
    stack.cli_ok(&["connector", "rm", "liar", "x", "--yes"]).await.unwrap();
    let audit = stack.cli_ok(&["audit", "tail"]).await.unwrap();
    for action in ["connector.add", "connector.rm", "secret.set", "secret.remove"] {
        let line = audit.lines().find(|line| line.contains(action));
        let line = line.unwrap_or_else(|| panic!("no {action}: {audit}"));
        assert!(line.contains("operator") && !line.contains("owner"), "{line}");
    }
}
