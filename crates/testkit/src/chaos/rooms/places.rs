//! Where people write: the surfaces, each with its server, its bot and its rooms.

use std::path::Path;
use std::str::FromStr as _;
use std::time::Duration;

use cloister_protocol::{AgentFrame, ChatId, MessageId, TurnId};
use tokio::sync::Mutex;

use super::RoomsError;
use crate::discord::{self, Discord};
use crate::stack::{AgentClient, Stack};
use crate::synapse::{Account, PlainPerson, Synapse};
use crate::telegram::{self, TelegramServer};

/// How long a person may wait for a room.
const ROOM_TIME: Duration = Duration::from_secs(90);
/// How long a message may take to be taken.
const TAKEN_TIME: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    Matrix,
    Telegram,
    Discord,
    /// The agent socket, which pages and terminals use.
    Web,
}

impl Where {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Matrix => "matrix",
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Web => "web",
        }
    }

    /// Between two messages of a room, on average: what a platform lets a bot answer is bounded.
    pub(super) const fn pause(self) -> Duration {
        match self {
            Self::Matrix | Self::Web => Duration::from_millis(750),
            Self::Telegram | Self::Discord => Duration::from_millis(2500),
        }
    }
}

pub(super) enum Server {
    Matrix(Synapse),
    Telegram(TelegramServer),
    Discord(Discord),
    Web,
}

pub(super) enum Bot {
    Matrix(Account),
    Telegram(telegram::BotAccount),
    Discord(discord::BotAccount),
    /// It needs none.
    Web,
}

/// One room of one person.
pub(super) enum Room {
    Matrix { person: Box<PlainPerson>, room: String, bot: String, user: String },
    Telegram { person: telegram::Person, place: telegram::Place, user: String },
    Discord { person: discord::Person, channel: u64, user: String },
    Web { desk: Box<Mutex<Desk>>, chat: ChatId, user: String },
}

/// Somebody at the agent socket, and what they have read, in order.
pub(super) struct Desk {
    client: AgentClient,
    said: usize,
    read: Vec<(TurnId, String)>,
}

impl Desk {
    /// Says something; whether it was taken.
    async fn say(&mut self, chat: ChatId, text: &str) -> bool {
        // Said again in the order of their ids.
        let Ok(id) = format!("{chat}-{:06}", self.said).parse::<MessageId>() else { return false };
        self.said += 1;
        self.client.submit(id.clone(), text).await;
        while !self.client.was_accepted(&id) {
            match self.client.frame_or_reconnect(TAKEN_TIME).await {
                Ok(frame) => self.take(frame, &id, text).await,
                Err(_) => return false,
            }
        }
        true
    }

    async fn take(&mut self, frame: AgentFrame, id: &MessageId, text: &str) {
        match frame {
            AgentFrame::End(end) if self.read.iter().all(|(turn, _)| *turn != end.turn) => {
                self.read.push((end.turn, end.text));
            }
            AgentFrame::Error(error) if error.id.as_deref() == Some(id.as_str()) => {
                tokio::time::sleep(LOOK_EVERY).await;
                self.client.submit(id.clone(), text).await;
            }
            _ => {}
        }
    }

    /// Everything that was read; what was wrong with it stands there too.
    async fn shown(&mut self) -> Vec<String> {
        let nothing = MessageId::from_str("nothing");
        while let (Ok(frame), Ok(id)) = (self.client.frame_or_reconnect(LOOK_EVERY).await, &nothing)
        {
            self.take(frame, id, "").await;
        }
        let faults = self.client.faults().iter().map(|fault| format!("echo: u? {fault}"));
        self.read.iter().map(|(_, text)| text.clone()).chain(faults).collect()
    }
}

impl Server {
    pub(super) async fn start(on: Where) -> Result<Self, RoomsError> {
        Ok(match on {
            Where::Matrix => Self::Matrix(Synapse::shared().await?),
            Where::Telegram => {
                Self::Telegram(TelegramServer::start().await.map_err(RoomsError::Server)?)
            }
            Where::Discord => Self::Discord(Discord::start().await.map_err(RoomsError::Server)?),
            Where::Web => Self::Web,
        })
    }

