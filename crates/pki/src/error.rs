//! What can go wrong with certificates.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    #[error("{} could not be {what}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{} is not what it should be: {why}", path.display())]
    Corrupt { path: PathBuf, why: String },
    #[error("a {what} could not be made")]
    Make { what: &'static str, source: rcgen::Error },
    #[error("the certificate signing request is not one: {why}")]
    BadRequest { why: String },
    #[error("the certificate can't be read: {why}")]
    BadCertificate { why: String },
    #[error("TLS could not be set up")]
    Tls(#[from] rustls::Error),
    #[error("the random source of this machine could not be read")]
    Random(#[source] getrandom::Error),
    /// The authority is in another phase than this needs.
    #[error("{why}")]
    Phase { why: &'static str, fix: &'static str },
}

impl PkiError {
    pub(crate) fn make(what: &'static str) -> impl FnOnce(rcgen::Error) -> Self {
        move |source| Self::Make { what, source }
    }
}
