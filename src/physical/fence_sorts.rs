//! `FenceSorts`: sorts stay above what they must not cross, and what holds for some rows is not said of all.
//!
//! Works around DataFusion 55, which takes a column that is constant on one side of an outer join for constant in the joined
//! rows, where it may be null too, and drops it from `ORDER BY`; which loses the order of a union's branches in which two
//! columns are equal, and then refuses its own plan; which takes the one row of an aggregation for constant, forgets it on the
//! way, and then misses the order; and which moves a sort below `OFFSET`, or drops the one that `OFFSET` counts by.
//! Not here: the order of rows, which passes through.

use datafusion::common::JoinType;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, OrderingRequirements, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, PlanProperties, ReplaceChildrenOptions, SendableRecordBatchStream,
};
use std::fmt;
use std::sync::Arc;

/// Puts a fence below the side of an outer join that may be missing, below the branches of a union, above an aggregation
/// without groups, above `OFFSET`, and above the sort that `OFFSET` counts by.
///
/// ```text
/// HashJoinExec: Left             ⇒   HashJoinExec: Left
///   …                                  …
///   FilterExec: k = 'x'                FenceExec
///                                        FilterExec: k = 'x'
/// ```
/// Sound because rows pass through unchanged, and less is known of them. Leaves alone inputs in which no columns are equal
/// or constant, limits without `OFFSET`, and plans without sorts. Belongs before the rules that place
/// sorts.
#[derive(Debug)]
pub struct FenceSorts;

impl PhysicalOptimizerRule for FenceSorts {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let is_sorted = plan.exists(|node| Ok(node.downcast_ref::<SortExec>().is_some()))?;
        let fenced = plan.transform_up(|node| {
            if let Some(limit) = node.downcast_ref::<GlobalLimitExec>().filter(|limit| limit.skip() > 0) {
                let input = with_fenced_sort(limit.input())?;
                let limit: Arc<dyn ExecutionPlan> = Arc::new(GlobalLimitExec::new(input, limit.skip(), limit.fetch()));
                let fence = FenceExec::new(limit, None, Forgets::Nothing);
                return Ok(Transformed::yes(Arc::new(fence) as Arc<dyn ExecutionPlan>));
            }
            if is_sorted && node.downcast_ref::<AggregateExec>().is_some_and(is_one_row) {
                return Ok(Transformed::yes(FenceExec::above(node)));
            }
            let overrated = overrated_inputs(node.as_ref());
            let children = node.children();
            let is_fenced = |at: usize| overrated[at] && !children[at].equivalence_properties().eq_group().is_empty();
            if !(0..children.len()).any(is_fenced) {
                return Ok(Transformed::no(node));
            }
            let children = children.iter().enumerate().map(|(at, child)| {
                let child = Arc::clone(child);
                if is_fenced(at) { FenceExec::above(child) } else { child }
            });
            let children = children.collect();
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            Ok(Transformed::yes(node.replace_children(children, options)?))
        })?;
        Ok(fenced.data)
    }

    fn name(&self) -> &str {
        "FenceSorts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether it is a whole aggregation without groups.
fn is_one_row(aggregate: &AggregateExec) -> bool {
    let is_whole = !matches!(aggregate.mode(), AggregateMode::Partial | AggregateMode::PartialReduce);
    is_whole && aggregate.group_expr().is_empty()
}

/// The plan with a fence above the sort that it begins with, perhaps below projections, that asks for that order.
fn with_fenced_sort(plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let order = OrderingRequirements::new(sort.expr().clone().into());
        return Ok(Arc::new(FenceExec::new(Arc::clone(plan), Some(order), Forgets::Nothing)));
    }
    match (plan.downcast_ref::<ProjectionExec>(), plan.children().as_slice()) {
        (Some(_), [input]) => {
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            Arc::clone(plan).replace_children(vec![with_fenced_sort(input)?], options)
        }
        _ => Ok(Arc::clone(plan)),
    }
}

/// Which inputs of a node DataFusion takes too much from.
fn overrated_inputs(node: &dyn ExecutionPlan) -> Vec<bool> {
    let n_inputs = node.children().len();
    if node.downcast_ref::<UnionExec>().is_some() {
        return vec![true; n_inputs];
    }
    let hash = node.downcast_ref::<HashJoinExec>().map(|join| *join.join_type());
    let nested = node.downcast_ref::<NestedLoopJoinExec>().map(|join| *join.join_type());
    let merge = node.downcast_ref::<SortMergeJoinExec>().map(|join| join.join_type());
    match hash.or(nested).or(merge) {
        Some(JoinType::Left) => vec![false, true],
        Some(JoinType::Right) => vec![true, false],
        Some(JoinType::Full) => vec![true, true],
        _ => vec![false; n_inputs],
    }
}

