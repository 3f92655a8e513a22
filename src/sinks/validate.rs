//! Checks an output before a run: do the options go together, do the rows fit, is something in the way?
//!
//! Invariant: what passes here fails later only if the disk or another process interferes.

use super::existing::Existing;
use super::options::Format;
use super::spec::{Destination, Layout, SinkSpec};
use crate::store::{exists, is_folder, settle_around};
use arrow::datatypes::{DataType, IntervalUnit, Schema};
use std::path::Path;

/// Why an output cannot be written as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkProblem {
    /// The option that is wrong; `None`: the location.
    pub option: Option<&'static str>,
    /// What is wrong and what to do.
    pub message: String,
    /// The only problem is that the output exists.
    pub exists: bool,
}

impl SinkProblem {
    pub(super) fn of(option: &'static str, message: String) -> SinkProblem {
        SinkProblem { option: Some(option), message, exists: false }
    }

    pub(super) fn at_location(message: String) -> SinkProblem {
        SinkProblem { option: None, message, exists: false }
    }

    fn existing(message: String) -> SinkProblem {
        SinkProblem { option: None, message, exists: true }
    }
}

impl SinkSpec {
    /// Whether rows of this schema can be written there, as far as can be known before the run.
    pub fn validate(&self, schema: &Schema) -> Result<(), SinkProblem> {
        self.checked_layout(schema).map(|_| ())
    }

    /// The same, whatever is there now: an output that is complete is looked at when the run begins.
    pub fn validate_form(&self, schema: &Schema) -> Result<(), SinkProblem> {
        self.layout_for(schema).map(|_| ())
    }

    /// Whether nothing is in the way of the output and its rejects now.
    pub fn check_free(&self) -> crate::Result<()> {
        let free = self.layout().and_then(|layout| self.check_existing(&layout)).and_then(|()| self.check_rejects());
        free.map_err(|problem| crate::Error::Data(problem.message))
    }

    pub(super) fn checked_layout(&self, schema: &Schema) -> Result<Layout, SinkProblem> {
        let layout = self.layout_for(schema)?;
        self.check_existing(&layout)?;
        self.check_rejects()?;
        Ok(layout)
    }

    /// The layout, if rows of this schema fit it.
    pub(super) fn layout_for(&self, schema: &Schema) -> Result<Layout, SinkProblem> {
        let layout = self.layout()?;
        self.check_folder_options(&layout)?;
        self.check_partitions(schema)?;
        self.check_columns(&layout, schema)?;
        Ok(layout)
    }

    fn check_folder_options(&self, layout: &Layout) -> Result<(), SinkProblem> {
        let option = if !self.options.partition_by.is_empty() {
            "partition_by"
        } else if self.options.max_file_bytes.is_some() {
            "max_file_size"
        } else {
            return Ok(());
        };
        match layout.place {
            Destination::Folder(_) => Ok(()),
            _ => Err(SinkProblem::of(
                option,
                format!("`{option}` writes several files, so it needs a folder: end the location in /"),
            )),
        }
    }

    fn check_partitions(&self, schema: &Schema) -> Result<(), SinkProblem> {
        let columns = &self.options.partition_by;
        for (i, column) in columns.iter().enumerate() {
            let problem = |message: String| Err(SinkProblem::of("partition_by", message));
            let Ok(field) = schema.field_with_name(column) else {
                let names = schema.fields().iter().map(|field| field.name());
                let help = crate::diag::did_you_mean(column, names).map(|help| format!("; {help}"));
                return problem(format!("no column `{column}` in the output{}", help.unwrap_or_default()));
            };
            if is_nested(field.data_type()) {
                return problem(format!("column `{column}` is {}: it cannot name a folder", field.data_type()));
            }
            if columns[..i].contains(column) {
                return problem(format!("column `{column}` is named twice"));
            }
        }
        if !columns.is_empty() && columns.len() == schema.fields().len() {
            let message = "every column is a partition column: nothing would be left to write into the files";
            return Err(SinkProblem::of("partition_by", message.into()));
        }
        Ok(())
    }

