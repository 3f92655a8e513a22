//! Where everything of a module is: variables, registers, frames, and the order of functions.
//!
//! Functions do not recurse, so that registers and frames have fixed places: a function's follow those of all its
//! callers. Their code stands before their callers', so that running the lowest address first lets a call end before
//! the lanes that did not take it go on.
//! Invariant: two functions that may be active in a thread at once share no register and no byte of the frame.

use super::decode;
use super::source::{Function, Source, Space};
use std::collections::HashMap;

/// Where a function's variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariablePlace {
    /// In the kernel's parameter block.
    Param(usize),
    /// In the thread's frame.
    Frame(usize),
    Shared(usize),
}

impl VariablePlace {
    /// From the start of its memory.
    pub fn offset(self) -> usize {
        match self {
            VariablePlace::Param(offset) | VariablePlace::Frame(offset) | VariablePlace::Shared(offset) => offset,
        }
    }
}

/// The fixed places of everything.
pub struct Layout {
    /// By function, then variable.
    pub places: Vec<Vec<VariablePlace>>,
    pub register_base: Vec<u32>,
    pub predicate_base: Vec<u32>,
    /// Static shared memory of each function when it is launched as a kernel.
    pub shared_bytes: Vec<usize>,
    /// Shared variables of the module.
    pub shared: HashMap<String, usize>,
    pub n_registers: u32,
    pub n_predicates: u32,
    pub frame_bytes: usize,
}

fn align_up(at: usize, align: usize) -> usize {
    at.next_multiple_of(align.max(1))
}

impl Layout {
    /// Puts everything in its place.
    pub fn of(source: &Source, callees_first: &[usize]) -> Layout {
        let n = source.functions.len();
        let mut shared_end = 0;
        let mut shared = HashMap::new();
        for variable in source.variables.iter().filter(|v| v.space == Space::Shared && !v.is_extern) {
            let at = align_up(shared_end, variable.align);
            shared.insert(variable.name.clone(), at);
            shared_end = at + variable.n_bytes;
        }
        let mut layout = Layout {
            places: vec![Vec::new(); n],
            register_base: vec![0; n],
            predicate_base: vec![0; n],
            shared_bytes: vec![0; n],
            shared,
            n_registers: 0,
            n_predicates: 0,
            frame_bytes: 0,
        };
        let mut frame_base = vec![0; n];
        for &index in callees_first.iter().rev() {
            let function = &source.functions[index];
            let (mut param_end, mut frame_end) = (0, frame_base[index]);
            // Device functions' shared variables are anyone's; a kernel's own may lie where another kernel's do.
            let mut own_shared_end = shared_end;
            for (i, variable) in function.variables.iter().enumerate() {
                let put = |end: &mut usize| {
                    let at = align_up(*end, variable.align);
                    *end = at + variable.n_bytes;
                    at
                };
                layout.places[index].push(match variable.space {
                    Space::Shared => VariablePlace::Shared(put(&mut own_shared_end)),
                    Space::Param if function.is_kernel && i < function.n_params => {
                        VariablePlace::Param(put(&mut param_end))
                    }
                    _ => VariablePlace::Frame(put(&mut frame_end)),
                });
            }
            if !function.is_kernel {
                shared_end = own_shared_end;
            }
            layout.shared_bytes[index] = own_shared_end;
            let registers_end = layout.register_base[index] + function.n_registers;
            let predicates_end = layout.predicate_base[index] + function.n_predicates;
            for callee in callees(source, function) {
                frame_base[callee] = frame_base[callee].max(align_up(frame_end, 16));
                layout.register_base[callee] = layout.register_base[callee].max(registers_end);
                layout.predicate_base[callee] = layout.predicate_base[callee].max(predicates_end);
            }
            layout.n_registers = layout.n_registers.max(registers_end);
            layout.n_predicates = layout.n_predicates.max(predicates_end);
            layout.frame_bytes = layout.frame_bytes.max(align_up(frame_end, 16));
        }
        layout
    }
}

/// The function with a body of that name.
pub fn find_function(source: &Source, name: &str) -> Option<usize> {
    source.functions.iter().position(|function| function.has_body && function.name == name)
}

fn callees(source: &Source, function: &Function) -> Vec<usize> {
    let calls = function.instructions.iter().filter(|raw| raw.opcode.first().is_some_and(|name| name == "call"));
    let mut out: Vec<usize> =
        calls.filter_map(|raw| decode::callee(&raw.operands)).filter_map(|name| find_function(source, name)).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// All functions with a body, each after the ones it calls.
pub fn callees_first(source: &Source) -> Result<Vec<usize>, String> {
    let mut order = Vec::new();
    // 0: not seen, 1: being followed, 2: done.
    let mut state = vec![0u8; source.functions.len()];
    for root in 0..source.functions.len() {
        let mut open = vec![(root, false)];
        while let Some((index, followed)) = open.pop() {
            if followed {
                state[index] = 2;
                order.push(index);
                continue;
            }
            if state[index] != 0 || !source.functions[index].has_body {
                continue;
            }
            state[index] = 1;
            open.push((index, true));
            for callee in callees(source, &source.functions[index]) {
                if state[callee] == 1 {
                    return Err(format!("`{}` calls itself: recursion is not known", source.functions[callee].name));
                }
                open.push((callee, false));
            }
        }
    }
    Ok(order)
}
