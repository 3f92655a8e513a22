//! The memory of one device: addresses, allocations, and the checks on every access.
//!
//! ```text
//! addresses   0x7f…  ┃ allocation ┃ red zone ┃ allocation ┃ red zone ┃ …        untouchable for the process
//! bytes              ┃ contents of the same layout, elsewhere                  one byte a byte
//! marks              ┃ is it allocated, was it written, was it freed           one byte a byte
//! cells              ┃ who accessed it last in this launch (`races.rs`)        one cell a byte
//! ```
//!
//! A device pointer is an address in a range that the process itself cannot read or write: code that takes it for a
//! pointer of the host crashes, as it would with a GPU. Addresses are given out upwards and used again late, so that a
//! pointer kept too long meets freed memory rather than someone else's.
//!
//! Invariant: no access reaches a byte outside a live allocation, whatever the address.
//! Not here: how much memory the device has (`driver/device.rs`), and when work runs (`driver/stream.rs`).

mod lanes;
mod races;

use crate::os::Pages;
use crate::ptx::{Access, Fault, FaultKind, Memory};
use races::{Cell, Earlier};
use std::collections::{BTreeMap, VecDeque};

/// What allocations are rounded up to, as the driver's pools do.
pub const GRANULE_BYTES: u64 = 512;
/// The gap after each allocation.
const RED_ZONE_BYTES: u64 = 512;
/// Address space for each byte of device memory, so that freed addresses rest for a while.
const ADDRESSES_PER_BYTE: u64 = 4;
const LEAST_ADDRESSES: u64 = 64 << 20;
/// How many freed allocations are remembered for messages.
const N_FREED_REMEMBERED: usize = 256;

/// What a byte that nothing has written reads as: memory of a GPU is not zero either.
pub const UNWRITTEN: u8 = 0xA5;

const LIVE: u8 = 1;
const WRITTEN: u8 = 2;
const FREED: u8 = 4;

/// Which checks to make on the accesses of kernels, besides the bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryChecks {
    /// Report bytes that two threads access, one of them writing, with nothing to order them.
    pub races: bool,
    /// Report reads of bytes that nothing has written.
    pub uninitialized: bool,
}

/// A live or freed allocation.
#[derive(Debug, Clone, Copy)]
struct Allocation {
    number: u64,
    n_bytes: u64,
}

/// The memory of one device.
pub struct DeviceMemory {
    addresses: Pages,
    bytes: Pages,
    marks: Pages,
    cells: Pages,
    checks: MemoryChecks,
    live: BTreeMap<u64, Allocation>,
    freed: VecDeque<(u64, Allocation)>,
    next_address: u64,
    n_allocations: u64,
}

/// How much of the device an allocation takes.
pub fn rounded(n_bytes: u64) -> u64 {
    n_bytes.max(1).next_multiple_of(GRANULE_BYTES)
}

impl DeviceMemory {
    /// Memory for a device of `capacity_bytes`, or nothing if the system has no address space for it.
    pub fn new(capacity_bytes: u64, checks: MemoryChecks) -> Option<DeviceMemory> {
        let n_addresses = capacity_bytes.checked_mul(ADDRESSES_PER_BYTE)?.max(LEAST_ADDRESSES);
        let n_addresses = usize::try_from(n_addresses).ok()?;
        let addresses = Pages::untouchable(n_addresses)?;
        let next_address = addresses.start() as u64;
        Some(DeviceMemory {
            addresses,
            bytes: Pages::usable(n_addresses)?,
            marks: Pages::usable(n_addresses)?,
            cells: Pages::usable(n_addresses.checked_mul(size_of::<Cell>())?)?,
            checks,
            live: BTreeMap::new(),
            freed: VecDeque::new(),
            next_address,
            n_allocations: 0,
        })
    }

    fn first(&self) -> u64 {
        self.addresses.start() as u64
    }

    fn end(&self) -> u64 {
        self.first() + self.addresses.n_bytes() as u64
    }

    /// Whether the address is one of this device's, allocated or not.
    pub fn owns(&self, address: u64) -> bool {
        (self.first()..self.end()).contains(&address)
    }

