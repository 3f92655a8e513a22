//! The unpacked bytes of a WARC file, and where its gzip members or zstd frames begin.
//!
//! ```text
//! file      │member      │member│member          │
//! unpacked  │record          │record  │record              │
//! chunks     Member Bytes…    Member Bytes …
//! ```
//! Each member is unpacked by the same decoder: archives hold millions of small ones. A `.warc.zst` may begin with a frame that
//! readers pass over and that holds the dictionary of all others.
//!
//! Invariant: what was unpacked before an error is given before the error.
//! Not here: what a record is (`records.rs`).

use crate::sources::compression::{ByteCount, ByteStream, Counted};
use crate::sources::decoders::{USUAL_WINDOW_BYTES, explained};
use crate::sources::spec::Compression;
use crate::store::StoredFile;
use flate2::{Decompress, FlushDecompress, Status};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::sync::Arc;
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

const READ_BUFFER_BYTES: usize = 256 << 10;
/// What is unpacked at a time.
const STEP_BYTES: usize = 64 << 10;
/// The longest gzip header, and the largest dictionary, that is read.
const MAX_GZIP_HEADER_BYTES: usize = 64 << 10;
const MAX_DICTIONARY_BYTES: u64 = 16 << 20;
/// The kind of frame that holds a dictionary, and the frames that readers pass over, of which it is one.
const DICTIONARY_MAGIC: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
const SKIPPABLE_MAGIC: [u8; 3] = [0x2a, 0x4d, 0x18];
pub(super) const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const MAX_WINDOW_LOG: u32 = 31;

/// What came next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// Bytes were added.
    Bytes,
    /// A member begins, at this byte of the file.
    Member(u64),
    End,
}

/// How a file is to be unpacked.
#[derive(Clone, Debug)]
pub(super) struct Packing {
    pub compression: Compression,
    pub max_window_bytes: u64,
    dictionary: Option<Arc<[u8]>>,
}

impl Packing {
    /// Looks for a dictionary, if the file is one of zstd.
    pub fn of(file: &StoredFile, compression: Compression, max_window_bytes: u64) -> io::Result<Self> {
        let dictionary = if compression == Compression::Zstd { dictionary_of(file)? } else { None };
        Ok(Self { compression, max_window_bytes, dictionary })
    }

    /// Whether members can be told from each other, so that records can be found in the middle of the file.
    pub fn has_places(&self) -> bool {
        matches!(self.compression, Compression::None | Compression::Gzip | Compression::Zstd)
    }
}

/// The dictionary that stands at the beginning of the file, in a frame of its own; it may be packed itself.
fn dictionary_of(file: &StoredFile) -> io::Result<Option<Arc<[u8]>>> {
    let mut head = [0; 8];
    if file.read_at(&mut head, 0)? < 8 || head[..4] != DICTIONARY_MAGIC {
        return Ok(None);
    }
    let n_bytes = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
    if n_bytes > MAX_DICTIONARY_BYTES {
        return Err(invalid(format!("its dictionary has {n_bytes} bytes; the most is {MAX_DICTIONARY_BYTES}")));
    }
    let mut bytes = vec![0; n_bytes as usize];
    file.read_exact_at(&mut bytes, 8)?;
    if bytes.starts_with(&ZSTD_MAGIC) {
        let mut unpacked = Vec::new();
        let decoder = zstd::stream::read::Decoder::with_buffer(bytes.as_slice())?;
        decoder.take(MAX_DICTIONARY_BYTES).read_to_end(&mut unpacked)?;
        bytes = unpacked;
    }
    Ok(Some(bytes.into()))
}

/// A file from a place on.
pub(super) enum Unpacked {
    Plain(Packed),
    Gzip(Packed, Box<Gzip>),
    Zstd(Packed, Box<Zstd>),
    /// Unpacked by somebody else: there are no places.
    Stream(ByteStream),
}

/// The file as it is on disk.
pub(super) struct Packed {
    stream: BufReader<Counted<StoredFile>>,
    offset: u64,
}

pub(super) struct Gzip {
    inflate: Decompress,
    checksum: flate2::Crc,
    is_inside: bool,
}

