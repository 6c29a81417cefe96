//! Finds out what a model can do by trying it: a greeting that must be answered, then a tool, a picture and a count.
//!
//! `listing` reads what its server says of it, `limits` what it says when too much is asked of it. Promises: a model
//! counts as answering only if it said something; what could not be found out in time is left out of the profile, and
//! nothing but the greeting can fail the trial.

mod limits;
mod listing;

use std::time::Duration;

use cloister_control::books::Model;
use cloister_protocol::admin::Key;
use cloister_protocol::{
    Level, LimitField, ModelProfile, ReasoningForm, ToolForm, Usage, UsageForm,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

pub(super) use limits::window_in;

use super::attempt::{Attempt, AttemptEnded, Upstream};
use super::call::{Piece, Sink};
use super::collect::Whole;
use super::dialect::worded;
use super::events::data_lines;
use super::failure::Failure;
use super::request::ChatRequest;
use super::text_calls::{TextCall, calls_in};
use crate::keys::ApiKey;
use crate::prices::output_limit_field;

/// Pieces of an answer that may wait to be read.
const WAITING_PIECES: usize = 16;
/// Some models refuse a smaller limit.
const GREETING_TOKENS: u64 = 16;
/// A model that reasons needs some before it comes to the point.
const TRIAL_TOKENS: u64 = 512;
/// More than any answer may have: what refuses it says how much it may.
const TOO_MANY_TOKENS: u64 = 100_000_000;
/// How long the greeting is waited for at most: a model on the same machine may have to be loaded first.
const GREETING_TIME: Duration = Duration::from_secs(120);
/// How long all else may take together: so many times as long as the greeting, within these.
const TIMES_GREETING: u32 = 12;
const TRIAL_TIME: Duration = Duration::from_secs(90);
const LONGEST_TRIAL: Duration = Duration::from_secs(300);
/// How often the greeting is put in other words.
const GREETINGS: usize = 3;
const LEAST_COUNTED: u64 = 8;

const TOOL: &str = "get_weather";
/// A picture: its left half is green, its right half orange.
const PICTURE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAGAAAABgCAIAAABt+uBvAAAAnUlEQVR42u3QQQ0AMAgEsJOAlEmclDllLgiPJlXQ1Dur9M0qESRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRIkCBBggQJEiRozgcmqbB30iO+LwAAAABJRU5ErkJggg==";

/// What the trial has found.
pub(super) struct Tried {
    pub(super) answered_in: Duration,
    pub(super) usage: Option<Usage>,
    pub(super) profile: ModelProfile,
}

/// One trial of one model.
pub(super) struct Trial<'a> {
    upstream: &'a Upstream,
    /// With the profile as far as it is known.
    model: Model,
    key: Option<&'a Key>,
    until: Instant,
}

/// What the model said to one question.
struct Told {
    words: String,
    calls: Vec<TextCall>,
    reasoning: Option<ReasoningForm>,
    usage: Option<Usage>,
    pieces: u64,
    began: Duration,
    took: Duration,
}

impl Told {
    /// It said, thought or did something.
    fn is_answer(&self) -> bool {
        let counted = self.usage.is_some_and(|usage| usage.completion_tokens > 0);
        !self.words.trim().is_empty()
            || !self.calls.is_empty()
            || self.reasoning.is_some()
            || counted
    }
}

impl<'a> Trial<'a> {
    pub(super) fn new(upstream: &'a Upstream, model: &Model, key: Option<&'a Key>) -> Self {
        let mut model = model.clone();
        model.profile = ModelProfile::default();
        Self { upstream, model, key, until: Instant::now() }
    }

    /// Tries everything.
    pub(super) async fn run(mut self) -> Result<Tried, Failure> {
        let told = self.greet().await?;
        let profile = &mut self.model.profile;
        profile.first_word_ms = u32::try_from(told.began.as_millis()).ok();
        profile.reasoning = told.reasoning;
        if profile.usage.is_none() {
            let said = told.usage.is_some();
            profile.usage = Some(if said { UsageForm::Streamed } else { UsageForm::Silent });
        }
        let (answered_in, usage) = (told.took, told.usage);
        let patience = (answered_in * TIMES_GREETING).clamp(TRIAL_TIME, LONGEST_TRIAL);
        self.until = Instant::now() + patience;
        self.read_listing().await;
        self.try_tools().await;
        self.try_picture().await;
        self.try_counting().await;
        if self.model.profile.window_tokens.is_none() {
            self.ask_too_much().await;
        }
        Ok(Tried { answered_in, usage, profile: self.model.profile })
    }

