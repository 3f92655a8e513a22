//! Finds where a record begins at a byte of a WARC file or behind it, so that a file can be read from the middle.
//!
//! In a packed file that is a gzip member or zstd frame whose first bytes are those of a record; in a plain one, a line with a
//! version behind an empty line. All three may also stand in the payload of a record, if that is a WARC file itself: whoever reads
//! up to a found place sees whether a record ends there (`records.rs`).

use super::header::head_end;
use super::stream::{Chunk, Packing, Unpacked, ZSTD_MAGIC};
use crate::sources::compression::ByteCount;
use crate::sources::spec::Compression;
use crate::store::StoredFile;
use std::io;

/// What each record begins with.
pub(super) const VERSION: &[u8] = b"WARC/";
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const WINDOW_BYTES: usize = 256 << 10;
/// What of a record is looked at to see that it is one.
const LOOK_BYTES: usize = 8 << 10;
/// Members larger than this are not worth cutting between.
const MAX_MEMBER_BYTES: u64 = 64 << 20;

/// Where the first record begins that lies at `from` or behind it; the end of the file if there is none.
pub(super) fn record_start(file: &StoredFile, packing: &Packing, from: u64) -> io::Result<u64> {
    let n_bytes = file.n_bytes()?;
    let first_bytes: &[u8] = match packing.compression {
        Compression::Gzip => &GZIP_MAGIC,
        Compression::Zstd => &ZSTD_MAGIC,
        _ => VERSION,
    };
    let finder = memchr::memmem::Finder::new(first_bytes);
    let mut window = vec![0; WINDOW_BYTES];
    let mut at = from;
    while at < n_bytes {
        let n_read = file.read_at(&mut window, at)?;
        for found in finder.find_iter(&window[..n_read]) {
            let candidate = at + found as u64;
            if is_record(file, packing, candidate)? {
                return Ok(candidate);
            }
        }
        if n_read < first_bytes.len() {
            break;
        }
        // The first bytes may lie across two windows.
        at += (n_read - (first_bytes.len() - 1)) as u64;
    }
    Ok(n_bytes)
}

fn is_record(file: &StoredFile, packing: &Packing, at: u64) -> io::Result<bool> {
    if packing.compression == Compression::None {
        return is_plain_record(file, at);
    }
    let mut stream = Unpacked::open(file.clone(), packing, at, &ByteCount::default())?;
    let mut head = Vec::new();
    // What cannot be unpacked is no member.
    while head.len() < VERSION.len() {
        match stream.read(&mut head) {
            Ok(Chunk::Bytes) => {}
            Ok(Chunk::Member(start)) if start == at => {}
            _ => return Ok(false),
        }
    }
    Ok(head.starts_with(VERSION))
}

/// Whether what looks like a version stands behind an empty line and before fields, one of which tells a length.
fn is_plain_record(file: &StoredFile, at: u64) -> io::Result<bool> {
    if at > 0 {
        let n_before = at.min(4) as usize;
        let mut before = [0; 4];
        file.read_exact_at(&mut before[..n_before], at - n_before as u64)?;
        if !before[..n_before].ends_with(b"\n\r\n") && !before[..n_before].ends_with(b"\n\n") {
            return Ok(false);
        }
    }
    let mut look = vec![0; LOOK_BYTES];
    let n_read = file.read_at(&mut look, at)?;
    let look = &look[..n_read];
    let head = head_end(look).map_or(look, |end| &look[..end]);
    let lines = head.split(|byte| *byte == b'\n');
    let mut names = lines.map(|line| line.split(|byte| *byte == b':').next().unwrap_or_default());
    Ok(names.any(|name| name.eq_ignore_ascii_case(b"content-length")))
}

/// Whether a file can be cut: it is not packed, or its first two members each begin with a record.
pub(super) fn can_cut(file: &StoredFile, packing: &Packing) -> io::Result<bool> {
    if !packing.has_places() {
        return Ok(false);
    }
    let mut stream = Unpacked::open(file.clone(), packing, 0, &ByteCount::default())?;
    if !stream.has_members() {
        return Ok(true);
    }
    let (mut head, mut n_members) = (Vec::new(), 0);
    while stream.offset().is_some_and(|offset| offset < MAX_MEMBER_BYTES) {
        match stream.read(&mut head)? {
            Chunk::End => break,
            Chunk::Member(_) => {
                n_members += 1;
                head.clear();
            }
            Chunk::Bytes if head.len() >= VERSION.len() && !head.starts_with(VERSION) => break,
            Chunk::Bytes if head.len() >= VERSION.len() && n_members == 2 => return Ok(true),
            // The rest of the first record is not looked at.
            Chunk::Bytes => head.truncate(VERSION.len()),
        }
    }
    Ok(false)
}
