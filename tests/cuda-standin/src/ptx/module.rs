//! A loaded module: code of all functions, kernels by name, variables.
//!
//! Invariant: a `Module` never changes; launches share it.
//! Not here: where variables, registers and functions are put (`layout.rs`).

use super::code::Instruction;
use super::decode::{self, Decoded};
use super::layout::{Layout, callees_first};
use super::parse::parse;
pub use super::source::Pointer;
use super::source::{Function, Space, Variable};

/// Local memory that a thread may have.
const MAX_FRAME_BYTES: usize = 512 << 10;

/// A PTX module, ready to run.
pub struct Module {
    version: (u32, u32),
    target: u32,
    kernels: Vec<Kernel>,
    globals: Vec<Global>,
    pub(super) code: Vec<Instruction>,
    /// For each instruction its line.
    lines: Vec<u32>,
    /// The text, by lines, for messages.
    text: Vec<String>,
    pub(super) constants: Vec<Constant>,
    /// How many rows of registers stand before the constants, and how many predicates before the two fixed ones.
    pub(super) n_registers: u32,
    pub(super) n_predicates: u32,
    pub(super) frame_bytes: usize,
    pub(super) call_depth: usize,
}

/// An operand that no instruction writes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Constant {
    Bits(u64),
    /// The address of a global variable.
    Global(String),
    /// Where dynamic shared memory begins.
    DynamicShared,
    /// A special register, by its name without `%`.
    Special(&'static str),
}

/// A `__global__` function.
#[derive(Debug, Clone)]
pub struct Kernel {
    name: String,
    params: Vec<Param>,
    param_bytes: usize,
    static_shared_bytes: usize,
    local_bytes: usize,
    n_registers: u32,
    max_threads: Option<u32>,
    pub(super) start: u32,
}

/// A parameter of a kernel: its place in the parameter block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    /// From the start of the block.
    pub offset: usize,
    /// In bytes.
    pub size: usize,
    /// In bytes.
    pub align: usize,
}

/// A `__device__` or `__constant__` variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Global {
    /// As the PTX calls it.
    pub name: String,
    /// In bytes.
    pub size: usize,
    /// In bytes.
    pub align: usize,
    /// Its initial value, `size` bytes.
    pub bytes: Vec<u8>,
    /// Addresses of other globals to be written into `bytes` once they are known.
    pub pointers: Vec<Pointer>,
    /// Declared `__constant__`.
    pub is_constant: bool,
}

impl Kernel {
    /// As the PTX calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// The size of the parameter block.
    pub fn param_bytes(&self) -> usize {
        self.param_bytes
    }

    /// Shared memory that it declares.
    pub fn static_shared_bytes(&self) -> usize {
        self.static_shared_bytes
    }

    /// Frame of one thread: its local variables and those of the functions it may call.
    pub fn local_bytes(&self) -> usize {
        self.local_bytes
    }

    /// Registers it names; a device's compiler would need far fewer.
    pub fn n_registers(&self) -> u32 {
        self.n_registers
    }

    /// The most threads a block may have, if the kernel says so.
    pub fn max_threads(&self) -> Option<u32> {
        self.max_threads
    }
}

impl Module {
    /// Reads PTX. An error names the line.
    pub fn parse(text: &str) -> Result<Module, String> {
        let source = parse(text)?;
        let order = callees_first(&source)?;
        let layout = Layout::of(&source, &order);
        if layout.frame_bytes > MAX_FRAME_BYTES {
            return Err(format!("a thread's frame of {} bytes; a device has {MAX_FRAME_BYTES}", layout.frame_bytes));
        }
        let Decoded { code, lines, constants, starts } = decode::decode(&source, &order, &layout)?;
        let kernels = source.functions.iter().enumerate().filter(|(_, f)| f.is_kernel && f.has_body);
        let kernels = kernels.map(|(i, f)| kernel(f, i, &layout, starts[i])).collect();
        let globals =
            source.variables.iter().filter(|v| matches!(v.space, Space::Global | Space::Const) && !v.is_extern);
        Ok(Module {
            version: source.version,
            target: source.target,
            kernels,
            globals: globals.map(global).collect(),
            code,
            lines,
            text: text.lines().map(str::to_string).collect(),
            constants,
            n_registers: layout.n_registers,
            n_predicates: layout.n_predicates,
            frame_bytes: layout.frame_bytes,
            call_depth: source.functions.len() + 1,
        })
    }

    /// `.version`
    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    /// The number of `.target sm_NN`.
    pub fn target(&self) -> u32 {
        self.target
    }

    /// All kernels.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// All variables in global and constant memory.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// The line of an instruction and its text.
    pub(super) fn source_of(&self, at: u32) -> (u32, &str) {
        let line = self.lines.get(at as usize).copied().unwrap_or(0);
        (line, self.text.get((line as usize).saturating_sub(1)).map_or("", |text| text.trim()))
    }
}

fn kernel(function: &Function, index: usize, layout: &Layout, start: u32) -> Kernel {
    let variables = function.variables[..function.n_params].iter().zip(&layout.places[index]);
    let params: Vec<Param> =
        variables.map(|(v, place)| Param { offset: place.offset(), size: v.n_bytes, align: v.align }).collect();
    Kernel {
        name: function.name.clone(),
        param_bytes: params.last().map_or(0, |last| last.offset + last.size),
        params,
        static_shared_bytes: layout.shared_bytes[index],
        local_bytes: layout.frame_bytes,
        n_registers: function.n_registers,
        max_threads: function.max_threads,
        start,
    }
}

fn global(variable: &Variable) -> Global {
    let mut bytes = variable.bytes.clone();
    bytes.resize(variable.n_bytes, 0);
    Global {
        name: variable.name.clone(),
        size: variable.n_bytes,
        align: variable.align,
        bytes,
        pointers: variable.pointers.clone(),
        is_constant: variable.space == Space::Const,
    }
}
