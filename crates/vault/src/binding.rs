//! Where a secret may be used, and in which form: the hosts it belongs to, and the header, query field or
//! basic login it goes into.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::canonical::Canonical;
use crate::secret::SecretValue;

const MOST_HOSTS: usize = 32;
const MOST_VALUE: usize = 64 * 1024;
/// Where the value goes in a template.
const GAP: &str = "{}";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    #[error(
        "{0:?} is not a host: expected a name such as api.example.org, or with a port, api.example.org:8443"
    )]
    Host(String),
    #[error("a secret names between 1 and {MOST_HOSTS} hosts")]
    Hosts,
    #[error("{0:?} is not a header or query field name")]
    Name(String),
    #[error("the template {0:?} needs {{}} exactly once, and no control characters")]
    Template(String),
    #[error("the user {0:?} of a basic login can't hold ':' or control characters")]
    BasicUser(String),
    #[error("the value is empty or longer than {MOST_VALUE} bytes")]
    Length,
    #[error("the value holds characters that can't go into a header")]
    NotForHeaders,
}

/// One host, with its port. No wildcards: a secret names exactly where it goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Host {
    name: String,
    port: u16,
}

impl Host {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl FromStr for Host {
    type Err = BindingError;

    fn from_str(text: &str) -> Result<Self, BindingError> {
        let wrong = || BindingError::Host(text.chars().take(80).collect());
        let (name, port) = match text.split_once(':') {
            None => (text, 443),
            Some((name, port)) => {
                let canonical = port.bytes().all(|b| b.is_ascii_digit()) && !port.starts_with('0');
                let port = port.parse().ok().filter(|_| canonical);
                (name, port.ok_or_else(wrong)?)
            }
        };
        let name = name.to_ascii_lowercase();
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        };
        if name.len() <= 253 && name.split('.').all(label) {
            Ok(Self { name, port })
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            443 => f.write_str(&self.name),
            port => write!(f, "{}:{port}", self.name),
        }
    }
}

impl TryFrom<String> for Host {
    type Error = BindingError;

    fn try_from(text: String) -> Result<Self, BindingError> {
        text.parse()
    }
}

impl From<Host> for String {
    fn from(host: Host) -> Self {
        host.to_string()
    }
}

/// What a secret looks like on a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Form {
    /// A header; the template holds `{}` where the value goes, such as `Bearer {}`.
    Header {
        name: String,
        template: String,
    },
    Query {
        name: String,
    },
    /// The password of a basic login.
    Basic {
        user: String,
    },
}

/// A value in its form, ready to be put on a request.
#[derive(Clone, Debug)]
pub enum Placed {
    Header { name: String, value: SecretValue },
    Query { name: String, value: SecretValue },
}

/// Where a secret may be used, and how. Checked when it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Binding {
    hosts: Vec<Host>,
    form: Form,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    hosts: Vec<Host>,
    form: Form,
}

impl TryFrom<Unchecked> for Binding {
    type Error = BindingError;

    fn try_from(binding: Unchecked) -> Result<Self, BindingError> {
        Self::new(binding.hosts, binding.form)
    }
}

impl Binding {
    pub fn new(mut hosts: Vec<Host>, form: Form) -> Result<Self, BindingError> {
        hosts.sort();
        hosts.dedup();
        if !(1..=MOST_HOSTS).contains(&hosts.len()) {
            return Err(BindingError::Hosts);
        }
        form.check()?;
        Ok(Self { hosts, form })
    }

    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Whether the secret belongs on requests to this host and port.
    pub fn covers(&self, name: &str, port: u16) -> bool {
        self.hosts.iter().any(|host| host.port == port && host.name.eq_ignore_ascii_case(name))
    }

    /// Whether a value can go where the binding puts it.
    pub fn check_value(&self, value: &SecretValue) -> Result<(), BindingError> {
        let bytes = value.expose();
        if bytes.is_empty() || bytes.len() > MOST_VALUE {
            return Err(BindingError::Length);
        }
        let printable = bytes.iter().all(|b| (b' '..=b'~').contains(b));
        match self.form {
            Form::Header { .. } if !printable => Err(BindingError::NotForHeaders),
            Form::Header { .. } | Form::Query { .. } | Form::Basic { .. } => Ok(()),
        }
    }

    /// The value in its form. Fails for a value that `check_value` refuses.
    pub fn place(&self, value: &SecretValue) -> Result<Placed, BindingError> {
        self.check_value(value)?;
        Ok(match &self.form {
            Form::Header { name, template } => {
                let (before, after) = template.split_once(GAP).unwrap_or((template, ""));
                let text = [before.as_bytes(), value.expose(), after.as_bytes()].concat();
                Placed::Header { name: name.clone(), value: SecretValue::new(text) }
            }
            Form::Query { name } => Placed::Query { name: name.clone(), value: value.clone() },
            Form::Basic { user } => {
                let login = Zeroizing::new([user.as_bytes(), b":", value.expose()].concat());
                let text = format!("Basic {}", STANDARD.encode(&*login));
                Placed::Header { name: "authorization".to_owned(), value: text.into() }
            }
        })
    }

    /// Adds the binding to what a sealed value is bound to.
    pub(crate) fn add_to(&self, fields: Canonical) -> Canonical {
        let fields = fields.number(self.hosts.len() as u64);
        let fields = self.hosts.iter().fold(fields, |fields, host| fields.text(&host.to_string()));
        match &self.form {
            Form::Header { name, template } => fields.text("header").text(name).text(template),
            Form::Query { name } => fields.text("query").text(name),
            Form::Basic { user } => fields.text("basic").text(user),
        }
    }
}

impl Form {
    fn check(&self) -> Result<(), BindingError> {
        let plain =
            |text: &str| text.len() <= 256 && text.bytes().all(|b| (b' '..=b'~').contains(&b));
        match self {
            Self::Header { name, template } => {
                check_name(name)?;
                let once = template.matches(GAP).count() == 1;
                if once && plain(template) {
                    Ok(())
                } else {
                    Err(BindingError::Template(template.clone()))
                }
            }
            Self::Query { name } => check_name(name),
            Self::Basic { user } if plain(user) && !user.contains(':') => Ok(()),
            Self::Basic { user } => Err(BindingError::BasicUser(user.clone())),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header { name, template } => write!(f, "header {name}: {template}"),
            Self::Query { name } => write!(f, "query {name}"),
            Self::Basic { user } => write!(f, "basic {user}"),
        }
    }
}

/// A token as HTTP defines it, which is also fit for a query.
fn check_name(name: &str) -> Result<(), BindingError> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if (1..=64).contains(&name.len()) && name.bytes().all(token) {
        Ok(())
    } else {
        Err(BindingError::Name(name.chars().take(80).collect()))
    }
}

#[cfg(test)]
#[path = "binding_tests.rs"]
mod tests;
