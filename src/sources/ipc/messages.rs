//! The messages of an Arrow file or stream: where they are, and what is in them.
//!
//! ```text
//! file:    "ARROW1" ··· messages ··· footer (where they are) "ARROW1"     ──► any batch can be read
//! stream:  schema, then dictionaries and batches, one behind the other    ──► so are packed files, of both kinds
//! ```
//! Invariant: memory is set aside for bytes that are there. A message that does not lie in its file, or whose batch names
//! what cannot be (`claims.rs`), is an error; so is a panic of the decoder. After an error nothing more is read.

use super::claims::check_batch;
use crate::sources::compression::{ByteCount, ByteStream, open_file};
use crate::sources::decoders::USUAL_WINDOW_BYTES;
use crate::sources::discover::SourceFile;
use crate::sources::guarded::guarded;
use crate::sources::spec::Compression;
use crate::store::StoredFile;
use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::{FileDecoder, read_footer_length};
use arrow::ipc::{Block, Message, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

type Result<T> = std::result::Result<T, String>;

const MAGIC: &[u8; 6] = b"ARROW1";
/// The magic bytes, padded.
const FILE_START_BYTES: usize = 8;
/// The length of the footer and the magic bytes.
const FILE_END_BYTES: u64 = 10;
/// Between the last batch and the footer stands the end of the stream, and what fills up; a batch is larger.
const MOST_UNLISTED_BYTES: u64 = 72;
/// Before the length of a message; not in old files.
const MARK: [u8; 4] = [0xff; 4];
/// No description of a message is larger; a schema with a million columns is some 100 MB.
const MAX_HEAD_BYTES: u64 = 1 << 28;

/// A file under way.
pub(super) struct Messages {
    source: Source,
    decoder: FileDecoder,
    schema: SchemaRef,
    /// No batch may take more.
    max_bytes: u64,
}

enum Source {
    File {
        file: StoredFile,
        batches: std::vec::IntoIter<Block>,
        dictionaries: Vec<Block>,
        /// Bytes before the footer that it says nothing of; told once.
        n_unlisted: u64,
    },
    /// Of the file kind, a footer follows the last message.
    Stream { stream: ByteStream, has_footer: bool },
}

/// Where the messages of a file are.
pub(super) struct Footer {
    pub batches: Vec<Block>,
    dictionaries: Vec<Block>,
    schema: SchemaRef,
    version: MetadataVersion,
    n_unlisted: u64,
}

impl Messages {
    /// Opens a file of any kind, and reads its schema.
    pub fn open(source: &SourceFile, compression: Option<Compression>, max_bytes: u64) -> Result<Self> {
        guarded(|| {
            let packed = compression.or(Compression::of_file_name(&source.name).1);
            if packed.is_some_and(|kind| kind != Compression::None) {
                let unpacked = source
                    .open()
                    .and_then(|file| open_file(source, file, packed, &ByteCount::default(), USUAL_WINDOW_BYTES));
                let stream = unpacked.map_err(|error| error.to_string())?;
                return Self::of_stream(stream, max_bytes);
            }
            let mut file = source.open().map_err(|error| error.to_string())?;
            let mut magic = [0; MAGIC.len()];
            if fill(&mut file, &mut magic)? == MAGIC.len() && magic == *MAGIC {
                return Self::of_file(file, max_bytes);
            }
            file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
            Self::of_stream(Box::new(std::io::BufReader::new(file)), max_bytes)
        })
    }

    fn of_file(file: StoredFile, max_bytes: u64) -> Result<Self> {
        let Footer { batches, dictionaries, schema, version, n_unlisted } = Footer::read(&file)?;
        let decoder = FileDecoder::new(schema.clone(), version);
        Ok(Self {
            source: Source::File { file, batches: batches.into_iter(), dictionaries, n_unlisted },
            decoder,
            schema,
            max_bytes,
        })
    }

    /// A packed file of the file kind is a stream between its first bytes and its footer.
    fn of_stream(mut stream: ByteStream, max_bytes: u64) -> Result<Self> {
        let mut start = [0; FILE_START_BYTES];
        let n_bytes = fill(&mut stream, &mut start)?;
        let has_footer = start.starts_with(MAGIC);
        let before = if has_footer { 0 } else { n_bytes };
        let mut start = start[..before].to_vec();
        if has_footer {
            // The magic bytes may be filled up to more than that: a message does not begin with zeros.
            let mut word = [0; 4];
            while word == [0; 4] && fill(&mut stream, &mut word)? == word.len() {}
            start.extend(word);
        }
        let mut stream: ByteStream = Box::new(std::io::Cursor::new(start).chain(stream));
        let first = next_message(&mut stream, max_bytes)?.ok_or("the stream is empty")?;
        let schema = first.message()?.header_as_schema().ok_or("the stream does not begin with a schema")?;
        let schema: SchemaRef = Arc::new(fb_to_schema(schema));
        // This version stands for any.
        let decoder = FileDecoder::new(schema.clone(), MetadataVersion::V1);
        Ok(Self { source: Source::Stream { stream, has_footer }, decoder, schema, max_bytes })
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Passes over the batches before this one. Streams are read from their beginning.
    pub fn go_to(&mut self, batch: usize) {
        if let Source::File { batches, .. } = &mut self.source
            && batch > 0
        {
            batches.nth(batch - 1);
        }
    }

    /// The next batch.
    pub fn next(&mut self) -> Option<Result<RecordBatch>> {
        guarded(|| self.next_batch()).transpose()
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let read = match &mut self.source {
                Source::File { file, batches, dictionaries, n_unlisted } => {
                    for block in std::mem::take(dictionaries) {
                        let read = MessageBytes::of_block(file, block)?;
                        read.check(self.max_bytes)?;
                        self.decoder.read_dictionary(&block, &read.bytes).map_err(|error| error.to_string())?;
                    }
                    let read = batches.next().map(|block| MessageBytes::of_block(file, block)).transpose()?;
                    let n_unlisted = if read.is_none() { std::mem::take(n_unlisted) } else { 0 };
                    if n_unlisted > MOST_UNLISTED_BYTES {
                        return Err(format!(
                            "the footer says nothing of {n_unlisted} bytes before it: batches may be missing"
                        ));
                    }
                    read
                }
                Source::Stream { stream, has_footer } => {
                    let read = next_message(stream, self.max_bytes)?;
                    if read.is_none() && !*has_footer && fill(stream, &mut [0])? > 0 {
                        return Err("bytes follow the end of the stream".into());
                    }
                    read
                }
            };
            let Some(read) = read else { return Ok(None) };
            read.check(self.max_bytes)?;
            match read.message()?.header_type() {
                MessageHeader::DictionaryBatch => {
                    self.decoder.read_dictionary(&read.block, &read.bytes).map_err(|error| error.to_string())?;
                }
                _ => {
                    let batch = self.decoder.read_record_batch(&read.block, &read.bytes);
                    if let Some(batch) = batch.map_err(|error| error.to_string())? {
                        return Ok(Some(batch));
                    }
                }
            }
        }
    }
}

impl Footer {
    /// Reads the footer of a file.
    pub fn read(file: &StoredFile) -> Result<Self> {
        let n_bytes = file.n_bytes().map_err(|error| error.to_string())?;
        let cut_off =
            || format!("the file is cut off or corrupt: its end, {n_bytes} bytes from its start, is no footer");
        let tail_at = n_bytes.checked_sub(FILE_END_BYTES).ok_or_else(cut_off)?;
        let mut tail = [0; FILE_END_BYTES as usize];
        file.read_exact_at(&mut tail, tail_at).map_err(|error| error.to_string())?;
        let footer_bytes = read_footer_length(tail).map_err(|_| cut_off())?;
        let footer_at = tail_at.checked_sub(footer_bytes as u64).ok_or_else(cut_off)?;
        let mut footer = vec![0; footer_bytes];
        file.read_exact_at(&mut footer, footer_at).map_err(|error| error.to_string())?;
        let footer = root_as_footer(&footer).map_err(|error| format!("the footer is corrupt: {error}"))?;
        let schema = footer.schema().ok_or("the footer has no schema")?;
        if !schema.endianness().equals_to_target_endianness() {
            return Err("the numbers of the file have their bytes in another order".into());
        }
        let batches: Vec<Block> = footer.recordBatches().into_iter().flatten().copied().collect();
        let dictionaries: Vec<Block> = footer.dictionaries().into_iter().flatten().copied().collect();
        let end = |block: &Block| {
            let length =
                u64::try_from(block.metaDataLength()).ok()?.checked_add(u64::try_from(block.bodyLength()).ok()?)?;
            u64::try_from(block.offset()).ok()?.checked_add(length)
        };
        let ends = batches.iter().chain(&dictionaries).filter_map(end);
        let end = ends.chain(schema_end(file)).max().unwrap_or(footer_at);
        Ok(Self {
            n_unlisted: footer_at.saturating_sub(end),
            batches,
            dictionaries,
            schema: Arc::new(fb_to_schema(schema)),
            version: footer.version(),
        })
    }
}

/// Where the schema at the beginning of a file ends.
fn schema_end(file: &StoredFile) -> Option<u64> {
    let mut start = [0; MOST_UNLISTED_BYTES as usize + 8];
    let n_bytes = file.read_at(&mut start, 0).ok()?;
    // Zeros fill up the magic bytes; a message does not begin with them.
    let mut words = start[..n_bytes].chunks_exact(4).enumerate().skip(FILE_START_BYTES / 4);
    let (at, first) = words.find(|(_, word)| *word != [0; 4])?;
    let (length, before) = if *first == MARK { (words.next()?.1, 8) } else { (first, 4) };
    let length = u32::from_le_bytes(length.try_into().ok()?);
    Some(at as u64 * 4 + before + u64::from(length))
}

/// A message and what belongs to it.
pub(super) struct MessageBytes {
    /// Its length, its description, its body.
    bytes: Buffer,
    block: Block,
}

impl MessageBytes {
    fn of_block(file: &StoredFile, block: Block) -> Result<Self> {
        let n_bytes = file.n_bytes().map_err(|error| error.to_string())?;
        let (at, head, body) = (block.offset(), block.metaDataLength(), block.bodyLength());
        let place = u64::try_from(at).ok().zip(u64::try_from(head).ok().zip(u64::try_from(body).ok()));
        let place = place.and_then(|(at, (head, body))| {
            let length = head.checked_add(body)?;
            (head >= 8 && at.checked_add(length)? <= n_bytes).then_some((at, usize::try_from(length).ok()?))
        });
        let Some((at, length)) = place else {
            return Err(format!("the footer names a batch of {head} and {body} bytes at {at}, in a file of {n_bytes}"));
        };
        let mut bytes = arrow::buffer::MutableBuffer::from_len_zeroed(length);
        file.read_exact_at(&mut bytes, at).map_err(|error| error.to_string())?;
        Ok(Self { bytes: bytes.into(), block })
    }

    fn message(&self) -> Result<Message<'_>> {
        // A mark of 4 bytes (not in old files) and the length of 4 come before the message.
        let start = if self.bytes.starts_with(&MARK) { 8 } else { 4 };
        let message = self.bytes.get(start..self.head_bytes()).unwrap_or_default();
        root_as_message(message).map_err(|error| format!("the description of a batch is corrupt: {error}"))
    }

    fn head_bytes(&self) -> usize {
        self.block.metaDataLength().max(0) as usize
    }

    /// Compares what the message says of its batch with what is there.
    fn check(&self, max_bytes: u64) -> Result<()> {
        let message = self.message()?;
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
            _ => return Ok(()),
        };
        let batch = batch.ok_or("a message has no batch")?;
        check_batch(batch, self.bytes.get(self.head_bytes()..).unwrap_or_default(), max_bytes)
    }
}

