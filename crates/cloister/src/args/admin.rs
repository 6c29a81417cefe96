//! `cloister admin`: administration from other machines.

use clap::Subcommand;
use cloister_protocol::{ClientId, ParseIdError, UserName};

#[derive(Debug, Subcommand)]
pub(crate) enum Admin {
    /// Let one more machine of a user administer this Cloister: prints an invitation, which works once
    Invite { user: UserName },
    /// Enrol this machine with an invitation; from then on `cloister --remote NAME …` works there
    Enroll {
        /// What `cloister admin invite` printed; `-` reads it from standard input
        invitation: String,
        /// What this machine is called there [default: its host name]
        #[arg(long, value_name = "DEVICE")]
        name: Option<String>,
        /// What the other machine is called here [default: its host]
        #[arg(long = "as", value_name = "NAME")]
        known_as: Option<String>,
        /// Mean that machine whenever neither --remote nor --data is given
        #[arg(long)]
        default: bool,
    },
    /// List the machines where this one is enrolled
    Remotes,
    /// List the machines that are enrolled here
    Clients,
    /// End a machine's enrolment; its connections close at once
    Revoke {
        #[arg(value_parser = client_id)]
        client: ClientId,
    },
    /// The certificate authority that vouches for them
    #[command(subcommand)]
    Ca(Ca),
}

#[derive(Debug, Subcommand)]
pub(crate) enum Ca {
    /// Which roots are trusted, and who would be locked out by `finish`
    Status,
    /// Begin to replace the root: a new one issues, the old one stays trusted
    Rotate,
    /// Let the old root issue again
    Rollback,
    /// End the trust in the root that does not issue
    Finish {
        /// Also when machines are locked out by it
        #[arg(long)]
        force: bool,
    },
}

/// `k3` is as good as `K3`.
fn client_id(text: &str) -> Result<ClientId, ParseIdError> {
    text.to_ascii_uppercase().parse()
}
