//! Who stays, where a row goes only if it is itself similar to a row that stays (`link = 'kept'`).
//!
//! Rows are gone through in the order in which they are preferred. A row stays unless it is similar to one that stays
//! already; it then belongs to the first such row. Similar are rows that share a key, and are found similar when they are
//! compared.
//!
//! To compare all rows that share a key would take quadratic time, to compare each when its turn comes would take one
//! thread and random access. Instead rounds add comparisons until they suffice:
//!
//! ```text
//! of each key, the first rows that stay so far and were not compared yet ──compared with all rows after them──► similar pairs
//! all similar pairs in order ──a row that is similar to one that stays goes──► who stays so far
//! ```
//! It ends when each row that stays was compared with all rows after it with which it shares a key. Then nothing is missing:
//! pairs of rows that go decide nothing. One more such row of a key is compared in the first round, two in the second, four
//! in the third, and so on; a key whose rows are all alike is done after one.
//!
//! Memory: a bit a row, which must be there ([`Bits`]); 8 bytes for each row of a key that rows share, twice in a round;
//! 18 bytes a pair. Past the budget the latter are on disk.
//! Invariant: who stays depends on the keys, the preference and the similarities, not on memory, threads or input batches.

use super::bits::Bits;
use super::groups::Groups;
use super::pairs::{Candidates, PairCounts};
use super::preference::Preference;
use super::shared_groups::SharedGroups;
use super::sorted::Sorted;
use super::survivors::Kept;
use super::word_log::WordLog;
use super::{Budget, threads};
use crate::{Result, bug};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Marks the first row of a key.
const STARTS_KEY: u64 = 1 << 63;
/// Marks a row that was compared with the rows after it.
const WAS_COMPARED: u64 = 1 << 62;

/// Ranks that a thread collects before it takes the lock.
const RANKS_IN_HAND: usize = 4096;

/// Of the rows of one key that stay, at least so many are compared with all rows after them. More are not: a thousand
/// unlike rows that happen to share a key are no reason for a million comparisons.
pub const MOST_COMPARED: usize = 64;

/// The rows of each key that several rows share.
pub struct SharedKeys<'a> {
    order: &'a Preference,
    budget: Arc<dyn Budget>,
    /// Ranks, ascending for each key, with marks.
    ranks: WordLog,
    /// As [`MOST_COMPARED`].
    most_compared: usize,
}

impl<'a> SharedKeys<'a> {
    /// From records of key and row, looked through on all threads. `seen` is called with each row that shares a key.
    pub fn new(
        records: Sorted<2>,
        order: &'a Preference,
        budget: &Arc<dyn Budget>,
        seen: impl Fn(u64) + Sync,
    ) -> Result<Self> {
        let mut ranked = records;
        if !order.is_input_order() {
            let reordered = SharedGroups::new(budget);
            ranked.par_for_each_part(|part| {
                let mut adder = reordered.adder();
                for_each_shared(part, |_, key, row| adder.push([key, order.rank_of(row)?]))?;
                adder.finish()
            })?;
            ranked = reordered.finish(|keys| keys)?;
        }
        let shared = Mutex::new(WordLog::new(budget));
        ranked.par_for_each_part(|part| {
            let mut ranks = RankAdder { shared: &shared, in_hand: Vec::with_capacity(RANKS_IN_HAND), held: None };
            for_each_shared(part, |is_first, _, rank| {
                seen(order.row_at(rank)?);
                ranks.push(if is_first { STARTS_KEY | rank } else { rank })
            })?;
            ranks.hand_over()
        })?;
        let mut ranks = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        ranks.flush()?;
        Ok(Self { order, budget: Arc::clone(budget), ranks, most_compared: MOST_COMPARED })
    }

    /// Memory that so many shared keys of rows need in order to stay off the disk, with what is decided about them.
    pub fn memory_bytes(n_rows: u64, n_shared_keys: u64) -> u64 {
        Bits::memory_bytes(n_rows).saturating_add(WordLog::memory_bytes(n_shared_keys).saturating_mul(2))
    }

