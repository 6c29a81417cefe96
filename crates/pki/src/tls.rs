//! Both sides of the handshake: TLS 1.3, no resumption, one protocol per purpose.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WantsServerCert};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    ServerConfig, SignatureScheme,
};

use crate::authority::Authority;
use crate::certificate::ServerIdentity;
use crate::error::PkiError;
use crate::root::Fingerprint;
use crate::verifier::{ClientVerifier, Roster};

/// What the listener's certificate is always for, wherever it is reached: its root vouches for nothing
/// else that serves.
pub const SERVER_NAME: &str = "admin.cloister.internal";
/// What a client with a certificate speaks.
pub const ADMIN_PROTOCOL: &[u8] = b"http/1.1";
/// What a client without one speaks: a handshake of its own, which leads to enrolment alone.
pub const ENROL_PROTOCOL: &[u8] = b"cloister-enroll/1";

pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The name that every client expects.
pub fn server_name() -> ServerName<'static> {
    // A constant of ours that is a name.
    ServerName::try_from(SERVER_NAME).unwrap_or(ServerName::IpAddress(
        rustls::pki_types::IpAddr::V4(rustls::pki_types::Ipv4Addr::from([127, 0, 0, 1])),
    ))
}

/// For clients that have a certificate; a handshake without one fails.
pub fn admin_server(
    authority: &Authority,
    identity: &ServerIdentity,
    roster: Arc<dyn Roster>,
) -> Result<ServerConfig, PkiError> {
    let verifier = Arc::new(ClientVerifier::new(authority.roots(), roster)?);
    let builder = server_builder()?.with_client_cert_verifier(verifier);
    finished(builder, identity, ADMIN_PROTOCOL)
}

/// For clients that have none yet.
pub fn enrolment_server(identity: &ServerIdentity) -> Result<ServerConfig, PkiError> {
    finished(server_builder()?.with_no_client_auth(), identity, ENROL_PROTOCOL)
}

fn server_builder() -> Result<ConfigBuilder<ServerConfig, rustls::WantsVerifier>, PkiError> {
    Ok(ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?)
}

fn finished(
    builder: ConfigBuilder<ServerConfig, WantsServerCert>,
    identity: &ServerIdentity,
    protocol: &[u8],
) -> Result<ServerConfig, PkiError> {
    let mut config = builder.with_single_cert(identity.chain.clone(), identity.key.clone_key())?;
    config.alpn_protocols = vec![protocol.to_vec()];
    // A session that is taken up again shows no certificate: a revoked client must not have one.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// A client with its certificate, that trusts these roots and no others.
pub(crate) fn admin_client(
    roots: Vec<CertificateDer<'static>>,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<ClientConfig, PkiError> {
    let mut store = RootCertStore::empty();
    for root in roots {
        store.add(root)?;
    }
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_root_certificates(store)
        .with_client_auth_cert(vec![certificate], key)?;
    Ok(closed(config, ADMIN_PROTOCOL))
}

/// A client that knows nothing but the fingerprint of the root.
pub fn enrolling_client(pin: Fingerprint) -> Result<ClientConfig, PkiError> {
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(PinnedRoot(pin)))
        .with_no_client_auth();
    Ok(closed(config, ENROL_PROTOCOL))
}

fn closed(mut config: ClientConfig, protocol: &[u8]) -> ClientConfig {
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    config
}

/// Trusts the root of this fingerprint, which the server must show, and what it vouches for.
#[derive(Debug)]
struct PinnedRoot(Fingerprint);

impl ServerCertVerifier for PinnedRoot {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let root = intermediates.iter().find(|shown| Fingerprint::of(shown) == self.0);
        let root = root.ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))?;
        let mut store = RootCertStore::empty();
        store.add(root.clone().into_owned())?;
        WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider())
            .build()
            .map_err(|error| Error::General(error.to_string()))?
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
