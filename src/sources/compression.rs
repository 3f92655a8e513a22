//! Opens a file and unpacks it.
//!
//! Invariant: every member of a multi-member file is read: a gzip of several members, a zstd of several frames,
//! several bzip2 or xz streams. Bytes are counted as they are on disk.

use super::decoders::{Explained, InSteps, Unxz, zstd_decoder};
use super::discover::SourceFile;
use super::spec::Compression;
use crate::store::StoredFile;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A stream of unpacked bytes.
pub(crate) type ByteStream = Box<dyn Read + Send>;

const READ_BUFFER_BYTES: usize = 256 << 10;

/// Bytes read of a file so far, as on disk; shared with whoever reports progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteCount(Arc<AtomicU64>);

impl ByteCount {
    /// The bytes counted since the last call.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }

    /// A stream whose bytes are counted.
    pub fn of<R>(&self, inner: R) -> Counted<R> {
        Counted { inner, count: self.clone() }
    }
}

/// A stream whose bytes are counted.
pub(crate) struct Counted<R> {
    inner: R,
    count: ByteCount,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.inner.read(buffer)?;
        self.count.0.fetch_add(n_bytes as u64, Ordering::Relaxed);
        Ok(n_bytes)
    }
}

/// Opens a file and unpacks it as `compression` says, or as its ending and first bytes tell.
///
/// No decoder takes a larger window than `max_window_bytes`, or the usual one if that is larger.
pub(crate) fn open_file(
    source: &SourceFile,
    file: StoredFile,
    compression: Option<Compression>,
    count: &ByteCount,
    max_window_bytes: u64,
) -> io::Result<ByteStream> {
    unpack(file, compression.or(Compression::of_file_name(&source.name).1), count, max_window_bytes)
}

/// Unpacks a stream; without a given compression its first bytes decide.
pub(crate) fn unpack(
    stream: impl Read + Send + 'static,
    compression: Option<Compression>,
    count: &ByteCount,
    max_window_bytes: u64,
) -> io::Result<ByteStream> {
    let (head, stream) = peek(count.of(stream), 6)?;
    let compression = compression.unwrap_or_else(|| by_magic_bytes(&head));
    let buffered = BufReader::with_capacity(READ_BUFFER_BYTES, stream);
    if head.is_empty() {
        // An empty file is empty, whatever its ending says.
        return Ok(Box::new(buffered));
    }
    Ok(match compression {
        Compression::None => Box::new(buffered),
        Compression::Gzip => Box::new(InSteps(flate2::bufread::MultiGzDecoder::new(buffered))),
        Compression::Zstd => Box::new(Explained { inner: zstd_decoder(buffered, max_window_bytes)?, max_window_bytes }),
        Compression::Bzip2 => Box::new(InSteps(bzip2::bufread::MultiBzDecoder::new(buffered))),
        Compression::Xz => Box::new(Explained { inner: Unxz::new(buffered, max_window_bytes)?, max_window_bytes }),
    })
}

impl Compression {
    /// How a file is packed, as its first bytes tell.
    pub(super) fn of_file(file: &StoredFile) -> io::Result<Self> {
        let mut head = [0; 6];
        let n_bytes = file.read_at(&mut head, 0)?;
        Ok(by_magic_bytes(&head[..n_bytes]))
    }
}

/// A stream whose first bytes were looked at and put back.
pub(crate) type Peeked<R> = Chain<Cursor<Vec<u8>>, R>;

/// The first bytes of a stream, and the stream as if they had not been read.
pub(crate) fn peek<R: Read>(mut stream: R, n_bytes: usize) -> io::Result<(Vec<u8>, Peeked<R>)> {
    let mut head = Vec::with_capacity(n_bytes);
    stream.by_ref().take(n_bytes as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(stream)))
}

fn by_magic_bytes(head: &[u8]) -> Compression {
    match head {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Compression::Bzip2,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
        _ => Compression::None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    /// `text` packed as one complete member.
    fn pack(text: &str, compression: Compression) -> Vec<u8> {
        let bytes = text.as_bytes();
        match compression {
            Compression::None => bytes.to_vec(),
            Compression::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Zstd => zstd::encode_all(bytes, 1).unwrap(),
            Compression::Bzip2 => {
                let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Compression::Xz => {
                let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
        }
    }

    #[test]
    fn all_members_are_read_and_compression_is_found_by_magic_bytes() {
        use Compression::*;
        for compression in [None, Gzip, Zstd, Bzip2, Xz] {
            let packed = [pack("one\n", compression), pack("two\n", compression), pack("three", compression)].concat();
            let count = ByteCount::default();
            let mut text = String::new();
            unpack(Cursor::new(packed.clone()), Option::None, &count, 0).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "one\ntwo\nthree", "{compression:?}");
            assert_eq!(count.take(), packed.len() as u64);
        }
    }

    #[test]
    fn truncated_members_are_errors() {
        use Compression::*;
        let text: String = (0..20_000u64).map(|i| (i * i * 7919 % 1_000_003).to_string()).collect();
        for compression in [Gzip, Zstd, Bzip2, Xz] {
            let mut packed = pack(&text, compression);
            packed.truncate(packed.len() * 2 / 3);
            let mut unpacked = Vec::new();
            let result =
                unpack(Cursor::new(packed), Option::None, &ByteCount::default(), 0).unwrap().read_to_end(&mut unpacked);
            assert!(result.is_err(), "{compression:?}");
        }
    }
}
