//! A scan as a value: some splits of a source in bytes, from which any process reads the same rows.
//!
//! ```text
//! FileScanExec ──encode_partition(p)──► JSON ──another process, later, again──► FileScanExec::decode ──► the same rows
//! ```
//! The bytes hold what was found out once for the whole source (columns, types, where the files are cut) and the files of
//! these splits alone. Decoding looks at those files' sizes and times of change, and at nothing else: no listing, no sample.
//! Pieces keep their numbers in the whole source, so positions (`_seq`) are those of the whole scan.
//!
//! Invariant: a decoded scan gives the rows of its splits, each once and in order, or fails because a file has changed.
//! Not here: settings of the session (the rows in a batch, strict mode, the log of rejects), which whoever executes the scan
//! brings along; and credentials, which never are part of a plan.

mod filter;
mod types;

pub(crate) use self::filter::FilterForm;
use super::csv::CsvReader;
use super::discover::SourceFile;
use super::format::{FormatReader, Input};
use super::ipc::IpcReader;
use super::json::{JsonReader, Unfit};
use super::parquet::ParquetReader;
use super::prune::pruning_predicate;
use super::scan::{FileScanExec, SplitShare};
use super::spec::{Compression, Format, TextUnit};
use super::split::{Piece, Splits};
use super::table::{ExtraColumns, FileTable};
use super::text::TextReader;
use super::warc::WarcReader;
use crate::store::{is_remote, stat};
use crate::{Error, Result};
use arrow::datatypes::SchemaRef;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::ExecutionPlan;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Raise it whenever the same bytes would be read in another way.
const VERSION: u32 = 1;

/// Some splits of a scan.
#[derive(Debug, Serialize, Deserialize)]
struct ScanForm {
    version: u32,
    location: String,
    format: Format,
    compression: Option<Compression>,
    reader: ReaderForm,
    /// The columns that folders (`lang=en/`) give: their types follow from all files of the source.
    #[serde(with = "types::schema")]
    folders: SchemaRef,
    extra: ExtraColumns,
    /// The columns that are read, of all of the table.
    projection: Vec<usize>,
    fetch: Option<usize>,
    /// What row groups are skipped by.
    filters: Vec<FilterForm>,
    batch_bytes: usize,
    files: Vec<SourceFile>,
    pieces: Vec<Piece>,
    splits: Vec<Range<usize>>,
}

/// The one field that every version has.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// What a reader knows about its files, all together.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReaderForm {
    Lines {
        #[serde(with = "types::schema")]
        columns: SchemaRef,
        names: Vec<String>,
        unfit: Unfit,
    },
    Records {
        #[serde(with = "types::schema")]
        columns: SchemaRef,
        names: Vec<String>,
        delimiter: u8,
        has_header: bool,
    },
    Columns {
        #[serde(with = "types::schema")]
        columns: SchemaRef,
        names: Vec<String>,
    },
    Text {
        unit: TextUnit,
    },
    Warc {
        types: Vec<String>,
    },
}

impl ReaderForm {
    fn reader(self, format: Format) -> Result<Arc<dyn FormatReader>> {
        Ok(match (format, self) {
            (Format::JsonLines, ReaderForm::Lines { columns, names, unfit }) => {
                Arc::new(JsonReader::known(columns, names, unfit))
            }
            (Format::Csv | Format::Tsv, ReaderForm::Records { columns, names, delimiter, has_header }) => {
                Arc::new(CsvReader::known(columns, names, delimiter, has_header))
            }
            (Format::Parquet, ReaderForm::Columns { columns, names }) => Arc::new(ParquetReader::known(columns, names)),
            (Format::Arrow, ReaderForm::Columns { columns, names }) => Arc::new(IpcReader::known(columns, names)),
            (Format::Warc | Format::Wet, ReaderForm::Warc { types }) => Arc::new(WarcReader::of_types(&types)),
            (Format::Text, ReaderForm::Text { unit }) => Arc::new(TextReader { unit }),
            (format, form) => return Err(Error::Data(format!("an encoded scan of {format} has the reader {form:?}"))),
        })
    }
}

impl FileScanExec {
    /// One partition of this scan as bytes: its share of the splits, wherever and however often it is run.
    pub fn encode_partition(&self, partition: usize) -> Result<Vec<u8>> {
        self.encode_splits(self.splits_of(partition))
    }

