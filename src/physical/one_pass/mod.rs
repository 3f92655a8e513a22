//! `OnePass`: chains of filters and projections become one node that computes everything once.
//!
//! ```text
//! ProjectionExec: id, words(text) AS n                       AnnotateExec: id, words(text) AS n
//!   FilterExec: words(text) > 9 AND alpha_ratio(text) > 0.8    │ pass over text (scan): words(text), alpha_ratio(text)
//!                                                        ⇒     │ words(text) > 9
//!                                                              │ alpha_ratio(text) > 0.8
//! ```
//! It knows no operator: it asks what a call declares. Calls of statistics over the same column become one pass for each
//! stage (`ops::PassStage`); other calls and computed columns become steps of their own, run when first read. Whatever
//! DataFusion did before — inlined a computed column into each filter that reads it, or the reverse — equal expressions
//! are found again here, by value. Calls inside aggregations join in (`aggregate.rs`).
//!
//! Sound because AND commutes for rows on which no condition fails, and the functions that are shared depend on their
//! arguments alone. Refuses to
//! - take in a node with a volatile expression (`random() < 0.5`), unless it is a filter alone, whose conditions then run
//!   one by one in the order written;
//! - move a condition that can fail before one that it stood after: in `x <> 0 AND 10 / x > 2` the first guards the
//!   second. SQL leaves that order open; users rely on it. (`GuardFailingConditions` sees to it that the order
//!   reaches this rule.)
//! - evaluate a call that is no statistic early because it stands in a branch of CASE.
//!
//! Calls of models become columns of their own (`build/lift.rs`), which `BatchModels` takes out of the node.
//!
//! Belongs after all rules that look for `FilterExec` and `ProjectionExec`, and before `EnsureCooperative`.

mod aggregate;
mod build;
mod labels;
#[cfg(test)]
mod tests;

use crate::cost::{FunctionPrices, can_fail};
use crate::exec::{AnnotateExec, AnnotateOptions, Program};
use crate::logical::{Resources, is_model_call};
use crate::optimizer::unmarked;
use aggregate::with_calls_below;
pub(in crate::physical) use build::{Builder, has_model_call};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, LambdaExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
pub use labels::rule_labels;
use std::fmt;
use std::sync::Arc;

/// What batches aim at where the rule is off and does not say.
const RECORDED_BATCH_BYTES: usize = 1 << 20;

/// Computes every expression of a chain of filters and projections once. See the module's text.
pub struct OnePass {
    prices: FunctionPrices,
    batch_bytes: usize,
    fuse: bool,
}

impl OnePass {
    /// A rule that asks `prices` what functions cost; batches it lets out aim at `batch_bytes`. Without `fuse` only
    /// filters are taken, one by one, and nothing is shared.
    pub fn new(prices: FunctionPrices, batch_bytes: usize, fuse: bool) -> Self {
        Self { prices, batch_bytes, fuse }
    }

    /// The chain that begins at `top`, and what is below it. Empty if there is nothing to gain.
    fn chain(&self, top: &Arc<dyn ExecutionPlan>) -> Result<Chain> {
        let mut chain = Chain { nodes: vec![], below: Arc::clone(top), is_pure: true, fetch: None, ledger: false };
        let mut has_filter = false;
        let mut has_call = false;
        loop {
            let mut node = Arc::clone(&chain.below);
            let mut fetch = None;
            // A screen was made such a node when it was lowered; it is one filter.
            if let Some(screen) = node.downcast_ref::<AnnotateExec>().filter(|screen| screen.options().ledger) {
                let [only] = screen.chain() else { break };
                chain.ledger = true;
                fetch = screen.fetch();
                node = Arc::clone(only);
            }
            let filter = node.downcast_ref::<FilterExec>();
            fetch = fetch.or(filter.and_then(|filter| filter.fetch()));
            if filter.is_none() && node.downcast_ref::<ProjectionExec>().is_none() {
                break;
            }
            let traits = Traits::of(node.as_ref(), &self.prices)?;
            // What is above a limit must not run below it.
            let is_limited_below = has_filter && fetch.is_some();
            let alone = !self.fuse || traits.is_volatile;
            if is_limited_below || (alone && !chain.nodes.is_empty()) || (alone && filter.is_none()) {
                break;
            }
            has_filter |= filter.is_some();
            has_call |= traits.calls_operator || traits.divides_or_casts;
            chain.fetch = chain.fetch.or(fetch);
            chain.is_pure &= !traits.is_volatile;
            let Some(&input) = node.children().first() else { break };
            chain.below = Arc::clone(input);
            chain.nodes.push(node);
            // A lambda's variables are numbered after the columns of its own input: nothing may change below it.
            if alone || traits.has_lambda {
                break;
            }
        }
        if !has_filter && !has_call {
            chain.nodes.clear();
        }
        Ok(chain)
    }
}