pub(super) struct Zstd {
    decoder: Decoder<'static>,
    max_window_bytes: u64,
    is_inside: bool,
}

impl Unpacked {
    /// The file from `offset` on, where a member begins.
    pub fn open(mut file: StoredFile, packing: &Packing, offset: u64, count: &ByteCount) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        let stream = BufReader::with_capacity(READ_BUFFER_BYTES, count.of(file));
        let packed = Packed { stream, offset };
        Ok(match packing.compression {
            Compression::Gzip => {
                let (inflate, checksum) = (Decompress::new(false), flate2::Crc::new());
                Self::Gzip(packed, Box::new(Gzip { inflate, checksum, is_inside: false }))
            }
            Compression::Zstd => {
                let mut decoder = match &packing.dictionary {
                    Some(dictionary) => Decoder::with_dictionary(dictionary)?,
                    None => Decoder::new()?,
                };
                let max_window_bytes = packing.max_window_bytes;
                let most = max_window_bytes.max(USUAL_WINDOW_BYTES).ilog2().min(MAX_WINDOW_LOG);
                decoder.set_parameter(DParameter::WindowLogMax(most))?;
                Self::Zstd(packed, Box::new(Zstd { decoder, max_window_bytes, is_inside: false }))
            }
            _ => Self::Plain(packed),
        })
    }

    /// Whether it stands in a member, and an error is one of that member.
    pub fn is_inside(&self) -> bool {
        match self {
            Self::Plain(_) | Self::Stream(_) => false,
            Self::Gzip(_, gzip) => gzip.is_inside,
            Self::Zstd(_, zstd) => zstd.is_inside,
        }
    }

    /// How far the file was taken; `None` if there are no places in it.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Plain(packed) | Self::Gzip(packed, _) | Self::Zstd(packed, _) => Some(packed.offset),
            Self::Stream(_) => None,
        }
    }

    /// Whether members tell where records are, not bytes.
    pub fn has_members(&self) -> bool {
        matches!(self, Self::Gzip(..) | Self::Zstd(..))
    }

    /// Unpacks a little and adds it to `out`.
    pub fn read(&mut self, out: &mut Vec<u8>) -> io::Result<Chunk> {
        match self {
            Self::Plain(packed) => {
                let bytes = packed.stream.fill_buf()?;
                out.extend_from_slice(bytes);
                let n_bytes = bytes.len();
                packed.consume(n_bytes);
                Ok(if n_bytes == 0 { Chunk::End } else { Chunk::Bytes })
            }
            Self::Stream(stream) => {
                let n_before = out.len();
                stream.take(STEP_BYTES as u64).read_to_end(out)?;
                Ok(if out.len() == n_before { Chunk::End } else { Chunk::Bytes })
            }
            Self::Gzip(packed, gzip) => gzip.read(packed, out),
            Self::Zstd(packed, zstd) => zstd.read(packed, out),
        }
    }
}

impl Packed {
    fn consume(&mut self, n_bytes: usize) {
        self.stream.consume(n_bytes);
        self.offset += n_bytes as u64;
    }

    fn is_over(&mut self) -> io::Result<bool> {
        Ok(self.stream.fill_buf()?.is_empty())
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => cut_off(),
            _ => error,
        })?;
        self.offset += N as u64;
        Ok(bytes)
    }

    fn skip(&mut self, mut n_bytes: u64) -> io::Result<()> {
        while n_bytes > 0 {
            let n_there = self.stream.fill_buf()?.len();
            if n_there == 0 {
                return Err(cut_off());
            }
            let n_now = n_there.min(usize::try_from(n_bytes).unwrap_or(usize::MAX));
            self.consume(n_now);
            n_bytes -= n_now as u64;
        }
        Ok(())
    }

    fn skip_text(&mut self) -> io::Result<()> {
        for _ in 0..MAX_GZIP_HEADER_BYTES {
            if self.bytes::<1>()? == [0] {
                return Ok(());
            }
        }
        Err(invalid("the header of a gzip member does not end"))
    }
}

