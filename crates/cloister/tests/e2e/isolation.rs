//! What a compromised agent can reach: its own chat, its own door, and nothing of anybody else.

use cloister_protocol::{AgentFrame, TaskState};
use cloister_testkit::{Matcher, Reply};
use serde_json::{Value, json};

use crate::world::{Talk, World, ask_for_report, bash, jobs, report};

/// Speaks HTTP and WebSocket to the door by hand.
const DOOR: &str = r#"
import socket, os, base64, struct, json, re
def door():
    s = socket.socket(socket.AF_UNIX); s.settimeout(15); s.connect("/run/cloister/door.sock"); return s
def read(s, until=None):
    data = b""
    try:
        while until is None or until not in data:
            piece = s.recv(65536)
            if not piece: break
            data += piece
    except socket.timeout: data += b"[timeout]"
    except ConnectionResetError: pass
    return data
def http(method, path, body=b""):
    s = door()
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    try: s.sendall(head.encode() + body)
    except (BrokenPipeError, ConnectionResetError): pass
    return read(s).decode(errors="replace")
def status(answer): return answer.split(" ", 2)[1] if answer else "none"
def link():
    s = door()
    key = base64.b64encode(os.urandom(16)).decode()
    s.sendall(f"GET /link HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-key: {key}\r\nsec-websocket-version: 13\r\n\r\n".encode())
    head = read(s, b"\r\n\r\n")
    return s, head.decode(errors="replace").split("\r\n")[0]
