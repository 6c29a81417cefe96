//! What the database knows, as it is shown: the rows that handles answer with and take.

pub use cloister_store::approvals::{Approval, ApprovalKind, ApprovalState};
pub use cloister_store::audit::{AuditRow, Finding, Report};
pub use cloister_store::chats::{Chat, NewChat};
pub use cloister_store::contexts::Context;
pub use cloister_store::history::{Cursor, Entry, HistoryPage};
pub use cloister_store::identities::Identity;
pub use cloister_store::inbox::{InboxItem, InboxState};
pub use cloister_store::listing::{Finds, FoundWords, ListedChat, fold_into, folded, wanted_words};
pub use cloister_store::outbox::OutboxItem;
pub use cloister_store::pki::{Client, Issue, LiveClient};
pub use cloister_store::roles::HeldRole;
pub use cloister_store::secrets::{NewSecret, SecretInfo};
pub use cloister_store::stops::Stop;
pub use cloister_store::tasks::Task;
pub use cloister_store::tokens::{TokenKind, TokenOwner, token_hash};
pub use cloister_store::users::{AccountKind, User, UserLimits};
pub use cloister_store::{Dollars, UsageRow};