    /// Asks for a word, in the fields that this provider takes.
    async fn greet(&mut self) -> Result<Told, Failure> {
        let waits = self.upstream.waits(&self.model);
        self.until = Instant::now() + waits.first_byte.min(GREETING_TIME);
        self.model.profile.limit_field = Some(output_limit_field(&self.model.model));
        let mut greetings = 0;
        loop {
            greetings += 1;
            let failure = match self.ask(&question("Say OK."), GREETING_TOKENS).await {
                Ok(told) if told.is_answer() => return Ok(told),
                Ok(_nothing) => return Err(Failure::Empty),
                Err(failure) => failure,
            };
            if greetings >= GREETINGS || !self.put_otherwise(&failure) {
                return Err(failure);
            }
        }
    }

    /// Whether the refusal says in which other words the same may be asked.
    fn put_otherwise(&mut self, failure: &Failure) -> bool {
        let Failure::Status { code: 400 | 422, said, .. } = failure else { return false };
        let profile = &mut self.model.profile;
        let field = profile.limit_field.unwrap_or(LimitField::MaxTokens);
        let said = said.0.as_str();
        if said.contains("stream_options") && profile.usage.is_none() {
            profile.usage = Some(UsageForm::Refused);
            return true;
        }
        if said.contains(field.as_str()) || said.contains(field.other().as_str()) {
            profile.limit_field = Some(field.other());
            return true;
        }
        false
    }

    /// What the server says of the model without being asked a question.
    async fn read_listing(&mut self) {
        let key = self.given_key().await;
        let listed = listing::read(self.upstream, &self.model, key.as_ref());
        let Ok(listed) = timeout(self.left(), listed).await else { return };
        let profile = &mut self.model.profile;
        profile.window_tokens = listed.window;
        profile.output_tokens = listed.output;
        profile.parameters =
            listed.parameters.or_else(|| listing::parameters_in(&self.model.model));
    }

    async fn given_key(&self) -> Option<ApiKey> {
        match self.key {
            Some(key) => ApiKey::parse(key.expose()),
            None => self.upstream.key_of(&self.model).await,
        }
    }

