//! The product with a scripted model behind it and a bot on a real homeserver.

use cloister_testkit::synapse::{Account, FaultProxy, PlainPerson, Synapse};
use cloister_testkit::{ModelServer, ModelServerBuilder, Product, Stack, world_of_product};
use serde_json::Value;

use crate::person::Person;

pub(crate) use cloister_testkit::product::{PATIENCE, eventually};

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
        let product = Product::start(
            Stack::builder().asks_before_deleting().config(&self.config),
            self.model,
        )
        .await;
        let bot = synapse.register("bot").await.unwrap();
        let world = World { product, synapse, proxy, bot, plain_rooms: self.plain_rooms };
        world.add_bot(&world.bot).await;
        world
    }
}

pub(crate) struct World {
    product: Product,
    pub(crate) synapse: Synapse,
    pub(crate) proxy: Option<FaultProxy>,
    pub(crate) bot: Account,
    plain_rooms: bool,
}

world_of_product!(World);

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
        self.cli_ok(&add).await;
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
        self.link_account(user, "matrix", account).await;
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

    /// How the bot is doing, as `cloister matrix list` says.
    pub(crate) async fn bot_view(&self) -> Value {
        let bot = self.connector("matrix", &self.bot.user_id).await;
        assert!(bot.is_object(), "{} is not in the list", self.bot.user_id);
        bot
    }

    pub(crate) async fn until_state(&self, state: &str) -> Value {
        self.until_connector("matrix", &self.bot.user_id, state).await
    }
}
