//! MPNet: RoBERTa's positions, and a bias for the distance of two tokens that all layers share.

use super::bert;
use super::layers::Builder;
use super::{Family, Positions, Shape, roberta};
use crate::Result;
use crate::models::encoder::files::Json;
use crate::models::encoder::inputs::Input;
use crate::models::encoder::onnx::Value;

pub fn shape(config: &Json) -> Result<Shape> {
    let n_buckets = config.count_or("relative_attention_num_buckets", 32)?;
    // The number of the padding token is not taken from the configuration: all of MPNet counts from behind 1.
    Ok(Shape {
        family: Family::Mpnet,
        positions: Positions::FromAndBias { first: 2, n_buckets },
        ..roberta::shape(config)?
    })
}

pub fn build(builder: &mut Builder, config: &Json, prefix: &str, shape: &Shape) -> Result<Value> {
    let Positions::FromAndBias { n_buckets, .. } = shape.positions else {
        return Err(crate::bug!("MPNet without buckets"));
    };
    let epsilon = config.number_or("layer_norm_eps", 1e-12)?;
    let n_positions = config.count("max_position_embeddings")?;
    let mut x = bert::embeddings(builder, config, prefix, shape, n_positions, 0)?;
    let distances = builder.input(Input::DistanceBuckets);
    let table = format!("{prefix}encoder.relative_attention_bias.weight");
    let distances = builder.rows(&table, [n_buckets, shape.n_heads], &distances)?;
    // [width, width, heads] becomes [1, heads, width, width].
    let distances = builder.transpose(&distances, &[2, 0, 1]);
    let front = builder.graph.ints(&[0]);
    let distances = builder.node("Unsqueeze", &[&distances, &front]);
    let padding = builder.input(Input::PadBias);
    let bias = builder.node("Add", &[&distances, &padding]);
    for layer in 0..shape.n_layers {
        let name = |part: &str| format!("{prefix}encoder.layer.{layer}.{part}");
        let [query, key, value] = ["q", "k", "v"].map(|part| name(&format!("attention.attn.{part}")));
        let mixed = builder.attention(&x, [&query, &key, &value], shape, &[&bias])?;
        let mixed = builder.linear(&mixed, &name("attention.attn.o"), shape.hidden, shape.hidden)?;
        let sum = builder.node("Add", &[&mixed, &x]);
        x = builder.norm(&sum, &name("attention.LayerNorm"), shape.hidden, epsilon)?;
        x = bert::feed_forward(builder, config, shape, &x, &name(""))?;
    }
    Ok(x)
}
