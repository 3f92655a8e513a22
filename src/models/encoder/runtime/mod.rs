//! What runs a graph.

pub mod rten;

use super::inputs::{Input, Tensor};
use crate::Result;

/// A graph, loaded: from inputs to `n_rows × n` numbers. Called from several threads at once.
pub trait Runtime: Send + Sync {
    fn run(&self, inputs: &[(Input, Tensor)]) -> Result<Vec<f32>>;
}
