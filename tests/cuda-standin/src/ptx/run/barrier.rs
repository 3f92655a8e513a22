//! Barriers of a block: when all warps wait, who may go on.

use super::machine::Machine;
use super::warp::Warp;
use crate::ptx::code::{Barrier, BarrierResult, Op};
use crate::ptx::memory::{Fault, FaultKind};

impl Machine<'_> {
    /// Called when no warp can go on by itself: lets those go whose barrier is complete.
    pub(super) fn release(&mut self, warps: &mut [Warp]) -> Result<(), Fault> {
        let waiting: Vec<usize> = (0..warps.len()).filter(|i| warps[*i].barrier().is_some()).collect();
        let mut released = Vec::new();
        for &first in &waiting {
            let (Some(at), false) = (warps[first].barrier(), released.contains(&first)) else { continue };
            let Some((id, n_threads)) = self.barrier_of(&warps[first], at) else { continue };
            let same = |i: &usize| {
                let at = warps[*i].barrier()?;
                (self.barrier_of(&warps[*i], at)?.0 == id).then_some(at)
            };
            let there: Vec<usize> = waiting.iter().copied().filter(|i| same(i).is_some()).collect();
            let complete = match n_threads {
                Some(n) => there.len() as u32 * 32 >= n,
                // Warps that wait elsewhere in the program do not wait for this barrier.
                None => there.len() == waiting.len() && there.iter().all(|i| same(i) == Some(at)),
            };
            if complete {
                self.pass(warps, &there, at);
                released.extend(there);
            }
        }
        if !released.is_empty() {
            self.epoch = self.epoch.wrapping_add(1);
            return Ok(());
        }
        Err(self.stuck(warps, &waiting))
    }

    /// The barrier's number and how many threads it is for.
    fn barrier_of(&self, warp: &Warp, at: u32) -> Option<(u32, Option<u32>)> {
        let barrier = self.barrier_at(at)?;
        Some((warp.uniform(barrier.id), barrier.n_threads.map(|n| warp.uniform(n))))
    }

    fn barrier_at(&self, at: u32) -> Option<&Barrier> {
        match &self.launch.module.code.get(at as usize)?.op {
            Op::Barrier(barrier) => Some(barrier),
            _ => None,
        }
    }

    fn pass(&self, warps: &mut [Warp], there: &[usize], at: u32) {
        let Some(barrier) = self.barrier_at(at) else { return };
        let votes = |warp: &Warp| (warp.condition(barrier.of) & warp.live()).count_ones();
        let n_true: u32 = there.iter().map(|i| votes(&warps[*i])).sum();
        let n_live: u32 = there.iter().map(|i| warps[*i].live().count_ones()).sum();
        for &i in there {
            match barrier.result {
                BarrierResult::None => {}
                BarrierResult::Count(row) => warps[i].set_live_lanes(row, u64::from(n_true)),
                BarrierResult::All(predicate) => warps[i].set_predicate(predicate, n_true == n_live),
                BarrierResult::Any(predicate) => warps[i].set_predicate(predicate, n_true > 0),
            }
            warps[i].pass_barrier();
        }
    }

    fn stuck(&self, warps: &[Warp], waiting: &[usize]) -> Fault {
        let mut places: Vec<(u32, u32)> = waiting
            .iter()
            .filter_map(|i| Some((warps[*i].barrier()?, *i as u32)))
            .map(|(at, warp)| (self.launch.module.source_of(at).0, warp))
            .collect();
        places.sort_unstable();
        let list: Vec<String> = places.iter().map(|(line, warp)| format!("warp {warp} at line {line}")).collect();
        let what = format!("the warps of a block wait at different barriers: {}", list.join(", "));
        let at = waiting.first().and_then(|i| warps[*i].barrier()).unwrap_or(0);
        self.located(Fault::new(FaultKind::Divergence, what), at, waiting.first().map_or(0, |i| *i as u32))
    }
}
