//! Parquet files: a unit is a row group, and only the wanted columns are read.
//!
//! A file that is cut off or corrupt goes to the rejects as a whole, or from the row group that breaks on.

use super::columnar::{UnionSchema, conform, rows_per_batch};
use super::discover::SourceFile;
use super::format::{FormatReader, Origin, Rows, RowsIter, Scan, Stop, Unit};
use super::prune::groups_to_read;
use super::queue::Lane;
use crate::{Error, Result};
use arrow::datatypes::{DataType, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use std::fs::File;

/// Reads Parquet files.
#[derive(Debug)]
pub(crate) struct ParquetReader {
    schema: SchemaRef,
    names: Vec<String>,
}

fn load(source: &SourceFile) -> Result<ArrowReaderMetadata, String> {
    let file = File::open(&source.path).map_err(|error| error.to_string())?;
    ArrowReaderMetadata::load(&file, ArrowReaderOptions::default()).map_err(|error| error.to_string())
}

impl ParquetReader {
    /// Reads the schemas. A file that cannot be read is skipped here and rejected by the scan.
    pub fn new(files: &[SourceFile]) -> Result<Self> {
        let mut union = UnionSchema::default();
        let mut failure = None;
        let mut n_readable = 0;
        for source in files {
            match load(source) {
                Ok(metadata) => {
                    n_readable += 1;
                    union.add(&source.name, metadata.schema())?;
                }
                Err(error) => failure = failure.or(Some(format!("cannot read '{}': {error}", source.name))),
            }
        }
        match failure {
            Some(failure) if n_readable == 0 => Err(Error::Data(failure)),
            _ => {
                let (schema, names) = union.finish();
                Ok(Self { schema, names })
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

    fn produce(&self, scan: &Scan, lane: &Lane) -> Result<(), Stop> {
        for (file, source) in scan.input.files.iter().enumerate() {
            let metadata = match load(source) {
                Ok(metadata) => metadata,
                Err(error) => {
                    scan.reject_rest(file, 1, 0, error)?;
                    continue;
                }
            };
            let wanted = scan
                .predicate
                .as_ref()
                .map(|predicate| groups_to_read(predicate, &metadata, &|column| self.name_in_files(column)));
            let mut first_row = 1;
            for (row_group, group) in metadata.metadata().row_groups().iter().enumerate() {
                let n_rows = group.num_rows().max(0) as u64;
                if wanted.as_ref().and_then(|wanted| wanted.get(row_group)) == Some(&false) {
                    scan.counters.pruned_rows.add(n_rows as usize);
                } else {
                    lane.push(Unit::RowGroup { file, row_group, first_row, metadata: metadata.clone() })?;
                }
                first_row += n_rows;
            }
        }
        Ok(())
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        let Unit::RowGroup { file, row_group, first_row, metadata } = unit else {
            return Err(crate::bug!("Parquet got the unit {unit:?}"));
        };
        let wanted: Vec<(String, DataType)> = scan
            .projection
            .iter()
            .map(|index| (self.names[*index].clone(), self.schema.field(*index).data_type().clone()))
            .collect();
        let scan = scan.clone();
        match open_row_group(&scan, file, row_group, metadata, &wanted) {
            Ok(batches) => Ok(Box::new(GroupDecoder { scan, file, row: first_row, batches, wanted, is_broken: false })),
            Err(error) => {
                scan.reject_rest(file, first_row, 0, format!("row group {}: {error}", row_group + 1))?;
                Ok(Box::new(std::iter::empty()))
            }
        }
    }
}

fn open_row_group(
    scan: &Scan,
    file: usize,
    row_group: usize,
    metadata: ArrowReaderMetadata,
    wanted: &[(String, DataType)],
) -> Result<ParquetRecordBatchReader, String> {
    let source = File::open(&scan.input.files[file].path).map_err(|error| error.to_string())?;
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
    file: usize,
    /// The next row, from 1.
    row: u64,
    batches: ParquetRecordBatchReader,
    wanted: Vec<(String, DataType)>,
    is_broken: bool,
}

impl Iterator for GroupDecoder {
    type Item = Result<Rows, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_broken {
            return None;
        }
        let batch = self.batches.next()?.map_err(|error| error.to_string());
        let decoded = batch.and_then(|batch| Ok((batch.num_rows() as u64, conform(&batch, &self.wanted)?)));
        match decoded {
            Ok((n_rows, columns)) => {
                let file = self.file as u32;
                let origins = (self.row..self.row + n_rows).map(|row| Origin { file, row }).collect();
                self.row += n_rows;
                Some(Ok(Rows { columns, origins }))
            }
            Err(error) => {
                self.is_broken = true;
                self.scan.reject_rest(self.file, self.row, 0, error).err().map(Err)
            }
        }
    }
}
