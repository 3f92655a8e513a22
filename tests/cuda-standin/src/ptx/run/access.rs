//! Loads, stores and atomics of a warp, in every space.
//!
//! Invariant: an access is aligned to its whole size, and lies within its memory, or it is a fault.

use super::machine::Machine;
use super::warp::Warp;
use super::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use crate::ptx::code::{Atomic, Place, Transfer};
use crate::ptx::lanes::{Lanes, each, put};
use crate::ptx::memory::{Access, Fault, FaultKind};
use crate::ptx::shared::{put_value, value_of};
use crate::ptx::source::Space;

/// Lanes whose addresses are in one space.
struct Part {
    space: Space,
    lanes: u32,
    /// Where the space begins among generic addresses.
    window: u64,
}

impl Warp {
    pub(super) fn load(&mut self, machine: &mut Machine, transfer: &Transfer, active: u32) -> Result<(), Fault> {
        let n_bytes = transfer.n_bytes;
        let addresses = self.addresses(&transfer.place, active, n_bytes * transfer.rows.len())?;
        let by = self.access(machine, transfer.atomic);
        for part in parts(transfer.place.space, &addresses, active) {
            for (i, &row) in transfer.rows.iter().enumerate() {
                let at: Lanes =
                    addresses.map(|address| address.wrapping_sub(part.window).wrapping_add((i * n_bytes) as u64));
                let mut values = [0; 32];
                self.load_part(machine, &part, &at, n_bytes, &mut values, by)?;
                if transfer.signed {
                    let unused = 64 - 8 * n_bytes as u32;
                    values = values.map(|value| ((value << unused) as i64 >> unused) as u64);
                }
                put(&mut self.rows, row, part.lanes, &values);
            }
        }
        Ok(())
    }

    fn load_part(
        &self,
        machine: &mut Machine,
        part: &Part,
        at: &Lanes,
        n_bytes: usize,
        values: &mut Lanes,
        by: Access,
    ) -> Result<(), Fault> {
        if matches!(part.space, Space::Global | Space::Const | Space::Generic) {
            return machine.memory.read_lanes(at, part.lanes, n_bytes, values, by);
        }
        try_each(part.lanes, |lane| {
            values[lane] = self.read_one(machine, part.space, at[lane], n_bytes, lane, by)?;
            Ok(())
        })
    }

    /// One lane's value outside of global memory.
    #[inline]
    fn read_one(
        &self,
        machine: &mut Machine,
        space: Space,
        at: u64,
        n_bytes: usize,
        lane: usize,
        by: Access,
    ) -> Result<u64, Fault> {
        match space {
            Space::Shared => machine.shared.read(at, n_bytes, by.of_lane(lane as u32)),
            Space::Local => {
                let range = self.frame_range(at, n_bytes, lane)?;
                Ok(value_of(&self.frames[range]))
            }
            _ => {
                let params = machine.launch.params;
                let range = usize::try_from(at).ok().and_then(|at| params.get(at..at.checked_add(n_bytes)?));
                range.map(value_of).ok_or_else(|| outside(n_bytes, at, params.len(), "parameters"))
            }
        }
    }

    fn frame_range(&self, at: u64, n_bytes: usize, lane: usize) -> Result<std::ops::Range<usize>, Fault> {
        match at.checked_add(n_bytes as u64) {
            Some(end) if end <= self.frame_bytes as u64 => {
                let start = lane * self.frame_bytes + at as usize;
                Ok(start..start + n_bytes)
            }
            _ => Err(outside(n_bytes, at, self.frame_bytes, "the thread's frame")),
        }
    }

