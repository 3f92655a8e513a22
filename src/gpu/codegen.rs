//! Writes the CUDA C of a kernel for a [`Program`]: one operator and ten fused ones take the same path.
//!
//! ```text
//! row of this warp ─► for each rule: the values it needs, then `failed` and return, or on ─► outputs
//! ```
//! A document is read by one `read` for all statistics of a stage, right before the first of them is needed: rows that
//! a cheap rule drops never pay for n-grams.
//!
//! Invariant: the text depends on which operators, primitives and rules there are and on which parts of a document they
//! read; constants and options come as data, so that a changed threshold finds the kernel compiled.
//! Not here: what is in the launch block (`layout.rs`), and the kernels that are compiled before (`singles.rs`).

use super::OptionBlock;
use super::program::{Program, Scalar, Type, Value, ValueId, own_scratch};
use super::readings::{Reading, most_own_scratch, readings};
use super::sources::flatten;
use crate::ops::{DeviceNeeds, Scratch};
use std::fmt::Write;

/// The entry point of the kernel for a whole program.
pub const FUSED_ENTRY: &str = "segment";

/// Threads in a block, for every kernel.
pub const THREADS_PER_BLOCK: usize = 128;

/// Whether the kernel is for one program, or for one operator with any options.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// Needs, places of options and numbers of rules are constants.
    Fused,
    /// The operator's n-grams and memory, its options and the number of the rule are read from the launch block; rows
    /// that failed before are skipped. No call needs more than `needs`; if all need the same parts, they are constant.
    Single { needs: DeviceNeeds, same_parts: bool },
}

impl Program {
    /// The CUDA C of the kernel that computes the whole program; its entry point is [`FUSED_ENTRY`].
    pub fn source(&self) -> String {
        source(self, Form::Fused, FUSED_ENTRY)
    }

    /// How many lanes work on a row: a warp, or one where there are no documents to read.
    pub(super) fn lanes_per_row(&self) -> usize {
        if self.values().iter().any(|value| matches!(value, Value::Call { .. })) { 32 } else { 1 }
    }

    /// The words that the kernel of the whole program reads: constants, then options.
    pub(super) fn words(&self) -> Vec<u64> {
        let mut words: Vec<u64> = self.constants().filter_map(|(_, scalar)| scalar.bits()).collect();
        words.extend(self.option_block().words);
        words
    }

    fn constants(&self) -> impl Iterator<Item = (usize, Scalar)> {
        self.values().iter().enumerate().filter_map(|(place, value)| match value {
            Value::Constant(scalar) if scalar.bits().is_some() => Some((place, *scalar)),
            _ => None,
        })
    }

    fn option_block(&self) -> OptionBlock {
        OptionBlock::new(self.calls().map(|(_, _, args, _)| args))
    }
}

/// The kernel for `program` with this entry point.
pub(super) fn source(program: &Program, form: Form, entry: &str) -> String {
    Writer::new(program, form).kernel(entry)
}