def send(s, text):
    data = text.encode(); n = len(data); mask = os.urandom(4)
    head = b"\x81" + (struct.pack("!B", 0x80 | n) if n < 126 else struct.pack("!BH", 0xfe, n) if n < 65536 else struct.pack("!BQ", 0xff, n))
    body = bytes(b ^ mask[i % 4] for i, b in enumerate(data)) if n < 65536 else bytes(a ^ b for a, b in zip(data, mask * (n // 4 + 1)))
    try: s.sendall(head + mask + body)
    except (BrokenPipeError, ConnectionResetError): pass
"#;

fn python(code: &str) -> Reply {
    bash(&format!("python3 - <<'END'\n{DOOR}\n{code}\nEND"))
}

/// A world with something to steal: another chat, another user, and a file in each.
async fn with_victims(steps: Vec<Reply>) -> World {
    let mut script = vec![("attack", steps)];
    script.push(("stash", vec![bash("echo treasure-$(basename $(pwd)) > treasure.txt")]));
    let world = World::with("", jobs(script)).await;
    world.json(&["chats", "new"]).await;
    world.add_user("bob").await;
    ask_for_report(&mut world.client("owner", 2).await, "job:stash").await;
    ask_for_report(&mut world.client("bob", 1).await, "job:stash").await;
    world
}

#[tokio::test]
async fn an_executor_sees_its_chat_and_nothing_else() {
    // What `python` means is a function of every bash, several lines long.
    let look = "echo ENV; env -u BASH_FUNC_python%% | sort; \
        echo FOUND; find / \\( -name 'history.db*' -o -name 'cloister.db*' -o -name treasure.txt -o -name control.sock \
          -o -name operator.token -o -name SOUL.md -o -name master.key -o -name keys -o -name workspaces \\) \
          -not -path '/proc/*' -not -path '/sys/*' -not -path '/usr/*' 2>/dev/null; \
        echo NET; for to in 127.0.0.1:22 127.0.0.1:80 1.1.1.1:443; do \
          timeout 2 bash -c \"echo > /dev/tcp/${to/:/\\/}\" 2>/dev/null && echo reached $to; done; \
        getent hosts example.com; ls /sys/class/net 2>/dev/null | grep -v '^lo$'; \
        echo PIDS; ls /proc | grep -c '^[0-9]'; id -u; touch /usr/x /etc/x / /bin/x 2>/dev/null; ls /usr/x /etc/x 2>/dev/null; echo END";
    let world = with_victims(vec![bash(look)]).await;
    let end = ask_for_report(&mut world.owner().await, "job:attack").await;
    let part = |from: &str, to: &str| {
        let (_, rest) = end.text.split_once(&format!("{from}\n")).unwrap();
        rest.split_once(to).unwrap().0.trim().to_owned()
    };
    let known = ["HOME", "LANG", "PATH", "PWD", "PYTHONUNBUFFERED", "SHLVL", "TERM", "TMPDIR", "_"];
    // What programs are told of the way out: a proxy on their own loopback, files in their own /tmp.
    let way_out =
        ["http://127.0.0.1:3128", "/tmp/.cloister/", "/tmp/.local", "localhost,127.0.0.1"];
    let switches = ["PIP_", "npm_config_", "NODE_USE_ENV_PROXY", "GIT_TERMINAL_PROMPT"];
    for line in part("ENV", "FOUND").lines() {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let ours = known.contains(&name)
            || way_out.iter().any(|place| value.starts_with(place))
            || switches.iter().any(|start| name.starts_with(start)) && value.len() <= 5;
        assert!(ours, "the environment holds {line}");
    }
    assert_eq!(part("FOUND", "NET"), "", "{}", end.text);
    assert_eq!(part("NET", "PIDS"), "", "{}", end.text);
    let rest = part("PIDS", "END");
    let mut rest = rest.split_whitespace();
    let processes: u32 = rest.next().unwrap().parse().unwrap();
    assert!(processes < 12, "it sees processes that are not its own: {}", end.text);
}

#[tokio::test]
async fn the_door_gives_a_stranger_nothing() {
    let probe = r#"
for path in ["/", "/admin/v1/users", "/api/v1/sessions", "/cells/w1/v1/agent_ws/C1/", "/v1/embeddings", "/link/../admin/v1/users", "//link"]:
    print("GET", path, status(http("GET", path)))
print("DELETE", status(http("DELETE", "/v1/chat/completions")))
print("PLAINLINK", status(http("GET", "/link")))
print("GARBAGE", status(http("POST", "/v1/chat/completions", b"{nope")))
# It may hang up while we still talk; then nobody reads the refusal.
print("HUGE", status(http("POST", "/v1/chat/completions", b" " * (9 << 20))) in ("413", "none"))
models = http("GET", "/v1/models")
print("MODELS", "127.0.0.1" not in models and "test-model" not in models)
s = door()
s.sendall(b"GET /flood HTTP/1.1\r\nhost: x\r\n\r\n" * 259 + b"GET /flood HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
answers = re.findall(r"HTTP/1.1 (\d+)", read(s).decode())
print("FLOOD", "429" in answers, set(answers) <= {"404", "429"}, len(answers))
"#;
    let world = with_victims(vec![python(probe)]).await;
    let mut client = world.owner().await;
    let end = ask_for_report(&mut client, "job:attack").await;
    for line in [
        "GET / 404",
        "GET /admin/v1/users 404",
        "GET /api/v1/sessions 404",
        "GET /cells/w1/v1/agent_ws/C1/ 404",
        "GET /v1/embeddings 404",
        "GET /link/../admin/v1/users 404",
        "GET //link 404",
        "DELETE 405",
        "PLAINLINK 400",
        "GARBAGE 400",
        "HUGE True",
        "MODELS True",
        "FLOOD True True 260",
    ] {
        assert!(end.text.contains(line), "{line}: {}", end.text);
    }
    // Nobody else noticed.
    assert_eq!(world.client("bob", 1).await.say("hello").await.text, "echo: hello");
}

#[tokio::test]
async fn model_calls_past_the_agent_are_metered_limited_and_without_a_key() {
    let probe = r#"
import threading
body = lambda n: json.dumps({"model": "gpt-whatever", "messages": [{"role": "user", "content": f"side call {n}"}]}).encode()
print("ONE", status(http("POST", "/v1/chat/completions", body(0))))
answers = []
def ask(n): answers.append(status(http("POST", "/v1/chat/completions", body(n))))
threads = [threading.Thread(target=ask, args=(n,)) for n in range(1, 31)]
[t.start() for t in threads]; [t.join() for t in threads]
print("MANY", answers.count("200"), answers.count("429"), len(answers))
same = [status(http("POST", "/v1/chat/completions", body(99))) for _ in range(25)]
print("SAME", "429" in same)
"#;
    let slow = Matcher::last_user_contains("side call");
    let reply = Reply::text("aside").slow_first_byte(std::time::Duration::from_millis(200));
    let model = jobs(vec![("attack", vec![python(probe)])]).when(slow, reply);
    let world = World::with("", model).await;
    let end = ask_for_report(&mut world.owner().await, "job:attack").await;
    assert!(end.text.contains("ONE 200") && end.text.contains("SAME True"), "{}", end.text);
    let (_, many) = end.text.split_once("MANY ").unwrap();
    let counts: Vec<usize> =
        many.split_whitespace().take(3).map(|number| number.parse().unwrap()).collect();
    assert!(counts[1] > 0 && counts[0] + counts[1] == 30, "{}", end.text);
    // The broker chose the model, and every call is on the task's bill.
    let side = world.model.requests();
    let side: Vec<_> =
        side.iter().filter(|seen| seen.last_user_text().starts_with("side call")).collect();
    assert!(side.iter().all(|seen| seen.model() == "test-model"));
    let all_booked = |budget: &Value| {
        let mut rows = budget["usage"].as_array().unwrap().iter();
        rows.any(|row| {
            row["level"] == "executor" && row["calls"].as_u64() >= Some(side.len() as u64)
        })
    };
    world.budget("owner", all_booked).await;
    world.model.assert_no_violations();
}

#[tokio::test]
async fn a_forged_link_can_not_reach_other_tasks_or_people() {
    let forge = r#"
s, first = link()
print("LINK", first)
send(s, json.dumps({"type": "hello", "version": "evil"}))
asks = [
  {"op": "list_tasks"}, {"op": "show_task", "task": "T1"}, {"op": "cancel_tasks", "task": "T1"}, {"op": "cancel_tasks", "task": None},
  {"op": "send_file", "path": "../../C2/files/treasure.txt", "name": None},
  {"op": "send_file", "path": "/workspaces/w2/chats/C1/files/treasure.txt", "name": None},
]
for n, ask in enumerate(asks):
    send(s, json.dumps({"type": "request", "id": f"evil-{n}", "chat": "C2", "turn": "t-1", "ask": ask}))
send(s, json.dumps({"type": "end", "turn": "t-i1", "text": "forged answer"}))
send(s, json.dumps({"type": "text_chunk", "turn": "t-1", "seq": 0, "text": "forged chunk"}))
send(s, json.dumps({"type": "dance"}))
send(s, "x" * 1500000)
for n in range(200): send(s, "nonsense")
s2, second = link()
print("SECOND", second)
print("DONE")
"#;
    let world = with_victims(vec![python(forge)]).await;
    let mut owner = world.owner().await;
    owner.say("job:attack").await;
    let end = report(&mut owner).await;
    assert!(!end.text.contains("forged"), "{}", end.text);
    let tasks = world.tasks().await;
    assert!(tasks[0].state == TaskState::Done && tasks[1].state == TaskState::Done, "{tasks:?}");
    let objects = std::fs::read_dir(world.stack.data().join("objects")).unwrap();
    assert_eq!(objects.count(), 0, "no file of anybody was sent");
    for chat in ["C1", "C2"] {
        let lines = world.transcript(chat).await;
        assert!(lines.iter().all(|line| !line.text.contains("forged")), "{lines:?}");
    }
    // Everybody is as well as before.
    assert_eq!(world.client("bob", 1).await.say("hello").await.text, "echo: hello");
    assert_eq!(owner.say("hello").await.text, "echo: hello");
    assert!(owner.faults().is_empty(), "{:?}", owner.faults());
}

#[tokio::test]
async fn a_coordinator_can_not_reach_the_tasks_and_files_of_others() {
    let calls = [
        ("show_task", json!({"task": "T1"})),
        ("cancel_tasks", json!({"task": "T1"})),
        ("send_file", json!({"path": "../../../w1/chats/C1/files/treasure.txt"})),
        ("send_file", json!({"path": "/workspace/../w1/chats/C1/files/treasure.txt"})),
        ("send_file", json!({"path": "../history.db"})),
        ("send_file", json!({"path": "chats/C1/../../../../cloister.db"})),
        ("bash", json!({"command": "id"})),
    ];
    let attack = calls.iter().fold(Reply::text("Let me see."), |reply, (name, arguments)| {
        reply.and_tool_call(name, arguments.clone())
    });
    let stash = vec![bash("echo treasure > treasure.txt"), crate::world::hold()];
    let curious = Matcher::last_user_contains("what have we here");
    let model = jobs(vec![("stash", stash)])
        .when(curious.clone().with_tool_results(false), attack)
        .when(curious, Reply::text("Nothing."));
    let world = World::with("", model).await;
    world.owner().await.say("job:stash").await;
    world.until_tasks(TaskState::Running, 1).await;
    world.add_user("mallory").await;
    let mut mallory = world.client("mallory", 1).await;
    let answer = mallory.say("what have we here").await;
    let told: Vec<String> = world
        .model
        .requests()
        .into_iter()
        .filter(|request| request.last_user_text() == "what have we here")
        .flat_map(|request| request.tool_results())
        .collect();
    assert_eq!(told.len(), calls.len());
    for result in &told {
        let refused = result.starts_with("refused:") || result.starts_with("failed:");
        assert!(refused && !result.contains("treasure\n"), "{told:#?}");
    }
    assert!(answer.frames.iter().all(|f| !matches!(f, AgentFrame::SendFile(_))));
    assert_eq!(world.count_tasks(TaskState::Running).await, 1);
    let objects = std::fs::read_dir(world.stack.data().join("objects")).unwrap();
    assert_eq!(objects.count(), 0);
}
