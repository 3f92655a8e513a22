//! A program as kernels to launch: one for the whole of it, or one for each value where nothing can be compiled.
//!
//! ```text
//! fused:    segment(columns) → outputs, failed
//! by steps: begin → words(text) → w0, 50 → w1, greater(w0, w1) → w2, rule(w2) → failed, …
//! ```
//! Invariant: both compute the same; a row that fails a rule is skipped by all steps after it.
//! Not here: the kernels themselves (`codegen.rs`, `singles.rs`), and the bytes (`layout.rs`).

use super::OptionBlock;
use super::codegen::FUSED_ENTRY;
use super::program::{Program, Type, Value, ValueId, needs, own_scratch};
use super::readings::{ROUNDING_BYTES, ScratchPlan};
use super::singles::{BEGIN, RULE, constant_kernel, copy_kernel, kernel_of_call, primitive_kernel};
use crate::ops::{Args, OpSpec};

/// Which kernels run a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One, made for the program.
    Fused,
    /// Those of single operators and primitives, one after the other.
    Steps,
}

/// A column of a batch on the device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum StepValue {
    /// An input column of the program.
    Input(usize),
    /// A value between two kernels.
    Work(usize),
    /// A result.
    Output(usize),
}

/// One launch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    /// Its entry point.
    pub kernel: String,
    pub columns: Vec<StepValue>,
    pub outputs: Vec<StepValue>,
    /// What `Launch::options` points to.
    pub words: Vec<u64>,
    pub scratch: ScratchPlan,
    pub lanes_per_row: usize,
}

/// The launches of a program, and the columns between them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Steps {
    pub steps: Vec<Step>,
    pub work: Vec<Type>,
}

impl Program {
    /// The kernels of single steps that compute the program, in the order of their launches, or why there are not all.
    pub fn steps(&self) -> Result<Vec<String>, String> {
        Ok(Steps::by_steps(self)?.steps.into_iter().map(|step| step.kernel).collect())
    }
}

impl Steps {
    /// The launches of `program`.
    pub fn of(program: &Program, mode: Mode) -> Result<Steps, String> {
        match mode {
            Mode::Fused => Ok(Steps::fused(program)),
            Mode::Steps => Steps::by_steps(program),
        }
    }

    fn fused(program: &Program) -> Steps {
        let step = Step {
            kernel: FUSED_ENTRY.to_string(),
            columns: (0..program.columns().len()).map(StepValue::Input).collect(),
            outputs: (0..program.outputs().len()).map(StepValue::Output).collect(),
            words: program.words(),
            scratch: program.scratch(),
            lanes_per_row: program.lanes_per_row(),
        };
        Steps { steps: vec![step], work: vec![] }
    }

    fn by_steps(program: &Program) -> Result<Steps, String> {
        let mut steps = Steps::default();
        let mut places: Vec<Option<StepValue>> = vec![None; program.values().len()];
        if !program.rules().is_empty() {
            steps.add(BEGIN, vec![], vec![], vec![1]);
        }
        for (number, rule) in program.rules().iter().enumerate() {
            let condition = steps.value(program, *rule, &mut places)?;
            steps.add(RULE, vec![condition], vec![], vec![number as u64]);
        }
        for (number, output) in program.outputs().iter().enumerate() {
            let from = steps.value(program, *output, &mut places)?;
            // What a rule needed too, or comes from outside, is somewhere else.
            if from != StepValue::Output(number) {
                let ty = program.type_of(*output).ok_or("an output without a type")?;
                steps.add(&copy_kernel(ty), vec![from], vec![StepValue::Output(number)], vec![]);
            }
        }
        Ok(steps)
    }

    fn add(&mut self, kernel: &str, columns: Vec<StepValue>, outputs: Vec<StepValue>, words: Vec<u64>) {
        let (kernel, scratch) = (kernel.to_string(), ScratchPlan::default());
        self.steps.push(Step { kernel, columns, outputs, words, scratch, lanes_per_row: 1 });
    }

    /// Where `id` is after the steps that compute it and what it is made of.
    fn value(&mut self, program: &Program, id: ValueId, places: &mut [Option<StepValue>]) -> Result<StepValue, String> {
        for part in program.made_of(id) {
            if places[part.0].is_none() {
                places[part.0] = Some(self.one_value(program, part, places)?);
            }
        }
        places[id.0].ok_or_else(|| format!("value {} was not computed", id.0))
    }

    fn one_value(&mut self, program: &Program, id: ValueId, places: &[Option<StepValue>]) -> Result<StepValue, String> {
        let (Some(value), Some(ty)) = (program.values().get(id.0), program.type_of(id)) else {
            return Err(format!("there is no value {}", id.0));
        };
        if let Value::Column(column) = value {
            return Ok(StepValue::Input(*column));
        }
        let to = match program.outputs().iter().position(|output| *output == id) {
            Some(output) => StepValue::Output(output),
            None => {
                self.work.push(ty);
                StepValue::Work(self.work.len() - 1)
            }
        };
        match value {
            Value::Column(_) => {}
            Value::Constant(scalar) => {
                self.add(&constant_kernel(*scalar), vec![], vec![to], scalar.bits().into_iter().collect());
            }
            Value::Apply { primitive, of } => {
                let types: Vec<Type> = of.iter().filter_map(|part| program.type_of(*part)).collect();
                let from: Option<Vec<StepValue>> = of.iter().map(|part| places[part.0]).collect();
                let from = from.ok_or("a value is used before it is computed")?;
                self.add(&primitive_kernel(*primitive, &types), from, vec![to], vec![]);
            }
            Value::Call { spec, args, document } => {
                let mut scratch = ScratchPlan { per_byte: vec![0; program.columns().len()], per_row: 0 };
                let (read, own) = (needs(spec, args).device_scratch(), own_scratch(spec, args));
                scratch.per_byte[*document] = read.bytes_per_byte + own.bytes_per_byte;
                // The row's own beginning, the document's parts, and what the call needs for itself.
                scratch.per_row = read.bytes_per_row + own.bytes_per_row + 3 * ROUNDING_BYTES;
                self.steps.push(Step {
                    kernel: kernel_of_call(spec, args)?,
                    columns: vec![StepValue::Input(*document)],
                    outputs: vec![to],
                    words: call_words(spec, args),
                    scratch,
                    lanes_per_row: 32,
                });
            }
        }
        Ok(to)
    }
}

/// `Told` in `kernels/lib/chain.cuh`, then the options.
fn call_words(spec: &OpSpec, args: &Args) -> Vec<u64> {
    let (read, scratch) = (needs(spec, args).on_device(), needs(spec, args).device_scratch());
    let mut words = vec![
        u64::from(read.parts),
        u64::from(read.word_grams),
        u64::from(read.refined_grams),
        read.joined_grams,
        read.char_grams,
        scratch.bytes_per_byte as u64,
        scratch.bytes_per_row as u64,
    ];
    words.extend(OptionBlock::new([args]).words);
    words
}
