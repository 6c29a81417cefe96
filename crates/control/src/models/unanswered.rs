//! What a person is told when no model answered, who can do nothing about models but wait, or tell somebody.

use cloister_words::{Language, say};

/// Why no model answered, as far as it is of use to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    /// None that could be asked is set up right.
    NotSetUp,
    TooMuch,
    TooLate,
    /// For whatever other reason.
    Failed,
    /// The conversation does not fit.
    TooLong,
    /// The context of the chat allows none.
    NotAllowed,
    /// What may be spent in a day is spent.
    DaySpent,
    /// The same of a task.
    TaskSpent,
}

impl Unanswered {
    /// What is wrong.
    pub fn message(self, to: Language) -> String {
        match self {
            Self::NotSetUp => say!(
                to,
                "The model can't be used at the moment: something about it is not set up right."
            ),
            Self::TooMuch => {
                say!(to, "The model is asked too much at the moment and did not answer.")
            }
            Self::TooLate => say!(to, "The model took too long to answer."),
            Self::Failed => say!(to, "The model did not answer."),
            Self::TooLong => say!(to, "The conversation is longer than the model can read."),
            Self::NotAllowed => {
                say!(to, "The context of this chat allows none of the models in use.")
            }
            Self::DaySpent => say!(to, "Today's budget does not allow this."),
            Self::TaskSpent => say!(to, "The budget of this task is used up."),
        }
    }

    /// What to do about it.
    pub fn fix(self, to: Language) -> String {
        match self {
            Self::NotSetUp => {
                say!(to, "Tell whoever runs this machine; the log there says what is wrong.")
            }
            Self::TooMuch | Self::TooLate | Self::Failed => {
                say!(to, "Try again in a moment. If it goes on, tell whoever runs this machine.")
            }
            Self::TooLong => {
                say!(to, "Start a new chat with /new, or say the same in fewer words.")
            }
            Self::NotAllowed => say!(to, "Whoever runs this machine can change that."),
            Self::DaySpent => say!(
                to,
                "It is there again tomorrow (UTC); whoever runs this machine can raise it."
            ),
            Self::TaskSpent => {
                say!(to, "Whoever runs this machine can raise it for new tasks; then ask again.")
            }
        }
    }
}
