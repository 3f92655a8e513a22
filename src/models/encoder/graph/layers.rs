//! What the families are made of: embeddings, linear layers, norms and attention, as nodes of a graph.

use super::Shape;
use crate::Result;
use crate::models::encoder::files::Json;
use crate::models::encoder::inputs::Input;
use crate::models::encoder::onnx::{Attribute, Graph, Value};
use crate::models::encoder::weights::{Layout, Placed, Weights};
use std::collections::BTreeMap;

/// The table of words, in all families but ModernBERT.
pub const WORDS: &str = "embeddings.word_embeddings.weight";

/// A graph under construction, and the weights that it takes.
pub struct Builder<'a, 'f> {
    pub graph: Graph,
    pub weights: &'a mut Weights<'f>,
    /// In the order in which they were first asked for.
    pub inputs: Vec<(Input, Value)>,
    placed: BTreeMap<(String, bool), Value>,
    /// Multiplications and additions of the linear layers for one token.
    pub flops_per_token: f64,
}

impl<'a, 'f> Builder<'a, 'f> {
    pub fn new(weights: &'a mut Weights<'f>) -> Self {
        let (graph, inputs) = (Graph::default(), Vec::new());
        Builder { graph, weights, inputs, placed: BTreeMap::new(), flops_per_token: 0.0 }
    }

    /// Something that `inputs.rs` computes.
    pub fn input(&mut self, input: Input) -> Value {
        if let Some((_, value)) = self.inputs.iter().find(|(known, _)| *known == input) {
            return value.clone();
        }
        let value = self.graph.input(input.name(), input.numbers(), &input.dims());
        self.inputs.push((input, value.clone()));
        value
    }

    pub fn node(&mut self, operation: &str, inputs: &[&Value]) -> Value {
        self.graph.node(operation, inputs, &[])
    }

    /// A tensor as it is stored.
    pub fn weight(&mut self, name: &str, shape: &[usize]) -> Result<Value> {
        self.take(name, shape, Layout::Stored)
    }

    fn take(&mut self, name: &str, shape: &[usize], layout: Layout) -> Result<Value> {
        let key = (name.to_string(), layout == Layout::Transposed);
        if let Some(value) = self.placed.get(&key) {
            return Ok(value.clone());
        }
        let Placed { shape, offset, length } = self.weights.place(name, shape, layout)?;
        let value = self.graph.weight(name, &shape, offset, length);
        self.placed.insert(key, value.clone());
        Ok(value)
    }

    /// `x · Wᵀ + b`, once for each token.
    pub fn linear(&mut self, x: &Value, name: &str, n_in: usize, n_out: usize) -> Result<Value> {
        self.flops_per_token += 2.0 * (n_in * n_out) as f64;
        self.linear_once(x, name, n_in, n_out)
    }

    /// The same on top of a document, where it hardly counts. Without a bias if there is none.
    pub fn linear_once(&mut self, x: &Value, name: &str, n_in: usize, n_out: usize) -> Result<Value> {
        let product = self.product(x, name, n_in, n_out)?;
        let bias = self.weight(&format!("{name}.bias"), &[n_out])?;
        Ok(self.node("Add", &[&product, &bias]))
    }

    /// `x · Wᵀ`, once for each token.
    pub fn linear_without_bias(&mut self, x: &Value, name: &str, n_in: usize, n_out: usize) -> Result<Value> {
        self.flops_per_token += 2.0 * (n_in * n_out) as f64;
        self.product(x, name, n_in, n_out)
    }

    pub fn product(&mut self, x: &Value, name: &str, n_in: usize, n_out: usize) -> Result<Value> {
        let weight = self.take(&format!("{name}.weight"), &[n_out, n_in], Layout::Transposed)?;
        Ok(self.node("MatMul", &[x, &weight]))
    }

