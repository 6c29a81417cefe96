//! Which part asks which others, and so may fail with what those refuse.

use super::{ControlError, Failed};

// Until every part has its own.
impl<R> From<ControlError> for Failed<R> {
    fn from(error: ControlError) -> Self {
        match error {
            ControlError::Fault(fault) => Self::Fault(fault),
            refusal => Self::Elsewhere(Box::new(refusal)),
        }
    }
}
