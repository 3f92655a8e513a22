//! What lanes of a warp do together: shuffles, votes, matches, reductions, `__syncwarp`.
//!
//! Invariant: the lanes that a mask names execute the same instruction with the same mask, or wait until they do.

use super::warp::{Next, Warp};
use crate::ptx::code::{Match, Reduce, Shuffle, ShuffleMode, Vote, VoteMode};
use crate::ptx::lanes::{ALL, Lanes, each, put};
use crate::ptx::memory::{Fault, FaultKind};

/// What a lane gets from one that takes no part: nothing that a kernel may use.
const FROM_NOBODY: u64 = 0xa5a5_a5a5;

impl Warp {
    /// Whether all lanes named by the masks of the active ones are there. Passing is a point of order of the warp.
    fn meet(&mut self, members: u32, active: u32) -> Result<bool, Fault> {
        let masks = &self.rows[members as usize];
        if active == ALL && masks.iter().all(|mask| *mask as u32 == ALL) {
            self.epoch = self.epoch.wrapping_add(1);
            return Ok(true);
        }
        let (mut named, mut outside) = (0, 0);
        each(active, |lane| {
            named |= masks[lane] as u32;
            outside |= (!(masks[lane] as u32) >> lane & 1) << lane;
        });
        if outside != 0 {
            let what = format!("lanes {outside:08x} take part in an exchange whose mask does not name them");
            return Err(Fault::new(FaultKind::Divergence, what));
        }
        if named & !self.live != 0 {
            let what = format!("an exchange of lanes {named:08x}, of which {:08x} have ended", named & !self.live);
            return Err(Fault::new(FaultKind::Divergence, what));
        }
        if named & !active != 0 {
            return Ok(false);
        }
        let mut differ = 0;
        each(active, |lane| {
            let mask = masks[lane] as u32;
            each(mask, |other| differ |= u32::from(masks[other] as u32 != mask) << lane);
        });
        if differ != 0 {
            let what = format!("lanes {differ:08x} name lanes that take part with another mask");
            return Err(Fault::new(FaultKind::Divergence, what));
        }
        self.epoch = self.epoch.wrapping_add(1);
        Ok(true)
    }

    pub(super) fn warp_sync(&mut self, members: u32, active: u32) -> Result<Next, Fault> {
        Ok(if active == 0 || self.meet(members, active)? { Next::Step } else { Next::Wait })
    }

    pub(super) fn shuffle(&mut self, shuffle: &Shuffle, active: u32) -> Result<Next, Fault> {
        if active != 0 && !self.meet(shuffle.members, active)? {
            return Ok(Next::Wait);
        }
        let row = |row: u32| &self.rows[row as usize];
        let (values, places, clamps, members) =
            (row(shuffle.value), row(shuffle.lane), row(shuffle.clamp), row(shuffle.members));
        let (mut out, mut in_range): (Lanes, u32) = ([0; 32], 0);
        each(active, |lane| {
            let (by, clamp, own) = (places[lane] as i32 & 31, clamps[lane] as i32 & 31, lane as i32);
            let segment = (clamps[lane] >> 8) as i32 & 31;
            let last = (own & segment) | (clamp & !segment);
            let (from, is_in) = match shuffle.mode {
                ShuffleMode::Up => (own - by, own - by >= last),
                ShuffleMode::Down => (own + by, own + by <= last),
                ShuffleMode::Butterfly => (own ^ by, own ^ by <= last),
                ShuffleMode::Index => {
                    let from = (own & segment) | (by & !segment);
                    (from, from <= last)
                }
            };
            let from = if is_in { (from & 31) as usize } else { lane };
            out[lane] = if members[lane] >> from & 1 == 1 { u64::from(values[from] as u32) } else { FROM_NOBODY };
            in_range |= u32::from(is_in) << lane;
        });
        put(&mut self.rows, shuffle.d, active, &out);
        if let Some(predicate) = shuffle.in_range {
            self.assign(predicate, active, in_range);
        }
        Ok(Next::Step)
    }

    pub(super) fn vote(&mut self, vote: &Vote, active: u32) -> Result<Next, Fault> {
        if active != 0 && !self.meet(vote.members, active)? {
            return Ok(Next::Wait);
        }
        let votes = self.condition(vote.of);
        let members = self.rows[vote.members as usize];
        if vote.mode == VoteMode::Ballot {
            let out = members.map(|members| members & u64::from(votes));
            put(&mut self.rows, vote.d, active, &out);
            return Ok(Next::Step);
        }
        let mut bits = 0;
        each(active, |lane| {
            let members = members[lane] as u32;
            let result = match vote.mode {
                VoteMode::All => votes & members == members,
                VoteMode::Any => votes & members != 0,
                _ => votes & members == members || votes & members == 0,
            };
            bits |= u32::from(result) << lane;
        });
        self.assign(vote.d, active, bits);
        Ok(Next::Step)
    }

    pub(super) fn matching(&mut self, matching: &Match, active: u32) -> Result<Next, Fault> {
        if active != 0 && !self.meet(matching.members, active)? {
            return Ok(Next::Wait);
        }
        let cut = if matching.n_bytes == 8 { u64::MAX } else { 0xffff_ffff };
        let (values, members) = (&self.rows[matching.value as usize], &self.rows[matching.members as usize]);
        let (mut out, mut agree): (Lanes, u32) = ([0; 32], 0);
        each(active, |lane| {
            let members = members[lane] as u32;
            let mut same = 0;
            each(members, |other| same |= u32::from((values[other] ^ values[lane]) & cut == 0) << other);
            let all = same == members;
            agree |= u32::from(all) << lane;
            out[lane] = u64::from(if matching.all.is_some() && !all { 0 } else { same });
        });
        put(&mut self.rows, matching.d, active, &out);
        if let Some(Some(predicate)) = matching.all {
            self.assign(predicate, active, agree);
        }
        Ok(Next::Step)
    }

    pub(super) fn reduce(&mut self, reduce: &Reduce, active: u32) -> Result<Next, Fault> {
        if active != 0 && !self.meet(reduce.members, active)? {
            return Ok(Next::Wait);
        }
        let (values, members) = (&self.rows[reduce.value as usize], &self.rows[reduce.members as usize]);
        let mut out: Lanes = [0; 32];
        each(active, |lane| {
            let mut total = None;
            each(members[lane] as u32, |other| {
                let value = values[other] as u32;
                total = Some(total.map_or(value, |total| (reduce.step)(total, value)));
            });
            out[lane] = u64::from(total.unwrap_or(0));
        });
        put(&mut self.rows, reduce.d, active, &out);
        Ok(Next::Step)
    }
}
