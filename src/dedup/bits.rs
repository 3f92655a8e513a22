//! One bit for each row, in memory: the one thing that a decision over pairs on disk looks up in any order.
//!
//! Memory: an eighth of a byte a row, claimed. Without any memory left, [`UNASKED_BYTES`] are used all the same.

use super::Budget;
use super::claim::Claim;
use crate::{Error, Result};
use std::sync::Arc;

/// Used without asking: enough for 33 million rows.
const UNASKED_BYTES: u64 = 4 << 20;

/// A set of rows.
pub(super) struct Bits {
    words: Vec<u64>,
    _claim: Claim,
}

impl Bits {
    /// Memory that a set of so many rows takes.
    pub(super) fn memory_bytes(n_rows: u64) -> u64 {
        n_rows.div_ceil(64) * 8
    }

    /// None of `n_rows` rows.
    pub(super) fn new(n_rows: u64, budget: &Arc<dyn Budget>) -> Result<Self> {
        let n_bytes = Self::memory_bytes(n_rows);
        let mut claim = Claim::none(budget);
        let granted = usize::try_from(n_bytes).is_ok_and(|n_bytes| claim.try_grow(n_bytes));
        if !granted && n_bytes > UNASKED_BYTES {
            let message = format!("out of memory: a DEDUP takes {n_bytes} bytes to know which of its rows stay");
            return Err(Error::Data(format!("{message}\nraise the limit with --memory")));
        }
        Ok(Self { words: vec![0; (n_bytes / 8) as usize], _claim: claim })
    }

    #[inline]
    pub(super) fn contains(&self, row: u64) -> bool {
        self.words[(row / 64) as usize] >> (row % 64) & 1 == 1
    }

    #[inline]
    pub(super) fn insert(&mut self, row: u64) {
        self.words[(row / 64) as usize] |= 1 << (row % 64);
    }

    /// The rows of `other`, or none, in place of these.
    pub(super) fn set_to(&mut self, other: Option<&Bits>) {
        match other {
            Some(other) => self.words.copy_from_slice(&other.words),
            None => self.words.fill(0),
        }
    }
}
