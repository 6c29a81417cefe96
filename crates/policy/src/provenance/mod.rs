//! Where content came from, and where it may go.
//!
//! Owns: the marks of content, how they flow through a task, and which sinks need a person once
//! something untrusted has flowed in. Promises: marks only add up, there is no way to take one away;
//! everything is judged by what the control plane has recorded itself (what the person wrote, what
//! passed through the broker), never by what a cell says.
//!
//! # How marks flow
//!
//! Inside of a sandbox nobody sees what was read and what was not. So a task counts as having read
//! everything that it could:
//!
//! | step | labels |
//! |---|---|
//! | a task starts | of the words that led to it ⊔ of all that its chat has heard ⊔ of every file its sandbox can read |
//! | a page, a mail, a tool's result, a memory comes in | of the task ⊔ of that |
//! | the model answers, a context is summarised | of the task |
//! | a file is written, or named | of the task |
//! | a sub-task starts | of the parent ⊔ of the files it can read |
//! | a sub-task ends | of the parent ⊔ of the sub-task |
//! | a memory, a skill, a schedule is written | of the task; whoever reads it later takes them over |
//!
//! # When a person is asked
//!
//! A plain latch (something untrusted was seen, so every sink asks) stops every attack, and asks about
//! once in each harmless task: people who ask for a page to be read and its summary mailed get a
//! question for what they have just said. But such a person has named the recipient. An attacker's
//! page can name another one; it can't put it into the person's own words. So a sink goes on without
//! a question when what makes it dangerous, its *argument*, is one that the person themselves named:
//!
//! - "summarise `https://blog.test/post`" lets exactly that address be read. The page can't have
//!   `https://blog.test/?leak=…` read, though it is the same host: an address is asked for whole, or
//!   is a link that stood in fetched content before, or adds to one of these a phrase of the person's
//!   own ("find *acme kettle* on shop.test" → `/search?q=acme+kettle`). Anything else was put
//!   together in the task, and could carry what the task has read.
//! - "… and mail it to bob@example.com" lets a mail go to Bob as far as provenance is concerned; to
//!   anyone else, or to Bob and one more, is asked. (That it is a mail at all is the gate's to ask.)
//! - a secret is used without a question at a host that the person named.
//! - a memory is kept without a question when it is the person's own saying.
//!
//! A link to a host that the person did not name is a new destination, and is asked. Standing grants
//! are not consulted where provenance asks: they were given for what the person starts, not for what
//! a page does.
//!
//! What is quoted, fenced, indented as code or forwarded in a person's message is not their own words,
//! in whichever reading; nor is what stands below the banner or the head of a mail, or between quotation marks over
//! several lines. What they paste without any of these is taken for theirs; nothing can tell it apart.
//!
//! # What remains
//!
//! Choosing which of the given links to follow, or which phrase to search for, tells the named host a
//! few bits per request. They are counted, for each message of a person and host, and beyond [`FREE_BITS`] a person is
//! asked.

mod address;
mod asked;
mod flow;
mod hidden;
mod mark;
mod own;
mod passed_on;
mod phrase;
mod seen;
mod speech;

pub use address::Address;
pub use asked::Asked;
pub use flow::{FREE_BITS, Flow, Sink, TaskContext};
pub use mark::{Labels, Mark};
pub use seen::Seen;

#[cfg(test)]
#[path = "largest_tests.rs"]
mod largest_tests;
