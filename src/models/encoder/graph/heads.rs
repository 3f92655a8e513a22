//! What stands on an encoder: a pooled vector, or the numbers (logits) of one or more classifiers.

use super::layers::Builder;
use super::modernbert;
use super::{Backbone, Family};
use crate::Result;
use crate::models::encoder::files::Json;
use crate::models::encoder::inputs::{Input, Pooling};
use crate::models::encoder::onnx::{Attribute, Value};

/// One vector for each row, of the states of its tokens.
pub fn pooled(builder: &mut Builder, states: &Value, pooling: Pooling) -> Value {
    if pooling == Pooling::Max {
        let floor = builder.input(Input::PadFloor);
        let floored = builder.node("Add", &[states, &floor]);
        let axis = builder.graph.ints(&[1]);
        return builder.graph.node("ReduceMax", &[&floored, &axis], &[("keepdims", Attribute::Int(0))]);
    }
    let weights = builder.input(Input::PoolWeights(pooling));
    let sum = builder.node("MatMul", &[&weights, states]);
    let flat = builder.graph.ints(&[0, -1]);
    builder.node("Reshape", &[&sum, &flat])
}

/// Rows twice, before linear layers; and once again, behind them. A matrix of one row is multiplied in another way than one of
/// several, with other last bits; so a row would depend on whether it is alone.
fn twice(builder: &mut Builder, rows: &Value) -> Value {
    builder.graph.node("Concat", &[rows, rows], &[("axis", Attribute::Int(0))])
}

fn once(builder: &mut Builder, twice: &Value) -> Value {
    let (begin, end, axis) = (builder.graph.ints(&[0]), builder.input(Input::Rows), builder.graph.ints(&[0]));
    builder.node("Slice", &[twice, &begin, &end, &axis])
}

/// The state of the first token.
fn first(builder: &mut Builder, states: &Value) -> Value {
    let place = builder.graph.int(0);
    builder.graph.node("Gather", &[states, &place], &[("axis", Attribute::Int(1))])
}

/// The logits of the head that transformers puts on each family for whole texts.
pub fn classifier(builder: &mut Builder, backbone: &Backbone, states: &Value, n_labels: usize) -> Result<Value> {
    let (config, hidden) = (backbone.config(), backbone.shape.hidden);
    let is_mean = backbone.shape.family == Family::ModernBert && config.text("classifier_pooling") == Some("mean");
    let token = if is_mean { pooled(builder, states, Pooling::Mean) } else { first(builder, states) };
    let token = twice(builder, &token);
    let logits = match backbone.shape.family {
        Family::Bert => {
            let name = format!("{}pooler.dense", backbone.prefix());
            let pooled = builder.linear_once(&token, &name, hidden, hidden)?;
            let pooled = builder.node("Tanh", &[&pooled]);
            builder.linear_once(&pooled, "classifier", hidden, n_labels)
        }
        Family::DistilBert => {
            let inner = builder.linear_once(&token, "pre_classifier", hidden, hidden)?;
            let inner = builder.node("Relu", &[&inner]);
            builder.linear_once(&inner, "classifier", hidden, n_labels)
        }
        Family::Roberta | Family::Mpnet => {
            let inner = builder.linear_once(&token, "classifier.dense", hidden, hidden)?;
            let inner = builder.node("Tanh", &[&inner]);
            builder.linear_once(&inner, "classifier.out_proj", hidden, n_labels)
        }
        Family::Deberta => {
            let inner = builder.linear_once(&token, "pooler.dense", hidden, hidden)?;
            let inner = builder.activation(&inner, config, "pooler_hidden_act", "gelu")?;
            builder.linear_once(&inner, "classifier", hidden, n_labels)
        }
        Family::ModernBert => modernbert_classifier(builder, config, &token, hidden, n_labels),
    }?;
    Ok(once(builder, &logits))
}

fn modernbert_classifier(
    builder: &mut Builder,
    config: &Json,
    token: &Value,
    hidden: usize,
    n_labels: usize,
) -> Result<Value> {
    let inner = if config.flag_or("classifier_bias", false)? {
        builder.linear_once(token, "head.dense", hidden, hidden)?
    } else {
        builder.product(token, "head.dense", hidden, hidden)?
    };
    let inner = builder.activation(&inner, config, "classifier_activation", "gelu")?;
    let inner = modernbert::norm(builder, &inner, "head.norm", hidden, config.number_or("norm_eps", 1e-5)?)?;
    builder.linear_once(&inner, "classifier", hidden, n_labels)
}

/// One linear layer on the first token: the wrapper of NVIDIA's classifiers, whose dropout does nothing here.
pub fn linear_on_first(
    builder: &mut Builder,
    states: &Value,
    name: &str,
    hidden: usize,
    n_labels: usize,
) -> Result<Value> {
    let token = first(builder, states);
    let token = twice(builder, &token);
    let logits = builder.linear_once(&token, name, hidden, n_labels)?;
    Ok(once(builder, &logits))
}

/// Several linear layers on the mean of all tokens, their logits side by side.
pub fn linears_on_mean<'l>(
    builder: &mut Builder,
    states: &Value,
    hidden: usize,
    layers: impl Iterator<Item = (&'l str, usize)>,
) -> Result<Value> {
    let mean = pooled(builder, states, Pooling::Mean);
    let mean = twice(builder, &mean);
    let mut logits = Vec::new();
    for (name, n_out) in layers {
        logits.push(builder.linear_once(&mean, name, hidden, n_out)?);
    }
    let logits: Vec<&Value> = logits.iter().collect();
    let logits = builder.graph.node("Concat", &logits, &[("axis", Attribute::Int(1))]);
    Ok(once(builder, &logits))
}

/// A linear layer of sentence-transformers, with the function behind it.
pub fn dense(builder: &mut Builder, x: &Value, layer: &Dense) -> Result<Value> {
    let name = format!("{}linear", layer.prefix);
    let x = twice(builder, x);
    let y = match layer.has_bias {
        true => builder.linear_once(&x, &name, layer.n_in, layer.n_out)?,
        false => builder.product(&x, &name, layer.n_in, layer.n_out)?,
    };
    let y = once(builder, &y);
    Ok(if layer.tanh { builder.node("Tanh", &[&y]) } else { y })
}

/// A module `Dense` of sentence-transformers.
#[derive(Clone, Debug)]
pub struct Dense {
    /// What its tensors' names begin with.
    pub prefix: String,
    pub n_in: usize,
    pub n_out: usize,
    pub has_bias: bool,
    pub tanh: bool,
}
