//! One hash over a list, with a short proof for each item: what one person is shown of a checkpoint says
//! nothing about the others in it. Leaves and nodes are hashed apart, as in RFC 6962.

use cloister_vault::{Canonical, Digest32};
use serde::{Deserialize, Serialize};

/// One step from a leaf to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MerkleStep {
    /// The neighbour is to the left.
    Left(Digest32),
    Right(Digest32),
}

fn node(left: &Digest32, right: &Digest32) -> Digest32 {
    Canonical::new("cloister audit node v1").digest(left).digest(right).hash()
}

/// The level above; an item without a neighbour goes up as it is.
fn above(level: &[Digest32]) -> Vec<Digest32> {
    let pair = |pair: &[Digest32]| match pair {
        [left, right] => Some(node(left, right)),
        [alone] => Some(*alone),
        _ => None,
    };
    level.chunks(2).filter_map(pair).collect()
}

pub fn root(leaves: &[Digest32]) -> Digest32 {
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = above(&level);
    }
    level.first().copied().unwrap_or(Digest32::ZERO)
}

/// How the leaf at `index` leads to the root.
pub fn path(leaves: &[Digest32], mut index: usize) -> Vec<MerkleStep> {
    let mut level = leaves.to_vec();
    let mut steps = Vec::new();
    while level.len() > 1 {
        let neighbour = level.get(index ^ 1).copied();
        steps.extend(neighbour.map(|hash| match index % 2 {
            0 => MerkleStep::Right(hash),
            _ => MerkleStep::Left(hash),
        }));
        level = above(&level);
        index /= 2;
    }
    steps
}

/// The root that a leaf and its path lead to.
pub fn climb(leaf: Digest32, steps: &[MerkleStep]) -> Digest32 {
    steps.iter().fold(leaf, |hash, step| match step {
        MerkleStep::Left(left) => node(left, &hash),
        MerkleStep::Right(right) => node(&hash, right),
    })
}

#[cfg(test)]
#[path = "merkle_tests.rs"]
mod tests;
