//! What can be typed after `cloister-lab bench`.

#[derive(Debug, clap::Args)]
pub(crate) struct Bench {
    /// Measure on the disk of this directory; it is not touched [default: ~/.local/share/cloister]
    #[arg(long, env = "CLOISTER_DATA", value_name = "DIR")]
    pub(crate) data: Option<std::path::PathBuf>,
    /// Fewer rounds, for a look
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only these, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "LEG")]
    pub(crate) only: Vec<Leg>,
    /// Cells that `density` launches [default: 1000, with --quick 50]
    #[arg(long, value_name = "N")]
    pub(crate) cells: Option<std::num::NonZeroUsize>,
    /// So many rounds of everything, for tests
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) rounds: Option<std::num::NonZeroUsize>,
}

/// A part of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Leg {
    /// Warm turns beside direct calls
    Turn,
    /// Turns of a client that is not ours, over TCP, beside a bare proxy
    Client,
    /// Memory of an idle cell and the control plane
    Memory,
    /// Cells that a message launches
    Cold,
    /// Turns in long chats
    History,
    /// Launches of executors
    Executor,
    /// What tasks did to files, landing and taken back
    Landing,
    /// 64 sessions at once beside as many of a bare proxy
    Throughput,
    /// Requests and model calls through a door
    Proxy,
    /// What decisions and the audit trail add
    Gates,
    /// The chat page
    Page,
    /// Quiet users beside one who floods and burns processor time
    Fairness,
    /// Many live cells
    Density,
}

impl Leg {
    pub(crate) const ALL: [Self; 13] = [
        Self::Turn,
        Self::Client,
        Self::Memory,
        Self::Cold,
        Self::History,
        Self::Executor,
        Self::Landing,
        Self::Throughput,
        Self::Proxy,
        Self::Gates,
        Self::Page,
        Self::Fairness,
        Self::Density,
    ];
}
