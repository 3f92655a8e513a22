//! The folder of an index: one writer at a time, and new content all at once or not at all.
//!
//! ```text
//! segment-7.records.tmp ──fsync──► rename ──► fsync folder ──► index.json.tmp ──fsync──► rename ──► fsync folder
//! ```
//! The second rename is the moment at which the index changes. A crash before it leaves files that no manifest names:
//! they are not part of the index, and the next writer removes them.

use super::manifest::{MANIFEST, Manifest, is_segment_file};
use crate::store::{self, AREA, Claim, Lock, NewFile, lock_file, real_path, sync_folder};
use crate::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LOCK: &str = "lock";
const TEMPORARY: &str = ".tmp";

/// The right to change an index, until it is dropped. The operating system takes it back if the process ends.
#[derive(Debug)]
pub(super) enum WriterLock {
    /// For one change.
    Own { _lock: Lock },
    /// Of a run, which changes other places too, all at once.
    OfRun(Arc<Claim>),
    /// Held by who calls, for one change before others.
    Held,
}

impl WriterLock {
    /// Takes the right, making the folder if there is none.
    pub fn take(folder: &Path) -> Result<Self> {
        store::create_folder(folder).map_err(|error| Error::io(folder, error))?;
        match lock_file(&folder.join(LOCK))? {
            Some(lock) => Ok(Self::Own { _lock: lock }),
            None => Err(Error::Data(format!(
                "{}: another run is changing this index; wait until it ends, or use READ ONLY",
                folder.display()
            ))),
        }
    }
}

/// Whether a folder without a manifest is free to become an index: it holds nothing, or what a crash left.
pub(super) fn is_free(folder: &Path) -> Result<bool> {
    Ok(files_of(folder)?.iter().all(|name| name == LOCK || name == AREA || is_ours(name)))
}

/// The files of an unfinished append or of a compaction that was cut short.
pub(super) fn leftovers(folder: &Path, manifest: &Manifest) -> Result<Vec<String>> {
    let mut names = files_of(folder)?;
    names.retain(|name| is_ours(name) && name != MANIFEST && !manifest.names_file(name));
    names.sort();
    Ok(names)
}

/// Removes them; only for who holds the lock.
pub(super) fn remove_leftovers(folder: &Path, manifest: &Manifest, _lock: &WriterLock) -> Result<()> {
    for name in leftovers(folder, manifest)? {
        let path = folder.join(name);
        store::remove(&path).map_err(|error| Error::io(path, error))?;
    }
    Ok(())
}

fn is_ours(name: &str) -> bool {
    let name = name.strip_suffix(TEMPORARY).unwrap_or(name);
    name == MANIFEST || is_segment_file(name)
}

fn files_of(folder: &Path) -> Result<Vec<String>> {
    store::names_in(folder).map_err(|error| Error::io(folder, error))
}

/// Files that are being written. They go when this is dropped, unless they were published.
#[derive(Debug)]
pub(super) struct NewFiles {
    folder: PathBuf,
    names: Vec<String>,
    /// They become visible with the rest of a run.
    claim: Option<Arc<Claim>>,
}

impl NewFiles {
    /// None yet.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), names: vec![], claim: None }
    }

    /// None yet, for who has this right.
    pub fn under(folder: &Path, lock: &WriterLock) -> Self {
        let claim = match lock {
            WriterLock::OfRun(claim) => Some(Arc::clone(claim)),
            WriterLock::Own { .. } | WriterLock::Held => None,
        };
        Self { folder: folder.to_path_buf(), names: vec![], claim }
    }

    /// Where to write the file that will be called `name`.
    pub fn add(&mut self, name: &str) -> PathBuf {
        self.names.push(name.to_string());
        self.temporary(name)
    }

    fn temporary(&self, name: &str) -> PathBuf {
        if let Some(claim) = &self.claim {
            return claim.staging().join(name);
        }
        self.folder.join(format!("{name}{TEMPORARY}"))
    }

    /// Gives `manifest` and these files, each on disk already, to the commit of the run.
    pub fn stage(mut self, manifest: &Manifest, claim: &Claim) -> Result<()> {
        let temporary = self.temporary(MANIFEST);
        let bytes = manifest.to_bytes()?;
        let written = NewFile::replace(&temporary).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync()
        });
        written.map_err(|error| Error::io(&temporary, error))?;
        self.names.drain(..).try_for_each(|name| claim.publish(Path::new(&name)))?;
        claim.publish_last(Path::new(MANIFEST))?;
        Ok(())
    }

    /// Makes `manifest` the index, with these files, each on disk already. `after` is told of each step that was done.
    pub fn publish(mut self, manifest: &Manifest, mut after: impl FnMut(&str)) -> Result<()> {
        let bytes = manifest.to_bytes()?;
        let rename = |from: &Path, to: &Path| store::rename(from, to).map_err(|error| Error::io(to, error));
        for name in &self.names {
            rename(&self.temporary(name), &self.folder.join(name))?;
            after(name);
        }
        sync_folder(&self.folder);
        let temporary = self.temporary(MANIFEST);
        let written = NewFile::replace(&temporary).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync()
        });
        written.map_err(|error| Error::io(&temporary, error))?;
        after("manifest written");
        rename(&temporary, &self.folder.join(MANIFEST))?;
        self.names.clear();
        after("manifest in place");
        sync_folder(&self.folder);
        if let Some(parent) = real_path(&self.folder).parent() {
            sync_folder(parent);
        }
        Ok(())
    }
}

impl Drop for NewFiles {
    fn drop(&mut self) {
        for name in &self.names {
            // What cannot be removed is not part of the index, and the next writer tries again.
            let _ = store::remove(&self.temporary(name));
            if self.claim.is_none() {
                let _ = store::remove(&self.folder.join(name));
            }
        }
    }
}
