//! DeBERTa-v2 and v3: scores of words with words, of words with distances, and of distances with words.
//!
//! The score of the tokens `i` and `j` is `q(i)·k(j) + q(i)·kr(i-j) + k(j)·qr(i-j)`, where `kr` and `qr` are the keys and queries of the
//! bucket that the distance falls into. A product with all `2·width - 1` distances has the wanted number for `(i, j)` in
//! column `j - i + width - 1`: the row above, moved by one. So the matrix is read again with rows shorter by one, and nothing is
//! gathered element by element:
//!
//! ```text
//!  width 3, columns j-i:   -2 -1 [0 1 2]      cut the first 2,         [0 1 2] .
//!                          -2 [-1 0 1] 2      rows of 4:               [-1 0 1] .      the first 3 of each row
//!                          [-2 -1 0] 1 2                               [-2 -1 0] .
//! ```

use super::bert;
use super::layers::{Builder, WORDS};
use super::{Family, Positions, Shape};
use crate::Result;
use crate::models::encoder::files::Json;
use crate::models::encoder::inputs::Input;
use crate::models::encoder::onnx::Value;

pub fn shape(config: &Json) -> Result<Shape> {
    if !config.flag_or("relative_attention", false)? {
        return Err(config.wrong("`relative_attention` is false; DeBERTa is built with it alone"));
    }
    if config.count_or("conv_kernel_size", 0)? > 0 {
        return Err(config.wrong("`conv_kernel_size` is set: models with a convolution (xlarge) are not built"));
    }
    let max_positions = config.count("max_position_embeddings")?;
    let max_distance = match config.get("max_relative_positions").and_then(|value| value.as_i64()) {
        Some(most) if most >= 1 => most as usize,
        _ => max_positions,
    };
    let n_buckets = config.get("position_buckets").and_then(|value| value.as_i64()).filter(|buckets| *buckets > 0);
    let absolute = config.flag_or("position_biased_input", true)?;
    let terms = distance_terms(config)?;
    Ok(Shape {
        family: Family::Deberta,
        n_layers: config.count("num_hidden_layers")?,
        hidden: config.count("hidden_size")?,
        n_heads: config.count("num_attention_heads")?,
        intermediate: config.count("intermediate_size")?,
        // Distances have no limit; a table of positions has.
        max_tokens: absolute.then_some(max_positions),
        n_score_matrices: 1 + 4 * (usize::from(terms.words_with_distances) + usize::from(terms.distances_with_words)),
        positions: Positions::Buckets { n_buckets: n_buckets.unwrap_or(0) as usize, max_distance },
    })
}

struct DistanceTerms {
    words_with_distances: bool,
    distances_with_words: bool,
}

/// `pos_att_type` is a list, or a text with bars.
fn distance_terms(config: &Json) -> Result<DistanceTerms> {
    let terms: Vec<&str> = match config.get("pos_att_type") {
        Some(value) if value.is_string() => value.as_str().unwrap_or_default().split('|').collect(),
        Some(value) => {
            value.as_array().map(|terms| terms.iter().filter_map(|term| term.as_str()).collect()).unwrap_or_default()
        }
        None => Vec::new(),
    };
    let terms: Vec<&str> = terms.into_iter().map(str::trim).filter(|term| !term.is_empty()).collect();
    if let Some(other) = terms.iter().find(|term| !["c2p", "p2c"].contains(*term)) {
        return Err(config.wrong(format!("`pos_att_type` {other:?} is not known; \"c2p\" and \"p2c\" are")));
    }
    Ok(DistanceTerms { words_with_distances: terms.contains(&"c2p"), distances_with_words: terms.contains(&"p2c") })
}

pub fn build(builder: &mut Builder, config: &Json, prefix: &str, shape: &Shape) -> Result<Value> {
    let hidden = shape.hidden;
    let epsilon = config.number_or("layer_norm_eps", 1e-7)?;
    let mut x = embeddings(builder, config, prefix, shape, epsilon)?;
    let terms = distance_terms(config)?;
    let table = distance_table(builder, config, prefix, shape, epsilon)?;
    let bias = builder.input(Input::PadBias);
    for layer in 0..shape.n_layers {
        let name = |part: &str| format!("{prefix}encoder.layer.{layer}.{part}");
        let own = Names {
            query: name("attention.self.query_proj"),
            key: name("attention.self.key_proj"),
            value: name("attention.self.value_proj"),
            distance_query: name("attention.self.pos_query_proj"),
            distance_key: name("attention.self.pos_key_proj"),
        };
        let own = own.shared_with_words(config.flag_or("share_att_key", false)?);
        let mixed = attention(builder, &x, &table, &own, shape, &terms, &bias)?;
        let mixed = builder.linear(&mixed, &name("attention.output.dense"), hidden, hidden)?;
        let sum = builder.node("Add", &[&mixed, &x]);
        x = builder.norm(&sum, &name("attention.output.LayerNorm"), hidden, epsilon)?;
        x = bert::feed_forward(builder, &with_epsilon(config, epsilon), shape, &x, &name(""))?;
    }
    Ok(x)
}

/// The shared feed-forward part asks the configuration for its epsilon, whose default is another one here.
fn with_epsilon(config: &Json, epsilon: f64) -> Json {
    let mut config = config.clone();
    config.value["layer_norm_eps"] = epsilon.into();
    config
}

