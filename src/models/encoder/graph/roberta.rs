//! RoBERTa, XLM-RoBERTa, CamemBERT: BERT whose positions are counted from behind the padding token's number.

use super::bert;
use super::layers::Builder;
use super::{Family, Positions, Shape};
use crate::Result;
use crate::models::encoder::files::Json;
use crate::models::encoder::onnx::Value;

pub fn shape(config: &Json) -> Result<Shape> {
    bert::absolute_positions(config)?;
    let first = config.count_or("pad_token_id", 1)? + 1;
    let n_positions = config.count("max_position_embeddings")?;
    let max_tokens = n_positions.checked_sub(first).filter(|most| *most > 0);
    let max_tokens = max_tokens.ok_or_else(|| config.wrong("`max_position_embeddings` leaves no place for a token"))?;
    Ok(Shape {
        family: Family::Roberta,
        max_tokens: Some(max_tokens),
        positions: Positions::From(first),
        ..bert::shape(config)?
    })
}

pub fn build(builder: &mut Builder, config: &Json, prefix: &str, shape: &Shape) -> Result<Value> {
    let n_types = config.count_or("type_vocab_size", 1)?;
    let n_positions = config.count("max_position_embeddings")?;
    let states = bert::embeddings(builder, config, prefix, shape, n_positions, n_types)?;
    bert::layers(builder, config, prefix, shape, states)
}
