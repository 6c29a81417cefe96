//! The words that the parts of Cloister say to each other.
//!
//! Owns: ids, the frames of the agent socket and of the link, error codes, how causes are told, the admin API's
//! types.
//! Promises: no I/O, no async, no policy; what it serialises is described by the committed JSON
//! Schema under `docs/`.

pub mod admin;
mod causes;
mod errors;
mod frames;
mod ids;
mod kind;
mod language;
mod level;
pub mod link;
mod model;
mod phrases;
pub mod schema;
pub mod surface;

pub use causes::{last_cause, with_causes};
pub use errors::{ErrorBody, ErrorCode, ErrorEnvelope};
pub use frames::{
    AgentFrame, Answer, ApprovalAnswer, Ask, Attachment, Cancel, ClientFrame, End, ErrorFrame,
    MAX_ATTACHMENTS, MAX_FRAME_BYTES, MAX_TEXT_BYTES, Message, ModelDoing, SendFile, TaskState,
    TextChunk, Todo, TodoState, ToolCall, ToolResult, Update, Usage,
};
pub use ids::{
    AgentId, ApprovalId, ChatId, ClientId, MessageId, ParseIdError, RequestId, TaskId, TurnId,
    UserId, UserName, WorkspaceId,
};
pub use kind::{ParseKindError, WorkKind};
pub use language::{Language, ParseLanguageError};
pub use level::{Level, ParseLevelError};
pub use model::{
    Effort, LimitField, ModelFacts, ModelProfile, ModelSettings, ReasoningForm, ToolForm, UsageForm,
};
pub use phrases::{Phrases, filled};
