//! Branches, calls and the ends of a thread.

use super::decoder::{Decoder, unknown};
use crate::ptx::code::{Condition, Op};
use crate::ptx::layout::find_function;
use crate::ptx::source::{Operand, Raw, Type};

/// The name that a call's operands call.
pub fn callee(operands: &[Operand]) -> Option<&str> {
    operands.iter().find_map(|operand| match operand {
        Operand::Name(name) => Some(name.as_str()),
        _ => None,
    })
}

impl Decoder<'_> {
    pub(super) fn control(&mut self, parts: &[&str], raw: &Raw, guard: Condition) -> Result<(), String> {
        let op = match parts[0] {
            "bra" => Op::Branch(self.label(raw.operands.first())?),
            "brx" => self.branch_table(raw)?,
            "call" => return self.call(raw, guard),
            "ret" => self.leave(),
            "exit" => Op::Exit,
            "trap" => Op::Trap("the kernel trapped"),
            _ => Op::Trap("the kernel met a breakpoint"),
        };
        self.emit(guard, op);
        Ok(())
    }

    /// What `ret` and the end of the body do: a kernel's thread ends, a function's goes back.
    pub(super) fn leave(&self) -> Op {
        if self.written().is_kernel { Op::Exit } else { Op::Return }
    }

    fn label(&self, operand: Option<&Operand>) -> Result<u32, String> {
        let Some(Operand::Name(name)) = operand else { return Err("a label was expected".into()) };
        self.labels.get(name.as_str()).copied().ok_or_else(|| format!("no label `{name}`"))
    }

    /// `brx.idx index, list;` with the list written before
    fn branch_table(&mut self, raw: &Raw) -> Result<Op, String> {
        let [index, Operand::Name(list)] = raw.operands.as_slice() else { return Err(unknown()) };
        let index = self.source(Some(index), Type::U32)?;
        let targets = self.written().targets.iter().find(|(name, _)| name == list);
        let (_, targets) = targets.ok_or_else(|| format!("no branch targets `{list}`"))?;
        let targets: Result<Box<[u32]>, String> =
            targets.iter().map(|name| self.label(Some(&Operand::Name(name.clone())))).collect();
        Ok(Op::BranchTable(index, targets?))
    }

    /// `call (results), function, (arguments)`: arguments are copied into the function's frame, results out of it.
    fn call(&mut self, raw: &Raw, guard: Condition) -> Result<(), String> {
        let name = callee(&raw.operands).ok_or("a call through a pointer is not known")?;
        if name == "__assertfail" || name == "__assert_fail" {
            self.emit(guard, Op::Trap("an assertion of the kernel failed"));
            return Ok(());
        }
        let index = find_function(self.source, name).ok_or_else(|| format!("no function `{name}`"))?;
        let function = &self.source.functions[index];
        let at = raw.operands.iter().position(|operand| matches!(operand, Operand::Name(_))).unwrap_or(0);
        let list = |operand: Option<&Operand>| match operand {
            Some(Operand::List(list)) => list.clone(),
            _ => Vec::new(),
        };
        let results = list(raw.operands[..at].first());
        let arguments = list(raw.operands.get(at + 1));
        if (arguments.len(), results.len()) != (function.n_params, function.n_results) {
            return Err(format!("`{name}` takes other arguments"));
        }
        let places = &self.layout.places[index];
        for (argument, parameter) in arguments.iter().zip(0..) {
            let n_bytes = function.variables[parameter].n_bytes as u32;
            let (to, from) = (places[parameter].offset() as u32, self.frame_place(argument)?);
            self.emit(guard, Op::CopyFrame { to, from, n_bytes });
        }
        self.emit(guard, Op::Call(self.starts[index]));
        for (result, i) in results.iter().zip(function.n_params..) {
            let n_bytes = function.variables[i].n_bytes as u32;
            let (to, from) = (self.frame_place(result)?, places[i].offset() as u32);
            self.emit(guard, Op::CopyFrame { to, from, n_bytes });
        }
        Ok(())
    }

    fn frame_place(&self, operand: &Operand) -> Result<u32, String> {
        match operand {
            Operand::Variable(variable) => Ok(self.place(*variable).offset() as u32),
            other => Err(format!("arguments are passed in parameters, not as {other:?}")),
        }
    }
}
