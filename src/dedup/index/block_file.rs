//! A file of checksummed blocks, written once from front to back, read at any block.
//!
//! ```text
//! header     magic "CURIDX\r\n", version u32, content u32
//! blocks     one after the other
//! directory  for each block: offset u64, n_bytes u32, n_entries u32, first key u128, xxh3-64 of the block
//! trailer    offset of the directory u64, n_blocks u64, xxh3-64 of both and the directory, magic "\r\nEND.IX"
//! ```
//! All numbers little endian. Every byte is fixed or under a checksum that is compared before it is used.
//! Not here: what is in a block (`records.rs`, `names.rs`, `vectors.rs`).

use super::manifest::FileEntry;
use crate::store::{NewFile, StoredFile};
use crate::{Error, Result, bug};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: [u8; 8] = *b"CURIDX\r\n";
const END_MAGIC: [u8; 8] = *b"\r\nEND.IX";
const HEADER_BYTES: u64 = 16;
const TRAILER_BYTES: usize = 32;
const ENTRY_BYTES: usize = 40;

/// What the blocks of a file hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Records = 1,
    Names = 2,
    Vectors = 3,
    Centres = 4,
}

impl Content {
    /// The version of the format that first had it.
    fn version(self) -> u32 {
        match self {
            Content::Records | Content::Names => 1,
            Content::Vectors | Content::Centres => 2,
        }
    }
}

/// Where a block is.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockEntry {
    offset: u64,
    pub n_bytes: u32,
    /// Records, names, vectors or centres in it.
    pub n_entries: u32,
    /// The key of its first record or vector, or the place of its first name or centre.
    pub first_key: u128,
    checksum: u64,
}

fn header(content: Content) -> [u8; HEADER_BYTES as usize] {
    let mut header = [0; HEADER_BYTES as usize];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&content.version().to_le_bytes());
    header[12..].copy_from_slice(&(content as u32).to_le_bytes());
    header
}

/// Writes a file. It is complete and on disk only after [`BlockWriter::finish`].
pub(super) struct BlockWriter {
    out: BufWriter<NewFile>,
    path: PathBuf,
    hash: Box<Xxh3>,
    n_bytes: u64,
    directory: Vec<BlockEntry>,
}

impl BlockWriter {
    /// A new file, in place of one that is there.
    pub fn create(path: PathBuf, content: Content) -> Result<Self> {
        let file = NewFile::replace(&path).map_err(|error| Error::io(&path, error))?;
        let out = BufWriter::with_capacity(1 << 18, file);
        let mut writer = Self { out, path, hash: Box::new(Xxh3::new()), n_bytes: 0, directory: vec![] };
        writer.write(&header(content))?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.n_bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|error| Error::io(&self.path, error))
    }

    /// Appends a block.
    pub fn block(&mut self, first_key: u128, n_entries: usize, bytes: &[u8]) -> Result<()> {
        let (Ok(n_bytes), Ok(n_entries)) = (u32::try_from(bytes.len()), u32::try_from(n_entries)) else {
            return Err(bug!("a block of {} bytes", bytes.len()));
        };
        let offset = self.n_bytes;
        self.directory.push(BlockEntry { offset, n_bytes, n_entries, first_key, checksum: xxh3_64(bytes) });
        self.write(bytes)
    }

    /// Writes the end and waits until the file is on disk; `name` is what the manifest will call it.
    pub fn finish(mut self, name: String) -> Result<FileEntry> {
        let mut end = Vec::with_capacity(self.directory.len() * ENTRY_BYTES + TRAILER_BYTES);
        for block in &self.directory {
            end.extend(block.offset.to_le_bytes());
            end.extend(block.n_bytes.to_le_bytes());
            end.extend(block.n_entries.to_le_bytes());
            end.extend(block.first_key.to_le_bytes());
            end.extend(block.checksum.to_le_bytes());
        }
        end.extend(self.n_bytes.to_le_bytes());
        end.extend((self.directory.len() as u64).to_le_bytes());
        end.extend(xxh3_64(&end).to_le_bytes());
        end.extend(END_MAGIC);
        self.write(&end)?;
        let Self { out, path, hash, n_bytes, .. } = self;
        let file = out.into_inner().map_err(|error| Error::io(&path, error.into_error()))?;
        file.sync().map_err(|error| Error::io(&path, error))?;
        Ok(FileEntry { file: name, n_bytes, xxh3_128: format!("{:032x}", hash.digest128()) })
    }
}

/// A file that is read.
#[derive(Debug)]
pub(super) struct BlockFile {
    file: StoredFile,
    path: PathBuf,
    blocks: Vec<BlockEntry>,
}

