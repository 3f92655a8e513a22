//! Moves, loads, stores, atomics and addresses.

use super::decoder::{Decoder, copy, last_type, unknown};
use crate::ptx::atomics;
use crate::ptx::code::{Atomic, Condition, Op, Place, Transfer};
use crate::ptx::lanes::{Compute, Rows, compute};
use crate::ptx::layout::VariablePlace;
use crate::ptx::module::Constant;
use crate::ptx::run::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::ptx::source::{Operand, Raw, Space, Type};

impl Decoder<'_> {
    pub(super) fn data(&mut self, parts: &[&str], raw: &Raw, guard: Condition) -> Result<(), String> {
        let op = match parts[0] {
            "mov" => return self.mov(parts, raw, guard),
            "ld" | "ldu" => Op::Load(Box::new(self.transfer(parts, raw, 0, 1)?)),
            "st" => Op::Store(Box::new(self.transfer(parts, raw, 1, 0)?)),
            "atom" => self.atomic(parts, raw, true)?,
            "red" => self.atomic(parts, raw, false)?,
            "cvta" => self.address(parts, raw)?,
            _ => {
                let d = self.predicate(raw.operands.first())?;
                let space = parts.get(1).and_then(|part| space_named(part)).ok_or_else(unknown)?;
                Op::IsSpace(d, self.source(raw.operands.get(1), Type::U64)?, space)
            }
        };
        self.emit(guard, op);
        Ok(())
    }

    fn mov(&mut self, parts: &[&str], raw: &Raw, guard: Condition) -> Result<(), String> {
        let kind = last_type(parts)?;
        let [to, from] = raw.operands.as_slice() else { return Err("two operands were expected".into()) };
        match (to, from) {
            (Operand::Predicate(..), _) => {
                let (d, a) = (self.predicate(Some(to))?, self.condition_of(from)?);
                self.emit(guard, Op::Logic(|a, _| a, d, a, a));
            }
            (Operand::Vector(parts), _) => {
                let a = self.source(Some(from), kind)?;
                for (i, part) in parts.iter().enumerate() {
                    if *part == Operand::Nothing {
                        continue;
                    }
                    let (d, b) = (self.row(part)?, self.constant(Constant::Bits(i as u64)));
                    let compute = piece(kind, parts.len()).ok_or_else(unknown)?;
                    self.emit(guard, Op::Compute(compute, Rows { d, a, b, ..Rows::default() }));
                }
            }
            (_, Operand::Vector(parts)) => {
                let d = self.row(to)?;
                let compute = join(kind, parts.len()).ok_or_else(unknown)?;
                let mut rows = [0; 4];
                for (row, part) in rows.iter_mut().zip(parts) {
                    *row = self.source(Some(part), Type::B32)?;
                }
                let [a, b, c, e] = rows;
                self.emit(guard, Op::Compute(compute, Rows { d, a, b, c, e }));
            }
            (_, Operand::Name(name))
                if matches!(name.as_str(), "%clock" | "%clock64" | "%globaltimer" | "%clock_hi") =>
            {
                let d = self.row(to)?;
                self.emit(guard, Op::Clock(d));
            }
            _ => {
                let rows = self.rows(raw, kind)?;
                self.emit(guard, Op::Compute(copy(), rows));
            }
        }
        Ok(())
    }

    fn transfer(&mut self, parts: &[&str], raw: &Raw, value: usize, address: usize) -> Result<Transfer, String> {
        let kind = last_type(parts)?;
        let space = parts.iter().find_map(|part| space_named(part)).unwrap_or(Space::Generic);
        let place = self.place_of(raw.operands.get(address), space)?;
        let is_load = value == 0;
        let values = match raw.operands.get(value).ok_or("an operand is missing")? {
            Operand::Vector(values) => values.as_slice(),
            other => std::slice::from_ref(other),
        };
        let n = parts.iter().find_map(|part| match *part {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        });
        if values.len() != n.unwrap_or(1) {
            return Err("the vector has another length".into());
        }
        let mut rows = Vec::with_capacity(values.len());
        for value in values {
            rows.push(if is_load { self.row(value)? } else { self.source(Some(value), kind)? });
        }
        let atomic = parts.iter().any(|part| matches!(*part, "volatile" | "relaxed" | "acquire" | "release" | "mmio"));
        Ok(Transfer { place, rows, n_bytes: kind.n_bytes(), signed: kind.is_signed(), atomic })
    }

    /// The place that `[…]` means in that space.
    fn place_of(&mut self, operand: Option<&Operand>, space: Space) -> Result<Place, String> {
        let Some(Operand::Address(base, offset)) = operand else { return Err("an address was expected".into()) };
        let found = match &**base {
            Operand::Variable(variable) => match self.place(*variable) {
                VariablePlace::Param(_) => Space::Param,
                VariablePlace::Frame(_) => Space::Local,
                VariablePlace::Shared(_) => Space::Shared,
            },
            // A pointer to a parameter: a kernel's are in its block, a function's in the frame.
            _ if space == Space::Param && !self.written().is_kernel => Space::Local,
            _ => space,
        };
        // A variable's name is its address in its own space, also where none is written.
        let space = if space == Space::Generic && !matches!(**base, Operand::Variable(_)) { space } else { found };
        let space = match &**base {
            Operand::Name(name) if space == Space::Generic && self.layout.shared.contains_key(name) => Space::Shared,
            _ => space,
        };
        Ok(Place { space, base: self.source(Some(base), Type::U64)?, offset: *offset })
    }

    fn atomic(&mut self, parts: &[&str], raw: &Raw, has_result: bool) -> Result<Op, String> {
        let kind = last_type(parts)?;
        let space = parts.iter().find_map(|part| space_named(part)).unwrap_or(Space::Generic);
        let update = parts[1..].iter().find_map(|part| atomics::update(part, kind)).ok_or_else(unknown)?;
        let (d, operands) = match raw.operands.as_slice() {
            [d, rest @ ..] if has_result => (Some(self.row(d)?), rest),
            rest => (None, rest),
        };
        let place = self.place_of(operands.first(), space)?;
        let b = self.source(operands.get(1), kind)?;
        let c = match operands.get(2) {
            Some(c) => self.source(Some(c), kind)?,
            None => b,
        };
        Ok(Op::Atomic(Box::new(Atomic { place, n_bytes: kind.n_bytes(), update, d, b, c })))
    }

    /// `cvta[.to].space`: between an address in a space and a generic one.
    fn address(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        let to_space = parts.contains(&"to");
        let space = parts.iter().find_map(|part| space_named(part)).ok_or_else(unknown)?;
        let mut rows = self.rows(raw, Type::U64)?;
        let window = match space {
            Space::Global | Space::Const | Space::Generic => return Ok(Op::Compute(copy(), rows)),
            Space::Shared => SHARED_WINDOW,
            Space::Local => LOCAL_WINDOW,
            Space::Param if self.written().is_kernel => PARAM_WINDOW,
            Space::Param => LOCAL_WINDOW,
        };
        rows.b = self.constant(Constant::Bits(window));
        let compute = if to_space { compute!(|a, b| a.wrapping_sub(b)) } else { compute!(|a, b| a.wrapping_add(b)) };
        Ok(Op::Compute(compute, rows))
    }
}

