//! `FlattenAliases`: a column has one name.

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// Removes names that another name hides.
///
/// ```text
/// Projection: count(1) AS count(*) AS documents   ⇒   Projection: count(1) AS documents
/// ```
/// Sound because only the outermost name can be referred to. It makes plans that mean the same read the same,
/// whether they came from CQL or from SQL. Looks at nothing but the top of each projected expression.
#[derive(Debug)]
pub struct FlattenAliases;

impl OptimizerRule for FlattenAliases {
    fn name(&self) -> &str {
        "FlattenAliases"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Projection(projection) = plan else { return Ok(Transformed::no(plan)) };
        if !projection.expr.iter().any(is_nested) {
            return Ok(Transformed::no(LogicalPlan::Projection(projection)));
        }
        let columns = projection.expr.into_iter().map(flattened).collect();
        let flat = Projection::try_new_with_schema(columns, projection.input, projection.schema)?;
        Ok(Transformed::yes(LogicalPlan::Projection(flat)))
    }
}

fn is_nested(expr: &Expr) -> bool {
    matches!(expr, Expr::Alias(outer) if matches!(*outer.expr, Expr::Alias(_)))
}

fn flattened(expr: Expr) -> Expr {
    let Expr::Alias(mut outer) = expr else { return expr };
    while let Expr::Alias(inner) = *outer.expr {
        outer.expr = inner.expr;
    }
    Expr::Alias(outer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{LogicalPlanBuilder, lit};
    use datafusion::optimizer::OptimizerContext;

    fn optimized(column: Expr) -> String {
        let plan = LogicalPlanBuilder::empty(true).project(vec![column]).unwrap().build().unwrap();
        FlattenAliases.rewrite(plan, &OptimizerContext::new()).unwrap().data.to_string()
    }

    #[test]
    fn only_the_outermost_name_stays() {
        assert!(optimized(lit(1).alias("a").alias("b").alias("c")).starts_with("Projection: Int32(1) AS c"));
        assert!(optimized(lit(1).alias("a")).starts_with("Projection: Int32(1) AS a"));
        assert!(optimized(lit(1).alias("a") + lit(2)).contains("AS a"));
    }
}
