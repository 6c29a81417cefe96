//! TLS, the same on both sides: one provider of cryptography, HTTP/1.1 alone.

use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, ServerConfig, WantsVerifier};
use tokio_rustls::TlsConnector;

/// No HTTP/2: on one connection of it, requests to several hosts may be mixed.
pub(super) const HTTP_1_1: &[u8] = b"http/1.1";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

pub(super) fn server_builder() -> Result<ConfigBuilder<ServerConfig, WantsVerifier>, rustls::Error>
{
    ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()
}

/// What connects to hosts outside; their certificates are verified.
pub(super) fn connector(
    roots: Vec<CertificateDer<'static>>,
) -> Result<TlsConnector, rustls::Error> {
    let mut store = RootCertStore::empty();
    let (_added, ignored) = store.add_parsable_certificates(roots);
    if ignored > 0 {
        tracing::debug!(ignored, "some certificate authorities of the system are not usable");
    }
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![HTTP_1_1.to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
