//! The rows that rules dropped in one unit of a run, kept for a later attempt, and given to the ledger again.
//!
//! Each program of the unit has a file, in the order in which the programs were started; rows are written as the ledger
//! gets them, with their keys as a last column.

use crate::exec::ledger::DropWriter;
use crate::store::{KeptFile, KeptPart, KeptReader};
use crate::{Error, Result, bug};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow::ipc::writer::StreamWriter;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

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
pub(in crate::exec) struct KeptDropWriter {
    drops: Arc<KeptDrops>,
    number: usize,
    schema: SchemaRef,
}

impl KeptDrops {
    pub fn new(part: Arc<KeptPart>, unit: usize) -> Self {
        Self { part, unit, files: Mutex::default() }
    }

    /// The way into the file of the program that is started next.
    pub fn open(self: &Arc<Self>, schema: &SchemaRef) -> KeptDropWriter {
        let schema = Arc::clone(schema);
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.push(None);
        KeptDropWriter { drops: Arc::clone(self), number: files.len() - 1, schema }
    }

    /// The files, complete; programs that dropped nothing have none.
    pub fn take(&self) -> Result<Vec<KeptFile>> {
        let files = std::mem::take(&mut *self.files.lock().unwrap_or_else(PoisonError::into_inner));
        let finish = |writer: StreamWriter<KeptFile>| writer.into_inner().map_err(|error| failed(&error));
        files.into_iter().flatten().map(finish).collect()
    }
}

impl KeptDropWriter {
    pub fn write(&self, rows: &RecordBatch) -> Result<()> {
        let mut files = self.drops.files.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(slot) = files.get_mut(self.number) else { return Err(bug!("a row was dropped after its unit ended")) };
        let writer = match slot {
            Some(writer) => writer,
            none => {
                let file = self.drops.part.create(self.drops.unit, &file_name(self.number))?;
                none.insert(super::unit::writer(file, &self.schema)?)
            }
        };
        writer.write(rows).map_err(|error| failed(&error))
    }
}

/// Gives the ledger what was dropped. `writers` are those of the programs, in the order in which they would be started.
pub(super) fn replay(writers: Vec<DropWriter>, files: &mut Vec<KeptReader>) -> Result<()> {
    for (number, writer) in writers.into_iter().enumerate() {
        let name = file_name(number);
        let Some(at) = files.iter().position(|file| file.name == name) else { continue };
        for batch in super::unit::reader(files.swap_remove(at))? {
            let batch = batch.map_err(|error| failed(&error))?;
            let keys = batch.columns().last().and_then(|keys| keys.as_binary_opt::<i32>());
            let last = keys.zip(batch.num_rows().checked_sub(1)).map(|(keys, last)| keys.value(last).to_vec());
            writer.add_keyed(Some(batch), last)?;
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
