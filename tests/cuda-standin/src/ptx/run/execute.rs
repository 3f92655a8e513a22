//! The less frequent instructions of a warp; the frequent ones are in the loop of `warp.rs`.

use super::machine::Machine;
use super::warp::{Next, Warp};
use crate::ptx::code::Op;
use crate::ptx::lanes::{each, put};
use crate::ptx::memory::{Fault, FaultKind};

impl Warp {
    /// Executes an instruction that moves no lane elsewhere.
    pub(super) fn execute(&mut self, machine: &mut Machine, op: &Op, active: u32) -> Result<Next, Fault> {
        match op {
            Op::Scalar(scalar) => {
                let (f, form, r) = &**scalar;
                each(active, |lane| {
                    let value = |row: u32| self.rows[row as usize][lane];
                    self.rows[r.d as usize][lane] = f(*form, value(r.a), value(r.b), value(r.c));
                });
            }
            Op::Carry(carry) => {
                let r = &carry.rows;
                each(active, |lane| {
                    let value = |row: u32| self.rows[row as usize][lane];
                    let (value, out) = (carry.step)(value(r.a), value(r.b), value(r.c), self.carry >> lane & 1 == 1);
                    self.rows[r.d as usize][lane] = value;
                    if carry.sets_flag {
                        self.carry = (self.carry & !(1 << lane)) | u32::from(out) << lane;
                    }
                });
            }
            Op::Compare(compare) => {
                let bits = (compare.test)(&self.rows, compare.a, compare.b);
                let with = self.condition(compare.with);
                if let Some(p) = compare.p {
                    self.assign(p, active, (compare.combine)(bits, with));
                }
                if let Some(q) = compare.q {
                    self.assign(q, active, (compare.combine)(!bits, with));
                }
            }
            Op::Logic(f, d, a, b) => {
                let bits = f(self.condition(*a), self.condition(*b));
                self.assign(*d, active, bits);
            }
            Op::Select(d, a, b, condition) => {
                let chosen = self.condition(*condition);
                let (a, b) = (&self.rows[*a as usize], &self.rows[*b as usize]);
                let values = std::array::from_fn(|lane| if chosen >> lane & 1 == 1 { a[lane] } else { b[lane] });
                put(&mut self.rows, *d, active, &values);
            }
            Op::Atomic(atomic) => self.atomic(machine, atomic, active)?,
            Op::CopyFrame { to, from, n_bytes } => {
                let frame_bytes = self.frame_bytes;
                each(active, |lane| {
                    let start = lane * frame_bytes;
                    let from = start + *from as usize;
                    self.frames.copy_within(from..from + *n_bytes as usize, start + *to as usize);
                });
            }
            Op::IsSpace(d, a, space) => self.is_space(*d, *a, *space, active),
            Op::Shuffle(shuffle) => return self.shuffle(shuffle, active),
            Op::Vote(vote) => return self.vote(vote, active),
            Op::Match(matching) => return self.matching(matching, active),
            Op::Reduce(reduce) => return self.reduce(reduce, active),
            Op::WarpSync(members) => return self.warp_sync(*members, active),
            Op::Barrier(_) => return Ok(if active == 0 { Next::Step } else { Next::Wait }),
            Op::ActiveMask(d) => put(&mut self.rows, *d, active, &[u64::from(active); 32]),
            Op::Clock(d) => put(&mut self.rows, *d, active, &[machine.executed; 32]),
            Op::Trap(what) if active != 0 => return Err(Fault::new(FaultKind::Trap, *what)),
            Op::Unknown(what) if active != 0 => return Err(Fault::new(FaultKind::UnknownInstruction, what.as_ref())),
            _ => {}
        }
        Ok(Next::Step)
    }
}
