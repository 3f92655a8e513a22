//! Parquet files: a unit is a row group, and only the wanted columns are read.
//!
//! A file that is cut off or corrupt goes to the rejects as a whole, or from the row group that breaks on.

use super::columnar::{GroupSize, UnionSchema, conform, cut_groups, rows_per_batch};
use super::discover::SourceFile;
use super::encoded::ReaderForm;
use super::format::{DecodedRows, FormatReader, Input, InputPosition, Origin, RowsIter, Scan, Stop, Unit};
use super::prune::groups_to_read;
use super::queue::UnitSender;
use super::split::Extent;
use crate::store::StoredFile;
use crate::{Error, Result};
use arrow::datatypes::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
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
    let file = StoredFile::open(&source.path).map_err(|error| error.to_string())?;
    ArrowReaderMetadata::load(&file, ArrowReaderOptions::default()).map_err(|error| error.to_string())
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
        for (source, groups) in files.iter().zip(&mut groups) {
            match load(source) {
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
            let wanted = scan
                .predicate
                .as_ref()
                .map(|predicate| groups_to_read(predicate, &metadata, &|column| self.name_in_files(column)));
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
                first_row += n_rows;
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
        let opened = open_row_group(&scan, piece, row_group, metadata, &wanted);
        scan.input.check_not_replaced(piece)?;
        match opened {
            Ok(batches) => {
                Ok(Box::new(GroupDecoder { scan, piece, row: first_row, batches, wanted, is_broken: false }))
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
    let source = StoredFile::open(&scan.input.file_of(piece).path).map_err(|error| error.to_string())?;
    let roots: Vec<usize> = wanted.iter().filter_map(|(name, _)| metadata.schema().index_of(name).ok()).collect();
    let mask = ProjectionMask::roots(metadata.parquet_schema(), roots);
    let group = metadata.metadata().row_group(row_group);
    let mut packed_bytes = 0;
    let mut unpacked_bytes = 0;
    for (_, column) in group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)) {
        packed_bytes += column.compressed_size().max(0) as usize;
        unpacked_bytes += column.uncompressed_size().max(0) as usize;
    }
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
        let batch = self.batches.next()?.map_err(|error| error.to_string());
        let decoded = batch.and_then(|batch| Ok((batch.num_rows() as u64, conform(&batch, &self.wanted)?)));
        match decoded {
            Ok((n_rows, columns)) => {
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
