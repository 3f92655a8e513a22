//! The rows that rules dropped in one unit of a run, kept for a later attempt, and given to the ledger again.
//!
//! Each program of the unit has a file, in the order in which the programs were started; rows are written as the ledger
//! gets them, with their positions as a last column.

use crate::exec::ledger::Page;
use crate::store::{KeptFile, KeptPart, KeptReader};
use crate::{Error, Result, bug};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use arrow::ipc::writer::StreamWriter;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The name of the column with the positions.
const POSITION: &str = "_position";

/// The dropped rows of one unit.
pub(in crate::exec) struct KeptDrops {
    part: Arc<KeptPart>,
    unit: usize,
    files: Mutex<Vec<Option<StreamWriter<KeptFile>>>>,
}

impl fmt::Debug for KeptDrops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptDrops").field("part", &self.part).field("unit", &self.unit).finish_non_exhaustive()
    }
}

/// One program's way into its file.
#[derive(Debug)]
pub(in crate::exec) struct KeptPage {
    drops: Arc<KeptDrops>,
    number: usize,
    schema: SchemaRef,
}

impl KeptDrops {
    pub fn new(part: Arc<KeptPart>, unit: usize) -> Self {
        Self { part, unit, files: Mutex::default() }
    }

    /// The page of the program that is started next.
    pub fn open(self: &Arc<Self>, rows: &SchemaRef) -> KeptPage {
        let position = Arc::new(Field::new(POSITION, DataType::UInt64, true));
        let schema = Arc::new(Schema::new(rows.fields().iter().cloned().chain([position]).collect::<Vec<_>>()));
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.push(None);
        KeptPage { drops: Arc::clone(self), number: files.len() - 1, schema }
    }

    /// The files, complete; programs that dropped nothing have none.
    pub fn take(&self) -> Result<Vec<KeptFile>> {
        let files = std::mem::take(&mut *self.files.lock().unwrap_or_else(PoisonError::into_inner));
        let finish = |writer: StreamWriter<KeptFile>| writer.into_inner().map_err(|error| failed(&error));
        files.into_iter().flatten().map(finish).collect()
    }
}

impl KeptPage {
    pub fn write(&self, batch: &RecordBatch, positions: Option<&ArrayRef>) -> Result<()> {
        let n_rows = batch.num_rows();
        let positions = positions.cloned().unwrap_or_else(|| Arc::new(UInt64Array::new_null(n_rows)));
        let columns = batch.columns().iter().cloned().chain([positions]).collect();
        let rows = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|error| failed(&error))?;
        let mut files = self.drops.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(slot) = files.get_mut(self.number) else { return Err(bug!("a row was dropped after its unit ended")) };
        let writer = match slot {
            Some(writer) => writer,
            none => {
                let file = self.drops.part.create(self.drops.unit, &file_name(self.number))?;
                none.insert(super::unit::writer(file, &self.schema)?)
            }
        };
        writer.write(&rows).map_err(|error| failed(&error))
    }
}

/// Gives the ledger what was dropped. `pages` are those of the programs, in the order in which they would be started.
pub(super) fn replay(pages: Vec<Page>, files: &mut Vec<KeptReader>) -> Result<()> {
    for (number, page) in pages.into_iter().enumerate() {
        let name = file_name(number);
        let Some(at) = files.iter().position(|file| file.name == name) else { continue };
        for batch in super::unit::reader(files.swap_remove(at))? {
            let batch = batch.map_err(|error| failed(&error))?;
            let (positions, n_columns) = match batch.columns().split_last() {
                Some((positions, columns)) => (Arc::clone(positions), columns.len()),
                None => return Err(bug!("dropped rows without positions")),
            };
            let done_to = positions.as_primitive_opt::<UInt64Type>().and_then(|positions| {
                let last = positions.len().checked_sub(1).filter(|last| positions.is_valid(*last))?;
                Some(positions.value(last) + 1)
            });
            let rows = batch.project(&(0..n_columns).collect::<Vec<_>>()).map_err(|error| failed(&error))?;
            let positions = Some(positions).filter(|positions| positions.null_count() == 0);
            page.add(Some(rows), positions, done_to)?;
        }
    }
    Ok(())
}

fn file_name(number: usize) -> String {
    format!("dropped-{number}")
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::Data(format!("dropped documents could not be kept for `--resume`, or not be read again: {error}"))
}
