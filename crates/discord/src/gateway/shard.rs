//! One connection to the gateway: follows it, resumes it, begins it anew, and hands over what it says.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use cloister_kit::{Handover, PlaneError, Standing};
use cloister_protocol::{last_cause, with_causes};
use futures_util::StreamExt;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use twilight_gateway::error::ReceiveMessageErrorType;
use twilight_gateway::queue::InMemoryQueue;
use twilight_gateway::{Config, ConfigBuilder, Message, Session, Shard, ShardId, ShardState};
use twilight_http::routing::Route;

use super::super::bot::Bot;
use super::super::rest::Fault;
use super::super::wire::{GatewayInfo, StartLimit, snowflake};
use super::backfill::{known, spoken_in};
use super::events::{Event, Packet};
use super::handover::{Gap, Mark, ShardWork, Work};
use super::position::ShardPosition;
use super::refusals::{Refusal, forgets_the_session};
use super::relay::Relay;
use super::servers::Servers;

/// What may have happened elsewhere shortly before the last message that was heard, as part of a snowflake.
const SHORTLY_BEFORE: u64 = 10_000 << 22;
/// The pause before something is tried again that the control plane did not do.
const AGAIN: Duration = Duration::from_secs(2);
/// How long a session may take to begin, and how much longer for each connection that the bot has.
const BEGINS_WITHIN: Duration = Duration::from_secs(60);
const BETWEEN_SHARDS: Duration = Duration::from_secs(6);
/// How soon a session is begun in the place of one that Discord has forgotten.
const BEGIN_ANEW: Duration = Duration::from_secs(1);
/// Where the gateway is where nobody said.
const GATEWAY: &str = "wss://gateway.discord.gg";
/// An event.
const DISPATCH: u8 = 0;
/// The session is none, or can be resumed all the same.
const INVALID_SESSION: u8 = 9;

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Stopped,
    Refused(Refusal),
}

/// Whether the connection goes on.
enum Next {
    On,
    /// It is made anew after this long.
    Again(Duration),
    End(Ended),
}

pub(super) struct Listener {
    pub(super) bot: Arc<Bot>,
    pub(super) number: u32,
    pub(super) total: u32,
    pub(super) handover: Handover<ShardWork>,
    pub(super) standing: Arc<Standing>,
    pub(super) config: Config<InMemoryQueue>,
    pub(super) stop: CancellationToken,
    /// As far as was heard; what is stored may be less.
    pub(super) at: ShardPosition,
    pub(super) session: Heard,
}

/// What a session has told so far.
#[derive(Default)]
pub(super) struct Heard {
    /// It goes on, or has begun.
    active: bool,
    /// From where on channels are asked; none: nothing was missed.
    since: Option<u64>,
    gap: Gap,
    /// The channels that were asked.
    asked: HashSet<String>,
    servers: Servers,
}

impl Heard {
    /// As an earlier life left it.
    pub(super) fn from(at: &ShardPosition) -> Self {
        Self { since: at.since, ..Self::default() }
    }

    #[cfg(test)]
    pub(super) const fn since(&self) -> Option<u64> {
        self.since
    }
}

