//! Certificates that are not roots: what is asked for, what is issued, what somebody shows.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine;
use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, CertificateSigningRequestDer, PrivateKeyDer, PrivatePkcs8KeyDer,
};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::clock::{Moment, validity};
use crate::error::PkiError;
use crate::name::ClientName;
use crate::root::Root;
use crate::tls::SERVER_NAME;

/// What the clocks of two machines may differ by.
pub(crate) const SKEW: Duration = Duration::from_secs(5 * 60);
/// The largest signing request that is looked at.
const MAX_REQUEST: usize = 8 << 10;

/// A key that somebody wants a certificate for, and has shown to hold.
pub struct SigningRequest(rcgen::PublicKey);

impl SigningRequest {
    /// Reads a request as PEM and checks its signature. Names and purposes in it are not looked at.
    pub fn parse(pem: &str) -> Result<Self, PkiError> {
        let bad = |why: String| PkiError::BadRequest { why };
        if pem.len() > MAX_REQUEST {
            return Err(bad("it is too large".to_owned()));
        }
        let der = CertificateSigningRequestDer::from_pem_slice(pem.as_bytes())
            .map_err(|error| bad(error.to_string()))?;
        let request = CertificateSigningRequestParams::from_der(&der)
            .map_err(|error| bad(error.to_string()))?;
        let algorithm = PublicKeyData::algorithm(&request.public_key);
        let known = [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519];
        if !known.contains(&algorithm) {
            return Err(bad("its key is neither ECDSA P-256 nor Ed25519".to_owned()));
        }
        Ok(Self(request.public_key))
    }
}

/// What the listener shows: a chain and the key of its first certificate.
pub struct ServerIdentity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    pub expires: Moment,
}

impl std::fmt::Debug for ServerIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerIdentity").field("expires", &self.expires).finish_non_exhaustive()
    }
}

impl ServerIdentity {
    /// A new key with a certificate for this machine and these further names. `above` is what else is
    /// shown: whatever leads from any trusted root to this certificate.
    pub(crate) fn issue(
        root: &Root,
        above: Vec<CertificateDer<'static>>,
        names: &[String],
        (now, life): (Moment, Duration),
    ) -> Result<Self, PkiError> {
        let failed = || PkiError::make("server certificate");
        let here = [SERVER_NAME, "localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let names: Vec<String> = here.into_iter().chain(names.iter().cloned()).collect();
        let expires = now.after(life).min(root.expires);
        let mut params = CertificateParams::new(names).map_err(failed())?;
        fill(&mut params, "Cloister admin listener", (now, expires))?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate().map_err(failed())?;
        let certificate = params.signed_by(&key, &root.issuer).map_err(failed())?;
        let mut chain = vec![certificate.der().clone()];
        chain.extend(above);
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(Self { chain, key, expires })
    }
}

/// A client's certificate, as PEM.
pub(crate) fn issue_client(
    root: &Root,
    request: &SigningRequest,
    name: ClientName,
    (now, expires): (Moment, Moment),
) -> Result<String, PkiError> {
    let failed = || PkiError::make("client certificate");
    let mut params = CertificateParams::default();
    let uri = name.to_string().try_into().map_err(failed())?;
    params.subject_alt_names = vec![SanType::URI(uri)];
    fill(&mut params, &format!("{} of {}", name.client, name.user), (now, expires))?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.signed_by(&request.0, &root.issuer).map_err(failed())?;
    Ok(certificate.pem())
}

fn fill(
    params: &mut CertificateParams,
    subject: &str,
    (now, expires): (Moment, Moment),
) -> Result<(), PkiError> {
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    params.serial_number = Some(serial()?);
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.use_authority_key_identifier_extension = true;
    validity(params, now.before(SKEW), expires);
    Ok(())
}

/// Random, positive, and never all zero.
pub(crate) fn serial() -> Result<SerialNumber, PkiError> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(PkiError::Random)?;
    if let Some(first) = bytes.first_mut() {
        *first = (*first & 0x7f) | 0x40;
    }
    Ok(SerialNumber::from_slice(&bytes))
}

/// A certificate that a client has shown, and what it says.
#[derive(Clone, Debug)]
pub struct Presented {
    pub name: ClientName,
    pub expires: Moment,
    /// The name of the root that issued it.
    pub(crate) issuer: String,
}

impl Presented {
    /// Reads a certificate whose signature is somebody else's to check. It must be for a client and
    /// nothing else, and have one name and no other.
    pub fn read(certificate: &CertificateDer<'_>) -> Result<Self, PkiError> {
        let parsed = parse(certificate)?;
        let bad = |why: &str| PkiError::BadCertificate { why: why.to_owned() };
        let unreadable = |error: x509_parser::error::X509Error| bad(&error.to_string());
        if parsed.is_ca() {
            return Err(bad("it is an authority's"));
        }
        let purposes = parsed.extended_key_usage().map_err(unreadable)?;
        let purposes = purposes.ok_or_else(|| bad("it names no purpose"))?.value;
        let another = purposes.any
            || purposes.server_auth
            || purposes.code_signing
            || purposes.email_protection
            || purposes.time_stamping
            || purposes.ocsp_signing
            || !purposes.other.is_empty();
        if !purposes.client_auth || another {
            return Err(bad("its purpose is another than to be a client"));
        }
        let names = parsed.subject_alternative_name().map_err(unreadable)?;
        let names = names.ok_or_else(|| bad("it has no name"))?.value;
        let [GeneralName::URI(uri)] = names.general_names.as_slice() else {
            return Err(bad("it does not have exactly one name of a client"));
        };
        let name = uri.parse().map_err(|error: crate::ParseNameError| bad(&error.to_string()))?;
        Ok(Self { name, expires: expiry(&parsed), issuer: common_name(parsed.issuer())? })
    }
}

fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, PkiError> {
    match X509Certificate::from_der(certificate) {
        Ok(([], parsed)) => Ok(parsed),
        Ok(_) => Err(PkiError::BadCertificate { why: "something follows it".to_owned() }),
        Err(error) => Err(PkiError::BadCertificate { why: error.to_string() }),
    }
}

pub(crate) fn subject_and_expiry(
    certificate: &CertificateDer<'_>,
) -> Result<(String, Moment), PkiError> {
    let parsed = parse(certificate)?;
    Ok((common_name(parsed.subject())?, expiry(&parsed)))
}

fn expiry(parsed: &X509Certificate<'_>) -> Moment {
    Moment::from_ms(parsed.validity().not_after.timestamp().saturating_mul(1000))
}

fn common_name(name: &x509_parser::x509::X509Name<'_>) -> Result<String, PkiError> {
    let mut names = name.iter_common_name().map(|part| part.as_str().map(str::to_owned));
    match (names.next(), names.next()) {
        (Some(Ok(name)), None) => Ok(name),
        _ => Err(PkiError::BadCertificate { why: "it is not named as ours are".to_owned() }),
    }
}

pub(crate) fn to_pem(label: &str, der: &[u8]) -> String {
    let text = base64::engine::general_purpose::STANDARD.encode(der);
    let mut pem = format!("-----BEGIN {label}-----\n");
    for line in text.as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem.push_str(&format!("-----END {label}-----\n"));
    pem
}

/// Whether a name can stand in the listener's certificate.
pub(crate) fn is_server_name(name: &str) -> bool {
    let dns = || {
        name.len() <= 253
            && !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
    };
    name.parse::<IpAddr>().is_ok() || dns()
}
