//! Files that appear complete or not at all.
//!
//! ```text
//! Target::create ──write──► .name.tmp-pid-n ──complete (flush, fsync)──► CompleteFile ──publish (rename)──► name
//! ```
//!
//! Invariant: until `publish` nothing has the final name, and dropping any of these removes the temporary file.
//! Pipes and devices cannot be renamed and are written to directly; a pipe whose reader has gone swallows the rest.

use super::WrittenFile;
use crate::{Error, Result};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Tells apart the temporary files of one process.
static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The temporary files of this process that are there now.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes the temporary files of all outputs under way: for a process that ends without dropping them.
pub fn remove_unfinished() {
    for path in std::mem::take(&mut *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)) {
        let _ = std::fs::remove_file(path);
    }
}

/// A file, pipe or device being written.
pub(super) struct Target {
    out: Box<dyn Write + Send>,
    temporary: Option<Temporary>,
    path: PathBuf,
    /// Set, for a pipe, when its reader has gone.
    closed: Option<Arc<AtomicBool>>,
    n_bytes: u64,
}

/// A temporary file, removed when dropped.
struct Temporary {
    path: PathBuf,
    file: Option<File>,
}

impl Target {
    /// A file that will be called `path`, in a folder that exists.
    pub fn create(path: &Path) -> Result<Target> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let n = NEXT_TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_file_name(format!(".{name}.tmp-{}-{n}", std::process::id()));
        let file = File::create_new(&temporary).map_err(|error| Error::io(&temporary, error))?;
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).insert(temporary.clone());
        let mut temporary = Temporary { path: temporary, file: None };
        let buffered = file.try_clone().map_err(|error| Error::io(&temporary.path, error))?;
        temporary.file = Some(file);
        let out = Box::new(BufWriter::with_capacity(256 << 10, buffered));
        Ok(Target { out, temporary: Some(temporary), path: path.to_path_buf(), closed: None, n_bytes: 0 })
    }

    /// Standard output.
    pub fn stdout(closed: Arc<AtomicBool>) -> Target {
        Target { out: Box::new(io::stdout()), temporary: None, path: "-".into(), closed: Some(closed), n_bytes: 0 }
    }

    /// A device or named pipe.
    pub fn stream(path: &Path, closed: Arc<AtomicBool>) -> Result<Target> {
        let file = File::options().write(true).open(path).map_err(|error| Error::io(path, error))?;
        Ok(Target { out: Box::new(file), temporary: None, path: path.to_path_buf(), closed: Some(closed), n_bytes: 0 })
    }

    /// The final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far.
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// Appends bytes.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|error| Error::io(&self.path, error))
    }

    /// Makes sure that everything is on the disk; the file still has its temporary name.
    pub fn complete(mut self, n_rows: u64) -> Result<CompleteFile> {
        self.flush().map_err(|error| Error::io(&self.path, error))?;
        if let Some(temporary) = &mut self.temporary
            && let Some(file) = temporary.file.take()
        {
            file.sync_all().map_err(|error| Error::io(&temporary.path, error))?;
        }
        Ok(CompleteFile { temporary: self.temporary, path: self.path, n_rows, n_bytes: self.n_bytes })
    }

    /// Turns "the reader has gone" into a remembered fact.
    fn tolerate(&self, result: io::Result<()>) -> io::Result<()> {
        match (result, &self.closed) {
            (Err(error), Some(closed)) if error.kind() == io::ErrorKind::BrokenPipe => {
                closed.store(true, Ordering::Relaxed);
                Ok(())
            }
            (result, _) => result,
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.load(Ordering::Relaxed))
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_closed() {
            let result = self.out.write_all(bytes);
            self.tolerate(result)?;
            self.n_bytes += bytes.len() as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.is_closed() {
            return Ok(());
        }
        let result = self.out.flush();
        self.tolerate(result)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A file that has been published is not there any more; nothing better can be done about other failures.
        let _ = std::fs::remove_file(&self.path);
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.path);
    }
}

/// A file with all its bytes on the disk, which still waits for its name.
pub(super) struct CompleteFile {
    temporary: Option<Temporary>,
    path: PathBuf,
    pub n_rows: u64,
    pub n_bytes: u64,
}

impl CompleteFile {
    /// The final name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name. The name lasts once [`sync_folders_of`] was called.
    pub fn publish(self, may_replace: bool) -> Result<WrittenFile> {
        if let Some(temporary) = &self.temporary {
            if !may_replace && self.path.exists() {
                return Err(Error::Data(format!("`{}` appeared while it was being written", self.path.display())));
            }
            std::fs::rename(&temporary.path, &self.path).map_err(|error| Error::io(&self.path, error))?;
        }
        Ok(WrittenFile { path: self.path, n_rows: self.n_rows, n_bytes: self.n_bytes })
    }
}

/// Makes the renames in the folders of these files last.
///
/// Some file systems refuse to sync a folder; what is in the files is safe by then.
pub(super) fn sync_folders_of(files: &[WrittenFile]) {
    let folders: BTreeSet<&Path> = files.iter().filter_map(|file| file.path.parent()).collect();
    for folder in folders {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
    }
}

/// The folders that a sink had to create; they go again if it is dropped before `keep`.
#[derive(Default)]
pub(super) struct CreatedFolders {
    created: Vec<PathBuf>,
}

impl CreatedFolders {
    /// Creates a folder and those above it, where missing.
    pub fn create(&mut self, folder: &Path) -> Result<()> {
        let missing: Vec<&Path> =
            folder.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
        for path in missing.into_iter().rev() {
            match std::fs::create_dir(path) {
                Ok(()) => self.created.push(path.to_path_buf()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(path, error)),
            }
        }
        Ok(())
    }

    /// The output is complete: the folders stay.
    pub fn keep(&mut self) {
        self.created.clear();
    }
}

impl Drop for CreatedFolders {
    fn drop(&mut self) {
        // Fails, rightly, for a folder that someone else has put a file into.
        for folder in self.created.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
    }
}
