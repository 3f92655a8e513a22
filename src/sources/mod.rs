//! Reads documents: files, globs, folders and standard input, in every format, as one table.
//!
//! ```text
//! SourceSpec ──discover──► files ──sample, infer──► FileTable, its splits ──scan──► FileScanExec ──► batches
//!                                                                            └──► RejectLog
//! ```
//!
//! Adding a format is one implementation of `FormatReader` (`format.rs`) and one line in [`open`].
//! Not here: what a query does with the rows.

mod buffers;
mod columnar;
mod compression;
mod csv;
mod decoders;
mod discover;
mod encoded;
mod format;
mod guarded;
mod handout;
mod held;
mod ipc;
mod json;
mod line_counts;
mod line_fields;
mod lines;
mod long_lines;
mod members;
mod objects;
mod origin;
mod own_lines;
mod parquet;
mod prune;
mod queue;
mod rejects;
mod sample;
mod scan;
mod spec;
mod split;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod text_bytes;
mod warc;
mod warm;
mod widen;

pub(crate) use json::fits as json_fits;
pub use line_fields::{LineField, LineFields, OtherFields};
pub(crate) use members::SIZE_FIELD as GZIP_SIZE_FIELD;
pub(crate) use rejects::KEPT_REJECTS;
pub use rejects::{Reject, RejectKind, RejectLog, RejectSummary};
pub use scan::{FileScanExec, SplitShare};
#[cfg(test)]
pub use spec::SourceOptions;
pub use spec::{Compression, Format, SourceSpec};
pub(crate) use table::free_column_name;
pub use table::{
    EXTRA_COLUMN, ExtraColumns, FILE_COLUMN, FileTable, LINE_COLUMN, POSITION_COLUMN, ROW_COLUMN, is_carried,
    is_position,
};
pub use text_bytes::text_bytes_per_row;

use crate::store::{Kind, StoredFile, is_remote, stat};
use crate::{Config, Error, Result};
use compression::{ByteCount, ByteStream, unpack};
use discover::{Discovered, SourceFile, discover};
use format::{Adapt, FormatReader, Input, StdinOnce, max_window_bytes};
use held::MAX_HELD_BYTES;
use long_lines::LongLines;
use sample::{Head, Sample, sample};
use split::{SplitSize, Splits};
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Finds the files of a source and learns its columns. Reads from disk: call it where blocking is allowed.
pub fn open(spec: &SourceSpec, config: &Config) -> Result<FileTable> {
    if spec.location == "-" {
        return open_stream(spec, config, Box::new(std::io::stdin()));
    }
    // A pipe gives its bytes once: it is opened once.
    let location = Path::new(&spec.location);
    if !is_remote(location) && stat(location).is_ok_and(|found| found.kind == Kind::Stream) {
        let stream = StoredFile::open(Path::new(&spec.location)).map_err(|error| Error::io(&spec.location, error))?;
        return open_stream(spec, config, Box::new(stream));
    }
    let Discovered { files, format } = discover(spec)?;
    let (compression, adapt) = (spec.options.compression, adaptation(format));
    let mut input = Input::new(files, compression, adapt);
    input.max_window_bytes = max_window_bytes(config.memory_limit_bytes, config.threads.get());
    input.long_lines = LongLines::within(config.memory_limit_bytes);
    let max_held_bytes = config.memory_limit_bytes.map_or(MAX_HELD_BYTES, |limit| MAX_HELD_BYTES.min(limit / 8));
    let learn = || sample(&input, config.sample_bytes, max_held_bytes);
    let sample = is_sampled(spec, format).then(learn).transpose()?;
    let reader = reader(spec, format, &input.files, sample.as_ref())?;
    input.follow(reader.as_ref());
    let size = SplitSize {
        block_bytes: spec.options.block_bytes.unwrap_or(config.block_bytes),
        max_files: spec.options.max_files.or(config.max_files),
    };
    let cut = |file| reader.cut(&input, file, size.block_bytes.get() as u64);
    input.splits = Splits::plan(&input.files, size, cut);
    // The pieces of a file that is cut are opened one by one.
    let mut heads = sample.map(|sample| sample.heads).unwrap_or_default();
    heads.retain(|head| input.splits.is_whole(head.file));
    input.heads.keep(heads);
    Ok(FileTable::new(spec.location.clone(), format, input, reader, config))
}

