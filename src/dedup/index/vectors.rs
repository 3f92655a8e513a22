//! Vectors by cluster, and the centres of the clusters.
//!
//! ```text
//! centres  blocks of centres, from the first on: the values of each, f32
//! vectors  blocks of one cluster each, by cluster: for each vector its ordinal u64, then the values of each, f32
//! ```
//! The first key of a block of centres is its first centre's number, that of a block of vectors is
//! cluster · 2⁶⁴ + ordinal of its first vector.
//! Invariant: vectors ascend by cluster and ordinal, over all blocks; all have as many values as the centres.
//! Not here: which vectors are compared (`crate::dedup::semantic`).

use super::block_file::{BlockFile, BlockWriter, Content, damaged};
use super::manifest::FileEntry;
use super::records::{WrittenRecords, key_of};
use crate::dedup::claim::Claim;
use crate::{Result, bug};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A block is read whole, and a search reads whole clusters: large enough to read at speed, small beside a budget.
const BLOCK_BYTES: usize = if cfg!(test) { 1 << 10 } else { 256 << 10 };

/// The centres of an index's clusters, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexCentres {
    /// The values of a centre, and of every vector.
    pub dimension: usize,
    /// `dimension` values a centre.
    pub values: Vec<f32>,
}

impl IndexCentres {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len() / self.dimension.max(1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Writes them and waits until they are on disk.
    pub(super) fn write(&self, path: PathBuf, name: String) -> Result<FileEntry> {
        if self.is_empty() || !self.values.len().is_multiple_of(self.dimension) {
            return Err(bug!("{} values for centres of {}", self.values.len(), self.dimension));
        }
        let mut blocks = BlockWriter::create(path, Content::Centres)?;
        let block_values = (BLOCK_BYTES / 4 / self.dimension).max(1) * self.dimension;
        let mut first = 0;
        for values in self.values.chunks(block_values) {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let n_centres = values.len() / self.dimension;
            blocks.block(first, n_centres, &bytes)?;
            first += n_centres as u128;
        }
        blocks.finish(name)
    }

    /// Reads all of a file.
    pub(super) fn read(file: &BlockFile) -> Result<Self> {
        let damaged = || damaged(file.path(), "centres that are not equally long");
        let (mut values, mut bytes) = (Vec::new(), Vec::new());
        let mut dimension = None;
        for (block, entry) in file.blocks().iter().enumerate() {
            file.read(block, &mut bytes)?;
            let each = bytes.len() / 4 / (entry.n_entries as usize).max(1);
            if each == 0 || bytes.len() != each * 4 * entry.n_entries as usize || dimension.unwrap_or(each) != each {
                return Err(damaged());
            }
            dimension = Some(each);
            values_of(&bytes, &mut values);
        }
        Ok(Self { dimension: dimension.ok_or_else(damaged)?, values })
    }
}

/// Writes the vectors of a segment.
pub(super) struct VectorWriter {
    blocks: BlockWriter,
    /// The block that is being filled: its cluster, and where its vectors go.
    cluster: u32,
    ordinals: Vec<u64>,
    values: Vec<u8>,
    first_key: Option<u128>,
    last_key: Option<u128>,
    n_written: u64,
}

impl VectorWriter {
    /// A new file.
    pub fn create(path: PathBuf) -> Result<Self> {
        Ok(Self {
            blocks: BlockWriter::create(path, Content::Vectors)?,
            cluster: 0,
            ordinals: vec![],
            values: vec![],
            first_key: None,
            last_key: None,
            n_written: 0,
        })
    }

    /// Adds a vector; clusters ascend, and ordinals in each.
    pub fn push(&mut self, cluster: u32, ordinal: u64, vector: &[f32]) -> Result<()> {
        let key = key_of([u64::from(cluster), ordinal]);
        if let Some(last) = self.last_key.filter(|last| *last >= key) {
            return Err(bug!("the vectors of an index must ascend: {last:x}, then {key:x}"));
        }
        let is_full = (self.ordinals.len() + 1) * (8 + 4 * vector.len()) > BLOCK_BYTES;
        if is_full || cluster != self.cluster {
            self.write_block()?;
        }
        self.cluster = cluster;
        self.first_key.get_or_insert(key);
        self.last_key = Some(key);
        self.ordinals.push(ordinal);
        self.values.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
        Ok(())
    }

