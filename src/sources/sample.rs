//! Reads the beginnings of a source's files, to learn its columns from.
//!
//! Every file gets its share of the budget, and what small files leave over goes to larger ones. If all was read,
//! the sample is exhaustive: nothing can come later that was not seen.

use super::compression::{ByteCount, ByteStream, open_file};
use super::discover::SourceFile;
use super::lines::Adapt;
use super::spec::Compression;
use std::io::{self, Read};

/// More files than this are sampled by taking some of them, spread over all.
const MAX_SAMPLED_FILES: usize = 1000;
/// A first line may be longer than a file's share; it is read up to here.
const MAX_FIRST_LINE_BYTES: usize = 1 << 30;
const STEP_BYTES: usize = 1 << 20;

/// The beginning of one file, unpacked.
#[derive(Debug)]
pub(crate) struct Head {
    pub file: usize,
    pub bytes: Vec<u8>,
    /// Whether that is all of the file.
    pub is_whole: bool,
}

/// The beginnings of the files, in their order.
#[derive(Debug)]
pub(crate) struct Sample {
    pub heads: Vec<Head>,
    pub is_exhaustive: bool,
}

impl Head {
    /// Reads about `budget_bytes` of a stream; more if its first line is longer.
    pub fn read(file: usize, stream: &mut ByteStream, budget_bytes: usize) -> Self {
        let mut bytes = Vec::new();
        let mut wanted = budget_bytes.max(1);
        loop {
            let before = bytes.len();
            // A stream that breaks here breaks in the scan too, at the same byte: there is no more to learn from it.
            let result = stream.by_ref().take(wanted as u64).read_to_end(&mut bytes);
            let is_whole = result.is_err() || bytes.len() - before < wanted;
            if is_whole || memchr::memchr(b'\n', &bytes[before..]).is_some() || bytes.len() > MAX_FIRST_LINE_BYTES {
                return Self { file, bytes, is_whole };
            }
            wanted = STEP_BYTES;
        }
    }

    /// The lines that are all there, without the BOM and line ends.
    pub fn whole_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.whole_text().split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
    }

    /// The text up to the last line end (or the end of the file), without the BOM.
    pub fn whole_text(&self) -> &[u8] {
        let text = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes);
        let end = if self.is_whole { text.len() } else { memchr::memrchr(b'\n', text).map_or(0, |at| at + 1) };
        &text[..end]
    }
}

/// Reads the beginnings of `files`, about `budget_bytes` together.
pub(crate) fn sample(
    files: &[SourceFile],
    compression: Option<Compression>,
    budget_bytes: usize,
    adapt: Adapt,
) -> Sample {
    let step = files.len().div_ceil(MAX_SAMPLED_FILES).max(1);
    let mut chosen: Vec<usize> = (0..files.len()).step_by(step).collect();
    chosen.sort_by_key(|file| files[*file].size_bytes);
    let mut budget_left = budget_bytes;
    let n_chosen = chosen.len();
    let mut heads = Vec::with_capacity(n_chosen);
    for (n_done, file) in chosen.into_iter().enumerate() {
        let share = budget_left / (n_chosen - n_done);
        let opened: io::Result<ByteStream> = open_file(&files[file].path, compression, &ByteCount::default())
            .and_then(|stream| adapt(&files[file].name, stream));
        let Ok(mut stream) = opened else { continue };
        let head = Head::read(file, &mut stream, share);
        budget_left = budget_left.saturating_sub(head.bytes.len());
        heads.push(head);
    }
    heads.sort_by_key(|head| head.file);
    Sample { is_exhaustive: step == 1 && heads.iter().all(|head| head.is_whole), heads }
}
