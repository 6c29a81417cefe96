//! The life of one bot: open its token, ask who it is, then follow what people write to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cloister_kit::waiting::keep_taking;
use cloister_kit::{Attachment, BotPlace, Plane, PlaneError, Standing, kept};
use cloister_protocol::surface::{Connector, Connectors, OpenSecret, SetPosition};
use cloister_protocol::with_causes;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::helpers;
use super::position::Position;
use super::wire::{ALLOWED, Update};
use crate::bot::{Bot, BotSettings};
use crate::incoming;
use crate::session::methods::{DeleteWebhook, GetUpdates};
use crate::session::{Api, Fault, Me};
use cloister_protocol::surface::options::TelegramOptions;

/// How many updates come at once.
const AT_ONCE: u32 = 100;
/// How often it is looked whether Telegram delivers.
const LOOK_AT_HOOK: Duration = Duration::from_secs(60);
/// How old a failed delivery may be to be worth saying, in seconds.
const FAILED_LATELY: i64 = 5 * 60;
/// An answer that comes this quickly was not held back.
const QUICK: Duration = Duration::from_millis(500);
/// The pause after an answer that leads nowhere.
const NOTHING_NEW: Duration = Duration::from_secs(1);

const CONFLICT: &str = "another program reads this bot's updates, or set a webhook for it (409): stop it, or give one \
     of the two a token of its own";
const NOT_TAKEN: &str = "Telegram does not take the bot's token: get a new one from @BotFather and add it again with \
     `cloister telegram add` (topics and chats stay)";
const NO_TOKEN: &str =
    "the bot's token is not among the secrets: add it again with `cloister telegram add`";

/// A bot that is to live.
#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) plane: Plane,
    pub(crate) options: TelegramOptions,
    pub(crate) connector: Connector,
    /// Filled as soon as the bot can be worked with.
    pub(crate) bot: BotPlace<Bot>,
}

/// Why a connection ended.
enum Ended {
    Stopped,
    /// An operator must act.
    ForGood(&'static str),
    /// It is begun anew after this long.
    Lost(Duration),
}

impl Account {
    /// Works until it is stopped or the token is taken no more.
    pub(crate) async fn run(self, stop: CancellationToken, tracker: TaskTracker) {
        let longest = self.options.retry_most();
        let standing = Standing::new(self.plane.clone(), self.connector.clone(), longest);
        standing.starting();
        let Some(bot) = self.open(&standing, &stop).await else { return };
        let mut connection = Connection { bot, standing, stop, tracker, working: None };
        loop {
            match connection.follow().await {
                Ended::Stopped => return,
                Ended::ForGood(problem) => return connection.standing.stopped_by(problem),
                Ended::Lost(pause) => {
                    tokio::select! {
                        () = connection.stop.cancelled() => return,
                        () = tokio::time::sleep(pause) => {}
                    }
                }
            }
        }
    }

