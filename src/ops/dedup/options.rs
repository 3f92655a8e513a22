//! The options that the operators on shingles share, and what a call keeps between documents.

use super::shingle::{HashFamily, Normalize, Shingle, ShingleUnit};
use super::signature::MinHash;
use crate::ops::prelude::*;
use std::sync::{Mutex, PoisonError};

pub(super) const SHINGLE: Param =
    Param::text("shingle", "what a document is a set of: so many 'words:', 'chars:' or 'tokens:' in a row")
        .of_form(|text| text.parse::<Shingle>().map(|_| ()))
        .default(Literal::Text("words:5"));

pub(super) const NORMALIZE: Param = Param::choice(
    "normalize",
    "what is done to the text before: nothing, lower case and words of letters and digits, or as datatrove does",
    &["none", "words", "datatrove"],
)
.default(Literal::Text("words"));

pub(super) const HASH: Param =
    Param::choice("hash", "whose hash functions", &["native", "nemo", "datatrove"]).default(Literal::Text("native"));

/// numpy's generators, from which the functions of others are drawn, take no larger seed.
pub(super) const SEED: Param =
    Param::int("seed", "chooses the hash functions").between(0, u32::MAX as i64).default(Literal::Int(1));

/// The shingle of a call. Its form was checked; were it not, it would be the default.
pub(super) fn shingle(args: &Args) -> Shingle {
    args.text("shingle").parse().unwrap_or(Shingle { unit: ShingleUnit::Words, n: 5 })
}

/// The normalization of a call.
pub(super) fn normalize(args: &Args) -> Normalize {
    args.text("normalize").parse().unwrap_or(Normalize::Words)
}

/// What makes the signatures of a call.
pub(super) fn minhash(args: &Args, bands: usize, rows: usize) -> MinHash {
    let family = args.text("hash").parse().unwrap_or(HashFamily::Native);
    let seed = u64::try_from(args.int("seed")).unwrap_or(0);
    MinHash::new(family, shingle(args), normalize(args), bands as u32, rows as u32, seed)
}

/// What a kernel needs to cut a text and to keep a number for each of its shingles.
fn shingle_scratch(args: &Args) -> Scratch {
    // No character has more than three times its bytes once it is folded, and no more characters than bytes.
    let fold_bytes = match normalize(args) {
        Normalize::None => 1,
        Normalize::Words => 2,
        Normalize::Datatrove => 3,
    };
    // A word has a space after it, so there are half as many as bytes.
    let (texts_bytes, units_of_two_bytes) = match shingle(args).unit {
        ShingleUnit::Words => (fold_bytes, 1),
        ShingleUnit::Chars => (fold_bytes, 2),
        // A second text, with a space between tokens.
        ShingleUnit::Tokens => (3 * fold_bytes, 2),
    };
    // A place of 4 bytes and a hash of 8 bytes for each unit.
    Scratch { bytes_per_byte: texts_bytes + units_of_two_bytes * (4 + 8) / 2, bytes_per_row: 256 }
}

/// Device memory for a signature of so many values.
pub(super) fn signature_scratch(args: &Args, n_values: usize) -> Scratch {
    // The signature itself, the constants of permutations, and the generator that they are drawn from.
    shingle_scratch(args).and(Scratch { bytes_per_byte: 0, bytes_per_row: n_values * (8 + 16) + 624 * 4 + 64 })
}

/// Device memory for a set of shingles, which has two places of 8 bytes for each.
pub(super) fn count_scratch(args: &Args) -> Scratch {
    let units_of_two_bytes = if shingle(args).unit == ShingleUnit::Words { 1 } else { 2 };
    shingle_scratch(args).and(Scratch { bytes_per_byte: units_of_two_bytes * 8, bytes_per_row: 64 })
}

/// Copies of something that needs to be changed while it is used, for a call that several threads evaluate: as many as
/// were ever in use at once.
pub(super) struct Pool<T> {
    model: T,
    idle: Mutex<Vec<T>>,
}

impl<T: Clone> Pool<T> {
    pub(super) fn new(model: T) -> Self {
        Self { model, idle: Mutex::new(vec![]) }
    }

    /// Uses one that nobody else uses.
    pub(super) fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> R {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut taken = taken.unwrap_or_else(|| self.model.clone());
        let result = use_it(&mut taken);
        idle().push(taken);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::super::minhash_bands;
    use super::*;
    use crate::ops::Value;

    #[test]
    fn options_that_mean_nothing_are_refused_with_the_reason() {
        let shingle = |text: &str| vec![Value::Int(14), Value::Int(8), Value::Text(text.into())];
        for (given, expected) in [
            (
                shingle("sentences:2"),
                "`shingle`: 'sentences:2' is no shingle; write 'words:5', 'chars:24' or 'tokens:5'",
            ),
            (shingle("words:0"), "`shingle`: a shingle has at least one unit"),
            (vec![Value::Int(0)], "`bands` is a whole number from 1 to 1024, not 0"),
        ] {
            let error = Args::new(&minhash_bands::SPEC, given).map(|_| ()).map_err(|error| error.to_string());
            assert_eq!(error, Err(format!("`minhash_bands`: {expected}")));
        }
        assert!(Args::new(&minhash_bands::SPEC, shingle("tokens:3")).is_ok());
    }

    #[test]
    fn a_pool_makes_no_more_than_are_in_use_at_once() {
        let pool = Pool::new(0);
        pool.with(|outer| {
            *outer += 1;
            pool.with(|inner| *inner += 1);
        });
        pool.with(|again| *again += 1);
        let mut idle = pool.idle.into_inner().unwrap_or_default();
        idle.sort_unstable();
        assert_eq!(idle, [1, 2]);
    }
}
