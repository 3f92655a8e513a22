//! A temporary file that one thread writes from its beginning on; what was written can be read anywhere, from several
//! threads.

use super::Budget;
use crate::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes on disk, gone when it is dropped.
pub(super) struct SpillFile {
    file: File,
    len_bytes: AtomicU64,
    #[cfg(not(unix))]
    position: std::sync::Mutex<()>,
}

impl SpillFile {
    /// An empty one.
    pub(super) fn new(budget: &dyn Budget) -> Result<Self> {
        Ok(Self {
            file: budget.temp_file()?,
            len_bytes: AtomicU64::new(0),
            #[cfg(not(unix))]
            position: std::sync::Mutex::new(()),
        })
    }

    /// Bytes written so far: where the next ones go.
    pub(super) fn len_bytes(&self) -> u64 {
        self.len_bytes.load(Ordering::Relaxed)
    }

    /// Writes at the end.
    pub(super) fn append(&self, bytes: &[u8], budget: &dyn Budget) -> Result<()> {
        self.write_at_end(bytes)?;
        self.len_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        budget.note_spilled(bytes.len() as u64);
        Ok(())
    }

    #[cfg(unix)]
    fn write_at_end(&self, bytes: &[u8]) -> Result<()> {
        (&self.file).write_all(bytes).map_err(failed)
    }

    #[cfg(not(unix))]
    fn write_at_end(&self, bytes: &[u8]) -> Result<()> {
        use std::io::{Seek, SeekFrom};
        // Reading moves the place where the file is written.
        let _guard = self.position.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.len_bytes())).and_then(|_| file.write_all(bytes)).map_err(failed)
    }

    /// Fills `bytes` from `offset` on.
    #[cfg(unix)]
    pub(super) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, offset).map_err(failed)
    }

    /// Fills `bytes` from `offset` on.
    #[cfg(not(unix))]
    pub(super) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let _guard = self.position.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(bytes)).map_err(failed)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::io("a temporary file", error)
}
