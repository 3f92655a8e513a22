//! The graph of an encoder, written from its configuration: one file for each family, [`layers`] for what they share, [`heads`] for
//! what stands on top.
//!
//! ```text
//!  ids ─► embeddings ─► layers (attention, feed forward) ─► states [rows, width, hidden] ─► head ─► numbers [rows, n]
//! ```
//! A graph has no softmax, no labels and no thresholds; those are computed from its numbers. What depends on lengths alone
//! (positions, masks, the buckets of relative distances) is an [`Input`], computed in `inputs.rs`, so that runtimes need no
//! unusual operations.
//! Invariant: a graph asks for every tensor that it needs by name and shape; what is missing, or left over, is an error that
//! names it.

mod bert;
mod deberta;
mod distilbert;
pub mod heads;
mod layers;
mod modernbert;
mod mpnet;
mod roberta;

use super::files::Json;
use super::onnx::Value;
use super::weights::Weights;
use crate::{Error, Result};
pub use layers::Builder;

/// A family of encoders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Bert,
    DistilBert,
    Roberta,
    Deberta,
    ModernBert,
    Mpnet,
}

impl Family {
    /// By `model_type` of `config.json`.
    pub fn of(config: &Json) -> Result<Self> {
        let Some(kind) = config.text("model_type") else {
            return Err(config.wrong("`model_type` is missing, so what the model is cannot be known"));
        };
        Ok(match kind {
            "bert" => Family::Bert,
            "distilbert" => Family::DistilBert,
            "roberta" | "xlm-roberta" | "camembert" => Family::Roberta,
            "deberta-v2" => Family::Deberta,
            "modernbert" => Family::ModernBert,
            "mpnet" => Family::Mpnet,
            other => {
                return Err(config.wrong(format!(
                    "models of type {other:?} are not known; those of bert, camembert, deberta-v2, distilbert, modernbert, \
                     mpnet, roberta and xlm-roberta are, and any other encoder as an .onnx file"
                )));
            }
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Family::Bert => "BERT",
            Family::DistilBert => "DistilBERT",
            Family::Roberta => "RoBERTa",
            Family::Deberta => "DeBERTa",
            Family::ModernBert => "ModernBERT",
            Family::Mpnet => "MPNet",
        }
    }

    /// What the names of the backbone's tensors may begin with, where a head stands beside it.
    fn prefixes(self) -> &'static [&'static str] {
        match self {
            Family::Bert => &["", "bert."],
            Family::DistilBert => &["", "distilbert."],
            Family::Roberta => &["", "roberta."],
            Family::Deberta => &["", "deberta."],
            Family::ModernBert => &["", "model."],
            Family::Mpnet => &["", "mpnet."],
        }
    }
}

/// The sizes of an encoder that its batches and costs follow from.
#[derive(Clone, Debug)]
pub struct Shape {
    pub family: Family,
    pub n_layers: usize,
    pub hidden: usize,
    pub n_heads: usize,
    pub intermediate: usize,
    /// The most tokens that its positions allow, if there is such a limit.
    pub max_tokens: Option<usize>,
    /// Matrices of scores that one layer of attention makes: more than one where distances have scores of their own.
    pub n_score_matrices: usize,
    /// What the inputs need to know of the configuration.
    pub positions: Positions,
}

/// How positions enter.
#[derive(Clone, Debug, PartialEq)]
pub enum Positions {
    /// The first token has this number in the table of positions.
    From(usize),
    /// Buckets of distances: DeBERTa's, of logarithmic width.
    Buckets { n_buckets: usize, max_distance: usize },
    /// A table from one position, and T5's buckets of distances.
    FromAndBias { first: usize, n_buckets: usize },
    /// Rotations by position, and windows around each token in some layers.
    Rotary { global_base: f64, local_base: f64, head_size: usize, window: usize },
}

/// An encoder without a head: from ids to states.
pub struct Backbone {
    pub shape: Shape,
    prefix: String,
    config: Json,
}

impl Backbone {
    /// The backbone that a configuration describes. Its tensors begin with `prefix`, or with one of the family's own.
    pub fn open(config: &Json, weights: &Weights, prefix: Option<&str>) -> Result<Self> {
        let family = Family::of(config)?;
        let shape = match family {
            Family::Bert => bert::shape(config),
            Family::DistilBert => distilbert::shape(config),
            Family::Roberta => roberta::shape(config),
            Family::Deberta => deberta::shape(config),
            Family::ModernBert => modernbert::shape(config),
            Family::Mpnet => mpnet::shape(config),
        }?;
        check(config, &shape)?;
        let first = if family == Family::ModernBert { modernbert::FIRST } else { layers::WORDS };
        let prefix = match prefix {
            Some(prefix) => prefix.to_string(),
            None => {
                let prefixes = family.prefixes().iter();
                let found = prefixes.copied().find(|prefix| weights.has(&format!("{prefix}{first}")));
                found
                    .ok_or_else(|| {
                        Error::Data(format!(
                            "{}: tensor {first:?} is missing: is this a {} model?",
                            weights.shown(),
                            family.name()
                        ))
                    })?
                    .to_string()
            }
        };
        Ok(Backbone { shape, prefix, config: config.clone() })
    }

    /// Adds it to a graph: the states of all tokens.
    pub fn build(&self, builder: &mut Builder) -> Result<Value> {
        let (config, prefix, shape) = (&self.config, &self.prefix, &self.shape);
        match shape.family {
            Family::Bert => bert::build(builder, config, prefix, shape),
            Family::DistilBert => distilbert::build(builder, config, prefix, shape),
            Family::Roberta => roberta::build(builder, config, prefix, shape),
            Family::Deberta => deberta::build(builder, config, prefix, shape),
            Family::ModernBert => modernbert::build(builder, config, prefix, shape),
            Family::Mpnet => mpnet::build(builder, config, prefix, shape),
        }
    }

    pub fn config(&self) -> &Json {
        &self.config
    }

    pub fn prefix(&self) -> &str {
        &self.prefix
    }
}

fn check(config: &Json, shape: &Shape) -> Result<()> {
    let sizes = [
        ("the number of layers", shape.n_layers, 1_000),
        ("the hidden size", shape.hidden, 65_536),
        ("the number of attention heads", shape.n_heads, 1_024),
        ("the intermediate size", shape.intermediate, 1 << 20),
    ];
    for (what, size, most) in sizes {
        if size == 0 || size > most {
            return Err(config.wrong(format!("{what} is {size}, not between 1 and {most}")));
        }
    }
    if !shape.hidden.is_multiple_of(shape.n_heads) {
        return Err(config.wrong(format!("{} numbers cannot be divided among {} heads", shape.hidden, shape.n_heads)));
    }
    Ok(())
}
