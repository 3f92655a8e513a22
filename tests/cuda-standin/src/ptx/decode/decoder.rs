//! Decodes functions one after the other, and the instructions that compute.
//!
//! Invariant: an instruction's rows are written only by what its opcode names; what could not be decoded runs in no part.
//! Not here: moves and memory (`data.rs`), branches and calls (`control.rs`), exchanges (`warp.rs`).

use super::float::Way;
use super::{Decoded, bits, compare, convert, float, integer};
use crate::ptx::code::{Carry, Compare, Condition, Form, Instruction, Op, Rounding, Test};
use crate::ptx::lanes::{Compute, Rows, compute};
use crate::ptx::layout::Layout;
use crate::ptx::module::Constant;
use crate::ptx::source::{Function, Operand, Raw, Source, Type};
use std::collections::HashMap;

/// Decodes one function after the other.
pub struct Decoder<'s> {
    pub(super) source: &'s Source,
    pub(super) layout: &'s Layout,
    /// The function at hand.
    pub(super) index: usize,
    code: Vec<Instruction>,
    lines: Vec<u32>,
    pub(super) constants: Vec<Constant>,
    pub(super) known: HashMap<Constant, u32>,
    pub(super) starts: Vec<u32>,
    /// Labels of the function at hand, as indices of its written instructions until it is done.
    pub(super) labels: HashMap<&'s str, u32>,
}

