//! Compresses text in pieces, in parallel, and gives the pieces back in order.
//!
//! Each piece becomes a stream of its own (gzip member, zstd frame, bzip2 or xz stream); one after the other they are
//! a valid file, and none depends on another. Invariant: pieces come out as they went in, and no more than a fixed
//! number is in flight. Not here: where pieces are cut (`lines.rs`).

use super::options::Compression;
use crate::{Error, Result, bug};
use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, sync_channel};

/// Compressed text and the number of its rows.
pub(super) struct Chunk {
    pub bytes: Vec<u8>,
    pub n_rows: u64,
}

/// Pieces being compressed, oldest first.
pub(super) struct ChunkQueue {
    compression: Compression,
    waiting: VecDeque<Waiting>,
    max_chunks: usize,
    max_bytes: usize,
    text_bytes: usize,
}

struct Waiting {
    result: Receiver<io::Result<Vec<u8>>>,
    n_rows: u64,
    text_bytes: usize,
}

impl ChunkQueue {
    pub fn new(compression: Compression, max_chunks: usize, chunk_bytes: usize) -> ChunkQueue {
        let max_bytes = max_chunks * chunk_bytes * 2;
        ChunkQueue { compression, waiting: VecDeque::new(), max_chunks, max_bytes, text_bytes: 0 }
    }

    /// Hands in the next piece. Afterwards take chunks while [`ChunkQueue::is_full`].
    pub fn push(&mut self, text: Vec<u8>, n_rows: u64) {
        let (send, result) = sync_channel(1);
        let compression = self.compression;
        let text_bytes = text.len();
        self.waiting.push_back(Waiting { result, n_rows, text_bytes });
        self.text_bytes += text_bytes;
        // The receiver may be gone, when a sink is dropped: then nobody wants the result.
        let work = move || drop(send.send(compress(text, compression)));
        // On one of rayon's own threads the wait in `take` could block the very thread that must do the work.
        if compression == Compression::None || rayon::current_thread_index().is_some() {
            work();
        } else {
            rayon::spawn(work);
        }
    }

    /// Whether more is in flight than allowed.
    pub fn is_full(&self) -> bool {
        self.waiting.len() > self.max_chunks
            || (self.waiting.len() > 1 && self.text_bytes > self.max_bytes)
            || (self.compression == Compression::None && !self.waiting.is_empty())
    }

    /// Waits for the oldest piece.
    pub fn take(&mut self) -> Result<Option<Chunk>> {
        let Some(oldest) = self.waiting.pop_front() else { return Ok(None) };
        self.text_bytes -= oldest.text_bytes;
        let result = oldest.result.recv().map_err(|_| bug!("a compression task was lost"))?;
        let bytes = result.map_err(|error| Error::Data(format!("cannot compress: {error}")))?;
        Ok(Some(Chunk { bytes, n_rows: oldest.n_rows }))
    }
}

/// One complete compressed stream.
pub(super) fn compress(text: Vec<u8>, compression: Compression) -> io::Result<Vec<u8>> {
    let out = Vec::with_capacity(text.len() / 2);
    match compression {
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            encoder.write_all(&text)?;
            encoder.finish()
        }
        Compression::Zstd => {
            let mut compressor = zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
            compressor.include_checksum(true)?;
            compressor.compress(&text)
        }
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(out, bzip2::Compression::default());
            encoder.write_all(&text)?;
            encoder.finish()
        }
        Compression::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new_stream(out, xz_stream(text.len())?);
            encoder.write_all(&text)?;
            encoder.finish()
        }
        Compression::None => Ok(text),
        other => Err(io::Error::other(format!("{} does not compress whole files", other.name()))),
    }
}

/// The usual settings of xz, with a window that is no larger than the text: its tables are cleared for every piece.
fn xz_stream(text_bytes: usize) -> io::Result<Stream> {
    let mut options = LzmaOptions::new_preset(6)?;
    let window_bytes = text_bytes.next_power_of_two().clamp(64 << 10, 8 << 20);
    options.dict_size(window_bytes as u32);
    Ok(Stream::new_stream_encoder(Filters::new().lzma2(&options), Check::Crc64)?)
}
