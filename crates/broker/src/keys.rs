//! The keys of the providers: where they are read, and the type that can't print them.

use std::fmt;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use axum::http::HeaderValue;
use cloister_store::models::KeyRef;

/// The one reader of keys.
#[derive(Clone)]
pub struct KeyRing {
    dir: PathBuf,
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyRing(redacted)")
    }
}

/// A key that could not be read. Names the place, never the key; and not where on the host the place
/// is, for a cell may see it.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the environment variable {variable} holds no key")]
    NoVariable { variable: String },
    #[error("the file {name} in the directory of keys could not be read: {reason}")]
    Unreadable { name: String, reason: io::ErrorKind },
    #[error("the file {name} in the directory of keys can be read by others: run chmod 600 on it")]
    Exposed { name: String },
    #[error("the key in {place} is empty or has characters that no key has")]
    Malformed { place: String },
}

impl KeyRing {
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Whether the key is there and usable, for checks; the key itself stays inside the broker.
    pub fn check(&self, key: &KeyRef) -> Result<(), KeyError> {
        self.read(key).map(|_present| ())
    }

    /// Read for each call, so that a key that was replaced takes effect at once.
    pub(crate) fn read(&self, key: &KeyRef) -> Result<Option<ApiKey>, KeyError> {
        let text = match key {
            KeyRef::None => return Ok(None),
            KeyRef::Env(variable) => read_variable(variable)
                .ok_or_else(|| KeyError::NoVariable { variable: variable.clone() })?,
            KeyRef::File(name) => self.read_file(name)?,
        };
        ApiKey::parse(&text).map(Some).ok_or_else(|| KeyError::Malformed { place: key.to_string() })
    }

    fn read_file(&self, name: &str) -> Result<String, KeyError> {
        let path = self.dir.join(name);
        let unreadable =
            |e: io::Error| KeyError::Unreadable { name: name.to_owned(), reason: e.kind() };
        let metadata = std::fs::metadata(&path).map_err(unreadable)?;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(KeyError::Exposed { name: name.to_owned() });
        }
        std::fs::read_to_string(&path).map_err(unreadable)
    }
}

#[expect(clippy::disallowed_methods, reason = "`env:VAR` is a place of keys; this is their reader")]
fn read_variable(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// A key. Prints as nothing.
pub(crate) struct ApiKey(String);

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(redacted)")
    }
}

impl ApiKey {
    /// A key as it was pasted; none if no key looks like this.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let printable = !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        printable.then(|| Self(text.to_owned()))
    }

    /// The header that carries it, marked so that no layer below prints it.
    pub(crate) fn bearer(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The key alone, for providers that have a header of their own for it; marked likewise.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&self.0).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// What a provider said, without the key in case it repeats it.
    pub(crate) fn strip_from(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
