//! ModernBERT: rotated positions, windows of neighbours in most layers, a gated feed-forward part, norms before each part.

use super::layers::Builder;
use super::{Family, Positions, Shape};
use crate::Result;
use crate::models::encoder::files::Json;
use crate::models::encoder::inputs::Input;
use crate::models::encoder::onnx::{Attribute, Value};
use serde_json::Value as JsonValue;

/// The tensor that every ModernBERT has.
pub const FIRST: &str = "embeddings.tok_embeddings.weight";

pub fn shape(config: &Json) -> Result<Shape> {
    let hidden = config.count("hidden_size")?;
    let n_heads = config.count("num_attention_heads")?;
    for key in ["attention_bias", "mlp_bias", "norm_bias"] {
        if config.flag_or(key, false)? {
            return Err(config.wrong(format!("`{key}` is true, which is not built")));
        }
    }
    let local = config.count_or("local_attention", 128)?;
    Ok(Shape {
        family: Family::ModernBert,
        n_layers: config.count("num_hidden_layers")?,
        hidden,
        n_heads,
        intermediate: config.count("intermediate_size")?,
        max_tokens: Some(config.count_or("max_position_embeddings", 8192)?),
        n_score_matrices: 1,
        positions: Positions::Rotary {
            global_base: base(config, "full_attention", "global_rope_theta", 160_000.0)?,
            local_base: base(config, "sliding_attention", "local_rope_theta", 10_000.0)?,
            head_size: hidden / n_heads.max(1),
            window: local / 2,
        },
    })
}

/// The base of the rotations: newer configurations have one entry for each kind of layer.
fn base(config: &Json, kind: &str, key: &str, default: f64) -> Result<f64> {
    let newer = config.get("rope_parameters").and_then(|all| all.get(kind)).and_then(|own| own.get("rope_theta"));
    match newer.and_then(JsonValue::as_f64) {
        Some(base) => Ok(base),
        None => config.number_or(key, default),
    }
}

/// Which layers see all tokens.
fn is_global(config: &Json, layer: usize) -> Result<bool> {
    match config.get("layer_types").and_then(|kinds| kinds.get(layer)).and_then(JsonValue::as_str) {
        Some(kind) => Ok(kind == "full_attention"),
        None => Ok(layer.is_multiple_of(config.count_or("global_attn_every_n_layers", 3)?.max(1))),
    }
}

fn epsilon(config: &Json) -> Result<f64> {
    config.number_or("norm_eps", 1e-5)
}

pub fn build(builder: &mut Builder, config: &Json, prefix: &str, shape: &Shape) -> Result<Value> {
    let (hidden, wide) = (shape.hidden, shape.intermediate);
    let epsilon = epsilon(config)?;
    let ids = builder.input(Input::Ids);
    let words = builder.rows(&format!("{prefix}{FIRST}"), [config.count("vocab_size")?, hidden], &ids)?;
    let mut x = norm(builder, &words, &format!("{prefix}embeddings.norm"), hidden, epsilon)?;
    for layer in 0..shape.n_layers {
        let name = |part: &str| format!("{prefix}layers.{layer}.{part}");
        // The first layer takes the normalized embeddings as they are.
        let own = if layer == 0 { x.clone() } else { norm(builder, &x, &name("attn_norm"), hidden, epsilon)? };
        let mixed = attention(builder, &own, &name("attn."), shape, is_global(config, layer)?)?;
        x = builder.node("Add", &[&x, &mixed]);
        let own = norm(builder, &x, &name("mlp_norm"), hidden, epsilon)?;
        let both = builder.linear_without_bias(&own, &name("mlp.Wi"), hidden, 2 * wide)?;
        let value = part(builder, &both, 0, wide);
        let gate = part(builder, &both, wide, 2 * wide);
        let value = builder.activation(&value, config, "hidden_activation", "gelu")?;
        let gated = builder.node("Mul", &[&value, &gate]);
        let back = builder.linear_without_bias(&gated, &name("mlp.Wo"), wide, hidden)?;
        x = builder.node("Add", &[&x, &back]);
    }
    norm(builder, &x, &format!("{prefix}final_norm"), hidden, epsilon)
}

/// A norm without a shift.
pub fn norm(builder: &mut Builder, x: &Value, name: &str, width: usize, epsilon: f64) -> Result<Value> {
    let scale = builder.weight(&format!("{name}.weight"), &[width])?;
    let attributes = [("axis", Attribute::Int(-1)), ("epsilon", Attribute::Float(epsilon as f32))];
    Ok(builder.graph.node("LayerNormalization", &[x, &scale], &attributes))
}

fn attention(builder: &mut Builder, x: &Value, name: &str, shape: &Shape, global: bool) -> Result<Value> {
    let hidden = shape.hidden;
    let all = builder.linear_without_bias(x, &format!("{name}Wqkv"), hidden, 3 * hidden)?;
    let [query, key, value] = [0, 1, 2].map(|third| part(builder, &all, third * hidden, (third + 1) * hidden));
    let (cosines, sines) = if global {
        (builder.input(Input::GlobalCosines), builder.input(Input::GlobalSines))
    } else {
        (builder.input(Input::LocalCosines), builder.input(Input::LocalSines))
    };
    let query = builder.split_heads(&query, shape, false);
    let query = rotated(builder, &query, &cosines, &sines, shape);
    let key = builder.split_heads(&key, shape, false);
    let key = rotated(builder, &key, &cosines, &sines, shape);
    let key = builder.transpose(&key, &[0, 1, 3, 2]);
    let value = builder.split_heads(&value, shape, false);
    let padding = builder.input(Input::PadBias);
    let mixed = if global {
        builder.attend(&query, &key, &value, shape, &[&padding])
    } else {
        let window = builder.input(Input::WindowBias);
        let bias = builder.node("Add", &[&padding, &window]);
        builder.attend(&query, &key, &value, shape, &[&bias])
    };
    builder.linear_without_bias(&mixed, &format!("{name}Wo"), hidden, hidden)
}

/// Each pair of numbers, half a head apart, turned by an angle that grows with the position.
fn rotated(builder: &mut Builder, x: &Value, cosines: &Value, sines: &Value, shape: &Shape) -> Value {
    let head_size = shape.hidden / shape.n_heads;
    let (first, second) = (part(builder, x, 0, head_size / 2), part(builder, x, head_size / 2, head_size));
    let minus = builder.node("Neg", &[&second]);
    let across = builder.graph.node("Concat", &[&minus, &first], &[("axis", Attribute::Int(-1))]);
    let along = builder.node("Mul", &[x, cosines]);
    let across = builder.node("Mul", &[&across, sines]);
    builder.node("Add", &[&along, &across])
}

/// Some columns of the last axis.
fn part(builder: &mut Builder, x: &Value, begin: usize, end: usize) -> Value {
    let (begin, end, axis) =
        (builder.graph.ints(&[begin as i64]), builder.graph.ints(&[end as i64]), builder.graph.ints(&[-1]));
    builder.node("Slice", &[x, &begin, &end, &axis])
}
