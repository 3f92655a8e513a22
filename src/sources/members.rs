//! Packed files that can be read from the middle: zstd of several frames, gzip of several members that tell their size.
//!
//! ```text
//! file    │frame│frame   │frame│frame      │frame│
//! range         └ start ───────────┘ end
//! read           ^ found here                     … through the frames that begin before the end, and into the next
//! ```
//! A frame is found by its first bytes and by what must follow it: another frame, or the end of the file. A gzip member
//! cannot be followed to its end without unpacking it, so only members that tell their size are looked for: those of bgzf
//! (field `BC`) and those that curator writes (field `CU`).
//! Not here: which lines belong to a range (`own_lines.rs`).

use super::compression::{ByteCount, Counted};
use super::decoders::{explained, zstd_decoder};
use super::own_lines::Bounded;
use super::spec::Compression;
use crate::store::StoredFile;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

/// The field of a gzip header in which curator tells a member's size: as many bytes as follow, little-endian.
pub(crate) const SIZE_FIELD: [u8; 2] = *b"CU";
const BGZF_FIELD: [u8; 2] = *b"BC";
const READ_BUFFER_BYTES: usize = 256 << 10;
/// The longest that a gzip header is looked into.
const MAX_HEADER_BYTES: usize = 64;
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Frames of this size and more are not worth cutting between.
const MAX_FRAME_BYTES: u64 = 64 << 20;

/// Whether a packed file can be cut: its first member is small, tells where it ends, and another follows.
pub(crate) fn can_cut(file: &StoredFile, compression: Compression, block_bytes: u64) -> io::Result<bool> {
    let n_bytes = file.n_bytes()?;
    let mut first = 0;
    if compression == Compression::Zstd {
        while let Some(end) = skippable_end(file, first)?.filter(|end| *end < n_bytes) {
            first = end;
        }
    }
    Ok(match member_end(file, first, n_bytes, compression, block_bytes.min(MAX_FRAME_BYTES))? {
        Some(end) => end < n_bytes && is_member(file, end, compression)?,
        None => false,
    })
}

/// Where the first member begins that lies at `start` or behind it; the end of the file if there is none.
fn find_member(file: &StoredFile, start: u64, compression: Compression) -> io::Result<u64> {
    let n_bytes = file.n_bytes()?;
    let magic: &[u8] = if compression == Compression::Zstd { &ZSTD_MAGIC } else { &[0x1f, 0x8b, 8, 4] };
    let finder = memchr::memmem::Finder::new(magic);
    let mut window = vec![0; READ_BUFFER_BYTES];
    let mut at = start;
    while at < n_bytes {
        let n_read = file.read_at(&mut window, at)?;
        for found in finder.find_iter(&window[..n_read]) {
            let candidate = at + found as u64;
            if is_followed(file, candidate, n_bytes, compression)? {
                return Ok(candidate);
            }
        }
        if n_read < magic.len() {
            break;
        }
        // The first bytes of a member may lie across two windows.
        at += (n_read - (magic.len() - 1)) as u64;
    }
    Ok(n_bytes)
}

/// Whether what looks like a member ends where another begins, or with the file. A file may be cut off inside its last.
fn is_followed(file: &StoredFile, start: u64, n_bytes: u64, compression: Compression) -> io::Result<bool> {
    Ok(match member_end(file, start, n_bytes, compression, u64::MAX)? {
        Some(end) => end >= n_bytes || is_member(file, end, compression)?,
        None => false,
    })
}

/// Whether a member, or a frame that a reader passes over, begins here.
fn is_member(file: &StoredFile, start: u64, compression: Compression) -> io::Result<bool> {
    let mut head = [0; 4];
    let n_read = file.read_at(&mut head, start)?;
    Ok(match (compression, &head[..n_read]) {
        (Compression::Zstd, [0x50..=0x5f, 0x2a, 0x4d, 0x18]) => true,
        (Compression::Zstd, magic) => *magic == ZSTD_MAGIC,
        (_, head) => head.starts_with(&[0x1f, 0x8b, 8]),
    })
}

/// Where the zstd frame that begins at `start` ends, if it is one that a reader passes over. pzstd puts one before every frame.
fn skippable_end(file: &StoredFile, start: u64) -> io::Result<Option<u64>> {
    let mut head = [0; 8];
    let n_read = file.read_at(&mut head, start)?;
    Ok(match head[..n_read] {
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d] => Some(start + 8 + u64::from(u32::from_le_bytes([a, b, c, d]))),
        _ => None,
    })
}

/// Where the member that begins at `start` ends. `None` if it is none, does not tell, or is larger than `max_bytes`.
/// Past the end of the file if that is cut off.
fn member_end(
    file: &StoredFile,
    start: u64,
    n_bytes: u64,
    compression: Compression,
    max_bytes: u64,
) -> io::Result<Option<u64>> {
    let end = match compression {
        Compression::Zstd => zstd_frame_end(file, start, n_bytes, max_bytes)?,
        Compression::Gzip => gzip_member_bytes(file, start)?.map(|size| start + size),
        _ => None,
    };
    Ok(end.filter(|end| end - start <= max_bytes))
}

