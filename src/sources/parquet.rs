//! Parquet files: a unit is a row group, and only the wanted columns are read.
//!
//! A file that is cut off or corrupt goes to the rejects as a whole, or from the row group that breaks on.

use super::columnar::{GroupSize, UnionSchema, conform, cut_groups, rows_per_batch};
use super::discover::SourceFile;
use super::encoded::ReaderForm;
use super::format::{DecodedRows, FormatReader, Input, InputPosition, Origin, RowsIter, Scan, Stop, Unit};
use super::guarded::guarded;
use super::prune::groups_to_read;
use super::queue::UnitSender;
use super::split::Extent;
use super::warm::for_each_file;
use crate::{Error, Result};
use arrow::datatypes::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;
use std::ops::Range;

/// Reads Parquet files.
#[derive(Debug)]
pub(crate) struct ParquetReader {
    schema: SchemaRef,
    names: Vec<String>,
    /// The row groups of each file.
    groups: Vec<Vec<GroupSize>>,
}

fn load(source: &SourceFile) -> Result<ArrowReaderMetadata, String> {
    let file = source.open().map_err(|error| error.to_string())?;
    let load = |options: ArrowReaderOptions| guarded(|| ArrowReaderMetadata::load(&file, options));
    // Writers of Arrow put their schema into the footer too; if that is broken, the file's own columns say nearly the same.
    let plain = |error: String| load(ArrowReaderOptions::default().with_skip_arrow_metadata(true)).map_err(|_| error);
    let metadata = load(ArrowReaderOptions::default()).or_else(plain)?;
    let n_rows = metadata.metadata().file_metadata().num_rows();
    let groups = metadata.metadata().row_groups().iter().map(|group| i128::from(group.num_rows()));
    let n_in_groups: i128 = groups.sum();
    if n_in_groups != i128::from(n_rows) {
        return Err(format!(
            "the footer is corrupt: it says that there are {n_rows} rows, and {n_in_groups} in row groups"
        ));
    }
    Ok(metadata)
}

/// Compares what a row group says of its columns with what it says of itself: one that is wrong would give too few rows
/// without a word, or nulls without an end.
fn check_group(group: &RowGroupMetaData) -> Result<(), String> {
    let n_rows = group.num_rows();
    for column in group.columns() {
        let (n_values, may_repeat) = (column.num_values(), column.column_descr().max_rep_level() > 0);
        if n_rows < 0 || n_values < n_rows || n_values > n_rows && !may_repeat {
            let name = column.column_path().string();
            return Err(format!("it says that it has {n_rows} rows, and {n_values} values in its column `{name}`"));
        }
    }
    Ok(())
}

impl ParquetReader {
    /// Takes columns that were learnt before, for files that are cut already.
    pub fn known(schema: SchemaRef, names: Vec<String>) -> Self {
        Self { schema, names, groups: Vec::new() }
    }

    /// Reads the schemas. A file that cannot be read is skipped here and rejected by the scan.
    pub fn new(files: &[SourceFile]) -> Result<Self> {
        let mut union = UnionSchema::default();
        let mut failure = None;
        let mut n_readable = 0;
        let mut groups = vec![Vec::new(); files.len()];
        let loaded = for_each_file(files, load);
        for ((source, groups), loaded) in files.iter().zip(&mut groups).zip(loaded) {
            match loaded {
                Ok(metadata) => {
                    n_readable += 1;
                    union.add(&source.name, metadata.schema())?;
                    groups.extend(metadata.metadata().row_groups().iter().map(|group| GroupSize {
                        n_rows: group.num_rows().max(0) as u64,
                        n_bytes: group.compressed_size().max(0) as u64,
                    }));
                }
                Err(error) => failure = failure.or(Some(format!("cannot read '{}': {error}", source.name))),
            }
        }
        match failure {
            Some(failure) if n_readable == 0 => Err(Error::Data(failure)),
            _ => {
                let (schema, names) = union.finish();
                Ok(Self { schema, names, groups })
            }
        }
    }
}

impl ParquetReader {
    fn name_in_files(&self, column: &str) -> Option<String> {
        self.schema.index_of(column).ok().and_then(|index| self.names.get(index).cloned())
    }
}

