//! rten: pure Rust, on the CPU, the default.
//!
//! Each call runs on one thread, since the threads of the query call it side by side: that is the best throughput, and results
//! do not depend on how many there are.

use super::Runtime;
use crate::models::encoder::inputs::{Input, Tensor};
use crate::models::encoder::onnx::WEIGHTS;
use crate::models::idle::Idle;
use crate::{Error, Result};
use ::rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use rten_tensor::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A model that rten has loaded.
pub struct Rten {
    model: Model,
    /// By name.
    inputs: BTreeMap<String, NodeId>,
    output: NodeId,
    /// Pools of one thread each.
    threads: Idle<Arc<ThreadPool>>,
}

impl Rten {
    /// Loads a graph whose weights lie in `weights`. `output` is the wanted one; `shown` names the model in messages.
    pub fn load(onnx: Vec<u8>, weights: Option<Vec<u8>>, output: &str, shown: &str) -> Result<Self> {
        let mut options = ModelOptions::with_all_ops();
        if let Some(weights) = weights {
            options.external_data(WEIGHTS, weights);
        }
        let refused = |error: String| Error::Data(format!("{shown}: rten cannot load this model: {error}"));
        let model = options.load(onnx).map_err(|error| refused(error.to_string()))?;
        let name = |id: &NodeId| Some((model.node_info(*id)?.name()?.to_string(), *id));
        let inputs = model.input_ids().iter().filter_map(name).collect();
        let output = model.node_id(output).map_err(|_| refused(format!("it has no output {output:?}")))?;
        Ok(Rten { model, inputs, output, threads: Idle::new() })
    }
}

impl Runtime for Rten {
    fn run(&self, inputs: &[(Input, Tensor)]) -> Result<Vec<f32>> {
        let mut given = Vec::new();
        for (input, tensor) in inputs {
            // What a graph does not use was taken out of it.
            let Some(id) = self.inputs.get(input.name()) else { continue };
            let value: Value = match tensor {
                Tensor::Ints(shape, data) => rten_tensor::Tensor::from_data(shape, data.clone()).into(),
                Tensor::Floats(shape, data) => rten_tensor::Tensor::from_data(shape, data.clone()).into(),
            };
            given.push((*id, value.into()));
        }
        let one_thread = || Arc::new(ThreadPool::with_num_threads(1));
        let outputs = self.threads.with(one_thread, |thread| {
            let options = RunOptions::default().with_thread_pool(Some(thread.clone()));
            self.model.run_n(given, [self.output], Some(options))
        });
        let [output] = outputs.map_err(|error| Error::Data(format!("a model failed in rten: {error}")))?;
        let output: rten_tensor::Tensor<f32> =
            output.try_into().map_err(|_| Error::Data("a model's output is not a tensor of numbers".into()))?;
        Ok(output.to_vec())
    }
}
