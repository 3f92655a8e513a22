//! `SeparateProjections`: a filter gives all columns of its input, and a projection picks some of them.
//!
//! Works around DataFusion 55: where a projection is pushed below a filter that picks columns itself, it keeps the places that
//! the columns have above the filter, which are those of other columns below it. `ProjectionPushdown` puts the two
//! together again.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use std::sync::Arc;

/// Takes the projection out of filters.
///
/// ```text
/// FilterExec: x > 1, projection=[b@1, a@0]   ⇒   ProjectionExec: b@1, a@0
///                                                  FilterExec: x > 1
/// ```
/// Sound because it is what the filter does. Leaves filters without a projection alone. Belongs before `ProjectionPushdown`.
#[derive(Debug)]
pub struct SeparateProjections;

impl PhysicalOptimizerRule for SeparateProjections {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let separated = plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
            let Some(projection) = filter.projection().as_ref() else { return Ok(Transformed::no(node)) };
            let schema = filter.input().schema();
            let columns: Vec<ProjectionExpr> = projection
                .iter()
                .map(|&index| {
                    let name = schema.field(index).name();
                    let expr: Arc<dyn PhysicalExpr> = Arc::new(Column::new(name, index));
                    ProjectionExpr { expr, alias: name.clone() }
                })
                .collect();
            let bare = FilterExecBuilder::from(filter).apply_projection(None)?.build()?;
            Ok(Transformed::yes(Arc::new(ProjectionExec::try_new(columns, Arc::new(bare))?) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(separated.data)
    }

    fn name(&self) -> &str {
        "SeparateProjections"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
