//! Rows on disk for a while: a file without a name, gone with the process however that ends.
//!
//! Rows are added at the end and read back in any order, from several threads.

use crate::store::{ScratchFile, scratch_file};
use crate::{Error, Result, bug};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Rows in a scratch file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    start: u64,
    n_bytes: u64,
}

/// A file without a name, for rows that do not fit into memory.
#[derive(Debug)]
pub(crate) struct Scratch {
    file: ScratchFile,
    folder: PathBuf,
    n_bytes: u64,
}

impl Scratch {
    /// A file in `folder`, which exists.
    pub fn create(folder: &Path) -> Result<Self> {
        let file = scratch_file(folder).map_err(|error| Error::io(folder, error))?;
        Ok(Self { file, folder: folder.to_path_buf(), n_bytes: 0 })
    }

    /// Adds rows.
    pub fn append(&mut self, schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Extent> {
        let mut bytes = Vec::new();
        let written = StreamWriter::try_new(&mut bytes, schema).and_then(|mut writer| {
            batches.iter().try_for_each(|batch| writer.write(batch))?;
            writer.finish()
        });
        written.map_err(|error| bug!("rows for the scratch file: {error}"))?;
        self.file.write_all_at(&bytes, self.n_bytes).map_err(|error| Error::io(&self.folder, error))?;
        let extent = Extent { start: self.n_bytes, n_bytes: bytes.len() as u64 };
        self.n_bytes += extent.n_bytes;
        Ok(extent)
    }

    /// Gives rows back, batch by batch, as they were added.
    pub fn read(&self, extent: Extent, mut each: impl FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let window = Window { file: &self.file, at: extent.start, end: extent.start + extent.n_bytes };
        let failed = |error| Error::Data(format!("cannot read rows back from {}: {error}", self.folder.display()));
        let batches = StreamReader::try_new(BufReader::new(window), None).map_err(failed)?;
        for batch in batches {
            each(batch.map_err(failed)?)?;
        }
        Ok(())
    }
}

/// A part of a file that several threads read.
struct Window<'a> {
    file: &'a ScratchFile,
    at: u64,
    end: u64,
}

impl Read for Window<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min((self.end - self.at) as usize);
        let n_bytes = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += n_bytes as u64;
        Ok(n_bytes)
    }
}
