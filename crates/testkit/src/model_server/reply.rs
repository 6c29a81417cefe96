//! What the server is told to say, and when. The same types are the script file of the program.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::received::Received;

/// One answer, good or bad.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reply {
    pub(super) text: String,
    pub(super) tool_calls: Vec<ToolCall>,
    /// Into how many pieces the text is cut; by the seed if not said.
    pub(super) chunks: Option<usize>,
    /// Between two pieces.
    pub(super) delay_ms: u64,
    /// Before the head of the answer.
    pub(super) first_byte_ms: u64,
    /// Never answer.
    pub(super) hang: bool,
    /// Answer with this status and `body` instead.
    pub(super) status: Option<u16>,
    pub(super) body: String,
    pub(super) retry_after: Option<u64>,
    /// Drop the connection after this many pieces.
    pub(super) cut_after: Option<usize>,
    /// End the answer after this many pieces as if it were whole, with no mark of its end.
    pub(super) stop_after: Option<usize>,
    /// Send a piece that is not JSON.
    pub(super) malformed: bool,
    /// Report this error in the stream after the text.
    pub(super) stream_error: Option<String>,
    pub(super) no_usage: bool,
    /// Prompt and completion tokens to report.
    pub(super) usage: Option<(u64, u64)>,
    /// Say back what the user said last.
    pub(super) echo: bool,
    /// What it thinks before it answers, in the field `reasoning_content`.
    pub(super) thoughts: String,
    /// The body of the answer, in pieces as they are sent, instead of one made from the fields above.
    pub(super) raw: Vec<String>,
    /// What it is said to be; an event stream where nothing is said.
    pub(super) content_type: Option<String>,
    #[serde(skip)]
    pub(super) steps: Option<Steps>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    pub name: String,
    pub arguments: Value,
}

/// Lets a stepped answer go on piece by piece.
#[derive(Clone, Debug)]
pub struct Steps(pub(super) Arc<Semaphore>);

impl Steps {
    /// Lets the next `count` pieces be sent.
    pub fn allow(&self, count: usize) {
        self.0.add_permits(count);
    }
}

impl Reply {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub fn echo() -> Self {
        Self { echo: true, ..Self::default() }
    }

    pub fn tool_call(name: &str, arguments: Value) -> Self {
        Self::default().and_tool_call(name, arguments)
    }

    pub fn and_tool_call(mut self, name: &str, arguments: Value) -> Self {
        self.tool_calls.push(ToolCall { name: name.to_owned(), arguments });
        self
    }

    /// An error instead of an answer.
    pub fn status(code: u16, body: &str) -> Self {
        Self { status: Some(code), body: body.to_owned(), ..Self::default() }
    }

    /// These bytes and no others, one piece after the other.
    pub fn raw(pieces: &[&str]) -> Self {
        Self { raw: pieces.iter().map(|&piece| piece.to_owned()).collect(), ..Self::default() }
    }

    /// Says that the answer is this.
    pub fn content_type(mut self, content_type: &str) -> Self {
        self.content_type = Some(content_type.to_owned());
        self
    }

    /// Takes the request and never answers.
    pub fn hang() -> Self {
        Self { hang: true, ..Self::default() }
    }

    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    pub fn chunks(mut self, count: usize) -> Self {
        self.chunks = Some(count);
        self
    }

    pub fn delay(mut self, between: Duration) -> Self {
        self.delay_ms = millis(between);
        self
    }

    pub fn slow_first_byte(mut self, wait: Duration) -> Self {
        self.first_byte_ms = millis(wait);
        self
    }

    /// Drops the connection after this many pieces of text.
    pub fn cut_after(mut self, chunks: usize) -> Self {
        self.cut_after = Some(chunks);
        self
    }

    /// Ends cleanly after this many pieces of text, without saying that it is the end.
    pub fn stop_after(mut self, chunks: usize) -> Self {
        self.stop_after = Some(chunks);
        self
    }

    pub fn malformed(mut self) -> Self {
        self.malformed = true;
        self
    }

    pub fn stream_error(mut self, message: &str) -> Self {
        self.stream_error = Some(message.to_owned());
        self
    }

    /// Thinks this before it answers.
    pub fn thinking(mut self, thoughts: &str) -> Self {
        thoughts.clone_into(&mut self.thoughts);
        self
    }

    pub fn no_usage(mut self) -> Self {
        self.no_usage = true;
        self
    }

    pub fn usage(mut self, prompt: u64, completion: u64) -> Self {
        self.usage = Some((prompt, completion));
        self
    }

    /// Sends each piece only when the test allows it.
    pub fn stepped(mut self) -> (Self, Steps) {
        let steps = Steps(Arc::new(Semaphore::new(0)));
        self.steps = Some(steps.clone());
        (self, steps)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Which requests a rule is for: all that is set must fit.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Matcher {
    last_user_contains: Option<String>,
    system_contains: Option<String>,
    model: Option<String>,
    offers_tool: Option<String>,
    /// Whether the last messages are results of tools.
    has_tool_results: Option<bool>,
}

impl Matcher {
    pub fn any() -> Self {
        Self::default()
    }

    pub fn last_user_contains(text: &str) -> Self {
        Self { last_user_contains: Some(text.to_owned()), ..Self::default() }
    }

    pub fn system_contains(text: &str) -> Self {
        Self { system_contains: Some(text.to_owned()), ..Self::default() }
    }

    pub fn model(model: &str) -> Self {
        Self { model: Some(model.to_owned()), ..Self::default() }
    }

    /// A turn of the coordinator, known by what it may do.
    pub fn coordinator() -> Self {
        Self::offers_tool("delegate")
    }

    /// A step of an executor, known by what it may do.
    pub fn executor() -> Self {
        Self::offers_tool("bash")
    }

    pub fn offers_tool(name: &str) -> Self {
        Self { offers_tool: Some(name.to_owned()), ..Self::default() }
    }

    pub fn with_tool_results(mut self, has: bool) -> Self {
        self.has_tool_results = Some(has);
        self
    }

    pub fn and(self, other: Self) -> Self {
        Self {
            last_user_contains: other.last_user_contains.or(self.last_user_contains),
            system_contains: other.system_contains.or(self.system_contains),
            model: other.model.or(self.model),
            offers_tool: other.offers_tool.or(self.offers_tool),
            has_tool_results: other.has_tool_results.or(self.has_tool_results),
        }
    }

    pub(super) fn matches(&self, received: &Received) -> bool {
        let contains = |wanted: &Option<String>, text: &dyn Fn() -> String| {
            wanted.as_ref().is_none_or(|wanted| text().contains(wanted))
        };
        contains(&self.last_user_contains, &|| received.last_user_text())
            && contains(&self.system_contains, &|| received.system_prompt())
            && self.model.as_ref().is_none_or(|model| received.model() == model)
            && self.offers_tool.as_ref().is_none_or(|t| received.tool_names().contains(&t.as_str()))
            && self.has_tool_results.is_none_or(|has| received.tool_results().is_empty() != has)
    }
}

/// An entry of a script file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    #[serde(default)]
    pub when: Matcher,
    pub reply: Reply,
}
