//! Where the temporary files of a run are, and how much they may take together.

use super::files::{is_folder, temp_file, temp_file_in};
use super::scratch_file::ScratchFile;
use crate::{Error, Result};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module's text.
#[derive(Debug)]
pub struct TempSpace {
    /// `None`: the system's folder.
    folder: Option<PathBuf>,
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl TempSpace {
    /// Room in a folder, which must be there. Without a limit, it has what the disk has.
    pub fn new(folder: Option<PathBuf>, limit_bytes: Option<usize>) -> Result<Self> {
        if let Some(folder) = folder.as_ref().filter(|folder| !is_folder(folder)) {
            return Err(Error::Data(format!("temp_dir: there is no folder '{}'", folder.display())));
        }
        let limit_bytes = limit_bytes.map_or(u64::MAX, |limit| limit as u64);
        Ok(Self { folder, limit_bytes, used_bytes: AtomicU64::new(0) })
    }

    /// A file without a name, gone with the process however that ends.
    pub fn file(&self) -> Result<ScratchFile> {
        match &self.folder {
            Some(folder) => temp_file_in(folder),
            None => temp_file(),
        }
    }

    /// Counts bytes that are about to be written; an error if they would be too many.
    pub fn claim(&self, n_bytes: u64) -> io::Result<()> {
        let add = |used: u64| used.checked_add(n_bytes).filter(|used| *used <= self.limit_bytes);
        let claimed = self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        claimed.map(drop).map_err(|_| io::Error::other(crate::error::OUT_OF_TEMP_SPACE))
    }

    /// The bytes are gone.
    pub fn release(&self, n_bytes: u64) {
        self.used_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
    }
}
