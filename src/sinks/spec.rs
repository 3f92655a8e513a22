//! Where an output goes and in which layout: from location and options to a [`Layout`].
//!
//! Invariant: a `Layout` has no open choices; writers read it and never look at endings or options again.
//! Not here: whether the rows fit it and whether something is in the way (`validate.rs`).

use super::options::{Compression, Format, SinkOptions};
use super::source_lines::SourceLines;
use super::validate::SinkProblem;
use crate::store::{self, Kind, Scheme, plain, scheme_of};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An output as a query names it: `INTO 'location' WITH (options)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd)]
pub struct SinkSpec {
    /// A file (`x.jsonl.zst`), a folder (ends in `/`), or `-` for standard output.
    pub location: String,
    /// How it is written.
    pub options: SinkOptions,
    /// The rows bring the lines that they were read from.
    pub lines: Option<Arc<SourceLines>>,
    /// The rows are added to what earlier runs have written there.
    pub appends: bool,
}

/// The kind of place a location is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Destination {
    Stdout,
    /// A device or a named pipe: it exists, it stays, and it is written to directly.
    Stream(PathBuf),
    File(PathBuf),
    Folder(PathBuf),
}

/// Everything that a writer needs to know about its output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub place: Destination,
    pub format: Format,
    pub compression: Compression,
    /// Where files are cut; only folders have a limit.
    pub max_file_bytes: Option<u64>,
    /// Many outputs are open at once, so each may hold less.
    pub is_partitioned: bool,
    /// What may be encoded at once. Says nothing about the bytes that come out.
    pub max_in_flight_bytes: usize,
    /// JSON Lines: rows are written from the lines that they were read from.
    pub lines: Option<Arc<SourceLines>>,
}

/// What may be encoded at once where memory has no limit that says less.
const MAX_IN_FLIGHT_BYTES: usize = 1 << 30;

impl Layout {
    /// The same under a limit on memory.
    pub fn within(mut self, limit_bytes: Option<usize>) -> Self {
        if let Some(limit) = limit_bytes {
            self.max_in_flight_bytes = self.max_in_flight_bytes.min(limit / 8);
        }
        self
    }

    /// The ending of part files: `jsonl.zst`.
    pub fn ending(&self) -> String {
        match self.compression.ending().filter(|_| self.format.is_lines()) {
            Some(outer) => format!("{}.{outer}", self.format.ending()),
            None => self.format.ending().to_string(),
        }
    }

    /// Text that is compressed in one piece. A constant of the layout, so that bytes depend on the rows only.
    pub fn chunk_bytes(&self) -> usize {
        let largest = match self.place {
            Destination::Stdout | Destination::Stream(_) => 64 << 10,
            _ if self.is_partitioned => 1 << 20,
            _ => 4 << 20,
        };
        self.within_file(largest)
    }

    /// Arrow data that is encoded in one piece in the column formats.
    pub fn slice_bytes(&self) -> usize {
        self.within_file(if self.is_partitioned { 1 << 20 } else { 8 << 20 })
    }

    /// Arrow data in one Parquet row group.
    pub fn row_group_bytes(&self) -> usize {
        // Small enough for every thread to have one.
        self.within_file(if self.is_partitioned { 16 << 20 } else { 32 << 20 })
    }

    /// Files are cut between pieces, so pieces are small beside the largest file.
    fn within_file(&self, piece_bytes: usize) -> usize {
        match self.max_file_bytes {
            Some(max) => piece_bytes.min((max / 8).max(1) as usize),
            None => piece_bytes,
        }
    }
}

impl SinkSpec {
    /// An output with default options.
    pub fn new(location: impl Into<String>) -> SinkSpec {
        SinkSpec { location: location.into(), options: SinkOptions::default(), lines: None, appends: false }
    }

    /// The file or folder; `None` for standard output, pipes and devices.
    pub fn path(&self) -> Option<PathBuf> {
        match self.place().ok()? {
            Destination::File(path) | Destination::Folder(path) => Some(path),
            Destination::Stdout | Destination::Stream(_) => None,
        }
    }

    /// Whether it is a folder of files.
    pub fn is_folder(&self) -> bool {
        matches!(self.place(), Ok(Destination::Folder(_)))
    }

    /// The format of the output, if it can be told.
    pub fn format(&self) -> Option<Format> {
        self.layout().ok().map(|layout| layout.format)
    }

    /// How many pieces are under way at once, and their size; `None` if nothing can be told.
    pub fn pieces_in_flight(&self, n_threads: usize, limit_bytes: Option<usize>) -> Option<(usize, usize)> {
        let layout = self.layout().ok()?.within(limit_bytes);
        if matches!(layout.place, Destination::Stdout | Destination::Stream(_)) {
            return Some((1, layout.chunk_bytes()));
        }
        // Text and what is packed of it; columns and what is encoded of them.
        let piece_bytes = if layout.format.is_lines() { 2 * layout.chunk_bytes() } else { layout.row_group_bytes() };
        // One is cut while others are encoded.
        Some(((n_threads + 1).min(layout.max_in_flight_bytes / piece_bytes.max(1)).max(1) + 1, piece_bytes))
    }

    /// The place, format and compression, from the location's form and ending and from the options.
    pub(super) fn layout(&self) -> Result<Layout, SinkProblem> {
        let place = self.place()?;
        let (named_format, named_compression) = match &place {
            Destination::File(path) => endings(path),
            _ => (None, None),
        };
        let format = match (self.options.format, named_format, &place) {
            (Some(asked), Some(named), _) if asked != named => {
                return Err(SinkProblem::of(
                    "format",
                    format!(
                        "`{}` is named like {} but format is '{}': change one of them",
                        self.location,
                        named.name(),
                        asked.name()
                    ),
                ));
            }
            (Some(asked), _, _) => asked,
            (None, Some(named), _) => named,
            (None, None, Destination::File(_)) => {
                return Err(SinkProblem::of(
                    "format",
                    format!(
                        "cannot tell the format of `{}`: end it in .jsonl, .parquet, .csv, .tsv, .arrow or .txt, \
                         or in / for a folder, or add WITH (format = '…')",
                        self.location
                    ),
                ));
            }
            (None, None, _) => Format::Jsonl,
        };
        let compression = self.compression(format, named_compression, &place)?;
        let is_folder = matches!(place, Destination::Folder(_));
        let max_file_bytes =
            is_folder.then(|| self.options.max_file_bytes.unwrap_or(SinkOptions::DEFAULT_MAX_FILE_BYTES));
        Ok(Layout {
            place,
            format,
            compression,
            max_file_bytes,
            is_partitioned: !self.options.partition_by.is_empty(),
            max_in_flight_bytes: MAX_IN_FLIGHT_BYTES,
            lines: self.lines.clone(),
        })
    }

    pub(super) fn place(&self) -> Result<Destination, SinkProblem> {
        let location = self.location.as_str();
        if location.is_empty() {
            return Err(SinkProblem::at_location("INTO needs a file, a folder ending in /, or '-'".into()));
        }
        if location == "-" {
            return Ok(Destination::Stdout);
        }
        let path = PathBuf::from(location);
        match (scheme_of(&path), location.split_once("://")) {
            (Some(Scheme::S3 | Scheme::Gs | Scheme::Az), _) if location.ends_with('/') => {
                return Ok(Destination::Folder(plain(&path)));
            }
            (Some(Scheme::S3 | Scheme::Gs | Scheme::Az), _) => return Ok(Destination::File(path)),
            (_, Some((scheme, _))) => {
                return Err(SinkProblem::at_location(format!(
                    "cannot write to `{scheme}://`: only to local files and folders, and to s3://, gs:// and az://"
                )));
            }
            (_, None) => {}
        }
        let kind = store::stat(&path).ok().map(|found| found.kind);
        if location.ends_with('/') {
            return match kind {
                Some(Kind::File | Kind::Stream) => {
                    Err(SinkProblem::at_location(format!("`{location}` is a file, not a folder")))
                }
                _ => Ok(Destination::Folder(path)),
            };
        }
        match kind {
            Some(Kind::Folder) => {
                Err(SinkProblem::at_location(format!("`{location}` is a folder: write `{location}/`")))
            }
            Some(Kind::Stream) => Ok(Destination::Stream(path)),
            // A link stays a link: what it points to is replaced.
            Some(Kind::File) => Ok(Destination::File(store::followed(&path))),
            None => Ok(Destination::File(path)),
        }
    }

    fn compression(
        &self,
        format: Format,
        named: Option<Compression>,
        place: &Destination,
    ) -> Result<Compression, SinkProblem> {
        let allowed = format.compressions();
        if let Some(asked) = self.options.compression {
            if !allowed.contains(&asked) {
                let names: Vec<_> = allowed.iter().map(|compression| compression.name()).collect();
                return Err(SinkProblem::of(
                    "compression",
                    format!(
                        "{} cannot be compressed with {}: choose one of {}",
                        format.name(),
                        asked.name(),
                        names.join(", ")
                    ),
                ));
            }
            let is_named = matches!(place, Destination::File(_)) && format.is_lines();
            if is_named && asked != named.unwrap_or(Compression::None) {
                let wanted =
                    asked.ending().map_or("no compression ending".into(), |ending| format!("the ending .{ending}"));
                return Err(SinkProblem::of(
                    "compression",
                    format!("`{}` with compression '{}' needs {wanted}", self.location, asked.name()),
                ));
            }
            return Ok(asked);
        }
        match named {
            Some(_) if !format.is_lines() => Err(SinkProblem::at_location(format!(
                "`{}`: {} is compressed inside, not as a whole; drop the last ending and use compression = '…'",
                self.location,
                format.name()
            ))),
            Some(named) => Ok(named),
            None if format == Format::Parquet => Ok(Compression::Zstd),
            None if format == Format::Jsonl && matches!(place, Destination::Folder(_)) => Ok(Compression::Zstd),
            None => Ok(Compression::None),
        }
    }
}