impl<'s> Decoder<'s> {
    /// A decoder that has decoded nothing.
    pub fn new(source: &'s Source, layout: &'s Layout) -> Decoder<'s> {
        Decoder {
            source,
            layout,
            index: 0,
            code: Vec::new(),
            lines: Vec::new(),
            constants: Vec::new(),
            known: HashMap::new(),
            starts: vec![0; source.functions.len()],
            labels: HashMap::new(),
        }
    }

    /// Everything that was decoded.
    pub fn done(self) -> Decoded {
        let Decoder { code, lines, constants, starts, .. } = self;
        Decoded { code, lines, constants, starts }
    }

    /// The function at hand, as written.
    pub(super) fn written(&self) -> &'s Function {
        &self.source.functions[self.index]
    }

    /// Decodes a function; those it calls are decoded already.
    pub fn function(&mut self, index: usize) -> Result<(), String> {
        self.index = index;
        let function = self.written();
        let start = self.code.len();
        self.starts[index] = start as u32;
        self.labels = function.labels.iter().map(|(name, at)| (name.as_str(), *at as u32)).collect();
        let mut places = Vec::with_capacity(function.instructions.len() + 1);
        for raw in &function.instructions {
            places.push(self.code.len() as u32);
            let guard = self.guard(raw);
            if let Err(what) = self.instruction(raw, guard) {
                // Whatever was emitted of it before it turned out to be unknown must not run.
                let first = places.last().map_or(0, |at| *at as usize);
                self.code.truncate(first);
                self.code.push(Instruction { guard, op: Op::Unknown(what.into()) });
            }
            self.lines.resize(self.code.len(), raw.line);
        }
        places.push(self.code.len() as u32);
        // Falling off the end is leaving.
        let line = function.instructions.last().map_or(0, |raw| raw.line);
        let guard = self.always();
        self.code.push(Instruction { guard, op: self.leave() });
        self.lines.resize(self.code.len(), line);
        let at = |label: u32| places.get(label as usize).copied().ok_or("a label beyond its function");
        for instruction in &mut self.code[start..] {
            match &mut instruction.op {
                Op::Branch(target) => *target = at(*target)?,
                Op::BranchTable(_, targets) => {
                    for target in targets.iter_mut() {
                        *target = at(*target)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn always(&self) -> Condition {
        Condition { predicate: self.layout.n_predicates + 1, flip: 0 }
    }

    fn guard(&self, raw: &Raw) -> Condition {
        match raw.guard {
            Some((predicate, negated)) => self.condition(predicate, negated),
            None => self.always(),
        }
    }

    pub(super) fn emit(&mut self, guard: Condition, op: Op) {
        self.code.push(Instruction { guard, op });
    }

    fn instruction(&mut self, raw: &Raw, guard: Condition) -> Result<(), String> {
        let parts: Vec<&str> = raw.opcode.iter().map(String::as_str).collect();
        let op = match parts[0] {
            "mov" | "ld" | "ldu" | "st" | "atom" | "red" | "cvta" | "isspacep" => {
                return self.data(&parts, raw, guard);
            }
            "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => return self.control(&parts, raw, guard),
            "bar" | "barrier" | "shfl" | "vote" | "match" | "redux" | "activemask" => self.warp(&parts, raw)?,
            "membar" | "fence" | "nanosleep" | "prefetch" | "prefetchu" | "pmevent" | "discard" | "applypriority"
            | "griddepcontrol" => Op::Nothing,
            "setp" => self.set_predicate(&parts, raw)?,
            "set" => return self.set(&parts, raw, guard),
            "testp" => {
                let kind = last_type(&parts)?;
                let test = compare::property(parts.get(1).unwrap_or(&""), kind).ok_or_else(unknown)?;
                let a = self.source(raw.operands.get(1), kind)?;
                Op::Test(test, self.predicate(raw.operands.first())?, a, a)
            }
            "selp" => {
                let kind = last_type(&parts)?;
                let [d, a, b, p] = four(raw)?;
                Op::Select(
                    self.row(d)?,
                    self.source(Some(a), kind)?,
                    self.source(Some(b), kind)?,
                    self.condition_of(p)?,
                )
            }
            "slct" => return self.select_by_sign(&parts, raw, guard),
            "and" | "or" | "xor" | "not" if parts.last() == Some(&"pred") => self.logic(parts[0], raw)?,
            "cvt" => self.convert(&parts, raw)?,
            _ => self.arithmetic(&parts, raw)?,
        };
        self.emit(guard, op);
        Ok(())
    }

    /// Instructions that compute a row from rows.
    fn arithmetic(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        let kind = last_type(parts)?;
        let with_carry = parts.contains(&"cc") || matches!(parts[0], "addc" | "subc" | "madc");
        if with_carry {
            let step = integer::carry(parts, kind).ok_or_else(unknown)?;
            let rows = self.rows(raw, kind)?;
            return Ok(Op::Carry(Box::new(Carry { step, rows, sets_flag: parts.contains(&"cc") })));
        }
        if kind.is_float() {
            let form = form(parts, kind, kind);
            return match float::float(parts, kind, form).ok_or_else(unknown)? {
                Way::Loop(compute) => Ok(Op::Compute(compute, self.rows(raw, kind)?)),
                Way::Each(scalar) => Ok(Op::Scalar(Box::new((scalar, form, self.rows(raw, kind)?)))),
            };
        }
        let compute = integer::integer(parts, kind).or_else(|| bits::bits(parts, kind)).ok_or_else(unknown)?;
        Ok(Op::Compute(compute, self.rows(raw, kind)?))
    }

    /// The result and up to four operands of a computation.
    pub(super) fn rows(&mut self, raw: &Raw, kind: Type) -> Result<Rows, String> {
        let [d, sources @ ..] = raw.operands.as_slice() else { return Err("an operand is missing".into()) };
        if sources.len() > 4 {
            return Err("an operand too many".into());
        }
        let mut rows = Rows { d: self.row(d)?, ..Rows::default() };
        for (operand, row) in sources.iter().zip([&mut rows.a, &mut rows.b, &mut rows.c, &mut rows.e]) {
            *row = self.source(Some(operand), kind)?;
        }
        Ok(rows)
    }

    fn convert(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        let kinds: Vec<Type> = parts.iter().filter_map(|part| Type::named(part)).collect();
        let &[to, from] = kinds.as_slice() else { return Err(unknown()) };
        if parts.iter().any(|part| matches!(*part, "f16x2" | "bf16" | "tf32" | "relu")) {
            return Err(unknown());
        }
        let form = form(parts, to, from);
        let rows = self.rows(raw, from)?;
        Ok(match convert::quick(form) {
            Some(compute) => Op::Compute(compute, rows),
            None => Op::Scalar(Box::new((convert::each, form, rows))),
        })
    }

    /// `setp.test[.combine][.ftz].type p[|q], a, b[, c]`
    fn set_predicate(&mut self, parts: &[&str], raw: &Raw) -> Result<Op, String> {
        let kind = last_type(parts)?;
        let name = parts.get(1).copied().unwrap_or("");
        let test = compare::test(name, kind, parts.contains(&"ftz")).ok_or_else(unknown)?;
        let (a, b) = (self.source(raw.operands.get(1), kind)?, self.source(raw.operands.get(2), kind)?);
        let combined = parts.iter().find_map(|part| compare::combine(part));
        if let (Some(Operand::Predicate(..)), None) = (raw.operands.first(), combined) {
            return Ok(Op::Test(test, self.predicate(raw.operands.first())?, a, b));
        }
        let (p, q) = match raw.operands.first() {
            Some(Operand::Pair(p, q)) => (self.optional_predicate(p)?, self.optional_predicate(q)?),
            other => (Some(self.predicate(other)?), None),
        };
        let with = match combined {
            Some(_) => self.condition_of(raw.operands.get(3).ok_or("an operand is missing")?)?,
            None => self.always(),
        };
        let combine = combined.unwrap_or(|a, _| a);
        Ok(Op::Compare(Box::new(Compare { test, a, b, p, q, combine, with })))
    }

    /// `set.test.dtype.stype d, a, b`: all ones or 1.0, else zero.
    fn set(&mut self, parts: &[&str], raw: &Raw, guard: Condition) -> Result<(), String> {
        let kinds: Vec<Type> = parts.iter().filter_map(|part| Type::named(part)).collect();
        let &[to, from] = kinds.as_slice() else { return Err(unknown()) };
        if raw.operands.len() != 3 {
            return Err(unknown());
        }
        let test = compare::test(parts.get(1).unwrap_or(&""), from, parts.contains(&"ftz")).ok_or_else(unknown)?;
        let (a, b) = (self.source(raw.operands.get(1), from)?, self.source(raw.operands.get(2), from)?);
        let yes = self.constant(Constant::Bits(if to == Type::F32 { 0x3f80_0000 } else { 0xffff_ffff }));
        let no = self.constant(Constant::Bits(0));
        let d = self.row(&raw.operands[0])?;
        self.select_if(guard, test, (a, b), (d, yes, no));
        Ok(())
    }

    /// `slct.dtype.ctype d, a, b, c`: `a` if `c` is not below zero, else `b`.
    fn select_by_sign(&mut self, parts: &[&str], raw: &Raw, guard: Condition) -> Result<(), String> {
        let kinds: Vec<Type> = parts.iter().filter_map(|part| Type::named(part)).collect();
        let (&[kind, sign], [d, a, b, c]) = (kinds.as_slice(), four(raw)?) else { return Err(unknown()) };
        let test = compare::test("ge", sign, parts.contains(&"ftz")).ok_or_else(unknown)?;
        let (d, a, b) = (self.row(d)?, self.source(Some(a), kind)?, self.source(Some(b), kind)?);
        let (c, zero) = (self.source(Some(c), sign)?, self.constant(Constant::Bits(0)));
        self.select_if(guard, test, (c, zero), (d, a, b));
        Ok(())
    }

    /// `d = test(a, b) ? yes : no`, through the predicate kept for this.
    fn select_if(&mut self, guard: Condition, test: Test, (a, b): (u32, u32), (d, yes, no): (u32, u32, u32)) {
        let predicate = self.layout.n_predicates + 2;
        self.emit(guard, Op::Test(test, predicate, a, b));
        self.emit(guard, Op::Select(d, yes, no, Condition { predicate, flip: 0 }));
    }

    fn logic(&mut self, name: &str, raw: &Raw) -> Result<Op, String> {
        let d = self.predicate(raw.operands.first())?;
        let a = self.condition_of(raw.operands.get(1).ok_or("an operand is missing")?)?;
        if name == "not" {
            return Ok(Op::Logic(|a, _| !a, d, a, a));
        }
        let b = self.condition_of(raw.operands.get(2).ok_or("an operand is missing")?)?;
        Ok(Op::Logic(compare::combine(name).ok_or_else(unknown)?, d, a, b))
    }
}

/// A row moved to another: `mov`, and conversions that change nothing.
pub(super) fn copy() -> Compute {
    compute!(|a| a)
}

pub(super) fn unknown() -> String {
    "this instruction is not known".into()
}

/// The type that the opcode names last.
pub(super) fn last_type(parts: &[&str]) -> Result<Type, String> {
    parts.iter().rev().find_map(|part| Type::named(part)).ok_or_else(unknown)
}

fn four(raw: &Raw) -> Result<[&Operand; 4], String> {
    match raw.operands.as_slice() {
        [d, a, b, c] => Ok([d, a, b, c]),
        _ => Err("four operands were expected".into()),
    }
}

/// The modifiers that an opcode names.
fn form(parts: &[&str], to: Type, from: Type) -> Form {
    let mut form = Form { to, from, rounding: Rounding::Nearest, to_integral: false, ftz: false, saturate: false };
    for part in parts {
        match *part {
            "rn" => form.rounding = Rounding::Nearest,
            "rz" => form.rounding = Rounding::Zero,
            "rm" => form.rounding = Rounding::Down,
            "rp" => form.rounding = Rounding::Up,
            "rna" => form.rounding = Rounding::Away,
            "rni" => (form.rounding, form.to_integral) = (Rounding::Nearest, true),
            "rzi" => (form.rounding, form.to_integral) = (Rounding::Zero, true),
            "rmi" => (form.rounding, form.to_integral) = (Rounding::Down, true),
            "rpi" => (form.rounding, form.to_integral) = (Rounding::Up, true),
            // Doubles have no flushing; `.ftz` there belongs to the approximation.
            "ftz" => form.ftz = to != Type::F64 || from == Type::F32,
            "sat" => form.saturate = true,
            _ => {}
        }
    }
    form
}