    /// Some splits of this scan as bytes.
    pub fn encode_splits(&self, splits: Range<usize>) -> Result<Vec<u8>> {
        let (table, input) = (self.table(), &self.table().input);
        if input.stdin.is_some() {
            return Err(Error::Data(
                "standard input can be read only once, so a scan of '-' can be run neither again nor in another process; \
                 save it to a file first"
                    .into(),
            ));
        }
        if splits.start > splits.end || splits.end > self.n_splits() {
            return Err(crate::bug!("a scan of {} splits has no splits {splits:?}", self.n_splits()));
        }
        let (picked, files) = input.splits.pick(splits);
        let absolute = |file: &usize| -> Result<SourceFile> {
            let file = &input.files[*file];
            if is_remote(&file.path) {
                return Ok(file.clone());
            }
            // Another process may work in another folder.
            let path = std::path::absolute(&file.path).map_err(|error| Error::io(&file.path, error))?;
            Ok(SourceFile { path, ..file.clone() })
        };
        let form = ScanForm {
            version: VERSION,
            location: table.location().to_string(),
            format: table.format(),
            compression: input.compression,
            reader: table.reader.form(),
            folders: table.folders.clone(),
            extra: table.extra(),
            projection: self.projection().to_vec(),
            fetch: self.fetch(),
            // Those without a form skip less; the filter itself is above the scan.
            filters: self.filters().iter().filter_map(FilterForm::of).collect(),
            batch_bytes: table.batch_bytes,
            files: files.iter().map(absolute).collect::<Result<_>>()?,
            pieces: picked.pieces,
            splits: picked.ranges,
        };
        serde_json::to_vec(&form).map_err(|error| Error::Data(format!("a scan of '{}': {error}", table.location())))
    }

    /// The scan that [`encode_partition`](Self::encode_partition) made bytes of, as one partition.
    ///
    /// An error if it was encoded by another version, or if one of its files has changed since then.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let unreadable = |error: serde_json::Error| Error::Data(format!("not an encoded scan: {error}"));
        let Versioned { version } = serde_json::from_slice(bytes).map_err(unreadable)?;
        if version != VERSION {
            return Err(Error::Data(format!(
                "the scan was encoded in version {version}, and this curator reads version {VERSION}; \
                 plan and run with the same curator"
            )));
        }
        let form: ScanForm = serde_json::from_slice(bytes).map_err(unreadable)?;
        form.check()?;
        let reader = form.reader.reader(form.format)?;
        let mut input = Input::new(form.files, form.compression, super::adaptation(form.format));
        input.splits = Splits { pieces: form.pieces, ranges: form.splits };
        input.follow(reader.as_ref());
        let table = FileTable::with_folders(form.location, form.format, input, reader, form.batch_bytes, form.folders)
            .with_extra(form.extra);
        let filters = form.filters.into_iter().map(FilterForm::filter).collect::<Result<Vec<_>>>()?;
        let predicate = pruning_predicate(&SessionStateBuilder::new().build(), &filters, &table.schema())?;
        Ok(Self::try_new(table, form.projection, 1, form.fetch)?.with_predicate(predicate, filters))
    }
}

impl ScanForm {
    /// Whether the parts fit each other and the files are still those that were planned for.
    fn check(&self) -> Result<()> {
        let is_whole = self.pieces.iter().all(|piece| piece.file < self.files.len())
            && self.splits.iter().all(|split| split.start <= split.end && split.end <= self.pieces.len());
        if !is_whole {
            return Err(Error::Data(format!("the encoded scan of '{}' is not whole", self.location)));
        }
        self.files.iter().try_for_each(check_file)
    }
}

impl FileScanExec {
    /// Whether the files of these splits are still those that were planned for.
    pub(crate) fn check_files(&self, splits: &SplitShare) -> Result<()> {
        let input = &self.table().input;
        let pieces = splits.0.iter().flat_map(|split| input.splits.ranges[*split].clone());
        let mut files: Vec<usize> = pieces.map(|piece| input.splits.pieces[piece].file).collect();
        files.dedup();
        files.into_iter().try_for_each(|file| check_file(&input.files[file]))
    }
}

fn check_file(file: &SourceFile) -> Result<()> {
    let found = stat(&file.path).map_err(|error| Error::io(&file.path, error))?;
    let (then, now) = (file.size_bytes, found.n_bytes);
    if then != now {
        return Err(Error::Data(format!(
            "'{}' has {now} bytes, and had {then} when the query was planned; plan it again",
            file.name
        )));
    }
    if file.modified.is_some() && file.modified != found.modified {
        return Err(Error::Data(format!("'{}' was written after the query was planned; plan it again", file.name)));
    }
    Ok(())
}