    /// Whether it calls a tool, and in which form.
    async fn try_tools(&mut self) {
        let asked = json!({
            "messages": [{"role": "user", "content":
                "What is the weather in Paris and in Rome? Use the tool, once for each city."}],
            "tools": [{"type": "function", "function": {"name": TOOL,
                "description": "The weather in a city, now.",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}},
                               "required": ["city"]}}}],
        });
        let offered = [TOOL.to_owned()];
        match self.ask(&asked, TRIAL_TOKENS).await {
            Ok(told) => {
                let in_text = calls_in(&told.words, &offered);
                let native = told.calls.iter().filter(|call| is_meant(call)).count();
                let written = in_text.iter().filter(|call| is_meant(call)).count();
                let profile = &mut self.model.profile;
                profile.reasoning = profile.reasoning.or(told.reasoning);
                if native > 0 || written > 0 {
                    let form = if native > 0 { ToolForm::Native } else { ToolForm::Text };
                    profile.tools = Some(form);
                    profile.parallel_calls = Some(native.max(written) > 1);
                    return;
                }
            }
            Err(Failure::Status { code: 400..=428 | 430..=599, .. } | Failure::Reported { .. }) => {
            }
            Err(_unknown) => return,
        }
        self.model.profile.tools = Some(ToolForm::Described);
        match self.ask(&asked, TRIAL_TOKENS).await {
            Ok(told) if told.calls.iter().any(is_meant) => {
                self.model.profile.parallel_calls = Some(told.calls.len() > 1);
            }
            Ok(_no_call) => self.model.profile.tools = Some(ToolForm::None),
            Err(_unknown) => self.model.profile.tools = None,
        }
    }

    /// Whether it sees: a model that does not can't name both colours.
    async fn try_picture(&mut self) {
        let asked = json!({"messages": [{"role": "user", "content": [
            {"type": "text",
             "text": "Which two colours has this picture? Answer with the two words only."},
            {"type": "image_url", "image_url": {"url": PICTURE}}]}]});
        self.model.profile.vision = match self.ask(&asked, TRIAL_TOKENS).await {
            Ok(told) => {
                let words = told.words.to_lowercase();
                let orange = ["orange", "amber", "yellow"].iter().any(|word| words.contains(word));
                Some(words.contains("green") && orange)
            }
            Err(Failure::Status { code: 400..=428 | 430..=599, .. } | Failure::Reported { .. }) => {
                Some(false)
            }
            Err(_unknown) => None,
        };
    }

    /// How fast it writes.
    async fn try_counting(&mut self) {
        let asked = question("Count from 1 to 40, in digits, with spaces between them.");
        let Ok(told) = self.ask(&asked, TRIAL_TOKENS / 4).await else { return };
        let tokens = told.usage.map_or(told.pieces, |usage| usage.completion_tokens);
        let writing = told.took.saturating_sub(told.began).as_secs_f64();
        if tokens >= LEAST_COUNTED && writing > 0.001 {
            let speed = tokens as f64 / writing;
            self.model.profile.tokens_per_second = Some((speed * 10.0).round() / 10.0);
        }
    }

    /// Asks for an answer that is too long: who refuses it says what would fit, and takes no money for that.
    async fn ask_too_much(&mut self) {
        let Err(Failure::Status { said, .. }) =
            self.ask(&question("Say OK."), TOO_MANY_TOKENS).await
        else {
            return;
        };
        let profile = &mut self.model.profile;
        profile.window_tokens = limits::window_in(&said.0);
        profile.output_tokens = profile.output_tokens.or_else(|| limits::output_in(&said.0));
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    async fn ask(&self, question: &Value, max_tokens: u64) -> Result<Told, Failure> {
        let request = ChatRequest::parse(question.to_string().as_bytes())
            .map_err(|_refusal| Failure::Malformed("the question of the trial"))?;
        let asked = worded(&request, &self.model, max_tokens);
        // How it calls tools is what is to be found out.
        let calls = asked.calls.filter(|_| self.model.profile.tools.is_some());
        let (pieces, answer) = mpsc::channel(WAITING_PIECES);
        let mut sink = Sink::new(pieces, self.upstream.options().client_stall);
        let mut attempt = Attempt::new(max_tokens.min(TRIAL_TOKENS)).reading(calls);
        attempt.key = self.key.and_then(|key| ApiKey::parse(key.expose()));
        let started = Instant::now();
        let asking = async {
            let level = Level::Coordinator;
            let upstream = self.upstream;
            let ended =
                upstream.attempt(&self.model, level, asked.body, &mut attempt, &mut sink).await;
            drop(sink);
            (ended, started.elapsed())
        };
        let within = self.left();
        let both = timeout(within, async { tokio::join!(asking, listen(answer)) }).await;
        let ((ended, took), heard) = both.map_err(|_elapsed| Failure::OutOfTime(within))?;
        match ended {
            AttemptEnded::Answered => {}
            AttemptEnded::Gone => return Err(Failure::Cut),
            AttemptEnded::Failed(failure) => return Err(failure),
        }
        let thinks = heard.whole.content.contains("<think>").then_some(ReasoningForm::ThinkTags);
        let calls = heard.whole.tool_calls.into_iter();
        Ok(Told {
            words: heard.whole.content,
            calls: calls.map(|c| TextCall { name: c.name, arguments: c.arguments }).collect(),
            reasoning: heard.reasoning.or(thinks),
            usage: attempt.progress.usage,
            pieces: attempt.progress.pieces(),
            began: attempt.began_after.unwrap_or(took),
            took,
        })
    }
}

#[derive(Default)]
struct Heard {
    whole: Whole,
    reasoning: Option<ReasoningForm>,
}

async fn listen(mut answer: mpsc::Receiver<Piece>) -> Heard {
    let mut heard = Heard::default();
    while let Some(piece) = answer.recv().await {
        match piece {
            Piece::Events(events) => {
                heard.reasoning = heard.reasoning.or_else(|| reasoning_in(&events));
                heard.whole.add(&events);
            }
            Piece::Restart => heard = Heard::default(),
            Piece::Waiting { .. } => {}
            Piece::Failed(_) => break,
        }
    }
    heard
}

fn reasoning_in(events: &[u8]) -> Option<ReasoningForm> {
    let chunks = data_lines(events).filter_map(|data| serde_json::from_slice::<Value>(data).ok());
    for chunk in chunks {
        for (field, form) in [
            ("reasoning", ReasoningForm::Reasoning),
            ("reasoning_content", ReasoningForm::ReasoningContent),
        ] {
            let thought = chunk.pointer(&format!("/choices/0/delta/{field}"));
            if thought.and_then(Value::as_str).is_some_and(|text| !text.is_empty()) {
                return Some(form);
            }
        }
    }
    None
}

fn question(text: &str) -> Value {
    json!({"messages": [{"role": "user", "content": text}]})
}

/// A call of the tool of the trial that could be carried out.
fn is_meant(call: &TextCall) -> bool {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    call.name == TOOL && arguments.get("city").is_some_and(Value::is_string)
}
