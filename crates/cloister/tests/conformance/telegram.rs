//! Telegram: a private chat with a bot that has no topics.

use std::os::unix::fs::PermissionsExt;

use cloister_testkit::telegram::{
    BotAccount, Fault, FileKind, Person, Place, Sent, TelegramServer,
};
use cloister_testkit::{ModelServer, ModelServerBuilder, Stack};

use crate::seat::{Ground, Seat, eventually};

pub(crate) struct Telegram {
    stack: Stack,
    model: ModelServer,
    server: TelegramServer,
    bot: BotAccount,
}

pub(crate) struct InAChat {
    person: Person,
    place: Place,
}

impl Ground for Telegram {
    type Seat = InAChat;
    type Stranger = InAChat;

    async fn start(config: &str, model: ModelServerBuilder) -> Self {
        let server = TelegramServer::start().await.unwrap();
        let model = model.start().await.unwrap();
        let stack = Stack::builder().config(config).start().await.unwrap();
        stack.use_model(&model).await.unwrap();
        let bot = connect(&stack, &server).await;
        Self { stack, model, server, bot }
    }

    fn stack(&mut self) -> &mut Stack {
        &mut self.stack
    }

    fn model(&self) -> &ModelServer {
        &self.model
    }

    async fn person(&mut self, user: &str) -> InAChat {
        self.stack.cli_ok(&["user", "add", user]).await.unwrap();
        sit_down(&self.stack, (&self.server, &self.bot), user).await
    }

    async fn stranger(&mut self) -> InAChat {
        let person = self.server.person("eve");
        let place = person.with(&self.bot);
        InAChat { person, place }
    }

    async fn say_twice(&mut self, seat: &mut InAChat, text: &str) {
        seat.say(text).await;
        seat.sees(text).await;
        self.server.lay_times("getUpdates", Fault::RepeatUpdates, 1);
        seat.say("go on").await;
        let server = &self.server;
        eventually("it came twice", || async { (server.pending() == 0).then_some(()) }).await;
    }
}

/// Connects a bot, as an operator does.
pub(crate) async fn connect(stack: &Stack, server: &TelegramServer) -> BotAccount {
    let bot = server.bot("cloister_bot");
    let token = stack.data().join("telegram.token");
    std::fs::write(&token, &bot.token).unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let (url, token) = (server.url(), token.to_str().unwrap().to_owned());
    let add = ["telegram", "add", "--token-file", &token, "--api-url", &url];
    stack.cli_ok(&add).await.unwrap();
    bot
}

/// A user with an account there.
pub(crate) async fn sit_down(
    stack: &Stack,
    (server, bot): (&TelegramServer, &BotAccount),
    user: &str,
) -> InAChat {
    let person = server.person(user);
    let link = ["user", "link", user, "--surface", "telegram", "--id", &person.name()];
    stack.cli_ok(&link).await.unwrap();
    let place = person.with(bot);
    InAChat { person, place }
}

impl InAChat {
    /// Whether something there can be pressed.
    pub(crate) fn sees_buttons(&self) -> bool {
        self.person.heard(&self.place).iter().any(|seen| !seen.buttons.is_empty())
    }
}

impl Seat for InAChat {
    async fn say(&mut self, text: &str) {
        self.person.say(&self.place, text);
    }

    async fn send_file(&mut self, name: &str, bytes: &[u8]) {
        let file = Sent::file(FileKind::Document, name, "text/plain", bytes);
        self.person.send(&self.place, file);
    }

    async fn heard(&mut self) -> Vec<String> {
        self.person.heard_texts(&self.place)
    }

    async fn file(&mut self, name: &str) -> Option<Vec<u8>> {
        let files = self.person.heard(&self.place).into_iter().filter_map(|seen| seen.file);
        files.into_iter().find(|file| file.name == name).map(|file| file.bytes.to_vec())
    }

    async fn allow(&mut self) {
        let asks = |seen: &cloister_testkit::telegram::Seen| !seen.buttons.is_empty();
        let question = self.person.wait_for(&self.place, "a question with buttons", asks).await;
        let label = question.buttons.first().unwrap().label.clone();
        self.person.press(&self.place, &question, &label).answered().await;
    }
}
