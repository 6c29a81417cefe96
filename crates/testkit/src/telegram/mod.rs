//! A Telegram for tests: the Bot API on one side, people with clients on the other.
//!
//! It speaks the wire format and checks what it is sent as Telegram does: tokens, limits, entities, keyboards,
//! topics, rates, who may write to whom. What Telegram would let pass without a word although it can't be
//! meant is kept as a complaint; at the end of a test there must be none. People see what their clients would
//! show them and nothing else. Faults are laid on methods, for a number of requests or until they are lifted.

mod bots;
mod faults;
mod groups;
mod html;
mod independent;
mod markup;
mod methods;
mod multipart;
mod pacing;
mod params;
mod passing;
mod person;
mod refusal;
mod serve;
mod state;
mod text;
mod webhook;

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use bots::BotSettings;
pub use faults::Fault;
pub use groups::Group;
pub use independent::{IndependentError, IndependentTelegram};
pub use pacing::{Pacing, Rate};
pub use person::{Button, FileKind, Person, Place, Press, Seen, SeenFile, Sent};
pub use state::{Call, ChatKey};

use crate::stack::Address;
use bots::Bot;
use state::{Human, State};

/// The length of the secret part of a token.
const SECRET_LENGTH: usize = 35;

struct Tasks {
    /// Bots whose webhooks are posted to.
    hooked: BTreeSet<i64>,
    posting: JoinSet<()>,
}

struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<()>,
    tasks: Mutex<Tasks>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes something that others may be waiting for.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let done = change(&mut self.state());
        self.changed.send_replace(());
        done
    }

    /// Changes something that nobody waits for.
    fn change_quietly<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state())
    }
}

/// A bot account, as BotFather hands it out.
#[derive(Clone, Debug)]
pub struct BotAccount {
    pub id: i64,
    pub token: String,
    pub username: String,
}

/// A running server; dropping it stops it.
pub struct TelegramServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: JoinSet<()>,
}

impl TelegramServer {
    /// With the limits that Telegram has.
    pub async fn start() -> io::Result<Self> {
        Self::paced(Pacing::real()).await
    }

