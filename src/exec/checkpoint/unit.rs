//! One unit of a chain: worked on and kept, or given again from what was kept.

use super::counts::{self, Counts};
use super::drops::{self, KeptDrops};
use super::{Checkpoints, Part};
use crate::exec::ledger::{DropWriter, Ledger};
use crate::exec::{AnnotateExec, DeviceExec};
use crate::sources::{KEPT_REJECTS, RejectLog, SplitShare};
use crate::store::{KeptFile, KeptReader};
use crate::verb::with_config;
use crate::{Error, Result, bug};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow::ipc::{CompressionType, MetadataVersion};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::Count;
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use std::io::BufReader;
use std::sync::Arc;

/// The name of the file with the rows of a unit.
const ROWS: &str = "rows";

/// What is noted of a unit beside its files.
#[derive(Debug, Serialize, Deserialize)]
struct Facts {
    counts: Counts,
}

/// One partition of a chain at work, unit by unit.
pub(super) struct Worker {
    pub chain: Arc<dyn ExecutionPlan>,
    pub checkpoints: Arc<Checkpoints>,
    pub part: Arc<Part>,
    pub partition: usize,
    pub context: Arc<TaskContext>,
    pub unit: Option<Unit>,
    /// Bytes of the source that were read for units that had been kept.
    pub bytes_kept: Count,
}

/// The unit under way.
pub(super) enum Unit {
    Working(Box<Working>),
    /// The rows of a kept unit.
    Kept(Box<dyn Iterator<Item = Result<RecordBatch>> + Send>),
}

pub(super) struct Working {
    number: usize,
    rows: SendableRecordBatchStream,
    file: StreamWriter<KeptFile>,
    rejects: Arc<RejectLog>,
    drops: Arc<KeptDrops>,
    before: Counts,
}

