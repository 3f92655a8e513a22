//! A model's folder, opened: everything is known and checked, and no weight is in memory.

use super::files::{self, ModelFiles};
use super::graph::{Backbone, Builder, Shape};
use super::head::{self, Head, Task};
use super::inputs::Input;
use super::loaded::Loaded;
use super::onnx::Dim;
use super::runtime::rten::Rten;
use super::sentence;
use super::tokens::Tokens;
use super::weights::Weights;
use crate::{Error, Result};
use std::sync::Arc;

const OUTPUT: &str = "numbers";
const TOKENIZER: &str = "tokenizer.json";

/// A model that can be loaded.
#[derive(Debug)]
pub struct Encoder {
    files: Arc<ModelFiles>,
    task: Task,
    pub shape: Shape,
    pub head: Head,
    pub max_tokens: usize,
    /// What every text begins with, for the model.
    pub prompt: String,
    pub flops_per_token: f64,
    /// The weights as `f32`.
    pub weight_bytes: usize,
}

/// What a query may say about a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    pub pooling: Option<super::inputs::Pooling>,
    pub max_tokens: Option<usize>,
}

impl Encoder {
    /// Reads configurations and headers, and builds the graph once, so that whatever does not fit is said now.
    pub fn open(files: Arc<ModelFiles>, task: Task, wishes: Wishes) -> Result<Self> {
        let config = head::config(&files)?;
        let mut weights = Weights::open(&files)?;
        let (backbone, mut head) = head::open(&files, &config, &mut weights, task)?;
        if let Head::Vectors(vectors) = &mut head {
            vectors.pooling = wishes.pooling.unwrap_or(vectors.pooling);
        }
        let max_tokens = max_tokens(&files, &backbone, task, wishes.max_tokens)?;
        let built = build(&mut weights, &backbone, &head)?;
        if let Some(tensor) = weights.unused().find(|tensor| !head.ignores(tensor, backbone.prefix())) {
            return Err(Error::Data(format!(
                "{}: tensor {tensor:?} belongs to no part of a {} model as its configuration describes it",
                weights.shown(),
                backbone.shape.family.name()
            )));
        }
        let weight_bytes = weights.n_used_bytes();
        let prompt = if task == Task::Vectors { sentence::prompt(&files)? } else { String::new() };
        if files.size(TOKENIZER)?.is_none() {
            return Err(Error::Data(format!(
                "{}: there is no such file; save the tokenizer as a fast one (`AutoTokenizer.from_pretrained(…).save_pretrained(…)`)",
                files.shown(TOKENIZER)
            )));
        }
        let n_words = backbone.config().count("vocab_size")?;
        let encoder = Encoder {
            task,
            shape: backbone.shape.clone(),
            head,
            max_tokens,
            prompt,
            flops_per_token: built.flops_per_token,
            weight_bytes,
            files: files.clone(),
        };
        let n_ids = encoder.tokens()?.vocabulary_size();
        if n_ids > n_words {
            return Err(Error::Data(format!(
                "{}: the tokenizer has {n_ids} ids, and the model knows {n_words}: they do not belong together",
                files.shown(TOKENIZER),
            )));
        }
        Ok(encoder)
    }

    /// Reads the weights and the tokenizer, and makes them ready to run.
    pub fn load(&self) -> Result<Loaded> {
        let files = &self.files;
        let tokens = self.tokens()?;
        let config = head::config(files)?;
        let mut weights = Weights::open(files)?;
        let (backbone, _) = head::open(files, &config, &mut weights, self.task)?;
        weights.load();
        let built = build(&mut weights, &backbone, &self.head)?;
        let shown = files.shown("config.json");
        let runtime = Rten::load(built.onnx, Some(weights.into_buffer()), OUTPUT, &shown)?;
        let n_outputs = self.head.n_outputs(self.shape.hidden);
        Ok(Loaded::new(
            Box::new(runtime),
            tokens,
            built.inputs,
            Some(self.shape.clone()),
            n_outputs,
            self.prompt.clone(),
        ))
    }

    /// How many numbers a row gets.
    pub fn n_outputs(&self) -> usize {
        self.head.n_outputs(self.shape.hidden)
    }

    /// What a text of so many tokens costs.
    pub fn flops(&self, n_tokens: usize) -> f64 {
        let Shape { n_layers, hidden, n_score_matrices, .. } = self.shape;
        let compared = (2 + 2 * n_score_matrices.min(3)) * n_layers * hidden * n_tokens;
        n_tokens as f64 * (self.flops_per_token + compared as f64)
    }

    /// What it holds when it is loaded: the weights, once, and a tokenizer.
    pub fn held_bytes(&self) -> usize {
        const TOKENIZER_BYTES: usize = 16 << 20;
        self.weight_bytes + TOKENIZER_BYTES
    }

    fn tokens(&self) -> Result<Tokens> {
        let files = &self.files;
        let config = head::config(files)?;
        let pad = config.count_or("pad_token_id", 0)?;
        Tokens::open(&files.read_all(TOKENIZER)?, self.max_tokens, pad as i32, &files.shown(TOKENIZER))
    }
}

struct Built {
    onnx: Vec<u8>,
    inputs: Vec<Input>,
    flops_per_token: f64,
}

fn build(weights: &mut Weights, backbone: &Backbone, head: &Head) -> Result<Built> {
    let mut builder = Builder::new(weights);
    let states = backbone.build(&mut builder)?;
    let numbers = head.build(&mut builder, backbone, &states)?;
    let n_outputs = head.n_outputs(backbone.shape.hidden);
    builder.graph.output(OUTPUT, &numbers, &[Dim::Named("rows"), Dim::Known(n_outputs)]);
    let inputs = builder.inputs.iter().map(|(input, _)| *input).collect();
    let flops_per_token = builder.flops_per_token;
    Ok(Built { onnx: builder.graph.finish(), inputs, flops_per_token })
}

/// How much of a text a model reads: what the query says, else what the folder says, but no more than its positions allow.
fn max_tokens(files: &ModelFiles, backbone: &Backbone, task: Task, wish: Option<usize>) -> Result<usize> {
    const DEFAULT: usize = 512;
    let positions = backbone.shape.max_tokens.unwrap_or(usize::MAX);
    if let Some(wish) = wish {
        if wish > positions {
            return Err(backbone
                .config()
                .wrong(format!("the model has positions for {positions} tokens, not for {wish}")));
        }
        return Ok(wish);
    }
    let said = if task == Task::Vectors { sentence::max_tokens(files)? } else { None };
    let said = match said {
        Some(most) => most,
        // Where nothing is said, transformers writes a number without meaning.
        None => files::json(files, "tokenizer_config.json")?
            .and_then(|config| config.get("model_max_length")?.as_u64())
            .filter(|most| *most < 1 << 20)
            .map_or(DEFAULT, |most| most as usize),
    };
    Ok(said.min(positions))
}
