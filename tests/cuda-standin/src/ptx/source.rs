//! PTX as written, taken apart: variables, functions, and instructions whose names are resolved but not yet decoded.
//!
//! Invariant: a register operand is an index into its function's own registers; names that are left (`Operand::Name`)
//! belong to the module: labels, functions, global variables, special registers.
//! Not here: reading it from tokens (`parse`), giving it meaning (`decode`).

/// The type that an instruction or a declaration names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Pred,
    B8,
    U8,
    S8,
    B16,
    U16,
    S16,
    F16,
    B32,
    U32,
    S32,
    F32,
    B64,
    U64,
    S64,
    F64,
}

impl Type {
    /// The type of that name, without its dot.
    pub fn named(name: &str) -> Option<Type> {
        Some(match name {
            "pred" => Type::Pred,
            "b8" => Type::B8,
            "u8" => Type::U8,
            "s8" => Type::S8,
            "b16" => Type::B16,
            "u16" => Type::U16,
            "s16" => Type::S16,
            "f16" => Type::F16,
            "b32" | "f16x2" => Type::B32,
            "u32" => Type::U32,
            "s32" => Type::S32,
            "f32" => Type::F32,
            "b64" => Type::B64,
            "u64" => Type::U64,
            "s64" => Type::S64,
            "f64" => Type::F64,
            _ => return None,
        })
    }

    /// Its size.
    pub fn n_bytes(self) -> usize {
        match self {
            Type::Pred | Type::B8 | Type::U8 | Type::S8 => 1,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 => 2,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 => 4,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 => 8,
        }
    }

    /// Whether it is a signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// Whether it is a floating-point number.
    pub fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::F32 | Type::F64)
    }
}

/// Where a variable lives or an access goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Space {
    Generic,
    Global,
    Const,
    Shared,
    Local,
    Param,
}

/// A declared variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    pub name: String,
    pub space: Space,
    pub align: usize,
    pub n_bytes: usize,
    /// Initial bytes; shorter than `n_bytes` where zeros follow.
    pub bytes: Vec<u8>,
    /// Addresses of other variables in its initial bytes.
    pub pointers: Vec<Pointer>,
    /// Declared here, given at launch: dynamic shared memory.
    pub is_extern: bool,
}

/// The address of a variable, written in the initial bytes of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// Where, in bytes from the start of the variable.
    pub at: usize,
    /// The variable pointed to.
    pub to: String,
    /// Bytes beyond its start.
    pub plus: i64,
}

/// An operand of an instruction.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A register of the function.
    Register(u32),
    /// A predicate of the function; true for `!%p`.
    Predicate(u32, bool),
    /// The function's variable of that index.
    Variable(usize),
    /// Anything named elsewhere.
    Name(String),
    Integer(u64),
    Decimal(f64),
    SingleBits(u32),
    DoubleBits(u64),
    /// `[base+offset]`
    Address(Box<Operand>, i64),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `(a, b)` of a call
    List(Vec<Operand>),
    /// `a|b`
    Pair(Box<Operand>, Box<Operand>),
    /// `_`
    Nothing,
}

/// An instruction as written.
#[derive(Debug, Clone, PartialEq)]
pub struct Raw {
    pub line: u32,
    /// The predicate before it, and whether it is negated.
    pub guard: Option<(u32, bool)>,
    /// The opcode's parts: `ld`, `global`, `u8`.
    pub opcode: Vec<String>,
    pub operands: Vec<Operand>,
}

/// A kernel or a device function.
#[derive(Debug, Clone, Default)]
pub struct Function {
    pub name: String,
    pub is_kernel: bool,
    /// Parameters first (`n_params`), then results (`n_results`), then what the body declares.
    pub variables: Vec<Variable>,
    pub n_params: usize,
    pub n_results: usize,
    pub n_registers: u32,
    pub n_predicates: u32,
    pub instructions: Vec<Raw>,
    /// Labels, as indices of the instruction that follows.
    pub labels: Vec<(String, usize)>,
    /// `.branchtargets` lists by their label.
    pub targets: Vec<(String, Vec<String>)>,
    pub max_threads: Option<u32>,
    /// False for a declaration without a body.
    pub has_body: bool,
}

/// A whole PTX file.
#[derive(Debug, Clone, Default)]
pub struct Source {
    pub version: (u32, u32),
    pub target: u32,
    pub variables: Vec<Variable>,
    pub functions: Vec<Function>,
}