/// Its input's rows in their order. No sort passes it.
#[derive(Debug)]
pub struct FenceExec {
    input: Arc<dyn ExecutionPlan>,
    /// The order that the rows above are counted in: of all rows, so they come in one partition.
    order: Option<OrderingRequirements>,
    forgets: Forgets,
    properties: Arc<PlanProperties>,
}

/// What is not said above a fence of the rows below it.
#[derive(Debug, Clone, Copy)]
enum Forgets {
    /// Which columns are equal or constant.
    Equivalences,
    Nothing,
}

impl FenceExec {
    fn above(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self::new(input, None, Forgets::Equivalences))
    }

    fn new(input: Arc<dyn ExecutionPlan>, order: Option<OrderingRequirements>, forgets: Forgets) -> Self {
        let properties = match forgets {
            Forgets::Nothing => Arc::clone(input.properties()),
            Forgets::Equivalences => {
                let orderings = input.equivalence_properties().oeq_class().iter().cloned();
                let known = EquivalenceProperties::new_with_orderings(input.schema(), orderings);
                Arc::new(PlanProperties::clone(input.properties()).with_eq_properties(known))
            }
        };
        Self { input, order, forgets, properties }
    }
}

impl DisplayAs for FenceExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("FenceExec")
    }
}

impl ExecutionPlan for FenceExec {
    fn name(&self) -> &str {
        "FenceExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![match self.order {
            Some(_) => Distribution::SinglePartition,
            None => Distribution::UnspecifiedDistribution,
        }])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.order.clone()]
    }

    // A sort that moved below would leave out columns that are equal or constant there.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match <[Arc<dyn ExecutionPlan>; 1]>::try_from(children) {
            Ok([input]) => Ok(Arc::new(Self::new(input, self.order.clone(), self.forgets))),
            Err(_) => Err(crate::bug!("FenceExec takes one input").into()),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use datafusion::execution::SessionStateBuilder;
    use datafusion::physical_plan::displayable;
    use datafusion::prelude::SessionContext;

    async fn planned(query: &str) -> String {
        let builder = SessionStateBuilder::new().with_default_features();
        let state = builder.with_physical_optimizer_rules(vec![Arc::new(FenceSorts)]).build();
        let context = SessionContext::new_with_state(state);
        context.sql("CREATE TABLE a AS VALUES (1, 'x'), (2, 'y')").await.unwrap();
        let frame = context.sql(query).await.unwrap();
        displayable(frame.create_physical_plan().await.unwrap().as_ref()).indent(false).to_string()
    }

    fn n_fences(plan: &str) -> usize {
        plan.matches("FenceExec").count()
    }

    #[tokio::test]
    async fn the_side_that_may_be_missing_is_fenced_if_a_column_is_constant_there() {
        let of = |kind: &str, condition: &str| {
            format!("SELECT * FROM a {kind} JOIN (SELECT * FROM a WHERE {condition}) b ON a.column1 = b.column1")
        };
        assert_eq!(n_fences(&planned(&of("LEFT", "column2 = 'x'")).await), 1);
        assert_eq!(n_fences(&planned(&of("LEFT", "column2 > 'x'")).await), 0);
        assert_eq!(n_fences(&planned(&of("INNER", "column2 = 'x'")).await), 0);
    }

    #[tokio::test]
    async fn branches_with_equal_columns_and_offsets_are_fenced() {
        let equal = "SELECT column1, column1 AS c FROM a UNION ALL SELECT column1, column1 AS c FROM a";
        assert_eq!(n_fences(&planned(equal).await), 2);
        let different = "SELECT column1, column2 FROM a UNION ALL SELECT column1, column2 FROM a";
        assert_eq!(n_fences(&planned(different).await), 0);
        assert!(planned("SELECT * FROM a OFFSET 1").await.starts_with("FenceExec\n  GlobalLimitExec: skip=1"));
        assert_eq!(n_fences(&planned("SELECT * FROM a LIMIT 1 OFFSET 1").await), 1);
        assert_eq!(n_fences(&planned("SELECT * FROM a LIMIT 1").await), 0);
    }
}