    pub(super) fn store(&mut self, machine: &mut Machine, transfer: &Transfer, active: u32) -> Result<(), Fault> {
        let n_bytes = transfer.n_bytes;
        let addresses = self.addresses(&transfer.place, active, n_bytes * transfer.rows.len())?;
        let by = self.access(machine, transfer.atomic);
        for part in parts(transfer.place.space, &addresses, active) {
            for (i, &row) in transfer.rows.iter().enumerate() {
                let at: Lanes =
                    addresses.map(|address| address.wrapping_sub(part.window).wrapping_add((i * n_bytes) as u64));
                if matches!(part.space, Space::Global | Space::Const | Space::Generic) {
                    machine.memory.write_lanes(&at, part.lanes, n_bytes, &self.rows[row as usize], by)?;
                    continue;
                }
                try_each(part.lanes, |lane| {
                    let value = self.rows[row as usize][lane];
                    self.write_one(machine, part.space, at[lane], n_bytes, value, lane, by)
                })?;
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn write_one(
        &mut self,
        machine: &mut Machine,
        space: Space,
        at: u64,
        n_bytes: usize,
        value: u64,
        lane: usize,
        by: Access,
    ) -> Result<(), Fault> {
        match space {
            Space::Shared => machine.shared.write(at, n_bytes, value, by.of_lane(lane as u32)),
            Space::Local => {
                let range = self.frame_range(at, n_bytes, lane)?;
                put_value(&mut self.frames[range], value);
                Ok(())
            }
            _ => Err(Fault::new(FaultKind::OutOfBounds, format!("a write to the kernel's parameters at {at}"))),
        }
    }

    /// Atomics: lane after lane, in order.
    pub(super) fn atomic(&mut self, machine: &mut Machine, atomic: &Atomic, active: u32) -> Result<(), Fault> {
        let n_bytes = atomic.n_bytes;
        let addresses = self.addresses(&atomic.place, active, n_bytes)?;
        let by = self.access(machine, true);
        let mut old_values = [0; 32];
        for part in parts(atomic.place.space, &addresses, active) {
            let is_global = matches!(part.space, Space::Global | Space::Const | Space::Generic);
            try_each(part.lanes, |lane| {
                let at = addresses[lane].wrapping_sub(part.window);
                let (b, c) = (self.rows[atomic.b as usize][lane], self.rows[atomic.c as usize][lane]);
                let old = if is_global {
                    let mut bytes = [0; 8];
                    machine.memory.read(at, &mut bytes[..n_bytes], by.of_lane(lane as u32))?;
                    u64::from_le_bytes(bytes)
                } else {
                    self.read_one(machine, part.space, at, n_bytes, lane, by)?
                };
                let new = (atomic.update)(old, b, c);
                old_values[lane] = old;
                if is_global {
                    machine.memory.write(at, &new.to_le_bytes()[..n_bytes], by.of_lane(lane as u32))
                } else {
                    self.write_one(machine, part.space, at, n_bytes, new, lane, by)
                }
            })?;
        }
        if let Some(d) = atomic.d {
            put(&mut self.rows, d, active, &old_values);
        }
        Ok(())
    }

    pub(super) fn is_space(&mut self, d: u32, a: u32, space: Space, active: u32) {
        let addresses = self.rows[a as usize];
        let mut bits = 0;
        each(active, |lane| bits |= u32::from(space_of(addresses[lane]).0 == space) << lane);
        self.assign(d, active, bits);
    }

    fn addresses(&self, place: &Place, active: u32, n_bytes: usize) -> Result<Lanes, Fault> {
        let addresses = self.rows[place.base as usize].map(|base| base.wrapping_add_signed(place.offset));
        let beyond = n_bytes as u64 - 1;
        let mut all = 0;
        each(active, |lane| all |= addresses[lane]);
        if all & beyond == 0 {
            return Ok(addresses);
        }
        let mut first = None;
        each(active, |lane| first = first.or((addresses[lane] & beyond != 0).then_some(lane)));
        let lane = first.unwrap_or(0);
        let (address, thread) = (addresses[lane], self.number as usize * 32 + lane);
        let what =
            format!("thread {thread} accesses {n_bytes} bytes at {address:#x}, which is no multiple of {n_bytes}");
        Err(Fault::new(FaultKind::Misaligned, what))
    }
}

fn outside(n_bytes: usize, at: u64, have: usize, what: &str) -> Fault {
    Fault::new(FaultKind::OutOfBounds, format!("{n_bytes} bytes at {at} of {have} bytes of {what}"))
}

fn try_each(mut lanes: u32, mut f: impl FnMut(usize) -> Result<(), Fault>) -> Result<(), Fault> {
    while lanes != 0 {
        f(lanes.trailing_zeros() as usize)?;
        lanes &= lanes - 1;
    }
    Ok(())
}

/// The space of a generic address, and where its window begins.
fn space_of(address: u64) -> (Space, u64) {
    for (space, window) in [(Space::Shared, SHARED_WINDOW), (Space::Local, LOCAL_WINDOW), (Space::Param, PARAM_WINDOW)]
    {
        if address.wrapping_sub(window) < WINDOW_BYTES {
            return (space, window);
        }
    }
    (Space::Global, 0)
}

/// Whether all active lanes are above the windows, as they are in most accesses.
fn is_global(addresses: &Lanes, active: u32) -> bool {
    let mut least = u64::MAX;
    each(active, |lane| least = least.min(addresses[lane]));
    least >= PARAM_WINDOW + WINDOW_BYTES
}

/// The active lanes by space: one part, unless generic addresses point into several.
fn parts(space: Space, addresses: &Lanes, active: u32) -> impl Iterator<Item = Part> {
    let mut all = [const { Part { space: Space::Global, lanes: 0, window: 0 } }; 4];
    if space != Space::Generic {
        all[0] = Part { space, lanes: active, window: 0 };
    } else if is_global(addresses, active) {
        all[0] = Part { space: Space::Global, lanes: active, window: 0 };
    } else {
        each(active, |lane| {
            let (space, window) = space_of(addresses[lane]);
            let part = match space {
                Space::Shared => &mut all[1],
                Space::Local => &mut all[2],
                Space::Param => &mut all[3],
                _ => &mut all[0],
            };
            *part = Part { space, window, lanes: part.lanes | 1 << lane };
        });
    }
    all.into_iter().filter(|part| part.lanes != 0)
}
