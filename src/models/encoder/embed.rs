//! `embed(text, 'folder')`: a document as a vector, by an encoder.

use super::files::ModelFiles;
use super::head::Task;
use super::inputs::Pooling;
use super::model::{EncoderCall, Gives};
use super::opened::{Encoder, Wishes};
use crate::Result;
use crate::ops::prelude::*;
use crate::ops::{Model, ModelCode};
use std::sync::Arc;

pub fn spec() -> OpSpec {
    OpSpec {
        name: "embed",
        family: Family::Model,
        summary: "the document as a vector, by an encoder on this machine",
        details: "The model is a Hugging Face folder: `config.json`, `tokenizer.json`, `*.safetensors`, and the files of \
                  sentence-transformers where there are some, which say how tokens become one vector and how many are read. \
                  Families: BERT, DistilBERT, RoBERTa, XLM-RoBERTa, CamemBERT, DeBERTa-v2 and v3, ModernBERT, MPNet. Without \
                  those files it is the mean of all tokens, of at most 512. The model reads the first `max_tokens` tokens; the \
                  text itself is not cut. Values are within 1e-4 of what transformers computes, and the same to the bit whatever \
                  the batch, the order and the number of threads.",
        params: const {
            &[
                Param::text("text", "the document"),
                Param::text("model", "the model's folder"),
                Param::choice(
                    "pooling",
                    "how the states of the tokens become one vector; 'auto' is what the folder says, else the mean",
                    &["auto", "cls", "last", "max", "mean", "mean_sqrt_len", "weightedmean"],
                )
                .default(Literal::Text("auto")),
                Param::bool("normalize", "whether vectors are given length 1").default(Literal::Bool(true)),
                max_tokens(),
            ]
        },
        returns: Returns::Opened("FLOAT[n], with as many numbers as the model gives"),
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(0.0),
        cpu: Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) }),
        gpu: Gpu::No("encoders run on the CPU"),
    }
}

/// The parameter that all encoders have.
pub const fn max_tokens() -> Param {
    Param::int("max_tokens", "how many tokens of a text are read; 0 is what the folder says")
        .between(0, 1 << 20)
        .default(Literal::Int(0))
}

/// What a call says about `max_tokens`.
pub fn wished_tokens(args: &Args) -> Option<usize> {
    Some(args.count("max_tokens")).filter(|most| *most > 0)
}

fn open(args: &Args) -> Result<Arc<dyn Model>> {
    let files = Arc::new(ModelFiles::open(args.text("model"))?);
    let wishes = Wishes { pooling: Pooling::parse(args.text("pooling")), max_tokens: wished_tokens(args) };
    let encoder = Encoder::open(files.clone(), Task::Vectors, wishes)?;
    EncoderCall::model(&files, encoder, Gives::Vector { normalize: args.bool("normalize") })
}
