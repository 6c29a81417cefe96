//! The configuration: `<data>/cloister.toml`, all of it optional.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use cloister_control::{
    AuditOptions, CellOptions, FileOptions, GateOptions, LimitOptions, SecretOptions,
    SurfaceOptions, UserOptions, WorkOptions,
};
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::options;
use serde::Deserialize;

use crate::logging::LogFormat;
use crate::output::{BAD_CONFIG, CliError, USAGE};

/// The whole file; each section is declared by the part that owns it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) listen: Option<SocketAddr>,
    /// Where people reach it, when that is not where it listens.
    pub(crate) url: Option<String>,
    pub(crate) log: LogFormat,
    pub(crate) store: cloister_store::StoreOptions,
    pub(crate) cells: CellOptions,
    pub(crate) models: cloister_broker::ModelOptions,
    pub(crate) egress: cloister_broker::EgressOptions,
    pub(crate) search: cloister_broker::SearchOptions,
    pub(crate) users: UserOptions,
    pub(crate) work: WorkOptions,
    pub(crate) limits: LimitOptions,
    pub(crate) secrets: SecretOptions,
    pub(crate) audit: AuditOptions,
    pub(crate) admin: cloister_web::RemoteOptions,
    pub(crate) connections: cloister_web::ConnectionOptions,
    pub(crate) gates: GateOptions,
    pub(crate) files: FileOptions,
    pub(crate) matrix: options::MatrixOptions,
    pub(crate) telegram: options::TelegramOptions,
    pub(crate) discord: options::DiscordOptions,
    pub(crate) connectors: OwnConnectors,
    pub(crate) surfaces: SurfaceOptions,
}

impl Config {
    /// What is wrong with the text of a file, if something is.
    pub(crate) fn check(text: &str) -> Result<(), String> {
        toml::from_str::<Self>(text).map(|_| ()).map_err(|error| in_words(&error))
    }

    pub(crate) fn load(data: &Path) -> Result<Self, CliError> {
        let path = data.join("cloister.toml");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                let failed = format!("{} could not be read", path.display());
                return Err(CliError::io(failed)(error)
                    .fix("make it readable for this account, or choose another --data")
                    .exit(BAD_CONFIG));
            }
        };
        toml::from_str(&text).map_err(|error| {
            CliError::new(
                ErrorCode::BadRequest,
                format!("{} is not right: {}", path.display(), in_words(&error)),
            )
            .fix("docs/operating.md lists every setting")
            .exit(BAD_CONFIG)
        })
    }
}

/// What is wrong with a file, without the names that a programmer has for kinds of values.
fn in_words(error: &toml::de::Error) -> String {
    const KINDS: [(&str, &str); 4] = [
        ("a whole number, not negative", "u8 u16 u32 u64 usize"),
        ("a whole number", "i8 i16 i32 i64 isize"),
        ("a number", "f32 f64"),
        ("true or false", "boolean bool"),
    ];
    let error = error.to_string();
    let of = |word: &str| KINDS.iter().find(|(_, all)| all.split(' ').any(|one| one == word));
    let words = |line: &str| match line.rsplit_once("expected ") {
        Some((before, word)) => match of(word.trim_start_matches("a ")) {
            Some((words, _)) => format!("{before}expected {words}"),
            None => line.to_owned(),
        },
        None => line.to_owned(),
    };
    error.lines().map(words).collect::<Vec<_>>().join("\n")
}

/// The most surfaces of one's own: each is a program that runs.
const MOST_OWN: usize = 8;
const LONGEST_NAME: usize = 20;
/// What something else goes by: our own surfaces, and other sources of what agents are told.
const TAKEN: [&str; 8] =
    ["clear", "discord", "matrix", "socket", "tasks", "telegram", "terminal", "web"];

/// `[connectors.NAME]`: surfaces whose connectors somebody else wrote.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, OwnConnector>")]
pub(crate) struct OwnConnectors(BTreeMap<String, OwnConnector>);

