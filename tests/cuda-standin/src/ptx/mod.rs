//! A PTX interpreter: from the text that NVRTC writes to results in memory.
//!
//! ```text
//! text ──token──▶ tokens ──parse──▶ functions of raw instructions ──decode──▶ Module ──run──▶ memory, counts
//! ```
//!
//! A warp runs as one: registers are rows of 32 lanes, an instruction is executed for all active lanes at once, and of
//! the groups that a branch made the one with the lowest address runs first, so that they meet again.
//! Blocks run one after the other, on one thread: the same launch gives the same result and the same counts.
//!
//! Invariant: no PTX and no launch makes this panic. What cannot be parsed is an `Err` of [`Module::parse`]; what goes
//! wrong while running is a [`Fault`] that names the line, the instruction, the block and the thread.
//! Not here: device memory, streams and the driver's functions, which are on the other side of [`Memory`].

mod atomics;
mod code;
mod decode;
mod floats;
mod lanes;
mod layout;
mod memory;
mod module;
mod parse;
mod run;
mod shared;
mod source;
mod token;

pub use memory::{Access, Fault, FaultKind, Memory};
pub use module::{Global, Kernel, Module, Param, Pointer};
pub use run::{Checks, Counts, Launch, run};
