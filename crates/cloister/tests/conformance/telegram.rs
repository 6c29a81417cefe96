//! Telegram: a private chat with a bot that has no topics.

use cloister_testkit::telegram::{
    BotAccount, Fault, FileKind, Person, Place, Sent, TelegramServer,
};
use cloister_testkit::{ModelServerBuilder, Product, Stack, world_of_product};

use crate::seat::{Ground, Seat, eventually};

pub(crate) struct Telegram {
    product: Product,
    server: TelegramServer,
    bot: BotAccount,
}

world_of_product!(Telegram);

pub(crate) struct InAChat {
    person: Person,
    place: Place,
}

impl Ground for Telegram {
    type Seat = InAChat;
    type Stranger = InAChat;

    async fn start(config: &str, model: ModelServerBuilder) -> Self {
        let server = TelegramServer::start().await.unwrap();
        let product =
            Product::start(Stack::builder().asks_before_deleting().config(config), model).await;
        let bot = connect(&product, &server).await;
        Self { product, server, bot }
    }

    async fn person(&mut self, user: &str) -> InAChat {
        self.cli_ok(&["user", "add", user]).await;
        sit_down(&self.product, (&self.server, &self.bot), user).await
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
pub(crate) async fn connect(product: &Product, server: &TelegramServer) -> BotAccount {
    let bot = server.bot("cloister_bot");
    let token = product.token_file("telegram", &bot.token);
    let (url, token) = (server.url(), token.to_str().unwrap());
    product.cli_ok(&["telegram", "add", "--token-file", token, "--api-url", &url]).await;
    bot
}

/// A user with an account there.
pub(crate) async fn sit_down(
    product: &Product,
    (server, bot): (&TelegramServer, &BotAccount),
    user: &str,
) -> InAChat {
    let person = server.person(user);
    product.link_account(user, "telegram", &person.name()).await;
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
