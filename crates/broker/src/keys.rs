//! The keys of the providers: where they are read, and the type that can't print them.

use std::fmt;
use std::path::PathBuf;

use axum::http::HeaderValue;
use cloister_control::books::{KeyRef, SecretError, key_secret};
use cloister_control::{Books, Fault};
use cloister_protocol::UserId;
use cloister_vault::Owner;

/// The one reader of keys.
#[derive(Clone)]
pub struct KeyRing {
    books: Books,
    /// Where the files are that are sealed at each start.
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
    #[error("there is no key {name}")]
    Missing { name: String },
    #[error(
        "the key {name} is a plain file in the directory of keys: it is sealed, and used, after a restart"
    )]
    Plain { name: String },
    #[error("the key {name} could not be opened")]
    Unopened { name: String, source: Box<SecretError> },
    #[error("the key of {name} could not be opened")]
    OwnUnopened { name: String, source: Box<Fault> },
    #[error("the key in {place} is empty or has characters that no key has")]
    Malformed { place: String },
}

impl KeyRing {
    pub fn new(books: Books, dir: PathBuf) -> Self {
        Self { books, dir }
    }

    /// Whether the key is there and usable, for checks; the key itself stays inside the broker.
    pub async fn check(&self, key: &KeyRef) -> Result<(), KeyError> {
        self.read(key).await.map(|_present| ())
    }

    /// Whether everything is stopped until released: no key is used then.
    pub(crate) fn is_stopped(&self) -> bool {
        self.books.is_stopped()
    }

    /// Read for each call, so that a key that was replaced takes effect at once.
    pub(crate) async fn read(&self, key: &KeyRef) -> Result<Option<ApiKey>, KeyError> {
        let text = match key {
            KeyRef::None => return Ok(None),
            KeyRef::Env(variable) => read_variable(variable)
                .ok_or_else(|| KeyError::NoVariable { variable: variable.clone() })?,
            KeyRef::Sealed(name) => self.open(name).await?,
            KeyRef::Own { user, name } => match self.open_own(*user, name).await? {
                Some(text) => text,
                None => return Ok(None),
            },
        };
        ApiKey::parse(&text).map(Some).ok_or_else(|| KeyError::Malformed { place: key.to_string() })
    }

    /// The key of somebody's own model.
    async fn open_own(&self, user: UserId, name: &str) -> Result<Option<String>, KeyError> {
        let opened = self.books.open_own_key(user, name).await.map_err(|source| {
            KeyError::OwnUnopened { name: name.to_owned(), source: Box::new(source) }
        })?;
        Ok(opened.map(|value| String::from_utf8_lossy(value.expose()).into_owned()))
    }

    async fn open(&self, name: &str) -> Result<String, KeyError> {
        let missing = || KeyError::Missing { name: name.to_owned() };
        let secret = key_secret(name).map_err(|_unfit| missing())?;
        match self.books.open_secret(Owner::Platform, &secret).await {
            Ok(opened) => Ok(String::from_utf8_lossy(opened.value.expose()).into_owned()),
            Err(SecretError::NoSecret { .. }) if self.dir.join(name).exists() => {
                Err(KeyError::Plain { name: name.to_owned() })
            }
            Err(SecretError::NoSecret { .. }) => Err(missing()),
            Err(source) => {
                Err(KeyError::Unopened { name: name.to_owned(), source: Box::new(source) })
            }
        }
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
