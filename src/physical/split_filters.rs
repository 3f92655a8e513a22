//! `SplitFilters`: a filter's conditions run one by one, cheap ones first.
//!
//! Not here: learning while running how many rows each condition drops; the order is fixed by price alone.

use crate::cost::{self, FunctionPrices};
use crate::exec::ConjunctFilterExec;
use crate::optimizer::unmarked;
use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use std::fmt;
use std::sync::Arc;

/// Runs the conditions of a filter one by one on the rows still alive, cheap ones first.
///
/// ```text
/// FilterExec: score(text) > 1 AND words(text) > 9   ⇒   ConjunctFilterExec: words(text) > 9, score(text) > 1
/// ```
/// Sound because AND commutes for rows on which no condition fails. Refuses to
/// - move anything if a condition is volatile (`random() < 0.5`);
/// - move a condition that can fail before one that it stood after: in `x <> 0 AND 10 / x > 2` the first guards
///   the second. SQL leaves that order open; users rely on it. (`GuardFailingConditions` sees to it that the order
///   reaches this rule.)
///
/// Belongs after all rules that look for `FilterExec`, and before `EnsureCooperative`.
pub struct SplitFilters {
    prices: FunctionPrices,
    batch_bytes: usize,
}

impl SplitFilters {
    /// A rule that asks `prices` what functions cost; batches it lets out aim at `batch_bytes`.
    pub fn new(prices: FunctionPrices, batch_bytes: usize) -> Self {
        Self { prices, batch_bytes }
    }

    fn order(&self, conjuncts: Vec<Arc<dyn PhysicalExpr>>, input: &Schema) -> Result<Vec<Arc<dyn PhysicalExpr>>> {
        if conjuncts.iter().any(is_volatile) {
            return Ok(conjuncts);
        }
        let mut waiting = vec![];
        for (written, expr) in conjuncts.into_iter().enumerate() {
            let price_ns = cost::ns_per_row(&expr, input, &self.prices)?;
            let can_fail = cost::can_fail(&expr, input, &self.prices)?;
            waiting.push(Candidate { written, price_ns, can_fail, expr });
        }
        let mut ordered = Vec::with_capacity(waiting.len());
        // `waiting` stays in the written order, so a condition that can fail is next in line only when it is first.
        while let Some(next) = cheapest(&waiting) {
            ordered.push(waiting.remove(next).expr);
        }
        Ok(ordered)
    }
}

struct Candidate {
    written: usize,
    price_ns: f64,
    can_fail: bool,
    expr: Arc<dyn PhysicalExpr>,
}

/// The place of the cheapest condition that may run now; the one written first among equals.
fn cheapest(waiting: &[Candidate]) -> Option<usize> {
    let may_run = waiting.iter().enumerate().filter(|(place, candidate)| *place == 0 || !candidate.can_fail);
    let cheapest = may_run.min_by(|(_, a), (_, b)| a.price_ns.total_cmp(&b.price_ns).then(a.written.cmp(&b.written)));
    cheapest.map(|(place, _)| place)
}

impl fmt::Debug for SplitFilters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SplitFilters").field("batch_bytes", &self.batch_bytes).finish_non_exhaustive()
    }
}

impl PhysicalOptimizerRule for SplitFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let split = plan.transform_up(|node| {
            let Some(filter) = node.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(node)) };
            let conjuncts = split_conjunction(filter.predicate()).into_iter().cloned().map(unmarked).collect();
            let ordered = self.order(conjuncts, &filter.input().schema())?;
            let split = ConjunctFilterExec::try_new(filter, ordered, self.batch_bytes)?;
            Ok(Transformed::yes(Arc::new(split) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(split.data)
    }

    fn name(&self) -> &str {
        "SplitFilters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::cost::FunctionPrice;
    use datafusion::execution::SessionStateBuilder;
    use datafusion::physical_plan::displayable;
    use datafusion::prelude::{SessionConfig, SessionContext};

    /// The filter of `SELECT * FROM …`, as EXPLAIN shows it. `lower` is cheap and safe, by its price.
    fn filter_from(source: &str, push_down: bool) -> String {
        let prices: FunctionPrices =
            Arc::new(|name| (name == "lower").then_some(FunctionPrice { ns_per_row: 1.0, ns_per_byte: 0.1 }));
        let state = SessionStateBuilder::new_with_default_features()
            .with_config(SessionConfig::new())
            .with_analyzer_rule(Arc::new(crate::optimizer::GuardFailingConditions))
            .build();
        let context = SessionContext::new_with_state(state);
        // It sorts conditions too, into two classes; without it the order as written counts.
        assert!(push_down || context.remove_optimizer_rule("push_down_filter"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            context.sql("CREATE TABLE t (x BIGINT, y DOUBLE, text VARCHAR)").await.unwrap();
            let query = context.sql(&format!("SELECT * FROM {source}")).await.unwrap();
            let plan = query.create_physical_plan().await.unwrap();
            let plan = SplitFilters::new(prices, 1 << 20).optimize(plan, &ConfigOptions::new()).unwrap();
            let shown = displayable(plan.as_ref()).indent(false).to_string();
            shown.lines().find_map(|line| line.trim().strip_prefix("ConjunctFilterExec: ")).unwrap().to_string()
        })
    }

    fn filter_of(condition: &str) -> String {
        filter_from(&format!("t WHERE {condition}"), false)
    }

    #[test]
    fn cheap_conditions_move_before_expensive_ones() {
        assert_eq!(filter_of("text LIKE 'a%b%' AND y > 2 AND x > 1"), "y > 2, x > 1, text LIKE 'a%b%'");
        assert_eq!(filter_of("text ~ 'a.b' AND lower(text) = 'x'"), "lower(text) = 'x', text ~ 'a.b'");
    }

    #[test]
    fn a_condition_that_can_fail_stays_behind_its_guard() {
        assert_eq!(filter_of("text LIKE 'a%b%' AND 10 / x > 2"), "text LIKE 'a%b%', 10 / x > 2");
        assert_eq!(filter_of("text LIKE 'a%b%' AND 10 / x > 2 AND y > 1"), "y > 1, text LIKE 'a%b%', 10 / x > 2");
        assert_eq!(filter_of("text ~ 'a.b' AND CAST(text AS BIGINT) > 1"), "text ~ 'a.b', CAST(text AS Int64) > 1");
    }

    #[test]
    fn a_guard_holds_though_datafusion_sorts_conditions_too() {
        let guarded = |source| filter_from(source, true);
        assert_eq!(
            guarded("t WHERE text ~ 'a.b' AND CAST(text AS BIGINT) > 1"),
            "text ~ 'a.b', CAST(text AS Int64) > 1"
        );
        assert_eq!(guarded("t WHERE x > 0 AND 10 / x > 2"), "x > 0, 10 / x > 2");
        assert_eq!(
            guarded("(SELECT * FROM t WHERE text ~ 'a.b') WHERE CAST(text AS BIGINT) > 1 AND y > 1"),
            "y > 1, text ~ 'a.b', CAST(text AS Int64) > 1"
        );
    }

    #[test]
    fn nothing_moves_beside_a_volatile_condition() {
        assert_eq!(
            filter_of("text LIKE 'a%b%' AND x > 1 AND random() < 0.5"),
            "text LIKE 'a%b%', x > 1, random() < 0.5"
        );
    }
}
