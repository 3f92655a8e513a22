//! Work that may not end: done on a thread of its own, which is left behind when it takes too long.
//!
//! ```text
//! partition ──a step on a batch──► thread apart ──► values                    the partition goes on
//!           └─waits document_timeout─────────────► Late: one document after the other, the one at fault is set aside
//! ```
//! No thread can be stopped from outside, so one that is stuck works on until the process ends; the run goes on without it.
//! Steps go to such a thread where they may take long: if a document is long, and always if an operator is not one of
//! ours. On short documents ours take next to no time, and are computed in place.
//!
//! Not here: which document is at fault, and what becomes of it (`evaluator.rs`, `set_aside.rs`).

use super::program::{Program, StepKind};
use crate::config::format_duration;
use crate::ops::is_shipped;
use crate::sources::text_bytes_per_row;
use arrow::array::RecordBatch;
use datafusion::error::{DataFusionError, Result};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A batch with a document of this size is worked on apart, whatever is computed.
const LONG_BYTES: u64 = 64 << 10;
/// So many threads may be left behind: each takes a processor.
const MAX_LEFT_BEHIND: usize = 16;
/// As the threads that queries run on have.
const STACK_BYTES: usize = 16 << 20;

/// How many threads of the process were left behind and have not ended.
static N_LEFT_BEHIND: AtomicUsize = AtomicUsize::new(0);

/// How long a step may work on a document; `None`: as long as it takes. Executors find it in their configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DocumentTimeout(pub Option<Duration>);

/// Work took longer than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) struct Late(pub Duration);

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it took longer than document_timeout allows ({})", format_duration(Some(self.0)))
    }
}

impl std::error::Error for Late {}

impl Late {
    /// The lateness that ended the work, if that is why it failed.
    pub fn of(error: &DataFusionError) -> Option<Late> {
        match error {
            DataFusionError::External(inner) => inner.downcast_ref::<Late>().copied(),
            _ => None,
        }
    }
}

/// Where the steps of one partition run.
pub(super) struct Apart {
    limit: Option<Duration>,
    /// For each step, whether it calls an operator of which nothing is known.
    is_foreign: Vec<bool>,
    /// How many times the limit a batch of several documents may take. It doubles where a batch was late and none of its
    /// documents was.
    patience: AtomicU32,
    thread: Mutex<Option<Sender<Job>>>,
}

type Job = Box<dyn FnOnce() + Send>;

impl Apart {
    /// For the steps of a program.
    pub fn new(program: &Program, limit: Option<Duration>) -> Self {
        let is_foreign = program.steps.iter().map(|step| match &step.work {
            StepKind::Pass { statistics, .. } => statistics.iter().any(|(_, call)| !is_shipped(call.spec.name)),
            StepKind::Call { call, .. } => !is_shipped(call.spec.name),
            StepKind::Expr { .. } => false,
        });
        Self { limit, is_foreign: is_foreign.collect(), patience: AtomicU32::new(1), thread: Mutex::default() }
    }

    /// Whether everything on this batch is to run apart.
    pub fn is_long(&self, batch: &RecordBatch) -> bool {
        self.limit.is_some() && text_bytes_per_row(batch).iter().any(|n_bytes| *n_bytes >= LONG_BYTES)
    }

    /// Whether a step is to run apart on any batch.
    pub fn is_foreign(&self, step: usize) -> bool {
        self.limit.is_some() && self.is_foreign.get(step) == Some(&true)
    }

    /// A batch was late, and none of its documents was.
    pub fn have_patience(&self) {
        let doubled = |times: u32| Some(times.saturating_mul(2));
        let _ = self.patience.fetch_update(Ordering::Relaxed, Ordering::Relaxed, doubled);
    }

    /// What `work` gives, which is on so many documents; its panics are passed on.
    pub fn call<T: Send + 'static>(
        &self,
        n_docs: usize,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Some(limit) = self.limit else { return work() };
        let (sender, receiver) = sync_channel(0);
        let job = Box::new(move || {
            let done = catch_unwind(AssertUnwindSafe(work));
            if sender.send(done).is_err() {
                // Nobody waits for it any more.
                N_LEFT_BEHIND.fetch_sub(1, Ordering::Relaxed);
            }
        });
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let jobs = match thread.take() {
            Some(jobs) => jobs,
            None => begin()?,
        };
        if jobs.send(job).is_err() {
            return Err(crate::bug!("a thread of operators ended unexpectedly").into());
        }
        let patience = if n_docs > 1 { self.patience.load(Ordering::Relaxed) } else { 1 };
        match receiver.recv_timeout(limit.saturating_mul(patience)) {
            Ok(done) => {
                *thread = Some(jobs);
                done.unwrap_or_else(|panic| resume_unwind(panic))
            }
            Err(RecvTimeoutError::Timeout) if N_LEFT_BEHIND.fetch_add(1, Ordering::Relaxed) < MAX_LEFT_BEHIND => {
                Err(DataFusionError::External(Box::new(Late(limit))))
            }
            Err(RecvTimeoutError::Timeout) => Err(crate::Error::Data(format!(
                "{MAX_LEFT_BEHIND} documents at a time take longer than document_timeout allows ({}); raise it, or leave out \
                 what is so slow",
                format_duration(Some(limit))
            ))
            .into()),
            Err(RecvTimeoutError::Disconnected) => Err(crate::bug!("a thread of operators left no answer").into()),
        }
    }
}

/// A thread that does one job after the other, until nobody has any more.
fn begin() -> Result<Sender<Job>> {
    let (sender, jobs) = channel::<Job>();
    let thread = std::thread::Builder::new().name("curator-apart".into()).stack_size(STACK_BYTES);
    let begun = thread.spawn(move || jobs.into_iter().for_each(|job| job()));
    begun.map_err(|error| crate::Error::Data(format!("cannot start a thread for operators: {error}")))?;
    Ok(sender)
}
