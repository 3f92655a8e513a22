//! From instructions as written to decoded ones: opcodes become functions, operands become rows, labels addresses.
//!
//! Invariant: an unknown opcode or form is no error here; it becomes an instruction that faults when it is reached,
//! so that a module may hold functions that nobody calls.
//! Not here: executing (`run`).

mod bits;
mod compare;
mod control;
mod convert;
mod data;
mod decoder;
mod float;
mod integer;
mod operands;
mod warp;

use super::code::Instruction;
use super::layout::Layout;
use super::module::Constant;
use super::source::Source;
pub use control::callee;
use decoder::Decoder;

/// What decoding gives.
pub struct Decoded {
    pub code: Vec<Instruction>,
    pub lines: Vec<u32>,
    pub constants: Vec<Constant>,
    /// The first instruction of each function.
    pub starts: Vec<u32>,
}

/// Decodes all functions in `order`.
pub fn decode(source: &Source, order: &[usize], layout: &Layout) -> Result<Decoded, String> {
    let mut decoder = Decoder::new(source, layout);
    for &index in order {
        decoder.function(index)?;
    }
    Ok(decoder.done())
}