    fn write_block(&mut self) -> Result<()> {
        let Some(first) = self.ordinals.first() else { return Ok(()) };
        let key = key_of([u64::from(self.cluster), *first]);
        let mut bytes: Vec<u8> = self.ordinals.iter().flat_map(|ordinal| ordinal.to_le_bytes()).collect();
        bytes.append(&mut self.values);
        self.blocks.block(key, self.ordinals.len(), &bytes)?;
        self.n_written += self.ordinals.len() as u64;
        self.ordinals.clear();
        Ok(())
    }

    /// Writes the rest and waits until the file is on disk.
    pub fn finish(mut self, name: String) -> Result<WrittenRecords> {
        self.write_block()?;
        let (n_records, first_key, last_key) = (self.n_written, self.first_key, self.last_key);
        Ok(WrittenRecords { file: self.blocks.finish(name)?, n_records, first_key, last_key })
    }
}

/// The vectors of an index, cluster by cluster.
pub struct IndexVectors {
    pub(super) segments: Vec<SegmentVectors>,
    pub(super) dimension: usize,
    pub(super) block: VectorBlock,
    pub(super) _claim: Claim,
}

/// Some vectors of a cluster.
#[derive(Default)]
pub(super) struct VectorBlock {
    bytes: Vec<u8>,
    pub ordinals: Vec<u64>,
    pub values: Vec<f32>,
}

impl IndexVectors {
    /// Calls `f` with ordinals and values of some of a cluster's vectors at a time, until all were there: ordinals
    /// ascend.
    pub fn for_each_block(&mut self, cluster: u32, mut f: impl FnMut(&[u64], &[f32]) -> Result<()>) -> Result<()> {
        for segment in &self.segments {
            for block in segment.blocks_of(cluster) {
                segment.read(block, self.dimension, &mut self.block)?;
                f(&self.block.ordinals, &self.block.values)?;
            }
        }
        Ok(())
    }

    /// Memory for the directories, and for one block as it lies on disk and as numbers.
    pub(super) fn memory_bytes<'a>(files: impl Iterator<Item = &'a Arc<BlockFile>>) -> usize {
        let (directories, largest) = files.fold((0, 0), |(directories, largest): (usize, usize), file| {
            (directories + file.directory_bytes(), largest.max(file.largest_block_bytes()))
        });
        directories + 2 * largest
    }
}

/// The vectors of one segment.
pub(super) struct SegmentVectors {
    file: Arc<BlockFile>,
    ordinal_shift: u64,
}

impl SegmentVectors {
    pub fn new(file: Arc<BlockFile>, ordinal_shift: u64) -> Self {
        Self { file, ordinal_shift }
    }

    /// All blocks.
    pub fn n_blocks(&self) -> usize {
        self.file.blocks().len()
    }

    /// The blocks of a cluster.
    fn blocks_of(&self, cluster: u32) -> Range<usize> {
        let before =
            |cluster: u64| self.file.blocks().partition_point(|block| block.first_key >> 64 < u128::from(cluster));
        before(u64::from(cluster))..before(u64::from(cluster) + 1)
    }

    /// Reads a block; the cluster it is of.
    pub fn read(&self, block: usize, dimension: usize, to: &mut VectorBlock) -> Result<u64> {
        let entry = *self.file.blocks().get(block).ok_or_else(|| bug!("read past the end of a segment"))?;
        self.file.read(block, &mut to.bytes)?;
        let n_vectors = entry.n_entries as usize;
        let wrong = |what: &str| damaged(self.file.path(), what);
        if n_vectors == 0 || to.bytes.len() != n_vectors * (8 + 4 * dimension) {
            return Err(wrong("a block that does not hold its vectors"));
        }
        let (stored, rest) = to.bytes.split_at(8 * n_vectors);
        to.ordinals.clear();
        for ordinal in stored.as_chunks::<8>().0 {
            let ordinal = u64::from_le_bytes(*ordinal).checked_add(self.ordinal_shift);
            to.ordinals.push(ordinal.ok_or_else(|| wrong("an ordinal is beyond all bounds"))?);
        }
        to.values.clear();
        values_of(rest, &mut to.values);
        Ok((entry.first_key >> 64) as u64)
    }

    /// The key that the directory has for a block, with the shift of its ordinals.
    pub fn first_key(&self, block: usize) -> Option<u128> {
        self.file.blocks().get(block).map(|entry| entry.first_key.wrapping_add(u128::from(self.ordinal_shift)))
    }
}

fn values_of(bytes: &[u8], values: &mut Vec<f32>) {
    values.extend(bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)));
}
