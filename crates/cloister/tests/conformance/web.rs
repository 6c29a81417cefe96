//! The web's own socket, as the page speaks it.

use std::collections::HashMap;
use std::time::Duration;

use cloister_protocol::admin::Session;
use cloister_protocol::{
    AgentFrame, Answer, ApprovalId, Attachment, ChatId, ClientFrame, Message, MessageId, TurnId,
};
use cloister_testkit::stack::Address;
use cloister_testkit::{AgentClient, ModelServerBuilder, Product, Stack, world_of_product};

use crate::seat::{Ground, Outside, Seat};

/// How long it is listened for something new.
const BREATH: Duration = Duration::from_millis(30);

pub(crate) struct Web {
    product: Product,
}

world_of_product!(Web);

pub(crate) struct AtThePage {
    client: AgentClient,
    address: Address,
    /// What was said, in order; a turn that is told again says the same.
    said: Vec<String>,
    turns: HashMap<TurnId, usize>,
    asked: Vec<ApprovalId>,
    files: Vec<(String, String)>,
    /// Messages by their id, for when they are to be sent again.
    sent: HashMap<String, String>,
}

impl Ground for Web {
    type Seat = AtThePage;
    type Stranger = NotLetIn;
    const WAY_IN: &'static str = "/api/v1/sessions";

    async fn start(config: &str, model: ModelServerBuilder) -> Self {
        let stack = Stack::builder().asks_before_deleting().config(config).same_port();
        Self { product: Product::start(stack, model).await }
    }

    async fn person(&mut self, user: &str) -> AtThePage {
        self.cli_ok(&["user", "add", user]).await;
        AtThePage::open(&self.stack, user).await
    }

    /// Somebody who knows where the others sit: with no token, with one that they made up, and with one of theirs
    /// that is not whole.
    async fn stranger(&mut self) -> NotLetIn {
        let theirs = self.stack.session("ann").await.unwrap();
        let mut short = theirs.token.clone();
        short.pop();
        let tokens = [String::new(), "made-up".to_owned(), short];
        let with = |token| {
            let session = Session { token, ..theirs.clone() };
            self.stack.client(&session, ChatId::from_number(1))
        };
        NotLetIn { clients: tokens.map(with).into(), told: Vec::new() }
    }

    async fn go_to(&mut self, seat: &mut AtThePage, user: &str, chat: &str) {
        // The ids of messages are told apart by their surface alone.
        let sent = std::mem::take(&mut seat.sent);
        *seat = AtThePage::open_at(&self.stack, user, chat.parse().unwrap()).await;
        seat.sent = sent;
    }

    async fn say_twice(&mut self, seat: &mut AtThePage, text: &str) {
        let id: MessageId = "twice".parse().unwrap();
        seat.client.submit(id.clone(), text).await;
        seat.client.submit(id, text).await;
    }
}

/// Somebody with an address and no session.
pub(crate) struct NotLetIn {
    clients: Vec<AgentClient>,
    told: Vec<String>,
}

impl Outside for NotLetIn {
    async fn tries(&mut self, text: &str) {
        let id: MessageId = "m1".parse().unwrap();
        for client in &mut self.clients {
            let sent = match client.connect().await {
                Ok(()) => client.send_message(&id, text).await,
                Err(refused) => Err(refused),
            };
            self.told.push(sent.expect_err("a stranger got in").to_string());
        }
    }

    async fn was_told(&mut self) -> Vec<String> {
        self.told.clone()
    }
}

impl AtThePage {
    /// The page of a user's first chat.
    pub(crate) async fn open(stack: &Stack, user: &str) -> Self {
        Self::open_at(stack, user, ChatId::from_number(1)).await
    }

    async fn open_at(stack: &Stack, user: &str, chat: ChatId) -> Self {
        let session = stack.session(user).await.unwrap();
        Self {
            client: stack.client(&session, chat),
            address: stack.address().clone(),
            said: Vec::new(),
            turns: HashMap::new(),
            asked: Vec::new(),
            files: Vec::new(),
            sent: HashMap::new(),
        }
    }

    async fn take(&mut self, frame: AgentFrame) {
        match frame {
            AgentFrame::End(end) => {
                let said = &mut self.said;
                let place = *self.turns.entry(end.turn).or_insert_with(|| {
                    said.push(String::new());
                    said.len() - 1
                });
                said[place] = end.text;
            }
            AgentFrame::Ask(ask) if !self.asked.contains(&ask.approval) => {
                self.asked.push(ask.approval);
                self.said.push(format!("{} asks: {}", ask.approval, ask.title));
            }
            AgentFrame::SendFile(file) => self.files.extend(file.url.map(|url| (file.name, url))),
            AgentFrame::Error(error) => {
                let again = error.id.and_then(|id| Some((id.clone(), self.sent.get(&id)?.clone())));
                if let Some((id, text)) = again {
                    tokio::time::sleep(BREATH).await;
                    self.client.submit(id.parse().unwrap(), &text).await;
                }
            }
            _ => {}
        }
    }
}

impl Seat for AtThePage {
    async fn say(&mut self, text: &str) {
        let id = format!("m{:04}", self.sent.len());
        self.sent.insert(id.clone(), text.to_owned());
        self.client.submit(id.parse().unwrap(), text).await;
    }

    async fn send_file(&mut self, name: &str, bytes: &[u8]) {
        let session = self.client.session().clone();
        let path = format!("/cells/{}/v1/chats/C1/files?name={name}", session.workspace);
        let put = self.address.http("POST", &path, Some(&session.token), bytes.to_vec());
        let file: Attachment = put.await.unwrap().json().unwrap();
        let id = "file".parse().unwrap();
        let (text, attachments) = (String::new(), vec![file]);
        let message = Message { id, chat: None, text, attachments, instead: None, from: None };
        self.client.connect().await.unwrap();
        self.client.send(&ClientFrame::Message(message)).await.unwrap();
    }

    async fn heard(&mut self) -> Vec<String> {
        while let Ok(frame) = self.client.frame_or_reconnect(BREATH).await {
            self.take(frame).await;
        }
        assert!(self.client.faults().is_empty(), "{:?}", self.client.faults());
        self.said.clone()
    }

    async fn file(&mut self, name: &str) -> Option<Vec<u8>> {
        self.heard().await;
        let (_, url) = self.files.iter().find(|(file, _)| file == name)?;
        let token = self.client.session().token.clone();
        let fetched = self.address.http("GET", url, Some(&token), Vec::new()).await.unwrap();
        (fetched.status == 200).then(|| fetched.body.to_vec())
    }

    async fn allow(&mut self) {
        let asked = *self.asked.last().unwrap();
        self.client.approve(asked, Answer::Allow).await;
    }
}
