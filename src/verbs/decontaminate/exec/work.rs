//! The work of a decontamination: first the evaluations, then the documents; what it counts.

use super::{cut, drop, evals};
use crate::dedup::{Budget, DecontaminateMode, TaskNgrams, TaskReport};
use crate::exec::{Contamination, RunLog};
use crate::verbs::budget::{PoolBudget, threads};
use crate::verbs::decontaminate::DecontaminateRequest;
use crate::verbs::dedup::DedupColumns;
use crate::verbs::dedup::exec::apply::Dropped;
use crate::verbs::replay::Again;
use crate::verbs::working::Working;
use crate::{Error, Result, bug};
use arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, Time};
use rayon::ThreadPool;
use std::sync::{Arc, OnceLock};

/// What EXPLAIN ANALYZE tells of a decontamination.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// Documents with a match.
    pub hit: Count,
    /// Those of them that went.
    pub dropped: Count,
    /// Rows that the others became.
    pub pieces: Count,
    /// Bytes in temporary files.
    pub spilled_bytes: Count,
}

/// The names of the counters, for EXPLAIN ANALYZE.
pub(super) const HIT: &str = "decontaminate_hit";
pub(super) const DROPPED: &str = "decontaminate_dropped";
pub(super) const PIECES: &str = "decontaminate_pieces";

impl Counts {
    pub fn new(metrics: &ExecutionPlanMetricsSet) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, 0);
        Self {
            hit: counter(HIT),
            dropped: counter(DROPPED),
            pieces: counter(PIECES),
            spilled_bytes: MetricBuilder::new(metrics).spilled_bytes(0),
        }
    }
}

/// Everything that one decontamination needs.
pub(super) struct DecontaminateWork {
    pub request: Arc<DecontaminateRequest>,
    pub columns: DedupColumns,
    pub input_schema: SchemaRef,
    pub output_schema: SchemaRef,
    pub numbers_pieces: bool,
    pub dropped: Option<Dropped>,
    /// Gives rows again that were not kept.
    pub again: Option<Again>,
    pub log: Option<Arc<RunLog>>,
    /// For EXPLAIN ANALYZE, what became of the tasks.
    pub tasks: Arc<OnceLock<Vec<TaskReport>>>,
    pub counts: Counts,
    pub elapsed: Time,
}

impl DecontaminateWork {
    /// Reads the evaluations to their end, then the documents.
    pub fn run(&self, mut working: Working, context: &TaskContext) -> Result<()> {
        let Some(mut evals) = working.others.pop() else { return Err(bug!("a decontamination has two inputs")) };
        let budget = |what: &str| {
            PoolBudget::new(&format!("DecontaminateExec ({what})"), context, self.counts.spilled_bytes.clone())
        };
        let ngrams: Arc<dyn Budget> = Arc::new(budget("n-grams"));
        let threads = threads(ngrams.as_ref())?;
        match self.request.options.mode {
            DecontaminateMode::Drop => {
                let matcher = evals::drop_matcher(self, &mut evals, &ngrams)?;
                self.check(matcher.ngrams())?;
                let done = drop::run(self, &matcher, working, &threads);
                self.tell(matcher.ngrams());
                done
            }
            DecontaminateMode::Cut => {
                let matcher = evals::cut_matcher(self, &mut evals, &ngrams)?;
                self.check(matcher.ngrams())?;
                let done = cut::run(self, &matcher, working, &threads, &Arc::new(budget("documents")));
                self.tell(matcher.ngrams());
                done
            }
        }
    }

    /// A search for nothing would look like a corpus without contamination.
    fn check(&self, ngrams: &TaskNgrams) -> Result<()> {
        if !ngrams.is_empty() {
            return Ok(());
        }
        let options = &self.request.options;
        let n_words = match options.mode {
            DecontaminateMode::Drop => options.ngram,
            DecontaminateMode::Cut => options.min_ngram,
        };
        let n_texts: u64 = ngrams.report().iter().map(|task| task.n_texts).sum();
        let found = match n_texts {
            0 => "have no text".to_string(),
            1 => format!("have one text, of fewer than {n_words} words"),
            _ => format!("have {n_texts} texts, all of fewer than {n_words} words"),
        };
        Err(Error::Data(format!(
            "DECONTAMINATE AGAINST '{}': the files {found}, so nothing can be found",
            self.request.evals
        )))
    }

    /// What became of each task, also if nobody wanted all rows.
    fn tell(&self, ngrams: &TaskNgrams) {
        let tasks = ngrams.report();
        if let Some(log) = &self.log {
            log.add_contamination(Contamination { rule: self.request.label.clone(), tasks: tasks.clone() });
        }
        // A plan runs once.
        let _ = self.tasks.set(tasks);
    }

    /// Where the text is.
    pub fn text(&self) -> Result<usize> {
        self.columns.value.ok_or_else(|| bug!("{} has no text", self.request.label))
    }
}

/// On all threads, a result for each place.
pub(super) fn on_all<T: Send>(threads: &ThreadPool, n: usize, work: impl Fn(usize) -> T + Send + Sync) -> Vec<T> {
    use rayon::iter::{IntoParallelIterator, ParallelIterator};
    threads.install(|| (0..n).into_par_iter().map(work).collect())
}
