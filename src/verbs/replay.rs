//! The rows of a verb once more, partition by partition: read and computed again, or from where the run keeps them.
//!
//! Invariant: what is read again is told to nobody: rejects, dropped rows and counters are those of the first time.
//! Not here: rows that a verb keeps itself (`documents.rs`).

use crate::exec::CheckpointExec;
use crate::verb::{REPLAYED_ROWS, ReplayFrom, Start, only_scan, own_splits, with_config};
use crate::{Error, Result, bug};
use arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::execution::TaskContext;
use datafusion::execution::config::SessionConfig;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::metrics::{Count, MetricBuilder};
use futures::StreamExt;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Batches that may wait for whoever goes through them.
const QUEUE_BATCHES: usize = 2;

/// Batches, one after the other.
pub(super) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Gives the rows of a partition again.
pub(super) type Again = Arc<dyn Fn(usize) -> Result<Batches> + Send + Sync>;

/// How the rows that an operator starts with can be had again, if it need not keep them.
pub(super) fn again(start: &Start<'_>) -> Option<Again> {
    let (rows, context) = (Arc::clone(start.input), Arc::clone(&start.context));
    let n_rows = MetricBuilder::new(start.metrics).global_counter(REPLAYED_ROWS);
    match start.replay {
        ReplayFrom::Spool => None,
        ReplayFrom::Checkpoint => CheckpointExec::keeps(&context)
            .then(|| Arc::new(move |partition| Ok(counted(kept(&rows, partition, &context)?, &n_rows))) as Again),
        ReplayFrom::Source => {
            let runtime = Handle::try_current().ok()?;
            let again = move |partition| Ok(counted(read(&rows, partition, &context, &runtime)?, &n_rows));
            Some(Arc::new(again))
        }
    }
}

fn counted(batches: Batches, n_rows: &Count) -> Batches {
    let n_rows = n_rows.clone();
    Box::new(batches.inspect(move |batch| n_rows.add(batch.as_ref().map_or(0, RecordBatch::num_rows))))
}

fn kept(rows: &Arc<dyn ExecutionPlan>, partition: usize, context: &TaskContext) -> Result<Batches> {
    let checkpoint = rows.downcast_ref::<CheckpointExec>();
    let checkpoint = checkpoint.ok_or_else(|| bug!("{} keeps no rows", rows.name()))?;
    Ok(Box::new(checkpoint.given_again(partition, context)?))
}

fn read(rows: &Arc<dyn ExecutionPlan>, partition: usize, context: &TaskContext, runtime: &Handle) -> Result<Batches> {
    let source = Arc::clone(rows);
    let own = own_splits(rows, partition).ok_or_else(|| bug!("rows of several sources cannot be read again"))?;
    let check = {
        let own = own.clone();
        move || only_scan(&source).map_or(Ok(()), |scan| scan.check_files(&own))
    };
    check()?;
    // Without its extensions: there is no log of rejects, no ledger and no report to tell.
    let config = SessionConfig::from(context.session_config().options().as_ref().clone()).with_extension(Arc::new(own));
    // With counters of its own.
    let plan = reset_plan_states(Arc::clone(rows))?;
    let _entered = runtime.enter();
    let mut rows = plan.execute(partition, with_config(context, config))?;
    let (sender, mut queue) = mpsc::channel(QUEUE_BATCHES);
    let reading = SpawnedTask::spawn(async move {
        while let Some(batch) = rows.next().await {
            if sender.send(batch.map_err(Error::from)).await.is_err() {
                return;
            }
        }
    });
    let mut is_over = false;
    Ok(Box::new(std::iter::from_fn(move || {
        // Dropped with the iterator, which ends it.
        let _reading = &reading;
        let batch = if is_over { None } else { queue.blocking_recv() };
        // What was written while it was read is found here.
        let ends = batch.is_none() && !std::mem::replace(&mut is_over, true);
        batch.or_else(|| if ends { check().err().map(Err) } else { None })
    })))
}