/// What the ending of a file name says: `x.jsonl.zst`.
fn endings(path: &Path) -> (Option<Format>, Option<Compression>) {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (rest, compression) = match name.rsplit_once('.') {
        Some((rest, ending)) if Compression::of_ending(ending).is_some() => (rest, Compression::of_ending(ending)),
        _ => (name.as_str(), None),
    };
    (rest.rsplit_once('.').and_then(|(_, ending)| Format::of_ending(ending)), compression)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn layout(location: &str, options: &[(&str, &str)]) -> Result<(Format, Compression, String), String> {
        let mut spec = SinkSpec::new(location);
        for (name, value) in options {
            spec.options.set(name, value).unwrap();
        }
        let layout = spec.layout().map_err(|problem| problem.message)?;
        Ok((layout.format, layout.compression, layout.ending()))
    }

    #[test]
    fn endings_and_options_decide_the_layout() {
        use Compression::*;
        use Format::*;
        for (location, options, expected) in [
            ("none/x.jsonl", &[][..], (Jsonl, None, "jsonl")),
            ("none/X.NDJSON.GZ", &[], (Jsonl, Gzip, "jsonl.gz")),
            ("none/x.csv.bz2", &[], (Csv, Bzip2, "csv.bz2")),
            ("none/x.parquet", &[], (Parquet, Zstd, "parquet")),
            ("none/x.parquet", &[("compression", "none")], (Parquet, None, "parquet")),
            ("none/x.feather", &[("compression", "lz4")], (Arrow, Lz4, "arrow")),
            ("none/x.out", &[("format", "text")], (Text, None, "txt")),
            ("none/", &[], (Jsonl, Zstd, "jsonl.zst")),
            ("none/", &[("format", "tsv"), ("compression", "xz")], (Tsv, Xz, "tsv.xz")),
            ("-", &[], (Jsonl, None, "jsonl")),
            ("-", &[("format", "csv"), ("compression", "gzip")], (Csv, Gzip, "csv.gz")),
            ("/dev/null", &[], (Jsonl, None, "jsonl")),
        ] {
            let expected = (expected.0, expected.1, expected.2.to_string());
            assert_eq!(layout(location, options), Ok(expected), "{location} {options:?}");
        }
    }

    #[test]
    fn contradictions_are_refused_with_a_way_out() {
        for (location, options, part) in [
            ("none/x", &[][..], "cannot tell the format"),
            ("none/x.zst", &[], "cannot tell the format"),
            ("none/x.csv", &[("format", "jsonl")], "change one of them"),
            ("none/x.jsonl", &[("compression", "zstd")], "needs the ending .zst"),
            ("none/x.jsonl.gz", &[("compression", "none")], "needs no compression ending"),
            ("none/x.jsonl", &[("compression", "snappy")], "choose one of none, gzip, zstd, bzip2, xz"),
            ("none/x.parquet", &[("compression", "xz")], "choose one of none, snappy"),
            ("none/x.parquet.zst", &[], "compressed inside"),
            ("hf://datasets/a/b/x.jsonl", &[], "only to local files"),
            ("", &[], "needs a file"),
            ("/dev", &[("format", "csv")], "write `/dev/`"),
        ] {
            let message = layout(location, options).unwrap_err();
            assert!(message.contains(part), "{location}: {message}");
        }
    }
}
