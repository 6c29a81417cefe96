//! `cloister chat` on a terminal of its own.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use cloister_testkit::{ModelServerBuilder, Product, Stack, world_of_product};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::task::JoinSet;

use crate::seat::{Ground, Outside, PATIENCE, Seat};

pub(crate) struct Terminal {
    product: Product,
}

world_of_product!(Terminal);

pub(crate) struct AtTheKeys {
    _child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
    place: PathBuf,
    _reader: JoinSet<()>,
}

impl Ground for Terminal {
    type Seat = AtTheKeys;
    type Stranger = AtTheShell;
    const WAY_IN: &'static str = "cloister user";

    async fn start(config: &str, model: ModelServerBuilder) -> Self {
        let stack = Stack::builder().asks_before_deleting().config(config).same_port();
        Self { product: Product::start(stack, model).await }
    }

    async fn person(&mut self, user: &str) -> AtTheKeys {
        self.cli_ok(&["user", "add", user]).await;
        AtTheKeys::open(&self.stack, user).await
    }

    async fn stranger(&mut self) -> AtTheShell {
        AtTheShell { data: self.stack.data().to_owned(), told: Vec::new() }
    }

    async fn go_to(&mut self, seat: &mut AtTheKeys, user: &str, chat: &str) {
        *seat = AtTheKeys::open_at(&self.stack, user, chat).await;
    }

    /// What was taken and never confirmed is sent again.
    async fn say_twice(&mut self, seat: &mut AtTheKeys, text: &str) {
        seat.say(text).await;
        assert!(self.model.wait_for_n(1, PATIENCE).await.is_some(), "it was taken");
        self.stack.kill().await.unwrap();
        self.stack.restart().await.unwrap();
    }
}

/// Somebody who is nobody's user.
pub(crate) struct AtTheShell {
    data: PathBuf,
    told: Vec<String>,
}

impl Outside for AtTheShell {
    #[expect(clippy::disallowed_methods, reason = "a person's terminal is not the product's child")]
    async fn tries(&mut self, text: &str) {
        let mut chat = Command::new(env!("CARGO_BIN_EXE_cloister"));
        chat.arg("--data").arg(&self.data).args(["chat", "--user", "eve", text]);
        let said = chat.stdin(Stdio::null()).kill_on_drop(true).output().await.unwrap();
        assert!(!said.status.success() && said.stdout.is_empty(), "{said:?}");
        self.told.push(String::from_utf8(said.stderr).unwrap());
    }

    async fn was_told(&mut self) -> Vec<String> {
        self.told.clone()
    }
}

impl AtTheKeys {
    /// A terminal with a user's first chat.
    pub(crate) async fn open(stack: &Stack, user: &str) -> Self {
        Self::open_at(stack, user, "C1").await
    }

    async fn open_at(stack: &Stack, user: &str, chat: &str) -> Self {
        let place = stack.data().join(format!("desk-{user}"));
        std::fs::create_dir_all(&place).unwrap();
        let mut seat = Self::sit_down(stack.data(), (user, chat), place);
        seat.sees("/help lists commands").await;
        seat
    }

    #[expect(clippy::disallowed_methods, reason = "a person's terminal is not the product's child")]
    fn sit_down(data: &std::path::Path, (user, chat): (&str, &str), place: PathBuf) -> Self {
        let own = env!("CARGO_BIN_EXE_cloister");
        let (data, save) = (data.display(), place.display());
        let chat = format!("{own} --data {data} chat --user {user} --chat {chat} --save {save}");
        let mut script = Command::new("script");
        script.args(["-q", "-e", "-c", &chat, "/dev/null"]).env("TERM", "dumb").kill_on_drop(true);
        let mut child = script
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(String::new()));
        let seen = Arc::clone(&screen);
        let mut reader = JoinSet::new();
        reader.spawn(async move {
            let mut bytes = [0u8; 4096];
            let mut left = Vec::new();
            while let Ok(count @ 1..) = out.read(&mut bytes).await {
                left.extend_from_slice(bytes.get(..count).unwrap());
                let whole = left.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
                let text: Vec<u8> = left.drain(..whole).collect();
                seen.lock().unwrap().push_str(&String::from_utf8(text).unwrap());
            }
        });
        Self { _child: child, keys, screen, place, _reader: reader }
    }
}

/// Without what moves the cursor and paints.
fn plain(screen: &str) -> String {
    let mut shown = String::new();
    let mut chars = screen.chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' if chars.next() == Some('[') => {
                chars.by_ref().find(|end| ('@'..='~').contains(end));
            }
            '\x1b' | '\r' => {}
            c => shown.push(c),
        }
    }
    shown
}

impl Seat for AtTheKeys {
    async fn say(&mut self, text: &str) {
        self.keys.write_all(format!("{text}\r").as_bytes()).await.unwrap();
        self.keys.flush().await.unwrap();
    }

    async fn send_file(&mut self, name: &str, bytes: &[u8]) {
        let path = self.place.join("outbox");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(name), bytes).unwrap();
        self.say(&format!("/file {}", path.join(name).display())).await;
    }

    async fn heard(&mut self) -> Vec<String> {
        vec![plain(&self.screen.lock().unwrap())]
    }

    async fn file(&mut self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.place.join(name)).ok()
    }

    async fn allow(&mut self) {
        self.say("/yes").await;
    }
}
