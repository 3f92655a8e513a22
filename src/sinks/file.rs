//! Files of an output, staged until the run commits.
//!
//! ```text
//! Target::create ──write──► staged below the claim ──complete (flush, fsync)──► CompleteFile ──commit of the run──► name
//! ```
//!
//! Invariant: nothing has its final name before the commit, and what is not committed goes with the claim.
//! Pipes and devices cannot be renamed and are written to directly; a pipe whose reader has gone swallows the rest.

use crate::store::{Claim, NewFile, Stdout, StoredFile};
use crate::{Error, Result};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use xxhash_rust::xxh3::Xxh3;

/// A file, pipe or device being written.
pub(super) struct Target {
    out: Box<dyn Write + Send>,
    staged: Option<Staged>,
    path: PathBuf,
    /// Set, for a pipe, when its reader has gone.
    closed: Option<Arc<AtomicBool>>,
    n_bytes: u64,
    hash: Box<Xxh3>,
}

/// A file that waits for its name.
struct Staged {
    file: NewFile,
    /// Its name below the root of the claim.
    name: PathBuf,
    // Held, so that the place stays ours while there is anything to write.
    _claim: Arc<Claim>,
}

impl Target {
    /// A file that will be called `name` below the claim's root, and is shown as `path`.
    pub fn create(claim: &Arc<Claim>, name: &Path, path: PathBuf) -> Result<Target> {
        let file = claim.create(name)?;
        let buffered = file.again().map_err(|error| Error::io(&path, error))?;
        let out = Box::new(BufWriter::with_capacity(256 << 10, buffered));
        let staged = Staged { file, name: name.to_path_buf(), _claim: Arc::clone(claim) };
        Ok(Target { out, staged: Some(staged), path, closed: None, n_bytes: 0, hash: Box::default() })
    }

    /// Standard output.
    pub fn stdout(closed: Arc<AtomicBool>) -> Result<Target> {
        Stdout.check().map_err(|error| Error::io("-", error))?;
        Ok(Self::direct(Box::new(Stdout), "-".into(), closed))
    }

    /// A device or named pipe.
    pub fn stream(path: &Path, closed: Arc<AtomicBool>) -> Result<Target> {
        let file = NewFile::stream(path).map_err(|error| Error::io(path, error))?;
        Ok(Self::direct(Box::new(file), path.to_path_buf(), closed))
    }

    fn direct(out: Box<dyn Write + Send>, path: PathBuf, closed: Arc<AtomicBool>) -> Target {
        Target { out, staged: None, path, closed: Some(closed), n_bytes: 0, hash: Box::default() }
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

    /// Makes sure that everything is on the disk; the file still waits for its name.
    pub fn complete(mut self, n_rows: u64) -> Result<CompleteFile> {
        self.flush().map_err(|error| Error::io(&self.path, error))?;
        let name = match &self.staged {
            Some(staged) => {
                staged.file.sync().map_err(|error| Error::io(&self.path, error))?;
                Some(staged.name.clone())
            }
            None => None,
        };
        let xxh3_128 = format!("{:032x}", self.hash.digest128());
        Ok(CompleteFile { name, path: self.path, n_rows, n_bytes: self.n_bytes, xxh3_128 })
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
            if self.staged.is_some() {
                self.hash.update(bytes);
            }
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

/// A file with all its bytes on the disk, which waits for its name.
#[derive(Debug, Clone)]
pub(super) struct CompleteFile {
    /// Its name below the root of its claim; `None` for what was written directly.
    pub name: Option<PathBuf>,
    /// Where it will be, as the user wrote it.
    pub path: PathBuf,
    pub n_rows: u64,
    pub n_bytes: u64,
    /// The hash of its bytes.
    pub xxh3_128: String,
}

/// The hash of a whole file, and its length.
pub(super) fn hash_file(path: &Path) -> Result<(u64, String)> {
    struct Hashing(Box<Xxh3>);
    impl Write for Hashing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut hash = Hashing(Box::default());
    let copied = StoredFile::open(path).and_then(|mut file| io::copy(&mut file, &mut hash));
    let n_bytes = copied.map_err(|error| Error::io(path, error))?;
    Ok((n_bytes, format!("{:032x}", hash.0.digest128())))
}
