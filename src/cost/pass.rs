//! What a pass over a document costs: statistics that are computed together share the walks over its text.
//!
//! The most expensive statistic pays for the walk; a further one adds a part of its own price, unless it wants a table or n-grams
//! that none before it does, which are found in a walk of their own.

use super::TEXT_BYTES_PER_ROW;
use crate::logical::OperatorCall;
use crate::ops::{Cost, Cpu, Needs, PassStage};

/// What a statistic adds to a pass that finds all it needs, as a share of its own cost.
const FURTHER_STATISTIC: f64 = 0.1;

/// Costs are not known better than this: what seems to add less adds nothing, and the order written stands.
const UNCERTAIN_NS_PER_BYTE: f64 = 0.03;

/// What these statistics cost together, for a typical document.
pub fn pass_ns_per_row<'c>(statistics: impl IntoIterator<Item = &'c OperatorCall>) -> f64 {
    let price = |call: &OperatorCall| {
        let needs = match &call.spec.cpu {
            Cpu::Statistic(statistic) => (statistic.needs)(&call.args),
            _ => Needs::TEXT,
        };
        (call.spec.cost.total_ns(1, TEXT_BYTES_PER_ROW as usize), needs)
    };
    let mut prices: Vec<(f64, Needs)> = statistics.into_iter().map(price).collect();
    prices.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut found: Option<Needs> = None;
    let mut total_ns = 0.0;
    for (ns, needs) in prices {
        let is_found = found.is_some_and(|found| found.has_walks_of(needs));
        total_ns += if is_found { ns * FURTHER_STATISTIC } else { ns };
        found = Some(found.map_or(needs, |found| found.and(needs)));
    }
    total_ns
}

/// What a statistic adds to the first walk over a typical document, which finds all it needs. Next to nothing for one
/// that is read off a table or n-grams: finding those is the work.
pub fn in_pass_ns_per_row(call: &OperatorCall) -> f64 {
    let Cpu::Statistic(statistic) = &call.spec.cpu else { return 0.0 };
    let needs = (statistic.needs)(&call.args);
    if needs == Needs::TEXT || needs.stage() != PassStage::Scan {
        return 0.0;
    }
    let walk = Cost::ns_per_byte(needs.walk_ns_per_byte() + UNCERTAIN_NS_PER_BYTE);
    let of_row = |cost: Cost| cost.total_ns(1, TEXT_BYTES_PER_ROW as usize);
    (of_row(call.spec.cost) - of_row(walk)).max(0.0)
}
