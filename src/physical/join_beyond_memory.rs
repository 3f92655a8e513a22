//! `JoinBeyondMemory`: a join of two large sides sorts both, which can go to disk; a hash table cannot.

use crate::sources::{FileScanExec, LINE_COLUMN};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::{Column, IsNotNullExpr};
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use std::sync::Arc;

/// Replaces a hash join whose smaller side does not fit into memory.
///
/// ```text
/// HashJoinExec: a.id = b.id          ⇒   SortMergeJoinExec: a.id = b.id
///   FileScanExec: 'a/' (40 GB)             FileScanExec: 'a/' (40 GB)
///   FileScanExec: 'b/' (90 GB)             FileScanExec: 'b/' (90 GB)
/// ```
/// Sound because both give the same rows; in which order is settled above, where rows are put in order of the input. Runs
/// before sorts and repartitionings are added.
/// Leaves alone joins of a side whose size the files do not tell (groups, limits, other joins), of keys that sorting may tell
/// apart otherwise than hashing (floating-point numbers, nested values), and `NOT IN`, which minds nulls.
#[derive(Debug)]
pub struct JoinBeyondMemory {
    /// What the query may hold; half of it is left to a hash table.
    pub memory_limit_bytes: Option<usize>,
}

impl PhysicalOptimizerRule for JoinBeyondMemory {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(limit_bytes) = self.memory_limit_bytes else { return Ok(plan) };
        let replaced = plan.transform_up(|node| {
            let Some(join) = node.downcast_ref::<HashJoinExec>() else { return Ok(Transformed::no(node)) };
            let is_too_large = bytes_of(join.left()).is_some_and(|bytes| bytes > limit_bytes / 2);
            if !is_too_large
                || join.null_aware
                || !join.on().iter().all(|(left, _)| can_sort(left, &join.left().schema()))
            {
                return Ok(Transformed::no(node));
            }
            let options = vec![SortOptions::default(); join.on().len()];
            let (left, right, on) = (Arc::clone(join.left()), Arc::clone(join.right()), join.on().to_vec());
            let (filter, null_equality) = (join.filter().cloned(), join.null_equality());
            let sorted =
                SortMergeJoinExec::try_new(left, right, on, filter, *join.join_type(), options, null_equality)?;
            let sorted: Arc<dyn ExecutionPlan> = Arc::new(sorted);
            Ok(Transformed::yes(match &join.projection {
                Some(columns) => projected(sorted, columns)?,
                None => sorted,
            }))
        })?;
        Ok(replaced.data)
    }

    fn name(&self) -> &str {
        "JoinBeyondMemory"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn projected(input: Arc<dyn ExecutionPlan>, columns: &[usize]) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = input.schema();
    let column = |index: &usize| {
        let name = schema.field(*index).name();
        ProjectionExpr { expr: Arc::new(Column::new(name, *index)), alias: name.clone() }
    };
    let columns: Vec<ProjectionExpr> = columns.iter().map(column).collect();
    Ok(Arc::new(ProjectionExec::try_new(columns, input)?))
}

fn can_sort(key: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let is_text = |data_type: &DataType| matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    key.data_type(schema).is_ok_and(|of| {
        is_text(&of)
            || of.is_integer()
            || of.is_temporal()
            || matches!(of, DataType::Boolean | DataType::Decimal128(..))
    })
}

/// What the rows of a plan take, as far as the files tell; a filter is taken to keep a quarter.
fn bytes_of(plan: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    if let Some(scan) = plan.downcast_ref::<FileScanExec>() {
        let table = scan.table();
        // Texts and what is nested take nearly all; numbers alone are some bytes of a document.
        let is_large = |of: &DataType| of.is_nested() || matches!(of, DataType::Utf8 | DataType::Binary);
        let count = |schema: &Schema| {
            let fields = schema.fields().iter().filter(|field| field.name() != LINE_COLUMN);
            fields.filter(|field| is_large(field.data_type())).count()
        };
        let (n_read, n_all) = (count(&scan.schema()), count(&table.schema()).max(1));
        let n_bytes = table.split_bytes().saturating_mul(scan.n_splits().max(1));
        // A line that is carried along is all of the document.
        let has_lines = scan.schema().column_with_name(LINE_COLUMN).is_some();
        let of_lines = if has_lines { n_bytes } else { 0 };
        let of_columns = if n_read == 0 { n_bytes / 20 } else { n_bytes / n_all * n_read.min(n_all) };
        return Some(of_lines.saturating_add(of_columns));
    }
    let [input] = plan.children().try_into().ok()?;
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        // A join asks for keys that are not null: those are nearly all.
        let asks_for_values = |part: &&Arc<dyn PhysicalExpr>| part.downcast_ref::<IsNotNullExpr>().is_some();
        let keeps_all = split_conjunction(filter.predicate()).iter().all(asks_for_values);
        return bytes_of(input).map(|bytes| if keeps_all { bytes } else { bytes / 4 });
    }
    match plan.name() {
        "ProjectionExec" | "CoalesceBatchesExec" | "CoalescePartitionsExec" | "RepartitionExec" => bytes_of(input),
        _ => None,
    }
}
