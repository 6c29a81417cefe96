//! Matrix, encrypted, with a client that sees what the homeserver tells it.

use cloister_testkit::synapse::{Account, Fault, FaultProxy, Synapse};
use cloister_testkit::{ModelServerBuilder, Product, Stack, world_of_product};
use matrix_sdk::Room;

use crate::person::Person;
use crate::seat::{Ground, Seat, eventually};

pub(crate) struct Matrix {
    product: Product,
    synapse: Synapse,
    proxy: FaultProxy,
    bot: Account,
}

world_of_product!(Matrix);

pub(crate) struct InARoom {
    person: Person,
    room: Room,
}

impl Ground for Matrix {
    type Seat = InARoom;
    type Stranger = InARoom;
    const SIGN: char = '!';

    async fn start(config: &str, model: ModelServerBuilder) -> Self {
        let synapse = Synapse::shared().await.unwrap_or_else(|error| panic!("{error}"));
        let proxy = FaultProxy::before(&synapse).await.unwrap();
        let product =
            Product::start(Stack::builder().asks_before_deleting().config(config), model).await;
        let bot = connect(&product, &synapse, &proxy.url()).await;
        Self { product, synapse, proxy, bot }
    }

    async fn person(&mut self, user: &str) -> InARoom {
        self.cli_ok(&["user", "add", user]).await;
        sit_down(&self.product, (&self.synapse, &self.bot), user).await
    }

    async fn stranger(&mut self) -> InARoom {
        let person = Person::register(&self.synapse, "eve").await;
        let room = person.invite(&self.bot.user_id).await;
        InARoom { person, room }
    }

    async fn go_to(&mut self, seat: &mut InARoom, _user: &str, chat: &str) {
        seat.room = seat.person.room_of(chat).await;
    }

    async fn say_twice(&mut self, seat: &mut InARoom, text: &str) {
        // What was told before is told once more with what comes next.
        seat.say(text).await;
        seat.sees(text).await;
        self.proxy.lay_times("/sync", Fault::RepeatEvents, 2);
        seat.say("go on").await;
        let proxy = &self.proxy;
        eventually("it came twice", || async { (proxy.pending() == 0).then_some(()) }).await;
    }
}

/// Connects a bot, as an operator does.
pub(crate) async fn connect(product: &Product, synapse: &Synapse, url: &str) -> Account {
    let bot = synapse.register("bot").await.unwrap();
    let password = product.token_file("bot", &bot.password);
    let add = ["matrix", "add", "--homeserver", url, "--user", &bot.user_id];
    let password = ["--password-file", password.to_str().unwrap()];
    product.cli_ok(&[&add[..], &password].concat()).await;
    bot
}

/// A user with an account there, in the room of their first chat.
pub(crate) async fn sit_down(
    product: &Product,
    (synapse, bot): (&Synapse, &Account),
    user: &str,
) -> InARoom {
    let person = Person::register(synapse, user).await;
    product.link_account(user, "matrix", person.id()).await;
    person.invite(&bot.user_id).await;
    let room = person.room_of("C1").await;
    InARoom { person, room }
}

impl Seat for InARoom {
    async fn say(&mut self, text: &str) {
        self.person.say(&self.room, text).await;
    }

    async fn send_file(&mut self, name: &str, bytes: &[u8]) {
        self.person.send_file(&self.room, name, "text/plain", bytes).await;
    }

    async fn heard(&mut self) -> Vec<String> {
        self.person.heard(&self.room).into_iter().map(|post| post.text).collect()
    }

    async fn file(&mut self, name: &str) -> Option<Vec<u8>> {
        let posts = self.person.heard(&self.room);
        let post =
            posts.iter().find(|post| post.text == name && post.content["msgtype"] == "m.file")?;
        Some(self.person.fetch(post).await)
    }

    async fn allow(&mut self) {
        let question = self.person.wait_for_words(&self.room, "A1").await;
        self.person.react(&self.room, &question.event_id, "👍").await;
    }
}