struct Writer<'a> {
    program: &'a Program,
    form: Form,
    readings: Vec<Reading>,
    is_read: Vec<bool>,
    is_written: Vec<bool>,
    body: String,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Program, form: Form) -> Self {
        let readings = readings(program);
        let is_read = vec![false; readings.len()];
        Self { program, form, readings, is_read, is_written: vec![false; program.values().len()], body: String::new() }
    }

    fn line(&mut self, line: &str) {
        if !line.is_empty() {
            self.body.push_str("    ");
        }
        self.body.push_str(line);
        self.body.push('\n');
    }

    fn kernel(mut self, entry: &str) -> String {
        let has_documents = self.program.lanes_per_row() > 1;
        let thread = "((u64)blockIdx.x * blockDim.x + threadIdx.x)";
        self.line(&format!("u64 place = {thread}{};", if has_documents { " / WARP" } else { "" }));
        self.line("if (place >= launch->n_rows) return;");
        self.line("u64 row = launch->rows ? launch->rows[place] : place;");
        if self.form != Form::Fused {
            self.line("if (launch->failed && launch->failed[row] >= 0) return;");
        }
        self.line(if has_documents { "bool is_writer = lane() == 0;" } else { "const bool is_writer = true;" });
        self.scratch();
        for (number, rule) in self.program.rules().to_vec().into_iter().enumerate() {
            self.value(rule);
            let number = match self.form {
                Form::Fused => number.to_string(),
                Form::Single { .. } => "(i32)launch->options[0]".to_string(),
            };
            self.line(&format!("if (!numeric::is_true(v{})) {{", rule.0));
            self.line(&format!("    if (is_writer) launch->failed[row] = {number};"));
            self.line("    return;");
            self.line("}");
        }
        let outputs = self.program.outputs().to_vec();
        outputs.iter().for_each(|output| self.value(*output));
        let passes = self.form == Form::Fused && !self.program.rules().is_empty();
        if passes || !outputs.is_empty() {
            self.line("if (!is_writer) return;");
        }
        if passes {
            self.line("launch->failed[row] = -1;");
        }
        for (place, output) in outputs.iter().enumerate() {
            self.line(&format!("store(launch->outputs[{place}], row, v{});", output.0));
        }
        let launch = format!(
            "\nextern \"C\" __global__ void __launch_bounds__({THREADS_PER_BLOCK}) {entry}(const Launch* launch) {{\n{}}}\n",
            self.body
        );
        let mut sources = vec!["#include \"lib/chain.cuh\"".to_string()];
        if has_documents {
            sources.push("#include \"lib/doc.cuh\"".to_string());
        }
        let mut names: Vec<&str> = vec![];
        for (_, spec, args, _) in self.program.calls() {
            if let Ok(kernel) = spec.gpu.kernel(args)
                && !names.contains(&spec.name)
            {
                names.push(spec.name);
                sources.push(match self.form {
                    Form::Fused => in_namespace(spec.name, kernel.source),
                    Form::Single { .. } => kernel.source.to_string(),
                });
            }
        }
        sources.push(launch);
        flatten(sources.iter().map(String::as_str))
    }

    /// The memory of this row: where it begins.
    fn scratch(&mut self) {
        let columns: Vec<usize> = (0..self.program.columns().len())
            .filter(|column| self.program.calls().any(|(_, _, _, document)| document == *column))
            .collect();
        if columns.is_empty() {
            return;
        }
        let (per_byte, per_row) = match self.form {
            Form::Fused => {
                let plan = self.program.scratch();
                (plan.per_byte.iter().map(|bytes| format!("{bytes}ull")).collect(), format!("{}ull", plan.per_row))
            }
            Form::Single { .. } => (
                vec!["launch->scratch_per_byte".to_string(); self.program.columns().len()],
                "launch->scratch_per_row".to_string(),
            ),
        };
        if per_row == "0ull" {
            self.line("u8* scratch = launch->scratch;");
            return;
        }
        let mut place = format!("row * {per_row}");
        for column in columns {
            let per_byte: &String = &per_byte[column];
            if per_byte != "0ull" {
                let _ = write!(place, " + launch->columns[{column}].offsets[row] * {per_byte}");
            }
        }
        self.line(&format!("u8* scratch = launch->scratch + aligned({place});"));
    }

    /// Writes `id` and what it is made of, unless it is there.
    fn value(&mut self, id: ValueId) {
        for part in self.program.made_of(id) {
            if !self.is_written[part.0] {
                self.is_written[part.0] = true;
                self.one_value(part);
            }
        }
    }

    fn one_value(&mut self, id: ValueId) {
        let program = self.program;
        let (Some(value), Some(ty)) = (program.values().get(id.0), program.type_of(id)) else { return };
        let (name, device) = (ty.name(), device_name(ty));
        let text = match value {
            Value::Column(column) => format!("{name}_at(launch->columns[{column}], row)"),
            Value::Constant(scalar) if scalar.bits().is_none() => format!("none<{device}>()"),
            Value::Constant(_) => {
                let word = program.constants().position(|(place, _)| place == id.0).unwrap_or_default();
                format!("{name}_constant(launch->options[{word}])")
            }
            Value::Apply { primitive, of } => {
                let of: Vec<String> = of.iter().map(|part| format!("v{}", part.0)).collect();
                format!("numeric::{}({})", primitive.name(), of.join(", "))
            }
            Value::Call { spec, args, document } => {
                let reading = self.reading(id, *document);
                let options = self.options(id);
                let own = match ty {
                    Type::Words(_) | Type::Hex(_) => {
                        let output = program.outputs().iter().position(|output| *output == id).unwrap_or_default();
                        let has_own = self.form != Form::Fused || most_own_scratch(program, *document) != Scratch::NONE;
                        let own = if has_own { format!("own{document}") } else { "scratch".to_string() };
                        format!(", {own}, words_of(launch->outputs[{output}], row)")
                    }
                    _ if own_scratch(spec, args) != Scratch::NONE => format!(", own{document}"),
                    _ => String::new(),
                };
                let room = if self.form == Form::Fused { format!("of_{}::", spec.name) } else { String::new() };
                let call = format!("{room}{}(doc{reading}, {options}{own})", spec.name);
                format!("text{document}.valid ? some<{device}>({call}) : none<{device}>()")
            }
        };
        self.line(&format!("Maybe<{device}> v{} = {text};", id.0));
    }

    fn options(&self, id: ValueId) -> String {
        match self.form {
            Form::Fused => {
                let call = self.program.calls().position(|(place, ..)| place == id.0).unwrap_or_default();
                let first = self.program.option_block().first[call];
                let n_constants = self.program.constants().count();
                format!("options_at(launch->options + {n_constants}, {first})")
            }
            Form::Single { .. } => "options_at(launch->options + TOLD_WORDS, 0)".to_string(),
        }
    }

    /// The reading that call `id` takes its parts from, written if it is the first to need it.
    fn reading(&mut self, id: ValueId, document: usize) -> usize {
        let number = self.readings.iter().position(|reading| reading.calls.contains(&id)).unwrap_or_default();
        if self.is_read[number] {
            return number;
        }
        let is_first = !self.readings.iter().zip(&self.is_read).any(|(known, read)| *read && known.column == document);
        self.is_read[number] = true;
        let device_needs = self.readings[number].needs.on_device();
        let scratch = self.readings[number].needs.device_scratch();
        let (needs, size) = match self.form {
            Form::Fused => (
                baked(device_needs),
                format!("text{document}.value.n_bytes, {}, {}", scratch.bytes_per_byte, scratch.bytes_per_row),
            ),
            Form::Single { needs, same_parts } => (
                told(needs, same_parts),
                format!("text{document}.value.n_bytes, told.scratch_per_byte, told.scratch_per_row"),
            ),
        };
        if is_first {
            self.line(&format!("Maybe<Text> text{document} = text_at(launch->columns[{document}], row);"));
        }
        if self.form != Form::Fused {
            self.line("const Told& told = *(const Told*)launch->options;");
        }
        self.line(&format!("const DocNeeds needs{number} = {{{needs}}};"));
        self.line(&format!("Doc doc{number};"));
        // What calls need for themselves comes first in a chain: it is known before any reading.
        let own = most_own_scratch(self.program, document);
        if is_first && self.form == Form::Fused && own != Scratch::NONE {
            self.line(&format!("u8* own{document} = scratch;"));
            let size = format!("text{document}.value.n_bytes, {}, {}", own.bytes_per_byte, own.bytes_per_row);
            self.line(&format!("scratch = after(scratch, {size});"));
        }
        let read = format!("read(doc{number}, text{document}.value, needs{number}, scratch, launch->tables);");
        self.line(&format!("if (text{document}.valid) {read}"));
        match self.form {
            Form::Fused if scratch == Scratch::NONE => {}
            Form::Fused => self.line(&format!("scratch = after(scratch, {size});")),
            Form::Single { .. } => self.line(&format!("u8* own{document} = after(scratch, {size});")),
        }
        number
    }
}

