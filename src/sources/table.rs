//! A source as a DataFusion table: the columns of its files, then those of its folders, then provenance on demand.
//!
//! ```text
//! columns of the files … | hive partitions (lang=en/) … | _file? | _row? | _source_line? | _seq?
//! ```
//!
//! Invariant: `_seq`, `_seq_0` and `_source_line` are always ours (a file's own `_seq` reads as `_seq_`); a file's own
//! `_file` or `_row` wins over ours, because it is data.

use super::discover::partition_columns;
use super::encoded::FilterForm;
use super::format::{FormatReader, Input};
use super::line_fields::{LineField, LineFields};
use super::origin::origin_of;
use super::prune::{can_prune, pruning_predicate};
use super::scan::FileScanExec;
use super::spec::Format;
use crate::Config;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// The file a row came from.
pub const FILE_COLUMN: &str = "_file";
/// What of a JSON document does not fit the columns learnt from the sample, as a JSON object.
pub const EXTRA_COLUMN: &str = "_extra";
/// The row's line (or row) in its file, from 1.
pub const ROW_COLUMN: &str = "_row";
/// The row's position in the whole source; ascending within each partition of a scan.
pub const POSITION_COLUMN: &str = "_seq";

/// The line that a row was read from, byte for byte.
pub const LINE_COLUMN: &str = "_source_line";

/// Whether a column is none of the data's: a position, or a line that is carried to the output.
pub fn is_carried(name: &str) -> bool {
    name == LINE_COLUMN || is_position(name)
}

/// Whether a column is a position: the source's, or a copy that a rule carries along (`_seq_0`).
pub fn is_position(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.strip_prefix(POSITION_COLUMN)
        .is_some_and(|rest| rest.is_empty() || rest.strip_prefix('_').is_some_and(is_number))
}

/// Columns that a table shows only when asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ExtraColumns {
    /// `_file`: the path, as the user wrote it.
    pub file: bool,
    /// `_row`: the line or row in the file, from 1.
    pub row: bool,
    /// `_seq`: the position in the source, for keeping input order.
    pub position: bool,
    /// `_source_line`: the line itself, for writing it as it was. Only where [`FileTable::line_fields`] knows its fields.
    pub line: bool,
}

/// The files of one source, of any format, as a table.
#[derive(Clone, Debug)]
pub struct FileTable {
    pub(super) location: String,
    pub(super) format: Format,
    pub(super) input: Arc<Input>,
    pub(super) reader: Arc<dyn FormatReader>,
    pub(super) batch_bytes: usize,
    /// The columns that folders give.
    pub(super) folders: SchemaRef,
    columns: Arc<[SourceColumn]>,
    schema: SchemaRef,
    extra: ExtraColumns,
}

/// Where a column of the table comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SourceColumn {
    /// The reader's column of this index.
    Data(usize),
    /// A `key=value` folder.
    Partition(String),
    File,
    Row,
    Line,
    Position,
}

/// A name for a file's own column that does not collide with one of ours.
pub(crate) fn free_column_name(name: &str) -> String {
    if is_carried(name) { format!("{name}_") } else { name.to_string() }
}

impl FileTable {
    pub(crate) fn new(
        location: String,
        format: Format,
        input: Input,
        reader: Arc<dyn FormatReader>,
        config: &Config,
    ) -> Self {
        let folder = |(key, data_type)| Field::new(key, data_type, true);
        let folders: Vec<Field> = partition_columns(&input.files).into_iter().map(folder).collect();
        let batch_bytes = config.batch_bytes.get();
        Self::with_folders(location, format, input, reader, batch_bytes, Arc::new(Schema::new(folders)))
    }

    /// Takes the folders' columns from elsewhere: the files may be some of those that they follow from.
    pub(crate) fn with_folders(
        location: String,
        format: Format,
        input: Input,
        reader: Arc<dyn FormatReader>,
        batch_bytes: usize,
        folders: SchemaRef,
    ) -> Self {
        let mut table = Self {
            location,
            format,
            input: Arc::new(input),
            reader,
            batch_bytes,
            folders,
            columns: Arc::new([]),
            schema: Arc::new(Schema::empty()),
            extra: ExtraColumns::default(),
        };
        table.lay_out_columns();
        table
    }

    /// The same source with other columns on demand.
    pub fn with_extra(&self, extra: ExtraColumns) -> FileTable {
        let mut table = self.clone();
        table.extra = extra;
        table.lay_out_columns();
        table
    }

    /// The same source with some of its files alone, chosen by name. Columns stay those of all files.
    pub fn only(&self, is_wanted: impl Fn(&str) -> bool) -> FileTable {
        let (splits, files) = self.input.splits.of_files(|file| is_wanted(&self.input.files[file].name));
        let files = files.into_iter().map(|file| self.input.files[file].clone()).collect();
        let mut input = Input::new(files, self.input.compression, self.input.adapt);
        input.splits = splits;
        input.follow(self.reader.as_ref());
        FileTable { input: Arc::new(input), ..self.clone() }
    }

