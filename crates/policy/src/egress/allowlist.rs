//! Lists of rules, and what they decide together.

use std::fmt;

use super::destination::{Destination, Scheme};
use super::host::Host;
use super::rule::{Rule, RuleError};

/// The methods that ask and change nothing.
const READING_METHODS: [&str; 2] = ["GET", "HEAD"];

/// A list of rules. An empty one allows nothing, and so does one with a rule that can't be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowlist {
    rules: Vec<Rule>,
    broken: Option<Broken>,
}

/// The first rule of a list that can't be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub rule: String,
    pub error: RuleError,
}

impl Allowlist {
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Self {
        let mut list = Self::default();
        for text in texts {
            match text.as_ref().parse() {
                Ok(rule) => list.rules.push(rule),
                Err(error) => {
                    let rule = text.as_ref().chars().take(80).collect();
                    return Self { rules: Vec::new(), broken: Some(Broken { rule, error }) };
                }
            }
        }
        list
    }

    /// The rule that makes the whole list worthless.
    pub fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    fn allows(&self, destination: &Destination) -> bool {
        self.rules.iter().any(|rule| rule.allows(destination))
    }

    fn allows_origin(&self, scheme: Scheme, host: &Host, port: u16) -> bool {
        self.rules.iter().any(|rule| rule.allows_origin(scheme, host, port))
    }

    /// Why this list does not allow the destination.
    fn denial(&self, destination: &Destination) -> Denial {
        if let Some(broken) = &self.broken {
            return Reason::BrokenRule(broken.clone()).into();
        }
        let suggestion = Rule::for_host(destination);
        let Some(rule) = suggestion else {
            return Reason::LocalName.into();
        };
        let Destination { scheme, host, port, path: _ } = destination;
        let mut same_origin = self.rules.iter().filter(|r| r.allows_origin(*scheme, host, *port));
        if let Some(other_path) = same_origin.next() {
            let rule = other_path.for_path_like(destination);
            return Denial { reason: Reason::OtherPath, rule };
        }
        let same_host = self.rules.iter().any(|rule| rule.names(host));
        let reason = match scheme {
            _ if !same_host => Reason::NotListed,
            Scheme::Http => Reason::PlainHttp,
            Scheme::Https => Reason::OtherPort(*port),
        };
        Denial { reason, rule: Some(rule) }
    }
}

/// What one door may do: the user's rules, narrowed by its task's own list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access<'a> {
    pub user: &'a Allowlist,
    /// Both lists must allow.
    pub only: Option<&'a Allowlist>,
    /// Nothing may be sent that could change something.
    pub reads_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Deny(Denial),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub reason: Reason,
    /// The rule that would allow it; none when no rule of the owner could.
    pub rule: Option<Rule>,
}

impl From<Reason> for Denial {
    fn from(reason: Reason) -> Self {
        Self { reason, rule: None }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    NotListed,
    /// The host is allowed, by https only.
    PlainHttp,
    OtherPort(u16),
    OtherPath,
    LocalName,
    BrokenRule(Broken),
    /// The user's rules allow it, the task's own list does not.
    OutsideTask,
    BrokenTaskRule(Broken),
    /// The method that is not a reading one.
    ReadsOnly(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotListed => f.write_str("no rule allows this host"),
            Self::PlainHttp => f.write_str("the rules allow this host by https only"),
            Self::OtherPort(port) => write!(f, "no rule allows port {port} of this host"),
            Self::OtherPath => f.write_str("the rules allow other paths of this host only"),
            Self::LocalName => f.write_str("it is a name inside of a network, not outside"),
            Self::BrokenRule(Broken { rule, error }) => {
                write!(f, "nothing is allowed while the rule {rule:?} can't be read: {error}")
            }
            Self::OutsideTask => f.write_str("it is not among the hosts that this task was given"),
            Self::BrokenTaskRule(Broken { rule, error }) => {
                write!(f, "the task's list of hosts has {rule:?}, which can't be read: {error}")
            }
            Self::ReadsOnly(method) => {
                write!(f, "only GET and HEAD until the plan is approved, and this is {method}")
            }
        }
    }
}

impl Access<'_> {
    /// Decides one request.
    pub fn decide(&self, destination: &Destination, method: &str) -> Decision {
        if !self.user.allows(destination) {
            return Decision::Deny(self.user.denial(destination));
        }
        if let Some(only) = self.only
            && !only.allows(destination)
        {
            return Decision::Deny(outside_task(only));
        }
        if self.reads_only && !READING_METHODS.contains(&method) {
            return Decision::Deny(Reason::ReadsOnly(method.chars().take(20).collect()).into());
        }
        Decision::Allow
    }

    /// Decides whether some request to this origin could be allowed, before its path is known. The
    /// path of the destination is not looked at.
    pub fn decide_origin(&self, destination: &Destination) -> Decision {
        let Destination { scheme, host, port, path: _ } = destination;
        if !self.user.allows_origin(*scheme, host, *port) {
            return Decision::Deny(self.user.denial(destination));
        }
        match self.only {
            Some(only) if !only.allows_origin(*scheme, host, *port) => {
                Decision::Deny(outside_task(only))
            }
            Some(_) | None => Decision::Allow,
        }
    }
}

fn outside_task(only: &Allowlist) -> Denial {
    match &only.broken {
        Some(broken) => Reason::BrokenTaskRule(broken.clone()).into(),
        None => Reason::OutsideTask.into(),
    }
}

#[cfg(test)]
#[path = "allowlist_tests.rs"]
mod tests;
