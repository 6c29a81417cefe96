//! Where the product's programs are, and how they are started.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::{StackError, io};

#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub(super) cloister: PathBuf,
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
        for program in ["cloister", "cloister-agent", "cloister-launcher"] {
            if !dir.join(program).is_file() {
                return Err(StackError::NotBuilt { program, dir });
            }
        }
        Ok(Self { cloister: dir.join("cloister") })
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where tests start the product")]
pub(super) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_remove("CLOISTER_DATA");
    command
}