impl BlockFile {
    /// Opens a file and reads its directory.
    pub fn open(folder: &Path, entry: &FileEntry, content: Content) -> Result<Self> {
        let path = folder.join(&entry.file);
        let file = StoredFile::open(&path).map_err(|error| Error::io(&path, error))?;
        let n_bytes = file.n_bytes().map_err(|error| Error::io(&path, error))?;
        if n_bytes != entry.n_bytes {
            return Err(damaged(&path, &format!("{n_bytes} bytes long instead of {}", entry.n_bytes)));
        }
        let mut opened = Self { file, path, blocks: vec![] };
        opened.blocks = opened.read_directory(n_bytes, content)?;
        Ok(opened)
    }

    fn read_directory(&self, n_bytes: u64, content: Content) -> Result<Vec<BlockEntry>> {
        let damaged = |what: &str| damaged(&self.path, what);
        let body_bytes = n_bytes.checked_sub(HEADER_BYTES + TRAILER_BYTES as u64).ok_or_else(|| damaged("cut off"))?;
        let mut head = [0; HEADER_BYTES as usize];
        self.read_at(&mut head, 0)?;
        if head != header(content) {
            return Err(damaged("its first bytes are not those of a segment"));
        }
        let mut trailer = [0; TRAILER_BYTES];
        self.read_at(&mut trailer, n_bytes - TRAILER_BYTES as u64)?;
        if trailer[24..] != END_MAGIC {
            return Err(damaged("its last bytes are not those of a segment"));
        }
        let (offset, n_blocks) = (u64_at(&trailer, 0), u64_at(&trailer, 8));
        let directory_bytes = n_blocks.checked_mul(ENTRY_BYTES as u64).filter(|bytes| *bytes <= body_bytes);
        let Some(directory_bytes) = directory_bytes.filter(|bytes| offset == HEADER_BYTES + body_bytes - bytes) else {
            return Err(damaged("its directory is not where it should be"));
        };
        let mut bytes = vec![0; directory_bytes as usize];
        self.read_at(&mut bytes, offset)?;
        bytes.extend(&trailer[..16]);
        if xxh3_64(&bytes) != u64_at(&trailer, 16) {
            return Err(damaged("the checksum of its directory is another"));
        }
        let entries = bytes[..directory_bytes as usize].chunks_exact(ENTRY_BYTES);
        Ok(entries.map(BlockEntry::parse).collect())
    }

    /// Where the blocks are.
    pub fn blocks(&self) -> &[BlockEntry] {
        &self.blocks
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The memory of the directory and of one block.
    pub fn memory_bytes(&self) -> usize {
        self.directory_bytes() + self.largest_block_bytes()
    }

    /// The memory of the directory.
    pub fn directory_bytes(&self) -> usize {
        self.blocks.len() * size_of::<BlockEntry>()
    }

    /// The memory of a block.
    pub fn largest_block_bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.n_bytes as usize).max().unwrap_or(0)
    }

    /// Reads a block into `buffer` and checks it.
    pub fn read(&self, block: usize, buffer: &mut Vec<u8>) -> Result<()> {
        let entry = self.blocks.get(block).ok_or_else(|| bug!("block {block} of {}", self.path.display()))?;
        buffer.clear();
        buffer.resize(entry.n_bytes as usize, 0);
        self.read_at(buffer, entry.offset)?;
        if xxh3_64(buffer) != entry.checksum {
            return Err(damaged(&self.path, &format!("the checksum of block {block} is another")));
        }
        Ok(())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.file.read_exact_at(buffer, offset).map_err(|error| Error::io(&self.path, error))
    }
}

impl BlockEntry {
    fn parse(bytes: &[u8]) -> Self {
        let (place, key) = (u64_at(bytes, 8), u128::from(u64_at(bytes, 24)) << 64 | u128::from(u64_at(bytes, 16)));
        Self {
            offset: u64_at(bytes, 0),
            n_bytes: place as u32,
            n_entries: (place >> 32) as u32,
            first_key: key,
            checksum: u64_at(bytes, 32),
        }
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

/// The error of a file that is not as it was written.
pub(super) fn damaged(path: &Path, what: &str) -> Error {
    Error::Data(format!(
        "{}: damaged: {what}; `curator index verify` lists all damage; restore the index from a copy, or build it anew",
        path.display()
    ))
}

/// The length of a file and its hash, as the manifest has it. `copy` is given every byte.
pub(super) fn hash_file(path: &Path, mut copy: impl FnMut(&[u8]) -> Result<()>) -> Result<(u64, String)> {
    use std::io::Read;
    let mut file = StoredFile::open(path).map_err(|error| Error::io(path, error))?;
    let mut buffer = vec![0; 1 << 18];
    let mut hash = Box::new(Xxh3::new());
    let mut n_bytes = 0;
    loop {
        let n = match file.read(&mut buffer) {
            Ok(0) => return Ok((n_bytes, format!("{:032x}", hash.digest128()))),
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::io(path, error)),
        };
        n_bytes += n as u64;
        hash.update(&buffer[..n]);
        copy(&buffer[..n])?;
    }
}