fn embeddings(builder: &mut Builder, config: &Json, prefix: &str, shape: &Shape, epsilon: f64) -> Result<Value> {
    let hidden = shape.hidden;
    if config.count_or("embedding_size", hidden)? != hidden {
        return Err(config.wrong("`embedding_size` differs from `hidden_size`, which is not built"));
    }
    let ids = builder.input(Input::Ids);
    let mut sum = builder.rows(&format!("{prefix}{WORDS}"), [config.count("vocab_size")?, hidden], &ids)?;
    if let Some(n_positions) = shape.max_tokens {
        let positions = builder.input(Input::Positions);
        let table = format!("{prefix}embeddings.position_embeddings.weight");
        let positions = builder.rows(&table, [n_positions, hidden], &positions)?;
        sum = builder.node("Add", &[&sum, &positions]);
    }
    let n_types = config.count_or("type_vocab_size", 0)?;
    if n_types > 0 {
        let first = builder.graph.int(0);
        let table = format!("{prefix}embeddings.token_type_embeddings.weight");
        let kind = builder.rows(&table, [n_types, hidden], &first)?;
        sum = builder.node("Add", &[&sum, &kind]);
    }
    builder.norm(&sum, &format!("{prefix}embeddings.LayerNorm"), hidden, epsilon)
}

/// The states of all buckets of distances, which each layer makes its own keys and queries of.
fn distance_table(builder: &mut Builder, config: &Json, prefix: &str, shape: &Shape, epsilon: f64) -> Result<Value> {
    let Positions::Buckets { n_buckets, max_distance } = shape.positions else {
        return Err(crate::bug!("DeBERTa without buckets"));
    };
    let reach = if n_buckets > 0 { n_buckets } else { max_distance };
    let table = builder.weight(&format!("{prefix}encoder.rel_embeddings.weight"), &[2 * reach, shape.hidden])?;
    let norms = config.text("norm_rel_ebd").unwrap_or("none").to_lowercase();
    if norms.split('|').any(|norm| norm.trim() == "layer_norm") {
        return builder.norm(&table, &format!("{prefix}encoder.LayerNorm"), shape.hidden, epsilon);
    }
    Ok(table)
}

struct Names {
    query: String,
    key: String,
    value: String,
    distance_query: String,
    distance_key: String,
}

impl Names {
    /// Distances may use the projections of the words.
    fn shared_with_words(self, shared: bool) -> Names {
        if !shared {
            return self;
        }
        Names { distance_query: self.query.clone(), distance_key: self.key.clone(), ..self }
    }
}

fn attention(
    builder: &mut Builder,
    x: &Value,
    table: &Value,
    names: &Names,
    shape: &Shape,
    terms: &DistanceTerms,
    bias: &Value,
) -> Result<Value> {
    let hidden = shape.hidden;
    let query = builder.linear(x, &names.query, hidden, hidden)?;
    let key = builder.linear(x, &names.key, hidden, hidden)?;
    let value = builder.linear(x, &names.value, hidden, hidden)?;
    let query = builder.split_heads(&query, shape, false);
    let turned_key = builder.split_heads(&key, shape, true);
    let mut scores = builder.node("MatMul", &[&query, &turned_key]);
    if terms.words_with_distances {
        let distances = distances(builder, table, &names.distance_key, Input::Distances, shape)?;
        let by_distance = builder.node("MatMul", &[&query, &distances]);
        let moved = by_pair(builder, &by_distance);
        scores = builder.node("Add", &[&scores, &moved]);
    }
    if terms.distances_with_words {
        let distances = distances(builder, table, &names.distance_query, Input::DistancesBack, shape)?;
        let key = builder.split_heads(&key, shape, false);
        let by_distance = builder.node("MatMul", &[&key, &distances]);
        let moved = by_pair(builder, &by_distance);
        let moved = builder.transpose(&moved, &[0, 1, 3, 2]);
        scores = builder.node("Add", &[&scores, &moved]);
    }
    let n_terms = 1 + usize::from(terms.words_with_distances) + usize::from(terms.distances_with_words);
    let scores = builder.scaled(&scores, 1.0 / ((hidden / shape.n_heads * n_terms) as f32).sqrt());
    let scores = builder.node("Add", &[&scores, bias]);
    let weights = builder.softmax(&scores);
    let value = builder.split_heads(&value, shape, false);
    let mixed = builder.node("MatMul", &[&weights, &value]);
    Ok(builder.join_heads(&mixed, shape))
}

/// The keys (or queries) of all distances in a batch, as `[heads, head size, 2·width - 1]`.
fn distances(builder: &mut Builder, table: &Value, name: &str, order: Input, shape: &Shape) -> Result<Value> {
    let projected = builder.linear_once(table, name, shape.hidden, shape.hidden)?;
    let wanted = builder.input(order);
    let rows = builder.node("Gather", &[&projected, &wanted]);
    let parts = builder.graph.ints(&[0, shape.n_heads as i64, (shape.hidden / shape.n_heads) as i64]);
    let split = builder.node("Reshape", &[&rows, &parts]);
    Ok(builder.transpose(&split, &[1, 2, 0]))
}

/// From a column for each distance to a column for each token; see the picture above.
fn by_pair(builder: &mut Builder, by_distance: &Value) -> Value {
    let flat = builder.graph.ints(&[0, 0, -1]);
    let flat = builder.node("Reshape", &[by_distance, &flat]);
    let (begin, end) = (builder.input(Input::ShiftBegin), builder.input(Input::ShiftEnd));
    let axis = builder.graph.ints(&[2]);
    let cut = builder.node("Slice", &[&flat, &begin, &end, &axis]);
    let rows = builder.input(Input::ShiftRows);
    let rows = builder.node("Reshape", &[&cut, &rows]);
    let (first, width, axis) = (builder.graph.ints(&[0]), builder.input(Input::Width), builder.graph.ints(&[3]));
    builder.node("Slice", &[&rows, &first, &width, &axis])
}
