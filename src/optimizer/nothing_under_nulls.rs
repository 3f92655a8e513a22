//! `NothingUnderNulls`: a field of a null struct is null, and a null list has no items.

use crate::logical::{has_null_fields, minding_nulls, null_fields};
use datafusion::common::Column;
use datafusion::common::tree_node::Transformed;
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::logical_plan::Unnest;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Puts functions into the plan that mind the nulls of structs, lists and maps.
///
/// ```text
/// Projection: get_field(st, 'x')      ⇒   Projection: get_field(st, 'x')        (ours, of the same name)
///             array_append(list, 9)               array_append(list, 9)
///
/// Unnest: structs[st]                 ⇒   Unnest: structs[st]
///   …                                       Projection: null_fields(st) AS st
///                                             …
/// ```
/// DataFusion's own (55.2) give what lies under a null, which is another value than the null that the user sees.
/// Sound because only values under nulls change. Every plan passes here before it is optimized, whoever made the call:
/// `a.b`, `a['b']`, `get_field(a, 'b')`, a view.
#[derive(Debug)]
pub struct NothingUnderNulls;

impl AnalyzerRule for NothingUnderNulls {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_above_unnest = false;
        let minded = plan.transform_up_with_subqueries(|node| {
            let mut node = node.map_expressions(minding_nulls)?;
            if let LogicalPlan::Unnest(unnest) = &node.data
                && let Some(minded) = mind_nulls(unnest)?
            {
                is_above_unnest = true;
                return Ok(Transformed::yes(LogicalPlan::Unnest(minded)));
            }
            // A field that could not be null before can be now.
            if is_above_unnest {
                node.data = node.data.recompute_schema()?;
            }
            Ok(node)
        })?;
        Ok(minded.data)
    }

    fn name(&self) -> &str {
        "NothingUnderNulls"
    }
}

/// The same over structs without values under their nulls; `None` if it spreads no struct, or was minded before.
fn mind_nulls(unnest: &Unnest) -> Result<Option<Unnest>> {
    let is_spread = |at: usize| unnest.struct_type_columns.contains(&at);
    let is_minded = match unnest.input.as_ref() {
        LogicalPlan::Projection(below) => {
            unnest.struct_type_columns.iter().all(|at| below.expr.get(*at).is_some_and(has_null_fields))
        }
        _ => false,
    };
    if unnest.struct_type_columns.is_empty() || is_minded {
        return Ok(None);
    }
    let columns = unnest.input.schema().columns().into_iter().enumerate().map(|(at, column)| {
        let Column { relation, name, .. } = column.clone();
        match is_spread(at) {
            true => null_fields(Expr::Column(column)).alias_qualified(relation, name),
            false => Expr::Column(column),
        }
    });
    let below = Projection::try_new(columns.collect(), Arc::clone(&unnest.input))?;
    let input = Arc::new(LogicalPlan::Projection(below));
    Ok(Some(Unnest::try_new(input, unnest.exec_columns.clone(), unnest.options.clone())?))
}
