//! `score(text, 'folder')`: the number that a regression gives a document, or the score of one label.

use super::classify::open_classifier;
use super::embed::max_tokens;
use super::head::Reading;
use super::model::{EncoderCall, Gives};
use crate::ops::prelude::*;
use crate::ops::{Model, ModelCode};
use crate::{Error, Result};
use std::sync::Arc;

pub fn spec() -> OpSpec {
    OpSpec {
        name: "score",
        family: Family::Model,
        summary: "the number that a model on this machine gives the document",
        details: "The model is a Hugging Face folder, as for `classify`. Of a regression (one output, such as FineWeb-Edu's) it is \
                  the number as it is; of a classifier the score of `label`.",
        params: const {
            &[
                Param::text("text", "the document"),
                Param::text("model", "the model's folder"),
                Param::text("label", "whose score is wanted, of a classifier").default(Literal::Text("")),
                max_tokens(),
            ]
        },
        returns: Returns::Opened("FLOAT"),
        examples: &[],
        effects: Effects::PURE,
        cost: Cost::ns_per_byte(0.0),
        cpu: Cpu::Model(ModelCode { n_columns: 1, open: Arc::new(open) }),
        gpu: Gpu::No("encoders run on the CPU"),
    }
}

fn open(args: &Args) -> Result<Arc<dyn Model>> {
    let (files, encoder) = open_classifier(args)?;
    let (path, wanted) = (args.text("model"), args.text("label"));
    let labels = encoder.head.labels().ok_or_else(|| crate::bug!("a classifier without labels"))?;
    let place = match labels.reading {
        Reading::Number if wanted.is_empty() && labels.names.len() == 1 => Some(0),
        _ => labels.names.iter().position(|name| name == wanted),
    };
    let Some(place) = place else {
        let known = labels.names.join("', '");
        let said =
            if wanted.is_empty() { "`score` needs the `label`".to_string() } else { format!("no label '{wanted}'") };
        return Err(Error::Data(format!("{path}: {said}; the model has '{known}'")));
    };
    EncoderCall::model(&files, encoder, Gives::Score(place))
}
