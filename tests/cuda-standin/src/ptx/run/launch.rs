//! A launch: what it is given, what it is refused for, and what its threads find in their special registers.

use super::machine::{Machine, Order};
use super::warp::Warp;
use crate::ptx::memory::{Fault, FaultKind, Memory};
use crate::ptx::module::{Constant, Kernel, Module};
use crate::ptx::shared::Shared;
use std::collections::HashMap;

/// Threads that a block may have.
const MAX_THREADS: u64 = 1024;

/// What to look for besides bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checks {
    /// Accesses that nothing orders.
    pub races: bool,
    /// Reads of bytes that nothing has written.
    pub uninitialized: bool,
}

/// A kernel and what it is to run on.
pub struct Launch<'a> {
    /// The module that holds the kernel.
    pub module: &'a Module,
    /// What to run.
    pub kernel: &'a Kernel,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Shared memory beyond what the kernel declares.
    pub dynamic_shared_bytes: u32,
    /// The parameter block, laid out as [`Kernel::params`] says.
    pub params: &'a [u8],
    /// The address of each of [`Module::globals`].
    pub global_addresses: &'a HashMap<String, u64>,
    /// Checks of shared memory; those of global memory are [`Memory`]'s.
    pub check: Checks,
    /// Another order of blocks and warps.
    pub seed: Option<u64>,
    /// Lane instructions after which the launch counts as endless.
    pub max_instructions: u64,
}

/// What a launch took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions, counted once for each lane that was active.
    pub instructions: u64,
}

/// Runs all blocks of a launch. What was written before a fault stays written.
pub fn run(launch: &Launch, memory: &dyn Memory) -> Result<Counts, Fault> {
    let n_threads = product(launch.block).filter(|n| (1..=MAX_THREADS).contains(n));
    let n_threads = n_threads.ok_or_else(|| invalid(format!("a block of {:?} threads", launch.block)))? as u32;
    let n_blocks = product(launch.grid).filter(|n| (1..=u64::from(u32::MAX)).contains(n));
    let n_blocks = n_blocks.ok_or_else(|| invalid(format!("a grid of {:?} blocks", launch.grid)))? as u32;
    if launch.params.len() < launch.kernel.param_bytes() {
        let (have, want) = (launch.params.len(), launch.kernel.param_bytes());
        return Err(invalid(format!("{have} bytes of parameters, the kernel takes {want}")));
    }
    let dynamic_start = launch.kernel.static_shared_bytes().next_multiple_of(16);
    let mut machine = Machine {
        launch,
        memory,
        shared: Shared::new(shared_bytes(launch), launch.check.races, launch.check.uninitialized),
        executed: 0,
        block: 0,
        epoch: 0,
    };
    let mut warps = Vec::new();
    for number in 0..n_threads.div_ceil(32) {
        let mut warp = Warp::new(launch.module, number, (n_threads - number * 32).min(32));
        for (i, constant) in launch.module.constants.iter().enumerate() {
            let value = |lane: u32| constant_of(launch, constant, number * 32 + lane, dynamic_start as u64);
            let values = std::array::from_fn(|lane| value(lane as u32));
            let mut row = [0; 32];
            for (slot, value) in row.iter_mut().zip::<[Result<u64, Fault>; 32]>(values) {
                *slot = value?;
            }
            warp.set_row(launch.module.n_registers + i as u32, row);
        }
        warps.push(warp);
    }
    let mut order = Order::new(launch.seed);
    for block in order.shuffled(n_blocks) {
        machine.start_block(block, &mut warps);
        machine.run_block(&mut warps, &mut order)?;
    }
    Ok(Counts { instructions: machine.executed })
}

fn invalid(what: String) -> Fault {
    Fault::new(FaultKind::InvalidLaunch, what)
}

fn product(sizes: [u32; 3]) -> Option<u64> {
    u64::from(sizes[0]).checked_mul(u64::from(sizes[1]))?.checked_mul(u64::from(sizes[2]))
}

fn shared_bytes(launch: &Launch) -> usize {
    let fixed = launch.kernel.static_shared_bytes();
    match launch.dynamic_shared_bytes {
        0 => fixed,
        more => fixed.next_multiple_of(16) + more as usize,
    }
}

/// The value of a constant for a thread; what depends on the block is set when the block starts.
fn constant_of(launch: &Launch, constant: &Constant, thread: u32, dynamic_start: u64) -> Result<u64, Fault> {
    let [x, y, _] = launch.block;
    let lane = thread % 32;
    let name = match constant {
        Constant::Bits(bits) => return Ok(*bits),
        Constant::DynamicShared => return Ok(dynamic_start),
        Constant::Global(name) => {
            let address = launch.global_addresses.get(name).copied();
            return address.ok_or_else(|| invalid(format!("the global `{name}` has no address")));
        }
        Constant::Special(name) => *name,
    };
    Ok(u64::from(match name {
        "tid.x" => thread % x,
        "tid.y" => thread / x % y,
        "tid.z" => thread / x / y,
        "ntid.x" => launch.block[0],
        "ntid.y" => launch.block[1],
        "ntid.z" => launch.block[2],
        "nctaid.x" => launch.grid[0],
        "nctaid.y" => launch.grid[1],
        "nctaid.z" => launch.grid[2],
        "laneid" => lane,
        "warpid" => thread / 32,
        "nwarpid" => 32,
        "nsmid" => 1,
        "lanemask_eq" => 1 << lane,
        "lanemask_lt" => (1 << lane) - 1,
        "lanemask_le" => u32::MAX >> (31 - lane),
        "lanemask_gt" => !(u32::MAX >> (31 - lane)),
        "lanemask_ge" => u32::MAX << lane,
        "total_smem_size" | "aggr_smem_size" => shared_bytes(launch) as u32,
        "dynamic_smem_size" => launch.dynamic_shared_bytes,
        _ => 0,
    }))
}
