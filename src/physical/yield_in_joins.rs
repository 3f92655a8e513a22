//! `YieldInJoins`: a join lets others have their turn, so that it can be cancelled.
//!
//! Not here: everything with one input; DataFusion's `EnsureCooperative` makes the leaves yield, and what gives
//! about as many batches as it takes yields with them.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::union::UnionExec;
use std::sync::Arc;

/// Makes joins yield between the batches they give.
///
/// ```text
/// CrossJoinExec   ⇒   CooperativeExec
///                       CrossJoinExec
/// ```
/// A join can give billions of rows for one batch of its inputs. An aggregate above it would take them all in one
/// go, and Ctrl-C would not be heard for hours. Sound because rows pass through unchanged.
///
/// Belongs after `EnsureCooperative`, which would take the leaves below for cared for.
#[derive(Debug)]
pub struct YieldInJoins;

impl PhysicalOptimizerRule for YieldInJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let yielding = plan.transform_up(|node| {
            if node.children().len() < 2 || node.downcast_ref::<UnionExec>().is_some() {
                return Ok(Transformed::no(node));
            }
            Ok(Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(yielding.data)
    }

    fn name(&self) -> &str {
        "YieldInJoins"
    }

    fn schema_check(&self) -> bool {
        true
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
        let state = builder.with_physical_optimizer_rules(vec![Arc::new(YieldInJoins)]).build();
        let frame = SessionContext::new_with_state(state).sql(query).await.unwrap();
        let plan = frame.create_physical_plan().await.unwrap();
        displayable(plan.as_ref()).indent(false).to_string()
    }

    #[tokio::test]
    async fn a_join_yields_and_a_union_needs_not() {
        let join = planned("SELECT a.x, b.y FROM (VALUES (1)) AS a (x) CROSS JOIN (VALUES (2)) AS b (y)").await;
        let lines: Vec<&str> = join.lines().map(str::trim).collect();
        let at = lines.iter().position(|line| line.starts_with("CrossJoinExec")).unwrap();
        assert_eq!(lines[at - 1], "CooperativeExec", "{join}");
        let union = planned("SELECT 1 AS x UNION ALL SELECT 2 AS x").await;
        assert!(union.contains("UnionExec") && !union.contains("CooperativeExec"), "{union}");
    }
}