/// A program that speaks the surface protocol.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnConnector {
    pub(crate) program: PathBuf,
    /// Handed to it as they are.
    #[serde(default)]
    pub(crate) options: serde_json::Map<String, serde_json::Value>,
}

impl OwnConnectors {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &OwnConnector)> {
        self.0.iter().map(|(name, own)| (name.as_str(), own))
    }
}

impl TryFrom<BTreeMap<String, OwnConnector>> for OwnConnectors {
    type Error = String;

    fn try_from(all: BTreeMap<String, OwnConnector>) -> Result<Self, String> {
        if all.len() > MOST_OWN {
            return Err(format!("there are {} connectors; {MOST_OWN} are the most", all.len()));
        }
        for (name, own) in &all {
            let at = format!("[connectors.{name}]");
            if !is_surface_name(name) {
                return Err(format!(
                    "{at}: a name has 1 to {LONGEST_NAME} small letters, digits and '-'"
                ));
            }
            if TAKEN.contains(&name.as_str()) {
                return Err(format!("{at}: this surface is there already; choose another name"));
            }
            if !own.program.is_absolute() {
                let program = own.program.display();
                return Err(format!("{at} program: {program} is not an absolute path"));
            }
        }
        Ok(Self(all))
    }
}

/// Whether a surface may be called so: the name is part of paths and of names of sandboxes.
pub(crate) fn is_surface_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// The data directory: as given, or the usual place.
#[expect(clippy::disallowed_methods, reason = "the one place that reads where things usually are")]
pub fn data_dir(given: Option<&Path>) -> Result<PathBuf, CliError> {
    // A variable that is set to nothing is as good as none; the same on the command line is a slip.
    let unset = std::env::var_os("CLOISTER_DATA").is_some_and(|dir| dir.is_empty());
    match given {
        None => {}
        Some(dir) if !dir.as_os_str().is_empty() => {
            let failed = "the data directory can't be named";
            return std::path::absolute(dir).map_err(CliError::io(failed));
        }
        Some(_) if unset => {}
        Some(_) => {
            return Err(CliError::new(ErrorCode::BadRequest, "--data names no directory")
                .fix("say which: --data DIR; without it, it is ~/.local/share/cloister")
                .exit(USAGE));
        }
    }
    let base = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    base.or_else(home).map(|dir| dir.join("cloister")).ok_or_else(|| {
        CliError::new(ErrorCode::BadRequest, "there is no home directory to keep the data in")
            .fix("say where with --data DIR or CLOISTER_DATA")
    })
}

/// Where what belongs to this account, and to no control plane, is kept.
#[expect(clippy::disallowed_methods, reason = "the one place that reads where things usually are")]
pub(crate) fn config_dir() -> Result<PathBuf, CliError> {
    let base =
        std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    base.or_else(|| home().map(|home| home.join(".config")))
        .map(|dir| dir.join("cloister"))
        .ok_or_else(|| {
            CliError::new(ErrorCode::BadRequest, "there is no home directory to keep identities in")
                .fix("set HOME or XDG_CONFIG_HOME")
        })
}

/// A secret from the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads secrets from the environment"
)]
pub(crate) fn secret_from_env(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|value| !value.is_empty())
}

/// The log filter of the environment, if there is one.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the log filter")]
pub(crate) fn log_filter() -> String {
    std::env::var("CLOISTER_LOG").unwrap_or_else(|_unset| "info".to_owned())
}

/// Whether a terminal may be written to in colours (<https://no-color.org>).
#[expect(clippy::disallowed_methods, reason = "the one place that asks for colours")]
pub(crate) fn colours_wanted() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    !unwanted && !dumb
}

/// The home directory, for paths that people type with `~`.
#[expect(clippy::disallowed_methods, reason = "the one place that reads where things usually are")]
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
