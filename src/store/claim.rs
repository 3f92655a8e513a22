//! A place that a run has for itself: the lock, the folder for staged files, and what is to change.
//!
//! Invariant: dropped without a commit, a claim leaves the place as it found it, but for what dead runs had left there,
//! which it removed, and for kept work.

use super::fault;
use super::files::{self, is_there};
use super::kept::{KEPT, KeptWork};
use super::location::Location;
use super::lock::{Lock, lock_file};
use super::new_file::NewFile;
use super::objects::objects_below;
use super::record::{JOINED, RECORD};
use super::remote::{Completion, abort_marked, is_remote};
use super::settle::settle;
use super::staging::Staging;
use crate::{Error, Result};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a process that ends in a hurry waits for stores.
const PATIENCE: Duration = Duration::from_secs(5);

/// What runs of this process have staged that are not committed, and where.
static UNFINISHED: Mutex<BTreeMap<PathBuf, Arc<Staging>>> = Mutex::new(BTreeMap::new());

/// Removes what runs of this process have staged: for a process that ends without dropping them.
pub fn remove_unfinished() {
    let (remote, local): (Vec<_>, Vec<_>) =
        std::mem::take(&mut *unfinished()).into_iter().partition(|(area, _)| is_remote(area));
    for (area, staging) in local {
        staging.discard(false);
        let _ = fs::remove_file(area.join("lock"));
        let _ = fs::remove_dir(&area);
    }
    if remote.is_empty() {
        return;
    }
    // A store may not answer; what is left then is removed by the next run.
    let (sender, done) = sync_channel(1);
    let work = move || {
        for (area, staging) in remote {
            staging.discard(false);
            let _ = files::remove(&area.join("lock"));
        }
        let _ = sender.send(());
    };
    if std::thread::Builder::new().spawn(work).is_ok() {
        let _ = done.recv_timeout(PATIENCE);
    }
}

fn unfinished() -> MutexGuard<'static, BTreeMap<PathBuf, Arc<Staging>>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place that no other run can change while this exists.
#[derive(Debug)]
pub struct Claim {
    pub(super) location: Location,
    run: String,
    staging: Arc<Staging>,
    changes: Mutex<Changes>,
    /// Folders that were made for the claim, those above first.
    created: Vec<PathBuf>,
    /// Nothing can be staged any more.
    is_abandoned: AtomicBool,
    /// The record has its name: what is left is for whoever settles the place.
    is_committed: AtomicBool,
    // Dropped last: the place is free only when it has been tidied up.
    lock: Lock,
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
    /// Of a bucket: final names, and what completes the uploads to them.
    pub completions: Vec<(PathBuf, Completion)>,
    pub last_completions: Vec<(PathBuf, Completion)>,
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
        if !is_remote(root) {
            fs::create_dir_all(root).map_err(|error| Error::io(root, error))?;
        }
        let location = location.resolved()?;
        let lock = loop {
            settle(&location)?;
            let Some(lock) = lock_file(&location.lock)? else { return Err(is_taken(&location)) };
            // A run that was committed in between has died since.
            if !is_there(&location.area.join(RECORD))? {
                break lock;
            }
        };
        let area = location.area.clone();
        remove_leftovers(&area).map_err(|error| Error::io(&area, error))?;
        let staging = Arc::new(Staging::new(&location, run)?);
        unfinished().insert(area, Arc::clone(&staging));
        Ok(Self {
            location,
            run: run.into(),
            staging,
            changes: Mutex::default(),
            created,
            is_abandoned: AtomicBool::new(false),
            is_committed: AtomicBool::new(false),
            lock,
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
        self.staging.folder()
    }

    /// Begins the file that will be called `name`, a path below the root.
    pub fn create(&self, name: &Path) -> Result<NewFile> {
        if self.is_abandoned.load(Ordering::SeqCst) {
            return Err(Error::Interrupted);
        }
        self.staging.create(name).map_err(|error| Error::io(self.root().join(name), error))
    }

    /// The staged file `name`, complete and synced, is to get its final name.
    pub fn publish(&self, name: &Path) -> Result<()> {
        let completion = self.staging.completion(name)?;
        let mut changes = self.changes();
        match completion {
            Some(completion) => changes.completions.push((name.to_path_buf(), completion)),
            None => changes.renames.push((self.staged_name(name), name.to_path_buf())),
        }
        Ok(())
    }

    /// The same, after all others: for a file that says that the rest is complete.
    pub fn publish_last(&self, name: &Path) -> Result<()> {
        let completion = self.staging.completion(name)?;
        let mut changes = self.changes();
        match completion {
            Some(completion) => changes.last_completions.push((name.to_path_buf(), completion)),
            None => changes.last.push((self.staged_name(name), name.to_path_buf())),
        }
        Ok(())
    }

    /// Whether the place is in a bucket.
    pub fn is_remote(&self) -> bool {
        is_remote(self.root())
    }

    /// Makes what is staged outlive a power cut; an error if somebody else may have taken the place by now.
    pub(super) fn make_sure(&self) -> Result<()> {
        if !self.lock.is_held().map_err(|error| Error::io(&self.location.lock, error))? {
            let place = self.shown().display();
            return Err(Error::Data(format!(
                "{place}: this run was stopped for so long that another one may have begun here; nothing is committed"
            )));
        }
        self.staging.sync();
        Ok(())
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
        unfinished().remove(&self.location.area);
    }

    /// Gives the place back as far as can be while somebody may still write into staged files.
    pub(super) fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::SeqCst);
        self.leave();
    }

    /// Removes what is there for this run only.
    fn leave(&self) {
        unfinished().remove(&self.location.area);
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
        let is_committed = self.is_committed.load(Ordering::SeqCst);
        if self.is_remote() {
            self.staging.discard(is_committed);
            if is_committed {
                let _ = files::remove(&area.join(JOINED));
            }
            self.lock.release();
            return;
        }
        for name in [JOINED, "commit.tmp", "joined.tmp"] {
            let _ = fs::remove_file(area.join(name));
        }
        self.staging.discard(is_committed);
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
    if is_remote(folder) {
        return vec![];
    }
    let above = folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
    let mut missing: Vec<PathBuf> = above.map(Path::to_path_buf).collect();
    missing.reverse();
    missing
}

/// Removes what dead runs left, but for kept work; only for who holds the lock, with no record there.
pub(super) fn remove_leftovers(area: &Path) -> io::Result<()> {
    if is_remote(area) {
        return remove_remote_leftovers(area);
    }
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

/// Markers name the uploads of dead runs. Of a run that was committed they name what is complete, and gone.
fn remove_remote_leftovers(area: &Path) -> io::Result<()> {
    for found in objects_below(area)? {
        let mut below = found.path.strip_prefix(area).into_iter().flat_map(Path::components);
        match (below.next(), below.next()) {
            (Some(name), None) if name.as_os_str() == "lock" => {}
            (_, None) => files::remove(&found.path)?,
            _ => abort_marked(&found.path)?,
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
