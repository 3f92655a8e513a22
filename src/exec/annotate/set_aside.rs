//! A document on which an operator panics or takes too long: set aside with the reason, as a line that cannot be read.
//!
//! Such a panic is a mistake of ours, or of who made the operator. A run of days does not end for it; the reject has the
//! document, to mend the operator with.

use super::apart::Late;
use super::dropped::is_of_data;
use crate::sources::{POSITION_COLUMN, Reject, RejectKind, RejectLog};
use crate::{Result, bug};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What stands for the file of a document whose place in the input is not known.
const NOWHERE: &str = "documents that an operator failed on";

/// Why the rows of a batch were not computed.
pub(super) enum Failure {
    Panic(String),
    Late(Late),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Panic(panic) => write!(f, "an operator failed on this document: {panic}"),
            Failure::Late(late) => late.fmt(f),
        }
    }
}

/// What `work` gives, or its panic as text.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("a panic without a message").to_string()
    })
}

/// Sets the only document of a batch aside.
pub(super) fn set_aside(rejects: Option<&RejectLog>, row: &RecordBatch, failure: &Failure) -> Result<()> {
    let Some(rejects) = rejects else { return Err(bug!("{failure}")) };
    let position = row.column_by_name(POSITION_COLUMN).and_then(|column| column.as_primitive_opt::<UInt64Type>());
    let position = position.and_then(|positions| positions.values().first().copied());
    let (file, line) = position.and_then(|at| rejects.place_of(at)).unwrap_or((NOWHERE.to_string(), 0));
    let fields = row.schema_ref().fields();
    let columns: Vec<usize> = (0..fields.len()).filter(|index| is_of_data(&fields[*index])).collect();
    let mut document = arrow::json::LineDelimitedWriter::new(vec![]);
    let written = row.project(&columns).and_then(|row| document.write(&row)).and_then(|()| document.finish());
    written.map_err(|error| bug!("a document as JSON: {error}"))?;
    rejects.report(Reject {
        file,
        line,
        byte_offset: 0,
        kind: match failure {
            Failure::Panic(_) => RejectKind::OperatorFailed,
            Failure::Late(_) => RejectKind::TooSlow,
        },
        reason: failure.to_string(),
        raw: document.into_inner(),
    })
}