    pub async fn paced(pacing: Pacing) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        // Tokens differ between servers.
        let seed = u64::from(address.port()) ^ u64::from(std::process::id()) << 20;
        let shared = Arc::new(Shared {
            state: Mutex::new(State::new(seed, pacing)),
            changed: watch::channel(()).0,
            tasks: Mutex::new(Tasks { hooked: BTreeSet::new(), posting: JoinSet::new() }),
        });
        let mut serving = JoinSet::new();
        serving.spawn(serve::serve(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, serving })
    }

    /// What `telegram add --api-url` takes.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A new bot without topics that reads everything in its groups.
    pub fn bot(&self, username: &str) -> BotAccount {
        self.bot_with(username, BotSettings::default())
    }

    /// A new bot with topics in private chats.
    pub fn bot_with_topics(&self, username: &str) -> BotAccount {
        self.bot_with(username, BotSettings { topics: true, ..BotSettings::default() })
    }

    pub fn bot_with(&self, username: &str, settings: BotSettings) -> BotAccount {
        self.shared.change(|state| {
            let id = 7_000_000_000 + i64::try_from(state.bots.len()).unwrap_or(0);
            let token = format!("{id}:{}", state.word(SECRET_LENGTH));
            let first = i64::try_from(state.random.below(1 << 29)).unwrap_or(0);
            let bot = Bot {
                id,
                token: token.clone(),
                username: username.to_owned(),
                settings,
                next_update: first + 1_000,
                next_message: 0,
                updates: std::collections::VecDeque::new(),
                confirmed: std::collections::VecDeque::new(),
                allowed: None,
                polls: 0,
                polling: false,
                webhook: None,
                commands: std::collections::BTreeMap::new(),
                descriptions: std::collections::BTreeMap::new(),
                logged_out: false,
            };
            state.bots.insert(id, bot);
            BotAccount { id, token, username: username.to_owned() }
        })
    }

    /// Switches topics in private chats on or off, as BotFather does. Off: the topics that are there can't be
    /// written to any more.
    pub fn switch_topics(&self, bot: &BotAccount, on: bool) {
        self.shared.change(|state| {
            if let Some(bot) = state.bots.get_mut(&bot.id) {
                bot.settings.topics = on;
            }
            for (key, chat) in &mut state.chats {
                if matches!(key, ChatKey::Private { bot: of, .. } if *of == bot.id) {
                    chat.forum = on;
                }
            }
        });
    }

    /// Revokes a token, as BotFather does; the new one.
    pub fn revoke(&self, bot: &BotAccount) -> BotAccount {
        self.shared.change(|state| {
            let token = format!("{}:{}", bot.id, state.word(SECRET_LENGTH));
            if let Some(bot) = state.bots.get_mut(&bot.id) {
                token.clone_into(&mut bot.token);
                // Whoever waits for updates with the old one is told.
                bot.polls += 1;
            }
            BotAccount { token, ..bot.clone() }
        })
    }

    /// Somebody with an account and a client.
    pub fn person(&self, name: &str) -> Person {
        let id = self.shared.change(|state| {
            let id = state.next_person();
            let username = format!("{}_{}", name.to_lowercase(), id % 1_000);
            let (name, language) = (name.to_owned(), "en".to_owned());
            state.people.insert(id, Human { id, name, username, language });
            id
        });
        Person::new(Arc::clone(&self.shared), id)
    }

    /// Lays a fault on a method (`file`: fetching one; `webhook`: a post to a bot; empty: every method) until it
    /// is lifted.
    pub fn lay(&self, on: &str, fault: Fault) {
        self.push(on, fault, None);
    }

    /// Lays a fault on the next so many requests.
    pub fn lay_times(&self, on: &str, fault: Fault, times: usize) {
        self.push(on, fault, Some(times));
    }

    fn push(&self, on: &str, fault: Fault, times: Option<usize>) {
        let on = on.to_owned();
        self.shared.change(|state| state.laid.push(faults::Laid { on, fault, times }));
    }

    /// Lifts every fault.
    pub fn heal(&self) {
        self.shared.change(|state| state.laid.clear());
    }

    /// How many times faults that were laid for a number of requests are still to happen.
    pub fn pending(&self) -> usize {
        self.shared.state().laid.iter().filter_map(|laid| laid.times).sum()
    }

    /// Nobody can reach it any more; who is connected is cut off.
    pub async fn go_down(&mut self) {
        self.serving.shutdown().await;
    }

    /// It listens again, where it did before.
    pub async fn come_back(&mut self) -> io::Result<()> {
        let listener = TcpListener::bind(self.address).await?;
        self.serving.spawn(serve::serve(listener, Arc::clone(&self.shared)));
        Ok(())
    }

    /// Other limits from now on.
    pub fn pace(&self, pacing: Pacing) {
        self.shared.change(|state| state.paces = pacing::Paces::new(pacing));
    }

    /// Who stands behind a public address, as an operator's reverse proxy does.
    pub fn site(&self, url: &str, behind: &Address) {
        let site = (url.trim_end_matches('/').to_owned(), behind.clone());
        self.shared.change(|state| state.sites.push(site));
    }

    /// The requests of a method, in the order they were answered.
    pub fn calls(&self, method: &str) -> Vec<Call> {
        let state = self.shared.state();
        state.calls.iter().filter(|call| call.method == method).cloned().collect()
    }

    /// How many requests came since a moment, whatever they asked for.
    pub fn count_since(&self, since: Instant) -> usize {
        self.shared.state().calls.iter().filter(|call| call.at >= since).count()
    }

    /// Updates that a bot has not confirmed yet.
    pub fn unconfirmed(&self, bot: &BotAccount) -> usize {
        self.shared.state().bots.get(&bot.id).map_or(0, |bot| bot.updates.len())
    }

    /// Whether somebody waits for updates of a bot.
    pub fn is_polled(&self, bot: &BotAccount) -> bool {
        self.shared.state().bots.get(&bot.id).is_some_and(|bot| bot.polling)
    }

    /// The webhook of a bot and its secret, if it has one.
    pub fn webhook(&self, bot: &BotAccount) -> Option<(String, Option<String>)> {
        let state = self.shared.state();
        let hook = state.bots.get(&bot.id)?.webhook.as_ref()?;
        Some((hook.url.clone(), hook.secret.clone()))
    }

    /// The commands of a bot, by scope and language.
    pub fn commands(&self, bot: &BotAccount, scope: &str, language: &str) -> Vec<(String, String)> {
        let state = self.shared.state();
        let place = (scope.to_owned(), language.to_owned());
        let commands = state.bots.get(&bot.id).and_then(|bot| bot.commands.get(&place));
        let word =
            |command: &Value, field: &str| command[field].as_str().unwrap_or_default().to_owned();
        let list = commands.and_then(Value::as_array).into_iter().flatten();
        list.map(|command| (word(command, "command"), word(command, "description"))).collect()
    }

    /// The scopes and languages that a bot has commands for.
    pub fn command_places(&self, bot: &BotAccount) -> Vec<(String, String)> {
        let state = self.shared.state();
        state.bots.get(&bot.id).map_or_else(Vec::new, |bot| bot.commands.keys().cloned().collect())
    }

    /// How long the press of a button may be answered.
    pub fn presses_last(&self, time: Duration) {
        self.shared.change(|state| state.query_lasts = time);
    }

    /// From now on messages are too old for a bot to be told of them when a button below one is pressed: it is told the
    /// chat and the message's number, and not the topic.
    pub fn messages_are_old(&self) {
        self.shared.change(|state| state.forgetful = true);
    }

    /// From now on what is written was written this long ago: it lay at Telegram since then.
    pub fn written_ago(&self, ago: Duration) {
        self.shared.change(|state| state.ago = ago.as_secs());
    }

    /// An update that nobody's client makes, with this in it; its number.
    pub fn push_update(&self, bot: &BotAccount, kind: &str, content: Value) -> i64 {
        self.shared.change(|state| {
            let Some(bot) = state.bots.get_mut(&bot.id) else { return 0 };
            bot.push(kind, content);
            bot.next_update - 1
        })
    }

    /// What was last wrong with a post to the webhook of a bot.
    pub fn delivery_problem(&self, bot: &BotAccount) -> Option<String> {
        let state = self.shared.state();
        let hook = state.bots.get(&bot.id)?.webhook.as_ref()?;
        hook.last_error.as_ref().map(|(_, problem)| problem.clone())
    }

    /// What was wrong with the requests.
    pub fn complaints(&self) -> Vec<String> {
        self.shared.state().complaints.clone()
    }

    /// For the end of a test: panics with what was wrong with the requests.
    #[track_caller]
    pub fn assert_no_complaints(&self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "bad requests to Telegram:\n{}", complaints.join("\n"));
    }
}

impl Drop for TelegramServer {
    fn drop(&mut self) {
        // Each of them holds what they share.
        self.shared.tasks().posting.abort_all();
    }
}

#[cfg(test)]
#[path = "telegram_tests.rs"]
mod tests;