    /// A layer norm over the last axis. Old checkpoints call its tensors `gamma` and `beta`.
    pub fn norm(&mut self, x: &Value, name: &str, width: usize, epsilon: f64) -> Result<Value> {
        let old = self.weights.has(&format!("{name}.gamma"));
        let (scale, shift) = if old { ("gamma", "beta") } else { ("weight", "bias") };
        let scale = self.weight(&format!("{name}.{scale}"), &[width])?;
        let shift = self.weight(&format!("{name}.{shift}"), &[width])?;
        let attributes = [("axis", Attribute::Int(-1)), ("epsilon", Attribute::Float(epsilon as f32))];
        Ok(self.graph.node("LayerNormalization", &[x, &scale, &shift], &attributes))
    }

    /// Rows of a table, by number.
    pub fn rows(&mut self, table: &str, shape: [usize; 2], numbers: &Value) -> Result<Value> {
        let table = self.weight(table, &shape)?;
        Ok(self.node("Gather", &[&table, numbers]))
    }

    /// The function between two linear layers, by its name in the configuration.
    pub fn activation(&mut self, x: &Value, config: &Json, key: &str, default: &str) -> Result<Value> {
        let name = config.text(key).unwrap_or(default);
        Ok(match name {
            "gelu" => self.graph.node("Gelu", &[x], &[("approximate", Attribute::Text("none"))]),
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => {
                self.graph.node("Gelu", &[x], &[("approximate", Attribute::Text("tanh"))])
            }
            "relu" => self.node("Relu", &[x]),
            "tanh" => self.node("Tanh", &[x]),
            "silu" | "swish" => {
                let gate = self.node("Sigmoid", &[x]);
                self.node("Mul", &[x, &gate])
            }
            other => return Err(config.wrong(format!("`{key}` {other:?} is not known"))),
        })
    }

    /// `[rows, width, hidden]` as `[rows, heads, width, head size]`, or with the last two axes turned round.
    pub fn split_heads(&mut self, x: &Value, shape: &Shape, turned: bool) -> Value {
        let head_size = shape.hidden / shape.n_heads;
        let parts = self.graph.ints(&[0, 0, shape.n_heads as i64, head_size as i64]);
        let split = self.node("Reshape", &[x, &parts]);
        self.transpose(&split, if turned { &[0, 2, 3, 1] } else { &[0, 2, 1, 3] })
    }

    /// The heads side by side again.
    pub fn join_heads(&mut self, x: &Value, shape: &Shape) -> Value {
        let turned = self.transpose(x, &[0, 2, 1, 3]);
        let joined = self.graph.ints(&[0, 0, shape.hidden as i64]);
        self.node("Reshape", &[&turned, &joined])
    }

    pub fn transpose(&mut self, x: &Value, order: &[i64]) -> Value {
        self.graph.node("Transpose", &[x], &[("perm", Attribute::Ints(order))])
    }

    pub fn scaled(&mut self, x: &Value, factor: f32) -> Value {
        let factor = self.graph.float(factor);
        self.node("Mul", &[x, &factor])
    }

    pub fn softmax(&mut self, x: &Value) -> Value {
        self.graph.node("Softmax", &[x], &[("axis", Attribute::Int(-1))])
    }

    /// Attention with queries, keys and values of one layer each. `bias` is added to the scaled scores.
    pub fn attention(&mut self, x: &Value, names: [&str; 3], shape: &Shape, bias: &[&Value]) -> Result<Value> {
        let hidden = shape.hidden;
        let [query, key, value] = names;
        let query = self.linear(x, query, hidden, hidden)?;
        let key = self.linear(x, key, hidden, hidden)?;
        let value = self.linear(x, value, hidden, hidden)?;
        let query = self.split_heads(&query, shape, false);
        let key = self.split_heads(&key, shape, true);
        let value = self.split_heads(&value, shape, false);
        Ok(self.attend(&query, &key, &value, shape, bias))
    }

    /// Attention of heads: the key turned round.
    pub fn attend(&mut self, query: &Value, key: &Value, value: &Value, shape: &Shape, bias: &[&Value]) -> Value {
        let scores = self.node("MatMul", &[query, key]);
        let mut scores = self.scaled(&scores, 1.0 / ((shape.hidden / shape.n_heads) as f32).sqrt());
        for bias in bias {
            scores = self.node("Add", &[&scores, bias]);
        }
        let weights = self.softmax(&scores);
        let mixed = self.node("MatMul", &[&weights, value]);
        self.join_heads(&mixed, shape)
    }
}
