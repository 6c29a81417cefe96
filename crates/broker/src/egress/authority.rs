//! The certificate authority of one door, which only its sandbox trusts.
//!
//! Its key is made when it is first needed, stays in memory, and goes with the door.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_control::Clock;
use cloister_policy::egress::Host;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::NoServerSessionStorage;

use super::tls;

/// Hosts whose certificates are kept.
const KEPT: usize = 256;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Longer than any door is open; some programs refuse certificates that are valid for years.
const VALID_DAYS: u32 = 365;

#[derive(Debug, thiserror::Error)]
pub(super) enum AuthorityError {
    #[error("a certificate could not be made")]
    Certificate(#[from] rcgen::Error),
    #[error("a certificate could not be used")]
    Tls(#[from] rustls::Error),
}

pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    /// The one key of all hosts: whoever has it has this door.
    host_key: KeyPair,
    hosts: Mutex<HashMap<Host, Arc<ServerConfig>>>,
}

impl Authority {
    pub(super) fn new(owner: &str) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = params(&format!("Cloister door of {owner}"), Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            pem: certificate.pem(),
            certificate: certificate.der().clone(),
            issuer: Issuer::new(params, key),
            host_key: KeyPair::generate()?,
            hosts: Mutex::default(),
        })
    }

    /// The certificate that the sandbox is to trust.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// How to be `host` for this sandbox.
    pub(super) fn server_for(&self, host: &Host) -> Result<Arc<ServerConfig>, AuthorityError> {
        if let Some(known) = self.lock().get(host) {
            return Ok(Arc::clone(known));
        }
        let config = Arc::new(self.make_server(host)?);
        let mut hosts = self.lock();
        if hosts.len() >= KEPT {
            hosts.clear();
        }
        hosts.insert(host.clone(), Arc::clone(&config));
        Ok(config)
    }

    fn make_server(&self, host: &Host) -> Result<ServerConfig, AuthorityError> {
        // A common name has at most 64 characters; the name that counts is the alternative one.
        let mut params = params("Cloister", vec![host.to_string()])?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&self.host_key, &self.issuer)?;
        let key = PrivatePkcs8KeyDer::from(self.host_key.serialize_der());
        let chain = vec![certificate.der().clone(), self.certificate.clone()];
        let mut config = tls::server_builder()?
            .with_no_client_auth()
            .with_single_cert(chain, PrivateKeyDer::Pkcs8(key))?;
        config.alpn_protocols = vec![tls::HTTP_1_1.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Host, Arc<ServerConfig>>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn params(name: &str, hosts: Vec<String>) -> Result<CertificateParams, AuthorityError> {
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let since_1970 = Duration::from_millis(u64::try_from(Clock.now_ms()).unwrap_or(0));
    let now = rcgen::date_time_ymd(1970, 1, 1) + since_1970;
    params.not_before = now - DAY;
    params.not_after = now + DAY * VALID_DAYS;
    Ok(params)
}
