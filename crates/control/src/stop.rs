//! The emergency stop: no executor runs, nothing leaves, until it is released.

use crate::control::Control;

impl Control {
    /// Whether everything is stopped until released.
    pub fn is_stopped(&self) -> bool {
        false
    }
}
