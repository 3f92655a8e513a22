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
