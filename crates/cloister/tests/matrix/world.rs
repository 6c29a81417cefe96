//! The product with a scripted model behind it and a bot on a real homeserver.

use std::future::Future;
use std::time::Duration;

use cloister_testkit::synapse::{Account, FaultProxy, PlainPerson, Synapse};
use cloister_testkit::{ModelServer, ModelServerBuilder, Stack};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::person::Person;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a world is made of.
pub(crate) struct WorldBuilder {
    config: String,
    model: ModelServerBuilder,
    plain_rooms: bool,
    behind_proxy: bool,
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

    /// The bot makes rooms without encryption.
    pub(crate) fn plain_rooms(mut self) -> Self {
        self.plain_rooms = true;
        self
    }

    /// Between the product and the homeserver stands a proxy with faults.
    pub(crate) fn behind_proxy(mut self) -> Self {
        self.behind_proxy = true;
        self
    }

    pub(crate) async fn start(self) -> World {
        let synapse = Synapse::shared().await.unwrap_or_else(|error| panic!("{error}"));
        let proxy = if self.behind_proxy {
            Some(FaultProxy::before(&synapse).await.unwrap())
        } else {
            None
        };
        let model = self.model.start().await.unwrap();
        let stack = Stack::builder().config(&self.config).start().await.unwrap();
        stack.use_model(&model).await.unwrap();
        let bot = synapse.register("bot").await.unwrap();
        let world = World { stack, model, synapse, proxy, bot, plain_rooms: self.plain_rooms };
        world.add_bot(&world.bot).await;
        world
    }
}

pub(crate) struct World {
    pub(crate) stack: Stack,
    pub(crate) model: ModelServer,
    pub(crate) synapse: Synapse,
    pub(crate) proxy: Option<FaultProxy>,
    pub(crate) bot: Account,
    plain_rooms: bool,
}

impl World {
    /// With a model that echoes and acts on `run: COMMAND`, and a bot whose rooms are encrypted.
    pub(crate) async fn start() -> Self {
        Self::builder().start().await
    }

    pub(crate) fn builder() -> WorldBuilder {
        WorldBuilder {
            config: String::new(),
            model: ModelServer::builder(),
            plain_rooms: false,
            behind_proxy: false,
        }
    }

    /// The proxy of a world that was built behind one.
    pub(crate) fn proxy(&self) -> &FaultProxy {
        self.proxy.as_ref().unwrap()
    }

    /// Where the product finds the homeserver.
    pub(crate) fn homeserver(&self) -> String {
        self.proxy.as_ref().map_or_else(|| self.synapse.url(), FaultProxy::url)
    }

    /// Connects a bot account as an operator does.
    pub(crate) async fn add_bot(&self, bot: &Account) {
        self.add_bot_at(&self.homeserver(), bot).await;
    }

    pub(crate) async fn add_bot_at(&self, homeserver: &str, bot: &Account) {
        let password = self.stack.data().join(format!("{}.password", bot.localpart()));
        std::fs::write(&password, &bot.password).unwrap();
        let password = password.to_str().unwrap();
        let mut add = vec!["matrix", "add", "--homeserver", homeserver, "--user", &bot.user_id];
        add.extend(["--password-file", password]);
        if self.plain_rooms {
            add.push("--plain-rooms");
        }
        self.stack
            .cli_ok(&add)
            .await
            .unwrap_or_else(|error| panic!("{error}\n{}", self.stack.log()));
    }

    /// A person with a user here and an account there, linked; their client listens.
    pub(crate) async fn person(&self, user: &str) -> Person {
        let person = Person::register(&self.synapse, user).await;
        self.link(user, person.id()).await;
        person
    }

    /// The same with the plainest of clients.
    pub(crate) async fn plain_person(&self, user: &str) -> PlainPerson {
        let person = PlainPerson::register(&self.synapse, user).await.unwrap();
        self.link(user, person.id()).await;
        person
    }

    /// Makes a user, if there is none of this name, whose account on Matrix this is.
    pub(crate) async fn link(&self, user: &str, account: &str) {
        // It may be there already.
        self.stack.cli(&["user", "add", user]).await.unwrap();
        let link = ["user", "link", user, "--surface", "matrix", "--id", account];
        self.stack.cli_ok(&link).await.unwrap();
    }

    /// A person who found the bot: it has made their Space and their first room.
    pub(crate) async fn met(&self, user: &str) -> (Person, matrix_sdk::Room) {
        let person = self.person(user).await;
        if self.plain_rooms {
            person.invite_plainly(&self.bot.user_id).await;
        } else {
            person.invite(&self.bot.user_id).await;
        }
        let room = person.room_of("C1").await;
        (person, room)
    }

    /// A command of the command line that must succeed, as JSON.
    pub(crate) async fn json(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        serde_json::from_str(&self.stack.cli_ok(&all).await.unwrap()).unwrap()
    }

    /// How the bot is doing, as `cloister matrix list` says.
    pub(crate) async fn bot_view(&self) -> Value {
        let listed = self.json(&["matrix", "list"]).await;
        let account = self.bot.user_id.as_str();
        listed.as_array().unwrap().iter().find(|bot| bot["account"] == account).unwrap().clone()
    }

    pub(crate) async fn until_state(&self, state: &str) -> Value {
        eventually(&format!("the bot is {state}"), || async {
            Some(self.bot_view().await).filter(|view| view["state"] == state)
        })
        .await
    }

    /// The value of a metric whose line begins like this.
    pub(crate) async fn metric(&self, line: &str) -> Option<f64> {
        let token = self.stack.operator_token().unwrap();
        let response = self.stack.http("GET", "/metrics", Some(&token), Vec::new()).await.unwrap();
        let text = response.text();
        let found = text.lines().find(|known| known.starts_with(line))?;
        found.rsplit(' ').next()?.parse().ok()
    }
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
