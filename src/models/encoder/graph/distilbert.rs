//! DistilBERT: BERT without types of tokens, under names of its own.

use super::layers::{Builder, WORDS};
use super::{Family, Positions, Shape};
use crate::Result;
use crate::models::encoder::files::Json;
use crate::models::encoder::inputs::Input;
use crate::models::encoder::onnx::Value;

const EPSILON: f64 = 1e-12;

pub fn shape(config: &Json) -> Result<Shape> {
    Ok(Shape {
        family: Family::DistilBert,
        n_layers: config.count("n_layers")?,
        hidden: config.count("dim")?,
        n_heads: config.count("n_heads")?,
        intermediate: config.count("hidden_dim")?,
        max_tokens: Some(config.count("max_position_embeddings")?),
        n_score_matrices: 1,
        positions: Positions::From(0),
    })
}

pub fn build(builder: &mut Builder, config: &Json, prefix: &str, shape: &Shape) -> Result<Value> {
    let hidden = shape.hidden;
    let ids = builder.input(Input::Ids);
    let words = builder.rows(&format!("{prefix}{WORDS}"), [config.count("vocab_size")?, hidden], &ids)?;
    let positions = builder.input(Input::Positions);
    let table = format!("{prefix}embeddings.position_embeddings.weight");
    let positions = builder.rows(&table, [shape.max_tokens.unwrap_or_default(), hidden], &positions)?;
    let sum = builder.node("Add", &[&words, &positions]);
    let mut x = builder.norm(&sum, &format!("{prefix}embeddings.LayerNorm"), hidden, EPSILON)?;
    let bias = builder.input(Input::PadBias);
    for layer in 0..shape.n_layers {
        let name = |part: &str| format!("{prefix}transformer.layer.{layer}.{part}");
        let [query, key, value] = ["q_lin", "k_lin", "v_lin"].map(|part| name(&format!("attention.{part}")));
        let mixed = builder.attention(&x, [&query, &key, &value], shape, &[&bias])?;
        let mixed = builder.linear(&mixed, &name("attention.out_lin"), hidden, hidden)?;
        let sum = builder.node("Add", &[&mixed, &x]);
        x = builder.norm(&sum, &name("sa_layer_norm"), hidden, EPSILON)?;
        let wide = builder.linear(&x, &name("ffn.lin1"), hidden, shape.intermediate)?;
        let wide = builder.activation(&wide, config, "activation", "gelu")?;
        let back = builder.linear(&wide, &name("ffn.lin2"), shape.intermediate, hidden)?;
        let sum = builder.node("Add", &[&back, &x]);
        x = builder.norm(&sum, &name("output_layer_norm"), hidden, EPSILON)?;
    }
    Ok(x)
}