/// Walks over the blocks of a zstd frame (RFC 8878): each tells its size.
fn zstd_frame_end(file: &StoredFile, start: u64, n_bytes: u64, max_bytes: u64) -> io::Result<Option<u64>> {
    let mut head = [0; 18];
    let n_read = file.read_at(&mut head, start)?;
    if n_read < 6 || head[..4] != ZSTD_MAGIC {
        return Ok(None);
    }
    let descriptor = head[4];
    let is_single_segment = descriptor & 0x20 != 0;
    let content_field = match (descriptor >> 6, is_single_segment) {
        (0, false) => 0,
        (0, true) => 1,
        (1, _) => 2,
        (2, _) => 4,
        _ => 8,
    };
    let dictionary_field = [0, 1, 2, 4][(descriptor & 3) as usize];
    if descriptor & 0x08 != 0 {
        return Ok(None);
    }
    let window_field = usize::from(!is_single_segment);
    let header_bytes = 5 + window_field + dictionary_field + content_field;
    if content_field >= 4 && n_read >= header_bytes {
        let field = &head[header_bytes - content_field..header_bytes];
        let content = field.iter().rev().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        // Text is rarely packed to less than a twentieth.
        if content / 20 > max_bytes {
            return Ok(None);
        }
    }
    let mut at = start + header_bytes as u64;
    loop {
        let mut block = [0; 3];
        if at + 3 > n_bytes || file.read_at(&mut block, at)? < 3 {
            return Ok(Some(n_bytes.max(at + 3)));
        }
        let header = u32::from_le_bytes([block[0], block[1], block[2], 0]);
        let (is_last, kind, size) = (header & 1 == 1, header >> 1 & 3, u64::from(header >> 3));
        // No block is larger than 128 KiB; one byte stands for a run.
        if kind == 3 || size > 128 << 10 {
            return Ok(None);
        }
        at += 3 + if kind == 1 { 1 } else { size };
        if is_last {
            let checksum_bytes = if descriptor & 4 != 0 { 4 } else { 0 };
            return Ok(Some(at + checksum_bytes));
        }
        if at - start > max_bytes {
            return Ok(None);
        }
    }
}

/// The size that a gzip member tells in its header.
fn gzip_member_bytes(file: &StoredFile, start: u64) -> io::Result<Option<u64>> {
    let mut head = [0; MAX_HEADER_BYTES];
    let n_read = file.read_at(&mut head, start)?;
    let [0x1f, 0x8b, 8, flags, ..] = head[..n_read] else { return Ok(None) };
    if flags & 4 == 0 || n_read < 12 {
        return Ok(None);
    }
    let n_extra = u16::from_le_bytes([head[10], head[11]]) as usize;
    let mut extra = head[12..n_read].get(..n_extra).unwrap_or_default();
    while let [id0, id1, len0, len1, rest @ ..] = extra {
        let n_field = u16::from_le_bytes([*len0, *len1]) as usize;
        let Some(field) = rest.get(..n_field) else { break };
        match ([*id0, *id1], field) {
            (BGZF_FIELD, [low, high]) => return Ok(Some(u64::from(u16::from_le_bytes([*low, *high])) + 1)),
            (SIZE_FIELD, [a, b, c, d]) => return Ok(Some(u64::from(u32::from_le_bytes([*a, *b, *c, *d])))),
            _ => extra = &rest[n_field..],
        }
    }
    Ok(None)
}

/// Unpacks member after member, and tells those that begin behind the end of the range.
pub(crate) struct Members {
    state: State,
    compression: Compression,
    max_window_bytes: u64,
    end: u64,
    is_behind: bool,
}

/// The file as the decoders take it, and how far they have taken it.
struct Packed {
    stream: BufReader<Counted<StoredFile>>,
    offset: u64,
}

enum State {
    Between(Packed),
    Gzip(Box<flate2::bufread::GzDecoder<Packed>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, Packed>>),
    /// Only while a member ends.
    Taken,
}

impl Members {
    /// The members that begin in `start..end`, and those behind.
    pub fn open(
        mut file: StoredFile,
        compression: Compression,
        start: u64,
        end: u64,
        count: &ByteCount,
        max_window_bytes: u64,
    ) -> io::Result<Self> {
        let offset = if start == 0 { 0 } else { find_member(&file, start, compression)? };
        file.seek(SeekFrom::Start(offset))?;
        let stream = BufReader::with_capacity(READ_BUFFER_BYTES, count.of(file));
        Ok(Self {
            state: State::Between(Packed { stream, offset }),
            compression,
            max_window_bytes,
            end,
            is_behind: false,
        })
    }
}

impl BufRead for Packed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.stream.fill_buf()
    }

    fn consume(&mut self, n_bytes: usize) {
        self.stream.consume(n_bytes);
        self.offset += n_bytes as u64;
    }
}

