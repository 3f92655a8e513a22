//! Connected components of pairs on disk: alternating large and small stars (Kiveris et al. 2014).
//!
//! ```text
//! large star of u: larger neighbours of u   ──► the smallest of u and its neighbours
//! small star of u: u and smaller neighbours ──► the smallest of them
//! ```
//! Both keep what is connected connected; when neither changes a pair, each row hangs on the smallest of its component.
//! A round is three external sorts; O(log² rows) rounds at worst, three or four for the clusters of a corpus.

use super::Budget;
use super::groups::Groups;
use crate::Result;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_128;

/// A set of pairs, as a number that does not depend on their order.
#[derive(Default, PartialEq, Eq, Clone, Copy)]
struct Fingerprint {
    n_pairs: u64,
    sum: u128,
}

impl Fingerprint {
    fn add(&mut self, [a, b]: [u64; 2]) {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&a.to_le_bytes());
        bytes[8..].copy_from_slice(&b.to_le_bytes());
        self.n_pairs += 1;
        self.sum = self.sum.wrapping_add(xxh3_128(&bytes));
    }
}

/// Calls `f` with each row that is not the smallest of its component, ascending, and the smallest. `pairs` are
/// distinct, each as (larger, smaller).
pub(super) fn for_each_child(
    mut pairs: Groups<2>,
    n_rows: u64,
    budget: &Arc<dyn Budget>,
    mut f: impl FnMut(u64, u64) -> Result<()>,
) -> Result<()> {
    let store = || Groups::<2>::by_row(budget, n_rows).distinct();
    let mut before: Option<[Fingerprint; 2]> = None;
    loop {
        let mut both_ways = store();
        let mut fingerprint = Fingerprint::default();
        pairs.finish()?.for_each_record(|&[large, small]| {
            fingerprint.add([large, small]);
            both_ways.push([large, small])?;
            both_ways.push([small, large])
        })?;
        if before.is_some_and(|before| before == [fingerprint; 2]) {
            return both_ways.finish()?.for_each_record(|&[a, b]| if a > b { f(a, b) } else { Ok(()) });
        }

        let mut after_large = store();
        let mut centre = u64::MAX;
        let mut smallest = 0;
        both_ways.finish()?.for_each_record(|&[row, neighbour]| {
            if row != centre {
                (centre, smallest) = (row, row.min(neighbour));
            }
            if neighbour > row { after_large.push([neighbour, smallest]) } else { Ok(()) }
        })?;

        let mut after_small = store();
        let mut large_fingerprint = Fingerprint::default();
        centre = u64::MAX;
        after_large.finish()?.for_each_record(|&[row, neighbour]| {
            large_fingerprint.add([row, neighbour]);
            if row != centre {
                (centre, smallest) = (row, neighbour);
                return after_small.push([row, smallest]);
            }
            after_small.push([neighbour, smallest])
        })?;
        before = Some([fingerprint, large_fingerprint]);
        pairs = after_small;
    }
}
