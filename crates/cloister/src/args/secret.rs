//! What can be typed after `cloister secret`.

use std::path::PathBuf;

use clap::Subcommand;
use cloister_protocol::UserName;

/// Whose it is.
#[derive(Debug, clap::Args)]
pub(crate) struct Whose {
    /// Whose [default: the first user]
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<UserName>,
    /// The platform's own, of which no agent knows
    #[arg(long, conflicts_with = "user")]
    pub(crate) platform: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Secret {
    /// Keep a secret, sealed, for the hosts it belongs to; the value is asked for without being shown
    Set {
        name: String,
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        binding: Binding,
        #[command(flatten)]
        value: Value,
    },
    /// List names, hosts and forms; values are never shown
    List {
        #[command(flatten)]
        whose: Whose,
    },
    /// Give a secret a new value
    Rotate {
        name: String,
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        value: Value,
        /// How long the value before is still masked where it comes back
        #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
        grace: u64,
    },
    /// Change where a secret may be used; its value stays
    Rebind {
        name: String,
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        binding: Binding,
    },
    /// Remove a secret with all its versions
    Rm {
        name: String,
        #[command(flatten)]
        whose: Whose,
    },
    /// Replace the master key that everything is sealed under, while all goes on
    RotateMaster,
}

/// Where a secret may be used, and how.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("form").required(true).multiple(false))]
pub(crate) struct Binding {
    /// A host it belongs to: api.example.org or api.example.org:8443; can be given several times
    #[arg(long = "host", value_name = "HOST", required = true)]
    pub(crate) hosts: Vec<String>,
    /// The header it goes into; a template such as "token {}" has {} where the value goes
    /// [default: "Bearer {}" for authorization, "{}" for others]
    #[arg(long, value_name = "NAME[=TEMPLATE]", group = "form")]
    pub(crate) header: Option<String>,
    /// The field of the query it goes into
    #[arg(long, value_name = "FIELD", group = "form")]
    pub(crate) query: Option<String>,
    /// It is the password of a basic login of this name
    #[arg(long, value_name = "LOGIN", group = "form")]
    pub(crate) basic: Option<String>,
}

/// Where a value comes from; never from the command line, which every process can read.
#[derive(Debug, clap::Args)]
pub(crate) struct Value {
    /// A file that holds the value
    #[arg(long, value_name = "FILE", conflicts_with = "value_env")]
    pub(crate) value_file: Option<PathBuf>,
    /// A variable of the environment that holds the value
    #[arg(long, value_name = "VAR")]
    pub(crate) value_env: Option<String>,
}