impl Read for Packed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.stream.read(buffer)?;
        self.offset += n_bytes as u64;
        Ok(n_bytes)
    }
}

impl Bounded for Members {
    fn read_bounded(&mut self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Taken) {
                State::Between(mut packed) => {
                    if packed.fill_buf()?.is_empty() {
                        self.state = State::Between(packed);
                        return Ok((0, self.is_behind));
                    }
                    self.is_behind = packed.offset >= self.end;
                    match self.compression {
                        Compression::Zstd => {
                            let decoder = zstd_decoder(packed, self.max_window_bytes)?;
                            State::Zstd(Box::new(decoder.single_frame()))
                        }
                        _ => State::Gzip(Box::new(flate2::bufread::GzDecoder::new(packed))),
                    }
                }
                State::Gzip(mut decoder) => match decoder.read(buffer)? {
                    0 => State::Between((*decoder).into_inner()),
                    n_bytes => {
                        self.state = State::Gzip(decoder);
                        return Ok((n_bytes, self.is_behind));
                    }
                },
                State::Zstd(mut decoder) => {
                    match decoder.read(buffer).map_err(|error| explained(error, self.max_window_bytes))? {
                        0 => State::Between(decoder.finish()),
                        n_bytes => {
                            self.state = State::Zstd(decoder);
                            return Ok((n_bytes, self.is_behind));
                        }
                    }
                }
                // An error ended the stream.
                State::Taken => return Ok((0, self.is_behind)),
            };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sources::own_lines::{LineEnds, OwnLines};
    use std::io::Write;

    fn lines(n_lines: usize) -> Vec<u8> {
        (0..n_lines).flat_map(|n| format!("{n} {}\n", n * 7919 % 1_000_003).into_bytes()).collect()
    }

    fn zstd_frames(text: &[u8], with_size: bool) -> Vec<u8> {
        let frame = |part: &[u8]| match with_size {
            true => zstd::bulk::compress(part, 1).unwrap(),
            false => zstd::encode_all(part, 1).unwrap(),
        };
        text.chunks(1000).flat_map(frame).collect()
    }

    /// As pzstd writes: before each frame one that tells its size.
    fn pzstd_frames(text: &[u8]) -> Vec<u8> {
        let frame = |part: &[u8]| {
            let frame = zstd::bulk::compress(part, 1).unwrap();
            let size = (frame.len() as u32).to_le_bytes();
            [&[0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0], size.as_slice(), frame.as_slice()].concat()
        };
        text.chunks(1000).flat_map(frame).collect()
    }

    fn bgzf(text: &[u8]) -> Vec<u8> {
        let member = |part: &[u8]| {
            let header = flate2::GzBuilder::new().extra([BGZF_FIELD.as_slice(), &[2, 0, 0, 0]].concat());
            let mut encoder = header.write(Vec::new(), flate2::Compression::fast());
            encoder.write_all(part).unwrap();
            let mut bytes = encoder.finish().unwrap();
            let size = (bytes.len() - 1) as u16;
            bytes[16..18].copy_from_slice(&size.to_le_bytes());
            bytes
        };
        text.chunks(1000).flat_map(member).collect()
    }

    #[test]
    fn ranges_of_packed_files_are_the_file_wherever_they_are_cut() {
        let text = lines(2000);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (packed, compression) in [
            (zstd_frames(&text, true), Compression::Zstd),
            (zstd_frames(&text, false), Compression::Zstd),
            (pzstd_frames(&text), Compression::Zstd),
            (bgzf(&text), Compression::Gzip),
        ] {
            std::fs::write(&path, &packed).unwrap();
            assert!(can_cut(&StoredFile::open(&path).unwrap(), compression, 1 << 20).unwrap());
            for block in [1, 100, 777, 5000, packed.len()] {
                let mut all = Vec::new();
                for start in (0..packed.len()).step_by(block) {
                    let (start, end) = (start as u64, (start + block) as u64);
                    let file = StoredFile::open(&path).unwrap();
                    let members = Members::open(file, compression, start, end, &ByteCount::default(), 0).unwrap();
                    OwnLines::new(members, LineEnds::LineFeeds, start == 0).read_to_end(&mut all).unwrap();
                }
                assert!(all == text, "{compression:?} in blocks of {block}");
            }
        }
    }

    #[test]
    fn files_of_one_member_and_of_members_that_do_not_tell_their_size_are_not_cut() {
        let text = lines(2000);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text).unwrap();
        let member = gzip.finish().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (packed, compression) in [
            (zstd::encode_all(text.as_slice(), 1).unwrap(), Compression::Zstd),
            ([member.clone(), member].concat(), Compression::Gzip),
            (b"not packed at all".to_vec(), Compression::Zstd),
            (vec![], Compression::Gzip),
        ] {
            std::fs::write(&path, packed).unwrap();
            assert!(!can_cut(&StoredFile::open(&path).unwrap(), compression, 1 << 20).unwrap(), "{compression:?}");
        }
    }
}
