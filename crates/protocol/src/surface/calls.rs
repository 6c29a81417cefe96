//! What a connector asks of the control plane: one struct per call, each with the type of its answer.
//!
//! A connector speaks for its own surface alone: its connectors, the conversations of those, the people whose
//! accounts are there. What is another's is not found.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::people::{ContextAt, Heard, Incoming, Located, Person, Receipt, Speaker, Stored};
use super::posts::{Below, ButtonDone, Choice, ChoiceKind, Health, Manners, Press, StreamingBy};
use super::rows::{
    Chat, Connector, ConnectorId, Conversation, ConversationId, NewConversation, ToMend,
    WaitingEvent, WhyWaiting,
};
use crate::admin::{Key, ReconcileReport};
use crate::{Answer, Attachment, ChatId, MessageId, UserId, UserName, WorkspaceId};

/// Something that is asked, and what is answered.
pub trait Call: Into<AnyCall> {
    type Answer: Serialize + DeserializeOwned;
}

macro_rules! calls {
    ($( $(#[doc = $doc:literal])* $name:ident { $( $(#[doc = $of:literal])* $field:ident: $type:ty ),* $(,)? } -> $answer:ty; )*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
            pub struct $name { $( $(#[doc = $of])* pub $field: $type, )* }

            impl Call for $name {
                type Answer = $answer;
            }

            impl From<$name> for AnyCall {
                fn from(call: $name) -> Self {
                    Self::$name(call)
                }
            }
        )*

        /// Any of the calls, as it goes over the wire.
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "call", rename_all = "snake_case")]
        pub enum AnyCall { $( $name($name), )* }

        /// The answers by the name of the call, for the schema.
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "describes the answers in the schema; never built")]
        #[schemars(rename_all = "snake_case")]
        pub(crate) enum CallAnswer { $( $name($answer), )* }
    };
}

