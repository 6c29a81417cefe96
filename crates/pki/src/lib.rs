//! The internal certificate authority: who may connect to the admin listener, and how they know it.
//!
//! Owns: the roots under `<data>/ca/`, the certificates they issue, the rules of both sides of the TLS
//! handshake. Promises: TLS 1.3 alone; a client is let in only by a certificate of a trusted root, for
//! this purpose, with exactly one name, which the roster knows; nothing that a signing request asks for
//! counts but its key; a rotation that stops half-way leaves an authority that works.

mod authority;
mod certificate;
mod clock;
mod error;
mod files;
mod identity;
mod invitation;
mod name;
mod root;
mod tls;
mod verifier;

pub use authority::{Authority, Phase};
pub use certificate::{Presented, ServerIdentity, SigningRequest};
pub use clock::Moment;
pub use error::PkiError;
pub use files::write_private;
pub use identity::{Identity, NewKey};
pub use invitation::{Invitation, ParseInvitationError};
pub use name::{ClientName, ParseNameError};
pub use root::Fingerprint;
pub use tls::{
    ADMIN_PROTOCOL, ENROL_PROTOCOL, SERVER_NAME, admin_server, enrolling_client, enrolment_server,
    server_name,
};
pub use verifier::Roster;