/// How many rows a batch of a file has, from its description.
pub(super) fn n_rows(file: &StoredFile, block: Block) -> Result<u64> {
    let head = Block::new(block.offset(), block.metaDataLength(), 0);
    let read = MessageBytes::of_block(file, head)?;
    let n_rows = read.message()?.header_as_record_batch().ok_or("a message has no batch")?.length();
    Ok(n_rows.max(0) as u64)
}

/// The next message of a stream; `None` at its end.
fn next_message(stream: &mut ByteStream, max_bytes: u64) -> Result<Option<MessageBytes>> {
    let mut bytes = Vec::new();
    let mut length = [0; 4];
    match fill(stream, &mut length)? {
        0 => return Ok(None),
        4 => bytes.extend(length),
        _ => return Err("the stream is cut off".into()),
    }
    if length == MARK {
        read_more(stream, 4, &mut bytes)?;
        length.copy_from_slice(&bytes[4..]);
    }
    let head_bytes = match u64::try_from(i32::from_le_bytes(length)) {
        Ok(0) => return Ok(None),
        Ok(n_bytes) if n_bytes <= MAX_HEAD_BYTES => n_bytes,
        _ => return Err(format!("a message says that {} bytes describe it", i32::from_le_bytes(length))),
    };
    read_more(stream, head_bytes, &mut bytes)?;
    let n_head_bytes = bytes.len();
    let described = MessageBytes { bytes: bytes.into(), block: Block::new(0, n_head_bytes as i32, 0) };
    let body_bytes = described.message()?.bodyLength();
    let block = Block::new(0, n_head_bytes as i32, body_bytes);
    let mut bytes = described.bytes.to_vec();
    match u64::try_from(body_bytes) {
        Ok(n_bytes) if n_bytes <= max_bytes => read_more(stream, n_bytes, &mut bytes)?,
        Ok(n_bytes) => {
            return Err(format!(
                "a batch of {n_bytes} bytes is more than memory_limit leaves for one ({max_bytes}); raise it, or write the \
                 file with smaller batches"
            ));
        }
        Err(_) => return Err(format!("a batch says that it has {body_bytes} bytes")),
    }
    Ok(Some(MessageBytes { bytes: bytes.into(), block }))
}

/// Fills the buffer as far as the stream goes.
fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut n_read = 0;
    while n_read < buffer.len() {
        match stream.read(&mut buffer[n_read..]) {
            Ok(0) => break,
            Ok(n_bytes) => n_read += n_bytes,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(n_read)
}

/// Appends bytes of a stream. The memory grows with what comes, not with what was named.
fn read_more(stream: &mut ByteStream, n_bytes: u64, bytes: &mut Vec<u8>) -> Result<()> {
    let n_read = stream.take(n_bytes).read_to_end(bytes).map_err(|error| error.to_string())? as u64;
    if n_read < n_bytes {
        return Err(format!("the stream is cut off: {n_read} of {n_bytes} bytes of a message are there"));
    }
    Ok(())
}
