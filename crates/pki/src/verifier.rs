//! Whom the listener lets in, decided in the handshake.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
};

use crate::certificate::Presented;
use crate::error::PkiError;
use crate::name::ClientName;
use crate::root::Root;
use crate::tls::provider;

/// Who is enrolled and not revoked, now.
pub trait Roster: Send + Sync {
    fn admits(&self, name: ClientName) -> bool;
}

/// A certificate of a trusted root, for a client and nothing else, of somebody on the roster.
pub(crate) struct ClientVerifier {
    chain: Arc<dyn ClientCertVerifier>,
    roster: Arc<dyn Roster>,
}

impl fmt::Debug for ClientVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientVerifier").finish_non_exhaustive()
    }
}

impl ClientVerifier {
    pub(crate) fn new<'a>(
        roots: impl Iterator<Item = &'a Root>,
        roster: Arc<dyn Roster>,
    ) -> Result<Self, PkiError> {
        let mut store = RootCertStore::empty();
        for root in roots {
            store.add(root.certificate.clone())?;
        }
        let chain = WebPkiClientVerifier::builder_with_provider(Arc::new(store), provider())
            .build()
            .map_err(|error| Error::General(error.to_string()))?;
        Ok(Self { chain, roster })
    }
}

impl ClientCertVerifier for ClientVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        // Roots issue to clients directly: nothing that a client adds can lead to one.
        let verified = self.chain.verify_client_cert(end_entity, &[], now)?;
        let refused =
            || Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure);
        let presented = Presented::read(end_entity).map_err(|_refused: PkiError| refused())?;
        if !self.roster.admits(presented.name) {
            return Err(Error::InvalidCertificate(CertificateError::Revoked));
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}
