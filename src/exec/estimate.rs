//! How many rows each operator of a plan is expected to give, before it has run.
//!
//! ```text
//! FileScanExec     bytes of its files / those of a typical document
//! AnnotateExec     the first rule keeps half of its rows, later ones more (`cost::RowEstimate`)
//! DataFusion's     what they say themselves, given the numbers of their inputs
//! all others       as many as come in, if the operator says that it makes no more
//! ```
//! These are the guesses by which operators are placed. Whoever sees them beside what came out knows whether a
//! surprising plan comes from a wrong guess.
//! Not here: what work costs (`cost`).

use super::{AnnotateExec, DeviceExec, GatherExec};
use crate::cost::RowEstimate;
use crate::sources::FileScanExec;
use datafusion::common::Statistics;
use datafusion::common::stats::Precision;
use datafusion::physical_plan::execution_plan::CardinalityEffect;
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of text for each byte of a compressed file.
const UNPACKED: f64 = 3.0;

/// The expected rows of the operators of a plan.
pub struct RowEstimates(HashMap<usize, u64>);

impl RowEstimates {
    /// Those of a plan and all that is below it.
    pub fn of(plan: &dyn ExecutionPlan) -> Self {
        let mut estimates = Self(HashMap::new());
        estimates.add(plan);
        estimates
    }

    /// What is expected of an operator of this plan. `None` if there is nothing to go by.
    pub fn get(&self, plan: &dyn ExecutionPlan) -> Option<u64> {
        self.0.get(&address(plan)).copied()
    }

    /// How many rows each rule of a program is expected to drop, in their planned order. Empty if there is nothing to go by.
    pub fn dropped(&self, annotate: &AnnotateExec) -> Vec<u64> {
        let Some(coming_in) = self.get(annotate.input().as_ref()) else { return vec![] };
        let mut rows = RowEstimate::guess(Some(coming_in as f64), None);
        let dropped_by_next = |_| {
            let (before, after) = (rows.n_rows, rows.after_rule());
            rows = after;
            (before - after.n_rows).round() as u64
        };
        annotate.program().rules.iter().map(dropped_by_next).collect()
    }

    fn add(&mut self, plan: &dyn ExecutionPlan) -> Arc<Statistics> {
        let inputs: Vec<_> = plan.children().into_iter().map(|child| self.add(child.as_ref())).collect();
        let known = plan.statistics_from_inputs(&inputs, &StatisticsArgs::new());
        let mut known = known.map_or_else(|_| Statistics::new_unknown(&plan.schema()), Arc::unwrap_or_clone);
        if let Some(n_rows) = estimate(plan, &inputs, known.num_rows) {
            known.num_rows = Precision::Inexact(n_rows as usize);
            self.0.insert(address(plan), n_rows);
        }
        Arc::new(known)
    }
}

/// Operators stay where they are while their plan is borrowed.
fn address(plan: &dyn ExecutionPlan) -> usize {
    std::ptr::from_ref(plan).cast::<()>() as usize
}

/// `said`: what the operator says itself.
fn estimate(plan: &dyn ExecutionPlan, inputs: &[Arc<Statistics>], said: Precision<usize>) -> Option<u64> {
    let said = said.get_value().map(|n_rows| *n_rows as f64);
    let coming_in = match inputs {
        [input] => input.num_rows.get_value().map(|n_rows| *n_rows as f64),
        _ => None,
    };
    let device = plan.downcast_ref::<DeviceExec>().filter(|device| device.segment().groups.is_none());
    let n_rows = if plan.is::<FileScanExec>() {
        Some(file_bytes(plan)).filter(|bytes| *bytes > 0.0).map(|bytes| RowEstimate::guess(None, Some(bytes)).n_rows)
    } else if let Some(annotate) = plan.downcast_ref::<AnnotateExec>().or(device.map(|device| device.annotate())) {
        let rows = RowEstimate::guess(Some(coming_in?), None);
        Some(annotate.program().rules.iter().fold(rows, |rows, _| rows.after_rule()).n_rows)
    } else if plan.is::<GatherExec>() {
        coming_in
    } else {
        let makes_no_more =
            matches!(plan.cardinality_effect(), CardinalityEffect::Equal | CardinalityEffect::LowerEqual);
        said.or(coming_in.filter(|_| makes_no_more))
    };
    let most = plan.fetch().map_or(f64::INFINITY, |fetch| fetch as f64);
    n_rows.map(|n_rows| n_rows.ceil().min(most) as u64)
}

/// Bytes of text in the files below.
pub fn file_bytes(plan: &dyn ExecutionPlan) -> f64 {
    if let Some(scan) = plan.downcast_ref::<FileScanExec>() {
        let unpacked = if scan.table().is_compressed() { UNPACKED } else { 1.0 };
        return scan.table().total_bytes() as f64 * unpacked;
    }
    plan.children().into_iter().map(|child| file_bytes(child.as_ref())).sum()
}