    /// Finds a place for `n_bytes`: above the last one, or from the start again when the addresses are used up.
    pub fn allocate(&mut self, n_bytes: u64) -> Option<u64> {
        let wanted = rounded(n_bytes) + RED_ZONE_BYTES;
        let at = self.gap(self.next_address, wanted).or_else(|| self.gap(self.first(), wanted))?;
        self.n_allocations += 1;
        self.live.insert(at, Allocation { number: self.n_allocations, n_bytes });
        self.next_address = at + wanted;
        self.mark(at, n_bytes, LIVE);
        self.forget_contents(at, n_bytes);
        Some(at)
    }

    fn gap(&self, from: u64, wanted: u64) -> Option<u64> {
        let over = |(at, allocation): (&u64, &Allocation)| at + rounded(allocation.n_bytes) + RED_ZONE_BYTES;
        let mut at = self.live.range(..=from).next_back().map_or(from, |before| from.max(over(before)));
        for after in self.live.range(at..) {
            if at.checked_add(wanted)? <= *after.0 {
                return Some(at);
            }
            at = over(after);
        }
        (at.checked_add(wanted)? <= self.end()).then_some(at)
    }

    /// Gives an allocation back; the number of its bytes, or nothing if no allocation starts there.
    pub fn free(&mut self, address: u64) -> Option<u64> {
        let allocation = self.live.remove(&address)?;
        self.mark(address, allocation.n_bytes, FREED);
        self.forget_contents(address, allocation.n_bytes);
        self.freed.push_front((address, allocation));
        self.freed.truncate(N_FREED_REMEMBERED);
        Some(allocation.n_bytes)
    }

    /// How large the live allocation is that starts at the address.
    pub fn size_of(&self, address: u64) -> Option<u64> {
        Some(self.live.get(&address)?.n_bytes)
    }

    /// The live allocation that the address lies in: where it starts, and its bytes.
    pub fn allocation_at(&self, address: u64) -> Option<(u64, u64)> {
        let (at, allocation) = self.live.range(..=address).next_back()?;
        (address < at + allocation.n_bytes.max(1)).then_some((*at, allocation.n_bytes))
    }

    /// Where the live allocations start.
    pub fn live_addresses(&self) -> Vec<u64> {
        self.live.keys().copied().collect()
    }

    fn mark(&mut self, address: u64, n_bytes: u64, mark: u8) {
        // SAFETY: the range is that of an allocation, which lies inside the marks.
        unsafe { self.marks.start().add(self.offset(address)).write_bytes(mark, n_bytes as usize) };
    }

    fn forget_contents(&mut self, address: u64, n_bytes: u64) {
        let from = self.offset(address);
        self.bytes.forget(from, from + n_bytes as usize);
    }

    fn offset(&self, address: u64) -> usize {
        (address - self.first()) as usize
    }

    /// Where the bytes are, if all of them are live.
    fn place(&self, address: u64, n_bytes: usize) -> Option<usize> {
        let offset = usize::try_from(address.checked_sub(self.first())?).ok()?;
        if offset.checked_add(n_bytes)? > self.addresses.n_bytes() {
            return None;
        }
        // SAFETY: the range was just found to lie inside the marks, which have the length of the addresses.
        let marks = unsafe { std::slice::from_raw_parts(self.marks.start().add(offset), n_bytes) };
        let mut all = LIVE;
        for mark in marks {
            all &= mark;
        }
        (all != 0).then_some(offset)
    }

    /// Whether every byte of the range is allocated.
    pub fn contains(&self, address: u64, n_bytes: u64) -> bool {
        usize::try_from(n_bytes).is_ok_and(|n_bytes| self.place(address, n_bytes).is_some())
    }

