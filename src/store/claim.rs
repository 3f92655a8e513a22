//! A place that a run has for itself: the lock, the folder for staged files, and what is to change.
//!
//! Invariant: dropped without a commit, a claim leaves the place as it found it, but for what dead runs had left there,
//! which it removed, and for kept work.

use super::fault;
use super::kept::{KEPT, KeptWork};
use super::location::Location;
use super::lock::{Lock, lock_file};
use super::record::{JOINED, RECORD};
use super::settle::settle;
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The folders with staged files of this process, of runs that are not committed.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes what runs of this process have staged: for a process that ends without dropping them.
pub fn remove_unfinished() {
    for staging in std::mem::take(&mut *unfinished()) {
        let _ = fs::remove_dir_all(&staging);
        if let Some(area) = staging.parent() {
            let _ = fs::remove_file(area.join("lock"));
            let _ = fs::remove_dir(area);
        }
    }
}

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place that no other run can change while this exists.
#[derive(Debug)]
pub struct Claim {
    pub(super) location: Location,
    run: String,
    staging: PathBuf,
    changes: Mutex<Changes>,
    /// Folders that were made for the claim, those above first.
    created: Vec<PathBuf>,
    /// Nothing can be staged any more.
    is_abandoned: AtomicBool,
    /// The record has its name: what is left is for whoever settles the place.
    is_committed: AtomicBool,
    // Dropped last: the place is free only when it has been tidied up.
    _lock: Lock,
}

/// What a commit does in one place, all paths below its root.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Files of earlier runs.
    pub removals: Vec<PathBuf>,
    /// Staged files and their final names.
    pub renames: Vec<(PathBuf, PathBuf)>,
    /// The same, after all others: what says that the rest is complete.
    pub last: Vec<(PathBuf, PathBuf)>,
}

impl Claim {
    /// Takes a place for a run, once nothing is pending there. Fails at once if another run has it.
    pub(super) fn take(location: &Location, run: &str) -> Result<Self> {
        let created = missing_folders(&location.root);
        let taken = Self::take_with(location, run, created.clone());
        if taken.is_err() {
            remove_empty(&created);
        }
        taken
    }

    fn take_with(location: &Location, run: &str, created: Vec<PathBuf>) -> Result<Self> {
        let root = &location.root;
        fs::create_dir_all(root).map_err(|error| Error::io(root, error))?;
        let location = location.resolved()?;
        let lock = loop {
            settle(&location)?;
            let Some(lock) = lock_file(&location.lock)? else { return Err(is_taken(&location)) };
            // A run that was committed in between has died since.
            if !location.area.join(RECORD).exists() {
                break lock;
            }
        };
        let area = location.area.clone();
        remove_leftovers(&area).map_err(|error| Error::io(&area, error))?;
        let staging = area.join(run);
        fs::create_dir_all(&staging).map_err(|error| Error::io(&staging, error))?;
        unfinished().insert(staging.clone());
        Ok(Self {
            location,
            run: run.into(),
            staging,
            changes: Mutex::default(),
            created,
            is_abandoned: AtomicBool::new(false),
            is_committed: AtomicBool::new(false),
            _lock: lock,
        })
    }

    /// The place as the user wrote it.
    pub fn shown(&self) -> &Path {
        &self.location.shown
    }

    /// The folder that all changes are below.
    pub fn root(&self) -> &Path {
        &self.location.root
    }

    /// The folder for staged and for scratch files. What is in it and no part of the commit goes with the claim.
    pub fn staging(&self) -> &Path {
        &self.staging
    }

    /// Where to write the file that will be called `name`, a path below the root. Folders on the way are made.
    pub fn stage(&self, name: &Path) -> Result<PathBuf> {
        if self.is_abandoned.load(Ordering::SeqCst) {
            return Err(Error::Interrupted);
        }
        let path = self.staging.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        }
        Ok(path)
    }

    /// The staged file `name`, complete and synced, is to get its final name.
    pub fn publish(&self, name: &Path) {
        self.changes().renames.push((self.staged_name(name), name.to_path_buf()));
    }

    /// The same, after all others: for a file that says that the rest is complete.
    pub fn publish_last(&self, name: &Path) {
        self.changes().last.push((self.staged_name(name), name.to_path_buf()));
    }

    /// A file of an earlier run is to go, before any new file gets its name.
    pub fn remove(&self, name: &Path) {
        self.changes().removals.push(name.to_path_buf());
    }

    fn staged_name(&self, name: &Path) -> PathBuf {
        let area = self.location.area.file_name().map(PathBuf::from).unwrap_or_default();
        area.join(&self.run).join(name)
    }

    pub(super) fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From here on a process that ends in a hurry leaves the staged files alone: a record may name them.
    pub(super) fn hold(&self) {
        unfinished().remove(&self.staging);
    }

    /// Gives the place back as far as can be while somebody may still write into staged files.
    pub(super) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::SeqCst);
        self.leave();
    }

    /// Removes what is there for this run only.
    fn leave(&self) {
        unfinished().remove(&self.staging);
        if self.is_committed.load(Ordering::SeqCst) {
            return;
        }
        self.clear();
        if self.location.keeps_lock && self.created.contains(&self.location.shown) {
            let _ = fs::remove_file(&self.location.lock);
        }
        remove_empty(&self.created);
    }

    /// The record has its name. What was kept for the case that it never gets one is not needed any more; should this process
    /// die before that is gone, who settles the place removes it.
    pub(super) fn mark_committed(&self) {
        self.is_committed.store(true, Ordering::SeqCst);
        if let Err(error) = KeptWork::of(&self.location).remove() {
            tracing::warn!("{error}");
        }
    }

    /// All was carried out: the folder for work under way can go.
    pub(super) fn clear(&self) {
        let area = &self.location.area;
        let _ = fault::step();
        for name in [JOINED, "commit.tmp", "joined.tmp"] {
            let _ = fs::remove_file(area.join(name));
        }
        let _ = fs::remove_dir_all(&self.staging);
        let _ = fault::step();
        if !self.location.keeps_lock {
            let _ = fs::remove_file(&self.location.lock);
        }
        let _ = fs::remove_dir(&self.location.area);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Fails, rightly, for a folder that someone else has put a file into.
fn remove_empty(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        let _ = fs::remove_dir(folder);
    }
}

/// The folders that are not there yet, those above first.
fn missing_folders(folder: &Path) -> Vec<PathBuf> {
    let above = folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
    let mut missing: Vec<PathBuf> = above.map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

/// Removes what dead runs left, but for kept work; only for who holds the lock, with no record there.
pub(super) fn remove_leftovers(area: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(area) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        match path.file_name().is_some_and(|name| name == "lock" || name == KEPT) {
            true => {}
            false if path.is_dir() => fs::remove_dir_all(&path)?,
            false => fs::remove_file(&path)?,
        }
    }
    Ok(())
}

fn is_taken(location: &Location) -> Error {
    let place = location.shown.display();
    Error::Data(match location.keeps_lock {
        true => format!("{place}: another run is changing this index; wait until it ends, or use READ ONLY"),
        false => format!("{place}: another run is writing here; wait until it ends, or name another place"),
    })
}
