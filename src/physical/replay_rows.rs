//! `ReplayRows`: where a verb gets the rows from that it goes through again, if they do not fit in memory.

use crate::config::{ReplayChoice, format_bytes};
use crate::cost::{RowEstimate, format_seconds};
use crate::exec::{AnnotateExec, CheckpointExec, ModelExec};
use crate::sources::FileScanExec;
use crate::verb::{Replay, ReplayFrom, VerbExec, only_scan};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// What a byte of documents costs on its way into a temporary file, packed, and out of it again.
const SPOOL_WRITE_NS_PER_BYTE: f64 = 1.6;
const SPOOL_READ_NS_PER_BYTE: f64 = 0.8;
/// What a byte of a source costs, unpacked: to unpack it, and to make columns of it.
const UNPACK_NS_PER_BYTE: f64 = 2.0;
const DECODE_NS_PER_BYTE: f64 = 1.0;
/// A deduplication has three claims on the memory, of which documents are one: keys, clusters, documents.
const CLAIMS: usize = 3;
/// Each partition reads splits of its own when it reads them again: with fewer than so many, some would have much more to do.
const LEAST_SPLITS_OF_A_PARTITION: usize = 4;

/// Lets rows come again from where they came, or from where a run keeps them anyway, in place of a temporary file.
///
/// ```text
/// DedupExec: in a temporary file           DedupExec: read again from the source
///   AnnotateExec: exact_hash(text)    ⇒      AnnotateExec: exact_hash(text)
///     FileScanExec: 'crawl/'                   FileScanExec: 'crawl/'
/// ```
/// Sound because a partition that reads splits of its own gives the same rows in the same order each time; a file that has
/// changed in between is an error. Pays off where what comes before the verb is cheaper than writing its rows and reading them
/// back, once for each time that it goes through them; and where a [`CheckpointExec`] has them on the disk already.
/// Refuses rows of several sources or of pipes, what is done to more than one row at a time, on a device, or comes out
/// differently each time (`random()`), and limits. Without being asked, also what fits in memory.
#[derive(Debug)]
pub struct ReplayRows {
    /// What is asked for.
    pub choice: ReplayChoice,
    /// What all operators may hold together.
    pub memory_limit_bytes: Option<usize>,
}

