//! A surface in memory, for tests: keeps what it was handed, can fail and can lose its answer.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use cloister_store::connectors::ConnectorId;
use cloister_store::conversations::{Conversation, ConversationId};
use futures_util::future::BoxFuture;
use tokio::sync::Notify;

use crate::ports::{Manners, Measure, Posting, Recipient, SendError, Streaming, Surface};

const EDITS: Streaming = Streaming::Edits { every: Duration::from_millis(10) };

/// The longest message it takes.
pub(super) const LONGEST: usize = 200;

/// How long a text is as it is shown, where that is asked: a star takes three.
pub(super) fn shown_length(text: &str) -> usize {
    text.chars().map(|c| if c == '*' { 3 } else { 1 }).sum()
}

/// A message as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) conversation: ConversationId,
    pub(super) key: String,
    pub(super) text: String,
    pub(super) origin: Option<String>,
    pub(super) edits: usize,
    /// Why it asks, if it does.
    pub(super) reason: String,
    /// The labels of its buttons.
    pub(super) buttons: Vec<String>,
}

/// Where everything is killed: in which call, and whether what it was handed got there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kill {
    pub(super) call: usize,
    pub(super) got_there: bool,
}

type Judge = Box<dyn FnMut(&str, &str) -> Option<SendError> + Send>;

#[derive(Default)]
pub(super) struct Seen {
    pub(super) messages: Vec<Message>,
    edit_keys: BTreeSet<(ConversationId, String)>,
    /// How much it was asked for the length of.
    pub(super) measured: usize,
    /// What was shown without being a message.
    pub(super) drafts: Vec<String>,
    pub(super) calls: usize,
    pub(super) typing: BTreeMap<ConversationId, bool>,
    pub(super) typing_calls: usize,
    pub(super) at_once: usize,
    pub(super) most_at_once: usize,
    kill: Option<Kill>,
    judge: Option<Judge>,
}

pub(super) struct Fake {
    connector: ConnectorId,
    manners: Manners,
    streaming: Streaming,
    /// After a draft was refused, answers are shown by edits.
    edits_instead: AtomicBool,
    takes: Duration,
    seen: Mutex<Seen>,
    pub(super) killed: Notify,
}

impl Fake {
    pub(super) fn new(connector: ConnectorId) -> Self {
        let manners = Manners {
            longest: LONGEST,
            measure: Measure::Bytes,
            typing_lasts: Duration::from_millis(300),
            largest_file: 100,
            remembers_keys: true,
        };
        Self {
            connector,
            manners,
            streaming: EDITS,
            edits_instead: AtomicBool::new(false),
            takes: Duration::ZERO,
            seen: Mutex::default(),
            killed: Notify::new(),
        }
    }

    pub(super) fn streams(mut self, streaming: Streaming) -> Self {
        self.streaming = streaming;
        self
    }

    /// From now on it shows answers by edits.
    pub(super) fn edit_instead(&self) {
        self.edits_instead.store(true, Ordering::Relaxed);
    }

    /// It wants to be asked how long a text is.
    pub(super) fn asked(mut self) -> Self {
        self.manners.measure = Measure::Asked;
        self
    }

    pub(super) fn forgetful(mut self) -> Self {
        self.manners.remembers_keys = false;
        self
    }

