//! Where a run stages what it makes: files in a hidden folder of its place; for a bucket, uploads that nobody sees.
//!
//! A bucket has no renames. What is staged there is a multipart upload to the final name, which the commit completes, and a
//! marker beside it (`.curator-stage/RUN/000003`) that names it to the next run, should this one die. Scratch files are
//! always files of this machine.
//!
//! Invariant: what was staged and is no part of a commit is gone when the staging is discarded.

use super::location::Location;
use super::new_file::NewFile;
use super::remote::{Completion, Upload, is_remote};
use super::{files, many_at_once, sync_folders};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// What a run has staged in one place.
#[derive(Debug)]
pub(super) struct Staging {
    /// The hidden folder, by whose name what is staged is found; for a bucket the folder of its markers.
    area: PathBuf,
    /// Of this machine: staged files, or scratch files alone.
    folder: PathBuf,
    uploads: Option<Uploads>,
}

/// What is staged in a bucket.
#[derive(Debug)]
struct Uploads {
    root: PathBuf,
    n_begun: AtomicUsize,
    begun: Mutex<BTreeMap<PathBuf, Begun>>,
    _scratch: TempDir,
}

#[derive(Debug)]
struct Begun {
    upload: Arc<Upload>,
    marker: PathBuf,
}

impl Staging {
    /// In a claimed place.
    pub fn new(location: &Location, run: &str) -> Result<Self> {
        let area = location.area.join(run);
        if !is_remote(&area) {
            fs::create_dir_all(&area).map_err(|error| Error::io(&area, error))?;
            return Ok(Self { folder: area.clone(), area, uploads: None });
        }
        let scratch = tempfile::Builder::new().prefix("curator-").tempdir();
        let scratch = scratch.map_err(|error| Error::io(std::env::temp_dir(), error))?;
        let folder = scratch.path().to_path_buf();
        let uploads = Uploads {
            root: location.root.clone(),
            n_begun: AtomicUsize::new(0),
            begun: Mutex::default(),
            _scratch: scratch,
        };
        Ok(Self { area, folder, uploads: Some(uploads) })
    }

    /// The folder for scratch files; of a place on this machine, for staged files too.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Begins the file that will be called `name`.
    pub fn create(&self, name: &Path) -> io::Result<NewFile> {
        let Some(uploads) = &self.uploads else {
            let path = self.folder.join(name);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            return NewFile::create(&path);
        };
        Ok(NewFile::of_upload(self.begin(uploads, name)?))
    }

    fn begin(&self, uploads: &Uploads, name: &Path) -> io::Result<Arc<Upload>> {
        let number = uploads.n_begun.fetch_add(1, Ordering::Relaxed);
        uploads.begin(name, self.area.join(format!("{number:06}")))
    }

    /// What completes a file of a bucket; `None` where files are renamed.
    pub fn completion(&self, name: &Path) -> Result<Option<Completion>> {
        let Some(uploads) = &self.uploads else { return Ok(None) };
        let path = uploads.root.join(name);
        let known = uploads.lock().get(name).map(|begun| Arc::clone(&begun.upload));
        let finish = || match known {
            Some(upload) => upload.finish(),
            // Staged as a file of this machine, whose parts were written at any place.
            None => {
                let upload = self.begin(uploads, name)?;
                io::copy(&mut fs::File::open(self.folder.join(name))?, &mut NewFile::of_upload(Arc::clone(&upload)))?;
                upload.finish()
            }
        };
        finish().map(Some).map_err(|error| Error::io(path, error))
    }

    /// Makes what is staged outlive a power cut.
    pub fn sync(&self) {
        if self.uploads.is_none() {
            let below = walkdir::WalkDir::new(&self.folder).into_iter().filter_map(Result::ok);
            let below = below.filter(|entry| entry.file_type().is_dir()).map(walkdir::DirEntry::into_path);
            let folders: BTreeSet<PathBuf> =
                below.chain(self.folder.ancestors().skip(1).take(2).map(Path::to_path_buf)).collect();
            sync_folders(&folders);
        }
    }

    /// What is staged and no part of a commit goes; after a commit, what stood beside it.
    pub fn discard(&self, is_committed: bool) {
        let Some(uploads) = &self.uploads else {
            let _ = fs::remove_dir_all(&self.folder);
            return;
        };
        let begun = std::mem::take(&mut *uploads.lock()).into_values();
        let begun: BTreeMap<PathBuf, Arc<Upload>> = begun.map(|begun| (begun.marker, begun.upload)).collect();
        many_at_once(&begun.keys().cloned().collect(), |marker| {
            // The marker goes last: without it nobody finds the upload.
            let upload = begun.get(marker).filter(|_| !is_committed);
            let aborted = upload.map_or(Ok(()), |upload| upload.abort());
            if let Err(error) = aborted.and_then(|()| files::remove(marker)) {
                tracing::warn!("{}: {error}; the next run into this place removes it", marker.display());
            }
        });
    }
}

impl Uploads {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, name: &Path, marker: PathBuf) -> io::Result<Arc<Upload>> {
        let upload = Upload::begin(&self.root.join(name), &marker)?;
        self.lock().insert(name.to_path_buf(), Begun { upload: Arc::clone(&upload), marker });
        Ok(upload)
    }
}