impl Gzip {
    fn read(&mut self, packed: &mut Packed, out: &mut Vec<u8>) -> io::Result<Chunk> {
        if !self.is_inside {
            if packed.is_over()? {
                return Ok(Chunk::End);
            }
            let start = packed.offset;
            self.header(packed)?;
            self.inflate.reset(false);
            self.checksum.reset();
            self.is_inside = true;
            return Ok(Chunk::Member(start));
        }
        loop {
            out.reserve(STEP_BYTES);
            let n_before = out.len();
            let input = packed.stream.fill_buf()?;
            let (is_over, taken_before) = (input.is_empty(), self.inflate.total_in());
            let status = self.inflate.decompress_vec(input, out, FlushDecompress::None);
            packed.consume((self.inflate.total_in() - taken_before) as usize);
            self.checksum.update(&out[n_before..]);
            match status.map_err(|error| invalid(format!("a gzip member is corrupt: {error}")))? {
                Status::StreamEnd => {
                    self.trailer(packed)?;
                    self.is_inside = false;
                    return Ok(Chunk::Bytes);
                }
                _ if out.len() > n_before => return Ok(Chunk::Bytes),
                _ if is_over => return Err(cut_off()),
                _ => {}
            }
        }
    }

    fn header(&mut self, packed: &mut Packed) -> io::Result<()> {
        let [0x1f, 0x8b, 8, flags, ..] = packed.bytes::<10>()? else {
            return Err(invalid("what follows is no gzip member"));
        };
        if flags & 4 != 0 {
            let n_extra = u16::from_le_bytes(packed.bytes()?);
            packed.skip(u64::from(n_extra))?;
        }
        // A name, a comment, and a checksum of the header.
        if flags & 8 != 0 {
            packed.skip_text()?;
        }
        if flags & 16 != 0 {
            packed.skip_text()?;
        }
        if flags & 2 != 0 {
            packed.skip(2)?;
        }
        Ok(())
    }

    fn trailer(&mut self, packed: &mut Packed) -> io::Result<()> {
        let (checksum, n_bytes) = (u32::from_le_bytes(packed.bytes()?), u32::from_le_bytes(packed.bytes()?));
        if (checksum, n_bytes) != (self.checksum.sum(), self.checksum.amount()) {
            return Err(invalid("a gzip member is corrupt: its checksum is another"));
        }
        Ok(())
    }
}

impl Zstd {
    fn read(&mut self, packed: &mut Packed, out: &mut Vec<u8>) -> io::Result<Chunk> {
        while !self.is_inside {
            if packed.is_over()? {
                return Ok(Chunk::End);
            }
            let start = packed.offset;
            let magic @ [first, rest @ ..] = packed.bytes::<4>()?;
            if rest == SKIPPABLE_MAGIC && first & 0xf0 == 0x50 {
                let n_bytes = u32::from_le_bytes(packed.bytes()?);
                packed.skip(u64::from(n_bytes))?;
                continue;
            }
            self.decoder.reinit()?;
            // So few bytes give none.
            self.step(&magic, out)?;
            self.is_inside = true;
            return Ok(Chunk::Member(start));
        }
        loop {
            let n_before = out.len();
            let input = packed.stream.fill_buf()?;
            if input.is_empty() {
                return Err(cut_off());
            }
            let (n_taken, is_end) = self.step(input, out)?;
            packed.consume(n_taken);
            self.is_inside = !is_end;
            if is_end || out.len() > n_before {
                return Ok(Chunk::Bytes);
            }
        }
    }

    /// Unpacks some of `input`: how much of it, and whether the frame ended.
    fn step(&mut self, input: &[u8], out: &mut Vec<u8>) -> io::Result<(usize, bool)> {
        let n_before = out.len();
        out.resize(n_before + STEP_BYTES, 0);
        let mut input = InBuffer::around(input);
        let mut output = OutBuffer::around(&mut out[n_before..]);
        let hint =
            self.decoder.run(&mut input, &mut output).map_err(|error| match explained(error, self.max_window_bytes) {
                error if error.to_string().contains("memory_limit") => error,
                error => invalid(format!("a zstd frame is corrupt: {error}")),
            });
        let n_unpacked = output.pos();
        out.truncate(n_before + n_unpacked);
        Ok((input.pos(), hint? == 0))
    }
}

fn cut_off() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the file is cut off")
}

fn invalid(told: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, told.into())
}