impl Listener {
    /// Follows the gateway until it is to stop, or is refused.
    pub(super) async fn run(mut self) -> Ended {
        let at = &self.at;
        let mut session =
            (!at.session.is_empty()).then(|| Session::new(at.seq, at.session.clone()));
        // Connections in a row in which no session began or went on.
        let (mut first, mut in_vain) = (true, 0_u32);
        loop {
            if session.is_none() && !first && !self.may_begin().await {
                return Ended::Stopped;
            }
            let Some(id) = ShardId::new_checked(self.number, self.total) else {
                return Ended::Refused(Refusal::Shards);
            };
            let resumed = session.take();
            // Where it does not answer there, it is tried at the usual place, in turn.
            let elsewhere = self.at.resume_url.clone();
            let elsewhere = elsewhere.filter(|_| resumed.is_some() && in_vain.is_multiple_of(2));
            let (config, relay) = self.way_to(elsewhere).await;
            let config = match resumed {
                Some(session) => config.session(session),
                None => config,
            };
            let mut shard = Shard::with_config(id, config.build());
            let mut lived = false;
            let pause = match self.follow(&mut shard, relay.as_ref(), &mut lived).await {
                Next::On => Duration::ZERO,
                Next::Again(pause) => pause,
                Next::End(ended) => return ended,
            };
            session = shard.session().cloned().filter(|_| !self.at.session.is_empty());
            drop(shard);
            in_vain = if lived { 0 } else { in_vain.wrapping_add(1) };
            first = false;
            tokio::select! {
                () = self.stop.cancelled() => return Ended::Stopped,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// How the gateway is dialled: where a session is resumed, else at its usual place; through a relay where there
    /// is a way out.
    async fn way_to(
        &self,
        elsewhere: Option<String>,
    ) -> (ConfigBuilder<InMemoryQueue>, Option<Relay>) {
        let config = ConfigBuilder::from(self.config.clone());
        let Some(way_out) = self.bot.plane.way_out() else {
            return match elsewhere {
                Some(url) => (config.resume_url(url), None),
                None => (config, None),
            };
        };
        let usual = self.config.proxy_url().unwrap_or(GATEWAY).to_owned();
        let resumed = elsewhere.is_some();
        match Relay::to(&elsewhere.unwrap_or(usual), way_out).await {
            Ok(relay) => {
                let url = relay.url().to_owned();
                let config = config.proxy_url(url.clone());
                (if resumed { config.resume_url(url) } else { config }, Some(relay))
            }
            Err(error) => {
                // Nobody is reached then, which is said and tried again.
                tracing::warn!(
                    error = with_causes(&error),
                    "no relay to the gateway could be made"
                );
                (config, None)
            }
        }
    }

    /// Waits until Discord lets the bot begin a session; false: the bot is to stop.
    async fn may_begin(&self) -> bool {
        loop {
            let asked = self.bot.get::<GatewayInfo>(&Route::GetGatewayBot);
            let asked = tokio::select! {
                () = self.stop.cancelled() => return false,
                asked = asked => asked,
            };
            let pause = match asked {
                Ok(info) if info.session_start_limit.remaining > 0 => return true,
                Ok(info) => none_left(&self.standing, &info.session_start_limit),
                // The connection says what it means.
                Err(Fault::Unauthorized) => return true,
                Err(fault) => self.standing.lost((fault.kind(), &fault.to_string()), None),
            };
            tokio::select! {
                () = self.stop.cancelled() => return false,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// `lived`: whether a session began or went on in it.
    async fn follow(
        &mut self,
        shard: &mut Shard<InMemoryQueue>,
        relay: Option<&Relay>,
        lived: &mut bool,
    ) -> Next {
        self.session.active = false;
        let mut late = Instant::now() + self.begins_within();
        loop {
            if self.session.active {
                *lived = true;
                late = Instant::now() + self.begins_within();
            }
            let said = tokio::select! {
                () = self.stop.cancelled() => return Next::End(Ended::Stopped),
                said = shard.next() => said,
                () = tokio::time::sleep_until(late), if !self.session.active => {
                    let why = "the gateway did not let a session begin in time";
                    return Next::Again(self.standing.lost(("timeout", why), None));
                }
            };
            let next = match said {
                Some(Ok(Message::Text(text))) => {
                    let session = shard.session().map(|session| session.id().to_owned());
                    let resume_url = shard.resume_url().map(|url| {
                        relay.and_then(|relay| relay.own(url)).unwrap_or(url).to_owned()
                    });
                    self.heard((session, resume_url), &text).await
                }
                Some(Ok(Message::Close(frame))) => {
                    let (code, reason) = frame
                        .map_or((0, String::new()), |frame| (frame.code, frame.reason.to_string()));
                    self.closed(shard, code, &reason)
                }
                Some(Err(error)) => match error.kind() {
                    // It says what it could not read, which is nobody's business.
                    ReceiveMessageErrorType::Deserializing { .. } => Next::On,
                    _ => {
                        let why = format!("no connection to the gateway: {}", last_cause(&error));
                        Next::Again(self.standing.lost(("unreachable", &why), None))
                    }
                },
                None => Next::Again(
                    self.standing.lost(("other", "the gateway ended the connection"), None),
                ),
            };
            match next {
                Next::On => {}
                other => return other,
            }
        }
    }

    /// How long a session may take to begin: one connection begins after the other.
    fn begins_within(&self) -> Duration {
        BEGINS_WITHIN + BETWEEN_SHARDS.saturating_mul(self.total)
    }

    /// The connection was closed, by either side.
    fn closed(&mut self, shard: &Shard<InMemoryQueue>, code: u16, reason: &str) -> Next {
        if let Some(refusal) = Refusal::of(code) {
            return Next::End(Ended::Refused(refusal));
        }
        if shard.state() == ShardState::FatallyClosed {
            return Next::End(Ended::Refused(Refusal::Ours(code)));
        }
        // What we closed ourselves has no session any more.
        let forgets = forgets_the_session(code) || shard.session().is_none();
        if forgets {
            self.at.session.clear();
        }
        let was_active = std::mem::take(&mut self.session.active);
        let reason: String = reason.chars().take(100).collect();
        let why = format!("the gateway closed the connection ({code} {reason})");
        if was_active && !forgets {
            // Usual, several times a day: it is resumed at once.
            tracing::debug!(code, "the gateway closed the connection; it is resumed");
            // It would be dialled past the relay.
            let dials_itself = self.bot.plane.way_out().is_none();
            return if dials_itself { Next::On } else { Next::Again(Duration::ZERO) };
        }
        Next::Again(self.standing.lost(("other", why.trim()), None))
    }

    /// Discord does not know the session any more, or did not let one begin.
    fn forgotten(&mut self) -> Next {
        let was_known = !std::mem::take(&mut self.at.session).is_empty();
        self.session.active = false;
        if was_known {
            tracing::info!(
                shard = self.number,
                "Discord has forgotten the session; one is begun anew"
            );
            return Next::Again(BEGIN_ANEW);
        }
        Next::Again(self.standing.lost(("other", "Discord did not let a session begin"), None))
    }

    /// `now`: the session that it is of, and where it is resumed.
    async fn heard(&mut self, now: (Option<String>, Option<String>), text: &str) -> Next {
        let Some(packet) = Packet::read(text) else { return Next::On };
        if packet.op == INVALID_SESSION && packet.d != Value::Bool(true) {
            return self.forgotten();
        }
        if packet.op != DISPATCH {
            if self.session.active {
                self.standing.heard();
            }
            return Next::On;
        }
        let event = Event::read(packet.t.as_deref().unwrap_or_default(), packet.d);
        let ((Some(session), resume_url), Some(seq)) = (now, packet.s) else { return Next::On };
        self.at = ShardPosition {
            session,
            resume_url: resume_url.or(self.at.resume_url.take()),
            seq,
            seen: self.at.seen.max(event.mark().unwrap_or(0)),
            since: self.at.since,
        };
        let Some(work) = self.work_of(event).await else { return Next::End(Ended::Stopped) };
        if self.session.servers.are_there(Instant::now()) {
            // Reached when all that was asked for them is handed over.
            self.at.since = None;
        }
        let mark = Mark { position: self.at.clone(), gap: self.session.gap.clone() };
        self.handover.begin(mark, work).await;
        Next::On
    }

    /// What is to be handed over for an event; none: the bot is to stop.
    async fn work_of(&mut self, event: Event) -> Option<Vec<Work>> {
        match &event {
            Event::Ready(servers) => {
                self.session = Heard {
                    active: true,
                    since: Some(self.at.ask_again(SHORTLY_BEFORE)),
                    servers: Servers::of(servers.iter().cloned().collect()),
                    ..Heard::default()
                };
                self.standing.heard();
                tracing::info!(
                    account = self.bot.connector.account,
                    shard = self.number,
                    "a session with Discord began"
                );
                let known = self.patiently(|bot| Box::pin(known(bot))).await?;
                let since = self.session.since.unwrap_or_default();
                let ours = known.into_iter().filter(|id| self.may_be_ours(id));
                let ours = ours.map(|id| (id, since)).collect();
                return Some(self.ask(ours));
            }
            Event::Resumed => {
                self.session.active = true;
                self.session.servers.resumed();
                self.standing.heard();
            }
            Event::Guild(guild) => {
                self.bot.places().learn_guild(guild);
                if !guild.unavailable {
                    self.session.servers.came(&guild.id);
                }
                let mut work = Vec::new();
                if let Some(since) = self.session.since {
                    let guild = guild.as_ref().clone();
                    let spoken = self
                        .patiently(|bot| Box::pin(spoken_in(bot, guild.clone(), since)))
                        .await?;
                    work = self.ask(spoken);
                }
                work.push(Work::Event(event));
                return Some(work);
            }
            Event::Channel(channel) => self.bot.places().learn_channel(channel, None),
            Event::Threads(list) => {
                for thread in &list.threads {
                    self.bot.places().learn_channel(thread, list.guild_id.as_deref());
                }
            }
            Event::GuildGone(guild) => self.session.servers.came(guild),
            Event::Said(_)
            | Event::Edited(_)
            | Event::Deleted(_)
            | Event::ChannelGone(_)
            | Event::Interaction(_)
            | Event::Nothing => {}
        }
        Some(if self.bot.intake().concerns(&event) { vec![Work::Event(event)] } else { Vec::new() })
    }

    /// Channels that are to be asked, each once in a session.
    fn ask(&mut self, channels: Vec<(String, u64)>) -> Vec<Work> {
        if self.session.since.is_none() {
            return Vec::new();
        }
        let session = &mut self.session;
        let new = channels.into_iter().filter(|(id, _)| session.asked.insert(id.clone()));
        let new: Vec<(String, u64)> = new.collect();
        let gap = &self.session.gap;
        let missed = |(channel, after)| Work::Missed { channel, after, gap: gap.clone() };
        new.into_iter().map(missed).collect()
    }

    /// Whether a channel may be one that this connection tells of: of a server that it serves, or direct.
    fn may_be_ours(&self, channel: &str) -> bool {
        let guild = self.bot.places().known_guild_of(channel).and_then(|guild| snowflake(&guild));
        guild.is_none_or(|guild| {
            (guild >> 22) % u64::from(self.total.max(1)) == u64::from(self.number)
        })
    }

    /// Asks the control plane until it answers; none: the bot is to stop.
    async fn patiently<'a, T>(
        &'a self,
        ask: impl Fn(&'a Bot) -> futures_util::future::BoxFuture<'a, Result<T, PlaneError>>,
    ) -> Option<T> {
        loop {
            match ask(&self.bot).await {
                Ok(found) => return Some(found),
                Err(error) => {
                    tracing::warn!(why = error.chain(), "what was missed can't be asked for yet");
                }
            }
            tokio::select! {
                () = self.stop.cancelled() => return None,
                () = tokio::time::sleep(AGAIN) => {}
            }
        }
    }
}

/// Discord lets the bot begin no more sessions for now; says how long to wait.
pub(super) fn none_left(standing: &Standing, limit: &StartLimit) -> Duration {
    let wait = Duration::from_millis(limit.reset_after.clamp(1000, 24 * 60 * 60 * 1000));
    let why = format!(
        "Discord lets this bot begin no more sessions for {} min: it has begun too many today",
        wait.as_secs() / 60 + 1
    );
    standing.lost(("rate_limited", &why), Some(wait))
}