impl FormatReader for ParquetReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn cut(&self, _input: &Input, file: usize, block_bytes: u64) -> Vec<Extent> {
        cut_groups(&self.groups[file], block_bytes)
    }

    fn produce(&self, scan: &Scan, pieces: Range<usize>, units: &UnitSender) -> Result<(), Stop> {
        for piece in pieces {
            let loaded = load(scan.input.file_of(piece));
            scan.input.check_not_replaced(piece)?;
            let metadata = match loaded {
                Ok(metadata) => metadata,
                Err(error) => {
                    scan.reject_rest(InputPosition::start_of(piece), error)?;
                    continue;
                }
            };
            // What cannot be skipped by is read.
            let wanted = scan.predicate.as_ref().and_then(|predicate| {
                let groups = || groups_to_read(predicate, &metadata, &|column| self.name_in_files(column));
                guarded(|| Ok::<_, String>(groups())).ok()
            });
            let range = match scan.input.splits.pieces[piece].extent {
                Extent::Groups { start, end, .. } => start..end,
                _ => 0..usize::MAX,
            };
            let mut first_row = 1;
            for (row_group, group) in metadata.metadata().row_groups().iter().enumerate() {
                if !range.contains(&row_group) {
                    continue;
                }
                let n_rows = group.num_rows().max(0) as u64;
                if wanted.as_ref().and_then(|wanted| wanted.get(row_group)) == Some(&false) {
                    scan.counters.pruned_rows.add(n_rows as usize);
                } else {
                    units.push(Unit::RowGroup { piece, row_group, first_row, metadata: metadata.clone() })?;
                }
                first_row = n_rows.saturating_add(first_row);
            }
        }
        Ok(())
    }

    fn form(&self) -> ReaderForm {
        ReaderForm::Columns { columns: self.schema.clone(), names: self.names.clone() }
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        let Unit::RowGroup { piece, row_group, first_row, metadata } = unit else {
            return Err(crate::bug!("Parquet got the unit {unit:?}"));
        };
        let wanted: Vec<(String, DataType)> = scan
            .projection
            .iter()
            .map(|index| (self.names[*index].clone(), self.schema.field(*index).data_type().clone()))
            .collect();
        let scan = scan.clone();
        let end_row = first_row.saturating_add(metadata.metadata().row_group(row_group).num_rows().max(0) as u64);
        let opened = guarded(|| open_row_group(&scan, piece, row_group, metadata, &wanted));
        scan.input.check_not_replaced(piece)?;
        match opened {
            Ok(batches) => {
                Ok(Box::new(GroupDecoder { scan, piece, row: first_row, end_row, batches, wanted, is_broken: false }))
            }
            Err(error) => {
                let place = InputPosition { piece, line: first_row, byte_offset: 0 };
                scan.reject_rest(place, format!("row group {}: {error}", row_group + 1))?;
                Ok(Box::new(std::iter::empty()))
            }
        }
    }
}

fn open_row_group(
    scan: &Scan,
    piece: usize,
    row_group: usize,
    metadata: ArrowReaderMetadata,
    wanted: &[(String, DataType)],
) -> Result<ParquetRecordBatchReader, String> {
    let source = scan.input.file_of(piece).open().map_err(|error| error.to_string())?;
    let roots: Vec<usize> = wanted.iter().filter_map(|(name, _)| metadata.schema().index_of(name).ok()).collect();
    let mask = ProjectionMask::roots(metadata.parquet_schema(), roots);
    let group = metadata.metadata().row_group(row_group);
    check_group(group)?;
    let mut packed_bytes = 0;
    let mut unpacked_bytes = 0;
    let mut ranges = vec![];
    for (_, column) in group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)) {
        let (start, n_bytes) = column.byte_range();
        ranges.push(start..start.saturating_add(n_bytes));
        packed_bytes += column.compressed_size().max(0) as usize;
        unpacked_bytes += column.uncompressed_size().max(0) as usize;
    }
    source.plan(ranges);
    scan.counters.bytes_scanned.add(packed_bytes);
    let batch_rows =
        rows_per_batch(unpacked_bytes, group.num_rows().max(0) as usize, scan.batch_rows, scan.batch_bytes);
    ParquetRecordBatchReaderBuilder::new_with_metadata(source, metadata)
        .with_row_groups(vec![row_group])
        .with_projection(mask)
        .with_batch_size(batch_rows)
        .build()
        .map_err(|error| error.to_string())
}

struct GroupDecoder {
    scan: Scan,
    piece: usize,
    /// The next row of the piece, from 1.
    row: u64,
    /// The row behind the last one.
    end_row: u64,
    batches: ParquetRecordBatchReader,
    wanted: Vec<(String, DataType)>,
    is_broken: bool,
}

impl Iterator for GroupDecoder {
    type Item = Result<DecodedRows, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_broken {
            return None;
        }
        let decoded = guarded(|| {
            let Some(batch) = self.batches.next() else { return Ok(None) };
            let batch = batch.map_err(|error| error.to_string())?;
            Ok::<_, String>(Some((batch.num_rows() as u64, conform(&batch, &self.wanted)?)))
        });
        match decoded {
            Ok(None) if self.row < self.end_row => {
                self.is_broken = true;
                let place = InputPosition { piece: self.piece, line: self.row, byte_offset: 0 };
                let missing = self.end_row - self.row;
                self.scan.reject_rest(place, format!("{missing} rows of the row group are not there")).err().map(Err)
            }
            Ok(None) => None,
            Ok(Some((n_rows, columns))) => {
                let piece = self.piece as u32;
                let origins = (self.row..self.row + n_rows).map(|row| Origin { piece, row }).collect();
                self.row += n_rows;
                Some(Ok(DecodedRows { columns, lines: None, origins }))
            }
            Err(error) => {
                self.is_broken = true;
                let place = InputPosition { piece: self.piece, line: self.row, byte_offset: 0 };
                self.scan.reject_rest(place, error).err().map(Err)
            }
        }
    }
}
