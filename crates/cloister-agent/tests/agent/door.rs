//! A door as the agent sees it: a Unix socket with the link and the model behind it, both played by
//! the test.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use cloister_protocol::link::{Downlink, Uplink};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

/// Far more than anything here takes; reaching it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Door {
    pub(crate) dir: tempfile::TempDir,
    links: mpsc::Receiver<Link>,
    models: mpsc::Receiver<ModelCall>,
    _serving: JoinSet<()>,
}

/// The control plane's end of one link connection.
pub(crate) struct Link {
    up: mpsc::Receiver<Uplink>,
    down: mpsc::Sender<Down>,
}

enum Down {
    Frame(Box<Downlink>),
    Raw(String),
    Close,
}

/// A request to the model that waits for the test to answer it.
pub(crate) struct ModelCall {
    pub(crate) body: Value,
    stream: UnixStream,
}

impl Door {
    pub(crate) fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("files")).unwrap();
        let listener = UnixListener::bind(dir.path().join("door.sock")).unwrap();
        let (link_sender, links) = mpsc::channel(4);
        let (model_sender, models) = mpsc::channel(64);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, link_sender.clone(), model_sender.clone()));
            }
        });
        Self { dir, links, models, _serving: serving }
    }

    /// The workspace of a coordinator, or the chat of an executor.
    pub(crate) fn files(&self) -> PathBuf {
        self.dir.path().join("files")
    }

    pub(crate) fn coordinator(&self) -> Child {
        self.launch("coordinator", "--workspace", None)
    }

    pub(crate) fn executor(&self) -> Child {
        self.launch("executor", "--chat", None)
    }

    /// With the programs of this folder alone.
    pub(crate) fn executor_with(&self, programs: &Path) -> Child {
        self.launch("executor", "--chat", Some(programs))
    }

    #[expect(clippy::disallowed_methods, reason = "the test starts the real program")]
    fn launch(&self, role: &str, files_option: &str, path: Option<&Path>) -> Child {
        // As the launcher does: a write beyond the file-size limit is an error, not the end.
        Command::new("/bin/sh")
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(env!("CARGO_BIN_EXE_cloister-agent"))
            .arg(role)
            .arg("--door")
            .arg(self.dir.path().join("door.sock"))
            .arg(files_option)
            .arg(self.files())
            .args(if role == "executor" { &["--proxy-port", "0"][..] } else { &[] })
            .env("TMPDIR", self.dir.path())
            .envs(path.map(|path| ("PATH", path)))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }

    /// The next link, after its hello.
    pub(crate) async fn link(&mut self) -> Link {
        let mut link = timeout(PATIENCE, self.links.recv()).await.expect("no link came").unwrap();
        let hello = link.next().await;
        assert!(matches!(hello, Uplink::Hello { .. }), "the first frame was {hello:?}");
        link
    }

    pub(crate) async fn model(&mut self) -> ModelCall {
        timeout(PATIENCE, self.models.recv()).await.expect("the model was not asked").unwrap()
    }

    pub(crate) fn model_was_not_asked(&mut self) -> bool {
        self.models.try_recv().is_err()
    }
}

impl Link {
    pub(crate) async fn send(&self, frame: Downlink) {
        self.down.send(Down::Frame(Box::new(frame))).await.unwrap();
    }

    pub(crate) async fn send_raw(&self, text: &str) {
        self.down.send(Down::Raw(text.to_owned())).await.unwrap();
    }

    pub(crate) async fn close(self) {
        self.down.send(Down::Close).await.unwrap();
    }

    pub(crate) async fn next(&mut self) -> Uplink {
        timeout(PATIENCE, self.up.recv()).await.expect("no frame came").expect("the link ended")
    }

    /// Frames up to and including the first that is wanted.
    pub(crate) async fn until(&mut self, mut wanted: impl FnMut(&Uplink) -> bool) -> Vec<Uplink> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.next().await);
            if wanted(frames.last().unwrap()) {
                return frames;
            }
        }
    }
}

impl ModelCall {
    async fn write(&mut self, bytes: &str) {
        self.stream.write_all(bytes.as_bytes()).await.ok();
    }

    pub(crate) async fn begin(&mut self) {
        self.write(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        )
        .await;
    }

    pub(crate) async fn event(&mut self, event: &Value) {
        self.write(&format!("data: {event}\n\n")).await;
    }

    pub(crate) async fn text(&mut self, text: &str) {
        self.event(&json!({"choices": [{"index": 0, "delta": {"content": text}}]})).await;
    }

