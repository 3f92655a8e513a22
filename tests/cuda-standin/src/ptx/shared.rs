//! Shared memory of a block, with who touched each byte last.
//!
//! A race is two accesses to a byte by two threads with nothing between them that orders them (a barrier, or a point of
//! order of their warp), one of them a plain write of another value. Atomic and volatile accesses may meet each other and plain reads.
//! Invariant: with checks off, an access costs a bounds check and a copy.

use super::memory::{Access, Fault, FaultKind};

/// The shared memory of the block at hand.
pub struct Shared {
    bytes: Vec<u8>,
    cells: Vec<Cell>,
    races: bool,
    uninitialized: bool,
}

/// What is known of a byte.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// The last plain write, and the last atomic one.
    write: Option<Access>,
    update: Option<Access>,
    /// The last read, and the last one by another warp before it.
    reads: [Option<Read>; 2],
}

#[derive(Clone, Copy)]
struct Read {
    by: Access,
    /// Other threads of the warp read it since the same point of order.
    by_several: bool,
}

/// What shared memory holds before it is written: no kernel should rely on zeros.
const UNWRITTEN: u8 = 0xa5;

impl Shared {
    /// Memory of that size, with the checks that were asked for.
    pub fn new(n_bytes: usize, races: bool, uninitialized: bool) -> Shared {
        let n_cells = if races || uninitialized { n_bytes } else { 0 };
        Shared { bytes: vec![UNWRITTEN; n_bytes], cells: vec![Cell::default(); n_cells], races, uninitialized }
    }

    /// As at the start of a block.
    pub fn reset(&mut self) {
        self.bytes.fill(UNWRITTEN);
        self.cells.fill(Cell::default());
    }

    fn range(&self, address: u64, n_bytes: usize) -> Result<std::ops::Range<usize>, Fault> {
        let end = address.checked_add(n_bytes as u64).filter(|end| *end <= self.bytes.len() as u64);
        let end = end.ok_or_else(|| {
            let have = self.bytes.len();
            Fault::new(FaultKind::OutOfBounds, format!("{n_bytes} bytes at {address} of {have} bytes of shared memory"))
        })?;
        Ok(address as usize..end as usize)
    }

    /// A value of up to eight bytes.
    #[inline]
    pub fn read(&mut self, address: u64, n_bytes: usize, by: Access) -> Result<u64, Fault> {
        let range = self.range(address, n_bytes)?;
        if !self.cells.is_empty() {
            for at in range.clone() {
                self.note_read(at, by)?;
            }
        }
        Ok(value_of(&self.bytes[range]))
    }

    /// The low bytes of a value.
    #[inline]
    pub fn write(&mut self, address: u64, n_bytes: usize, value: u64, by: Access) -> Result<(), Fault> {
        let range = self.range(address, n_bytes)?;
        if !self.cells.is_empty() {
            for (i, at) in range.clone().enumerate() {
                self.note_write(at, (value >> (8 * i)) as u8, by)?;
            }
        }
        put_value(&mut self.bytes[range], value);
        Ok(())
    }

    fn note_read(&mut self, at: usize, by: Access) -> Result<(), Fault> {
        let cell = &mut self.cells[at];
        match cell.write {
            None if self.uninitialized && cell.update.is_none() => {
                let what =
                    format!("thread {} reads byte {at} of shared memory, which no thread has written", by.thread);
                return Err(Fault::new(FaultKind::Uninitialized, what));
            }
            Some(write) if self.races && !by.is_ordered_after(&write) => {
                return Err(race(at, ("reads", by), ("wrote", write)));
            }
            _ => {}
        }
        let last = cell.reads[0];
        let mut read = Read { by, by_several: false };
        match last {
            Some(last) if last.by.thread / 32 != by.thread / 32 => cell.reads[1] = Some(last),
            Some(last) if last.by.warp_epoch == by.warp_epoch => {
                read.by_several = last.by_several || last.by.thread != by.thread;
            }
            _ => {}
        }
        cell.reads[0] = Some(read);
        Ok(())
    }

    fn note_write(&mut self, at: usize, byte: u8, by: Access) -> Result<(), Fault> {
        let cell = &mut self.cells[at];
        if self.races {
            // Who writes what is there already changes nothing, whoever comes first.
            let changes = byte != self.bytes[at];
            let update = cell.update.filter(|_| !by.atomic);
            for write in cell.write.iter().chain(&update).filter(|_| changes) {
                if !by.is_ordered_after(write) {
                    return Err(race(at, ("writes", by), ("wrote", *write)));
                }
            }
            for read in cell.reads.iter().flatten().filter(|_| !by.atomic && changes) {
                // One of several readers stands for the others: it must not be taken for the writer itself.
                let other = if read.by_several && read.by.thread == by.thread { by.thread ^ 1 } else { read.by.thread };
                let earlier = Access { thread: other, ..read.by };
                if !by.is_ordered_after(&earlier) {
                    return Err(race(at, ("writes", by), ("read", earlier)));
                }
            }
        }
        *if by.atomic { &mut cell.update } else { &mut cell.write } = Some(by);
        Ok(())
    }
}

fn race(at: usize, (does, by): (&str, Access), (did, earlier): (&str, Access)) -> Fault {
    let (now, then) = (by.thread, earlier.thread);
    let what =
        format!("thread {now} {does} byte {at} of shared memory, which thread {then} {did}, with no barrier between");
    Fault::new(FaultKind::Race, what)
}

/// Up to eight bytes, lowest first.
#[inline(always)]
pub fn value_of(bytes: &[u8]) -> u64 {
    match *bytes {
        [a] => u64::from(a),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u64::from(u32::from_le_bytes([a, b, c, d])),
        _ => bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
    }
}

/// The low bytes of a value, lowest first.
#[inline(always)]
pub fn put_value(bytes: &mut [u8], value: u64) {
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = (value >> (8 * i)) as u8;
    }
}
