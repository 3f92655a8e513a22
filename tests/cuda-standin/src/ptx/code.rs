//! Decoded instructions: what the interpreter's inner loop reads.
//!
//! Invariant: every row, predicate, address of a branch and place in a frame is final; nothing is looked up by name.
//! Not here: making them (`decode`), executing them (`run`).

use super::lanes::{Compute, Lanes, Rows};
use super::source::{Space, Type};

/// A predicate, perhaps negated: `bits ^ flip` of the predicate's lanes.
#[derive(Debug, Clone, Copy)]
pub struct Condition {
    pub predicate: u32,
    pub flip: u32,
}

/// One instruction with its guard.
pub struct Instruction {
    pub guard: Condition,
    pub op: Op,
}

/// A function of one lane that is not worth a loop of its own: its form, then up to three operands.
pub type Scalar = fn(Form, u64, u64, u64) -> u64;

/// How floating-point results are rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
    /// Half away from zero: `rna`.
    Away,
}

/// The modifiers of a conversion or of a rare floating-point form.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    pub to: Type,
    pub from: Type,
    pub rounding: Rounding,
    /// The result is a whole number: `rni`, `rzi`, …
    pub to_integral: bool,
    /// Subnormals count as zero.
    pub ftz: bool,
    /// The result is clamped, to 0..1 for a float.
    pub saturate: bool,
}

/// An address: a row plus a constant.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pub space: Space,
    pub base: u32,
    pub offset: i64,
}

/// A load or store.
pub struct Transfer {
    pub place: Place,
    /// The rows; more than one for a vector.
    pub rows: Vec<u32>,
    pub n_bytes: usize,
    /// The loaded value is extended by its sign.
    pub signed: bool,
    /// Volatile or relaxed: allowed to meet other accesses.
    pub atomic: bool,
}

/// An atomic operation: old value, operands, new value.
pub type Update = fn(u64, u64, u64) -> u64;

/// `atom` or `red`.
pub struct Atomic {
    pub place: Place,
    pub n_bytes: usize,
    pub update: Update,
    /// Where the old value goes.
    pub d: Option<u32>,
    pub b: u32,
    pub c: u32,
}

/// `setp`, in full: `p = test(a, b) combine c`, `q = !test(a, b) combine c`.
pub struct Compare {
    pub test: Test,
    pub a: u32,
    pub b: u32,
    pub p: Option<u32>,
    pub q: Option<u32>,
    pub combine: fn(u32, u32) -> u32,
    pub with: Condition,
}

/// The lanes in which two rows compare.
pub type Test = fn(&[Lanes], u32, u32) -> u32;

/// Arithmetic with the carry flag: operands and carry in, value and carry out.
pub struct Carry {
    pub step: fn(u64, u64, u64, bool) -> (u64, bool),
    pub rows: Rows,
    pub sets_flag: bool,
}

/// The way of a shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

/// `shfl.sync`
pub struct Shuffle {
    pub mode: ShuffleMode,
    pub d: u32,
    pub in_range: Option<u32>,
    pub value: u32,
    pub lane: u32,
    pub clamp: u32,
    pub members: u32,
}

/// What a vote gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

/// `vote.sync`: a row for a ballot, a predicate for the others.
pub struct Vote {
    pub mode: VoteMode,
    pub d: u32,
    pub of: Condition,
    pub members: u32,
}

/// `match.sync`
pub struct Match {
    pub d: u32,
    /// `match.all`, and where to say whether all agree.
    pub all: Option<Option<u32>>,
    pub value: u32,
    pub n_bytes: usize,
    pub members: u32,
}

/// `redux.sync`
pub struct Reduce {
    pub d: u32,
    pub value: u32,
    pub members: u32,
    pub step: fn(u32, u32) -> u32,
}

/// What a barrier computes of its threads' predicates.
#[derive(Debug, Clone, Copy)]
pub enum BarrierResult {
    None,
    /// Into a row: how many.
    Count(u32),
    /// Into a predicate.
    All(u32),
    /// Into a predicate.
    Any(u32),
}

/// `bar.sync`, `bar.red`
pub struct Barrier {
    pub id: u32,
    /// The number of threads, if written.
    pub n_threads: Option<u32>,
    pub result: BarrierResult,
    pub of: Condition,
}

/// What an instruction does.
pub enum Op {
    Compute(Compute, Rows),
    Scalar(Box<(Scalar, Form, Rows)>),
    Carry(Box<Carry>),
    /// `predicate = test(a, b)`
    Test(Test, u32, u32, u32),
    Compare(Box<Compare>),
    /// `d = f(a, b)` of predicates.
    Logic(fn(u32, u32) -> u32, u32, Condition, Condition),
    /// `d = condition ? a : b`
    Select(u32, u32, u32, Condition),
    Branch(u32),
    BranchTable(u32, Box<[u32]>),
    Call(u32),
    Return,
    Exit,
    Load(Box<Transfer>),
    Store(Box<Transfer>),
    Atomic(Box<Atomic>),
    /// Passes an argument or a result: from one place of the thread's frame to another.
    CopyFrame {
        to: u32,
        from: u32,
        n_bytes: u32,
    },
    /// The predicate is true for generic addresses of that space.
    IsSpace(u32, u32, Space),
    Shuffle(Box<Shuffle>),
    Vote(Box<Vote>),
    Match(Box<Match>),
    Reduce(Box<Reduce>),
    WarpSync(u32),
    ActiveMask(u32),
    /// A counter that only grows.
    Clock(u32),
    Barrier(Box<Barrier>),
    /// Fences and hints: with blocks run in order, there is nothing to do.
    Nothing,
    Trap(&'static str),
    Unknown(Box<str>),
}
