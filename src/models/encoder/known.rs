//! Backbones that a model names instead of describing.
//!
//! NVIDIA's classifiers are saved with the name of the model that they were trained from (`base_model`), and with all of its
//! weights, but without its configuration.

use super::files::{self, Json, ModelFiles};
use super::weights::Weights;
use crate::Result;
use serde_json::json;

/// `name`, layers, hidden size, heads.
const DEBERTA_V3: [(&str, usize, usize, usize); 5] = [
    ("microsoft/deberta-v3-base", 12, 768, 12),
    ("microsoft/deberta-v3-large", 24, 1024, 16),
    ("microsoft/deberta-v3-small", 6, 768, 12),
    ("microsoft/deberta-v3-xsmall", 12, 384, 6),
    ("microsoft/mdeberta-v3-base", 12, 768, 12),
];

/// The configuration of the model that `config` calls its base: a folder inside this one, or one that is known by name.
pub fn base(config: &Json, base: &str, files: &ModelFiles, weights: &Weights, words: &str) -> Result<Json> {
    if !base.contains("..")
        && let Some(own) = files::json(files, &format!("{}/config.json", base.trim_start_matches("./")))?
    {
        return Ok(own);
    }
    let found = DEBERTA_V3.iter().find(|(name, ..)| name.eq_ignore_ascii_case(base));
    let Some((_, n_layers, hidden, n_heads)) = found else {
        let known: Vec<&str> = DEBERTA_V3.iter().map(|(name, ..)| *name).collect();
        return Err(config.wrong(format!(
            "`base_model` {base:?} is not known ({} are); put its config.json into a folder {base:?} inside the model's",
            known.join(", ")
        )));
    };
    // The vocabularies differ, and the table of words has one row for each.
    let vocabulary = weights.shape(words).and_then(|shape| shape.first()).copied().unwrap_or(128_100);
    let value = json!({
        "model_type": "deberta-v2", "num_hidden_layers": n_layers, "hidden_size": hidden, "num_attention_heads": n_heads,
        "intermediate_size": 4 * hidden, "vocab_size": vocabulary, "max_position_embeddings": 512, "type_vocab_size": 0,
        "relative_attention": true, "position_buckets": 256, "max_relative_positions": -1, "pos_att_type": "p2c|c2p",
        "share_att_key": true, "norm_rel_ebd": "layer_norm", "position_biased_input": false, "layer_norm_eps": 1e-7,
        "hidden_act": "gelu", "pad_token_id": 0,
    });
    Ok(Json { path: format!("{} (base model {base})", config.path), value })
}
