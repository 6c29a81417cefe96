//! The JSON Schema of everything on the wire, made from the types.

use schemars::JsonSchema;
use serde_json::Value;

use crate::link::{Downlink, Uplink};
use crate::{AgentFrame, ClientFrame, ErrorEnvelope};

#[derive(JsonSchema)]
#[expect(dead_code, reason = "names the roots of the schema; never built")]
struct Wire {
    client: ClientFrame,
    agent: AgentFrame,
    link_down: Downlink,
    link_up: Uplink,
    error: ErrorEnvelope,
}

/// One document whose `$defs` hold every frame.
pub fn wire() -> Value {
    schemars::schema_for!(Wire).to_value()
}
