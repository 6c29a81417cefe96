//! The surface protocol: what connectors and the control plane say to each other.
//!
//! A connector speaks for one surface. It hands over what it hears before it acknowledges it to the outside, and
//! renders and sends what it is told to; what is said, to whom and whether at all is decided by the control plane.

mod calls;
mod frames;
pub mod options;
mod orders;
mod people;
mod posts;
mod rows;

pub(crate) use calls::CallAnswer;
pub use calls::*;
pub use frames::{
    CommandSign, ConnectorFrame, Customs, FrameAnswer, Hello, LONGEST_LINE, LogLevel, LogLine,
    News, Outcome, PlaneFrame, Settings, VERSION, Welcomed,
};
pub(crate) use orders::OrderAnswer;
pub use orders::*;
pub use people::{ContextAt, Heard, HeardIn, Incoming, Located, Person, Receipt, Speaker, Stored};
pub use posts::{
    ApprovalState, Below, Button, ButtonDone, Choice, ChoiceKind, FileToSend, Health, MOST_BUTTONS,
    Manners, Measure, MenuItem, Posting, Press, Recipient, SendError, Streaming, StreamingBy,
    WebhookAnswer,
};
pub use rows::{
    Chat, Connector, ConnectorId, Conversation, ConversationId, ConversationKind, NewConversation,
    ToMend, WaitingEvent, WhyWaiting,
};
