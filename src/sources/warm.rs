//! Objects that are opened before it is their turn, so that reading many small ones does not wait for each.

use super::discover::SourceFile;
use crate::store::{StoredFile, is_remote};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Objects of a split that are on their way.
pub(super) const MAX_WARM: usize = 16;

/// Pieces whose first bytes were asked for and that nobody has opened yet.
#[derive(Debug, Default)]
pub(crate) struct WarmFiles(Mutex<HashMap<usize, StoredFile>>);

impl WarmFiles {
    /// Opens a piece that is a whole file. One that cannot be opened says so when it is read.
    pub fn open(&self, piece: usize, source: &SourceFile) {
        if self.lock().contains_key(&piece) {
            return;
        }
        if let Ok(file) = source.open() {
            file.warm();
            self.lock().insert(piece, file);
        }
    }

    /// The piece, if it was opened.
    pub fn take(&self, piece: usize) -> Option<StoredFile> {
        self.lock().remove(&piece)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, StoredFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `look` with each file, in their order. Objects are looked at some at a time.
pub(super) fn for_each_file<T: Send>(files: &[SourceFile], look: impl Fn(&SourceFile) -> T + Sync) -> Vec<T> {
    if !files.iter().any(|file| is_remote(&file.path)) {
        return files.iter().map(look).collect();
    }
    let looked: Vec<Mutex<Option<T>>> = files.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let work = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let (Some(file), Some(place)) = (files.get(at), looked.get(at)) else { return };
        *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(look(file));
    };
    std::thread::scope(|scope| {
        for _ in 1..MAX_WARM.min(files.len()) {
            // Where no thread can be started, this one does its work.
            let _ = std::thread::Builder::new().name("curator-look".into()).spawn_scoped(scope, work);
        }
        work();
    });
    let places = looked.into_iter().map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
    places.zip(files).map(|(looked, file)| looked.unwrap_or_else(|| look(file))).collect()
}
