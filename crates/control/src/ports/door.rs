//! The port of the doors: how control opens the one way out of a sandbox.
//!
//! A door is a Unix socket. Who is behind it follows from the socket alone, never from what is said
//! through it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use cloister_policy::egress::{Destination, Host};
use cloister_policy::engine::Names;
use cloister_policy::gate::{Action, Cleared};
use cloister_policy::outgoing::{Draft, Outgoing};
use cloister_protocol::link::{Downlink, Uplink};
use cloister_protocol::{ApprovalId, ChatId, TaskId, UserId, WorkspaceId};
use cloister_store::OverBudget;
use cloister_store::audit::Fingerprint;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

/// Who is behind a door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principal {
    pub user: UserId,
    pub workspace: WorkspaceId,
    /// The one chat that it works in.
    pub chat: ChatId,
    /// The task of an executor; none for a coordinator.
    pub task: Option<TaskId>,
}

/// What a door lets out besides model calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Egress {
    /// Nothing: a coordinator has no business outside.
    Closed,
    /// What the user's rules allow.
    Open {
        /// The task's own list, which narrows the user's.
        only: Option<Vec<String>>,
        /// A plan waits for approval: nothing may be sent that could change something.
        reads_only: bool,
        /// The secrets it may use, by name, if that is less than all of the user's.
        secrets: Option<Vec<String>>,
    },
}

/// A destination that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedEgress {
    /// As it was asked for, made safe to show.
    pub host: String,
    /// Why, in words.
    pub reason: String,
    /// The rule with which the owner would allow it; none when nothing could.
    pub rule: Option<String>,
}

/// A request that a sandbox asks for. The egress rules allow it already. None of it is sent: what is, is
/// built anew from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outward {
    pub method: String,
    /// Its path, like the query, in its one spelling.
    pub to: Destination,
    pub query: Option<String>,
    /// What the program put on it, without the handles of secrets.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Bytes,
    /// The secrets that would be put on it, by name.
    pub secrets: Vec<String>,
    /// What is looked for, where this is a search at the platform's own provider.
    pub search: Option<String>,
    /// Where the host is, once the gate wanted that to be looked up. All of them may be dialled.
    pub addresses: Option<Vec<IpAddr>>,
}

impl Outward {
    pub fn draft(&self) -> Draft<'_> {
        Draft {
            method: &self.method,
            to: &self.to,
            query: self.query.as_deref(),
            headers: &self.headers,
            body: &self.body,
            secrets: &self.secrets,
        }
    }
}

/// Leave to send exactly this, once.
///
/// ```
/// use cloister_control::ports::Clearance;
/// use cloister_policy::gate::Cleared;
/// fn leave(cleared: Cleared) -> Option<Clearance> { Clearance::of(cleared, None) }
/// ```
///
/// ```compile_fail
/// use cloister_control::ports::Clearance;
/// use cloister_policy::outgoing::Outgoing;
/// fn made(request: Box<Outgoing>) -> Clearance { Clearance { request, addresses: None } }
/// ```
///
/// ```compile_fail
/// use cloister_control::ports::Clearance;
/// fn copied(leave: &Clearance) -> Clearance { Clone::clone(leave) }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Clearance {
    request: Box<Outgoing>,
    addresses: Option<Vec<IpAddr>>,
}

impl Clearance {
    /// For a request that has passed the gate, and nothing else. `addresses`: the only ones that may be dialled,
    /// where a person has decided on them.
    pub fn of(cleared: Cleared, addresses: Option<Vec<IpAddr>>) -> Option<Self> {
        match cleared.into_effect().action {
            Action::Request(request) => Some(Self { request, addresses }),
            _ => None,
        }
    }

    pub const fn request(&self) -> &Outgoing {
        &self.request
    }

    /// What is sent, and where to; the leave is used up.
    pub fn into_parts(self) -> (Outgoing, Option<Vec<IpAddr>>) {
        (*self.request, self.addresses)
    }
}

/// What the gate says to a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Gated {
    Go(Clearance),
    /// The gate wants to know where the host is, and is to be asked again with that.
    LookUp,
    /// Not now. `approval`: a person has been asked and has not answered yet; the task will wait for
    /// them once the program has been told.
    Refused {
        reason: String,
        approval: Option<ApprovalId>,
    },
}

/// Content from outside that is about to be handed to a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameIn {
    pub source: ContentSource,
    /// What of its text is known so far, for the links in it. May be empty: it counts as read all the same.
    pub text: Bytes,
    pub part: ContentPart,
}

/// How far content has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentPart {
    /// Nothing of it is handed over yet.
    Begins,
    /// As much of its text as is looked at.
    Text,
    /// This is all of it.
    Whole(Fingerprint),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentSource {
    /// The address of a page or file.
    Web { url: String },
    /// What a git repository at this address says that it offers.
    Repository { place: String },
    /// What a tool answered that speaks to something outside, such as a search.
    Tool { name: String },
}

/// What became of a limit that a model call would pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// People are asked for more. A task waits for the answer, without this sandbox.
    Asked(ApprovalId),
    /// They were, and said no.
    Refused(ApprovalId),
    /// Nobody can be asked.
    Nobody,
}

/// The marks of content could not be stored; the content must not be handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("where the content came from could not be recorded")]
pub struct NotRecorded;

/// Control's side of a link. A new attachment replaces the one before it, whose channels close.
pub trait LinkSide: Send + Sync + 'static {
    fn attach(&self) -> Attached;
    /// The person is to hear of a refusal. Called once per destination and reason, and returns at once.
    fn refused(&self, refused: RefusedEgress);
    /// Decides about one request: whether it may leave, or a person must be asked. Waits for an answer
    /// for as long as the settings say, no longer.
    fn gate(&self, outward: Outward) -> BoxFuture<'_, Gated>;
    /// The models that this door may use now, by their names here.
    fn models(&self) -> BoxFuture<'_, Names>;
    /// Nobody answers any more where a host was found.
    fn lost(&self, host: Host) -> BoxFuture<'_, ()>;
    /// A model call would pass a limit: people are asked for more, in the chat of this door.
    fn out_of_budget(&self, over: OverBudget) -> BoxFuture<'_, More>;
    /// Records that content reaches the sandbox, before it does.
    fn came_in(&self, content: CameIn) -> BoxFuture<'_, Result<(), NotRecorded>>;
}

/// The channels of one link connection.
pub struct Attached {
    /// What the agent is to be told; closed when the link must be closed.
    pub down: mpsc::Receiver<Downlink>,
    /// What the agent says. A full channel holds the agent back.
    pub up: mpsc::Sender<Uplink>,
}

pub trait Doors: Send + Sync + 'static {
    /// Listens at `socket` until the returned door is dropped, which also ends what is under way
    /// through it and removes the socket.
    fn open(
        &self,
        socket: PathBuf,
        principal: Principal,
        egress: Egress,
        link: Arc<dyn LinkSide>,
    ) -> std::io::Result<Box<dyn OpenDoor>>;
}

/// A door that is open; dropping it closes it.
pub trait OpenDoor: Send + Sync {}
