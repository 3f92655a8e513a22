//! Reads documents: files, globs, folders and standard input, in every format, as one table.
//!
//! ```text
//! SourceSpec ──discover──► files ──sample, infer──► FileTable ──scan──► FileScanExec ──► batches
//!                                                                            └──► RejectLog
//! ```
//!
//! Adding a format is one implementation of `FormatReader` (`format.rs`) and one line in [`open`].
//! Not here: what a query does with the rows.

mod columnar;
mod compression;
mod csv;
mod discover;
mod format;
mod ipc;
mod json;
mod lines;
mod origin;
mod parquet;
mod prune;
mod queue;
mod rejects;
mod sample;
mod scan;
mod spec;
mod table;
#[cfg(test)]
mod tests;
mod text;

pub use rejects::{Reject, RejectKind, RejectLog, RejectSummary};
pub use scan::FileScanExec;
pub use spec::{ColumnSpec, Compression, Format, SourceOptions, SourceSpec, TextUnit};
pub use table::{EXTRA_COLUMN, ExtraColumns, FILE_COLUMN, FileTable, POSITION_COLUMN, ROW_COLUMN, is_position};

use crate::{Config, Error, Result};
use compression::{ByteCount, ByteStream, unpack};
use discover::{Discovered, SourceFile, discover};
use format::{FormatReader, Input, StdinOnce};
use sample::{Head, Sample, sample};
use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Finds the files of a source and learns its columns. Reads from disk: call it where blocking is allowed.
pub fn open(spec: &SourceSpec, config: &Config) -> Result<FileTable> {
    if spec.location == "-" {
        return open_stream(spec, config, Box::new(std::io::stdin()));
    }
    let Discovered { files, format } = discover(spec)?;
    let compression = spec.options.compression;
    let heads = || sample(&files, compression, config.sample_bytes, adaptation(format));
    let reader = reader(spec, format, &files, heads)?;
    let input = Input { files, compression, stdin: None };
    Ok(FileTable::new(spec.location.clone(), format, input, reader, config.batch_bytes.get()))
}

/// Standard input (or, in tests, another stream): what is read to learn the columns is read again by the scan.
fn open_stream(spec: &SourceSpec, config: &Config, stream: ByteStream) -> Result<FileTable> {
    let failed = |error| Error::io("standard input", error);
    let format = spec.options.format.unwrap_or(Format::JsonLines);
    if matches!(format, Format::Parquet | Format::Arrow) {
        return Err(Error::Data(format!("{format} cannot be read from standard input; save it to a file first")));
    }
    let unpacked = unpack(stream, spec.options.compression, &ByteCount::default()).map_err(failed)?;
    let mut unpacked = adaptation(format)("-", unpacked).map_err(failed)?;
    let head = Head::read(0, &mut unpacked, config.sample_bytes);
    let again = Cursor::new(head.bytes.clone()).chain(unpacked);
    let files = vec![SourceFile { path: PathBuf::from("-"), name: "-".into(), size_bytes: 0, partitions: Vec::new() }];
    let heads = || Ok(Sample { is_exhaustive: head.is_whole, heads: vec![head] });
    let reader = reader(spec, format, &files, heads)?;
    let stdin = Some(StdinOnce(Mutex::new(Some(Box::new(again)))));
    let input = Input { files, compression: None, stdin };
    Ok(FileTable::new(spec.location.clone(), format, input, reader, config.batch_bytes.get()))
}

/// How a format's stream is changed before lines are cut from it.
fn adaptation(format: Format) -> lines::Adapt {
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
    heads: impl FnOnce() -> Result<Sample>,
) -> Result<Arc<dyn FormatReader>> {
    Ok(match (format, &spec.options.columns) {
        (Format::JsonLines, Some(columns)) => Arc::new(json::JsonReader::declared(columns)),
        (Format::JsonLines, None) => Arc::new(json::JsonReader::infer(&heads()?)),
        (Format::Text, _) => Arc::new(text::TextReader { unit: spec.options.unit }),
        (Format::Csv | Format::Tsv, _) => Arc::new(csv::CsvReader::new(format, &spec.options, heads)?),
        (Format::Parquet, _) => Arc::new(parquet::ParquetReader::new(files)?),
        (Format::Arrow, _) => Arc::new(ipc::IpcReader::new(files, spec.options.compression)?),
    })
}
