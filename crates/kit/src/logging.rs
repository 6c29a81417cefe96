//! The log of a connector goes to the control plane, which writes it beside its own.

use cloister_protocol::with_causes;
use std::fmt::{self, Write as _};

use cloister_protocol::surface::{ConnectorFrame, LogLevel, LogLine};
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// This says every request and every sync, and call answers errors that are none; what it means for a connector
/// we say ourselves. A filter that names it hears it all the same.
const TALKATIVE: &str = "matrix_sdk=off";
/// The longest line, in bytes.
const LONGEST: usize = 16 << 10;

struct ToPlane(mpsc::Sender<ConnectorFrame>);

pub(crate) fn init(filter: &str, frames: mpsc::Sender<ConnectorFrame>) -> Result<(), String> {
    let filter = if filter.is_empty() { "info" } else { filter };
    let filter = EnvFilter::try_new(format!("{TALKATIVE},{filter}"));
    let filter = filter.map_err(|error| {
        format!("the log filter can't be used: {error}", error = with_causes(&error))
    })?;
    let registry = tracing_subscriber::registry().with(filter).with(ToPlane(frames));
    registry
        .try_init()
        .map_err(|error| format!("the log can't be begun: {error}", error = with_causes(&error)))
}

impl<S: Subscriber> Layer<S> for ToPlane {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warn,
            Level::INFO => LogLevel::Info,
            Level::DEBUG | Level::TRACE => LogLevel::Debug,
        };
        let mut words = Words::default();
        event.record(&mut words);
        let Words { message, fields } = words;
        // More than can be taken just now is left out: no connector waits for its log.
        drop(self.0.try_send(ConnectorFrame::Log(LogLine { level, message, fields })));
    }
}

/// An event's sentence and its other fields.
#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let is_message = field.name() == "message";
        let into = if is_message { &mut self.message } else { &mut self.fields };
        if into.len() >= LONGEST {
            return;
        }
        let begun = into.len();
        // Writing into a string does not fail.
        let written = if is_message {
            write!(into, "{value:?}")
        } else {
            let space = if into.is_empty() { "" } else { " " };
            write!(into, "{space}{}={value:?}", field.name())
        };
        written.ok();
        let most = into.floor_char_boundary(begun.max(LONGEST));
        into.truncate(most);
    }
}