    /// Rows that share a key are similar: nothing is compared. `touches` are pairs (row, number in an index), distinct:
    /// rows that are similar to a document of the index, which goes before all of them.
    pub fn decide_all_similar(mut self, touches: Option<Groups<2>>) -> Result<(Belongings, PairCounts)> {
        self.most_compared = usize::MAX;
        self.decide(touches, 0.0, |_| Ok(()), |_, _| Ok(1.0))
    }

    /// Rows that share a key are compared: `load` gives what `similarity` takes for the one that is preferred.
    pub fn decide<L>(
        mut self,
        touches: Option<Groups<2>>,
        threshold: f64,
        load: impl Fn(u64) -> Result<L> + Sync,
        similarity: impl Fn(&L, u64) -> Result<f64> + Sync,
    ) -> Result<(Belongings, PairCounts)> {
        let order = self.order;
        let n_rows = order.n_rows();
        let mut indexed = Groups::new(&self.budget);
        let taken = touches.map(|touches| self.taken(touches, &mut indexed)).transpose()?;
        let mut goes = Bits::new(n_rows, &self.budget)?;
        goes.set_to(taken.as_ref());
        let mut similar = Groups::by_row(&self.budget, n_rows).distinct();
        let mut counts = PairCounts::default();
        for round in 0_u32.. {
            let pairs = self.next_pairs(&goes, 1 << round.min(30))?;
            if pairs.is_empty() {
                break;
            }
            let found = Mutex::new(&mut similar);
            let n_now = pairs.for_each_similar(
                threshold,
                |rank| load(order.row_at(rank)?),
                |loaded, rank| similarity(loaded, order.row_at(rank)?),
                |preferred, other| threads::locked(&found).push([preferred, other]),
            )?;
            counts.n_candidates += n_now.n_candidates;
            counts.n_verified += n_now.n_verified;
            counts.n_refused += n_now.n_refused;
            similar = self.go_through(similar, taken.as_ref(), &mut goes)?;
        }
        let members = self.members(similar, &goes, taken.as_ref())?;
        Ok((Belongings { members, indexed }, counts))
    }

    /// The rows that belong to a document of the index: their ranks, and in `indexed` the document and the row.
    fn taken(&self, touches: Groups<2>, indexed: &mut Groups<2>) -> Result<Bits> {
        let mut taken = Bits::new(self.order.n_rows(), &self.budget)?;
        let mut before = None;
        touches.finish()?.for_each_record(|&[row, ordinal]| {
            // Of several documents the first comes first.
            if before.replace(row) != Some(row) {
                taken.insert(self.order.rank_of(row)?);
                indexed.push([ordinal, row])?;
            }
            Ok(())
        })?;
        Ok(taken)
    }

    /// What is to be compared next. Of each key, up to `most_new` rows are marked.
    fn next_pairs(&mut self, goes: &Bits, most_new: usize) -> Result<Candidates> {
        let mut pairs = Candidates::new(self.order.n_rows(), &self.budget);
        let mut marked = WordLog::new(&self.budget);
        let mut new: Vec<u64> = Vec::new();
        let (mut n_seen, mut n_staying, mut first_two) = (0_u64, 0, [0; 2]);
        self.ranks.for_each(|mut word| {
            if word & STARTS_KEY != 0 {
                new.clear();
                (n_seen, n_staying) = (0, 0);
            }
            let rank = word & !(STARTS_KEY | WAS_COMPARED);
            new.iter().try_for_each(|preferred| pairs.add_pair(*preferred, rank))?;
            if !goes.contains(rank) && n_staying < self.most_compared {
                let is_new = word & WAS_COMPARED == 0 && new.len() < most_new;
                if is_new {
                    new.push(rank);
                    word |= WAS_COMPARED;
                }
                n_staying += usize::from(word & WAS_COMPARED != 0);
            }
            n_seen += 1;
            // Two rows are compared once, and done.
            match n_seen {
                1 | 2 => first_two[n_seen as usize - 1] = word,
                3 => first_two.into_iter().chain([word]).try_for_each(|word| marked.push(word))?,
                _ => marked.push(word)?,
            }
            Ok(())
        })?;
        marked.flush()?;
        self.ranks = marked;
        Ok(pairs)
    }

