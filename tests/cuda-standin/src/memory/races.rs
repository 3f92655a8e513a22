//! Finds accesses of two threads to one byte that nothing puts in order.
//!
//! Each byte of device memory has a `Cell`: who wrote and who read it last in this launch, and when, counted in barriers.
//! Two accesses collide if one of them is a write that is not atomic, and
//! - they come from different blocks, which nothing orders within a launch, or
//! - from different warps of a block with no barrier of the block between them, or
//! - from different lanes of a warp with no barrier of the warp between them.
//!
//! Invariant: what is reported did happen; a collision may be missed where a third access came between.
//! Two writes of the same value are let pass: it makes no difference who comes first.

use crate::ptx::Access;

const LANES_PER_WARP: u32 = 32;

// In `written`: the last write was atomic; other lanes of that warp wrote the same value with it.
const ATOMIC: u32 = 1;
const SAME_IN_WARP: u32 = 2;

// In `read`: other lanes, warps or blocks read it too, and no barrier came between.
const LANES: u32 = 1;
const WARPS: u32 = 2;
const BLOCKS: u32 = 4;

/// When an access was, in barriers of its block and of its warp; the lowest bits of the second hold what else is known.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct When {
    epoch: u32,
    warp_epoch_and_flags: u32,
}

impl When {
    const FLAG_BITS: u32 = 3;

    fn new(by: &Access, flags: u32) -> When {
        When { epoch: by.epoch, warp_epoch_and_flags: (by.warp_epoch << Self::FLAG_BITS) | flags }
    }

    fn has(self, flag: u32) -> bool {
        self.warp_epoch_and_flags & flag != 0
    }

    /// At the same moment, as far as barriers tell.
    fn is_now(self, now: &Access) -> bool {
        self.epoch == now.epoch && self.warp_epoch_and_flags >> Self::FLAG_BITS == now.warp_epoch
    }

    /// No barrier of the block since.
    fn in_epoch_of(self, now: &Access) -> bool {
        self.epoch >= now.epoch
    }

    /// No barrier of the warp since.
    fn in_warp_epoch_of(self, now: &Access) -> bool {
        self.warp_epoch_and_flags >> Self::FLAG_BITS >= now.warp_epoch
    }

    /// Whether nothing orders this access, so far away, before the one that happens now.
    fn is_unordered(self, distance: Distance, now: &Access) -> bool {
        match distance {
            Distance::Same => false,
            Distance::Lane => self.in_warp_epoch_of(now),
            Distance::Warp => self.in_epoch_of(now),
            Distance::Block => true,
        }
    }
}

/// What is known of the accesses to one byte. All zero: there was none.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Cell {
    writer: u32,
    written: When,
    reader: u32,
    read: When,
}

/// The access that a new one collided with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    pub wrote: bool,
    pub block: u32,
    pub thread: u32,
}

/// A thread as one number, never 0. Blocks two million apart share numbers, which can only hide a collision.
fn identity(by: &Access) -> u32 {
    1 + (((by.block & 0x1f_ffff) << 10) | (by.thread & 0x3ff))
}

fn block_of(identity: u32) -> u32 {
    (identity - 1) >> 10
}

