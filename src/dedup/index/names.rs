//! The names of documents, by their place in the segment.
//!
//! ```text
//! block   where each name ends u32, then the names, UTF-8
//! ```
//! An empty name stands for none. Blocks are small: names are asked for one at a time, by ordinal.

use super::block_file::{BlockFile, BlockWriter, Content, damaged};
use super::manifest::FileEntry;
use crate::{Error, Result, bug};
use std::path::PathBuf;
use std::sync::Arc;

const BLOCK_BYTES: usize = 8 << 10;

/// Writes the names of a segment, in the order of its documents.
pub(super) struct NameWriter {
    blocks: BlockWriter,
    ends: Vec<u8>,
    bytes: Vec<u8>,
    n_written: u64,
}

impl NameWriter {
    /// A new file.
    pub fn create(path: PathBuf) -> Result<Self> {
        let blocks = BlockWriter::create(path, Content::Names)?;
        Ok(Self { blocks, ends: vec![], bytes: vec![], n_written: 0 })
    }

    /// Adds the next document's name.
    pub fn push(&mut self, name: &str) -> Result<()> {
        if !self.ends.is_empty() && self.ends.len() + self.bytes.len() + 4 + name.len() > BLOCK_BYTES {
            self.write_block()?;
        }
        self.bytes.extend_from_slice(name.as_bytes());
        let end = u32::try_from(self.bytes.len())
            .map_err(|_| Error::Data(format!("a document's name of {} bytes is too long for an index", name.len())))?;
        self.ends.extend(end.to_le_bytes());
        Ok(())
    }

    fn write_block(&mut self) -> Result<()> {
        let n_names = self.ends.len() / 4;
        if n_names == 0 {
            return Ok(());
        }
        self.ends.append(&mut self.bytes);
        self.blocks.block(u128::from(self.n_written), n_names, &self.ends)?;
        self.ends.clear();
        self.n_written += n_names as u64;
        Ok(())
    }

    /// Names so far.
    pub fn n_names(&self) -> u64 {
        self.n_written + self.ends.len() as u64 / 4
    }

    /// Writes the rest and waits until the file is on disk.
    pub fn finish(mut self, name: String) -> Result<FileEntry> {
        self.write_block()?;
        self.blocks.finish(name)
    }
}

/// The names of a segment.
pub(super) struct SegmentNames {
    file: Arc<BlockFile>,
    loaded: Option<usize>,
    bytes: Vec<u8>,
}

impl SegmentNames {
    /// Nothing is read before a name is asked for.
    pub fn new(file: Arc<BlockFile>) -> Self {
        Self { file, loaded: None, bytes: vec![] }
    }

    /// The name of the segment's document `place`, counted from 0.
    pub fn get(&mut self, place: u64) -> Result<Option<&str>> {
        let blocks = self.file.blocks();
        let block = blocks.partition_point(|block| block.first_key <= u128::from(place));
        let Some(block) = block.checked_sub(1) else { return Err(bug!("a name before the first")) };
        let entry = blocks[block];
        let (within, n_names) = ((u128::from(place) - entry.first_key) as usize, entry.n_entries as usize);
        if within >= n_names {
            return Err(damaged(self.file.path(), &format!("no name for document {place} of the segment")));
        }
        if self.loaded != Some(block) {
            self.loaded = None;
            self.file.read(block, &mut self.bytes)?;
            self.loaded = Some(block);
        }
        let name =
            name_in(&self.bytes, n_names, within).ok_or_else(|| damaged(self.file.path(), "a name is cut off"))?;
        Ok(if name.is_empty() { None } else { Some(name) })
    }
}

fn name_in(bytes: &[u8], n_names: usize, at: usize) -> Option<&str> {
    let ends = bytes.get(..4 * n_names)?.as_chunks::<4>().0;
    let end = u32::from_le_bytes(*ends.get(at)?) as usize;
    let start = match at.checked_sub(1) {
        Some(before) => u32::from_le_bytes(ends[before]) as usize,
        None => 0,
    };
    std::str::from_utf8(bytes[4 * n_names..].get(start..end)?).ok()
}