calls! {
    // Connectors.
    /// The connectors of this surface.
    Connectors {} -> Vec<Connector>;
    /// Adds a connector; one that is there already gets the new address and settings.
    PutConnector { account: String, address: String, settings: serde_json::Value, by: String } -> Connector;
    /// Removes a connector and what is known of its conversations. The chats stay.
    RemoveConnector { connector: ConnectorId, by: String } -> ();
    /// Moves a connector's position; everything before it must be stored by now.
    SetPosition { connector: ConnectorId, position: String } -> ();
    /// Seals what a connector logs in with, in the place of what was there.
    KeepSecret { connector: ConnectorId, address: String, value: Key, by: String } -> ();
    /// What a connector logs in with.
    OpenSecret { connector: ConnectorId } -> Option<Key>;
    ForgetSecret { connector: ConnectorId, by: String } -> ();
    /// From now on the connector is handed what is to be told in its conversations, beginning with what was
    /// left over. Again: with other manners.
    Attach { connector: ConnectorId, manners: Manners, streaming: StreamingBy } -> ();
    /// It is handed nothing more.
    Detach { connector: ConnectorId } -> ();
    /// The platform delivers what is new under this name, with this proof. Empty: it does not know it yet, and is to
    /// deliver again.
    Expect { connector: ConnectorId, name: String, proof: Key } -> ();
    /// How a connector is doing; none: nothing is known of it any more.
    Report { connector: ConnectorId, health: Option<Health> } -> ();
    /// What the last comparison with a connector's server found.
    NoteReconciled { connector: ConnectorId, report: ReconcileReport } -> ();
    /// An error that is counted by its kind, a word of ours.
    CountError { kind: String } -> ();
    /// Keeps in the audit that something was not taken, and why.
    Dropped { connector: ConnectorId, what: String, why: String } -> ();

    // Conversations.
    ConversationAt { connector: ConnectorId, place: String } -> Option<Conversation>;
    ConversationById { conversation: ConversationId } -> Option<Conversation>;
    Conversations { connector: ConnectorId } -> Vec<Conversation>;
    /// Puts a conversation in place. A chat has one room per connector, and a room one chat: what is there is
    /// answered with, and gets the external id if it had none.
    PutConversation { new: NewConversation } -> Conversation;
    /// Forgets a conversation. The chat stays.
    ForgetConversation { conversation: ConversationId } -> ();
    /// Forgets everything that is known of a connector's conversations and homes. The chats stay.
    ForgetConversations { connector: ConnectorId, by: String } -> ();
    /// Nothing can be sent there any more, or (none) it can again.
    SetBroken { conversation: ConversationId, why: Option<String> } -> ();
    /// The surface shows the chat so from now on.
    SetShown { conversation: ConversationId, title: String, archived: bool } -> ();
    /// A room that was made for its chat is no more: another one is to be made. What is still to be told waits
    /// for it; what was posted is gone.
    MakeAnew { conversation: ConversationId } -> ();
    /// A conversation has another id from now on. Says whether anything known follows.
    ConversationMoved { connector: ConnectorId, from: String, to: String } -> bool;
    /// Rooms whose chat is not shown as it is.
    ConversationsToMend { connector: ConnectorId } -> Vec<ToMend>;
    /// When something was last heard in each conversation, in Unix milliseconds.
    LastHeard { connector: ConnectorId } -> Vec<(String, i64)>;
    /// Whether something is still to be told there.
    HasToTell { conversation: ConversationId } -> bool;
    /// What an operator connected a place to.
    ContextOf { place: String } -> Option<ContextAt>;
    /// Rooms may have to be made, renamed or put away.
    ChatsChanged {} -> ();
    /// What keeps a person's conversations together there.
    Home { connector: ConnectorId, user: UserId } -> Option<String>;
    Homes { connector: ConnectorId } -> Vec<(UserId, String)>;
    /// Keeps a home, in the place of the one that was known (none: it is forgotten).
    SetHome { connector: ConnectorId, user: UserId, place: Option<String> } -> ();
    /// Wants a room for every chat of a person that is not archived and has none.
    WantRooms { connector: ConnectorId, user: UserId } -> ();
    /// Rooms are no longer made for a person (none: for anybody). Says whether anything changed.
    GiveUpRooms { connector: ConnectorId, user: Option<UserId> } -> bool;

    // People and chats.
    /// Whether an account is somebody's, whatever else can be read of them.
    IsKnown { account: String } -> bool;
    /// Whose account this is.
    WhoIs { account: String } -> Option<Person>;
    PersonById { user: UserId } -> Person;
    /// The accounts of a person on this surface.
    AccountsOf { user: UserId } -> Vec<String>;
    IsUser { name: UserName } -> bool;
    ChatOf { workspace: WorkspaceId, chat: ChatId } -> Chat;
    Chats { workspace: WorkspaceId } -> Vec<Chat>;
    /// The name that somebody gave a conversation on its surface becomes that of its chat, if who did it may; not one
    /// that was given before the title that it shows, by the surface's clock in Unix milliseconds.
    RenameChat { conversation: ConversationId, title: String, by: Option<String>, named_at: Option<i64> } -> ();

    /// Somebody named a conversation on its surface, as its chat is named from now on; `by` is their account. False:
    /// the chat has a newer title.
    ShownAs { conversation: ConversationId, title: String, by: Option<String> } -> bool;
    /// The first chat of a person exists from its first use.
    EnsureFirstChat { user: UserId } -> ();
    /// Makes a chat that was lost again under its number. Says whether it was missing.
    RestoreChat { workspace: WorkspaceId, chat: ChatId, title: String } -> bool;
    IsWorkspace { workspace: WorkspaceId } -> bool;

    // What is heard.
    /// Who speaks and to which chat, for something that was heard. One that leads somewhere is known from then on.
    /// `language` is what the platform says of the sender, as a tag such as `de-AT`, where it says something.
    Locate { connector: ConnectorId, sender: String, heard: Heard, language: Option<String> } -> Located;
    /// Stores a message and wakes the cell that answers it. What was stored before is never refused.
    Receive { message: Incoming } -> Receipt;
    StoredMessage { speaker: Speaker, id: MessageId } -> Option<Stored>;
    /// What was stored of a message that was said in a conversation, whoever said it.
    StoredIn { conversation: ConversationId, id: MessageId } -> Option<Stored>;
    /// Whether something was stored under this id, whoever said it.
    WasStored { id: String } -> bool;
    /// Stops the answer to a message.
    CancelTurn { message: i64 } -> ();
    /// The answer that a message of ours is the beginning of.
    AnswerToldBy { conversation: ConversationId, message: String } -> Option<String>;
    /// Whether a message of ours asks something.
    Asks { conversation: ConversationId, message: String } -> bool;
    /// Whether a message is known as one of ours.
    IsPosted { conversation: ConversationId, message: String } -> bool;
    /// Since when it is not known whether a post got there; none: it is known, or nothing was tried.
    InDoubtSince { conversation: ConversationId, key: String } -> Option<i64>;
    /// Keeps an event for later; false: too many wait there already. One that waits keeps its place.
    LetWait { connector: ConnectorId, place: String, event: String, why: WhyWaiting, sealed: Option<String> } -> bool;
    /// It waits no longer: it is stored, or given up.
    StopWaiting { connector: ConnectorId, place: String, event: String } -> bool;
    WaitsIn { connector: ConnectorId, place: String } -> bool;
    /// Where something waits.
    WaitingPlaces {
        connector: ConnectorId,
        /// Also where nothing can be read yet.
        unreadable: Option<bool>,
    } -> Vec<String>;
    FirstWaiting { connector: ConnectorId, place: String, most: u32 } -> Vec<WaitingEvent>;

    /// What waits in a place, oldest first, what can't be read yet after it; without what it is sealed in.
    WaitingEvents { connector: ConnectorId, place: String } -> Vec<WaitingEvent>;
    /// An event that waits, as it came.
    SealedEvent { connector: ConnectorId, waiting: i64 } -> Option<String>;
    /// The person knows that this one waits.
    ToldThatItWaits { connector: ConnectorId, waiting: i64 } -> ();
    /// An event is not taken, now or later.
    RefuseEvent { connector: ConnectorId, event: String } -> ();
    WasRefused { connector: ConnectorId, event: String } -> bool;
    /// Keeps in the audit that words of a device were not taken.
    RefusedDevice { connector: ConnectorId, place: String, account: String, device: String, event: String } -> ();
    /// From now on a place is encrypted, whatever its server says later.
    SetEncrypted { place: String } -> ();
    WasEncrypted { place: String } -> bool;

    // Files.
    /// Begins to take a file of a person's into a chat; the number that its bytes are handed over under.
    BeginFile { speaker: Speaker, name: String } -> u64;
    /// More of it, in base64.
    WriteFile { file: u64, data: String } -> ();
    EndFile { file: u64 } -> Attachment;
    /// It is not wanted after all.
    DropFile { file: u64 } -> ();
    /// Removes a file that came with a message which was not taken.
    DiscardFile { workspace: WorkspaceId, attachment: Attachment } -> ();
    /// A part of a file that is to be sent, in base64; empty at its end.
    ReadFile { file: u64, from: u64 } -> String;

    // Answers and words.
    /// Makes a token for each press, in order.
    MintButtons { conversation: ConversationId, presses: Vec<Press> } -> Vec<String>;
    /// Does what a button does, as the person whose account pressed it.
    PressButton { connector: ConnectorId, place: String, by: String, token: String, below: Below } -> ButtonDone;
    /// The conversation that a button was made for.
    ButtonPlace { connector: ConnectorId, token: String } -> Option<String>;
    /// Answers the question that a message of ours asks; false: it asks nothing.
    PressAnswer { conversation: ConversationId, message: String, by: String, answer: Answer } -> bool;
    /// What somebody may choose from where they type.
    Choices {
        connector: ConnectorId,
        by: String,
        place: String,
        thread_of: Option<String>,
        private: bool,
        kind: ChoiceKind,
        typed: String,
    } -> Vec<Choice>;
    /// Whether to say something that would otherwise be said again and again.
    OnceAWhile { key: String } -> bool;
    /// What to say to a stranger who was told before and begins anew.
    RefusalAgain { account: String } -> Option<String>;
    /// What a stranger was to be told could not be said.
    TakeBackRefusal { account: String } -> ();
    /// The answer to who asks for a code.
    PairingWords { account: String, name: String } -> Option<String>;
    /// Who the agent is and how to begin.
    Welcome { user: UserId } -> String;
}
