//! Keeps what was unpacked to learn the columns for the scan that reads the same file: it is unpacked once.
//!
//! ```text
//! sample ──bytes, and the stream behind them──► HeldHeads ──taken once──► scan: the bytes, then the stream
//! ```
//!
//! Invariant: who takes a beginning reads what opening the file again would give. A file that has changed since then,
//! a stream that broke, and a beginning that there is no room for are opened again. The room is one for the process:
//! a query may name any number of sources.

use super::compression::{ByteCount, ByteStream};
use super::discover::SourceFile;
use super::format::Opened;
use super::sample::Head;
use super::spec::Compression;
use crate::store::{is_remote, stat};
use std::collections::HashMap;
use std::fmt::{Debug, Formatter};
use std::io::{self, Cursor, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The most that beginnings and the streams behind them hold in memory.
pub(crate) const MAX_HELD_BYTES: usize = 256 << 20;
/// The most files that are kept open.
const MAX_HELD_STREAMS: usize = 64;

/// Beginnings of files that no scan has asked for yet, by file.
#[derive(Debug, Default)]
pub(crate) struct HeldHeads(Mutex<HashMap<usize, (Vec<u8>, Rest)>>);

/// What is behind the beginning of a file, and the room that both take.
pub(crate) struct Rest {
    /// `None` after the end of the file: it need not stay open.
    stream: Option<ByteStream>,
    count: ByteCount,
    stamp: Stamp,
    claim: Claim,
}

/// What tells a file from a later one of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    n_bytes: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// Of an object what its list has said: no other version of it is read anyhow.
    pub fn of(source: &SourceFile) -> io::Result<Self> {
        if is_remote(&source.path) {
            return Ok(Self { n_bytes: source.size_bytes, modified: source.modified });
        }
        let found = stat(&source.path)?;
        Ok(Self { n_bytes: found.n_bytes, modified: found.modified })
    }
}

impl Rest {
    /// Keeps what is behind `head` if the process has room for both.
    pub fn claim(
        head: &Head,
        opened: Opened,
        stamp: Stamp,
        compression: Option<Compression>,
        max_bytes: usize,
    ) -> Option<Self> {
        let (stream_bytes, n_streams) = if head.is_whole { (0, 0) } else { (window_bytes(compression), 1) };
        let claim = Claim::new(head.bytes.capacity() + stream_bytes, n_streams, max_bytes)?;
        let Opened { stream, count } = opened;
        Some(Self { stream: (!head.is_whole).then_some(stream), count, stamp, claim })
    }
}

impl Debug for Rest {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Rest").field(&self.claim).finish()
    }
}

impl HeldHeads {
    /// Takes the beginnings that there was room for.
    pub fn keep(&self, heads: Vec<Head>) {
        let kept = heads.into_iter().filter_map(|head| Some((head.file, (head.bytes, head.rest?))));
        self.lock().extend(kept);
    }

    /// The file from its first byte, if its beginning was kept, nobody has taken it, and the file is still the same.
    pub fn take(&self, file: usize, source: &SourceFile) -> Option<Opened> {
        let (bytes, rest) = self.lock().remove(&file)?;
        if Stamp::of(source).ok()? != rest.stamp {
            return None;
        }
        let Rest { stream, count, claim, .. } = rest;
        let again = Resumed { head: Some((Cursor::new(bytes), claim)), rest: stream };
        Some(Opened { stream: Box::new(again), count })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, (Vec<u8>, Rest)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a decoder may hold beside its input: the window that later bytes refer to.
pub(super) fn window_bytes(compression: Option<Compression>) -> usize {
    match compression {
        Some(Compression::None | Compression::Gzip) => 1 << 20,
        Some(Compression::Bzip2) => 8 << 20,
        Some(Compression::Zstd) => 16 << 20,
        // The file's first bytes decided; it may be any of them.
        Some(Compression::Xz) | None => 64 << 20,
    }
}

/// A stream whose beginning was read before.
struct Resumed {
    head: Option<(Cursor<Vec<u8>>, Claim)>,
    rest: Option<ByteStream>,
}

impl Read for Resumed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some((head, _)) = &mut self.head {
            let n_bytes = head.read(buffer)?;
            if n_bytes > 0 || buffer.is_empty() {
                return Ok(n_bytes);
            }
            // The stream behind it is an ordinary one from here on: what the beginning took is free.
            self.head = None;
        }
        self.rest.as_mut().map_or(Ok(0), |rest| rest.read(buffer))
    }
}

/// What is held in the process.
static HELD: Mutex<Room> = Mutex::new(Room { n_bytes: 0, n_streams: 0 });

#[derive(Debug)]
struct Room {
    n_bytes: usize,
    n_streams: usize,
}

/// A part of the room, given back when it is dropped.
#[derive(Debug)]
struct Claim(Room);

impl Claim {
    fn new(n_bytes: usize, n_streams: usize, max_bytes: usize) -> Option<Self> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if held.n_bytes + n_bytes > max_bytes || held.n_streams + n_streams > MAX_HELD_STREAMS {
            return None;
        }
        held.n_bytes += n_bytes;
        held.n_streams += n_streams;
        Some(Self(Room { n_bytes, n_streams }))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.n_bytes -= self.0.n_bytes;
        held.n_streams -= self.0.n_streams;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sources::discover::discover;
    use crate::sources::format::Input;
    use crate::sources::sample::sample;
    use crate::sources::spec::SourceSpec;
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    const TEXT: &str = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n";

    /// A packed file, sampled up to `sample_bytes`.
    fn sampled(folder: &Path, packed: &[u8], sample_bytes: usize, max_held_bytes: usize) -> Input {
        fs::write(folder.join("a.jsonl.gz"), packed).unwrap();
        let files = discover(&SourceSpec::new(folder.to_string_lossy())).unwrap().files;
        let adapt = |_: &str, stream| Ok(stream);
        let input = Input::new(files, None, adapt);
        input.heads.keep(sample(&input, sample_bytes, max_held_bytes).unwrap().heads);
        input
    }

    fn packed() -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(TEXT.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_sampled_is_taken_once_and_reads_as_the_file() {
        let folder = tempfile::tempdir().unwrap();
        for sample_bytes in [1, 9, 1000] {
            let input = sampled(folder.path(), &packed(), sample_bytes, MAX_HELD_BYTES);
            let mut opened = input.heads.take(0, &input.files[0]).unwrap();
            let mut text = String::new();
            opened.stream.read_to_string(&mut text).unwrap();
            assert_eq!(text, TEXT, "{sample_bytes}");
            assert_eq!(opened.count.take(), packed().len() as u64, "bytes count once");
            assert!(input.heads.take(0, &input.files[0]).is_none());
            assert!(input.open(0).unwrap().is_ok(), "the next one opens the file again");
        }
    }

    #[test]
    fn a_file_that_changed_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let input = sampled(folder.path(), &packed(), 9, MAX_HELD_BYTES);
        fs::write(&input.files[0].path, [packed(), packed()].concat()).unwrap();
        let mut text = String::new();
        input.open(0).unwrap().unwrap().stream.read_to_string(&mut text).unwrap();
        assert_eq!(text, TEXT.repeat(2));
    }

    #[test]
    fn broken_files_and_those_without_room_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cut_off = &packed()[..packed().len() - 4];
        for (bytes, max_held_bytes) in [(cut_off, MAX_HELD_BYTES), (&packed(), 10)] {
            let input = sampled(folder.path(), bytes, 1000, max_held_bytes);
            assert!(input.heads.take(0, &input.files[0]).is_none());
        }
    }
}
