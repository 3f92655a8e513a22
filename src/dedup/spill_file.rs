//! A temporary file that one thread writes from its beginning on; what was written can be read anywhere, from several
//! threads.

use super::Budget;
use crate::store::ScratchFile;
use crate::{Error, Result};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes on disk, gone when it is dropped.
pub(super) struct SpillFile {
    file: ScratchFile,
    len_bytes: AtomicU64,
}

impl SpillFile {
    /// An empty one.
    pub(super) fn new(budget: &dyn Budget) -> Result<Self> {
        Ok(Self { file: budget.temp_file()?, len_bytes: AtomicU64::new(0) })
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

    fn write_at_end(&self, bytes: &[u8]) -> Result<()> {
        (&self.file).write_all(bytes).map_err(failed)
    }

    /// Fills `bytes` from `offset` on.
    pub(super) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(bytes, offset).map_err(failed)
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::Data(error.to_string())
}
