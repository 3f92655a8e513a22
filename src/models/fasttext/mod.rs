//! fastText's supervised models: `.bin` files, and `.ftz` files whose matrices are quantized.
//!
//! ```text
//! line ──► tokens ──► rows of the input matrix ──mean──► hidden ──► softmax | tree | one vs all ──► best labels
//!          dictionary  words, pieces of words, pairs      matrix     loss                            best
//! ```
//!
//! Labels and probabilities are those of the reference implementation (0.9.2), to the last bit where the C library's `exp` and
//! `ln` are this one's.
//! The matrices stay in the bytes of the file, so that a process has one copy of a model, whatever its number of threads.
//!
//! Invariant: everything that a prediction uses as an index was compared with the file when the model was read. A damaged
//! file is an error with its reason, or a model with other numbers in it; it is never a panic.
//! Not here: training, and word vectors of unsupervised models.

mod best;
mod dictionary;
mod file;
mod header;
mod loss;
mod matrix;
mod operators;
mod quantizer;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod words;

use crate::Result;
use bytes::Bytes;
use dictionary::Dictionary;
use file::File;
use header::Header;
use loss::Loss;
use matrix::Matrix;
use words::WordCache;

pub(super) use operators::{Opened, operators};

/// What the names of labels begin with in a file; users write and read them without it.
const LABEL_PREFIX: &str = "__label__";
/// Rows that are found before they are added, so that a long document does not take memory for all of its rows.
const ROWS_AT_ONCE: usize = 4096;

/// A model, ready to classify lines on any thread.
#[derive(Debug)]
pub struct FastText {
    dictionary: Dictionary,
    word_ngrams: usize,
    input: Matrix,
    output: Matrix,
    loss: Loss,
}

/// A label and its probability, which may be a little above 1, as in the reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Its number: see [`FastText::label`].
    pub label: usize,
    /// Its probability.
    pub score: f32,
}

/// What one thread needs while it classifies with one model.
#[derive(Debug)]
pub struct Scratch {
    hidden: Vec<f32>,
    /// Of each label, once they were asked for; empty before.
    scores: Vec<f32>,
    hashes: Vec<u32>,
    rows: Vec<u32>,
    words: WordCache,
}

impl FastText {
    /// Reads a model from the bytes of its file; `name` is for messages.
    pub fn read(bytes: Bytes, name: &str) -> Result<Self> {
        let mut file = File::new(bytes, name);
        let header = Header::read(&mut file)?;
        let dictionary = Dictionary::read(&mut file, &header)?;
        let is_quantized = file.flag("whether it is quantized")?;
        let input = Matrix::read(&mut file, is_quantized, "input")?;
        let is_output_quantized = file.flag("whether its output is quantized")?;
        let output = Matrix::read(&mut file, is_quantized && is_output_quantized, "output")?;

        let (n_rows, n_labels, dim) = (dictionary.n_rows(), dictionary.n_labels(), header.dim);
        if input.n_rows() < n_rows || input.dim() != dim {
            let (rows, columns) = (input.n_rows(), input.dim());
            return Err(
                file.damaged(format!("its input matrix is {rows} × {columns}, its dictionary needs {n_rows} × {dim}"))
            );
        }
        if output.n_rows() != n_labels || output.dim() != dim {
            let (rows, columns) = (output.n_rows(), output.dim());
            return Err(
                file.damaged(format!("its output matrix is {rows} × {columns}, its labels need {n_labels} × {dim}"))
            );
        }
        let loss = Loss::new(header.loss, dictionary.label_counts()).map_err(|why| file.damaged(why))?;
        Ok(Self { dictionary, word_ngrams: header.word_ngrams, input, output, loss })
    }

    /// A few words about it.
    pub fn title(&self) -> String {
        let (n, dim) = (self.n_labels(), self.input.dim());
        format!("fastText, {n} labels, {dim} numbers, {}", self.loss.name())
    }

    /// How many labels it tells apart.
    pub fn n_labels(&self) -> usize {
        self.dictionary.n_labels()
    }