    /// Connects a bot, as an operator does.
    pub(super) async fn connect_bot(&self, stack: &Stack) -> Result<Bot, RoomsError> {
        let file = stack.data().join("bot.credential");
        let path = file.to_string_lossy().into_owned();
        Ok(match self {
            Self::Matrix(synapse) => {
                let bot = synapse.register("bot").await?;
                write_down(&file, &bot.password)?;
                let (url, user) = (synapse.url(), bot.user_id.clone());
                let add = ["matrix", "add", "--plain-rooms", "--homeserver", &url, "--user", &user];
                stack.cli_ok(&[&add[..], &["--password-file", &path]].concat()).await?;
                Bot::Matrix(bot)
            }
            Self::Telegram(server) => {
                let bot = server.bot_with_topics("cloister_bot");
                write_down(&file, &bot.token)?;
                let url = server.url();
                let add = ["telegram", "add", "--token-file", &path, "--api-url", &url];
                stack.cli_ok(&add).await?;
                Bot::Telegram(bot)
            }
            Self::Discord(server) => {
                let bot = server.bot("cloister");
                write_down(&file, &bot.token)?;
                let (api, gateway) = (server.url(), server.gateway_url());
                let add = ["discord", "add", "--token-file", &path, "--api-url", &api];
                stack.cli_ok(&[&add[..], &["--gateway-url", &gateway]].concat()).await?;
                Bot::Discord(bot)
            }
            Self::Web => Bot::Web,
        })
    }

    /// A person who has found the bot, and their rooms.
    pub(super) async fn meet(
        &self,
        stack: &Stack,
        bot: &Bot,
        (user, rooms): (&str, u32),
    ) -> Result<Vec<Room>, RoomsError> {
        stack.cli_ok(&["user", "add", user]).await?;
        match (self, bot) {
            (Self::Matrix(synapse), Bot::Matrix(bot)) => {
                meet_on_matrix(stack, synapse, bot, (user, rooms)).await
            }
            (Self::Telegram(server), Bot::Telegram(bot)) => {
                meet_on_telegram(stack, server, bot, (user, rooms)).await
            }
            (Self::Discord(server), Bot::Discord(bot)) => {
                let person = server.person(user);
                link(stack, user, "discord", &person.id().to_string()).await?;
                let channel = person.dm(bot);
                Ok(vec![Room::Discord { person, channel, user: user.to_owned() }])
            }
            (Self::Web, Bot::Web) => meet_on_the_web(stack, (user, rooms)).await,
            _ => Ok(Vec::new()),
        }
    }

    /// What the server found wrong in what it was asked.
    pub(super) fn complaints(&self) -> Vec<String> {
        match self {
            Self::Matrix(_) | Self::Web => Vec::new(),
            Self::Telegram(server) => server.complaints(),
            Self::Discord(server) => server.complaints(),
        }
    }
}

fn write_down(file: &Path, credential: &str) -> Result<(), RoomsError> {
    use std::os::unix::fs::PermissionsExt;
    let private = std::fs::Permissions::from_mode(0o600);
    let written = std::fs::write(file, credential);
    written.and_then(|()| std::fs::set_permissions(file, private)).map_err(RoomsError::Credential)
}

async fn link(stack: &Stack, user: &str, surface: &str, id: &str) -> Result<(), RoomsError> {
    stack.cli_ok(&["user", "link", user, "--surface", surface, "--id", id]).await?;
    Ok(())
}

async fn meet_on_matrix(
    stack: &Stack,
    synapse: &Synapse,
    bot: &Account,
    (user, rooms): (&str, u32),
) -> Result<Vec<Room>, RoomsError> {
    let mut person = PlainPerson::register(synapse, user).await?;
    link(stack, user, "matrix", person.id()).await?;
    person.invite(&bot.user_id).await?;
    let first = person.until("the room C1", ROOM_TIME, |me| me.room_of("C1")).await?;
    let mut found = vec![first.clone()];
    for number in 2..=rooms {
        person.say(&first, "!new").await?;
        let chat = format!("C{number}");
        let what = format!("the room {chat}");
        found.push(person.until(&what, ROOM_TIME, |me| me.room_of(&chat)).await?);
    }
    let room = |room| Room::Matrix {
        person: Box::new(person.clone()),
        room,
        bot: bot.user_id.clone(),
        user: user.to_owned(),
    };
    Ok(found.into_iter().map(room).collect())
}