    /// Copies into the device, for the host.
    pub fn store(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let offset = self.place(address, bytes.len()).ok_or_else(|| self.outside(address, bytes.len(), "copy to"))?;
        // SAFETY: `place` found the range inside the mapping; `bytes` is memory of the host, never of the mapping.
        unsafe { self.bytes.start().add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.mark(address, bytes.len() as u64, LIVE | WRITTEN);
        Ok(())
    }

    /// Copies out of the device, for the host. What was never written comes as `UNWRITTEN`.
    pub fn load(&self, address: u64, out: &mut [u8]) -> Result<(), Fault> {
        let offset = self.place(address, out.len()).ok_or_else(|| self.outside(address, out.len(), "copy from"))?;
        // SAFETY: `place` found the range inside both mappings; `out` is memory of the host.
        let marks = unsafe {
            out.as_mut_ptr().copy_from_nonoverlapping(self.bytes.start().add(offset), out.len());
            std::slice::from_raw_parts(self.marks.start().add(offset), out.len())
        };
        hide_unwritten(out, marks);
        Ok(())
    }

    /// Repeats `pattern` over `n_bytes`.
    pub fn fill(&mut self, address: u64, pattern: &[u8], n_bytes: u64) -> Result<(), Fault> {
        let outside = || Fault::new(FaultKind::OutOfBounds, format!("memset of {n_bytes} bytes at {address:#x}"));
        let n_bytes = usize::try_from(n_bytes).map_err(|_| outside())?;
        let offset = self.place(address, n_bytes).ok_or_else(|| self.outside(address, n_bytes, "memset of"))?;
        // SAFETY: `place` found the range inside the mapping, and nothing else holds a reference into it.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.bytes.start().add(offset), n_bytes) };
        for part in bytes.chunks_mut(pattern.len().max(1)) {
            let n = part.len();
            part.copy_from_slice(&pattern[..n]);
        }
        self.mark(address, n_bytes as u64, LIVE | WRITTEN);
        Ok(())
    }

    /// Copies within the device. Bytes that were never written stay so in the copy.
    pub fn copy(&mut self, to: u64, from: u64, n_bytes: u64) -> Result<(), Fault> {
        let n = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        let source = self.place(from, n).ok_or_else(|| self.outside(from, n, "copy from"))?;
        let target = self.place(to, n).ok_or_else(|| self.outside(to, n, "copy to"))?;
        for pages in [&self.bytes, &self.marks] {
            // SAFETY: `place` found both ranges inside the mappings; they may overlap, which `copy_from` allows.
            unsafe { pages.start().add(target).copy_from(pages.start().add(source), n) };
        }
        Ok(())
    }

    /// Forgets who accessed what: a new launch begins.
    pub fn begin_launch(&mut self) {
        if self.checks.races {
            self.cells.forget(0, self.cells.n_bytes());
        }
    }

    fn outside(&self, address: u64, n_bytes: usize, what: &str) -> Fault {
        Fault::new(FaultKind::OutOfBounds, format!("{what} {n_bytes} bytes at {address:#x}: {}", self.around(address)))
    }

    /// What lies at or next to an address, in words.
    fn around(&self, address: u64) -> String {
        if !self.owns(address) {
            return "not an address of this device".to_string();
        }
        let beside = |at: u64, allocation: &Allocation| {
            let (number, n_bytes) = (allocation.number, allocation.n_bytes);
            match address - at {
                byte if byte < n_bytes => format!("byte {byte} of allocation {number} of {n_bytes} bytes"),
                byte => format!("{} bytes after the end of allocation {number} of {n_bytes} bytes", byte - n_bytes),
            }
        };
        let freed = self.freed.iter().find(|(at, allocation)| (*at..at + allocation.n_bytes).contains(&address));
        let live = self.live.range(..=address).next_back();
        match (live, freed) {
            (Some((at, allocation)), _) if address < at + allocation.n_bytes => beside(*at, allocation),
            (_, Some((at, allocation))) => format!("{}, which was freed", beside(*at, allocation)),
            (Some((at, allocation)), None) => beside(*at, allocation),
            (None, None) => "before every allocation".to_string(),
        }
    }

    fn race(&self, address: u64, by: Access, writes: bool, earlier: Earlier) -> Fault {
        let did = |wrote: bool| if wrote { "written" } else { "read" };
        let message = format!(
            "{}: {} by block {} thread {} after it was {} by block {} thread {}, with nothing to order the two",
            self.around(address),
            did(writes),
            by.block,
            by.thread,
            did(earlier.wrote),
            earlier.block,
            earlier.thread,
        );
        Fault::new(FaultKind::Race, message)
    }

    /// The cells of a range that `place` has found.
    #[expect(clippy::mut_from_ref, reason = "the interpreter runs on one thread and no reference outlives an access")]
    fn cells_at(&self, offset: usize, n_bytes: usize) -> &mut [Cell] {
        // SAFETY: there is one cell for each address, all-zero pages are valid cells, and the caller drops the
        // reference before the next access.
        unsafe { std::slice::from_raw_parts_mut(self.cells.start().cast::<Cell>().add(offset), n_bytes) }
    }
}

fn hide_unwritten(out: &mut [u8], marks: &[u8]) {
    for (byte, mark) in out.iter_mut().zip(marks) {
        if mark & WRITTEN == 0 {
            *byte = UNWRITTEN;
        }
    }
}

impl Memory for DeviceMemory {
    fn read_lanes(
        &self,
        addresses: &[u64; 32],
        lanes: u32,
        n_bytes: usize,
        out: &mut [u64; 32],
        by: Access,
    ) -> Result<(), Fault> {
        match n_bytes {
            1 => self.read_each::<1>(addresses, lanes, out, by),
            2 => self.read_each::<2>(addresses, lanes, out, by),
            4 => self.read_each::<4>(addresses, lanes, out, by),
            8 => self.read_each::<8>(addresses, lanes, out, by),
            _ => Err(Fault::too_wide(n_bytes)),
        }
    }

