//! What can be typed after `cloister grant`.

use clap::Subcommand;

use super::ForUser;

#[derive(Debug, Subcommand)]
pub(crate) enum Grant {
    /// List what was allowed for longer than once
    List {
        #[command(flatten)]
        user: ForUser,
    },
    /// Explain a grant: what exactly it covers, who gave it, and what they were asked
    Show {
        #[command(flatten)]
        user: ForUser,
        #[arg(value_parser = number, value_name = "GRANT")]
        grant: u32,
    },
    /// Take a grant back; the next time is asked again
    Revoke {
        #[command(flatten)]
        user: ForUser,
        #[arg(value_parser = number, value_name = "GRANT")]
        grant: u32,
    },
}

/// A grant as people type it: `G3`, `g3` or `3`.
fn number(text: &str) -> Result<u32, std::num::ParseIntError> {
    text.trim_start_matches(['G', 'g']).parse()
}