impl PhysicalOptimizerRule for ReplayRows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let replaying = plan.transform_up(|node| {
            let Some(verb) = node.downcast_ref::<VerbExec>() else { return Ok(Transformed::no(node)) };
            let Some(replay) = self.replay(verb)? else { return Ok(Transformed::no(node)) };
            Ok(Transformed::yes(Arc::new(verb.with_replay(replay)) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(replaying.data)
    }

    fn name(&self) -> &str {
        "ReplayRows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

impl ReplayRows {
    fn replay(&self, verb: &VerbExec) -> Result<Option<Replay>> {
        let n_replays = f64::from(verb.operator().n_replays());
        let rows = verb.rows();
        if n_replays == 0.0 || self.choice == ReplayChoice::Spool {
            return Ok(None);
        }
        if rows.is::<CheckpointExec>() {
            let note = "documents: kept in memory while it lasts, and gone through again where they are kept for another attempt";
            return Ok(Some(Replay { from: ReplayFrom::Checkpoint, note: note.to_string() }));
        }
        let Some(scan) = only_scan(rows).filter(|scan| scan.table().can_be_read_again()) else { return Ok(None) };
        let Some(Again { ns, documents }) = again(rows, scan)? else { return Ok(None) };
        let seconds = |ns: f64| format_seconds(ns * n_replays / 1e9);
        let spool_ns = documents.text_bytes() * (SPOOL_WRITE_NS_PER_BYTE / n_replays + SPOOL_READ_NS_PER_BYTE);
        let n_bytes = documents.text_bytes() as usize;
        let size = format_bytes(n_bytes);
        let times = if n_replays > 1.0 { format!(", {n_replays} times") } else { String::new() };
        let costs = format!("{} of computing, {} in a temporary file; estimated", seconds(ns), seconds(spool_ns));
        let from_source = |note: String| Ok(Some(Replay { from: ReplayFrom::Source, note }));
        if self.choice == ReplayChoice::Source {
            return from_source(format!(
                "documents: kept in memory while it lasts, then read again from the source{times} (about {size}; {costs})"
            ));
        }
        let n_partitions = rows.output_partitioning().partition_count();
        let is_even = n_partitions == 1 || scan.n_splits() >= LEAST_SPLITS_OF_A_PARTITION * n_partitions;
        if self.memory_limit_bytes.is_none_or(|limit| n_bytes <= limit / CLAIMS) || !is_even {
            return Ok(None);
        }
        let too_much = format!("documents: about {size}, more than fits in memory");
        if ns < spool_ns {
            return from_source(format!("{too_much}: read again from the source{times} ({costs})"));
        }
        let note = format!("{too_much}: in a temporary file ({costs})");
        Ok(Some(Replay { from: ReplayFrom::Spool, note }))
    }
}

/// What it takes to have rows again.
struct Again {
    ns: f64,
    documents: RowEstimate,
}

/// What it takes to read and compute rows again, if they would be the same.
fn again(rows: &Arc<dyn ExecutionPlan>, scan: &FileScanExec) -> Result<Option<Again>> {
    if rows.fetch().is_some() || computes_differently(rows)? {
        return Ok(None);
    }
    if rows.is::<FileScanExec>() {
        let n_bytes = scan.table().unpacked_bytes() as f64;
        let is_packed = scan.table().total_bytes() as f64 != n_bytes;
        let ns_per_byte = DECODE_NS_PER_BYTE + if is_packed { UNPACK_NS_PER_BYTE } else { 0.0 };
        return Ok(Some(Again { ns: n_bytes * ns_per_byte, documents: RowEstimate::guess(None, Some(n_bytes)) }));
    }
    if let (Some(model), [input]) = (rows.downcast_ref::<ModelExec>(), &rows.children()[..]) {
        let again = again(input, scan)?;
        let with_model = |Again { ns, documents }: Again| {
            let text_bytes = documents.text_bytes_per_row as usize;
            Again { ns: ns + model.ns_per_row(text_bytes) * documents.n_rows, documents }
        };
        return Ok(again.map(with_model));
    }
    let annotate = rows.downcast_ref::<AnnotateExec>();
    if annotate.is_none() && !rows.is::<ProjectionExec>() && !rows.is::<CooperativeExec>() {
        return Ok(None);
    }
    let [input] = rows.children()[..] else { return Ok(None) };
    let below = again(input, scan)?;
    Ok(below.map(|below| annotate.map_or(Again { ..below }, |annotate| after(annotate, &below))))
}

/// The rules in their order, each on the rows that those before it left; then what is left to compute.
fn after(annotate: &AnnotateExec, below: &Again) -> Again {
    let program = annotate.program();
    let Again { mut ns, mut documents } = *below;
    let mut is_computed = vec![false; program.steps.len()];
    let mut compute = |step: usize, n_rows: f64| {
        let is_computed = std::mem::replace(&mut is_computed[step], true);
        if is_computed { 0.0 } else { program.steps[step].ns_per_row * n_rows }
    };
    for rule in &program.rules {
        ns += rule.needs.iter().map(|step| compute(*step, documents.n_rows)).sum::<f64>();
        ns += rule.ns_per_row * documents.n_rows;
        documents = documents.after_rule();
    }
    ns += (0..program.steps.len()).map(|step| compute(step, documents.n_rows)).sum::<f64>();
    Again { ns, documents }
}

/// Whether a node computes something that is another value each time.
fn computes_differently(node: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(&mut |expr| {
        found |= is_volatile(expr);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::session::{Compiled, ExplainFormat, Language, Session, Stage};
    use crate::{Config, diag::SourceText};
    use std::num::NonZeroUsize;

    /// What EXPLAIN says of the documents of a query over about 3 MB.
    fn documents(query: &str, n_threads: usize, memory_bytes: usize) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, format!("{{\"id\":1,\"text\":\"{}\"}}\n", "one two ".repeat(250)).repeat(1500)).unwrap();
        let count = |n| NonZeroUsize::new(n).unwrap();
        let config = Config {
            threads: count(n_threads),
            block_bytes: count(200_000),
            batch_bytes: count(20_000),
            memory_limit_bytes: Some(memory_bytes),
            ..Config::default()
        };
        let mut session = Session::new(config).unwrap();
        let source = SourceText::new("query", query.replace("docs", &format!("'{}'", path.display())));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let plan = runtime.block_on(async {
            let script = session.parse(&source, Language::Cql).unwrap();
            let Compiled::Query(plan) = session.compile(&script, 0).await.unwrap() else { return String::new() };
            session.explain(&plan, Stage::Physical, ExplainFormat::Tree).await.unwrap()
        });
        let notes = plan.lines().map(|line| line.trim_start_matches([' ', '│']));
        notes.filter(|line| line.starts_with("documents:")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn cheap_rows_that_do_not_fit_are_read_again_and_expensive_ones_spooled() {
        let cheap = documents("FROM docs |> DEDUP EXACT ON text", 1, 1 << 20);
        assert!(cheap.contains("more than fits in memory: read again from the source ("), "{cheap}");
        let twice = documents("FROM docs |> DEDUP EXACT ON text WITH (verify = true)", 2, 1 << 20);
        assert!(twice.contains("read again from the source, 2 times ("), "{twice}");
        let expensive =
            documents("FROM docs |> WHERE top_ngram_char_ratio(text) < 2 |> DEDUP FUZZY ON text", 1, 1 << 20);
        assert!(expensive.contains("more than fits in memory: in a temporary file ("), "{expensive}");
    }

    #[test]
    fn what_fits_or_would_not_be_the_same_is_not_read_again() {
        for (query, n_threads, memory_bytes) in [
            ("FROM docs |> DEDUP EXACT ON text", 1, 1 << 30),
            ("FROM docs |> EXTEND random() AS r |> DEDUP EXACT ON text", 1, 1 << 20),
            ("FROM docs |> DEDUP EXACT ON id |> DEDUP EXACT ON text", 1, 1 << 20),
            ("FROM docs |> UNION ALL docs |> DEDUP EXACT ON text", 2, 1 << 20),
            ("FROM docs |> LIMIT 1000 |> DEDUP EXACT ON text", 1, 1 << 20),
            // Sixteen splits for eight partitions: the last ones would have nothing to do for half of the time.
            ("FROM docs |> DEDUP EXACT ON text", 8, 1 << 20),
        ] {
            let said = documents(query, n_threads, memory_bytes);
            let first = said.lines().next().unwrap();
            assert!(first.ends_with("then in a temporary file, and gone through again"), "{query}: {said}");
        }
    }
}