/// The filter of a screen as a node of its own, whose dropped rows go to the drop ledger.
pub(super) fn recorded_filter(
    condition: Arc<dyn PhysicalExpr>,
    input: &Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let filter = FilterExec::try_new(condition, Arc::clone(input))?;
    let unknown: FunctionPrices = Arc::new(|_| None);
    let mut builder = Builder::new(&unknown, &input.schema(), false);
    builder.add(&filter)?;
    let program = builder.finish(&filter.schema(), false)?;
    let options = AnnotateOptions {
        batch_bytes: RECORDED_BATCH_BYTES,
        fetch: None,
        learn: false,
        ledger: true,
        resources: Resources::default(),
    };
    let annotate = AnnotateExec::try_new(Arc::new(program), vec![Arc::new(filter)], Arc::clone(input), options)?;
    Ok(Arc::new(annotate))
}

/// What the query lets the operators of a program use.
pub(super) fn resources(program: &Program) -> Resources {
    let hints = program.hints.iter().flatten();
    hints.fold(Resources::default(), |resources, hint| resources.and(hint.resources))
}

struct Chain {
    /// The last to run first.
    nodes: Vec<Arc<dyn ExecutionPlan>>,
    below: Arc<dyn ExecutionPlan>,
    is_pure: bool,
    fetch: Option<usize>,
    ledger: bool,
}

/// What the expressions of a node are like.
#[derive(Default)]
struct Traits {
    is_volatile: bool,
    has_lambda: bool,
    calls_operator: bool,
    /// Whether a division or a cast may have no value for a row, which is then set aside.
    divides_or_casts: bool,
}

impl Traits {
    fn of(node: &dyn ExecutionPlan, prices: &FunctionPrices) -> Result<Self> {
        let mut traits = Self::default();
        let input = node.children().first().map_or_else(|| node.schema(), |child| child.schema());
        node.apply_expressions(&mut |expr: &Arc<dyn PhysicalExpr>| {
            // A mark is volatile and goes; what it marks is not.
            let expr = &unmarked(Arc::clone(expr))?;
            traits.is_volatile |= is_volatile(expr);
            expr.apply(|part| {
                traits.has_lambda |= part.is::<LambdaExpr>();
                traits.calls_operator |= build::is_shared_call(part) || is_model_call(part);
                traits.divides_or_casts |= divides_or_casts(part) && can_fail(part, &input, prices)?;
                Ok(TreeNodeRecursion::Continue)
            })?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(traits)
    }
}

/// What most often has no value for a document: `chars(text) / words(text)`, `CAST(year AS INT)`.
fn divides_or_casts(part: &Arc<dyn PhysicalExpr>) -> bool {
    let divides = |binary: &BinaryExpr| matches!(binary.op(), Operator::Divide | Operator::Modulo);
    part.is::<CastExpr>() || part.downcast_ref::<BinaryExpr>().is_some_and(divides)
}

impl fmt::Debug for OnePass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnePass").field("fuse", &self.fuse).finish_non_exhaustive()
    }
}

impl PhysicalOptimizerRule for OnePass {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let done = plan.transform_down(|node| {
            if self.fuse
                && let Some(moved) = with_calls_below(node.as_ref())?
            {
                return Ok(Transformed::yes(moved));
            }
            let chain = self.chain(&node)?;
            if chain.nodes.is_empty() {
                return Ok(Transformed::no(node));
            }
            let mut builder = Builder::new(&self.prices, &chain.below.schema(), self.fuse && chain.is_pure);
            for node in chain.nodes.iter().rev() {
                builder.add(node.as_ref())?;
            }
            let program = builder.finish(&chain.nodes[0].schema(), chain.is_pure)?;
            let options = AnnotateOptions {
                batch_bytes: self.batch_bytes,
                fetch: chain.fetch,
                learn: chain.is_pure,
                ledger: chain.ledger,
                resources: resources(&program),
            };
            let annotate = AnnotateExec::try_new(Arc::new(program), chain.nodes, chain.below, options)?;
            Ok(Transformed::yes(Arc::new(annotate) as Arc<dyn ExecutionPlan>))
        })?;
        Ok(done.data)
    }

    fn name(&self) -> &str {
        "OnePass"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
