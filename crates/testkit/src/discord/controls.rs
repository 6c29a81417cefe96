//! The switchboard: what a test makes the service do, and what it asks it afterwards.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Discord;
use super::faults::{Fault, Laid};
use super::limits::Rate;
use super::state::{Out, Request};

/// A session of a bot at the gateway.
#[derive(Clone, Debug)]
pub struct SessionView {
    pub bot: u64,
    pub shard: (u32, u32),
    pub intents: u64,
    pub seq: u64,
    pub connected: bool,
}

impl Discord {
    /// What should not have been done.
    pub fn complaints(&self) -> Vec<String> {
        self.shared.state().complaints.clone()
    }

    /// Forgets complaints that a test has provoked.
    pub fn forgive(&self) {
        self.shared.state().complaints.clear();
    }

    #[track_caller]
    pub fn assert_no_complaints(&self) {
        let complaints = self.complaints();
        assert!(complaints.is_empty(), "Discord complains:\n{}", complaints.join("\n"));
    }

    /// Lays a fault on every request whose route begins like this (`POST /channels/:id/messages`; empty: on
    /// all), until it is lifted.
    pub fn lay(&self, on: &str, fault: Fault) {
        self.shared.state().laid.push(Laid { on: on.to_owned(), fault, times: None });
    }

    /// Lays a fault on the next so many requests whose route begins like this.
    pub fn lay_times(&self, on: &str, fault: Fault, times: usize) {
        self.shared.state().laid.push(Laid { on: on.to_owned(), fault, times: Some(times) });
    }

    /// Lifts every fault.
    pub fn heal(&self) {
        self.shared.state().laid.clear();
    }

    /// How many times faults that were laid for a number of requests are still to happen.
    pub fn pending(&self) -> usize {
        self.shared.state().laid.iter().filter_map(|laid| laid.times).sum()
    }

    /// Every request, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.iter().cloned().collect()
    }

    /// Requests since a moment whose route begins like this.
    pub fn count_since(&self, since: Instant, route: &str) -> usize {
        let state = self.shared.state();
        state.requests.iter().filter(|r| r.at >= since && r.route.starts_with(route)).count()
    }

    fn to_lines(&self, out: impl Fn() -> Out) {
        let state = self.shared.state();
        for line in state.sessions.iter().filter_map(|session| session.line.as_ref()) {
            // A line that is full or gone ends by itself.
            line.try_send(out()).ok();
        }
    }

    /// Cuts every connection to the gateway; sessions can be resumed.
    pub fn disconnect(&self) {
        self.to_lines(|| Out::Cut);
    }

    /// Closes every connection to the gateway with a code.
    pub fn close(&self, code: u16) {
        self.to_lines(|| Out::Close(code, "told to"));
    }

    /// Asks every bot to connect again and resume.
    pub fn reconnect(&self) {
        let frame = json!({"op": 7, "s": null, "t": null, "d": null}).to_string();
        self.to_lines(|| Out::Text(frame.clone()));
    }

    /// Tells every bot that its session is not valid; what can't be resumed is forgotten.
    pub fn invalidate(&self, resumable: bool) {
        let frame = json!({"op": 9, "s": null, "t": null, "d": resumable}).to_string();
        self.to_lines(|| Out::Text(frame.clone()));
        if !resumable {
            self.shared.state().sessions.clear();
        }
    }

    /// Asks every bot for a heartbeat at once.
    pub fn ask_heartbeat(&self) {
        let frame = json!({"op": 1, "s": null, "t": null, "d": null}).to_string();
        self.to_lines(|| Out::Text(frame.clone()));
    }

    /// Forgets every session and cuts its connection: nothing can be resumed.
    pub fn forget_sessions(&self) {
        self.disconnect();
        self.shared.state().sessions.clear();
    }

    /// The service goes away: every connection is cut and none taken until `up`.
    pub fn down(&self) {
        self.shared.state().settings.down = true;
        self.shared.cut.send_modify(|count| *count += 1);
    }

    pub fn up(&self) {
        self.shared.state().settings.down = false;
    }

    /// Begins again as after a deployment of theirs: connections cut, sessions forgotten, messages kept.
    pub fn restart(&self) {
        self.shared.state().sessions.clear();
        self.shared.cut.send_modify(|count| *count += 1);
    }

    /// The gateway takes no connections; REST works.
    pub fn gateway_down(&self, down: bool) {
        self.shared.state().settings.gateway_down = down;
        if down {
            self.disconnect();
        }
    }

    /// Events reach nobody, not even by a replay, while this is so.
    pub fn lose_events(&self, lose: bool) {
        self.shared.state().settings.lose_events = lose;
    }

    /// A resume replays so many events that were heard before.
    pub fn replay_again(&self, events: usize) {
        self.shared.state().settings.replay_again = events;
    }

    pub fn refuse_resumes(&self, times: usize) {
        self.shared.state().settings.refuse_resumes = times;
    }

    /// How often connections that are made from now on want a heartbeat, and whether it is acknowledged.
    pub fn heartbeats(&self, every: Duration, acknowledged: bool) {
        let mut state = self.shared.state();
        (state.settings.heartbeat, state.settings.acks) = (every, acknowledged);
    }

    pub fn identify_every(&self, least: Duration) {
        self.shared.state().settings.identify_every = least;
    }

    /// How long an interaction waits for its answer, and how long its token lasts.
    pub fn interactions_last(&self, answer: Duration, token: Duration) {
        let mut state = self.shared.state();
        (state.settings.answer_within, state.settings.token_lasts) = (answer, token);
    }

    /// For how long the same nonce is the same message.
    pub fn nonces_last(&self, time: Duration) {
        self.shared.state().settings.nonce_lasts = time;
    }

    pub fn largest_upload(&self, bytes: usize) {
        self.shared.state().settings.largest_upload = bytes;
    }

    /// Limits as Discord has them.
    pub fn real_limits(&self) {
        self.shared.state().buckets.real();
    }

    pub fn limit_messages(&self, rate: Rate) {
        self.shared.state().buckets.messages(rate);
    }

    pub fn limit_all(&self, rate: Rate) {
        self.shared.state().buckets.global(rate);
    }

    pub fn sessions(&self) -> Vec<SessionView> {
        let state = self.shared.state();
        let view = |session: &super::state::Session| SessionView {
            bot: session.bot,
            shard: session.shard,
            intents: session.intents,
            seq: session.seq,
            connected: session.line.is_some(),
        };
        state.sessions.iter().map(view).collect()
    }

    /// How often a session was begun, also in vain.
    pub fn identifies(&self) -> usize {
        self.shared.state().identifies.len()
    }

    /// How often a session was resumed.
    pub fn resumes(&self) -> usize {
        self.shared.state().resumes
    }

    /// How often that was at another address than the one named for it.
    pub fn resumed_elsewhere(&self) -> usize {
        self.shared.state().resumed_elsewhere
    }

    /// The codes that bots were turned away with.
    pub fn closes(&self) -> Vec<u16> {
        self.shared.state().closes.clone()
    }
}
