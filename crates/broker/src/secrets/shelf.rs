//! The shelf of one door: the secrets that may be used there, by their handles.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use cloister_control::Books;
use cloister_control::books::{Entry, OpenSecret, SecretError, SecretInfo, StoreError};
use cloister_control::ports::Principal;
use cloister_protocol::with_causes;
use cloister_vault::{Binding, Form, Owner, SecretName};
use serde::Serialize;

use super::handle::Handle;
use super::mask::{Mask, Masker};

/// Which of the user's secrets a door is for.
#[derive(Clone, Debug)]
pub(crate) enum SecretReach {
    None,
    All,
    Only(Vec<String>),
}

impl SecretReach {
    fn includes(&self, name: &SecretName) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(names) => names.iter().any(|known| known == name.as_str()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ShelfError {
    #[error("the secrets of a user could not be listed")]
    List(#[from] StoreError),
    #[error("the secrets of a user could not be opened")]
    Open(#[from] SecretError),
    #[error("no handle could be made")]
    Random(#[source] getrandom::Error),
    #[error("the mask could not be made")]
    Mask(#[from] aho_corasick::BuildError),
}

/// A secret that may be used at this door.
#[derive(Clone, Debug)]
pub(crate) struct Usable {
    pub(crate) name: SecretName,
    pub(crate) handle: Handle,
    pub(crate) binding: Binding,
}

/// What a sandbox is told of a secret: everything but its value.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    name: String,
    /// The variable in which programs find the handle.
    env: String,
    handle: String,
    hosts: Vec<String>,
    form: String,
    /// The form in words, with the variable.
    how: String,
}

/// The secrets as they are now.
#[derive(Clone, Debug)]
pub(crate) struct Now {
    pub(crate) usable: Vec<Usable>,
    pub(crate) mask: Arc<Mask>,
}

/// Which versions a mask was made of.
type Versions = Vec<(SecretName, u64)>;

pub(crate) struct Shelf {
    books: Books,
    who: Principal,
    reach: SecretReach,
    handles: Mutex<BTreeMap<SecretName, Handle>>,
    mask: Mutex<(Versions, Arc<Mask>)>,
    /// What was masked where, so that it is audited once.
    noted: Mutex<HashSet<(SecretName, String)>>,
}

impl Shelf {
    pub(crate) fn new(books: Books, who: Principal, reach: SecretReach) -> Self {
        Self {
            books,
            who,
            reach,
            handles: Mutex::default(),
            mask: Mutex::default(),
            noted: Mutex::default(),
        }
    }

    /// Looks at what the user has now: a secret that was set, rotated or removed counts at once.
    pub(crate) async fn look(&self) -> Result<Now, ShelfError> {
        let known = self.books.secrets_of(self.owner()).await?;
        let mask = self.mask_of(&known).await?;
        let in_use = known.into_iter().filter(|info| info.expires_at.is_none());
        let ours = in_use.filter(|info| self.reach.includes(&info.name));
        let usable = ours.map(|info| self.usable(info)).collect::<Result<_, _>>()?;
        Ok(Now { usable, mask })
    }

    /// Opens the value in use, for one request.
    pub(crate) async fn open(&self, name: &SecretName) -> Result<OpenSecret, SecretError> {
        self.books.open_secret(self.owner(), name).await
    }

    /// Masks a whole text, and notes what was in it.
    pub(crate) async fn masked(&self, mask: &Arc<Mask>, bytes: Bytes, place: &str) -> Bytes {
        if mask.is_empty() {
            return bytes;
        }
        let mut masker = Masker::new(Arc::clone(mask));
        let begin = masker.push(bytes);
        let rest = masker.finish();
        self.note(masker.new_hits(), place).await;
        if rest.is_empty() { begin } else { [begin, rest].concat().into() }
    }

    /// Puts into the audit trail that values were masked, once for each place.
    pub(crate) async fn note(&self, names: Vec<SecretName>, place: &str) {
        for name in names {
            let fresh = {
                let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
                noted.insert((name.clone(), place.to_owned()))
            };
            if !fresh {
                continue;
            }
            let entry = Entry::of_cell((self.who.workspace, self.who.task), "secret.masked", &name)
                .with(place);
            if let Err(error) = self.books.record(entry).await {
                tracing::error!(error = with_causes(&error), secret = %name, "that a secret was masked could not be audited");
            }
        }
    }

    fn owner(&self) -> Owner {
        Owner::User(self.who.user)
    }

    fn usable(&self, info: SecretInfo) -> Result<Usable, ShelfError> {
        let SecretInfo { name, binding, .. } = info;
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match handles.get(&name) {
            Some(handle) => handle.clone(),
            None => {
                let handle = Handle::random().map_err(ShelfError::Random)?;
                handles.insert(name.clone(), handle.clone());
                handle
            }
        };
        Ok(Usable { name, handle, binding })
    }

    /// Also what the task may not use is masked: it may come from elsewhere.
    async fn mask_of(&self, known: &[SecretInfo]) -> Result<Arc<Mask>, ShelfError> {
        let versions: Versions =
            known.iter().map(|info| (info.name.clone(), info.version)).collect();
        {
            let mask = self.mask.lock().unwrap_or_else(PoisonError::into_inner);
            if mask.0 == versions {
                return Ok(Arc::clone(&mask.1));
            }
        }
        let opened = self.books.open_secrets(self.owner()).await?;
        let made = Arc::new(Mask::new(&opened)?);
        *self.mask.lock().unwrap_or_else(PoisonError::into_inner) = (versions, Arc::clone(&made));
        Ok(made)
    }
}

impl Now {
    /// As the sandbox sees them.
    pub(crate) fn listed(&self) -> Vec<Listed> {
        let mut taken = HashSet::new();
        self.usable.iter().map(|secret| secret.listed(&mut taken)).collect()
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Usable> {
        self.usable.iter().find(|secret| secret.name.as_str() == name)
    }
}

impl Usable {
    pub(crate) fn hosts(&self) -> String {
        let hosts: Vec<String> = self.binding.hosts().iter().map(ToString::to_string).collect();
        hosts.join(" and ")
    }

    fn listed(&self, taken: &mut HashSet<String>) -> Listed {
        let plain = format!("CLOISTER_SECRET_{}", self.name).to_ascii_uppercase().replace('-', "_");
        // `a-b` and `A_B` are two secrets and would be one variable.
        let mut env = plain.clone();
        let mut number = 2;
        while !taken.insert(env.clone()) {
            env = format!("{plain}_{number}");
            number += 1;
        }
        let how = match self.binding.form() {
            Form::Header { name, template } => {
                format!("the header {name}: {}", template.replace("{}", &format!("${env}")))
            }
            Form::Query { name } => format!("the query field {name}=${env}"),
            Form::Basic { user } => format!("a basic login as {user}:${env}"),
        };
        Listed {
            name: self.name.to_string(),
            env,
            handle: self.handle.as_str().to_owned(),
            hosts: self.binding.hosts().iter().map(ToString::to_string).collect(),
            form: self.binding.form().to_string(),
            how,
        }
    }
}
