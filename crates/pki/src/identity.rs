//! What an enrolled machine holds: its key, its certificate, the roots it trusts.

use std::path::Path;
use std::time::Duration;

use rcgen::{CertificateParams, DistinguishedName, KeyPair};
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::{Deserialize, Serialize};

use cloister_protocol::admin::Key;
use cloister_protocol::admin::clients::ClientCertificate;
use cloister_protocol::{ClientId, UserName};

use crate::clock::Moment;
use crate::error::PkiError;
use crate::files::{create_dir, read_private, write_private};
use crate::tls::admin_client;

/// A key that has no certificate yet.
pub struct NewKey(KeyPair);

impl NewKey {
    pub fn make() -> Result<Self, PkiError> {
        Ok(Self(KeyPair::generate().map_err(PkiError::make("client key"))?))
    }

    #[cfg(test)]
    pub(crate) fn of(key: KeyPair) -> Self {
        Self(key)
    }

    /// The signing request for it, as PEM. It names nobody: the control plane knows who asks.
    pub fn request(&self) -> Result<String, PkiError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        let request = params.serialize_request(&self.0);
        request.and_then(|request| request.pem()).map_err(PkiError::make("signing request"))
    }

    /// The key with the certificate it was given.
    pub fn with(self, address: &str, issued: ClientCertificate) -> Identity {
        Identity {
            address: address.to_owned(),
            user: issued.user,
            client: issued.client,
            key: Key::new(self.0.serialize_pem()),
            certificate: issued.certificate,
            roots: issued.roots,
            issued_at: issued.issued_at,
            expires_at: issued.expires_at,
        }
    }
}

/// The identity of this machine towards one control plane: one file, replaced whole.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// `HOST:PORT` of the admin listener.
    pub address: String,
    pub user: UserName,
    pub client: ClientId,
    key: Key,
    certificate: String,
    roots: String,
    pub issued_at: i64,
    pub expires_at: i64,
}

impl Identity {
    /// Reads an identity; none if there is none.
    pub fn load(path: &Path) -> Result<Option<Self>, PkiError> {
        let Some(text) = read_private(path)? else { return Ok(None) };
        let identity = serde_json::from_str(&text);
        identity
            .map(Some)
            .map_err(|error| PkiError::Corrupt { path: path.to_owned(), why: error.to_string() })
    }

    pub fn save(&self, path: &Path) -> Result<(), PkiError> {
        if let Some(dir) = path.parent() {
            create_dir(dir)?;
        }
        let json = serde_json::to_vec_pretty(self)
            .map_err(|error| PkiError::Corrupt { path: path.to_owned(), why: error.to_string() })?;
        write_private(path, &json)
    }

    pub fn tls(&self) -> Result<ClientConfig, PkiError> {
        let unreadable = |error: rustls::pki_types::pem::Error| PkiError::BadCertificate {
            why: error.to_string(),
        };
        let roots = CertificateDer::pem_slice_iter(self.roots.as_bytes());
        let roots = roots.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        let certificate =
            CertificateDer::from_pem_slice(self.certificate.as_bytes()).map_err(unreadable)?;
        let key =
            PrivateKeyDer::from_pem_slice(self.key.expose().as_bytes()).map_err(unreadable)?;
        admin_client(roots, certificate, key)
    }

    /// Whether less than a third of its life is left.
    pub fn is_due(&self, now: Moment) -> bool {
        let life = self.expires_at.saturating_sub(self.issued_at);
        now.ms() >= self.expires_at.saturating_sub(life / 3)
    }

    pub fn has_ended(&self, now: Moment) -> bool {
        now.ms() >= self.expires_at
    }

    pub fn life(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.expires_at - self.issued_at).unwrap_or(0))
    }
}
