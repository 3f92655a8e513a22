//! What a folder says about the head of a model: labels, and how its numbers (logits) are read.

use super::files::{self, Json, ModelFiles};
use super::graph::heads;
use super::graph::{Backbone, Builder, Family};
use super::known;
use super::onnx::Value;
use super::prompts::Prompts;
use super::sentence::Vectors;
use super::weights::Weights;
use crate::{Error, Result};

/// What a model is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    Vectors,
    Labels,
}

/// What stands on a backbone.
#[derive(Clone, Debug)]
pub enum Head {
    Vectors(Vectors),
    /// The head of the family's own.
    Classifier(Labels),
    /// One linear layer on the first token.
    LinearOnFirst {
        name: String,
        labels: Labels,
    },
    /// Several linear layers on the mean of all tokens.
    Prompts(Prompts),
}

/// The labels of a classifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    pub names: Vec<String>,
    pub reading: Reading,
}

/// How logits are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// One label is right: softmax.
    OneOf,
    /// Each label is right or not: sigmoid.
    AnyOf,
    /// A number, as it is.
    Number,
}

/// A model's backbone and head.
pub fn open<'f>(
    files: &'f ModelFiles,
    config: &Json,
    weights: &mut Weights<'f>,
    task: Task,
) -> Result<(Backbone, Head)> {
    if let Some(base) = config.text("base_model") {
        return wrapped(files, config, base, weights, task);
    }
    let backbone = Backbone::open(config, weights, None)?;
    if task == Task::Vectors {
        return Ok((backbone, Head::Vectors(Vectors::open(files, weights)?)));
    }
    let labels = labels(config, weights, last_layer(backbone.shape.family))?;
    Ok((backbone, Head::Classifier(labels)))
}

/// The layer whose numbers are the logits.
fn last_layer(family: Family) -> &'static str {
    match family {
        Family::Roberta | Family::Mpnet => "classifier.out_proj",
        Family::Bert | Family::DistilBert | Family::Deberta | Family::ModernBert => "classifier",
    }
}

/// NVIDIA's models: a backbone that is known by name, with one linear layer or with several.
fn wrapped<'f>(
    files: &'f ModelFiles,
    config: &Json,
    base: &str,
    weights: &mut Weights<'f>,
    task: Task,
) -> Result<(Backbone, Head)> {
    let prefix = if weights.has("fc.weight") { "model." } else { "backbone." };
    let words = format!("{prefix}embeddings.word_embeddings.weight");
    let base = known::base(config, base, files, weights, &words)?;
    let backbone = Backbone::open(&base, weights, Some(prefix))?;
    let head = if task == Task::Vectors {
        Head::Vectors(Vectors::open(files, weights)?)
    } else if config.get("target_sizes").is_some() {
        Head::Prompts(Prompts::open(config)?)
    } else {
        Head::LinearOnFirst { name: "fc".into(), labels: labels(config, weights, "fc")? }
    };
    Ok((backbone, head))
}

fn labels(config: &Json, weights: &Weights, layer: &str) -> Result<Labels> {
    let tensor = format!("{layer}.weight");
    let Some([n_labels, _]) = weights.shape(&tensor) else {
        return Err(Error::Data(format!(
            "{}: tensor {tensor:?} is missing: is this a classifier? A model without a head is for `embed`",
            weights.shown()
        )));
    };
    let names = match config.get("id2label").and_then(|labels| labels.as_object()) {
        None => (0..*n_labels).map(|label| format!("LABEL_{label}")).collect(),
        Some(labels) => {
            let name = |label: usize| labels.get(&label.to_string()).and_then(|name| name.as_str()).map(str::to_string);
            let names: Option<Vec<String>> = (0..labels.len()).map(name).collect();
            names.ok_or_else(|| config.wrong("`id2label` does not number its labels 0, 1, 2 …"))?
        }
    };
    if names.len() != *n_labels {
        return Err(config
            .wrong(format!("`id2label` has {} labels, and tensor {tensor:?} gives {n_labels} numbers", names.len())));
    }
    let reading = match config.text("problem_type") {
        Some("regression") => Reading::Number,
        Some("multi_label_classification") => Reading::AnyOf,
        Some("single_label_classification") => Reading::OneOf,
        None if *n_labels == 1 => Reading::Number,
        None => Reading::OneOf,
        Some(other) => return Err(config.wrong(format!("`problem_type` {other:?} is not known"))),
    };
    Ok(Labels { names, reading })
}

impl Head {
    /// Adds it to a graph.
    pub fn build(&self, builder: &mut Builder, backbone: &Backbone, states: &Value) -> Result<Value> {
        let hidden = backbone.shape.hidden;
        match self {
            Head::Vectors(vectors) => {
                let mut x = heads::pooled(builder, states, vectors.pooling);
                for layer in &vectors.dense {
                    x = heads::dense(builder, &x, layer)?;
                }
                Ok(x)
            }
            Head::Classifier(labels) => heads::classifier(builder, backbone, states, labels.names.len()),
            Head::LinearOnFirst { name, labels } => {
                heads::linear_on_first(builder, states, name, hidden, labels.names.len())
            }
            Head::Prompts(prompts) => {
                let layers = prompts.questions.iter().map(|question| (question.layer.as_str(), question.n_labels));
                heads::linears_on_mean(builder, states, hidden, layers)
            }
        }
    }

    /// The labels, where there is one list of them.
    pub fn labels(&self) -> Option<&Labels> {
        match self {
            Head::Classifier(labels) | Head::LinearOnFirst { labels, .. } => Some(labels),
            Head::Vectors(_) | Head::Prompts(_) => None,
        }
    }

    /// How many numbers a row gets.
    pub fn n_outputs(&self, hidden: usize) -> usize {
        match self {
            Head::Vectors(vectors) => vectors.dense.last().map_or(hidden, |layer| layer.n_out),
            Head::Classifier(labels) | Head::LinearOnFirst { labels, .. } => labels.names.len(),
            Head::Prompts(prompts) => prompts.questions.iter().map(|question| question.n_labels).sum(),
        }
    }

    /// Whether a tensor that the graph did not ask for may stand in the file: of heads for other tasks, and tables that follow
    /// from the configuration.
    pub fn ignores(&self, tensor: &str, prefix: &str) -> bool {
        let own = tensor.strip_prefix(prefix).unwrap_or(tensor);
        const TABLES: [&str; 4] = ["position_ids", "token_type_ids", "inv_freq", "num_batches_tracked"];
        const OTHER_HEADS: [&str; 14] = [
            "cls.",
            "classifier.",
            "pre_classifier.",
            "lm_head.",
            "lm_predictions.",
            "mask_predictions.",
            "vocab_",
            "head.",
            "head_",
            "decoder.",
            "qa_outputs.",
            "fc.",
            "deberta.mask",
            "discriminator",
        ];
        TABLES.iter().any(|table| own.ends_with(table))
            || own.starts_with("pooler.")
            || matches!(self, Head::Vectors(_)) && OTHER_HEADS.iter().any(|head| own.starts_with(head))
    }
}

/// The configuration, or what to do without.
pub fn config(files: &ModelFiles) -> Result<Json> {
    files::json(files, "config.json")?.ok_or_else(|| {
        Error::Data(format!("{}: there is no such file: is this a model's folder?", files.shown("config.json")))
    })
}