impl Worker {
    /// The next rows: of the unit under way, or of the next one that nobody has taken.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            match &mut self.unit {
                None => match self.take()? {
                    Some(unit) => self.unit = Some(unit),
                    None => return Ok(None),
                },
                Some(Unit::Kept(rows)) => match rows.next() {
                    Some(rows) => return rows.map(Some),
                    None => self.unit = None,
                },
                Some(Unit::Working(working)) => match working.rows.next().await.transpose()? {
                    Some(rows) => {
                        working.file.write(&rows).map_err(|error| failed(&error))?;
                        return Ok(Some(rows));
                    }
                    None => self.complete().await?,
                },
            }
        }
    }

    /// Takes the next unit. Units are begun in their order, whoever takes them: the ledger writes nothing that lies behind
    /// a unit that has begun and is not done.
    fn take(&self) -> Result<Option<Unit>> {
        let mut next = self.part.next();
        loop {
            let Some(number) = self.part.take(&mut next) else { return Ok(None) };
            let kept = self.part.kept.open::<Facts>(number)?;
            match kept {
                Some(_) if self.checkpoints.only_keeps() => self.part.count_kept(),
                Some((facts, files)) => {
                    self.part.note_given(self.partition, number);
                    let writers = self.drop_writers()?;
                    drop(next);
                    return self.give_again(&facts, files, writers).map(Some);
                }
                None => {
                    self.part.note_given(self.partition, number);
                    return self.begin(number).map(|working| Some(Unit::Working(Box::new(working))));
                }
            }
        }
    }

    fn begin(&self, number: usize) -> Result<Working> {
        let before = counts::of_chain(&self.chain, self.partition);
        let kept = &self.part.kept;
        let config = self.context.session_config();
        let rejects = Arc::new(RejectLog::keeping(config.get_extension(), Arc::clone(kept), number));
        let drops = Arc::new(KeptDrops::new(Arc::clone(kept), number));
        let share = SplitShare::from(self.part.splits_of(number));
        let ledger = config.get_extension::<Ledger>().map(|ledger| ledger.keeping(Arc::clone(&drops)));
        let mut config = config.clone().with_extension(Arc::clone(&rejects)).with_extension(Arc::new(share));
        if let Some(ledger) = ledger {
            config = config.with_extension(Arc::new(ledger));
        }
        let context = with_config(&self.context, config);
        let file = writer(kept.create(number, ROWS)?, &self.chain.schema())?;
        let rows = self.chain.execute(self.partition, context)?;
        Ok(Working { number, rows, file, rejects, drops, before })
    }

    /// All rows of the unit under way have come: from here on it counts as done.
    async fn complete(&mut self) -> Result<()> {
        let Some(Unit::Working(working)) = self.unit.take() else { return Err(bug!("no unit was under way")) };
        let Working { number, rows, file, rejects, drops, before } = *working;
        // Its ways into the ledger are closed with it.
        drop(rows);
        let counts = counts::since(&before, counts::of_chain(&self.chain, self.partition));
        let mut files = vec![file.into_inner().map_err(|error| failed(&error))?];
        files.extend(rejects.take_kept());
        files.extend(drops.take()?);
        let kept = Arc::clone(&self.part.kept);
        let completed = tokio::task::spawn_blocking(move || kept.complete(number, files, Facts { counts }));
        completed.await.map_err(|error| bug!("a unit could not be completed: {error}"))?
    }

    /// Everything that a kept unit gave in the run that worked on it.
    fn give_again(&self, facts: &Facts, mut files: Vec<KeptReader>, writers: Vec<DropWriter>) -> Result<Unit> {
        self.part.count_kept();
        self.bytes_kept.add(counts::restore(&self.chain, self.partition, &facts.counts) as usize);
        drops::replay(writers, &mut files)?;
        let mut rows = None;
        for file in files {
            match file.name.as_str() {
                ROWS => rows = Some(reader(file)?),
                KEPT_REJECTS => {
                    if let Some(log) = self.context.session_config().get_extension::<RejectLog>() {
                        log.replay(file)?;
                    }
                }
                other => return Err(bug!("a unit has kept a file `{other}` that nobody knows")),
            }
        }
        let Some(rows) = rows else { return Err(bug!("a unit has kept no rows")) };
        Ok(Unit::Kept(Box::new(rows.map(|batch| batch.map_err(|error| failed(&error))))))
    }

    /// The ways of the chain's programs into the drop ledger, in the order in which they would be started.
    pub fn drop_writers(&self) -> Result<Vec<DropWriter>> {
        let mut nodes = vec![&self.chain];
        while let Some(input) = nodes.last().and_then(|node| node.children().first().copied()) {
            nodes.push(input);
        }
        let program = |node: &&Arc<dyn ExecutionPlan>| {
            let device = node.downcast_ref::<DeviceExec>().map(DeviceExec::annotate);
            let program = device.or_else(|| node.downcast_ref::<AnnotateExec>())?;
            program.drop_writer(self.partition, &self.context).map_err(Error::from).transpose()
        };
        nodes.iter().rev().filter_map(program).collect()
    }
}

/// The rows of a unit that is kept.
pub(super) fn rows_of(part: &Part, number: usize) -> Box<dyn Iterator<Item = Result<RecordBatch>> + Send> {
    let open = || -> Result<_> {
        let kept = part.kept.open::<Facts>(number)?;
        let file = kept.and_then(|(_, files)| files.into_iter().find(|file| file.name == ROWS));
        reader(file.ok_or_else(|| failed(&format!("unit {number} is no longer there")))?)
    };
    match open() {
        Ok(rows) => Box::new(rows.map(|batch| batch.map_err(|error| failed(&error)))),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

/// A file of rows of this schema.
pub(super) fn writer(file: KeptFile, schema: &SchemaRef) -> Result<StreamWriter<KeptFile>> {
    let options = IpcWriteOptions::try_new(64, false, MetadataVersion::V5)
        .and_then(|options| options.try_with_compression(Some(CompressionType::LZ4_FRAME)));
    let options = options.map_err(|error| failed(&error))?;
    StreamWriter::try_new_with_options(file, schema, options).map_err(|error| failed(&error))
}

/// The rows of a kept file.
pub(super) fn reader(file: KeptReader) -> Result<StreamReader<BufReader<KeptReader>>> {
    StreamReader::try_new(BufReader::with_capacity(128 << 10, file), None).map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::Data(format!("rows could not be kept for `--resume`, or not be read again: {error}"))
}