async fn meet_on_telegram(
    stack: &Stack,
    server: &TelegramServer,
    bot: &telegram::BotAccount,
    (user, rooms): (&str, u32),
) -> Result<Vec<Room>, RoomsError> {
    let person = server.person(user);
    link(stack, user, "telegram", &person.name()).await?;
    person.start(&person.with(bot));
    let enough = usize::try_from(rooms).unwrap_or(usize::MAX);
    for number in 1..=enough {
        until("a topic for every chat", || person.topics(bot).len() >= number).await?;
        if number < enough {
            person.say(&person.with(bot), "/new");
        }
    }
    let topics = person.topics(bot).into_iter();
    let room = |(place, _)| Room::Telegram { person: person.clone(), place, user: user.to_owned() };
    Ok(topics.map(room).collect())
}

async fn meet_on_the_web(
    stack: &Stack,
    (user, rooms): (&str, u32),
) -> Result<Vec<Room>, RoomsError> {
    let session = stack.session(user).await?;
    let mut first = stack.client(&session, ChatId::from_number(1));
    for _ in 1..rooms {
        first.ask("/new").await.map_err(RoomsError::Chat)?;
    }
    let room = |number| {
        let chat = ChatId::from_number(number);
        let desk = Desk { client: stack.client(&session, chat), said: 0, read: Vec::new() };
        Room::Web { desk: Box::new(Mutex::new(desk)), chat, user: user.to_owned() }
    };
    Ok((1..=rooms).map(room).collect())
}

async fn until(what: &str, mut look: impl FnMut() -> bool) -> Result<(), RoomsError> {
    let began = tokio::time::Instant::now();
    while !look() {
        if began.elapsed() > ROOM_TIME {
            return Err(RoomsError::Late(what.to_owned()));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

impl Room {
    pub(super) fn whose(&self) -> &str {
        match self {
            Self::Matrix { user, .. }
            | Self::Telegram { user, .. }
            | Self::Discord { user, .. }
            | Self::Web { user, .. } => user,
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Matrix { room, user, .. } => format!("{user} {room}"),
            Self::Telegram { place, user, .. } => format!("{user} {}", place.name()),
            Self::Discord { channel, user, .. } => format!("{user} {channel}"),
            Self::Web { chat, user, .. } => format!("{user} {chat}"),
        }
    }

    /// Says something; whether the server took it.
    pub(super) async fn say(&self, text: &str) -> bool {
        match self {
            Self::Matrix { person, room, .. } => person.say(room, text).await.is_ok(),
            Self::Telegram { person, place, .. } => person.say(place, text) != 0,
            Self::Discord { person, channel, .. } => person.say(*channel, text) != 0,
            Self::Web { desk, chat, .. } => desk.lock().await.say(*chat, text).await,
        }
    }

    /// What the bot says there, as the server has it now.
    pub(super) async fn shown(&self) -> Result<Vec<String>, RoomsError> {
        Ok(match self {
            Self::Matrix { person, room, bot, .. } => {
                let posts = person.history(room).await?.into_iter();
                posts.filter(|post| post.sender == *bot).map(|post| post.text).collect()
            }
            Self::Telegram { person, place, .. } => person.heard_texts(place),
            Self::Discord { person, channel, .. } => {
                person.heard(*channel).iter().map(discord::Seen::text).collect()
            }
            Self::Web { desk, .. } => desk.lock().await.shown().await,
        })
    }

    /// What there is twice and should be once: rooms of the same name.
    pub(super) async fn doubles(&mut self) -> Result<Vec<String>, RoomsError> {
        let names: Vec<String> = match self {
            Self::Matrix { person, .. } => {
                person.sync_for(Duration::ZERO).await?;
                person.names().into_iter().map(|(_, name)| name).collect()
            }
            Self::Telegram { person, place, .. } => {
                person.topics_of(&place.whole()).into_iter().map(|(_, name)| name).collect()
            }
            Self::Discord { .. } | Self::Web { .. } => Vec::new(),
        };
        let mut known = std::collections::BTreeSet::new();
        Ok(names.into_iter().filter(|name| !known.insert(name.clone())).collect())
    }
}
