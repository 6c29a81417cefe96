//! The life of one bot: open its token, ask how many connections Discord wants, follow each, and say what an
//! operator must do where Discord refuses.

use std::sync::Arc;
use std::time::Duration;

use cloister_kit::waiting::keep_taking;
use cloister_kit::{Attachment, BotPlace, Handover, Plane, PlaneError, Standing, kept};
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{Connector, Connectors, OpenSecret};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::super::bot::{Bot, BotSettings, Me};
use super::super::rest::{Fault, Rest, at};
use super::super::wire::{GatewayInfo, snowflake};
use super::backfill::ASKED_AT_ONCE;
use super::begins_at;
use super::handover::ShardWork;
use super::helpers::{self, Positions};
use super::position::{Position, ShardPosition};
use super::refusals::{NO_TOKEN, Refusal};
use super::shard::{Ended, GATEWAY, Heard, Listener, Way, none_left};
use super::turns::Turns;
use cloister_protocol::surface::options::DiscordOptions;

/// How soon a bot is tried again that an operator must do something for.
const LOOK_AGAIN: Duration = Duration::from_secs(5 * 60);
/// The most connections that one bot is given.
const MOST_SHARDS: u32 = 256;

#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) plane: Plane,
    pub(crate) options: DiscordOptions,
    pub(crate) connector: Connector,
    /// Filled as soon as the bot can be worked with, reachable or not.
    pub(crate) place: BotPlace<Bot>,
}

/// A bot that lives: until its token is cancelled, with what it started on the tracker.
struct Life {
    account: Account,
    stop: CancellationToken,
    tracker: TaskTracker,
}

/// Lives from the first connection on.
struct Working {
    _attachment: Attachment,
}

/// What to do next.
enum Then {
    Stop,
    /// Nothing, before an operator has acted.
    GiveUp,
    Again(Duration),
}

impl Account {
    /// Works until it is stopped or can't go on.
    pub(crate) async fn run(self, stop: CancellationToken, tracker: TaskTracker) {
        Life { account: self, stop, tracker }.live().await;
    }
}

