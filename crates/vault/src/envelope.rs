//! Envelopes: a data key per owner, sealed under the master key; values sealed under the data key.
//!
//! Everything sealed is bound to what it is (owner, name, version, binding): moved elsewhere, it does not
//! open. XChaCha20-Poly1305 with a random nonce of 192 bits, so that nonces never meet.

use std::fmt;

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::binding::Binding;
use crate::canonical::Canonical;
use crate::error::VaultError;
use crate::master::MasterId;
use crate::owner::Owner;
use crate::secret::{SecretName, SecretValue};

/// The first byte of everything sealed, for the day the cipher changes.
const FORMAT: u8 = 1;
const NONCE: usize = 24;

/// A key of 256 bits that does not print and is wiped when dropped.
#[derive(Clone)]
pub(crate) struct RawKey(Box<Zeroizing<[u8; 32]>>);

impl RawKey {
    pub(crate) fn random() -> Result<Self, VaultError> {
        let mut key = Box::new(Zeroizing::new([0; 32]));
        getrandom::fill(key.as_mut_slice()).map_err(VaultError::Random)?;
        Ok(Self(key))
    }

    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        let mut key = Box::new(Zeroizing::new([0; 32]));
        if bytes.len() != key.len() {
            return None;
        }
        key.copy_from_slice(bytes);
        Some(Self(key))
    }

    pub(crate) fn expose(&self) -> &[u8] {
        self.0.as_slice()
    }

    pub(crate) fn seal(
        &self,
        bound_to: &Canonical,
        plain: &[u8],
        what: &str,
    ) -> Result<Vec<u8>, VaultError> {
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).map_err(VaultError::Random)?;
        let payload = Payload { msg: plain, aad: bound_to.as_bytes() };
        let sealed =
            self.cipher().and_then(|cipher| cipher.encrypt(&XNonce::from(nonce), payload).ok());
        let sealed = sealed.ok_or_else(|| VaultError::NotSealed { what: what.to_owned() })?;
        let mut bytes = Vec::with_capacity(1 + NONCE + sealed.len());
        bytes.push(FORMAT);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&sealed);
        Ok(bytes)
    }

    pub(crate) fn open(
        &self,
        bound_to: &Canonical,
        sealed: &[u8],
        what: &str,
    ) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let closed = || VaultError::DoesNotOpen { what: what.to_owned() };
        let (format, rest) = sealed.split_first().ok_or_else(closed)?;
        let (nonce, body) = rest.split_first_chunk::<NONCE>().ok_or_else(closed)?;
        if *format != FORMAT {
            return Err(closed());
        }
        let payload = Payload { msg: body, aad: bound_to.as_bytes() };
        let opened =
            self.cipher().and_then(|cipher| cipher.decrypt(&XNonce::from(*nonce), payload).ok());
        opened.map(Zeroizing::new).ok_or_else(closed)
    }

    fn cipher(&self) -> Option<XChaCha20Poly1305> {
        XChaCha20Poly1305::new_from_slice(self.expose()).ok()
    }
}

/// A data key as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedDataKey {
    /// The master key it is sealed under.
    pub master: MasterId,
    pub bytes: Vec<u8>,
}

/// What a sealed value is bound to.
#[derive(Clone, Copy, Debug)]
pub struct SecretContext<'a> {
    pub owner: Owner,
    pub name: &'a SecretName,
    pub version: u64,
    pub binding: &'a Binding,
}

impl SecretContext<'_> {
    fn canonical(&self) -> Canonical {
        let fields = Canonical::new("cloister secret v1")
            .text(&self.owner.to_string())
            .text(self.name.as_str())
            .number(self.version);
        self.binding.add_to(fields)
    }

    fn what(&self) -> String {
        format!("secret {} of {} (version {})", self.name, self.owner, self.version)
    }
}

/// The opened data key of one owner.
#[derive(Clone)]
pub struct DataKey(pub(crate) RawKey);

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey(…)")
    }
}

impl DataKey {
    pub fn seal(
        &self,
        context: &SecretContext<'_>,
        value: &SecretValue,
    ) -> Result<Vec<u8>, VaultError> {
        self.0.seal(&context.canonical(), value.expose(), &context.what())
    }

    pub fn open(
        &self,
        context: &SecretContext<'_>,
        sealed: &[u8],
    ) -> Result<SecretValue, VaultError> {
        let mut plain = self.0.open(&context.canonical(), sealed, &context.what())?;
        Ok(SecretValue::new(std::mem::take(&mut *plain)))
    }
}