    fn lay_out_columns(&mut self) {
        let data = self.reader.schema();
        let mut fields: Vec<FieldRef> = data.fields().iter().cloned().collect();
        let mut columns: Vec<SourceColumn> = (0..fields.len()).map(SourceColumn::Data).collect();
        let has = |fields: &[FieldRef], name: &str| fields.iter().any(|field| field.name() == name);
        for folder in self.folders.fields() {
            if !has(&fields, folder.name()) {
                fields.push(folder.clone());
                columns.push(SourceColumn::Partition(folder.name().clone()));
            }
        }
        if self.extra.file && !has(&fields, FILE_COLUMN) {
            fields.push(Arc::new(Field::new(FILE_COLUMN, DataType::Utf8, false)));
            columns.push(SourceColumn::File);
        }
        if self.extra.row && !has(&fields, ROW_COLUMN) {
            fields.push(Arc::new(Field::new(ROW_COLUMN, DataType::Int64, false)));
            columns.push(SourceColumn::Row);
        }
        if self.extra.line {
            fields.push(Arc::new(Field::new(LINE_COLUMN, DataType::Utf8, false)));
            columns.push(SourceColumn::Line);
        }
        if self.extra.position {
            fields.push(Arc::new(Field::new(POSITION_COLUMN, DataType::UInt64, false)));
            columns.push(SourceColumn::Position);
        }
        self.schema = Arc::new(Schema::new(fields));
        self.columns = columns.into();
    }

    /// The columns on demand that are asked for.
    pub fn extra(&self) -> ExtraColumns {
        self.extra
    }

    /// The size of all files on disk; 0 for standard input.
    pub fn total_bytes(&self) -> u64 {
        self.input.files.iter().map(|file| file.size_bytes).sum()
    }

    /// Whether it is standard input or a pipe, which can be read once.
    pub fn is_stream(&self) -> bool {
        self.input.stdin.is_some()
    }

    /// Whether files are packed, by their names.
    pub fn is_compressed(&self) -> bool {
        let packed = |ending: &str| ["gz", "zst", "bz2", "xz"].contains(&ending);
        self.input.files.iter().any(|file| file.path.extension().is_some_and(|end| packed(&end.to_string_lossy())))
    }

    /// Whether it gives the same rows each time it is read: standard input and pipes are gone once they were.
    pub fn can_be_read_again(&self) -> bool {
        self.input.stdin.is_none()
    }

    /// The location as the user wrote it.
    pub fn location(&self) -> &str {
        &self.location
    }

    /// Where its files are.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.input.files.iter().map(|file| file.path.as_path())
    }

    /// Its files: path, size, and when they were last written.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64, Option<SystemTime>)> {
        self.input.files.iter().map(|file| (file.name.as_str(), file.size_bytes, file.modified))
    }

    /// The versions of its files, where a store tells.
    pub fn versions(&self) -> impl Iterator<Item = Option<&str>> {
        self.input.files.iter().map(|file| file.etag.as_deref())
    }

    /// The file and the line of the row at a position.
    pub(crate) fn place_of(&self, position: u64) -> Option<(String, u64)> {
        let (number, row) = origin_of(position);
        let piece = self.input.splits.pieces.iter().position(|piece| piece.number == number)?;
        let before = self.input.counts.before(&self.input, piece).ok()?;
        Some((self.input.file_of(piece).name.clone(), before.lines + row))
    }

    /// How many files there are.
    pub fn n_files(&self) -> usize {
        self.input.files.len()
    }

    /// The format of the files.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The columns, as DataFusion sees them.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// What each column is of the line that a row is read from; `None` if the rows are not read from JSON Lines.
    pub fn line_fields(&self) -> Option<LineFields> {
        let of_reader = self.reader.line_fields()?;
        let field = |column: &SourceColumn| match column {
            SourceColumn::Data(index) => of_reader.columns.get(*index).cloned().unwrap_or(LineField::None),
            _ => LineField::None,
        };
        Some(LineFields { columns: self.columns.iter().map(field).collect(), others: of_reader.others })
    }

    pub(crate) fn columns(&self) -> &[SourceColumn] {
        &self.columns
    }

    /// What a split holds on average, unpacked, as far as sizes on disk tell.
    pub fn split_bytes(&self) -> usize {
        self.unpacked_bytes() / self.input.splits.ranges.len().max(1)
    }

    /// What all files hold, unpacked, as far as sizes on disk tell.
    pub fn unpacked_bytes(&self) -> usize {
        // Text is some four times smaller packed; so are columns.
        let is_packed = self.is_compressed() || matches!(self.format, Format::Parquet | Format::Arrow);
        (self.total_bytes() as usize).saturating_mul(if is_packed { 4 } else { 1 })
    }

    /// A hash of where it is cut, by which rows get their positions.
    pub fn cuts(&self) -> crate::Result<String> {
        let splits = &self.input.splits;
        let text = serde_json::to_vec(&(&splits.pieces, &splits.ranges));
        let text = text.map_err(|error| crate::bug!("splits as text: {error}"))?;
        Ok(format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&text)))
    }

    /// Few bytes are not worth many partitions.
    fn n_partitions(&self, target: usize) -> usize {
        if self.input.stdin.is_some() {
            return target.max(1);
        }
        target.min(self.unpacked_bytes().div_ceil(self.batch_bytes.max(1))).max(1)
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.columns.len()).collect();
        let projection = projection.cloned().unwrap_or_else(all);
        let n_partitions = self.n_partitions(state.config().target_partitions());
        let predicate = pruning_predicate(state, filters, &self.schema)?;
        let scan = FileScanExec::try_new(self.clone(), projection, n_partitions, limit)?;
        Ok(Arc::new(scan.with_predicate(predicate, filters.to_vec())))
    }

    /// Only Parquet has statistics to skip by; every filter still runs above the scan. One that cannot be encoded is not
    /// taken, so that a scan skips the same rows in every process.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        let data = self.reader.schema();
        let answer = |filter: &&Expr| match self.format == Format::Parquet
            && can_prune(filter, &data)
            && FilterForm::of(filter).is_some()
        {
            true => TableProviderFilterPushDown::Inexact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(answer).collect())
    }
}
