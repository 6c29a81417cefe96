//! The product with a scripted model behind it and a bot on a fake Discord.

use cloister_testkit::discord::{BotAccount, Discord, Person, Seen};
use cloister_testkit::{
    Matcher, ModelServer, ModelServerBuilder, Product, Reply, Stack, world_of_product,
};
use serde_json::Value;

pub(crate) use cloister_testkit::product::{PATIENCE, eventually};

/// Short waits, so that recovery is seen soon.
pub(crate) const SOON: &str = "[discord]\nretry_most_s = 1\nrequest_timeout_s = 2\n";

/// What a world is made of.
pub(crate) struct WorldBuilder {
    config: String,
    model: ModelServerBuilder,
}

impl WorldBuilder {
    pub(crate) fn config(mut self, config: &str) -> Self {
        config.clone_into(&mut self.config);
        self
    }

    pub(crate) fn model(mut self, model: ModelServerBuilder) -> Self {
        self.model = model;
        self
    }

    /// With a bot that is not connected yet.
    pub(crate) async fn bare(self) -> World {
        let discord = Discord::start().await.unwrap();
        let product = Product::start(
            Stack::builder().asks_before_deleting().config(&self.config),
            self.model,
        )
        .await;
        let bot = discord.bot("helper");
        World { product, discord, bot }
    }

    pub(crate) async fn start(self) -> World {
        let world = self.bare().await;
        world.add_bot(&world.bot).await;
        world.until_state("connected").await;
        world
    }
}

pub(crate) struct World {
    product: Product,
    pub(crate) discord: Discord,
    pub(crate) bot: BotAccount,
}

world_of_product!(World);

impl World {
    /// With a model that echoes and acts on `run: COMMAND`.
    pub(crate) async fn start() -> Self {
        Self::builder().start().await
    }

    pub(crate) fn builder() -> WorldBuilder {
        WorldBuilder { config: String::new(), model: ModelServer::builder() }
    }

    /// Connects a bot as an operator does.
    pub(crate) async fn add_bot(&self, bot: &BotAccount) {
        let file = self.token_file(&bot.name, &bot.token);
        let (api, gateway) = (self.discord.url(), self.discord.gateway_url());
        let file = file.to_str().unwrap();
        let add = ["discord", "add", "--token-file", file, "--api-url", &api];
        self.cli_ok(&[&add[..], &["--gateway-url", &gateway]].concat()).await;
    }

    /// A person with a user here and an account there, linked.
    pub(crate) async fn person(&self, user: &str) -> Person {
        let person = self.discord.person(user);
        self.link(user, &person).await;
        person
    }

    /// The same, with their direct channel with the bot.
    pub(crate) async fn met(&self, user: &str) -> (Person, u64) {
        let person = self.person(user).await;
        let dm = person.dm(&self.bot);
        (person, dm)
    }

    /// Makes a user, if there is none of this name, whose account this is.
    pub(crate) async fn link(&self, user: &str, person: &Person) {
        self.link_account(user, "discord", &person.id().to_string()).await;
    }

    /// A community with a guild, whose channel `general` is connected; each of these users has the role in it.
    pub(crate) async fn club(&self, role: &str, users: &[&str]) -> Club {
        let mut people = Vec::new();
        for user in users {
            people.push(self.person(user).await);
        }
        let members: Vec<(&str, &str)> = users.iter().map(|user| (*user, role)).collect();
        let scope = self.community("club", &members).await;
        let there: Vec<&Person> = people.iter().collect();
        let guild = self.discord.guild("club", &there, &[&self.bot]);
        let general = self.discord.channel(guild, "general");
        self.connect(general, "general").await;
        Club { people, guild, general, scope }
    }

    /// Makes a channel a context of the community.
    pub(crate) async fn connect(&self, channel: u64, name: &str) {
        let id = channel.to_string();
        let add = ["context", "add", name, "--in", "club", "--surface", "discord"];
        self.stack.cli_ok(&[&add[..], &["--conversation", &id]].concat()).await.unwrap();
    }

    /// How the bot is doing, as `cloister discord list` says.
    pub(crate) async fn bot_view(&self) -> Value {
        let bot = self.connector("discord", &self.bot.user_id.to_string()).await;
        assert!(bot.is_object(), "{} is not in the list", self.bot.user_id);
        bot
    }

    pub(crate) async fn until_state(&self, state: &str) -> Value {
        self.until_connector("discord", &self.bot.user_id.to_string(), state).await
    }

    /// What every test ends with: nobody was asked wrongly.
    pub(crate) fn assert_clean(&self) {
        self.discord.assert_no_complaints();
        self.model.assert_no_violations();
        assert!(!self.stack.log().contains(&self.bot.token), "the token is in the log");
    }
}

/// A community on a guild.
pub(crate) struct Club {
    pub(crate) people: Vec<Person>,
    pub(crate) guild: u64,
    pub(crate) general: u64,
    pub(crate) scope: String,
}

/// What others said in a channel.
pub(crate) fn texts(person: &Person, channel: u64) -> Vec<String> {
    person.heard(channel).iter().map(Seen::text).collect()
}

/// The answers of the echoing model in a channel, in order.
pub(crate) fn echoes(person: &Person, channel: u64) -> Vec<String> {
    texts(person, channel).into_iter().filter(|text| text.starts_with("echo: ")).collect()
}

/// A coordinator that says this to whoever says that.
pub(crate) fn says(word: &str, text: &str) -> ModelServerBuilder {
    ModelServer::builder()
        .when(Matcher::last_user_contains(word).and(Matcher::coordinator()), Reply::text(text))
}

/// An executor does these, one after the other.
pub(crate) fn steps(steps: Vec<Reply>) -> ModelServerBuilder {
    ModelServer::builder().rule(move |received| {
        if !received.tool_names().contains(&"bash") {
            return None;
        }
        let taken = received.messages().iter().filter(|m| m["role"] == "assistant").count();
        Some(steps.get(taken).cloned().unwrap_or_else(|| Reply::text("It is done.")))
    })
}