    pub(crate) async fn end(&mut self) {
        self.event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})).await;
        self.event(&json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}))
            .await;
        self.write("data: [DONE]\n\n").await;
    }

    pub(crate) async fn say(mut self, text: &str) {
        self.begin().await;
        self.text(text).await;
        self.end().await;
    }

    /// Answers with calls, each a name and its arguments; ids are made from `prefix`.
    pub(crate) async fn call(mut self, text: &str, prefix: &str, calls: &[(&str, Value)]) {
        self.begin().await;
        if !text.is_empty() {
            self.text(text).await;
        }
        for (index, (name, arguments)) in calls.iter().enumerate() {
            let call = json!({"index": index, "id": format!("{prefix}{index}"), "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}});
            self.event(&json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]})).await;
        }
        self.end().await;
    }

    pub(crate) async fn refuse(mut self, status: u16, code: &str, message: &str, fix: &str) {
        let body = json!({"error": {"code": code, "message": message, "fix": fix}}).to_string();
        let head = format!("HTTP/1.1 {status} No\r\ncontent-length: {}\r\n\r\n", body.len());
        self.write(&head).await;
        self.write(&body).await;
    }

    /// Everything the model was shown, as text.
    pub(crate) fn shown(&self) -> String {
        self.body["messages"].to_string()
    }

    /// Resolves when the agent has hung up.
    pub(crate) async fn hung_up(mut self) {
        let mut rest = [0u8; 64];
        while timeout(PATIENCE, self.stream.read(&mut rest))
            .await
            .expect("still there")
            .unwrap_or(0)
            > 0
        {}
    }
}

async fn serve(mut stream: UnixStream, links: mpsc::Sender<Link>, models: mpsc::Sender<ModelCall>) {
    let Some((head, mut rest)) = read_head(&mut stream).await else { return };
    if head.starts_with("GET /link ") {
        let key = header(&head, "sec-websocket-key").unwrap();
        let answer = format!(
            "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-accept: {}\r\n\r\n",
            derive_accept_key(key.as_bytes())
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, None).await;
        serve_link(socket, links).await;
        return;
    }
    let length =
        header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while rest.len() < length {
        let mut buffer = vec![0u8; 64 << 10];
        let count = stream.read(&mut buffer).await.unwrap();
        if count == 0 {
            return;
        }
        rest.extend_from_slice(&buffer[..count]);
    }
    if let Some(answer) = served(&head, &String::from_utf8_lossy(&rest)) {
        stream.write_all(answer.as_bytes()).await.ok();
        return;
    }
    assert!(head.starts_with("POST /v1/chat/completions "), "{head}");
    let body = serde_json::from_slice(&rest).unwrap();
    models.send(ModelCall { body, stream }).await.ok();
}

/// What the broker itself answers.
fn served(head: &str, body: &str) -> Option<String> {
    let answer = |status: &str, headers: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let first = head.lines().next()?;
    let refusals = r#"{"last":1,"refusals":[{"seq":1,"host":"evil.test","reason":"is not allowed.","fix":"Say /allow evil.test."}]}"#;
    let error = r#"{"error":{"code":"refused","message":"evil.test is not allowed.","fix":"Say /allow evil.test."}}"#;
    let found = r#"{"provider":"fake","results":[{"title":"A","url":"https://a.test/","snippet":"about\na"}]}"#;
    let secrets = r#"[{"name":"forge","env":"CLOISTER_SECRET_FORGE","handle":"clsec_handle","hosts":["forge.test"],"form":"query key","how":"the query field key=$CLOISTER_SECRET_FORGE"}]"#;
    let page =
        "x-cloister-url: https://a.test/p\r\nx-cloister-status: 200\r\ncontent-type: text/html\r\n";
    Some(match first {
        "GET /secrets HTTP/1.1" => answer("200 OK", "", secrets),
        "GET /ca.pem HTTP/1.1" => answer("200 OK", "", "the CA\n"),
        "GET /egress/refusals?after=0 HTTP/1.1" => answer("200 OK", "", refusals),
        "GET /egress/refusals?after=1 HTTP/1.1" => {
            answer("200 OK", "", r#"{"last":1,"refusals":[]}"#)
        }
        "GET http://evil.test/ HTTP/1.1" => answer("403 Forbidden", "", "no"),
        "POST /fetch HTTP/1.1" if body.contains("a.test") => {
            answer("200 OK", page, "<title>T</title><p>Hi <a href=/x>x</a>")
        }
        "POST /fetch HTTP/1.1" => answer("403 Forbidden", "", error),
        "POST /search HTTP/1.1" => answer("200 OK", "", found),
        _ => return None,
    })
}

async fn read_head(stream: &mut UnixStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    loop {
        let mut buffer = [0u8; 4096];
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Some((String::from_utf8(bytes).unwrap(), rest));
        }
    }
}

fn header(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}

async fn serve_link(socket: WebSocketStream<UnixStream>, links: mpsc::Sender<Link>) {
    let (up_sender, up) = mpsc::channel(1024);
    let (down, mut down_receiver) = mpsc::channel(64);
    if links.send(Link { up, down }).await.is_err() {
        return;
    }
    let (mut sink, mut stream) = socket.split();
    loop {
        tokio::select! {
            frame = down_receiver.recv() => {
                let text = match frame {
                    Some(Down::Frame(frame)) => serde_json::to_string(&frame).unwrap(),
                    Some(Down::Raw(text)) => text,
                    Some(Down::Close) | None => return,
                };
                if sink.send(Message::text(text)).await.is_err() {
                    return;
                }
            }
            message = stream.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    up_sender.send(serde_json::from_str(&text).unwrap()).await.ok();
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return,
            },
        }
    }
}
