//! What tests share. Nothing here ships.
//!
//! Owns: the model server, a provider that says what a test told it to say and checks what it is
//! asked; the stack, the whole product started for a test; chaos, which kills it and counts;
//! the browser, a real one; the schema of the wire as text.

pub mod browser;
pub mod chaos;
pub mod internet;
pub mod model_server;
pub mod stack;

pub use browser::{Browser, BrowserError, Page};
pub use model_server::{Matcher, ModelServer, ModelServerBuilder, Received, Reply, Steps};
pub use stack::{AgentClient, Answer, CliOutput, ClientError, Stack, StackBuilder, StackError};

/// The JSON Schema of everything on the wire, as it is committed under `docs/`.
pub fn wire_schema() -> String {
    let schema = cloister_protocol::schema::wire();
    let json = serde_json::to_string_pretty(&schema).unwrap_or_default();
    format!("{json}\n")
}
