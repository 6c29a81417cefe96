//! Witnesses of the audit: places off this machine that are shown every checkpoint.

use futures_util::future::BoxFuture;

/// A place that keeps checkpoints. It is shown each in turn, and again when it did not confirm.
pub trait CheckpointWitness: Send + Sync + 'static {
    /// A name that stays the same, under which is kept how far it has come. It holds no secret.
    fn name(&self) -> &str;

    /// Keeps a checkpoint, given as one line of JSON; it is safe there once this returns. To be given the same
    /// one again is no error. An error says why in words, without a secret.
    fn keep<'a>(&'a self, number: u64, line: &'a [u8]) -> BoxFuture<'a, Result<(), String>>;
}
