//! Keys with ordinals, in blocks: written in ascending order, read forward.
//!
//! ```text
//! block   key width u8, ordinal width u8, least ordinal u64, then the records
//! record  key − first key of the block, ordinal − least ordinal of the block; each in its width of bytes
//! ```
//! All records of a block are equally wide, so that a key is found by halving, without unpacking the block. Ten
//! million fuzzy records take 10 bytes each instead of 16.
//! Invariant: keys ascend strictly; of equal keys the least ordinal was kept.

use super::block_file::{BlockFile, BlockWriter, Content, damaged};
use super::manifest::FileEntry;
use crate::{Result, bug};
use std::path::PathBuf;
use std::sync::Arc;

/// Records in a block. With at most 24 bytes a record, a block stays below 100 kB.
const BLOCK_RECORDS: usize = 4096;
const BLOCK_HEADER_BYTES: usize = 10;
/// Numbers are read as 16 bytes from where they begin, and masked: the last ones need so many bytes after them.
const SLACK_BYTES: usize = 16;

/// The words of a key as one number; it orders as they do.
pub(super) fn key_of<const K: usize>(words: [u64; K]) -> u128 {
    words.iter().fold(0, |key, word| key << 64 | u128::from(*word))
}

/// Writes the records of a segment.
pub(super) struct RecordWriter {
    blocks: BlockWriter,
    pending: Vec<(u128, u64)>,
    encoded: Vec<u8>,
    first_key: Option<u128>,
    last_key: Option<u128>,
    n_written: u64,
}

/// What was written.
pub(super) struct WrittenRecords {
    pub file: FileEntry,
    pub n_records: u64,
    pub first_key: Option<u128>,
    pub last_key: Option<u128>,
}

impl RecordWriter {
    /// A new file.
    pub fn create(path: PathBuf) -> Result<Self> {
        Ok(Self {
            blocks: BlockWriter::create(path, Content::Records)?,
            pending: Vec::with_capacity(BLOCK_RECORDS),
            encoded: vec![],
            first_key: None,
            last_key: None,
            n_written: 0,
        })
    }

    /// Adds a record. A key that was just added keeps its least ordinal.
    pub fn push(&mut self, key: u128, ordinal: u64) -> Result<()> {
        match self.last_key {
            Some(last) if last == key => {
                // A block is only written when a greater key comes, so the last record is always at hand.
                if let Some(record) = self.pending.last_mut() {
                    record.1 = record.1.min(ordinal);
                }
                return Ok(());
            }
            Some(last) if last > key => return Err(bug!("the keys of an index must ascend: {last:x}, then {key:x}")),
            _ => {}
        }
        if self.pending.len() == BLOCK_RECORDS {
            self.write_block()?;
        }
        self.first_key.get_or_insert(key);
        self.last_key = Some(key);
        self.pending.push((key, ordinal));
        Ok(())
    }

    fn write_block(&mut self) -> Result<()> {
        let (Some((first, _)), Some((last, _))) = (self.pending.first(), self.pending.last()) else { return Ok(()) };
        let ordinals = self.pending.iter().map(|(_, ordinal)| *ordinal);
        let (least, greatest) = ordinals.fold((u64::MAX, 0), |(low, high), next| (low.min(next), high.max(next)));
        let key_width = width_bytes(last - first);
        let ordinal_width = width_bytes(u128::from(greatest - least));
        self.encoded.clear();
        self.encoded.extend([key_width as u8, ordinal_width as u8]);
        self.encoded.extend(least.to_le_bytes());
        for (key, ordinal) in &self.pending {
            self.encoded.extend_from_slice(&(key - first).to_le_bytes()[..key_width]);
            self.encoded.extend_from_slice(&(ordinal - least).to_le_bytes()[..ordinal_width]);
        }
        self.blocks.block(*first, self.pending.len(), &self.encoded)?;
        self.n_written += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Writes the rest and waits until the file is on disk.
    pub fn finish(mut self, name: String) -> Result<WrittenRecords> {
        self.write_block()?;
        let (n_records, first_key, last_key) = (self.n_written, self.first_key, self.last_key);
        Ok(WrittenRecords { file: self.blocks.finish(name)?, n_records, first_key, last_key })
    }
}

/// The bytes that a number needs; none for 0.
fn width_bytes(number: u128) -> usize {
    16 - number.leading_zeros() as usize / 8
}

/// A number in the first `width` bytes.
fn mask(width: usize) -> u128 {
    if width >= 16 { u128::MAX } else { (1 << (8 * width)) - 1 }
}

/// Stands at a record of a segment and moves forward. A block is read when the first record of it is needed.
pub(super) struct SegmentCursor {
    file: Arc<BlockFile>,
    ordinal_shift: u64,
    block: usize,
    at: usize,
    key: Option<u128>,
    is_loaded: bool,
    bytes: Vec<u8>,
    layout: Layout,
}

/// How the records of the loaded block lie.
#[derive(Default)]
struct Layout {
    first_key: u128,
    least_ordinal: u64,
    n_records: usize,
    record_bytes: usize,
    key_width: usize,
    key_mask: u128,
    ordinal_mask: u128,
}

impl SegmentCursor {
    /// At the first record.
    pub fn new(file: Arc<BlockFile>, ordinal_shift: u64) -> Self {
        let key = file.blocks().first().map(|block| block.first_key);
        let (bytes, layout) = (vec![], Layout::default());
        Self { file, ordinal_shift, block: 0, at: 0, key, is_loaded: false, bytes, layout }
    }

