//! The log: to standard error, as text for people or JSON for programs; and what it complains of, kept
//! for the operator's status.

use std::fmt::{self, Write as _};
use std::io::IsTerminal;
use std::sync::Arc;

use cloister_control::{LoggedLine, Metrics};
use cloister_protocol::ErrorCode;
use cloister_store::Clock;
use serde::Deserialize;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::output::CliError;

/// `log` of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Logs from here on, as the environment filters it.
pub(crate) fn init(format: LogFormat, metrics: Arc<Metrics>) -> Result<(), CliError> {
    let filter = EnvFilter::try_new(crate::config::log_filter()).map_err(|error| {
        CliError::new(ErrorCode::BadRequest, format!("CLOISTER_LOG is not a log filter: {error}"))
    })?;
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
        LogFormat::Text => {
            lines.with_ansi(std::io::stderr().is_terminal()).with_target(false).boxed()
        }
    };
    tracing_subscriber::registry().with(filter).with(lines).with(Complaints { metrics }).init();
    Ok(())
}

/// Keeps what is worth a person's time.
struct Complaints {
    metrics: Arc<Metrics>,
}

impl<S: Subscriber> Layer<S> for Complaints {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warn",
            Level::INFO | Level::DEBUG | Level::TRACE => return,
        };
        let mut words = Words::default();
        event.record(&mut words);
        let Words { message, fields } = words;
        self.metrics.logged(LoggedLine { at: Clock.now_ms(), level, message, fields });
    }
}

/// An event's sentence and its other fields.
#[derive(Default)]
struct Words {
    message: String,
    fields: String,
}

/// What a cell wrote stays in the log.
const LEFT_OUT: &str = "log";

impl Visit for Words {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string can't fail.
        match field.name() {
            "message" => write!(self.message, "{value:?}").ok(),
            LEFT_OUT => None,
            name => {
                let space = if self.fields.is_empty() { "" } else { " " };
                write!(self.fields, "{space}{name}={value:?}").ok()
            }
        };
    }
}
