//! Where the product's programs are, and how they are started.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tokio::process::Command;

use super::{StackError, io};

/// What the control plane launches for surfaces.
const CONNECTORS: [&str; 3] = ["cloister-matrix", "cloister-telegram", "cloister-discord"];

#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) cloister: PathBuf,
    /// A folder of their own, as long as they are used.
    _beside: Option<Arc<TempDir>>,
}

impl Programs {
    /// Finds them beside the running test or program: `target/debug/deps/x` or `target/debug/x`.
    pub(super) fn find() -> Result<Self, StackError> {
        let own = std::env::current_exe()
            .and_then(|path| path.canonicalize())
            .map_err(io("this program's own place can't be found"))?;
        let mut dir = own.parent().unwrap_or(Path::new("/")).to_owned();
        if dir.ends_with("deps") || dir.ends_with("examples") {
            dir.pop();
        }
        for program in
            ["cloister", "cloister-agent", "cloister-launcher"].into_iter().chain(CONNECTORS)
        {
            if !dir.join(program).is_file() {
                return Err(StackError::NotBuilt { program, dir });
            }
        }
        Ok(Self { cloister: dir.join("cloister"), _beside: None })
    }

    /// The same in a folder of their own, with another program in the place of the agent or without connectors:
    /// what is installed beside the control plane is what it launches.
    pub(super) fn installed(agent: &'static str, connectors: bool) -> Result<Self, StackError> {
        let found = Self::find()?;
        let dir = found.cloister.parent().unwrap_or(Path::new("/")).to_owned();
        if !dir.join(agent).is_file() {
            return Err(StackError::NotBuilt { program: agent, dir });
        }
        let beside = tempfile::Builder::new()
            .prefix("programs-")
            .tempdir_in(&dir)
            .map_err(io("a folder for programs could not be made"))?;
        let names = [
            ("cloister", "cloister"),
            ("cloister-launcher", "cloister-launcher"),
            (agent, "cloister-agent"),
        ];
        let connectors = CONNECTORS.into_iter().filter(|_| connectors).map(|name| (name, name));
        for (from, to) in names.into_iter().chain(connectors) {
            std::fs::hard_link(dir.join(from), beside.path().join(to))
                .map_err(io("a program could not be put in place"))?;
        }
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(beside.path(), open)
            .map_err(io("a folder for programs could not be opened"))?;
        Ok(Self { cloister: beside.path().join("cloister"), _beside: Some(Arc::new(beside)) })
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where tests start the product")]
pub(super) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("CLOISTER_DATA");
    command
}