    pub(super) fn slow(mut self, takes: Duration) -> Self {
        self.takes = takes;
        self
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// From the next call on, says what becomes of a call by the conversation's name and the key.
    pub(super) fn judge(
        &self,
        judge: impl FnMut(&str, &str) -> Option<SendError> + Send + 'static,
    ) {
        self.seen().judge = Some(Box::new(judge));
    }

    pub(super) fn all_well(&self) {
        self.seen().judge = None;
    }

    pub(super) fn kill(&self, kill: Option<Kill>) {
        let mut seen = self.seen();
        seen.calls = 0;
        seen.kill = kill;
    }

    pub(super) fn texts(&self, conversation: ConversationId) -> Vec<String> {
        let seen = self.seen();
        let here = seen.messages.iter().filter(|message| message.conversation == conversation);
        here.map(|message| message.text.clone()).collect()
    }

    pub(super) fn message(&self, conversation: ConversationId, at: usize) -> Message {
        let seen = self.seen();
        let mut here = seen.messages.iter().filter(|message| message.conversation == conversation);
        here.nth(at).cloned().unwrap()
    }

    /// Goes through a call as it happens; `act` is what it does if it gets there.
    async fn call<T>(
        &self,
        to: &Recipient,
        key: &str,
        act: impl FnOnce(&mut Seen) -> T + Send,
    ) -> Result<T, SendError> {
        let now = {
            let mut seen = self.seen();
            seen.at_once += 1;
            seen.most_at_once = seen.most_at_once.max(seen.at_once);
            let now = seen.kill.filter(|kill| kill.call == seen.calls);
            seen.calls += 1;
            now
        };
        if now.is_some_and(|kill| !kill.got_there) {
            return self.die().await;
        }
        if !self.takes.is_zero() {
            tokio::time::sleep(self.takes).await;
        }
        let done = {
            let mut seen = self.seen();
            seen.at_once -= 1;
            let name = to.conversation.external_id.clone().unwrap();
            let refused = seen.judge.as_mut().and_then(|judge| judge(&name, key));
            refused.map_or_else(|| Ok(act(&mut seen)), Err)
        };
        if now.is_some() { self.die().await } else { done }
    }

    async fn die<T>(&self) -> T {
        self.killed.notify_one();
        std::future::pending().await
    }
}

fn buttons_of(posting: &Posting) -> Vec<String> {
    match posting {
        Posting::Answer { buttons, .. } | Posting::Notice { buttons, .. } => {
            buttons.iter().map(|button| button.label.clone()).collect()
        }
        Posting::Question { .. } | Posting::File(_) => Vec::new(),
    }
}

fn reason_of(posting: &Posting) -> String {
    match posting {
        Posting::Question { ask, .. } => ask.reason.clone(),
        Posting::Answer { .. } | Posting::Notice { .. } | Posting::File(_) => String::new(),
    }
}

fn text_of(posting: &Posting) -> String {
    match posting {
        Posting::Answer { markdown, unfinished: true, .. } => format!("unfinished: {markdown}"),
        Posting::Answer { markdown, unfinished: false, .. } => markdown.clone(),
        Posting::Notice { markdown, .. } => format!("notice: {markdown}"),
        Posting::Question { ask, settled: None } => format!("question: {}", ask.text),
        Posting::Question { ask, settled: Some((answer, by)) } => {
            format!("settled: {} {} {by}", ask.text, answer.as_str())
        }
        Posting::File(download) => {
            let mut text = String::new();
            (&download.file).read_to_string(&mut text).unwrap();
            format!("file: {} {text}", download.name)
        }
    }
}

impl Surface for Fake {
    fn name(&self) -> &'static str {
        "matrix"
    }

    fn connector(&self) -> ConnectorId {
        self.connector
    }

    fn manners(&self) -> Manners {
        self.manners.clone()
    }

    fn streaming(&self, _: &Conversation) -> Streaming {
        if self.edits_instead.load(Ordering::Relaxed) { EDITS } else { self.streaming }
    }

    fn measured(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<usize>, SendError>> {
        self.seen().measured += texts.iter().map(String::len).sum::<usize>();
        let lengths = texts.iter().map(|text| shown_length(text)).collect();
        Box::pin(std::future::ready(Ok(lengths)))
    }

    fn post<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<String, SendError>> {
        let conversation = to.conversation.id;
        let remembers = self.manners.remembers_keys;
        let act = move |seen: &mut Seen| {
            let same =
                |message: &Message| message.conversation == conversation && message.key == key;
            let there = seen.messages.iter().position(same).filter(|_| remembers);
            let number = there.unwrap_or_else(|| {
                let (key, text) = (key.to_owned(), text_of(post));
                let (origin, buttons) = (to.origin.clone(), buttons_of(post));
                let reason = reason_of(post);
                let message =
                    Message { conversation, key, text, origin, edits: 0, reason, buttons };
                seen.messages.push(message);
                seen.messages.len() - 1
            });
            format!("${number}")
        };
        Box::pin(self.call(to, key, act))
    }

    fn edit<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        message: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        let conversation = to.conversation.id;
        let act = move |seen: &mut Seen| {
            // As platforms do: what has come under this key before is not looked at.
            if seen.edit_keys.insert((conversation, key.to_owned())) {
                let number: usize = message.strip_prefix('$').unwrap().parse().unwrap();
                let message = seen.messages.get_mut(number).unwrap();
                assert_eq!(message.conversation, conversation);
                message.text = text_of(post);
                message.reason = reason_of(post);
                message.buttons = buttons_of(post);
                message.edits += 1;
            }
        };
        Box::pin(self.call(to, key, act))
    }

    fn draft<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        let act = move |seen: &mut Seen| seen.drafts.push(text_of(post));
        Box::pin(async move { self.call(to, &format!("{key}/draft"), act).await })
    }

    fn typing<'a>(&'a self, to: &'a Recipient, typing: bool) -> BoxFuture<'a, ()> {
        let mut seen = self.seen();
        seen.typing.insert(to.conversation.id, typing);
        seen.typing_calls += 1;
        Box::pin(async {})
    }
}