    /// Decides who goes, by all similar pairs so far, which are returned.
    fn go_through(&self, similar: Groups<2>, taken: Option<&Bits>, goes: &mut Bits) -> Result<Groups<2>> {
        goes.set_to(taken);
        let mut again = Groups::by_row(&self.budget, self.order.n_rows()).distinct();
        similar.finish()?.for_each_record(|&[preferred, other]| {
            // Who is preferred to `preferred` came before, so it is decided.
            if !goes.contains(preferred) {
                goes.insert(other);
            }
            again.push([preferred, other])
        })?;
        Ok(again)
    }

    /// For each row that goes: the row it belongs to, and the row.
    fn members(&self, similar: Groups<2>, goes: &Bits, taken: Option<&Bits>) -> Result<Groups<2>> {
        let n_rows = self.order.n_rows();
        let mut owners = Groups::<2>::by_row(&self.budget, n_rows);
        similar.finish()?.for_each_record(|&[preferred, other]| {
            let is_taken = taken.is_some_and(|taken| taken.contains(other));
            if goes.contains(preferred) || is_taken { Ok(()) } else { owners.push([other, preferred]) }
        })?;
        let mut members = Groups::by_row(&self.budget, n_rows);
        let mut before = None;
        owners.finish()?.for_each_record(|&[rank, owner]| {
            if before.replace(rank) == Some(rank) {
                return Ok(());
            }
            members.push([self.order.row_at(owner)?, self.order.row_at(rank)?])
        })?;
        Ok(members)
    }
}

/// One thread's ranks on their way into the log. Those of a key stay side by side.
struct RankAdder<'a> {
    shared: &'a Mutex<WordLog>,
    in_hand: Vec<u64>,
    /// Held while a key goes on that has more rows than a thread takes in hand.
    held: Option<MutexGuard<'a, WordLog>>,
}

impl RankAdder<'_> {
    fn push(&mut self, word: u64) -> Result<()> {
        let starts_key = word & STARTS_KEY != 0;
        if self.in_hand.len() >= RANKS_IN_HAND || (starts_key && self.held.is_some()) {
            self.hand_over()?;
        }
        if starts_key {
            self.held = None;
        }
        self.in_hand.push(word);
        Ok(())
    }

    fn hand_over(&mut self) -> Result<()> {
        let log = self.held.get_or_insert_with(|| threads::locked(self.shared));
        self.in_hand.drain(..).try_for_each(|word| log.push(word))
    }
}

/// Calls `f` with the records whose key has at least two rows, in order: whether it is the key's first, the key, the row.
fn for_each_shared(mut records: Sorted<2>, mut f: impl FnMut(bool, u64, u64) -> Result<()>) -> Result<()> {
    let mut before: Option<[u64; 2]> = None;
    let mut is_shared = false;
    records.for_each_record(|&[key, row]| {
        match before.replace([key, row]) {
            Some(earlier) if earlier == [key, row] => {}
            Some([same, first]) if same == key => {
                if !is_shared {
                    f(true, key, first)?;
                }
                is_shared = true;
                f(false, key, row)?;
            }
            _ => is_shared = false,
        }
        Ok(())
    })
}

/// Which rows go, and what each of them belongs to.
pub struct Belongings {
    /// Row that stays, row that goes.
    members: Groups<2>,
    /// Document of an index, row that goes.
    indexed: Groups<2>,
}

impl Belongings {
    /// Calls `f` with what stays, if it does not stay alone, and the rows of this run that belong to it, itself among
    /// them, ascending.
    pub fn for_each_cluster(self, mut f: impl FnMut(&[u64], Kept) -> Result<()>) -> Result<()> {
        let mut cluster = Vec::new();
        self.members.finish()?.for_each_group(1, |kept, rows| {
            let &[kept] = kept else { return Err(bug!("a row of {} words", kept.len())) };
            let place = rows.partition_point(|row| *row < kept);
            cluster.clear();
            cluster.extend_from_slice(&rows[..place]);
            cluster.push(kept);
            cluster.extend_from_slice(&rows[place..]);
            f(&cluster, Kept::Row(kept))
        })?;
        self.indexed.finish()?.for_each_group(1, |ordinal, rows| match ordinal {
            [ordinal] => f(rows, Kept::Indexed(*ordinal)),
            _ => Err(bug!("a number of {} words", ordinal.len())),
        })
    }
}
