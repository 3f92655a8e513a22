//! A piece of a [`Budget`] that is given back when it is dropped.

use super::Budget;
use std::sync::Arc;

/// Memory that was granted and is still held.
pub(super) struct Claim {
    budget: Arc<dyn Budget>,
    n_bytes: usize,
}

impl Claim {
    /// Nothing yet.
    pub(super) fn none(budget: &Arc<dyn Budget>) -> Self {
        Self { budget: Arc::clone(budget), n_bytes: 0 }
    }

    /// Claims more; false if it was refused, and then nothing has changed.
    pub(super) fn try_grow(&mut self, n_bytes: usize) -> bool {
        let granted = self.budget.try_grow(n_bytes);
        self.n_bytes += if granted { n_bytes } else { 0 };
        granted
    }

    /// Gives back all but `n_bytes`, if more is held.
    pub(super) fn shrink_to(&mut self, n_bytes: usize) {
        if self.n_bytes > n_bytes {
            self.budget.shrink(self.n_bytes - n_bytes);
            self.n_bytes = n_bytes;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}