/// The source of an operator in a room of its own: two operators of a chain may use the same names inside.
fn in_namespace(name: &str, source: &str) -> String {
    let (includes, code): (Vec<&str>, Vec<&str>) = source.lines().partition(|line| line.starts_with("#include"));
    format!("{}\nnamespace of_{name} {{\n{}\n}}\n", includes.join("\n"), code.join("\n"))
}

fn baked(needs: DeviceNeeds) -> String {
    let DeviceNeeds { parts, word_grams, refined_grams, joined_grams, char_grams } = needs;
    format!("{parts}u, {word_grams}u, {refined_grams}u, {joined_grams}ull, {char_grams}ull")
}

/// What the operator never reads as constants, so that its code vanishes; the rest as the call says.
fn told(needs: DeviceNeeds, same_parts: bool) -> String {
    let field = |is_used: bool, name: &str| if is_used { format!("told.{name}") } else { "0".to_string() };
    let small = |is_used: bool, name: &str| if is_used { format!("(u32)told.{name}") } else { "0".to_string() };
    format!(
        "{}{}u, {}, {}, {}, {}",
        if same_parts { "" } else { "(u32)told.parts & " },
        needs.parts,
        small(needs.word_grams != 0, "word_grams"),
        small(needs.refined_grams != 0, "refined_grams"),
        field(needs.joined_grams != 0, "joined_grams"),
        field(needs.char_grams != 0, "char_grams"),
    )
}

/// The C type of a value; for lists, of their length.
fn device_name(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::Int => "i64",
        Type::Float => "f64",
        Type::Text => "Text",
        Type::Words(_) | Type::Hex(_) => "u32",
    }
}
