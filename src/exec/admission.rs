//! Who may use the machine now: `WITH (gpus = 0.25)` holds a quarter of a device for each batch under way,
//! `WITH (gpu_memory = '2GB')` bounds the memory of all batches of an operator, `WITH (cpus = 2)` how many are worked on.
//!
//! Invariant: what the batches under way hold together is never more than there is.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Something that is shared out in whole parts.
#[derive(Debug)]
pub struct Door {
    parts: Arc<Semaphore>,
    n_parts: u32,
}

/// Leave to use some parts; given back when dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Door {
    /// So many parts.
    pub fn new(n_parts: u32) -> Self {
        Self { parts: Arc::new(Semaphore::new(n_parts as usize)), n_parts }
    }

    /// All parts.
    pub(super) fn n_parts(&self) -> u32 {
        self.n_parts
    }

    /// A ticket for so many parts, or for all there are, if they are free now. None are always free.
    pub(super) fn try_enter(&self, n_parts: u32) -> Option<Ticket> {
        if n_parts == 0 {
            return Some(Ticket { _permit: None });
        }
        let permit = Arc::clone(&self.parts).try_acquire_many_owned(n_parts.min(self.n_parts)).ok()?;
        Some(Ticket { _permit: Some(permit) })
    }

    /// The same, once they are free.
    pub(super) async fn enter(self: Arc<Self>, n_parts: u32) -> Ticket {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.parts).acquire_many_owned(n_parts.min(self.n_parts)).await.ok();
        Ticket { _permit: permit }
    }

    /// The same on a thread that may block.
    pub(super) fn enter_blocking(self: Arc<Self>, n_parts: u32) -> Ticket {
        let free = self.try_enter(n_parts);
        free.unwrap_or_else(|| futures::executor::block_on(self.enter(n_parts)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn shares_never_add_up_to_more_than_the_whole() {
        let door = Door::new(1000);
        let tickets: Vec<_> = (0..4).map(|_| door.try_enter(250).unwrap()).collect();
        assert!(door.try_enter(1).is_none());
        assert!(door.try_enter(0).is_some());
        drop(tickets);
        let whole = door.try_enter(5000).unwrap();
        assert!(door.try_enter(250).is_none());
        drop(whole);
    }
}
