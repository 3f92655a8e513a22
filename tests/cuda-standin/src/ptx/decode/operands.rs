//! Operands: which row, predicate or place each one is.

use super::decoder::Decoder;
use crate::ptx::code::Condition;
use crate::ptx::layout::VariablePlace;
use crate::ptx::module::Constant;
use crate::ptx::source::{Operand, Space, Type};

/// The special registers that kernels may read.
const SPECIALS: [&str; 27] = [
    "tid.x",
    "tid.y",
    "tid.z",
    "ntid.x",
    "ntid.y",
    "ntid.z",
    "ctaid.x",
    "ctaid.y",
    "ctaid.z",
    "nctaid.x",
    "nctaid.y",
    "nctaid.z",
    "laneid",
    "warpid",
    "nwarpid",
    "smid",
    "nsmid",
    "gridid",
    "lanemask_eq",
    "lanemask_lt",
    "lanemask_le",
    "lanemask_gt",
    "lanemask_ge",
    "total_smem_size",
    "dynamic_smem_size",
    "is_explicit_cluster",
    "aggr_smem_size",
];

impl Decoder<'_> {
    pub(super) fn constant(&mut self, constant: Constant) -> u32 {
        if let Some(&row) = self.known.get(&constant) {
            return row;
        }
        let row = self.layout.n_registers + self.constants.len() as u32;
        self.constants.push(constant.clone());
        self.known.insert(constant, row);
        row
    }

    fn register(&self, register: u32) -> u32 {
        self.layout.register_base[self.index] + register
    }

    /// A row to write; `_` is a row that nobody reads.
    pub(super) fn row(&mut self, operand: &Operand) -> Result<u32, String> {
        match operand {
            Operand::Register(register) => Ok(self.register(*register)),
            Operand::Nothing => Ok(self.constant(Constant::Special("sink"))),
            other => Err(format!("a register was expected, not {other:?}")),
        }
    }

    /// A row to read.
    pub(super) fn source(&mut self, operand: Option<&Operand>, kind: Type) -> Result<u32, String> {
        let constant = match operand.ok_or("an operand is missing")? {
            Operand::Register(register) => return Ok(self.register(*register)),
            Operand::Integer(value) => Constant::Bits(*value),
            Operand::SingleBits(bits) if kind == Type::F64 => {
                Constant::Bits(f64::from(f32::from_bits(*bits)).to_bits())
            }
            Operand::SingleBits(bits) => Constant::Bits(u64::from(*bits)),
            Operand::DoubleBits(bits) if kind == Type::F32 => {
                Constant::Bits(u64::from((f64::from_bits(*bits) as f32).to_bits()))
            }
            Operand::DoubleBits(bits) => Constant::Bits(*bits),
            Operand::Decimal(value) if kind == Type::F32 => Constant::Bits(u64::from((*value as f32).to_bits())),
            Operand::Decimal(value) => Constant::Bits(value.to_bits()),
            Operand::Variable(index) => Constant::Bits(self.place(*index).offset() as u64),
            Operand::Name(name) => return self.named(name),
            other => return Err(format!("a value was expected, not {other:?}")),
        };
        Ok(self.constant(constant))
    }

    /// Where a variable of the function is.
    pub(super) fn place(&self, variable: usize) -> VariablePlace {
        self.layout.places[self.index][variable]
    }

    fn named(&mut self, name: &str) -> Result<u32, String> {
        if let Some(special) = name.strip_prefix('%') {
            let known = SPECIALS.iter().find(|known| **known == special);
            let known = known.ok_or_else(|| format!("the register `{name}` is not known"))?;
            return Ok(self.constant(Constant::Special(known)));
        }
        if name == "WARP_SZ" {
            return Ok(self.constant(Constant::Bits(32)));
        }
        let variable = self.source.variables.iter().find(|variable| variable.name == name);
        let variable = variable.ok_or_else(|| format!("`{name}` is not known"))?;
        let constant = match variable.space {
            Space::Shared if variable.is_extern => Constant::DynamicShared,
            Space::Shared => Constant::Bits(self.layout.shared.get(name).copied().unwrap_or(0) as u64),
            _ => Constant::Global(name.to_string()),
        };
        Ok(self.constant(constant))
    }

    fn predicate_index(&self, predicate: u32) -> u32 {
        self.layout.predicate_base[self.index] + predicate
    }

    pub(super) fn condition(&self, predicate: u32, negated: bool) -> Condition {
        Condition { predicate: self.predicate_index(predicate), flip: if negated { u32::MAX } else { 0 } }
    }

    /// A predicate to read; numbers are true unless zero.
    pub(super) fn condition_of(&self, operand: &Operand) -> Result<Condition, String> {
        match operand {
            Operand::Predicate(predicate, negated) => Ok(self.condition(*predicate, *negated)),
            Operand::Integer(value) => {
                Ok(Condition { predicate: self.layout.n_predicates + u32::from(*value != 0), flip: 0 })
            }
            other => Err(format!("a predicate was expected, not {other:?}")),
        }
    }

    /// A predicate to write.
    pub(super) fn predicate(&self, operand: Option<&Operand>) -> Result<u32, String> {
        match operand {
            Some(Operand::Predicate(predicate, false)) => Ok(self.predicate_index(*predicate)),
            other => Err(format!("a predicate was expected, not {other:?}")),
        }
    }

    pub(super) fn optional_predicate(&self, operand: &Operand) -> Result<Option<u32>, String> {
        match operand {
            Operand::Nothing => Ok(None),
            other => self.predicate(Some(other)).map(Some),
        }
    }
}