    /// The bot, once Telegram has said who it is; none: it can't be, or is to stop.
    async fn open(&self, standing: &Standing, stop: &CancellationToken) -> Option<Arc<Bot>> {
        loop {
            if let Some(bot) = self.bot.get() {
                return Some(Arc::clone(bot));
            }
            let opened = tokio::select! {
                () = stop.cancelled() => return None,
                opened = self.ask_who() => opened,
            };
            let pause = match opened {
                Ok(bot) => return Some(Arc::clone(self.bot.get_or_init(|| Arc::new(*bot)))),
                Err(NotOpened::NoToken) => {
                    standing.stopped_by(NO_TOKEN);
                    return None;
                }
                Err(NotOpened::Fault(Fault::Unauthorized)) => {
                    standing.stopped_by(NOT_TAKEN);
                    return None;
                }
                Err(NotOpened::Fault(Fault::Wait(wait))) => {
                    standing.lost(("rate_limited", "Telegram asks to wait"), Some(wait))
                }
                Err(NotOpened::Fault(fault)) => {
                    standing.lost((fault.kind(), &fault.to_string()), None)
                }
                Err(NotOpened::Plane(error)) => standing.lost(("other", &error.chain()), None),
            };
            tokio::select! {
                () = stop.cancelled() => return None,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn ask_who(&self) -> Result<Box<Bot>, NotOpened> {
        let token = self.plane.call(OpenSecret { connector: self.connector.id }).await?;
        let Some(token) = token else { return Err(NotOpened::NoToken) };
        let (address, token) = (&self.connector.address, token.expose());
        let api = Api::new(address, token, (self.options.request_timeout(), self.plane.way_out()))?;
        let me = api.me().await.map_err(NotOpened::Fault)?;
        let bot = self.bot_of(api, me);
        bot.webhook().will_be_delivered_to().await?;
        Ok(Box::new(bot))
    }

    fn bot_of(&self, api: Api, me: Me) -> Bot {
        let kept = serde_json::from_value::<BotSettings>(self.connector.settings.clone());
        let bot = Bot {
            plane: self.plane.clone(),
            connector: self.connector.clone(),
            settings: kept.unwrap_or_default(),
            options: self.options.clone(),
            api,
            me,
            intake: Default::default(),
            sayings: Default::default(),
            sending: Default::default(),
            topics: Default::default(),
            hook: Default::default(),
        };
        bot.topics().set_enabled(bot.me.has_topics_enabled.unwrap_or(false));
        bot
    }
}

enum NotOpened {
    NoToken,
    Fault(Fault),
    Plane(PlaneError),
}

impl From<PlaneError> for NotOpened {
    fn from(error: PlaneError) -> Self {
        Self::Plane(error)
    }
}

struct Connection {
    bot: Arc<Bot>,
    standing: Standing,
    stop: CancellationToken,
    tracker: TaskTracker,
    /// Lives from the first connection on.
    working: Option<Attachment>,
}

impl Connection {
    async fn follow(&mut self) -> Ended {
        match self.bot.webhook().url() {
            Some(url) => self.be_delivered_to(&url).await,
            None => self.poll().await,
        }
    }

    fn now_ms(&self) -> i64 {
        self.bot.plane.now_ms()
    }

    fn failed(&self, fault: &Fault) -> Ended {
        match fault {
            Fault::Unauthorized => Ended::ForGood(NOT_TAKEN),
            Fault::Wait(wait) => {
                Ended::Lost(self.standing.lost((fault.kind(), &fault.to_string()), Some(*wait)))
            }
            Fault::Conflict => Ended::Lost(self.standing.lost(("other", CONFLICT), None)),
            other => Ended::Lost(self.standing.lost((other.kind(), &other.to_string()), None)),
        }
    }

    /// Lets the outbox flow, and whatever goes on beside the reading.
    fn begin_working(&mut self) {
        self.standing.heard();
        if self.working.is_some() {
            return;
        }
        let (bot, tracker, stop) = (&self.bot, &self.tracker, &self.stop);
        let with = || (Arc::clone(bot), tracker.clone(), stop.clone());
        let (of, _, until) = with();
        let topics = move || helpers::keep_topics(Arc::clone(&of), until.clone());
        tracker.spawn(kept("telegram topics", stop.clone(), topics));
        let (of, _, until) = with();
        let known = move || helpers::keep_known(Arc::clone(&of), until.clone());
        tracker.spawn(kept("telegram commands", stop.clone(), known));
        let (of, on, until) = with();
        let taking = move || keep_taking(Arc::clone(&of), on.clone(), until.clone());
        tracker.spawn(kept("telegram waiting messages", stop.clone(), taking));
        incoming::keep_saying(bot, tracker, stop);
        self.working = Some(bot.plane.attach(Arc::clone(bot) as _));
    }

    /// Asks for updates until something is wrong.
    async fn poll(&mut self) -> Ended {
        let bot = Arc::clone(&self.bot);
        // While one is set, whoever set it, nothing can be asked for.
        let unset = DeleteWebhook { drop_pending_updates: false };
        tokio::select! {
            () = self.stop.cancelled() => return Ended::Stopped,
            unset = bot.api.call::<_, IgnoredAny>(&unset) => if let Err(fault) = unset {
                return self.failed(&fault);
            },
        }
        let mut position = match self.kept_position().await {
            Ok(position) => position,
            Err(ended) => return ended,
        };
        loop {
            let (asked, held) = (Instant::now(), self.working.is_some());
            let updates = match self.ask(position).await {
                Ok(updates) => updates,
                Err(ended) => return ended,
            };
            self.begin_working();
            let before = position;
            for raw in &updates {
                if let Err(ended) = self.take(raw).await {
                    self.keep(position).await;
                    return ended;
                }
                if let Some(number) = Update::number(raw) {
                    position = Some(Position::after(position, number, self.now_ms()));
                }
            }
            if position != before {
                self.keep(position).await;
            } else if held && asked.elapsed() < QUICK {
                // It does not hold polls back, or says the same again and again.
                tokio::select! {
                    () = self.stop.cancelled() => return Ended::Stopped,
                    () = tokio::time::sleep(NOTHING_NEW) => {}
                }
            }
        }
    }

    /// Up to where everything is stored.
    async fn kept_position(&self) -> Result<Option<Position>, Ended> {
        let all = self.bot.plane.call(Connectors {}).await;
        let all = all.map_err(|error| self.trouble(&error))?;
        let own = all.into_iter().find(|connector| connector.id == self.bot.id());
        Ok(own.and_then(|own| own.position).as_deref().and_then(Position::read))
    }

    async fn keep(&self, position: Option<Position>) {
        let Some(position) = position else { return };
        let kept = SetPosition { connector: self.bot.id(), position: position.to_string() };
        if let Err(error) = self.bot.plane.call(kept).await {
            // The next one is further; after a restart this much is read again, and dropped as known.
            tracing::warn!(
                error = with_causes(&error),
                "how far Telegram was read could not be written down"
            );
        }
    }

    fn trouble(&self, error: &PlaneError) -> Ended {
        Ended::Lost(self.standing.lost(("other", &error.chain()), None))
    }

    /// What is new. That it is asked from a position tells Telegram that all before is stored.
    async fn ask(&self, position: Option<Position>) -> Result<Vec<Value>, Ended> {
        let hold = self.bot.options.poll_timeout();
        // Before it has worked once, it is not held back: who waits for the bot to be connected need not.
        let hold = if self.working.is_some() { hold } else { Duration::ZERO };
        let asked = GetUpdates {
            limit: AT_ONCE,
            timeout: hold.as_secs(),
            allowed_updates: &ALLOWED,
            offset: position.and_then(|position| position.offset(self.now_ms())),
        };
        let (api, within) = (&self.bot.api, hold + self.bot.options.request_timeout());
        // Read one by one: one that can't be read must not hide the others.
        tokio::select! {
            () = self.stop.cancelled() => Err(Ended::Stopped),
            updates = api.call_within(within, &asked) => updates.map_err(|fault| self.failed(&fault)),
        }
    }

    /// Stores one update. Trouble of our own ends the reading until it has passed.
    async fn take(&self, raw: &Value) -> Result<(), Ended> {
        tokio::select! {
            () = self.stop.cancelled() => Err(Ended::Stopped),
            taken = Box::pin(self.bot.intake().take_update(raw)) => {
                taken.map_err(|error| self.trouble(&error))
            }
        }
    }

    /// Has updates delivered, and looks now and then whether they are.
    async fn be_delivered_to(&mut self, url: &str) -> Ended {
        let bot = Arc::clone(&self.bot);
        loop {
            let set = tokio::select! {
                () = self.stop.cancelled() => return Ended::Stopped,
                set = bot.webhook().set(url) => set,
            };
            if let Err(fault) = set {
                return self.failed(&fault);
            }
            self.begin_working();
            loop {
                tokio::select! {
                    () = self.stop.cancelled() => return Ended::Stopped,
                    () = tokio::time::sleep(LOOK_AT_HOOK) => {}
                }
                match bot.webhook().info().await {
                    Err(fault) => return self.failed(&fault),
                    // Somebody else set or took it away.
                    Ok(info) if info.url != url => break,
                    Ok(info) => self.look_at_deliveries(
                        info.last_error_date,
                        info.last_error_message.as_deref(),
                        info.pending_update_count,
                    ),
                }
            }
        }
    }

    fn look_at_deliveries(&self, failed_at: Option<i64>, why: Option<&str>, pending: u32) {
        let lately = failed_at.is_some_and(|at| {
            let age = self.now_ms().div_euclid(1000).saturating_sub(at);
            age < FAILED_LATELY
        });
        if lately && pending > 0 {
            let why: String = why.unwrap_or("no reason given").chars().take(200).collect();
            let why = format!(
                "Telegram can't deliver {pending} updates ({why}): is the address of the webhook reachable from \
                 outside, with a valid certificate?"
            );
            self.standing.lost(("unreachable", &why), None);
        } else {
            self.standing.heard();
        }
    }
}
