//! `GatherInOrder`: where the partitions of a scan come together in input order, no row is copied and none waits idly.

use crate::exec::GatherExec;
use crate::sources::{FileScanExec, is_position};
use crate::verb::VerbExec;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// What partitions may have ready before their turn, without a limit that says less.
const MAX_AHEAD_BYTES: usize = 1 << 30;

/// Replaces a merge of partitions by the position that their scan gave.
///
/// ```text
/// SortPreservingMergeExec: [_seq_0@1 ASC]   ⇒   GatherExec: [_seq_0@1 ASC]
///   FilterExec: words(text) > 50                  FilterExec: words(text) > 50
///     FileScanExec: 'docs/'                         FileScanExec: 'docs/'
/// ```
/// Sound because both give the rows of sorted partitions in one order. Pays off because partitions of a scan hold whole
/// splits: a merge would copy each row, and let a partition work only when its turn has come.
/// A verb that works in stages gives the partitions of its scan, with fewer rows, or with pieces of rows; a union those of its
/// branches, one branch after the other. Pieces of a row have its position and are in one partition, where they stand in the
/// order of further columns.
/// Leaves alone merges with a limit, by a column that does not tell rows apart, and of partitions that are not those of a
/// scan: after a repartitioning, neighbours lie apart.
#[derive(Debug)]
pub struct GatherInOrder {
    /// What may be in memory at once; an eighth of it waits here.
    pub memory_limit_bytes: Option<usize>,
}

impl PhysicalOptimizerRule for GatherInOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let max_ahead_bytes = self.memory_limit_bytes.map_or(MAX_AHEAD_BYTES, |limit| MAX_AHEAD_BYTES.min(limit / 8));
        let gathered = plan.transform_up(|node| {
            let Some(merge) = node.downcast_ref::<SortPreservingMergeExec>() else { return Ok(Transformed::no(node)) };
            let key = merge.expr().first();
            let Some(column) = key.expr.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
            let schema = merge.input().schema();
            let field = schema.field(column.index());
            let is_known = match field.data_type() {
                DataType::UInt64 => !field.is_nullable(),
                // Of a union, which numbers its branches; no row is without a number, whatever the type says.
                DataType::Decimal128(38, 0) => true,
                _ => false,
            };
            // An outer join with nothing on one side leaves a position that is null, or the same, for all rows.
            let is_constant = merge.input().equivalence_properties().is_expr_constant(&key.expr).is_some();
            let tells_rows_apart = is_known && !is_constant;
            let is_forward = is_position(column.name()) && tells_rows_apart && !key.options.descending;
            let scans = scans_of_partitions(merge.input()).filter(|_| is_forward && merge.fetch().is_none());
            let Some(scans) = scans else { return Ok(Transformed::no(node)) };
            // Each partition may be a split ahead, and begin with the next.
            let split_bytes = |scan: &&FileScanExec| {
                scan.table().split_bytes().saturating_mul(2 * scan.properties().partitioning.partition_count())
            };
            let ahead_bytes = scans.iter().map(split_bytes).fold(0, usize::saturating_add).min(max_ahead_bytes);
            let gather = GatherExec::new(Arc::clone(merge.input()), column.index(), merge.expr().clone(), ahead_bytes);
            Ok(Transformed::yes(Arc::new(gather) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(gathered.data)
    }

    fn name(&self) -> &str {
        "GatherInOrder"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The scans, if each partition is made of the rows of one partition of one of them, in their order.
fn scans_of_partitions(plan: &Arc<dyn ExecutionPlan>) -> Option<Vec<&FileScanExec>> {
    if let Some(scan) = plan.downcast_ref::<FileScanExec>() {
        return Some(vec![scan]);
    }
    if plan.is::<UnionExec>() {
        let branches = plan.children().into_iter().map(scans_of_partitions).collect::<Option<Vec<_>>>()?;
        return Some(branches.into_iter().flatten().collect());
    }
    if let Some(verb) = plan.downcast_ref::<VerbExec>() {
        return if verb.keeps_partitions() { scans_of_partitions(verb.rows()) } else { None };
    }
    let n_partitions = |plan: &Arc<dyn ExecutionPlan>| plan.output_partitioning().partition_count();
    match plan.children().as_slice() {
        [input] if n_partitions(input) == n_partitions(plan) && plan.maintains_input_order() == [true] => {
            scans_of_partitions(input)
        }
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::session::{Compiled, ExplainFormat, Language, Session, Stage};
    use crate::{Config, diag::SourceText};
    use std::num::NonZeroUsize;

    fn planned(query: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, "{\"id\":1,\"text\":\"one two\"}\n".repeat(100)).unwrap();
        let count = |n| NonZeroUsize::new(n).unwrap();
        let config = Config { threads: count(4), batch_bytes: count(100), ..Config::default() };
        let mut session = Session::new(config).unwrap();
        let text = query.replace("docs", &format!("'{}'", path.display()));
        let source = SourceText::new("query", text);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let script = session.parse(&source, Language::Cql).unwrap();
            let Compiled::Query(plan) = session.compile(&script, 0).await.unwrap() else { return String::new() };
            session.explain(&plan, Stage::Physical, ExplainFormat::Tree).await.unwrap()
        })
    }

    #[test]
    fn partitions_of_scans_are_gathered_and_others_merged() {
        for of_scans in [
            "FROM docs |> WHERE words(text) > 1",
            "FROM docs |> UNION ALL (FROM docs |> WHERE id > 0)",
            "FROM docs |> UNION ALL (FROM docs |> DEDUP EXACT ON text) |> UNION ALL docs |> WHERE words(text) > 1",
        ] {
            let plan = planned(of_scans);
            assert!(plan.contains("GatherExec") && !plan.contains("SortPreservingMergeExec"), "{plan}");
        }
        for other in [
            "FROM docs |> ORDER BY id DESC",
            "FROM docs |> LIMIT 3",
            "FROM docs |> UNION ALL (FROM docs |> ORDER BY id DESC)",
        ] {
            assert!(!planned(other).contains("GatherExec"), "{}", planned(other));
        }
    }

    #[test]
    fn what_comes_after_a_sample_runs_in_its_partitions() {
        for sample in ["SAMPLE 50 PERCENT", "SAMPLE 50 ROWS"] {
            let plan = planned(&format!("FROM docs |> {sample} |> EXTEND words(text) AS n"));
            let lines: Vec<&str> = plan.lines().map(|line| line.split(':').next().unwrap_or_default().trim()).collect();
            let at = |name: &str| lines.iter().position(|line| *line == name);
            assert!(at("GatherExec").is_some() && at("GatherExec") < at("AnnotateExec"), "{plan}");
            assert!(at("AnnotateExec") < at("SampleExec"), "{plan}");
        }
    }
}
