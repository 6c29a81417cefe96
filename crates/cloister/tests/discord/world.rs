//! The product with a scripted model behind it and a bot on a fake Discord.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use cloister_testkit::discord::{BotAccount, Discord, Person, Seen};
use cloister_testkit::{Matcher, ModelServer, ModelServerBuilder, Reply, Stack};
use serde_json::Value;
use tokio::time::{Instant, sleep};

pub(crate) const PATIENCE: Duration = Duration::from_secs(40);
const LOOK_EVERY: Duration = Duration::from_millis(20);
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
        let model = self.model.start().await.unwrap();
        let stack = Stack::builder().config(&self.config).start().await.unwrap();
        stack.use_model(&model).await.unwrap();
        let bot = discord.bot("helper");
        World { stack, model, discord, bot }
    }

    pub(crate) async fn start(self) -> World {
        let world = self.bare().await;
        world.add_bot(&world.bot).await;
        world.until_state("connected").await;
        world
    }
}

pub(crate) struct World {
    pub(crate) stack: Stack,
    pub(crate) model: ModelServer,
    pub(crate) discord: Discord,
    pub(crate) bot: BotAccount,
}

impl World {
    /// With a model that echoes and acts on `run: COMMAND`.
    pub(crate) async fn start() -> Self {
        Self::builder().start().await
    }

    pub(crate) fn builder() -> WorldBuilder {
        WorldBuilder { config: String::new(), model: ModelServer::builder() }
    }

    /// A file that holds a token, as an operator would make it.
    pub(crate) fn token_file(&self, name: &str, token: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.stack.data().with_file_name(format!("{name}.token"));
        std::fs::write(&path, format!("{token}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        path
    }

    /// Connects a bot as an operator does.
    pub(crate) async fn add_bot(&self, bot: &BotAccount) {
        let file = self.token_file(&bot.name, &bot.token);
        let (api, gateway) = (self.discord.url(), self.discord.gateway_url());
        let file = file.to_str().unwrap();
        let add = ["discord", "add", "--token-file", file, "--api-url", &api];
        self.stack
            .cli_ok(&[&add[..], &["--gateway-url", &gateway]].concat())
            .await
            .unwrap_or_else(|error| panic!("{error}\n{}", self.stack.log()));
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
        // It may be there already.
        self.stack.cli(&["user", "add", user]).await.unwrap();
        let id = person.id().to_string();
        let link = ["user", "link", user, "--surface", "discord", "--id", &id];
        self.stack.cli_ok(&link).await.unwrap();
    }

    /// A community with a guild, whose channel `general` is connected; each of these users has the role in it.
    pub(crate) async fn club(&self, role: &str, users: &[&str]) -> Club {
        let made = self.json(&["workspace", "add", "club"]).await;
        let scope = format!("workspace:{}", made["id"].as_str().unwrap());
        let mut people = Vec::new();
        for user in users {
            people.push(self.person(user).await);
            self.stack.cli_ok(&["role", "give", user, role, "--scope", &scope]).await.unwrap();
        }
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

    /// A command of the command line that must succeed, as JSON.
    pub(crate) async fn json(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        serde_json::from_str(&self.stack.cli_ok(&all).await.unwrap()).unwrap()
    }

    /// How the bot is doing, as `cloister discord list` says.
    pub(crate) async fn bot_view(&self) -> Value {
        let listed = self.json(&["discord", "list"]).await;
        let id = self.bot.user_id.to_string();
        let bots = listed.as_array().unwrap().iter();
        let mut found =
            bots.filter(|bot| bot["account"].as_str().unwrap_or_default().contains(&id));
        found.next().cloned().unwrap_or_else(|| panic!("{id} is not in {listed}"))
    }

    pub(crate) async fn until_state(&self, state: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let view = self.bot_view().await;
            if view["state"] == state {
                return view;
            }
            assert!(
                Instant::now() < deadline,
                "it is never {state}: {view:#}\n{}",
                self.stack.log()
            );
            sleep(LOOK_EVERY).await;
        }
    }

    /// How many questions wait for an answer of somebody.
    pub(crate) async fn waiting(&self, user: &str) -> usize {
        self.json(&["task", "approvals", "--user", user]).await.as_array().map_or(0, Vec::len)
    }

    /// What the model was last told by its user, once it has these words in it.
    pub(crate) async fn told_model(&self, words: &str) -> String {
        eventually(&format!("the model is told {words:?}"), || async {
            let requests = self.model.requests();
            requests.iter().rev().map(|r| r.last_user_text()).find(|text| text.contains(words))
        })
        .await
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

/// Looks again and again until there is something to see.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < deadline, "never: {what}");
        sleep(LOOK_EVERY).await;
    }
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
