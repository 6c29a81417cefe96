//! Discord: direct messages with a bot.

use cloister_testkit::discord::{BotAccount, Discord as Server, Letter, Person, Seen};
use cloister_testkit::{ModelServerBuilder, Product, Stack, world_of_product};

use crate::seat::{Ground, Seat, eventually};

pub(crate) struct Discord {
    product: Product,
    server: Server,
    bot: BotAccount,
}

world_of_product!(Discord);

pub(crate) struct InAChannel {
    person: Person,
    channel: u64,
}

impl Ground for Discord {
    type Seat = InAChannel;
    type Stranger = InAChannel;

    async fn start(config: &str, model: ModelServerBuilder) -> Self {
        let server = Server::start().await.unwrap();
        let product =
            Product::start(Stack::builder().asks_before_deleting().config(config), model).await;
        let bot = connect(&product, &server).await;
        Self { product, server, bot }
    }

    async fn person(&mut self, user: &str) -> InAChannel {
        self.cli_ok(&["user", "add", user]).await;
        sit_down(&self.product, (&self.server, &self.bot), user).await
    }

    async fn stranger(&mut self) -> InAChannel {
        let person = self.server.person("eve");
        let channel = person.dm(&self.bot);
        InAChannel { person, channel }
    }

    async fn say_twice(&mut self, seat: &mut InAChannel, text: &str) {
        seat.say(text).await;
        seat.sees(text).await;
        let before = self.server.resumes();
        self.server.replay_again(1);
        self.server.disconnect();
        let server = &self.server;
        eventually("it came twice", || async { (server.resumes() > before).then_some(()) }).await;
    }
}

/// Connects a bot, as an operator does.
pub(crate) async fn connect(product: &Product, server: &Server) -> BotAccount {
    let bot = server.bot("cloister");
    let token = product.token_file("discord", &bot.token);
    let (api, gateway) = (server.url(), server.gateway_url());
    let add = ["discord", "add", "--token-file", token.to_str().unwrap(), "--api-url", &api];
    product.cli_ok(&[&add[..], &["--gateway-url", &gateway]].concat()).await;
    eventually("a session", || async { (!server.sessions().is_empty()).then_some(()) }).await;
    bot
}

/// A user with an account there.
pub(crate) async fn sit_down(
    product: &Product,
    (server, bot): (&Server, &BotAccount),
    user: &str,
) -> InAChannel {
    let person = server.person(user);
    product.link_account(user, "discord", &person.id().to_string()).await;
    let channel = person.dm(bot);
    InAChannel { person, channel }
}

impl Seat for InAChannel {
    async fn say(&mut self, text: &str) {
        self.person.say(self.channel, text);
    }

    async fn send_file(&mut self, name: &str, bytes: &[u8]) {
        let letter = Letter::default().file(name, "text/plain", bytes);
        self.person.send(self.channel, letter);
    }

    async fn heard(&mut self) -> Vec<String> {
        self.person.heard(self.channel).iter().map(Seen::text).collect()
    }

    async fn file(&mut self, name: &str) -> Option<Vec<u8>> {
        let files = self.person.heard(self.channel).into_iter().flat_map(|seen| seen.files);
        files.into_iter().find(|file| file.name == name).map(|file| file.bytes)
    }

    async fn allow(&mut self) {
        let asks = |seen: &Seen| !seen.buttons.is_empty();
        let question = self.person.wait_for(self.channel, "a question with buttons", asks).await;
        let label = question.buttons.first().unwrap().label.clone();
        let pressed = self.person.press(&question, &label);
        self.person.answer(pressed).await;
    }
}
