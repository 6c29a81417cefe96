//! The product with a scripted model behind it and a bot on a Telegram that checks what it is sent.

use cloister_testkit::telegram::{
    BotAccount, BotSettings, Group, Pacing, Person, Place, Seen, TelegramServer,
};
use cloister_testkit::{ModelServer, ModelServerBuilder, Product, Stack, world_of_product};
use serde_json::Value;

pub(crate) use cloister_testkit::product::{PATIENCE, eventually};

/// What a person's client is posted to from, where updates are posted.
pub(crate) const SITE: &str = "https://agents.example.org";

/// What a world is made of.
pub(crate) struct WorldBuilder {
    config: String,
    model: ModelServerBuilder,
    bot: BotSettings,
    pacing: Pacing,
    webhook: bool,
    log_filter: &'static str,
}

impl WorldBuilder {
    /// More of `cloister.toml`, and of its section `[telegram]` before it.
    pub(crate) fn config(mut self, telegram: &str, more: &str) -> Self {
        self.config =
            format!("[telegram]\nretry_most_s = 1\nalbum_wait_ms = 300\n{telegram}\n{more}\n");
        self
    }

    pub(crate) fn model(mut self, model: ModelServerBuilder) -> Self {
        self.model = model;
        self
    }

    /// The bot has topics in private chats.
    pub(crate) fn topics(mut self) -> Self {
        self.bot.topics = true;
        self
    }

    pub(crate) fn bot(mut self, settings: BotSettings) -> Self {
        self.bot = settings;
        self
    }

    pub(crate) fn pacing(mut self, pacing: Pacing) -> Self {
        self.pacing = pacing;
        self
    }

    /// Updates are posted to us.
    pub(crate) fn webhook(mut self) -> Self {
        self.webhook = true;
        self
    }

    pub(crate) fn log(mut self, filter: &'static str) -> Self {
        self.log_filter = filter;
        self
    }

    /// The product without a bot, and a bot that waits to be connected.
    pub(crate) async fn bare(self) -> World {
        let telegram = TelegramServer::paced(self.pacing).await.unwrap();
        let stack = Stack::builder()
            .asks_before_deleting()
            .config(&self.config)
            .log_filter(self.log_filter);
        let product = Product::start(stack, self.model).await;
        let bot = telegram.bot_with("cloister_bot", self.bot);
        telegram.site(SITE, product.stack.address());
        World { product, telegram, bot }
    }

    pub(crate) async fn start(self) -> World {
        let webhook = self.webhook;
        let world = self.bare().await;
        let more: &[&str] = if webhook { &["--webhook", SITE] } else { &[] };
        world.add_bot(&world.bot, more).await;
        world
    }
}

pub(crate) struct World {
    product: Product,
    pub(crate) telegram: TelegramServer,
    pub(crate) bot: BotAccount,
}

world_of_product!(World);

impl World {
    /// With a model that echoes and acts on `run: COMMAND`, and a bot without topics.
    pub(crate) async fn start() -> Self {
        Self::builder().start().await
    }

    pub(crate) async fn with_topics() -> Self {
        Self::builder().topics().start().await
    }

    pub(crate) fn builder() -> WorldBuilder {
        let builder = WorldBuilder {
            config: String::new(),
            model: ModelServer::builder(),
            bot: BotSettings::default(),
            pacing: Pacing::real(),
            webhook: false,
            log_filter: "info",
        };
        builder.config("", "")
    }

    /// Connects a bot as an operator does.
    pub(crate) async fn add_bot(&self, bot: &BotAccount, more: &[&str]) {
        let file = self.token_file(&bot.username, &bot.token);
        let (file, url) = (file.to_str().unwrap(), self.telegram.url());
        let add = ["telegram", "add", "--token-file", file, "--api-url", &url];
        self.cli_ok(&[&add[..], more].concat()).await;
    }

    /// A person with a user here and an account there, linked; they have not written to the bot.
    pub(crate) async fn person(&self, user: &str) -> Person {
        let person = self.telegram.person(user);
        self.link(user, &person).await;
        person
    }

    /// Makes a user, if there is none of this name, whose account on Telegram this is.
    pub(crate) async fn link(&self, user: &str, person: &Person) {
        self.link_account(user, "telegram", &person.name()).await;
    }

    /// A person who is known here and has not written yet, and the chat with the bot. A greeting would be one of
    /// the few messages that a bot may send at once.
    pub(crate) async fn met(&self, user: &str) -> (Person, Place) {
        let person = self.person(user).await;
        let place = person.with(&self.bot);
        (person, place)
    }

    /// The same with a bot that has topics: the person pressed Start, and their first chat has one.
    pub(crate) async fn met_in_topic(&self, user: &str) -> (Person, Place) {
        let person = self.person(user).await;
        person.start(&person.with(&self.bot));
        let place = person.topic(&self.bot, "C1").await;
        (person, place)
    }

    /// A community with these people in this role, and a group that is its context `general`.
    pub(crate) async fn club(&self, group: &Group, members: &[(&str, &str)]) {
        self.community("club", members).await;
        let id = group.id().to_string();
        let conversation = format!("--conversation={id}");
        let add = ["context", "add", "general", "--in", "club", "--surface", "telegram"];
        self.stack.cli_ok(&[&add[..], &[conversation.as_str()]].concat()).await.unwrap();
    }

    /// How the bot is doing, as `cloister telegram list` says.
    pub(crate) async fn bot_view(&self) -> Value {
        self.connector("telegram", "").await
    }

    pub(crate) async fn until_state(&self, state: &str) -> Value {
        self.until_connector("telegram", "", state).await
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.telegram.assert_no_complaints();
            self.model.assert_no_violations();
        }
    }
}

/// Whether a message asks something that can be allowed with a touch.
pub(crate) fn asks(seen: &Seen) -> bool {
    seen.buttons.iter().any(|button| button.label.contains("👍"))
}

/// How many messages of others have these words.
pub(crate) fn count(person: &Person, place: &Place, words: &str) -> usize {
    person.heard_texts(place).iter().filter(|text| text.contains(words)).count()
}

/// The echoes a person heard, in order.
pub(crate) fn echoes(person: &Person, place: &Place) -> Vec<String> {
    let heard = person.heard_texts(place).into_iter();
    heard.filter(|text| text.starts_with("echo: ")).collect()
}
