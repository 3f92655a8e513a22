//! Accesses of a warp to device memory: the same checks as those of one lane, with the number of bytes known when the
//! code is compiled. Most of an interpreted kernel's time is spent here.
//!
//! Invariant: what is wrong with an access is found and told by `DeviceMemory::read` and `write`; this is the way of
//! those with which nothing is.

use super::{DeviceMemory, LIVE, WRITTEN};
use crate::ptx::{Access, Fault, Memory};

impl DeviceMemory {
    /// Where `N` bytes are that all have the mark.
    #[inline(always)]
    fn marked<const N: usize>(&self, address: u64, mark: u8) -> Option<usize> {
        let offset = address.wrapping_sub(self.first()) as usize;
        if offset > self.addresses.n_bytes() - N {
            return None;
        }
        // SAFETY: the range was just found to lie inside the marks, which have the length of the addresses.
        let marks = unsafe { self.marks.start().add(offset).cast::<[u8; N]>().read() };
        marks.iter().all(|has| has & mark == mark).then_some(offset)
    }

    pub(super) fn read_each<const N: usize>(
        &self,
        addresses: &[u64; 32],
        lanes: u32,
        out: &mut [u64; 32],
        by: Access,
    ) -> Result<(), Fault> {
        let mut left = lanes;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let mut bytes = [0; 8];
            let mine = by.of_lane(lane as u32);
            match self.marked::<N>(addresses[lane], LIVE | WRITTEN) {
                Some(offset) => {
                    // SAFETY: `marked` found the range inside the mapping.
                    let held = unsafe { self.bytes.start().add(offset).cast::<[u8; N]>().read() };
                    bytes[..N].copy_from_slice(&held);
                    if self.checks.races && !mine.atomic {
                        for (i, cell) in self.cells_at(offset, N).iter_mut().enumerate() {
                            let noted = cell.note_read(&mine);
                            noted.map_err(|earlier| self.race(addresses[lane] + i as u64, mine, false, earlier))?;
                        }
                    }
                }
                None => self.read(addresses[lane], &mut bytes[..N], mine)?,
            }
            out[lane] = u64::from_le_bytes(bytes);
        }
        Ok(())
    }

    pub(super) fn write_each<const N: usize>(
        &self,
        addresses: &[u64; 32],
        lanes: u32,
        values: &[u64; 32],
        by: Access,
    ) -> Result<(), Fault> {
        let mut left = lanes;
        while left != 0 {
            let lane = left.trailing_zeros() as usize;
            left &= left - 1;
            let bytes = values[lane].to_le_bytes();
            let mine = by.of_lane(lane as u32);
            let Some(offset) = self.marked::<N>(addresses[lane], LIVE) else {
                self.write(addresses[lane], &bytes[..N], mine)?;
                continue;
            };
            // SAFETY: `marked` found the range inside the mappings, and no other reference into them is held.
            let (held, marks) = unsafe {
                (
                    &mut *self.bytes.start().add(offset).cast::<[u8; N]>(),
                    &mut *self.marks.start().add(offset).cast::<[u8; N]>(),
                )
            };
            if self.checks.races {
                for (i, cell) in self.cells_at(offset, N).iter_mut().enumerate() {
                    let changes = marks[i] & WRITTEN == 0 || held[i] != bytes[i];
                    let noted = cell.note_write(&mine, changes);
                    noted.map_err(|earlier| self.race(addresses[lane] + i as u64, mine, true, earlier))?;
                }
            }
            held.copy_from_slice(&bytes[..N]);
            *marks = [LIVE | WRITTEN; N];
        }
        Ok(())
    }
}
