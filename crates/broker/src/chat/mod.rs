//! Calls to models: what a cell may ask, which provider answers it, and what it costs.
//!
//! `request` reads what the cell wrote and says it again in the one form of `shape`, `call` walks the chain of models, `attempt` is one try on one
//! of them, in the words of that model (`dialect`, `text_calls`), `meter` holds and settles its cost, `events` reads the answer as it passes, `masked`
//! takes secrets out of it, `collect` puts it together for a caller that does not want a stream. `trial` finds out
//! what a model can do.

mod attempt;
mod call;
mod collect;
mod diagnosis;
mod dialect;
mod events;
mod failure;
mod gateway;
mod masked;
mod meter;
mod one_piece;
mod patience;
mod pictures;
mod request;
mod retry_after;
mod shape;
mod shares;
mod text_calls;
mod trial;

pub(crate) use call::Piece;
pub(crate) use collect::collect;
pub use gateway::{ModelGateway, Probe};
pub(crate) use masked::MaskedPieces;
pub(crate) use request::ChatRequest;