/// Standard input or a pipe: what is read to learn the columns is read again by the scan.
fn open_stream(spec: &SourceSpec, config: &Config, stream: ByteStream) -> Result<FileTable> {
    let name = spec.location.as_str();
    let shown = if name == "-" { "standard input" } else { name };
    let failed = |error| Error::io(shown, error);
    let format = spec.options.format.or_else(|| Format::of_file_name(name)).unwrap_or(Format::JsonLines);
    if matches!(format, Format::Parquet | Format::Arrow) {
        return Err(Error::Data(format!("{format} cannot be read from {shown}; save it to a file first")));
    }
    let compression = spec.options.compression.or(Compression::of_file_name(name).1);
    let max_window_bytes = max_window_bytes(config.memory_limit_bytes, config.threads.get());
    let stream = unpack(stream, compression, &ByteCount::default(), max_window_bytes).map_err(failed)?;
    let adapt = adaptation(format);
    let mut stream = adapt(name, stream).map_err(failed)?;
    let head = Head::read(0, &mut stream, config.sample_bytes, 0);
    let mut sample = Sample { is_exhaustive: head.is_whole, heads: vec![head] };
    let files = vec![SourceFile {
        path: PathBuf::from(name),
        name: name.into(),
        size_bytes: 0,
        modified: None,
        etag: None,
        partitions: Vec::new(),
    }];
    let reader = reader(spec, format, &files, Some(&sample))?;
    let read_before = sample.heads.pop().map(|head| head.bytes).unwrap_or_default();
    let stdin = Some(StdinOnce(Mutex::new(Some(Box::new(Cursor::new(read_before).chain(stream))))));
    let input = Input { stdin, ..Input::new(files, None, adapt) };
    Ok(FileTable::new(spec.location.clone(), format, input, reader, config))
}

/// Whether columns are learnt from the files' beginnings.
fn is_sampled(spec: &SourceSpec, format: Format) -> bool {
    matches!(format, Format::JsonLines | Format::Csv | Format::Tsv) && spec.options.columns.is_none()
}

/// How a format's stream is changed before lines are cut from it.
fn adaptation(format: Format) -> Adapt {
    match format {
        Format::JsonLines => json::to_lines,
        _ => |_, stream| Ok(stream),
    }
}

/// The reader of a format, with its columns learnt or declared.
fn reader(
    spec: &SourceSpec,
    format: Format,
    files: &[SourceFile],
    sample: Option<&Sample>,
) -> Result<Arc<dyn FormatReader>> {
    let no_sample = || crate::bug!("no sample to learn the columns of '{}' from", spec.location);
    Ok(match (format, &spec.options.columns) {
        (Format::JsonLines, Some(columns)) => Arc::new(json::JsonReader::declared(columns)),
        (Format::JsonLines, None) => Arc::new(json::JsonReader::infer(sample.ok_or_else(no_sample)?)),
        (Format::Warc | Format::Wet, _) => Arc::new(warc::WarcReader::of_types(&spec.options.record_types(format))),
        (Format::Text, _) => Arc::new(text::TextReader { unit: spec.options.unit }),
        (Format::Csv | Format::Tsv, Some(columns)) => {
            Arc::new(csv::CsvReader::declared(format, &spec.options, columns))
        }
        (Format::Csv | Format::Tsv, None) => {
            Arc::new(csv::CsvReader::infer(format, &spec.options, sample.ok_or_else(no_sample)?))
        }
        (Format::Parquet, _) => Arc::new(parquet::ParquetReader::new(files)?),
        (Format::Arrow, _) => Arc::new(ipc::IpcReader::new(files, spec.options.compression)?),
    })
}
