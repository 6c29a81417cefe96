//! What can be typed after `cloister model`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use cloister_protocol::UserName;

use super::dollars;

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Level {
    Coordinator,
    Executor,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Effort {
    Minimal,
    Low,
    Medium,
    High,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum WorkKind {
    /// Answering people
    Talk,
    /// Doing tasks
    Work,
    /// Writing down what was said so far
    Summarise,
    /// Tasks that search the web
    Research,
    /// Requests with pictures
    Vision,
}

/// What can be as if nobody had ever said it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ModelSetting {
    Temperature,
    Effort,
    Window,
    FirstByte,
    Idle,
    MaxOutput,
    Prices,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Model {
    /// List models, and whether they answer people (coordinator) or do the tasks (executor)
    List {
        #[command(flatten)]
        whose: Whose,
    },
    /// Show a model: where it is, what it costs, and what was found out by trying it
    Show { name: String },
    /// Where models are: addresses with a name, where their keys are got, and what runs on this machine
    Presets {
        /// Ask every server of this machine which models it has, at whichever port
        #[arg(long)]
        all_ports: bool,
    },
    /// Connect an OpenAI-compatible model: it is tried, and kept only if it answers
    Add(AddModel),
    /// Change what is said of a model; what is not named stays
    Set(SetModel),
    /// Let people choose a model that is nobody's fallback (`/model NAME`)
    Offer {
        name: String,
        /// Offer it no longer
        #[arg(long)]
        withdraw: bool,
    },
    /// Choose the models of a level or a kind of work, in order: the first that answers is used
    Use {
        /// Whose models; both if not given
        #[arg(long)]
        level: Option<Level>,
        /// What the models are for; what has none of its own is done by those of the level
        #[arg(long = "for", value_name = "KIND", conflicts_with = "level")]
        kind: Option<WorkKind>,
        /// NAME, or NAME,FALLBACK…; `default` with --for takes the choice back
        #[arg(value_delimiter = ',', required = true)]
        models: Vec<String>,
    },
    /// Try a model, and keep what is found out about it
    Test { name: String },
    /// Forget a model and its key
    Rm {
        name: String,
        #[command(flatten)]
        whose: Whose,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct AddModel {
    pub(crate) name: String,
    #[arg(long, value_name = "URL", required_unless_present = "preset")]
    pub(crate) base_url: Option<String>,
    /// An address by its name: `cloister model presets` lists them
    #[arg(long, value_name = "PRESET", conflicts_with = "base_url")]
    pub(crate) preset: Option<String>,
    /// The model's id at that URL
    #[arg(long, value_name = "ID")]
    pub(crate) model: String,
    /// An environment variable that holds the key
    #[arg(long, value_name = "VAR", conflicts_with = "key_file")]
    pub(crate) key_env: Option<String>,
    /// A file that holds the key
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Ask for the key
    #[arg(long, conflicts_with_all = ["key_env", "key_file"])]
    pub(crate) key_prompt: bool,
    /// Dollars per million prompt tokens
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) prompt_price: Option<f64>,
    /// Dollars per million completion tokens
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(crate) completion_price: Option<f64>,
    /// The longest answer
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_output: Option<u32>,
    /// How much fits into a request and its answer, where it can't be found out
    #[arg(long, value_name = "TOKENS")]
    pub(crate) window: Option<u32>,
    /// How long its first word is waited for, where what is usual for its kind is not right
    #[arg(long, value_name = "SECONDS")]
    pub(crate) first_byte: Option<u32>,
    /// How long it may be silent in the middle of an answer
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle: Option<u32>,
    /// How freely it chooses its words: from 0 to 2
    #[arg(long, value_name = "NUMBER")]
    pub(crate) temperature: Option<f64>,
    /// How much a model that reasons is to think
    #[arg(long)]
    pub(crate) effort: Option<Effort>,
    /// Replace a model of this name, if there is one
    #[arg(long)]
    pub(crate) replace: bool,
    /// Let people choose it, though it is nobody's fallback
    #[arg(long, conflicts_with_all = ["mine", "user"])]
    pub(crate) offer: bool,
    #[command(flatten)]
    pub(crate) whose: Whose,
    /// Keep it without trying it first
    #[arg(long)]
    pub(crate) no_test: bool,
}

/// Whose models are meant: everybody's, unless one of these is given.
#[derive(Debug, clap::Args)]
pub(crate) struct Whose {
    /// Your own: with a key of yours, for your chats alone, in no budget here
    #[arg(long, conflicts_with = "user")]
    pub(crate) mine: bool,
    /// The same of another person
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<UserName>,
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("change").required(true).multiple(true))]
pub(crate) struct SetModel {
    pub(crate) name: String,
    /// How freely it chooses its words: from 0 to 2
    #[arg(long, value_name = "NUMBER", group = "change")]
    pub(crate) temperature: Option<f64>,
    /// How much a model that reasons is to think
    #[arg(long, group = "change")]
    pub(crate) effort: Option<Effort>,
    /// How much fits into a request and its answer
    #[arg(long, value_name = "TOKENS", group = "change")]
    pub(crate) window: Option<u32>,
    /// How long its first word is waited for
    #[arg(long, value_name = "SECONDS", group = "change")]
    pub(crate) first_byte: Option<u32>,
    /// How long it may be silent in the middle of an answer
    #[arg(long, value_name = "SECONDS", group = "change")]
    pub(crate) idle: Option<u32>,
    /// The longest answer
    #[arg(long, value_name = "TOKENS", group = "change")]
    pub(crate) max_output: Option<u32>,
    /// Dollars per million prompt tokens
    #[arg(long, value_name = "USD", value_parser = dollars, group = "change")]
    pub(crate) prompt_price: Option<f64>,
    /// Dollars per million completion tokens
    #[arg(long, value_name = "USD", value_parser = dollars, group = "change")]
    pub(crate) completion_price: Option<f64>,
    /// What is to be as if it had never been said
    #[arg(long, value_name = "WHAT", value_delimiter = ',', group = "change")]
    pub(crate) unset: Vec<ModelSetting>,
    /// Keep it without trying the model with it
    #[arg(long)]
    pub(crate) no_test: bool,
}