    fn check_columns(&self, layout: &Layout, schema: &Schema) -> Result<(), SinkProblem> {
        let columns: Vec<_> =
            schema.fields().iter().filter(|field| !self.options.partition_by.contains(field.name())).collect();
        for (i, field) in columns.iter().enumerate() {
            if columns[..i].iter().any(|other| other.name() == field.name()) {
                return Err(SinkProblem::at_location(format!(
                    "two columns of the output are called `{}`: rename one",
                    field.name()
                )));
            }
        }
        match layout.format {
            Format::Text => match columns.as_slice() {
                [one] if is_text(one.data_type()) => Ok(()),
                _ => Err(SinkProblem::of(
                    "format",
                    "the text format writes one text column: add `|> SELECT text` before INTO".into(),
                )),
            },
            Format::Csv | Format::Tsv => match columns.iter().find(|field| is_nested(field.data_type())) {
                Some(field) => Err(SinkProblem::of(
                    "format",
                    format!(
                        "{} cannot hold the nested column `{}`: drop it, select its members, or use jsonl or parquet",
                        layout.format.name(),
                        field.name()
                    ),
                )),
                None => Ok(()),
            },
            Format::Parquet | Format::Arrow if columns.is_empty() => {
                Err(SinkProblem::at_location(format!("{} needs at least one column", layout.format.name())))
            }
            Format::Parquet => match columns.iter().find(|field| !fits_parquet(field.data_type())) {
                Some(field) => Err(SinkProblem::of(
                    "format",
                    format!(
                        "parquet cannot hold the column `{}` of type {}: cast or drop it",
                        field.name(),
                        field.data_type()
                    ),
                )),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Whether rejects would replace what is not this run's.
    fn check_rejects(&self) -> Result<(), SinkProblem> {
        let Some(rejects) = &self.options.rejects else { return Ok(()) };
        let folder = Path::new(rejects);
        if exists(folder) && !is_folder(folder) {
            return Err(SinkProblem::of("rejects", format!("`{rejects}` is a file, not a folder")));
        }
        settle_around(folder).map_err(|error| SinkProblem::of("rejects", error.to_string()))?;
        match Existing::of_rejects(folder).rejects_problem(rejects, self.options.overwrite || self.appends) {
            Some(problem) => Err(SinkProblem::of("rejects", problem)),
            None => Ok(()),
        }
    }

    pub(super) fn check_existing(&self, layout: &Layout) -> Result<(), SinkProblem> {
        let location = &self.location;
        let overwrite = self.options.overwrite;
        if let Destination::File(path) | Destination::Folder(path) = &layout.place {
            settle_around(path).map_err(|error| SinkProblem::at_location(error.to_string()))?;
        }
        match &layout.place {
            Destination::File(path) => match Existing::of_file(path) {
                Existing::Nothing => Ok(()),
                Existing::Ours { .. } if overwrite => Ok(()),
                Existing::Ours { .. } => Err(SinkProblem::existing(format!(
                    "`{location}` exists: add WITH (overwrite = true) to replace it"
                ))),
                Existing::Strangers { .. } if overwrite => Err(SinkProblem::of(
                    "overwrite",
                    format!(
                        "`{location}` is not as an earlier run wrote it, or was not written by one: remove it, or \
                         choose another name"
                    ),
                )),
                Existing::Strangers { .. } => {
                    Err(SinkProblem::existing(format!("`{location}` exists: remove it, or choose another name")))
                }
            },
            Destination::Folder(path) => match Existing::of_folder(path) {
                Existing::Nothing => Ok(()),
                Existing::Ours { .. } if overwrite || self.appends => Ok(()),
                Existing::Ours { .. } => Err(SinkProblem::existing(format!(
                    "`{location}` holds an earlier output: add WITH (overwrite = true) to replace it"
                ))),
                Existing::Strangers { example } if overwrite => Err(SinkProblem::of(
                    "overwrite",
                    format!(
                        "`{location}` holds files that no manifest of an earlier run lists, such as `{example}`: \
                         remove them, or choose another folder"
                    ),
                )),
                Existing::Strangers { example } => Err(SinkProblem::existing(format!(
                    "`{location}` is not empty (it holds `{example}`): choose another folder"
                ))),
            },
            _ => Ok(()),
        }
    }
}

/// Whether a value is more than one cell of a table.
fn is_nested(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_nested(values),
        other => other.is_nested(),
    }
}

/// Whether values are text.
fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => matches!(other, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

/// Whether the Parquet writer takes values of this type: it finds out only at the first one, or panics.
fn fits_parquet(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(_, _) | DataType::Interval(IntervalUnit::MonthDayNano) => false,
        DataType::Struct(fields) => !fields.is_empty() && fields.iter().all(|field| fits_parquet(field.data_type())),
        DataType::Dictionary(_, values) => fits_parquet(values),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::RunEndEncoded(_, field)
        | DataType::Map(field, _) => fits_parquet(field.data_type()),
        _ => true,
    }
}
