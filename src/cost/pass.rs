//! What a pass over a document costs: statistics that are computed together share the walks over its text.
//!
//! The dearest statistic pays for the walk; a further one adds a part of its own price, unless it wants a table or n-grams
//! that none before it does, which are found in a walk of their own.

use super::TEXT_BYTES_PER_ROW;
use crate::logical::OperatorCall;
use crate::ops::{Cpu, Needs};

/// What a statistic adds to a pass that finds all it needs, as a share of its own cost.
const FURTHER_STATISTIC: f64 = 0.1;

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
