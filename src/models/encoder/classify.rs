//! `classify(text, 'folder')`: the label of a document, with all scores.

use super::embed::{max_tokens, wished_tokens};
use super::files::ModelFiles;
use super::head::{Head, Reading, Task};
use super::model::{EncoderCall, Gives};
use super::opened::{Encoder, Wishes};
use crate::ops::prelude::*;
use crate::ops::{Model, ModelCode};
use crate::{Error, Result};
use std::sync::Arc;

pub fn spec() -> OpSpec {
    OpSpec {
        name: "classify",
        family: Family::Model,
        summary: "the label that a classifier on this machine gives the document, with all scores",
        details: "The model is a Hugging Face folder, as for `embed`, with a head for whole texts, or one of NVIDIA's classifiers \
                  (a linear layer on the first token). Gives `label`, its `score`, `scores` of all labels (softmax, or a sigmoid \
                  for each where the model says that several may be right), `n_tokens` that were read, and whether the text was \
                  `truncated` for that.",
        params: const { &[Param::text("text", "the document"), Param::text("model", "the model's folder"), max_tokens()] },
        returns: Returns::Opened(
            "STRUCT(label TEXT, score FLOAT, scores STRUCT(label TEXT, score FLOAT)[], n_tokens INT, truncated BOOLEAN)",
        ),
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(0.0),
        cpu: Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) }),
        gpu: Gpu::No("encoders run on the CPU"),
    }
}

fn open(args: &Args) -> Result<Arc<dyn Model>> {
    let (files, encoder) = open_classifier(args)?;
    if encoder.head.labels().is_some_and(|labels| labels.reading == Reading::Number) {
        return Err(Error::Data(format!(
            "{}: this model gives a number, not labels: `score` reads it",
            args.text("model")
        )));
    }
    EncoderCall::model(&files, encoder, Gives::Labels)
}

/// A model with one list of labels.
pub fn open_classifier(args: &Args) -> Result<(Arc<ModelFiles>, Encoder)> {
    let (files, encoder) = open_model(args)?;
    if let Head::Prompts(_) = encoder.head {
        let path = args.text("model");
        return Err(Error::Data(format!(
            "{path}: this model answers several questions at once: `prompt_task` reads it"
        )));
    }
    Ok((files, encoder))
}

/// A model with a head.
pub fn open_model(args: &Args) -> Result<(Arc<ModelFiles>, Encoder)> {
    let files = Arc::new(ModelFiles::open(args.text("model"))?);
    let wishes = Wishes { pooling: None, max_tokens: wished_tokens(args) };
    let encoder = Encoder::open(files.clone(), Task::Labels, wishes)?;
    Ok((files, encoder))
}
