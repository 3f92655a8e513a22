//! The files of one output, one after the other: `part-00000.jsonl.zst`, `part-00001.jsonl.zst`, …
//!
//! Invariant: parts are numbered in the order of their rows, and a part is opened only when there is something to
//! write into it, except the first: an output without rows is still a file that can be read.

use super::columns::ColumnWriter;
use super::file::{CompleteFile, Target};
use super::lines::LineWriter;
use super::spec::Layout;
use crate::Result;
use crate::store::Claim;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Where the next part goes.
pub(super) struct PartNames {
    kind: Kind,
    next_part: usize,
}

enum Kind {
    Stdout(Arc<AtomicBool>),
    Stream(PathBuf, Arc<AtomicBool>),
    File { claim: Arc<Claim>, path: PathBuf },
    Folder { claim: Arc<Claim>, below: PathBuf, ending: String },
}

impl PartNames {
    /// Standard output; `closed` is set when its reader has gone.
    pub fn stdout(closed: Arc<AtomicBool>) -> PartNames {
        PartNames { kind: Kind::Stdout(closed), next_part: 0 }
    }

    /// A device or named pipe.
    pub fn stream(path: PathBuf, closed: Arc<AtomicBool>) -> PartNames {
        PartNames { kind: Kind::Stream(path, closed), next_part: 0 }
    }

    /// One file.
    pub fn file(claim: Arc<Claim>, path: PathBuf) -> PartNames {
        PartNames { kind: Kind::File { claim, path }, next_part: 0 }
    }

    /// Numbered files in the folder `below` a claimed one, after those that are there and stay.
    pub fn folder(claim: Arc<Claim>, below: PathBuf, ending: String, there: &PartsThere) -> PartNames {
        let next_part = there.0.get(&below).copied().unwrap_or_default();
        PartNames { kind: Kind::Folder { claim, below, ending }, next_part }
    }

    /// Opens the next part.
    pub fn open(&mut self) -> Result<Target> {
        let part = self.next_part;
        self.next_part += 1;
        match &self.kind {
            Kind::Stdout(closed) => Target::stdout(closed.clone()),
            Kind::Stream(path, closed) => Target::stream(path, closed.clone()),
            Kind::File { claim, path } => {
                let name = path.file_name().map(PathBuf::from).unwrap_or_default();
                Target::create(claim, &name, path.clone())
            }
            Kind::Folder { claim, below, ending } => {
                let name = below.join(format!("part-{part:05}.{ending}"));
                let path = claim.shown().join(&name);
                Target::create(claim, &name, path)
            }
        }
    }
}

/// How many parts of earlier runs stay in each folder.
#[derive(Clone, Debug, Default)]
pub(super) struct PartsThere(Arc<HashMap<PathBuf, usize>>);

impl PartsThere {
    /// Of files that have these names.
    pub fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut there: HashMap<PathBuf, usize> = HashMap::new();
        for path in names.map(Path::new) {
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let number = name.strip_prefix("part-").and_then(|rest| rest.split('.').next()?.parse::<usize>().ok());
            let (Some(number), Some(folder)) = (number, path.parent()) else { continue };
            let n_parts = there.entry(folder.to_path_buf()).or_default();
            *n_parts = (number + 1).max(*n_parts);
        }
        Self(Arc::new(there))
    }
}

/// Writes one sequence of rows into one sequence of parts.
pub(super) enum OutputWriter {
    Lines(Box<LineWriter>),
    Columns(Box<ColumnWriter>),
}

impl OutputWriter {
    pub fn create(layout: &Layout, schema: SchemaRef, names: PartNames) -> Result<OutputWriter> {
        if layout.format.is_lines() {
            Ok(OutputWriter::Lines(Box::new(LineWriter::create(layout, &schema, names)?)))
        } else {
            Ok(OutputWriter::Columns(Box::new(ColumnWriter::create(layout, &schema, names)?)))
        }
    }

    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            OutputWriter::Lines(writer) => writer.write(batch),
            OutputWriter::Columns(writer) => writer.write(batch),
        }
    }

    pub fn finish(self) -> Result<Vec<CompleteFile>> {
        match self {
            OutputWriter::Lines(writer) => writer.finish(),
            OutputWriter::Columns(writer) => writer.finish(),
        }
    }
}
