//! The language model that is built in: langid's, 97 languages by n-grams of bytes.
//!
//! ```text
//! bytes ──automaton──► n-grams found, with counts ──weights──► a score for each language ──► probabilities
//! ```
//! A naive Bayes classifier over 7,480 n-grams of up to four bytes (Lui and Baldwin, "langid.py: An Off-the-shelf Language
//! Identification Tool", ACL 2012). The automaton finds them all in one walk over the text; white space and case are left as
//! they are. `langid.zst` holds the model, its weights in half precision (`make.py` makes it); `langid.LICENSE` says whose it is.
//!
//! Invariant: a text's scores depend on that text alone.
//! Not here: codes as users write them, and models of other kinds (`mod.rs`).

use crate::{Result, bug};
use half::f16;
use std::sync::OnceLock;

/// The model, ready for use on any thread.
#[derive(Debug)]
pub(super) struct Langid {
    names: Vec<String>,
    priors: Vec<f32>,
    /// For each n-gram a weight for each language.
    weights: Vec<f32>,
    /// For each state of the automaton the next one, by the byte that comes.
    next: Vec<u16>,
    /// Where each state's n-grams begin in `found`; one more at the end.
    begins: Vec<u32>,
    found: Vec<u16>,
    /// Languages whose probability counts for another one.
    merged: Vec<(usize, usize)>,
}

/// Names of one language: its own for Bokmål, and the one that users and other models write.
const MERGED: [(&str, &str); 1] = [("nb", "no")];

/// What one thread needs.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    counts: Vec<u32>,
    seen: Vec<u16>,
    scores: Vec<f32>,
}

/// The model, unpacked when it is first asked for.
pub(super) fn model() -> Result<&'static Langid> {
    static MODEL: OnceLock<Option<Langid>> = OnceLock::new();
    let read = || Langid::read(&zstd::decode_all(&include_bytes!("langid.zst")[..]).ok()?);
    MODEL.get_or_init(read).as_ref().ok_or_else(|| bug!("the built-in language model cannot be read"))
}

/// The parts of a file, one after the other.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn take(&mut self, n_bytes: usize) -> Option<&'a [u8]> {
        let (part, rest) = self.0.split_at_checked(n_bytes)?;
        self.0 = rest;
        Some(part)
    }

    fn count(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(*self.take(4)?.first_chunk()?) as usize)
    }

    fn shorts(&mut self, n: usize) -> Option<impl Iterator<Item = u16> + 'a> {
        Some(self.take(n * 2)?.as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two)))
    }
}

impl Langid {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut parts = Parts(bytes);
        let (n_ngrams, n_languages, n_states) = (parts.count()?, parts.count()?, parts.count()?);
        let mut names = Vec::with_capacity(n_languages);
        for _ in 0..n_languages {
            let name = parts.take(memchr::memchr(0, parts.0)?)?;
            parts.take(1)?;
            names.push(String::from_utf8(name.to_vec()).ok()?);
        }
        let priors =
            parts.take(n_languages * 4)?.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect();
        // In the file by language, since that packs better.
        let mut weights = vec![0.0; n_ngrams * n_languages];
        for (i, weight) in parts.shorts(n_ngrams * n_languages)?.enumerate() {
            weights[i % n_ngrams * n_languages + i / n_ngrams] = f16::from_bits(weight).to_f32();
        }
        let next: Vec<u16> = parts.shorts(n_states * 256)?.collect();
        let mut begins = vec![0];
        let mut found: Vec<u16> = Vec::new();
        for _ in 0..n_states {
            let n = usize::from(*parts.take(1)?.first()?);
            found.extend(parts.shorts(n)?);
            begins.push(found.len() as u32);
        }
        let is_whole = parts.0.is_empty()
            && next.iter().all(|state| usize::from(*state) < n_states)
            && found.iter().all(|ngram| usize::from(*ngram) < n_ngrams);
        let place = |name: &str| names.iter().position(|known| known == name);
        let merged =
            MERGED.iter().map(|(from, into)| Some((place(from)?, place(into)?))).collect::<Option<Vec<_>>>()?;
        is_whole.then_some(Self { names, priors, weights, next, begins, found, merged })
    }

    /// The names of its languages.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Bytes that it takes in memory.
    pub(super) fn memory_bytes(&self) -> usize {
        self.weights.len() * 4 + self.next.len() * 2 + self.found.len() * 2 + self.begins.len() * 4
    }

    /// The `k` most probable languages, best first, of equal ones the first by name; none if the text has nothing that tells
    /// languages apart.
    pub(super) fn best(&self, text: &str, k: usize, scratch: &mut Scratch) -> Vec<(&str, f32)> {
        if !self.classify(text, scratch) {
            return Vec::new();
        }
        let mut best: Vec<usize> = (0..self.names.len()).filter(|language| scratch.scores[*language] > 0.0).collect();
        let by_score = |a: &usize, b: &usize| scratch.scores[*b].total_cmp(&scratch.scores[*a]).then(a.cmp(b));
        if k < best.len() {
            best.select_nth_unstable_by(k.max(1) - 1, by_score);
            best.truncate(k);
        }
        best.sort_unstable_by(by_score);
        best.into_iter().map(|language| (self.names[language].as_str(), scratch.scores[language])).collect()
    }

    /// Computes a probability for each language; false if nothing was found to tell them apart.
    fn classify(&self, text: &str, scratch: &mut Scratch) -> bool {
        let Scratch { counts, seen, scores } = scratch;
        counts.resize(self.weights.len() / self.names.len(), 0);
        let mut state = 0;
        let mut n_found = 0u64;
        for byte in text.bytes() {
            state = usize::from(self.next[state << 8 | usize::from(byte)]);
            for ngram in &self.found[self.begins[state] as usize..self.begins[state + 1] as usize] {
                let count = &mut counts[usize::from(*ngram)];
                if *count == 0 {
                    seen.push(*ngram);
                }
                *count = count.saturating_add(1);
                n_found += 1;
            }
        }
        scores.clear();
        scores.extend_from_slice(&self.priors);
        for ngram in seen.drain(..) {
            let count = std::mem::take(&mut counts[usize::from(ngram)]) as f32;
            let weights = &self.weights[usize::from(ngram) * scores.len()..][..scores.len()];
            for (score, weight) in scores.iter_mut().zip(weights) {
                *score += count * weight;
            }
        }
        to_probabilities(scores, n_found);
        for (from, into) in &self.merged {
            scores[*into] += std::mem::take(&mut scores[*from]);
        }
        n_found > 0
    }
}

/// Softmax of scores that are divided by the square root of the number of n-grams: see `lang_score`.
fn to_probabilities(scores: &mut [f32], n_found: u64) {
    let softness = (n_found.max(1) as f32).sqrt();
    let greatest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = ((*score - greatest) / softness).exp();
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}
