//! BERT: MiniLM, the E5, BGE and GTE families, arctic-embed and what was trained from it.

use super::layers::{Builder, WORDS};
use super::{Family, Positions, Shape};
use crate::Result;
use crate::models::encoder::files::Json;
use crate::models::encoder::inputs::Input;
use crate::models::encoder::onnx::Value;

pub fn shape(config: &Json) -> Result<Shape> {
    absolute_positions(config)?;
    Ok(Shape {
        family: Family::Bert,
        n_layers: config.count("num_hidden_layers")?,
        hidden: config.count("hidden_size")?,
        n_heads: config.count("num_attention_heads")?,
        intermediate: config.count("intermediate_size")?,
        max_tokens: Some(config.count("max_position_embeddings")?),
        n_score_matrices: 1,
        positions: Positions::From(0),
    })
}

/// Positions relative to the key were tried in some models, and are not built here.
pub fn absolute_positions(config: &Json) -> Result<()> {
    match config.text("position_embedding_type") {
        None | Some("absolute") => Ok(()),
        Some(other) => Err(config.wrong(format!("`position_embedding_type` {other:?} is not known; \"absolute\" is"))),
    }
}

pub fn build(builder: &mut Builder, config: &Json, prefix: &str, shape: &Shape) -> Result<Value> {
    let n_types = config.count_or("type_vocab_size", 2)?;
    let states = embeddings(builder, config, prefix, shape, shape.max_tokens.unwrap_or_default(), n_types)?;
    layers(builder, config, prefix, shape, states)
}

/// Words, positions and the first type of token, added and normalized.
pub fn embeddings(
    builder: &mut Builder,
    config: &Json,
    prefix: &str,
    shape: &Shape,
    n_positions: usize,
    n_types: usize,
) -> Result<Value> {
    let hidden = shape.hidden;
    let ids = builder.input(Input::Ids);
    let words = builder.rows(&format!("{prefix}{WORDS}"), [config.count("vocab_size")?, hidden], &ids)?;
    let positions = builder.input(Input::Positions);
    let table = format!("{prefix}embeddings.position_embeddings.weight");
    let positions = builder.rows(&table, [n_positions, hidden], &positions)?;
    let mut sum = builder.node("Add", &[&words, &positions]);
    if n_types > 0 {
        let first = builder.graph.int(0);
        let table = format!("{prefix}embeddings.token_type_embeddings.weight");
        let kind = builder.rows(&table, [n_types, hidden], &first)?;
        sum = builder.node("Add", &[&sum, &kind]);
    }
    builder.norm(&sum, &format!("{prefix}embeddings.LayerNorm"), hidden, config.number_or("layer_norm_eps", 1e-12)?)
}

/// The layers, which RoBERTa has too.
pub fn layers(builder: &mut Builder, config: &Json, prefix: &str, shape: &Shape, mut x: Value) -> Result<Value> {
    let epsilon = config.number_or("layer_norm_eps", 1e-12)?;
    let bias = builder.input(Input::PadBias);
    for layer in 0..shape.n_layers {
        let name = |part: &str| format!("{prefix}encoder.layer.{layer}.{part}");
        let [query, key, value] = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        let mixed = builder.attention(&x, [&query, &key, &value], shape, &[&bias])?;
        let mixed = builder.linear(&mixed, &name("attention.output.dense"), shape.hidden, shape.hidden)?;
        let sum = builder.node("Add", &[&mixed, &x]);
        x = builder.norm(&sum, &name("attention.output.LayerNorm"), shape.hidden, epsilon)?;
        x = feed_forward(builder, config, shape, &x, &name(""))?;
    }
    Ok(x)
}

/// Wide and back, and the norm after it: of BERT, RoBERTa, MPNet and DeBERTa.
pub fn feed_forward(builder: &mut Builder, config: &Json, shape: &Shape, x: &Value, layer: &str) -> Result<Value> {
    let wide = builder.linear(x, &format!("{layer}intermediate.dense"), shape.hidden, shape.intermediate)?;
    let wide = builder.activation(&wide, config, "hidden_act", "gelu")?;
    let back = builder.linear(&wide, &format!("{layer}output.dense"), shape.intermediate, shape.hidden)?;
    let sum = builder.node("Add", &[&back, x]);
    let epsilon = config.number_or("layer_norm_eps", 1e-12)?;
    builder.norm(&sum, &format!("{layer}output.LayerNorm"), shape.hidden, epsilon)
}
