//! The line between the interpreter and the device's memory: [`Memory`], who accesses it, and what can go wrong.
//!
//! Invariant: every global access of a kernel goes through [`Memory`], aligned, with the thread that makes it.
//! Not here: an implementation; the driver's half has it.

use std::fmt;

/// Global memory of one device.
///
/// Called by the interpreter for every access of every lane; an implementation checks bounds byte by byte, and races
/// and first reads if it was asked to.
pub trait Memory {
    /// Fills `out` from `address` on.
    fn read(&self, address: u64, out: &mut [u8], by: Access) -> Result<(), Fault>;

    /// Stores `bytes` from `address` on.
    fn write(&self, address: u64, bytes: &[u8], by: Access) -> Result<(), Fault>;

    /// Reads `n_bytes` (1, 2, 4 or 8) for each of `lanes` into the low bytes of `out`; the upper bytes become zero.
    /// `by` is the access of lane 0.
    fn read_lanes(
        &self,
        addresses: &[u64; 32],
        lanes: u32,
        n_bytes: usize,
        out: &mut [u64; 32],
        by: Access,
    ) -> Result<(), Fault> {
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let mut bytes = [0; 8];
            let wanted = bytes.get_mut(..n_bytes).ok_or_else(|| Fault::too_wide(n_bytes))?;
            self.read(addresses[lane], wanted, by.of_lane(lane as u32))?;
            out[lane] = u64::from_le_bytes(bytes);
        }
        Ok(())
    }

    /// Writes the low `n_bytes` (1, 2, 4 or 8) of `values` for each of `lanes`. `by` is the access of lane 0.
    fn write_lanes(
        &self,
        addresses: &[u64; 32],
        lanes: u32,
        n_bytes: usize,
        values: &[u64; 32],
        by: Access,
    ) -> Result<(), Fault> {
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let bytes = values[lane].to_le_bytes();
            let wanted = bytes.get(..n_bytes).ok_or_else(|| Fault::too_wide(n_bytes))?;
            self.write(addresses[lane], wanted, by.of_lane(lane as u32))?;
        }
        Ok(())
    }
}

/// Who makes an access, and when, as far as the program orders it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The number of the block in the grid, x first.
    pub block: u32,
    /// The number of the thread in its block, x first.
    pub thread: u32,
    /// How many block barriers the thread has passed.
    pub epoch: u32,
    /// How many points of order its warp has passed: barriers, `__syncwarp`, shuffles, votes.
    pub warp_epoch: u32,
    /// Atomic, volatile or relaxed: allowed to meet others of its kind.
    pub atomic: bool,
}

impl Access {
    /// The same access by another lane, if this one is lane 0's.
    pub fn of_lane(self, lane: u32) -> Access {
        Access { thread: self.thread + lane, ..self }
    }

    /// Whether `earlier`, of the same launch, is surely over when this access is made: by the same thread, before a
    /// barrier of the block, or before a point of order of the warp.
    pub fn is_ordered_after(&self, earlier: &Access) -> bool {
        if self.block != earlier.block {
            return false;
        }
        self.thread == earlier.thread
            || self.epoch != earlier.epoch
            || (self.thread / 32 == earlier.thread / 32 && self.warp_epoch != earlier.warp_epoch)
    }
}

/// Why a launch stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// An access outside of every allocation, variable or frame.
    OutOfBounds,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// Two threads met at a byte, one of them writing, with nothing to order them.
    Race,
    /// A read of a byte that nothing had written.
    Uninitialized,
    /// A barrier, shuffle or vote that a thread it waits for cannot reach.
    Divergence,
    /// An instruction, or a form of one, that the interpreter does not know.
    UnknownInstruction,
    /// The launch did not end within its budget.
    TooManyInstructions,
    /// `trap` or `brkpt`.
    Trap,
    /// A launch that the device cannot start: block too large, parameters missing, a global without an address.
    InvalidLaunch,
}

/// What went wrong, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind, for the driver's error code.
    pub kind: FaultKind,
    /// The facts: address, instruction, line, block and thread.
    pub message: String,
}

impl Fault {
    /// A fault of a kind, with its facts.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into() }
    }

    /// An access of a width that no instruction has.
    pub fn too_wide(n_bytes: usize) -> Fault {
        Fault::new(FaultKind::UnknownInstruction, format!("an access of {n_bytes} bytes"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl std::error::Error for Fault {}
