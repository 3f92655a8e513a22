//! What can be queued on a stream, and how it runs.
//!
//! Invariant: a piece of work that fails changes nothing that the host could see before the error reaches it.
//! Not here: when it runs (`streams.rs`).

use super::modules::Loaded;
use super::state::{Driver, Handle};
use super::status::Status;
use crate::ptx;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

/// Memory of the host that is read or written when the work runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRange {
    pub address: usize,
    pub n_bytes: usize,
}

/// Where the bytes of a copy to the device come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// Taken when the copy was queued, as the driver does with pageable memory.
    Staged(Arc<Vec<u8>>),
    /// Read when the copy runs: a program that changes pinned memory too early sends the change.
    Pinned(HostRange),
}

/// A launch with everything it needs.
#[derive(Clone)]
pub struct KernelLaunch {
    pub loaded: Arc<Loaded>,
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
    pub params: Vec<u8>,
    /// Whether it is to fail because the environment asks for it.
    pub fails: bool,
}

/// A callback to the program.
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

/// One piece of work.
#[derive(Clone)]
pub enum Work {
    Launch(Box<KernelLaunch>),
    CopyIn { to: u64, from: Source },
    CopyOut { to: HostRange, from: u64 },
    CopyWithin { to: u64, from: u64, n_bytes: u64 },
    Fill { at: u64, pattern: Vec<u8>, n_bytes: u64 },
    Free { address: u64 },
    Wait { stream: Handle, number: u64 },
    Record { event: Handle, version: u64 },
    Call { function: HostFunction, argument: usize },
    Graph(Arc<Vec<Work>>),
}

impl Work {
    /// How many kernels it launches.
    pub fn n_launches(&self) -> u64 {
        match self {
            Work::Launch(_) => 1,
            Work::Graph(works) => works.iter().map(Work::n_launches).sum(),
            _ => 0,
        }
    }
}

impl Driver {
    /// Runs one piece of work of a device.
    pub(super) fn execute(&mut self, device: usize, work: Work) -> Result<(), Status> {
        match work {
            Work::Launch(launch) => self.execute_launch(device, &launch),
            Work::CopyIn { to, from } => self.execute_copy_in(to, &from),
            Work::CopyOut { to, from } => self.execute_copy_out(to, from),
            Work::CopyWithin { to, from, n_bytes } => self.execute_copy_within(to, from, n_bytes),
            Work::Fill { at, pattern, n_bytes } => {
                let device = self.device_of(at).ok_or(Status::ILLEGAL_ADDRESS)?;
                self.devices[device].counters.memsets += 1;
                let filled = self.devices[device].memory.fill(at, &pattern, n_bytes);
                self.told(device, filled)
            }
            Work::Free { address } => {
                let device = self.device_of(address).ok_or(Status::ILLEGAL_ADDRESS)?;
                self.devices[device].counters.frees += 1;
                self.devices[device].give_back(address)
            }
            Work::Wait { stream, number } => self.run(stream, number),
            Work::Record { event, version } => {
                if let Some(event) = self.events.get_mut(&event) {
                    event.reached(version, Instant::now());
                }
                Ok(())
            }
            Work::Call { function, argument } => {
                // SAFETY: the program gave function and argument to `cuLaunchHostFunc` for this call.
                unsafe { function(argument as *mut c_void) };
                Ok(())
            }
            Work::Graph(works) => {
                self.devices[device].counters.graph_launches += 1;
                works.iter().try_for_each(|work| self.execute(device, work.clone()))
            }
        }
    }

    fn execute_launch(&mut self, device: usize, launch: &KernelLaunch) -> Result<(), Status> {
        if launch.fails {
            self.injected(device, "FAIL_LAUNCH");
            return Err(Status::LAUNCH_FAILED);
        }
        let settings = &self.settings;
        let module = &launch.loaded.module;
        let request = ptx::Launch {
            module,
            kernel: module.kernel(&launch.kernel).ok_or(Status::INVALID_HANDLE)?,
            grid: launch.grid,
            block: launch.block,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            params: &launch.params,
            global_addresses: &launch.loaded.global_addresses,
            check: ptx::Checks { races: settings.checks.races, uninitialized: settings.checks.uninitialized },
            seed: settings.seed,
            max_instructions: settings.max_instructions,
        };
        let state = &mut self.devices[device];
        state.memory.begin_launch();
        let ran = ptx::run(&request, &state.memory);
        state.counters.launches += 1;
        *state.counters.launches_by_kernel.entry(launch.kernel.clone()).or_default() += 1;
        let ran = ran.map(|counts| state.counters.lane_instructions += counts.instructions);
        self.told(
            device,
            ran.map_err(|fault| ptx::Fault { message: format!("{}: {}", launch.kernel, fault.message), ..fault }),
        )
    }

    fn execute_copy_in(&mut self, to: u64, from: &Source) -> Result<(), Status> {
        let device = self.device_of(to).ok_or(Status::ILLEGAL_ADDRESS)?;
        let bytes = match from {
            Source::Staged(bytes) => bytes.as_slice(),
            // SAFETY: the program promised, by queueing the copy, that the range stays readable until it is over;
            // the driver itself waits for all work before it frees pinned memory.
            Source::Pinned(range) => unsafe { std::slice::from_raw_parts(range.address as *const u8, range.n_bytes) },
        };
        let state = &mut self.devices[device];
        state.counters.copies_in += 1;
        state.counters.bytes_in += bytes.len() as u64;
        let stored = state.memory.store(to, bytes);
        self.told(device, stored)
    }

    fn execute_copy_out(&mut self, to: HostRange, from: u64) -> Result<(), Status> {
        let device = self.device_of(from).ok_or(Status::ILLEGAL_ADDRESS)?;
        // SAFETY: as for `execute_copy_in`, with a range that stays writable.
        let out = unsafe { std::slice::from_raw_parts_mut(to.address as *mut u8, to.n_bytes) };
        let state = &mut self.devices[device];
        state.counters.copies_out += 1;
        state.counters.bytes_out += to.n_bytes as u64;
        let loaded = state.memory.load(from, out);
        self.told(device, loaded)
    }

    fn execute_copy_within(&mut self, to: u64, from: u64, n_bytes: u64) -> Result<(), Status> {
        let source = self.device_of(from).ok_or(Status::ILLEGAL_ADDRESS)?;
        let target = self.device_of(to).ok_or(Status::ILLEGAL_ADDRESS)?;
        self.devices[target].counters.copies_within += 1;
        if source == target {
            let copied = self.devices[target].memory.copy(to, from, n_bytes);
            return self.told(target, copied);
        }
        let mut bytes = vec![0; usize::try_from(n_bytes).map_err(|_| Status::ILLEGAL_ADDRESS)?];
        let loaded = self.devices[source].memory.load(from, &mut bytes);
        self.told(source, loaded)?;
        let stored = self.devices[target].memory.store(to, &bytes);
        self.told(target, stored)
    }

    /// Keeps the message of a fault and gives the status it ends the context with.
    fn told(&mut self, device: usize, result: Result<(), ptx::Fault>) -> Result<(), Status> {
        result.map_err(|fault| {
            self.fault(device, fault.to_string());
            Status::from(fault.kind)
        })
    }
}