fn thread_of(identity: u32) -> u32 {
    (identity - 1) & 0x3ff
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Distance {
    Same,
    Lane,
    Warp,
    Block,
}

fn distance(a: u32, b: u32) -> Distance {
    if a == b {
        Distance::Same
    } else if block_of(a) != block_of(b) {
        Distance::Block
    } else if thread_of(a) / LANES_PER_WARP != thread_of(b) / LANES_PER_WARP {
        Distance::Warp
    } else {
        Distance::Lane
    }
}

impl Cell {
    /// Whether those who accessed it last are lanes of the warp that does so now, and a barrier of the warp came since: the
    /// ordinary case, in which there is nothing to look into.
    #[inline(always)]
    fn is_settled(&self, me: u32, now: &Access) -> bool {
        let warp_of = |identity: u32| (identity - 1) / LANES_PER_WARP;
        let is_past = |who: u32, when: When| who == 0 || (warp_of(who) == warp_of(me) && !when.in_warp_epoch_of(now));
        is_past(self.writer, self.written)
            && is_past(self.reader, self.read)
            && !self.read.has(WARPS)
            && !self.read.has(BLOCKS)
    }

    /// Notes a read.
    #[inline(always)]
    pub fn note_read(&mut self, by: &Access) -> Result<(), Earlier> {
        if by.atomic {
            return Ok(()); // An atomic operation is judged by the write that follows.
        }
        let me = identity(by);
        if !self.is_settled(me, by) {
            return self.judge_read(me, by);
        }
        self.reader = me;
        self.read = When::new(by, 0);
        Ok(())
    }

    fn judge_read(&mut self, me: u32, by: &Access) -> Result<(), Earlier> {
        if self.writer != 0 && !self.written.has(ATOMIC) {
            let far = distance(self.writer, me);
            let same_value = far == Distance::Lane && self.written.has(SAME_IN_WARP);
            if !same_value && self.written.is_unordered(far, by) {
                return Err(self.write_before());
            }
        }
        let mut others = 0;
        if self.reader == me && self.read.is_now(by) {
            return Ok(());
        }
        if self.reader != 0 {
            let far = distance(self.reader, me);
            let near = matches!(far, Distance::Same | Distance::Lane);
            if near && self.read.has(LANES) && self.read.in_warp_epoch_of(by) {
                others |= LANES;
            }
            if far != Distance::Block && self.read.has(WARPS) && self.read.in_epoch_of(by) {
                others |= WARPS;
            }
            if self.read.has(BLOCKS) {
                others |= BLOCKS;
            }
            if self.read.is_unordered(far, by) {
                others |= match far {
                    Distance::Same => 0,
                    Distance::Lane => LANES,
                    Distance::Warp => WARPS,
                    Distance::Block => BLOCKS,
                };
            }
        }
        self.reader = me;
        self.read = When::new(by, others);
        Ok(())
    }

    /// Notes a write, which `changes` the byte or leaves it as it was.
    #[inline(always)]
    pub fn note_write(&mut self, by: &Access, changes: bool) -> Result<(), Earlier> {
        let me = identity(by);
        let flags = if by.atomic { ATOMIC } else { 0 };
        if !self.is_settled(me, by) {
            return self.judge_write(me, by, flags, changes);
        }
        self.writer = me;
        self.written = When::new(by, flags);
        Ok(())
    }

    fn judge_write(&mut self, me: u32, by: &Access, mut flags: u32, changes: bool) -> Result<(), Earlier> {
        if self.writer != 0 && !(by.atomic && self.written.has(ATOMIC)) {
            let far = distance(self.writer, me);
            let with_others = self.written.has(SAME_IN_WARP) && self.written.in_warp_epoch_of(by);
            if changes && (self.written.is_unordered(far, by) || (far == Distance::Same && with_others)) {
                return Err(self.write_before());
            }
            let joins = far == Distance::Lane && self.written.in_warp_epoch_of(by);
            if joins || (far == Distance::Same && with_others) {
                flags |= SAME_IN_WARP;
            }
        }
        if self.reader != 0 && !by.atomic && changes {
            let far = distance(self.reader, me);
            let collides = self.read.is_unordered(far, by)
                || self.read.has(BLOCKS)
                || (self.read.has(WARPS) && self.read.in_epoch_of(by))
                || (self.read.has(LANES) && far == Distance::Same && self.read.in_warp_epoch_of(by));
            if collides {
                return Err(Earlier { wrote: false, block: block_of(self.reader), thread: thread_of(self.reader) });
            }
        }
        self.writer = me;
        self.written = When::new(by, flags);
        Ok(())
    }

    fn write_before(&self) -> Earlier {
        Earlier { wrote: true, block: block_of(self.writer), thread: thread_of(self.writer) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(block: u32, thread: u32, warp_epoch: u32, epoch: u32) -> Access {
        Access { block, thread, epoch, warp_epoch, atomic: false }
    }

    #[derive(Clone, Copy)]
    enum Step {
        Read(Access),
        Write(Access),
        Again(Access),
        Atomic(Access),
    }
    use Step::{Again, Atomic, Read, Write};

    /// Whether the last step collides; those before must not.
    fn collides(steps: &[Step]) -> bool {
        let mut cell = Cell::default();
        let mut result = Ok(());
        for step in steps {
            assert_eq!(result, Ok(()), "an earlier step collided");
            result = match *step {
                Read(by) => cell.note_read(&by),
                Write(by) => cell.note_write(&by, true),
                Again(by) => cell.note_write(&by, false),
                Atomic(by) => {
                    let by = Access { atomic: true, ..by };
                    cell.note_read(&by).and_then(|()| cell.note_write(&by, true))
                }
            };
        }
        result.is_err()
    }

    #[test]
    fn one_thread_never_collides_with_itself() {
        let me = by(0, 3, 1, 0);
        assert!(!collides(&[Write(me), Read(me), Write(me), Atomic(me), Write(me)]));
    }

    #[test]
    fn blocks_collide_whatever_the_barriers() {
        assert!(collides(&[Write(by(0, 0, 1, 0)), Read(by(1, 0, 9, 2))]));
        assert!(collides(&[Read(by(0, 0, 1, 0)), Write(by(1, 0, 9, 2))]));
        assert!(!collides(&[Read(by(0, 0, 1, 0)), Read(by(1, 0, 1, 0))]));
        assert!(collides(&[Read(by(0, 0, 1, 0)), Read(by(1, 0, 1, 0)), Write(by(1, 0, 1, 0))]));
    }

    #[test]
    fn warps_need_a_barrier_of_the_block() {
        assert!(collides(&[Write(by(0, 0, 1, 0)), Read(by(0, 32, 1, 0))]));
        assert!(collides(&[Write(by(0, 0, 1, 0)), Read(by(0, 32, 5, 0))]), "a barrier of the warp is not enough");
        assert!(!collides(&[Write(by(0, 0, 1, 0)), Read(by(0, 32, 6, 1))]));
        assert!(collides(&[Read(by(0, 0, 1, 0)), Read(by(0, 40, 1, 0)), Write(by(0, 40, 2, 0))]));
    }

    #[test]
    fn lanes_need_a_barrier_of_the_warp() {
        assert!(collides(&[Write(by(0, 0, 1, 0)), Read(by(0, 1, 1, 0))]));
        assert!(!collides(&[Write(by(0, 0, 1, 0)), Read(by(0, 1, 2, 0))]));
        assert!(collides(&[Read(by(0, 0, 1, 0)), Read(by(0, 1, 1, 0)), Write(by(0, 1, 1, 0))]));
        assert!(!collides(&[Read(by(0, 0, 1, 0)), Read(by(0, 1, 1, 0)), Read(by(0, 1, 2, 0)), Write(by(0, 1, 2, 0))]));
    }

    #[test]
    fn equal_values_written_by_all_lanes_are_no_collision_until_one_differs() {
        let lanes = [Write(by(0, 0, 1, 0)), Again(by(0, 1, 1, 0)), Again(by(0, 2, 1, 0))];
        assert!(!collides(&[&lanes[..], &[Read(by(0, 0, 1, 0))]].concat()));
        assert!(collides(&[&lanes[..], &[Write(by(0, 2, 1, 0))]].concat()));
        assert!(collides(&[&lanes[..], &[Read(by(0, 32, 1, 0))]].concat()), "another warp may read too early");
    }

    #[test]
    fn atomics_collide_only_with_plain_writes() {
        assert!(!collides(&[Atomic(by(0, 0, 1, 0)), Atomic(by(1, 0, 1, 0)), Read(by(2, 0, 1, 0))]));
        assert!(collides(&[Atomic(by(0, 0, 1, 0)), Write(by(1, 0, 1, 0))]));
        assert!(collides(&[Write(by(0, 0, 1, 0)), Atomic(by(1, 0, 1, 0))]));
    }
}
