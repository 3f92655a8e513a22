//! What runs a block: its warps in turns, up to each barrier, on one shared memory.
//!
//! Not here: what a single warp does (`warp.rs`), when a barrier lets go (`barrier.rs`).

use super::launch::Launch;
use super::warp::{Pause, Warp};
use crate::ptx::memory::{Fault, Memory};
use crate::ptx::module::Constant;
use crate::ptx::shared::Shared;

/// Warp instructions until the next warp's turn, so that a warp may wait for another one's write.
const TURN: u64 = 1 << 16;
/// The same, with a seed: short, and of changing length.
const SEEDED_TURN: u64 = 1 << 9;
/// What the warps of a block share.
pub(super) struct Machine<'a> {
    pub(super) launch: &'a Launch<'a>,
    pub(super) memory: &'a dyn Memory,
    pub(super) shared: Shared,
    /// Lane instructions of the launch so far.
    pub(super) executed: u64,
    /// The block at hand.
    pub(super) block: u32,
    /// Barriers it has passed.
    pub(super) epoch: u32,
}

impl Machine<'_> {
    /// Puts the warps at the start of a block.
    pub(super) fn start_block(&mut self, block: u32, warps: &mut [Warp]) {
        (self.block, self.epoch) = (block, 0);
        self.shared.reset();
        let [x, y, _] = self.launch.grid;
        let module = self.launch.module;
        for warp in warps {
            warp.start(self.launch.kernel.start);
            for (i, constant) in module.constants.iter().enumerate() {
                let value = match constant {
                    Constant::Special("ctaid.x") => block % x,
                    Constant::Special("ctaid.y") => block / x % y,
                    Constant::Special("ctaid.z") => block / x / y,
                    _ => continue,
                };
                warp.set_row(module.n_registers + i as u32, [u64::from(value); 32]);
            }
        }
    }

    /// Runs a block to its end.
    pub(super) fn run_block(&mut self, warps: &mut [Warp], order: &mut Order) -> Result<(), Fault> {
        loop {
            let mut any_ready = false;
            for number in order.shuffled(warps.len() as u32) {
                let warp = &mut warps[number as usize];
                if warp.is_ready() {
                    any_ready |= warp.advance(self, order.turn())? == Pause::Turn;
                }
            }
            if any_ready {
                continue;
            }
            if warps.iter().all(Warp::is_done) {
                return Ok(());
            }
            self.release(warps)?;
        }
    }

    /// A fault with the instruction and the block it happened in.
    pub(super) fn located(&self, fault: Fault, at: u32, warp: u32) -> Fault {
        let (line, text) = self.launch.module.source_of(at);
        let (kernel, block) = (self.launch.kernel.name(), self.block);
        let message = format!("{} (line {line}: `{text}`, kernel {kernel}, block {block}, warp {warp})", fault.message);
        Fault { kind: fault.kind, message }
    }
}

/// The order of things that a device leaves open.
pub(super) struct Order {
    state: Option<u64>,
}

impl Order {
    pub(super) fn new(seed: Option<u64>) -> Order {
        Order { state: seed }
    }

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(super) fn shuffled(&mut self, n: u32) -> Vec<u32> {
        let mut all: Vec<u32> = (0..n).collect();
        if let Some(state) = &mut self.state {
            for i in (1..all.len()).rev() {
                all.swap(i, (Order::random(state) % (i as u64 + 1)) as usize);
            }
        }
        all
    }

    fn turn(&mut self) -> u64 {
        match &mut self.state {
            Some(state) => 1 + Order::random(state) % SEEDED_TURN,
            None => TURN,
        }
    }
}