fn space_named(part: &str) -> Option<Space> {
    Some(match part.split("::").next()? {
        "global" => Space::Global,
        "const" => Space::Const,
        "shared" => Space::Shared,
        "local" => Space::Local,
        "param" => Space::Param,
        _ => return None,
    })
}

/// One of `n` parts of a word; which one is operand `b`.
fn piece(kind: Type, n: usize) -> Option<Compute> {
    Some(match (kind.n_bytes(), n) {
        (8, 2) => compute!(|a, b| a >> (32 * (b & 1)) & 0xffff_ffff),
        (8, 4) | (4, 2) => compute!(|a, b| a >> (16 * (b & 3)) & 0xffff),
        (4, 4) => compute!(|a, b| a >> (8 * (b & 3)) & 0xff),
        (2, 2) => compute!(|a, b| a >> (8 * (b & 1)) & 0xff),
        _ => return None,
    })
}

/// A word from its `n` parts.
fn join(kind: Type, n: usize) -> Option<Compute> {
    Some(match (kind.n_bytes(), n) {
        (8, 2) => compute!(|a, b| u64::from(a as u32) | b << 32),
        (8, 4) => compute!(|a, b, c, e| (a & 0xffff) | (b & 0xffff) << 16 | (c & 0xffff) << 32 | e << 48),
        (4, 2) => compute!(|a, b| (a & 0xffff) | (b & 0xffff) << 16),
        (4, 4) => compute!(|a, b, c, e| (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | (e & 0xff) << 24),
        (2, 2) => compute!(|a, b| (a & 0xff) | (b & 0xff) << 8),
        _ => return None,
    })
}
