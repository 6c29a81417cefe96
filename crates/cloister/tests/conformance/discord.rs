//! Discord: direct messages with a bot.

use std::os::unix::fs::PermissionsExt;

use cloister_testkit::discord::{BotAccount, Discord as Server, Letter, Person, Seen};
use cloister_testkit::{ModelServer, ModelServerBuilder, Stack};

use crate::seat::{Ground, Seat, eventually};

pub(crate) struct Discord {
    stack: Stack,
    model: ModelServer,
    server: Server,
    bot: BotAccount,
}

pub(crate) struct InAChannel {
    person: Person,
    channel: u64,
}

impl Ground for Discord {
    type Seat = InAChannel;
    type Stranger = InAChannel;

    async fn start(config: &str, model: ModelServerBuilder) -> Self {
        let server = Server::start().await.unwrap();
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

    async fn person(&mut self, user: &str) -> InAChannel {
        self.stack.cli_ok(&["user", "add", user]).await.unwrap();
        sit_down(&self.stack, (&self.server, &self.bot), user).await
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
pub(crate) async fn connect(stack: &Stack, server: &Server) -> BotAccount {
    let bot = server.bot("cloister");
    let token = stack.data().join("discord.token");
    std::fs::write(&token, &bot.token).unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let token = token.to_str().unwrap().to_owned();
    let (api, gateway) = (server.url(), server.gateway_url());
    let add = ["discord", "add", "--token-file", &token, "--api-url", &api, "--gateway-url"];
    stack.cli_ok(&[&add[..], &[&gateway]].concat()).await.unwrap();
    eventually("a session", || async { (!server.sessions().is_empty()).then_some(()) }).await;
    bot
}

/// A user with an account there.
pub(crate) async fn sit_down(
    stack: &Stack,
    (server, bot): (&Server, &BotAccount),
    user: &str,
) -> InAChannel {
    let person = server.person(user);
    let id = person.id().to_string();
    let link = ["user", "link", user, "--surface", "discord", "--id", &id];
    stack.cli_ok(&link).await.unwrap();
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
