//! Runs of n characters that occur more than once.
//!
//! Invariant: exact, in time linear in the document. A hash says where to look, the characters decide.

use super::intern::{clear, spread};
use xxhash_rust::xxh3::xxh3_64;

/// The share of frequent runs, for each n asked for.
#[derive(Debug, Default)]
pub struct CharGrams {
    /// Where each character begins, and the end; empty for ASCII, where that is plain.
    starts: Vec<u32>,
    slots: Vec<Slot>,
    counts: Vec<u32>,
    top_ratios: Vec<(usize, f64)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Slot {
    /// The character where it begins first.
    first: u32,
    count: u32,
}

impl CharGrams {
    pub(super) fn read(&mut self, text: &str, lengths: impl Iterator<Item = usize>) {
        self.starts.clear();
        let is_ascii = text.is_ascii();
        if !is_ascii {
            self.starts.extend(text.char_indices().map(|(at, _)| at as u32).chain([text.len() as u32]));
        }
        let n_chars = if is_ascii { text.len() } else { self.starts.len() - 1 };
        let bytes = text.as_bytes();
        self.top_ratios.clear();
        for n in lengths {
            let n_grams = (n_chars + 1).saturating_sub(n);
            let shift = clear(&mut self.slots, n_grams);
            if is_ascii {
                count(&mut self.slots, shift, n_grams, |at| &bytes[at..at + n]);
            } else {
                let starts = &self.starts;
                count(&mut self.slots, shift, n_grams, |at| &bytes[starts[at] as usize..starts[at + n] as usize]);
            }
            let n_slots = 1 << (64 - shift);
            self.top_ratios.push((n, top_ratio(&self.slots[..n_slots], n_grams, &mut self.counts)));
        }
    }

    /// The occurrences of the √d most frequent runs among all occurrences, where d is the number of distinct runs
    /// and runs that occur once are left out; `n` is one that was asked for.
    pub fn top_ratio(&self, n: usize) -> f64 {
        self.top_ratios.iter().find(|(of, _)| *of == n).map_or(0.0, |(_, ratio)| *ratio)
    }
}

fn count<'t>(slots: &mut [Slot], shift: u32, n_grams: usize, gram: impl Fn(usize) -> &'t [u8]) {
    for at in 0..n_grams {
        let this = gram(at);
        let mut place = hash(this) >> shift;
        loop {
            let slot = &mut slots[place as usize];
            if slot.count == 0 {
                *slot = Slot { first: at as u32, count: 1 };
                break;
            }
            if same(gram(slot.first as usize), this) {
                slot.count += 1;
                break;
            }
            place = (place + 1) & (u64::MAX >> shift);
        }
    }
}

/// Whether they are equal; the usual lengths without a call.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    match (a.first_chunk::<8>(), b.first_chunk::<8>(), a.last_chunk::<8>(), b.last_chunk::<8>()) {
        (Some(a_head), Some(b_head), Some(a_tail), Some(b_tail)) if a.len() <= 16 => {
            a_head == b_head && a_tail == b_tail
        }
        _ => a == b,
    }
}

#[inline]
fn hash(gram: &[u8]) -> u64 {
    match (gram.first_chunk::<8>(), gram.last_chunk::<8>()) {
        (Some(head), Some(tail)) if gram.len() <= 16 => {
            spread(u64::from_le_bytes(*head) ^ u64::from_le_bytes(*tail).rotate_left(29))
        }
        _ => spread(xxh3_64(gram)),
    }
}

fn top_ratio(slots: &[Slot], n_grams: usize, counts: &mut Vec<u32>) -> f64 {
    let n_distinct = slots.iter().filter(|slot| slot.count > 0).count();
    counts.clear();
    counts.extend(slots.iter().map(|slot| slot.count).filter(|count| *count > 1));
    let n_top = n_distinct.isqrt().min(counts.len());
    if n_top > 0 && n_top < counts.len() {
        counts.select_nth_unstable_by(n_top, |a, b| b.cmp(a));
    }
    let n_in_top: usize = counts[..n_top].iter().map(|count| *count as usize).sum();
    crate::ops::scan::ratio(n_in_top, n_grams)
}
