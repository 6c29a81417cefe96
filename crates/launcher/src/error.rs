//! Why a sandbox could not be built: the layer, what was tried on what, and the kernel's answer.

use std::fmt::Display;

use crate::wire::{Layer, LayerFailure};

/// A layer that is not in force. There is no way on from here but to refuse.
#[derive(Debug)]
pub(super) struct LayerError(LayerFailure);

impl LayerError {
    pub(super) fn new(layer: Layer, reason: impl Into<String>) -> Self {
        Self(LayerFailure { layer, reason: reason.into() })
    }

    pub(super) fn into_failure(self) -> LayerFailure {
        self.0
    }
}

/// Names the layer and the step of a failure.
pub(super) trait InLayer<T> {
    fn layer(self, layer: Layer, what: impl FnOnce() -> String) -> Result<T, LayerError>;
}

impl<T, E: Display> InLayer<T> for Result<T, E> {
    fn layer(self, layer: Layer, what: impl FnOnce() -> String) -> Result<T, LayerError> {
        self.map_err(|error| LayerError::new(layer, format!("{}: {error}", what())))
    }
}
