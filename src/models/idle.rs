//! Room to work in that threads take in turn, so that there is one for each thread at work and none is made for every batch.

use std::sync::{Mutex, PoisonError};

/// Rooms that nobody works in now.
#[derive(Debug)]
pub(super) struct Idle<T>(Mutex<Vec<T>>);

impl<T> Idle<T> {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Works in an idle room, or in a new one. A room in which work has panicked is not used again.
    pub(super) fn with<R>(&self, make: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut room = idle.unwrap_or_else(make);
        let result = work(&mut room);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(room);
        result
    }
}