    /// The memory that a cursor holds.
    pub fn memory_bytes(file: &BlockFile) -> usize {
        file.memory_bytes() + SLACK_BYTES
    }

    /// The key of the record; none after the last.
    pub fn key(&self) -> Option<u128> {
        self.key
    }

    /// The ordinal of the record.
    pub fn ordinal(&mut self) -> Result<u64> {
        self.load()?;
        let at = BLOCK_HEADER_BYTES + self.at * self.layout.record_bytes + self.layout.key_width;
        let difference = (word_at(&self.bytes, at) & self.layout.ordinal_mask) as u64;
        let ordinal = self.layout.least_ordinal.checked_add(difference);
        let ordinal = ordinal.and_then(|ordinal| ordinal.checked_add(self.ordinal_shift));
        ordinal.ok_or_else(|| damaged(self.file.path(), "an ordinal is beyond all bounds"))
    }

    /// Moves to the next record.
    pub fn advance(&mut self) -> Result<()> {
        self.load()?;
        self.stand_at(self.at + 1);
        Ok(())
    }

    /// Moves to the first record whose key is at least `key`; stays if it is there or beyond.
    pub fn seek(&mut self, key: u128) -> Result<()> {
        if self.key.is_none_or(|current| current >= key) {
            return Ok(());
        }
        let later = &self.file.blocks()[self.block + 1..];
        if later.first().is_some_and(|next| next.first_key <= key) {
            self.block += later.partition_point(|block| block.first_key <= key);
            self.at = 0;
            self.is_loaded = false;
        }
        self.load()?;
        // The key is not before this block's first. Far jumps are rare: double the step, then halve the rest.
        let wanted = key - self.layout.first_key;
        let n_records = self.layout.n_records;
        let (mut low, mut step) = (self.at, 1);
        if self.difference(low) >= wanted {
            self.stand_at(low);
            return Ok(());
        }
        while low + step < n_records && self.difference(low + step) < wanted {
            low += step;
            step *= 2;
        }
        let mut high = n_records.min(low + step);
        low += 1;
        while low < high {
            let middle = low + (high - low) / 2;
            if self.difference(middle) < wanted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.stand_at(low);
        Ok(())
    }

    fn difference(&self, at: usize) -> u128 {
        word_at(&self.bytes, BLOCK_HEADER_BYTES + at * self.layout.record_bytes) & self.layout.key_mask
    }

    fn stand_at(&mut self, at: usize) {
        if at < self.layout.n_records {
            self.at = at;
            self.key = Some(self.layout.first_key.wrapping_add(self.difference(at)));
            return;
        }
        self.block += 1;
        self.at = 0;
        self.is_loaded = false;
        self.key = self.file.blocks().get(self.block).map(|block| block.first_key);
    }

    fn load(&mut self) -> Result<()> {
        if self.is_loaded {
            return Ok(());
        }
        let damaged = |what: &str| damaged(self.file.path(), what);
        let entry = *self.file.blocks().get(self.block).ok_or_else(|| bug!("read past the end of a segment"))?;
        self.file.read(self.block, &mut self.bytes)?;
        let &[key_width, ordinal_width, ref rest @ ..] = self.bytes.as_slice() else {
            return Err(damaged("an empty block"));
        };
        let (key_width, ordinal_width) = (usize::from(key_width), usize::from(ordinal_width));
        let n_records = entry.n_entries as usize;
        let n_bytes = BLOCK_HEADER_BYTES + n_records * (key_width + ordinal_width);
        if key_width > 16 || ordinal_width > 8 || n_records == 0 || n_bytes != self.bytes.len() {
            return Err(damaged("a block that does not hold its records"));
        }
        let mut least = [0; 8];
        least.copy_from_slice(&rest[..8]);
        self.layout = Layout {
            first_key: entry.first_key,
            least_ordinal: u64::from_le_bytes(least),
            n_records,
            record_bytes: key_width + ordinal_width,
            key_width,
            key_mask: mask(key_width),
            ordinal_mask: mask(ordinal_width),
        };
        self.bytes.resize(n_bytes + SLACK_BYTES, 0);
        self.is_loaded = true;
        Ok(())
    }
}

fn word_at(bytes: &[u8], at: usize) -> u128 {
    let mut word = [0; 16];
    word.copy_from_slice(&bytes[at..at + 16]);
    u128::from_le_bytes(word)
}
