//! Who may use the machine now: `WITH (gpus = 0.25)` holds a quarter of a device for each batch under way,
//! `WITH (gpu_memory = '2GB')` bounds the memory of all batches of an operator, `WITH (cpus = 2)` how many are worked on.
//!
//! Invariant: what the batches under way hold together is never more than there is.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Something that is shared out in whole parts.
#[derive(Debug)]
pub struct ShareSemaphore {
    parts: Arc<Semaphore>,
    n_parts: u32,
}

/// Leave to use some parts; given back when dropped.
#[derive(Debug)]
pub(crate) struct SharePermit {
    _permit: Option<OwnedSemaphorePermit>,
}

impl ShareSemaphore {
    /// So many parts.
    pub fn new(n_parts: u32) -> Self {
        Self { parts: Arc::new(Semaphore::new(n_parts as usize)), n_parts }
    }

    /// All parts.
    pub(super) fn n_parts(&self) -> u32 {
        self.n_parts
    }

    /// A permit for so many parts, or for all there are, if they are free now. None are always free.
    pub(super) fn try_acquire(&self, n_parts: u32) -> Option<SharePermit> {
        if n_parts == 0 {
            return Some(SharePermit { _permit: None });
        }
        let permit = Arc::clone(&self.parts).try_acquire_many_owned(n_parts.min(self.n_parts)).ok()?;
        Some(SharePermit { _permit: Some(permit) })
    }

    /// The same, once they are free.
    pub(super) async fn acquire(self: Arc<Self>, n_parts: u32) -> SharePermit {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.parts).acquire_many_owned(n_parts.min(self.n_parts)).await.ok();
        SharePermit { _permit: permit }
    }

    /// The same on a thread that may block.
    pub(crate) fn enter_blocking(self: Arc<Self>, n_parts: u32) -> SharePermit {
        let free = self.try_acquire(n_parts);
        free.unwrap_or_else(|| futures::executor::block_on(self.acquire(n_parts)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_add_up_to_more_than_the_whole() {
        let semaphore = ShareSemaphore::new(1000);
        let permits: Vec<_> = (0..4).map(|_| semaphore.try_acquire(250).unwrap()).collect();
        assert!(semaphore.try_acquire(1).is_none());
        assert!(semaphore.try_acquire(0).is_some());
        drop(permits);
        let whole = semaphore.try_acquire(5000).unwrap();
        assert!(semaphore.try_acquire(250).is_none());
        drop(whole);
    }
}