impl Life {
    async fn live(&self) {
        let (connector, longest) =
            (self.account.connector.clone(), self.account.options.retry_most());
        let standing = Standing::new(self.account.plane.clone(), connector, longest);
        let standing = Arc::new(standing);
        standing.starting();
        let Some((bot, token)) = self.open(&standing).await else { return };
        let mut working = None;
        loop {
            let pause = match self.follow(&bot, &token, &standing, &mut working).await {
                Then::Stop | Then::GiveUp => return,
                Then::Again(pause) => pause,
            };
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// The bot and its token; none: there is none, or it is to stop.
    async fn open(&self, standing: &Standing) -> Option<(Arc<Bot>, String)> {
        loop {
            match self.restore().await {
                Ok(Some((bot, token))) => {
                    return Some((
                        Arc::clone(self.account.place.get_or_init(|| Arc::new(bot))),
                        token,
                    ));
                }
                Ok(None) => {
                    let why = "the bot's token is not among the secrets: add it again with \
                               `cloister discord add --token-file FILE`";
                    standing.stopped_by(why);
                    return None;
                }
                Err(error) => {
                    let pause = standing.lost(("other", &error.chain()), None);
                    tokio::select! {
                        () = self.stop.cancelled() => return None,
                        () = tokio::time::sleep(pause) => {}
                    }
                }
            }
        }
    }

    async fn restore(&self) -> Result<Option<(Bot, String)>, PlaneError> {
        let connector = self.account.connector.id;
        let opened = self.account.plane.call(OpenSecret { connector }).await?;
        let token = opened.map(|key| key.expose().to_owned());
        let settings = self.account.connector.settings.clone();
        let settings: BotSettings = serde_json::from_value(settings).unwrap_or_default();
        let user = snowflake(&settings.user);
        let application = snowflake(&settings.application);
        let (Some(token), Some(id), Some(application)) = (token, user, application) else {
            return Ok(None);
        };
        let me = Me { id, application, name: settings.name.clone() };
        let rest = Rest::new(&token, settings.api().as_ref(), self.account.plane.way_out())?;
        let bot = Bot {
            plane: self.account.plane.clone(),
            connector: self.account.connector.clone(),
            settings,
            options: self.account.options.clone(),
            rest,
            me,
            intake: Default::default(),
            places: Default::default(),
            sayings: Default::default(),
            sending: Default::default(),
            answers: Default::default(),
            threads: Default::default(),
        };
        Ok(Some((bot, token)))
    }

    /// Asks how to connect, and follows every connection until one of them ends.
    async fn follow(
        &self,
        bot: &Arc<Bot>,
        token: &str,
        standing: &Arc<Standing>,
        working: &mut Option<Working>,
    ) -> Then {
        let info = tokio::select! {
            () = self.stop.cancelled() => return Then::Stop,
            info = bot.get::<GatewayInfo>(at::gateway()) => info,
        };
        let info = match info {
            Ok(info) => info,
            Err(Fault::Unauthorized) => {
                standing.stopped_by(NO_TOKEN);
                return Then::GiveUp;
            }
            Err(fault) => {
                let wait = if let Fault::Wait(wait) = fault { Some(wait) } else { None };
                return Then::Again(standing.lost((fault.kind(), &fault.to_string()), wait));
            }
        };
        let position = match self.position(bot).await {
            Ok(position) => position.for_shards(info.shards.clamp(1, MOST_SHARDS)),
            Err(error) => return Then::Again(standing.lost(("other", &error.chain()), None)),
        };
        if working.is_none() {
            *working = Some(self.begin_working(bot));
        }
        let limit = &info.session_start_limit;
        let to_begin = (0..position.shards).filter(|n| position.session_of(*n).is_none()).count();
        if u32::try_from(to_begin).is_ok_and(|begin| begin > limit.remaining) {
            return Then::Again(none_left(standing, limit));
        }
        self.listen(bot, standing, way(bot, token, &info), position).await
    }

    /// Up to where everything is stored.
    async fn position(&self, bot: &Bot) -> Result<Position, PlaneError> {
        let plane = &self.account.plane;
        let all = plane.call(Connectors {}).await?;
        let Some(connector) = all.into_iter().find(|connector| connector.id == bot.id()) else {
            let message = format!("there is no bot {} any more", bot.connector.account);
            return Err(PlaneError::refused(ErrorCode::NotFound, message));
        };
        Ok(Position::read(connector.position.as_deref(), begins_at(plane.now_ms())))
    }

    /// Lets the outbox flow, and what goes on beside the gateway.
    fn begin_working(&self, bot: &Arc<Bot>) -> Working {
        let tracker = &self.tracker;
        let of = || (Arc::clone(bot), self.stop.clone());
        let (work, stop) = of();
        tracker.spawn(kept("discord-commands", self.stop.clone(), move || {
            helpers::keep_commands(Arc::clone(&work), stop.clone())
        }));
        let (work, stop) = of();
        tracker.spawn(kept("discord-threads", self.stop.clone(), move || {
            helpers::keep_threads(Arc::clone(&work), stop.clone())
        }));
        let ((work, stop), taking) = (of(), tracker.clone());
        tracker.spawn(kept("discord-waiting", self.stop.clone(), move || {
            keep_taking(Arc::clone(&work), taking.clone(), stop.clone())
        }));
        let surface = Arc::clone(bot);
        Working { _attachment: self.account.plane.attach(surface) }
    }

    /// Follows every connection; one that ends for good ends them all.
    async fn listen(
        &self,
        bot: &Arc<Bot>,
        standing: &Arc<Standing>,
        way: Way,
        position: Position,
    ) -> Then {
        let stop = self.stop.child_token();
        let _ends_with_this = stop.clone().drop_guard();
        let total = position.shards;
        let positions = Arc::new(Positions::new(Arc::clone(bot), position.clone()));
        let (writes, until) = (Arc::clone(&positions), stop.clone());
        self.tracker.spawn(kept("discord-position", stop.clone(), move || {
            helpers::keep_positions(Arc::clone(&writes), until.clone())
        }));
        let asking = Arc::new(Semaphore::new(ASKED_AT_ONCE));
        let mut shards = JoinSet::new();
        for number in 0..total {
            let seen = position.seen_by(number);
            let at = position.session_of(number).cloned();
            let at = at.unwrap_or_else(|| ShardPosition::fresh(seen));
            let all = (Arc::clone(&positions), Arc::clone(&asking));
            let work = ShardWork::new(Arc::clone(bot), number, all, stop.clone());
            let listener = Listener {
                bot: Arc::clone(bot),
                number,
                total,
                handover: Handover::new(work, self.tracker.clone()),
                standing: Arc::clone(standing),
                way: way.clone(),
                stop: stop.clone(),
                session: Heard::from(&at),
                at,
            };
            shards.spawn(Box::pin(listener.run()));
        }
        let ended = match shards.join_next().await {
            Some(Ok(ended)) => ended,
            Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Some(Err(_)) | None => Ended::Stopped,
        };
        stop.cancel();
        while shards.join_next().await.is_some() {}
        if self.stop.is_cancelled() {
            return Then::Stop;
        }
        match ended {
            Ended::Stopped => Then::Again(standing.lost(("other", "it ended"), None)),
            Ended::Refused(refusal) => refused(standing, refusal),
        }
    }
}

/// How the gateway is reached, and what is said there.
fn way(bot: &Bot, token: &str, info: &GatewayInfo) -> Way {
    let asked = bot.settings.gateway_url.as_deref();
    let url = asked.unwrap_or(&info.url).trim().trim_end_matches('/');
    let known = url.starts_with("ws://") || url.starts_with("wss://");
    Way {
        url: if known { url } else { GATEWAY }.to_owned(),
        token: token.to_owned(),
        turns: Turns::new(u32::from(info.session_start_limit.max_concurrency)),
    }
}

fn refused(standing: &Standing, refusal: Refusal) -> Then {
    match refusal {
        Refusal::Token => {
            standing.stopped_by(&refusal.problem());
            Then::GiveUp
        }
        Refusal::Intents | Refusal::Ours(_) => {
            standing.stopped_by(&refusal.problem());
            Then::Again(LOOK_AGAIN)
        }
        Refusal::Shards => Then::Again(standing.lost(("other", &refusal.problem()), None)),
    }
}
