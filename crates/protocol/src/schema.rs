//! The JSON Schema of everything on the wire, made from the types.

use schemars::JsonSchema;
use serde_json::Value;

use crate::link::{Downlink, Uplink};
use crate::surface::{AnyCall, AnyOrder, CallAnswer, ConnectorFrame, OrderAnswer, PlaneFrame};
use crate::{AgentFrame, ClientFrame, ErrorBody, ErrorEnvelope};

#[derive(JsonSchema)]
#[expect(dead_code, reason = "names the roots of the schema; never built")]
struct Wire {
    client: ClientFrame,
    agent: AgentFrame,
    link_down: Downlink,
    link_up: Uplink,
    error: ErrorEnvelope,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "names the roots of the schema; never built")]
struct Surfaces {
    from_connector: ConnectorFrame,
    from_plane: PlaneFrame,
    call: AnyCall,
    call_answer: CallAnswer,
    order: AnyOrder,
    order_answer: OrderAnswer,
    error: ErrorBody,
}

/// The same of the surface protocol.
pub fn surfaces() -> Value {
    schemars::schema_for!(Surfaces).to_value()
}

/// One document whose `$defs` hold every frame.
pub fn wire() -> Value {
    schemars::schema_for!(Wire).to_value()
}
