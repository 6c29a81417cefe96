//! One root: a key, and the certificate that others trust.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use sha2::{Digest, Sha256};

use crate::certificate::{SKEW, serial};
use crate::clock::{Moment, validity};
use crate::error::PkiError;
use crate::files::{read_private, write_private};

/// How long a root is good for; it is meant to be rotated long before.
const LIFE: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// SHA-256 of a root certificate, as people compare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, hex::FromHexError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

pub(crate) struct Root {
    pub(crate) number: u32,
    /// The subject of its certificate, and the issuer of those it issues.
    pub(crate) name: String,
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) issuer: Issuer<'static, KeyPair>,
    pub(crate) expires: Moment,
}

impl Root {
    /// Makes a root and keeps it in `dir`.
    pub(crate) fn create(dir: &Path, number: u32, now: Moment) -> Result<Self, PkiError> {
        let key = KeyPair::generate().map_err(PkiError::make("root key"))?;
        // Named apart from every other root there ever was: a certificate says which one issued it.
        let mut params = params(&format!("Cloister root {number} {}", tag()?), now)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
        let certificate = params.self_signed(&key).map_err(PkiError::make("root certificate"))?;
        write_private(&dir.join(key_file(number)), key.serialize_pem().as_bytes())?;
        write_private(&dir.join(certificate_file(number)), certificate.pem().as_bytes())?;
        Self::new(number, certificate.der().clone(), key)
    }

    pub(crate) fn load(dir: &Path, number: u32) -> Result<Self, PkiError> {
        let key_path = dir.join(key_file(number));
        let path = dir.join(certificate_file(number));
        let missing = |path: &Path| PkiError::Corrupt {
            path: path.to_owned(),
            why: "it is gone; restore <data>/ca from a backup".to_owned(),
        };
        let key = read_private(&key_path)?.ok_or_else(|| missing(&key_path))?;
        let pem = read_private(&path)?.ok_or_else(|| missing(&path))?;
        let unreadable =
            |path: &Path, why: String| PkiError::Corrupt { path: path.to_owned(), why };
        let key =
            KeyPair::from_pem(&key).map_err(|error| unreadable(&key_path, error.to_string()))?;
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes())
            .map_err(|error| unreadable(&path, error.to_string()))?;
        Self::new(number, certificate, key)
    }

    fn new(
        number: u32,
        certificate: CertificateDer<'static>,
        key: KeyPair,
    ) -> Result<Self, PkiError> {
        let (name, expires) = crate::certificate::subject_and_expiry(&certificate)?;
        let issuer = Issuer::from_ca_cert_der(&certificate, key)
            .map_err(PkiError::make("certificate issuer"))?;
        Ok(Self { number, name, certificate, issuer, expires })
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    pub(crate) fn pem(&self) -> String {
        crate::certificate::to_pem("CERTIFICATE", &self.certificate)
    }

    /// This root's name and key, vouched for by another: who trusts that one trusts this one too.
    pub(crate) fn crossed_by(
        &self,
        other: &Self,
        now: Moment,
    ) -> Result<CertificateDer<'static>, PkiError> {
        let mut params = params(&self.name, now)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        validity(&mut params, now.before(SKEW), other.expires);
        params.use_authority_key_identifier_extension = true;
        let crossed = params
            .signed_by(self.issuer.key(), &other.issuer)
            .map_err(PkiError::make("cross certificate"))?;
        Ok(crossed.der().clone())
    }
}

fn params(name: &str, now: Moment) -> Result<CertificateParams, PkiError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.serial_number = Some(serial()?);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    validity(&mut params, now.before(SKEW), now.after(LIFE));
    Ok(params)
}

fn tag() -> Result<String, PkiError> {
    let mut bytes = [0u8; 4];
    getrandom::fill(&mut bytes).map_err(PkiError::Random)?;
    Ok(hex::encode(bytes))
}

pub(crate) fn key_file(number: u32) -> String {
    format!("root-{number}.key")
}

pub(crate) fn certificate_file(number: u32) -> String {
    format!("root-{number}.pem")
}
