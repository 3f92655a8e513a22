//! Reads the beginnings of a source's files, to learn its columns from.
//!
//! Every file gets its share of the budget, and what small files leave over goes to larger ones. If all was read,
//! the sample is exhaustive: nothing can come later that was not seen.

use super::compression::ByteStream;
use super::discover::SourceFile;
use super::format::Input;
use super::held::{Rest, Stamp};
use crate::store::{StoredFile, is_remote};
use crate::{Error, Result};
use std::collections::VecDeque;
use std::io::{self, Read};

/// More files than this are sampled by taking some of them, spread over all.
const MAX_SAMPLED_FILES: usize = 1000;
/// A first line may be longer than a file's share; it is read up to here.
const MAX_FIRST_LINE_BYTES: usize = 1 << 30;
/// Packed text is rarely more than this many times larger unpacked.
const LIKELY_PACKING: usize = 6;
/// Files that are opened before it is their turn: an object takes a while to answer. Local files are opened in turn.
const MAX_WARM: usize = 32;
const MAX_STEP_BYTES: usize = 8 << 20;

/// The beginning of one file, unpacked.
#[derive(Debug)]
pub(crate) struct Head {
    pub file: usize,
    pub bytes: Vec<u8>,
    /// Whether that is all of the file.
    pub is_whole: bool,
    /// Whether it ends where the stream broke.
    pub is_broken: bool,
    /// What is behind it, kept for the scan.
    pub rest: Option<Rest>,
}

/// The beginnings of the files, in their order.
#[derive(Debug)]
pub(crate) struct Sample {
    pub heads: Vec<Head>,
    pub is_exhaustive: bool,
}

impl Head {
    /// Reads about `budget_bytes` of a stream; more if its first line is longer. `likely_bytes` is what it may hold.
    pub fn read(file: usize, stream: &mut ByteStream, budget_bytes: usize, likely_bytes: usize) -> Self {
        // A buffer that grows copies itself, and each copy is cleared memory; what is never written to costs nothing.
        let mut bytes = Vec::with_capacity(budget_bytes.min(likely_bytes));
        let mut wanted = budget_bytes.max(1);
        loop {
            let before = bytes.len();
            // A stream that breaks here breaks in the scan too, at the same byte: there is no more to learn from it.
            let is_broken = stream.by_ref().take(wanted as u64).read_to_end(&mut bytes).is_err();
            let is_whole = is_broken || bytes.len() - before < wanted;
            if is_whole || memchr::memchr(b'\n', &bytes[before..]).is_some() || bytes.len() > MAX_FIRST_LINE_BYTES {
                return Self { file, bytes, is_whole, is_broken, rest: None };
            }
            wanted = bytes.len().clamp(1, MAX_STEP_BYTES);
        }
    }

    /// The lines that are all there, without the BOM and line ends.
    pub fn whole_lines(&self) -> impl Iterator<Item = &[u8]> {
        let text = self.whole_text();
        let mut start = 0;
        let ends = memchr::memchr_iter(b'\n', text).chain(std::iter::once(text.len()));
        let lines = ends.map(move |end| &text[std::mem::replace(&mut start, end + 1)..end]);
        lines.filter(|line| !line.trim_ascii().is_empty())
    }

    /// The text up to the last line end (or the end of the file), without the BOM.
    pub fn whole_text(&self) -> &[u8] {
        let text = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes);
        let end = if self.is_whole { text.len() } else { memchr::memrchr(b'\n', text).map_or(0, |at| at + 1) };
        &text[..end]
    }
}

/// A file whose first bytes are on their way, if it has to be waited for.
fn open_warm(source: &SourceFile) -> io::Result<StoredFile> {
    let file = source.open()?;
    file.warm();
    Ok(file)
}

/// Reads the beginnings of a source's files, about `budget_bytes` together. What the process may hold of files until
/// they are scanned is `max_held_bytes`.
pub(crate) fn sample(input: &Input, budget_bytes: usize, max_held_bytes: usize) -> Result<Sample> {
    let files = &input.files;
    let step = files.len().div_ceil(MAX_SAMPLED_FILES).max(1);
    let mut chosen: Vec<usize> = (0..files.len()).step_by(step).collect();
    chosen.sort_by_key(|file| files[*file].size_bytes);
    let mut budget_left = budget_bytes;
    let n_chosen = chosen.len();
    let mut heads = Vec::with_capacity(n_chosen);
    // One file of many that cannot be opened is the scan's reject; if none can, there is no table.
    let mut failure = None;
    let mut upcoming = chosen.iter();
    let mut warm: VecDeque<io::Result<StoredFile>> = VecDeque::new();
    for (n_done, file) in chosen.iter().copied().enumerate() {
        let share = budget_left / (n_chosen - n_done);
        let source = &files[file];
        // Before it is opened: what changes from here on is seen.
        let stamp = Stamp::of(source).ok();
        let n_warm = if is_remote(&source.path) { MAX_WARM } else { 1 };
        warm.extend(upcoming.by_ref().take(n_warm - warm.len()).map(|file| open_warm(&files[*file])));
        let stored = warm.pop_front().unwrap_or_else(|| source.open());
        let mut opened = match stored.and_then(|stored| input.open_stored(file, stored)) {
            Ok(opened) => opened,
            Err(error) => {
                failure = failure.or(Some(Error::io(&source.path, error)));
                continue;
            }
        };
        let likely_bytes = (files[file].size_bytes as usize).saturating_mul(LIKELY_PACKING).saturating_add(1);
        let mut head = Head::read(file, &mut opened.stream, share, likely_bytes);
        budget_left = budget_left.saturating_sub(head.bytes.len());
        if let (Some(stamp), false) = (stamp, head.is_broken) {
            head.rest = Rest::claim(&head, opened, stamp, input.compression_of(file), max_held_bytes);
        }
        heads.push(head);
    }
    if let (true, Some(failure)) = (heads.is_empty(), failure) {
        return Err(failure);
    }
    heads.sort_by_key(|head| head.file);
    Ok(Sample { is_exhaustive: step == 1 && heads.iter().all(|head| head.is_whole), heads })
}
