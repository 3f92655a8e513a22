//! Instructions that lanes or warps do together: barriers, shuffles, votes, matches.

use super::decoder::{Decoder, last_type, unknown};
use crate::ptx::code::{Barrier, BarrierResult, Match, Op, Reduce, Shuffle, ShuffleMode, Vote, VoteMode};
use crate::ptx::source::{Operand, Raw, Type};

impl Decoder<'_> {
    pub(super) fn warp(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        match parts[0] {
            "activemask" => Ok(Op::ActiveMask(self.row(raw.operands.first().ok_or("an operand is missing")?)?)),
            "bar" if parts.get(1) == Some(&"warp") => Ok(Op::WarpSync(self.source(raw.operands.first(), Type::B32)?)),
            "bar" | "barrier" => self.barrier(parts, raw),
            _ if parts.get(1) != Some(&"sync") && !parts.contains(&"sync") => {
                Err("only the `.sync` form is known".into())
            }
            "shfl" => self.shuffle(parts, raw),
            "vote" => self.vote(parts, raw),
            "match" => self.matching(parts, raw),
            "redux" => self.reduce(parts, raw),
            _ => Err(unknown()),
        }
    }

    fn barrier(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        let is_reduction = parts.contains(&"red");
        if !is_reduction && !parts.contains(&"sync") {
            return Err(unknown());
        }
        let mut operands = raw.operands.as_slice();
        let (mut result, mut of) = (BarrierResult::None, self.always());
        if is_reduction {
            let [d, middle @ .., predicate] = operands else { return Err("an operand is missing".into()) };
            of = self.condition_of(predicate)?;
            result = if parts.contains(&"popc") {
                BarrierResult::Count(self.row(d)?)
            } else if parts.contains(&"and") {
                BarrierResult::All(self.predicate(Some(d))?)
            } else {
                BarrierResult::Any(self.predicate(Some(d))?)
            };
            operands = middle;
        }
        let id = self.source(operands.first(), Type::U32)?;
        let n_threads = match operands.get(1) {
            Some(n) => Some(self.source(Some(n), Type::U32)?),
            None => None,
        };
        Ok(Op::Barrier(Box::new(Barrier { id, n_threads, result, of })))
    }

    /// `shfl.sync.mode.b32 d[|p], value, lane, clamp, members`
    fn shuffle(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        let mode = match parts.get(2) {
            Some(&"up") => ShuffleMode::Up,
            Some(&"down") => ShuffleMode::Down,
            Some(&"bfly") => ShuffleMode::Butterfly,
            Some(&"idx") => ShuffleMode::Index,
            _ => return Err(unknown()),
        };
        let [d, value, lane, clamp, members] = raw.operands.as_slice() else { return Err(unknown()) };
        let (d, in_range) = self.with_predicate(d)?;
        Ok(Op::Shuffle(Box::new(Shuffle {
            mode,
            d,
            in_range,
            value: self.source(Some(value), Type::B32)?,
            lane: self.source(Some(lane), Type::B32)?,
            clamp: self.source(Some(clamp), Type::B32)?,
            members: self.source(Some(members), Type::B32)?,
        })))
    }

    fn with_predicate(&mut self, operand: &Operand) -> Result<(u32, Option<u32>), String> {
        match operand {
            Operand::Pair(d, p) => Ok((self.row(d)?, self.optional_predicate(p)?)),
            d => Ok((self.row(d)?, None)),
        }
    }

    fn vote(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        let [d, of, members] = raw.operands.as_slice() else { return Err(unknown()) };
        let mode = match parts.get(2) {
            Some(&"ballot") => VoteMode::Ballot,
            Some(&"all") => VoteMode::All,
            Some(&"any") => VoteMode::Any,
            Some(&"uni") => VoteMode::Uniform,
            _ => return Err(unknown()),
        };
        let d = if mode == VoteMode::Ballot { self.row(d)? } else { self.predicate(Some(d))? };
        let members = self.source(Some(members), Type::B32)?;
        Ok(Op::Vote(Box::new(Vote { mode, d, of: self.condition_of(of)?, members })))
    }

    fn matching(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        let kind = last_type(parts)?;
        let [d, value, members] = raw.operands.as_slice() else { return Err(unknown()) };
        let (d, agree) = self.with_predicate(d)?;
        let all = match parts.get(1) {
            Some(&"all") => Some(agree),
            Some(&"any") => None,
            _ => return Err(unknown()),
        };
        let (value, members) = (self.source(Some(value), kind)?, self.source(Some(members), Type::B32)?);
        Ok(Op::Match(Box::new(Match { d, all, value, n_bytes: kind.n_bytes(), members })))
    }

    fn reduce(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        let [d, value, members] = raw.operands.as_slice() else { return Err(unknown()) };
        let kind = last_type(parts)?;
        let step: fn(u32, u32) -> u32 = match (parts.get(2), kind) {
            (Some(&"add"), _) => |a, b| a.wrapping_add(b),
            (Some(&"and"), _) => |a, b| a & b,
            (Some(&"or"), _) => |a, b| a | b,
            (Some(&"xor"), _) => |a, b| a ^ b,
            (Some(&"min"), Type::S32) => |a, b| (a as i32).min(b as i32) as u32,
            (Some(&"max"), Type::S32) => |a, b| (a as i32).max(b as i32) as u32,
            (Some(&"min"), _) => |a, b| a.min(b),
            (Some(&"max"), _) => |a, b| a.max(b),
            _ => return Err(unknown()),
        };
        Ok(Op::Reduce(Box::new(Reduce {
            d: self.row(d)?,
            value: self.source(Some(value), Type::B32)?,
            members: self.source(Some(members), Type::B32)?,
            step,
        })))
    }
}