    fn write_lanes(
        &self,
        addresses: &[u64; 32],
        lanes: u32,
        n_bytes: usize,
        values: &[u64; 32],
        by: Access,
    ) -> Result<(), Fault> {
        match n_bytes {
            1 => self.write_each::<1>(addresses, lanes, values, by),
            2 => self.write_each::<2>(addresses, lanes, values, by),
            4 => self.write_each::<4>(addresses, lanes, values, by),
            8 => self.write_each::<8>(addresses, lanes, values, by),
            _ => Err(Fault::too_wide(n_bytes)),
        }
    }

    fn read(&self, address: u64, out: &mut [u8], by: Access) -> Result<(), Fault> {
        let n = out.len();
        let offset = self.place(address, n).ok_or_else(|| self.outside(address, n, "read of"))?;
        // SAFETY: `place` found the range inside the mappings; `out` is memory of the interpreter.
        let marks = unsafe {
            out.as_mut_ptr().copy_from_nonoverlapping(self.bytes.start().add(offset), n);
            std::slice::from_raw_parts(self.marks.start().add(offset), n)
        };
        if let Some(unwritten) = marks.iter().position(|mark| mark & WRITTEN == 0) {
            if self.checks.uninitialized {
                let message = format!(
                    "read of {n} bytes at {address:#x}: {} was never written",
                    self.around(address + unwritten as u64)
                );
                return Err(Fault::new(FaultKind::Uninitialized, message));
            }
            hide_unwritten(out, marks);
        }
        if self.checks.races {
            for (i, cell) in self.cells_at(offset, n).iter_mut().enumerate() {
                cell.note_read(&by).map_err(|earlier| self.race(address + i as u64, by, false, earlier))?;
            }
        }
        Ok(())
    }

    fn write(&self, address: u64, bytes: &[u8], by: Access) -> Result<(), Fault> {
        let n = bytes.len();
        let offset = self.place(address, n).ok_or_else(|| self.outside(address, n, "write of"))?;
        // SAFETY: `place` found the range inside the mappings, and no other reference into them is held.
        let (held, marks) = unsafe {
            (
                std::slice::from_raw_parts_mut(self.bytes.start().add(offset), n),
                std::slice::from_raw_parts_mut(self.marks.start().add(offset), n),
            )
        };
        if self.checks.races {
            for (i, cell) in self.cells_at(offset, n).iter_mut().enumerate() {
                let changes = marks[i] & WRITTEN == 0 || held[i] != bytes[i];
                cell.note_write(&by, changes).map_err(|earlier| self.race(address + i as u64, by, true, earlier))?;
            }
        }
        held.copy_from_slice(bytes);
        marks.fill(LIVE | WRITTEN);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
