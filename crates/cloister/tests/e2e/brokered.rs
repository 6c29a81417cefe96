//! Secrets at work: a real program in a real sandbox uses one, and nobody but its host ever has it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use cloister_testkit::Reply;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::world::{
    World, ask_for_report, bash, cloister, files_with, jobs, program, run, run_with_input,
};

const CANARY: &str = "canary-5pQ/x+w7=secret";

/// A host that says back what it was asked with.
struct Echo {
    port: u16,
    heads: Arc<Mutex<String>>,
    _serving: JoinSet<()>,
}

impl Echo {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&heads);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                answer(stream, &kept).await;
            }
        });
        Self { port, heads, _serving: serving }
    }
}

async fn answer(mut stream: TcpStream, kept: &Mutex<String>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_closed) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    kept.lock().unwrap().push_str(&head);
    let start =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length:";
    let answer = format!("{start} {}\r\n\r\n{head}", head.len());
    stream.write_all(answer.as_bytes()).await.ok();
}

/// S1, E49, E50, E52: the handle is all that the sandbox, the model, the files and the logs ever have.
#[tokio::test]
async fn a_task_uses_a_secret_that_only_its_host_ever_sees() {
    let echo = Echo::start().await;
    let url = format!("http://forge.test:{}", echo.port);
    let look =
        "env; cat /proc/self/environ | tr '\\0' '\\n'; ls -la /proc/*/fd 2>/dev/null | head -50";
    let usual = format!(
        "curl -sS -H \"Authorization: Bearer $CLOISTER_SECRET_FORGE\" {url}/echo > kept.txt; cat kept.txt"
    );
    let misuse = format!("curl -sS -H \"X-Other: $CLOISTER_SECRET_FORGE\" {url}/stolen");
    let missing = Reply::tool_call("fetch_url", json!({"url": url, "secret": "nothing"}));
    let steps = vec![bash(look), bash(&usual), bash(&misuse), missing];
    let config = format!("[egress.hosts]\n\"forge.test:{}\" = \"127.0.0.1\"\n", echo.port);
    let world = World::with(&config, jobs(vec![("go", steps)])).await;
    let data = world.stack.data().to_owned();
    world.stack.cli_ok(&["egress", "allow", &url]).await.unwrap();
    let host = format!("forge.test:{}", echo.port);
    let mut set = cloister(&data);
    set.args(["secret", "set", "forge", "--host", &host, "--header", "authorization"]);
    let set = run_with_input(&mut set, &format!("{CANARY}\n")).await;
    assert!(set.status.success(), "{}", String::from_utf8_lossy(&set.stderr));

    ask_for_report(&mut world.owner().await, "job:go").await;

    let heads = echo.heads.lock().unwrap().clone();
    assert!(heads.contains(&format!("Bearer {CANARY}")), "the host got it: {heads}");
    assert!(!heads.contains("/stolen"), "{heads}");
    let shown: Vec<String> =
        world.model.requests().into_iter().map(|request| request.body.to_string()).collect();
    let shown = shown.join("\n");
    assert!(shown.contains("CLOISTER_SECRET_FORGE=clsec_"), "{shown}");
    assert!(shown.contains("Bearer [secret forge]"), "{shown}");
    assert!(shown.contains("the secret forge can't be used like this"), "{shown}");
    assert!(shown.contains("there is no secret nothing for this task"), "{shown}");
    assert!(!shown.contains(CANARY), "a model saw it");
    let found = files_with(&data, CANARY);
    assert!(found.is_empty(), "{found:?}");
    let audit = world.audit().await;
    for action in ["secret.use", "secret.misused", "secret.masked"] {
        assert!(audit.iter().any(|row| row.action == action), "no {action} in {audit:?}");
    }
    assert!(!format!("{audit:?}").contains(CANARY));
}

/// E54: the memory of the control plane is nobody else's, and a crash leaves no picture of it.
#[tokio::test]
async fn e54_the_memory_of_the_control_plane_is_its_own() {
    let world = World::start().await;
    let pid = world.stack.pid().unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    if !rustix::process::geteuid().is_root() {
        println!("NOT RUN: becoming a cell's account needs root");
        return;
    }
    for file in ["mem", "environ", "maps", "fd/0"] {
        let mut cat = program(Path::new("cat"));
        let read = run(cat.arg(format!("/proc/{pid}/{file}")).uid(231_072).gid(231_072)).await;
        assert!(!read.status.success() && read.stdout.is_empty(), "{file} can be read");
    }
}
