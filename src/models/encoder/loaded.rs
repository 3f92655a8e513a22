//! A model in memory: texts in, rows of numbers out.

use super::batches::{self, Batch};
use super::graph::Shape;
use super::inputs::{IdBatch, Input};
use super::runtime::Runtime;
use super::tokens::{Encoded, Tokens};
use crate::Result;

/// A model that runs.
pub struct Loaded {
    runtime: Box<dyn Runtime>,
    tokens: Tokens,
    inputs: Vec<Input>,
    shape: Option<Shape>,
    n_outputs: usize,
    prompt: String,
    tokens_key: String,
}

/// The numbers of a window of texts.
pub struct Numbers {
    /// `n_outputs` for each row; zeros where the row has an error.
    pub values: Vec<f32>,
    pub n_tokens: Vec<usize>,
    pub truncated: Vec<bool>,
    /// Rows that the tokenizer refused, and why.
    pub refused: Vec<(usize, String)>,
}

impl Loaded {
    pub fn new(
        runtime: Box<dyn Runtime>,
        tokens: Tokens,
        inputs: Vec<Input>,
        shape: Option<Shape>,
        n_outputs: usize,
        prompt: String,
    ) -> Self {
        let tokens_key = format!("tokens {} {prompt}", tokens.key());
        Loaded { runtime, tokens, inputs, shape, n_outputs, prompt, tokens_key }
    }

    /// What the ids of a text depend on.
    pub fn tokens_key(&self) -> &str {
        &self.tokens_key
    }

    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// The ids of texts, as this model reads them.
    pub fn tokenize<'t>(&self, texts: impl Iterator<Item = &'t str>) -> Vec<Result<Encoded, String>> {
        let encode = |text: &str| match self.prompt.as_str() {
            "" => self.tokens.encode(text),
            prompt => self.tokens.encode(&format!("{prompt}{text}")),
        };
        texts.map(encode).collect()
    }

    /// The numbers of tokenized texts; `most_rows` says how many rows of a width are computed at once.
    pub fn run(&self, encoded: &[Result<Encoded, String>], most_rows: impl Fn(usize) -> usize) -> Result<Numbers> {
        let ids = |row: usize| encoded[row].as_ref().map_or(&[][..], |encoded| &encoded.ids);
        let n_tokens: Vec<usize> = (0..encoded.len()).map(|row| ids(row).len()).collect();
        let mut numbers = Numbers {
            values: vec![0.0; encoded.len() * self.n_outputs],
            truncated: encoded.iter().map(|row| row.as_ref().is_ok_and(|row| row.truncated)).collect(),
            refused: Vec::new(),
            n_tokens,
        };
        for (row, encoded) in encoded.iter().enumerate() {
            match encoded {
                Err(why) => numbers.refused.push((row, why.clone())),
                Ok(encoded) if encoded.ids.is_empty() => numbers.refused.push((row, "it has no tokens".into())),
                Ok(_) => {}
            }
        }
        let rows: Vec<usize> = (0..encoded.len()).filter(|row| !ids(*row).is_empty()).collect();
        let lengths: Vec<usize> = rows.iter().map(|row| ids(*row).len()).collect();
        for batch in batches::cut(&lengths, most_rows) {
            let Batch { width, rows: places } = &batch;
            let mut filled = IdBatch { n_rows: places.len(), width: *width, ids: Vec::new(), lengths: Vec::new() };
            for (n_before, place) in places.iter().enumerate() {
                let own = ids(rows[*place]);
                filled.ids.extend_from_slice(own);
                filled.ids.resize((n_before + 1) * width, self.tokens.pad_id());
                filled.lengths.push(own.len());
            }
            let computed = self.compute(&filled)?;
            if computed.len() != filled.n_rows * self.n_outputs {
                return Err(crate::bug!(
                    "{} rows of {} numbers are {} numbers",
                    filled.n_rows,
                    self.n_outputs,
                    computed.len()
                ));
            }
            for (place, own) in places.iter().zip(computed.chunks_exact(self.n_outputs)) {
                if own.iter().any(|number| !number.is_finite()) {
                    numbers.refused.push((rows[*place], "the model gives no finite number for it".into()));
                    continue;
                }
                let begin = rows[*place] * self.n_outputs;
                numbers.values[begin..begin + self.n_outputs].copy_from_slice(own);
            }
        }
        Ok(numbers)
    }

    fn compute(&self, batch: &IdBatch) -> Result<Vec<f32>> {
        let tensor = |input: &Input| Ok((*input, input.compute(batch, self.shape.as_ref())?));
        let inputs: Result<Vec<_>> = self.inputs.iter().map(tensor).collect();
        self.runtime.run(&inputs?)
    }
}
