//! One connection to the gateway: follows it, resumes it, begins it anew, and hands over what it says.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use cloister_kit::{Handover, PlaneError, Standing};
use cloister_protocol::last_cause;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::bot::Bot;
use super::super::rest::{Fault, at};
use super::super::wire::{GatewayInfo, StartLimit, snowflake};
use super::INTENTS;
use super::backfill::{known, spoken_in};
use super::connection::{Connection, FromGateway, op};
use super::events::{Event, Packet};
use super::handover::{Gap, Mark, ShardWork, Work};
use super::position::ShardPosition;
use super::refusals::{Refusal, forgets_the_session};
use super::servers::Servers;
use super::turns::{Turn, Turns};

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
pub(super) const GATEWAY: &str = "wss://gateway.discord.gg";

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

/// How the gateway is reached, and what is said there.
#[derive(Clone)]
pub(super) struct Way {
    /// Its usual place.
    pub(super) url: String,
    pub(super) token: String,
    pub(super) turns: Turns,
}

pub(super) struct Listener {
    pub(super) bot: Arc<Bot>,
    pub(super) number: u32,
    pub(super) total: u32,
    pub(super) handover: Handover<ShardWork>,
    pub(super) standing: Arc<Standing>,
    pub(super) way: Way,
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
        // Connections in a row in which no session began or went on.
        let (mut first, mut in_vain) = (true, 0_u32);
        loop {
            let resumes = !self.at.session.is_empty();
            if !resumes && !first && !self.may_begin().await {
                return Ended::Stopped;
            }
            // Where it does not answer there, it is tried at the usual place, in turn.
            let elsewhere = self.at.resume_url.clone();
            let elsewhere = elsewhere.filter(|_| resumes && in_vain.is_multiple_of(2));
            let url = elsewhere.unwrap_or_else(|| self.way.url.clone());
            let mut lived = false;
            let pause = match self.follow(&url, &mut lived).await {
                Next::On => Duration::ZERO,
                Next::Again(pause) => pause,
                Next::End(ended) => return ended,
            };
            in_vain = if lived { 0 } else { in_vain.wrapping_add(1) };
            first = false;
            tokio::select! {
                () = self.stop.cancelled() => return Ended::Stopped,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Waits until Discord lets the bot begin a session; false: the bot is to stop.
    async fn may_begin(&self) -> bool {
        loop {
            let asked = self.bot.get::<GatewayInfo>(at::gateway());
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

    /// Makes a connection and follows it. `lived`: whether a session began or went on in it.
    async fn follow(&mut self, url: &str, lived: &mut bool) -> Next {
        self.session.active = false;
        let resumes = !self.at.session.is_empty();
        let stop = self.stop.clone();
        // Held until the session begins.
        let mut turn = None;
        if !resumes {
            tokio::select! {
                () = stop.cancelled() => return Next::End(Ended::Stopped),
                own = self.way.turns.of(self.number) => turn = Some(own),
            }
        }
        let seq = resumes.then_some(self.at.seq);
        let opened = tokio::select! {
            () = stop.cancelled() => return Next::End(Ended::Stopped),
            opened = Box::pin(Connection::open(url, self.bot.plane.way_out(), seq)) => opened,
        };
        let mut connection = match opened {
            Ok(connection) => connection,
            Err(error) => return self.unreachable(&error),
        };
        let mut late = Instant::now() + self.begins_within();
        loop {
            if self.session.active {
                *lived = true;
                late = Instant::now() + self.begins_within();
            }
            let said = tokio::select! {
                () = stop.cancelled() => return Next::End(Ended::Stopped),
                said = connection.next() => said,
                () = tokio::time::sleep_until(late), if !self.session.active => {
                    let why = "the gateway did not let a session begin in time";
                    return Next::Again(self.standing.lost(("timeout", why), None));
                }
            };
            let next = match said {
                Ok(FromGateway::Packet(packet)) => match packet.op {
                    op::HELLO => self.greet(&mut connection, turn.take()).await,
                    op::RECONNECT => {
                        connection.leave().await;
                        self.closed(0, "it is to be made anew")
                    }
                    _ => self.heard(packet).await,
                },
                Ok(FromGateway::Closed(code, reason)) => self.closed(code, &reason),
                Err(error) => self.unreachable(&error),
            };
            match next {
                Next::On => {}
                other => return other,
            }
        }
    }

    fn unreachable(&self, error: &dyn std::error::Error) -> Next {
        let why = format!("no connection to the gateway: {}", last_cause(error));
        Next::Again(self.standing.lost(("unreachable", &why), None))
    }

    /// Resumes the session, or begins one.
    async fn greet(&mut self, connection: &mut Connection, turn: Option<Turn>) -> Next {
        let token = &self.way.token;
        let said = if self.at.session.is_empty() {
            let properties = json!({
                "os": std::env::consts::OS,
                "browser": "cloister",
                "device": "cloister",
            });
            let identify = json!({
                "token": token,
                "intents": INTENTS,
                "properties": properties,
                "shard": [self.number, self.total],
            });
            connection.say(op::IDENTIFY, identify).await
        } else {
            let (session, seq) = (&self.at.session, self.at.seq);
            let resume = json!({ "token": token, "session_id": session, "seq": seq });
            connection.say(op::RESUME, resume).await
        };
        if let Some(turn) = turn {
            turn.taken();
        }
        match said {
            Ok(()) => Next::On,
            Err(error) => self.unreachable(&error),
        }
    }

    /// How long a session may take to begin: one connection begins after the other.
    fn begins_within(&self) -> Duration {
        BEGINS_WITHIN + BETWEEN_SHARDS.saturating_mul(self.total)
    }

    /// The connection was closed, by either side.
    fn closed(&mut self, code: u16, reason: &str) -> Next {
        if let Some(refusal) = Refusal::of(code) {
            return Next::End(Ended::Refused(refusal));
        }
        let forgets = forgets_the_session(code) || self.at.session.is_empty();
        if forgets {
            self.at.session.clear();
        }
        let was_active = std::mem::take(&mut self.session.active);
        let reason: String = reason.chars().take(100).collect();
        let why = format!("the gateway closed the connection ({code} {reason})");
        if was_active && !forgets {
            // Usual, several times a day: it is resumed at once.
            tracing::debug!(code, "the gateway closed the connection; it is resumed");
            return Next::Again(Duration::ZERO);
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

    async fn heard(&mut self, packet: Packet) -> Next {
        if packet.op == op::INVALID_SESSION && packet.d != Value::Bool(true) {
            return self.forgotten();
        }
        if packet.op == op::INVALID_SESSION {
            let why = "Discord did not let the session go on";
            return Next::Again(self.standing.lost(("other", why), None));
        }
        if packet.op != op::DISPATCH {
            if self.session.active {
                self.standing.heard();
            }
            return Next::On;
        }
        let begun = packet.begun();
        let event = Event::read(packet.t.as_deref().unwrap_or_default(), packet.d);
        if let Some((session, resume_url)) = begun {
            (self.at.session, self.at.resume_url) = (session, resume_url);
        }
        let Some(seq) = packet.s.filter(|_| !self.at.session.is_empty()) else { return Next::On };
        self.at.seq = seq;
        self.at.seen = self.at.seen.max(event.mark().unwrap_or(0));
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
