//! What can be typed after `cloister-lab redteam`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::attacker::Attacker;

/// Control planes of its own are attacked in real sandboxes: by a model that obeys every instruction in what it
/// reads, and by those who are in already, the agent program, a member, an admin, an operator. Most attacks have a
/// harmless twin, whose person should not be asked more than they expect. Exits with 1 if an attack succeeded.
#[derive(Debug, clap::Args)]
pub(crate) struct Redteam {
    /// Only what these attack, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "WHO")]
    pub(crate) attacker: Vec<Attacker>,
    /// Only scenarios whose id (channel/goal) has one of these parts, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    pub(crate) only: Vec<String>,
    /// List the scenarios and run none
    #[arg(long)]
    pub(crate) list: bool,
    /// Keep the control plane's data and log in this directory, which must not exist yet
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// How many run at once
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) at_once: NonZeroUsize,
    /// A person who allows whatever is asked, and insiders who may do what they try: most attacks must succeed
    /// then, or they prove nothing
    #[arg(long, hide = true)]
    pub(crate) gullible: bool,
    /// Attack another build of `cloister`, by the model alone
    #[arg(long, hide = true, value_name = "FILE")]
    pub(crate) program: Option<PathBuf>,
}
