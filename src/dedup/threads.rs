//! The same work on many items, by as many threads as the [`super::Budget`] allows.

use crate::{Error, Result};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Calls `work` once for each item, in no particular order, and returns when all are done. After an error no new item
/// is begun; of several errors the one of the earliest item is returned.
pub(super) fn for_each<T: Send>(n_threads: usize, items: Vec<T>, work: impl Fn(T) -> Result<()> + Sync) -> Result<()> {
    let n_threads = n_threads.min(items.len());
    if n_threads <= 1 {
        return items.into_iter().try_for_each(work);
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let first_error: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let run = || {
        while locked(&first_error).is_none() {
            let Some((place, item)) = locked(&queue).next() else { return };
            if let Err(error) = work(item) {
                let mut first = locked(&first_error);
                if first.as_ref().is_none_or(|(earlier, _)| place < *earlier) {
                    *first = Some((place, error));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..n_threads {
            scope.spawn(run);
        }
        run();
    });
    let error = first_error.into_inner().unwrap_or_else(PoisonError::into_inner);
    error.map_or(Ok(()), |(_, error)| Err(error))
}

/// The lock, also when a thread that held it panicked: that panic ends the run anyway.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