    /// A label's name, without `__label__`; empty if there is none of this number.
    pub fn label(&self, label: usize) -> &str {
        let name = self.dictionary.label(label);
        name.strip_prefix(LABEL_PREFIX).unwrap_or(name)
    }

    /// The number of a label, given with or without `__label__`.
    pub fn find_label(&self, name: &str) -> Option<usize> {
        let name = name.strip_prefix(LABEL_PREFIX).unwrap_or(name);
        (0..self.n_labels()).find(|label| self.label(*label) == name)
    }

    /// Operations that the labels of a text take, whatever its length.
    pub fn work_per_text(&self) -> usize {
        self.n_labels() * self.input.dim()
    }

    /// Bytes that the model takes in memory beside its file.
    pub fn memory_bytes(&self) -> usize {
        self.dictionary.memory_bytes()
            + self.loss.memory_bytes()
            + self.input.memory_bytes()
            + self.output.memory_bytes()
    }

    /// Bytes that one thread needs beside that.
    pub fn scratch_bytes(&self) -> usize {
        self.input.dim() * 4 + self.n_labels() * 4 + WordCache::BYTES
    }

    /// The room that one thread needs.
    pub fn scratch(&self) -> Scratch {
        let dim = self.input.dim();
        Scratch {
            hidden: vec![0.0; dim],
            scores: Vec::new(),
            hashes: Vec::new(),
            rows: Vec::new(),
            words: WordCache::new(),
        }
    }

    /// Reads a text; false if the model knows nothing of it, so that there are no labels.
    ///
    /// As in the reference the first line feed ends the text, unless line feeds are to count as spaces.
    pub fn read_text(&self, text: &str, line_feeds_are_spaces: bool, scratch: &mut Scratch) -> bool {
        let n_rows = self.add_text(text, line_feeds_are_spaces, scratch);
        scratch.scores.clear();
        for value in &mut scratch.hidden {
            *value *= 1.0 / n_rows.max(1) as f32;
        }
        n_rows > 0
    }

    /// The `k` most probable labels of the text read last, best first.
    pub fn best(&self, k: usize, scratch: &mut Scratch) -> Vec<Prediction> {
        self.loss.best(&self.output, &scratch.hidden, k.min(self.n_labels()), &mut scratch.scores)
    }

    /// The sum of the text's rows, and how many they are.
    ///
    /// Rows are added one by one in the order of the reference: another order gives other last digits.
    fn add_text(&self, text: &str, line_feeds_are_spaces: bool, scratch: &mut Scratch) -> usize {
        let Scratch { hidden, hashes, rows, words, .. } = scratch;
        hidden.fill(0.0);
        hashes.clear();
        rows.clear();
        let mut n_rows = 0;
        for token in words::tokens(text, line_feeds_are_spaces) {
            let hash = dictionary::hash(token);
            let is_word = match words.get(token, hash) {
                Some(known) => {
                    rows.extend_from_slice(known);
                    true
                }
                None => {
                    let first = rows.len();
                    let is_word = self.dictionary.add_rows(token, hash, rows);
                    if is_word {
                        words.put(token, hash, &rows[first..]);
                    }
                    is_word
                }
            };
            if is_word && self.word_ngrams > 1 {
                hashes.push(hash);
            }
            if rows.len() >= ROWS_AT_ONCE {
                n_rows += self.add_rows(hidden, rows);
            }
        }
        n_rows += self.add_rows(hidden, rows);
        for first in 0..hashes.len() {
            self.dictionary.add_ngram_rows(&hashes[first..], self.word_ngrams, rows);
            if rows.len() >= ROWS_AT_ONCE {
                n_rows += self.add_rows(hidden, rows);
            }
        }
        n_rows + self.add_rows(hidden, rows)
    }

    /// Adds rows to the sum, and forgets them.
    fn add_rows(&self, hidden: &mut [f32], rows: &mut Vec<u32>) -> usize {
        for row in rows.iter() {
            self.input.add_row(hidden, *row as usize);
        }
        let n_rows = rows.len();
        rows.clear();
        n_rows
    }
}
