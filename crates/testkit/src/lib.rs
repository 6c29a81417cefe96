//! What tests share. Nothing here ships.
//!
//! Owns: the model server, a provider that says what a test told it to say and checks what it is
//! asked; the stack, the whole product started for a test; the product, that stack with that model, the one world under
//! the suites of every surface; chaos, which kills it and counts;
//! the hostile agent, which stands in for ours in a sandbox and takes what it can;
//! fuzz, which throws mutated bytes at a parser; the browser, a real one; the homeserver, a real one
//! too; a Telegram and a Discord for tests; rows and a control plane without cells, which tests of control and of ring 3
//! begin with; the schema of the wire as text.

pub mod browser;
pub mod chaos;
pub mod discord;
pub mod fuzz;
pub mod hostile;
pub mod internet;
pub mod model_server;
mod plane;
pub mod product;
mod random;
pub mod rooms_bench;
pub mod rows;
pub mod stack;
pub mod synapse;
pub mod telegram;

pub use browser::{Browser, BrowserError, Page};
pub use fuzz::Fuzz;
pub use model_server::{Matcher, ModelServer, ModelServerBuilder, Received, Reply, Steps};
pub use product::Product;
pub use stack::{AgentClient, Answer, CliOutput, ClientError, Stack, StackBuilder, StackError};

/// The JSON Schema of everything on the wire, as it is committed under `docs/`.
pub fn wire_schema() -> String {
    as_committed(cloister_protocol::schema::wire())
}

/// The same of the surface protocol.
pub fn surface_schema() -> String {
    as_committed(cloister_protocol::schema::surfaces())
}

fn as_committed(mut schema: serde_json::Value) -> String {
    // Whether objects keep their order is up to whoever else is built along.
    schema.sort_all_objects();
    let json = serde_json::to_string_pretty(&schema).unwrap_or_default();
    format!("{json}\n")
}
