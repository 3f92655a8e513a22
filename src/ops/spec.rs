//! What an operator says about itself: [`OpSpec`] and its parts.
//!
//! Invariant: everything here is plain data that a `static` can hold. Rules and placement read these fields; they
//! never look at an operator's name.
//! Not here: parameters (`param.rs`), how a call's arguments find them (`call.rs`), and how a column is computed
//! (`evaluate.rs`).

use super::doc::{Doc, Needs};
use super::evaluate::{Items, Record};
use super::model::ModelCode;
use super::param::{Param, ParamType};
use super::value::{Args, Value};
use crate::{Error, Result};
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, Fields};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// One operator: a row function of a document and constant options.
#[derive(Debug, Clone)]
pub struct OpSpec {
    /// As written in a query; also the name of its file.
    pub name: &'static str,
    /// The shelf it stands on.
    pub family: Family,
    /// One line, without a full stop.
    pub summary: &'static str,
    /// The exact definition: formula, what an empty document gives, source. Markdown; may be empty.
    pub details: &'static str,
    /// The document first, which may be any text expression; then options, which must be constants.
    pub params: &'static [Param],
    /// The type of the result.
    pub returns: Returns,
    /// Calls with their results. They run as tests.
    pub examples: &'static [Example],
    /// What the optimizer may rely on.
    pub effects: Effects,
    /// What one evaluation costs on one core.
    pub cost: Cost,
    /// How the CPU computes it.
    pub cpu: Cpu,
    /// How the GPU computes it, or why it cannot.
    pub gpu: Gpu,
}

/// The shelves of the reference page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Numbers and predicates that tell good documents from bad ones.
    Quality,
    /// How much a document says again: lines, paragraphs, n-grams.
    Repetition,
    /// Pages of the web: line rules, boilerplate, addresses.
    Web,
    /// Addresses and lists of them.
    Url,
    /// RedPajama's quality signals.
    Signals,
    /// Source code.
    Code,
    /// Text in, text out.
    Text,
    /// Personal data: finding and hiding it.
    Safety,
    /// Finding equal documents.
    Dedup,
    /// What language a document is in.
    Language,
    /// Models: classifiers, embeddings, tokenizers.
    Model,
    /// Registered by the program that embeds curator.
    Custom,
}

impl Family {
    /// The folder, and the heading in lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Quality => "quality",
            Family::Repetition => "repetition",
            Family::Web => "web",
            Family::Url => "url",
            Family::Signals => "signals",
            Family::Code => "code",
            Family::Text => "text",
            Family::Safety => "safety",
            Family::Dedup => "dedup",
            Family::Language => "language",
            Family::Model => "model",
            Family::Custom => "custom",
        }
    }
}

/// The type of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returns {
    /// A count.
    Int64,
    /// A ratio or score.
    Float64,
    /// A predicate.
    Boolean,
    /// Text.
    Utf8,
    /// Named fields, read as `f(text)['field']` or `s.field`.
    Struct(&'static [(&'static str, Returns)]),
    /// Any number of values, as `unnest` takes them apart.
    List(&'static Returns),
    /// What the model says that the call opens; the text tells users what that may be.
    Opened(&'static str),
}

impl Returns {
    /// Whether it is text.
    pub fn is_text(self) -> bool {
        self == Returns::Utf8
    }

    /// The Arrow type. That of a model is known when it is opened.
    pub fn data_type(self) -> DataType {
        match self {
            Returns::Int64 => DataType::Int64,
            Returns::Float64 => DataType::Float64,
            Returns::Boolean => DataType::Boolean,
            Returns::Utf8 => DataType::Utf8,
            Returns::Struct(fields) => DataType::Struct(struct_fields(fields)),
            Returns::List(item) => DataType::new_list(item.data_type(), true),
            Returns::Opened(_) => DataType::Null,
        }
    }
}

/// The Arrow fields of a struct result.
pub(super) fn struct_fields(fields: &[(&'static str, Returns)]) -> Fields {
    fields.iter().map(|(name, returns)| Field::new(*name, returns.data_type(), true)).collect()
}

impl fmt::Display for Returns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Returns::Int64 => f.write_str("BIGINT"),
            Returns::Float64 => f.write_str("DOUBLE"),
            Returns::Boolean => f.write_str("BOOLEAN"),
            Returns::Utf8 => f.write_str("TEXT"),
            Returns::Struct(fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, returns)| format!("{name} {returns}")).collect();
                write!(f, "STRUCT<{}>", fields.join(", "))
            }
            Returns::List(item) => write!(f, "{item}[]"),
            Returns::Opened(text) => f.write_str(text),
        }
    }
}

/// A call and what it gives, as shown in the reference: text in quotes, with `\n` for a line feed.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// An SQL expression.
    pub call: &'static str,
    /// Its value.
    pub result: &'static str,
}

impl Example {
    /// `call` gives `result`.
    pub const fn of(call: &'static str, result: &'static str) -> Self {
        Self { call, result }
    }
}

/// What a rule may rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effects {
    /// The same arguments always give the same value. If not, no rule moves, merges or repeats the call.
    pub deterministic: bool,
    /// A row's value depends on that row alone, not on its neighbours in the batch.
    pub row_local: bool,
    /// A null document gives null. Kernels that take a `&str` cannot do otherwise.
    pub null_to_null: bool,
}

impl Effects {
    /// Deterministic, row by row, null for null: nearly every operator.
    pub const PURE: Effects = Effects { deterministic: true, row_local: true, null_to_null: true };

    /// Whether the call may be evaluated elsewhere, earlier, on fewer rows, or once for several uses.
    pub fn is_movable(self) -> bool {
        self.deterministic && self.row_local
    }
}

/// What one evaluation costs on one core, in nanoseconds. Those of statistics that need no options were measured by
/// themselves, on web pages of 3 kB (`cargo bench --bench one_pass -- --each`); some others are marked as estimates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// For each byte of the document.
    pub ns_per_byte: f64,
    /// For each document, whatever its length.
    pub ns_per_row: f64,
}

impl Cost {
    /// A cost that grows with the document.
    pub const fn ns_per_byte(ns: f64) -> Self {
        Self { ns_per_byte: ns, ns_per_row: 0.0 }
    }

    /// Adds what each document costs whatever its length.
    pub const fn and_ns_per_row(mut self, ns: f64) -> Self {
        self.ns_per_row = ns;
        self
    }

    /// The cost of a batch.
    pub fn total_ns(self, n_rows: usize, text_bytes: usize) -> f64 {
        self.ns_per_row * n_rows as f64 + self.ns_per_byte * text_bytes as f64
    }
}

/// Computes a whole column: for operators that hold little state or work better in batches.
pub type BatchKernel = Arc<dyn Fn(&ArrayRef, &Args) -> Result<ArrayRef> + Send + Sync>;

/// How the CPU computes an operator. The kind must fit [`OpSpec::returns`]; [`OpSpec::check`] compares.
///
/// Kinds are about shape, never about one operator: a further one is a variant here and an arm in `evaluate.rs`.
#[derive(Clone)]
#[non_exhaustive]
pub enum Cpu {
    /// A number or predicate read off a document that was taken apart once for all statistics of a query.
    Statistic(Statistic),
    /// One document to a whole number.
    Int(fn(&str, &Args) -> i64),
    /// One document to a number.
    Float(fn(&str, &Args) -> f64),
    /// One document to true or false.
    Bool(fn(&str, &Args) -> bool),
    /// One document to a text, borrowed where nothing changed.
    Text(for<'a> fn(&'a str, &Args) -> Cow<'a, str>),
    /// One document to the fields of a struct.
    Record(fn(&str, &Args, &mut Record)),
    /// One document to a list.
    List(fn(&str, &Args, &mut Items)),
    /// A column of documents to a column.
    Batch(BatchKernel),
    /// Something that is opened, prepared, and then runs on batches of its own size.
    Model(ModelCode),
}

/// A value that is read off the parts of a document.
#[derive(Clone, Copy)]
pub struct Statistic {
    /// The parts it reads, given the options.
    pub needs: fn(&Args) -> Needs,
    /// How the value comes from them.
    pub value: StatisticValue,
    /// What the value is at most, if that is cheaper to tell.
    pub bound: Option<Bound>,
}

/// An upper bound on a statistic's value: often enough to know that a rule keeps a document.
#[derive(Clone, Copy)]
pub struct Bound {
    /// The parts it reads, given the options.
    pub needs: fn(&Args) -> Needs,
    /// How the bound comes from them. Never below the value; infinite where nothing is known.
    pub at_most: fn(&Doc, &Args) -> f64,
}

/// The code of a statistic, by the type of its value.
#[derive(Clone, Copy)]
pub enum StatisticValue {
    /// A whole number.
    Int(fn(&Doc, &Args) -> i64),
    /// A number.
    Float(fn(&Doc, &Args) -> f64),
    /// True or false.
    Bool(fn(&Doc, &Args) -> bool),
}

impl Cpu {
    /// A whole number read off the parts `needs`.
    pub const fn count(needs: fn(&Args) -> Needs, value: fn(&Doc, &Args) -> i64) -> Self {
        Cpu::Statistic(Statistic { needs, value: StatisticValue::Int(value), bound: None })
    }

    /// A number read off the parts `needs`.
    pub const fn measure(needs: fn(&Args) -> Needs, value: fn(&Doc, &Args) -> f64) -> Self {
        Cpu::Statistic(Statistic { needs, value: StatisticValue::Float(value), bound: None })
    }

    /// The same, with a bound that is cheaper than the value.
    pub const fn bounded_measure(needs: fn(&Args) -> Needs, value: fn(&Doc, &Args) -> f64, bound: Bound) -> Self {
        Cpu::Statistic(Statistic { needs, value: StatisticValue::Float(value), bound: Some(bound) })
    }

    /// A predicate read off the parts `needs`.
    pub const fn test(needs: fn(&Args) -> Needs, value: fn(&Doc, &Args) -> bool) -> Self {
        Cpu::Statistic(Statistic { needs, value: StatisticValue::Bool(value), bound: None })
    }
}

impl fmt::Debug for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cpu::Statistic(_) => "Statistic",
            Cpu::Int(_) => "Int",
            Cpu::Float(_) => "Float",
            Cpu::Bool(_) => "Bool",
            Cpu::Text(_) => "Text",
            Cpu::Record(_) => "Record",
            Cpu::List(_) => "List",
            Cpu::Batch(_) => "Batch",
            Cpu::Model(_) => "Model",
        })
    }
}

/// How the GPU computes an operator.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Gpu {
    /// It cannot, and this is why: shown by `EXPLAIN` and `curator ops`.
    No(&'static str),
    /// By a device function.
    Kernel(Kernel),
}

/// The device function of an operator, and what it costs.
#[derive(Debug, Clone, Copy)]
pub struct Kernel {
    /// CUDA C that defines a device function of the operator's name: `kernels/<family>/<name>.cu`.
    pub source: &'static str,
    /// Whether it computes a call with these options, or why not.
    pub takes: fn(&Args) -> Result<(), &'static str>,
    /// Instructions of one thread for each byte of the document, besides those of the shared walk.
    pub instructions_per_byte: f64,
    /// Memory it needs while it runs, besides that of the shared walk.
    pub scratch: fn(&Args) -> Scratch,
    /// For a list: how many 64-bit values a row can have.
    pub n_words: fn(&Args) -> usize,
}

/// Device memory that a kernel needs while it runs, for a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scratch {
    /// For each byte of the document.
    pub bytes_per_byte: usize,
    /// For each document.
    pub bytes_per_row: usize,
}

impl Scratch {
    /// None.
    pub const NONE: Scratch = Scratch { bytes_per_byte: 0, bytes_per_row: 0 };

    /// Both.
    pub const fn and(self, other: Scratch) -> Scratch {
        Scratch {
            bytes_per_byte: self.bytes_per_byte + other.bytes_per_byte,
            bytes_per_row: self.bytes_per_row + other.bytes_per_row,
        }
    }
}

impl Gpu {
    /// For operators that a kernel could compute.
    pub const NOT_YET: Gpu = Gpu::No("its kernel is not written yet");

    /// A statistic that reads off the shared walk all that it needs, whatever its options.
    pub const fn statistic(source: &'static str) -> Gpu {
        Gpu::Kernel(Kernel {
            source,
            takes: |_| Ok(()),
            instructions_per_byte: 0.0,
            scratch: |_| Scratch::NONE,
            n_words: |_| 0,
        })
    }

    /// The same for a call whose words are split at white space; Chinese words are found on the CPU.
    pub const fn statistic_of_words(source: &'static str) -> Gpu {
        Gpu::Kernel(Kernel {
            source,
            takes: |args| {
                if args.text("lang") == "zh" { Err("Chinese words are found by a dictionary") } else { Ok(()) }
            },
            instructions_per_byte: 0.0,
            scratch: |_| Scratch::NONE,
            n_words: |_| 0,
        })
    }

    /// Adds what the kernel does itself for each byte: see [`Kernel::instructions_per_byte`].
    pub const fn and_instructions_per_byte(self, instructions: f64) -> Gpu {
        match self {
            Gpu::Kernel(kernel) => Gpu::Kernel(Kernel { instructions_per_byte: instructions, ..kernel }),
            Gpu::No(_) => self,
        }
    }

    /// Only for calls whose options `takes` accepts.
    pub const fn if_it_takes(self, takes: fn(&Args) -> Result<(), &'static str>) -> Gpu {
        match self {
            Gpu::Kernel(kernel) => Gpu::Kernel(Kernel { takes, ..kernel }),
            Gpu::No(_) => self,
        }
    }

    /// The kernel for a call with these options, or why there is none.
    pub fn kernel(&self, args: &Args) -> Result<&Kernel, &'static str> {
        match self {
            Gpu::No(why) => Err(why),
            Gpu::Kernel(kernel) => (kernel.takes)(args).map(|()| kernel),
        }
    }
}

impl OpSpec {
    /// How many of its parameters, the first ones, are columns.
    pub fn n_columns(&self) -> usize {
        if let Cpu::Model(code) = &self.cpu { code.n_columns } else { 1 }
    }

    /// The options: every parameter but the document, or the columns of a model.
    pub fn options(&self) -> &'static [Param] {
        self.params.get(self.n_columns()..).unwrap_or_default()
    }

    /// The call as a user writes it, with types and defaults: `truncate_words(text TEXT, max BIGINT) -> TEXT`.
    pub fn signature(&self) -> String {
        let params: Vec<String> = self
            .params
            .iter()
            .map(|param| match param.default {
                Some(default) => format!("{} {} => {}", param.name, param.ty.sql_name(), Value::from(default)),
                None => format!("{} {}", param.name, param.ty.sql_name()),
            })
            .collect();
        format!("{}({}) -> {}", self.name, params.join(", "), self.returns)
    }

    /// Whether the parts fit together; [`Registry::register`](super::Registry::register) refuses what does not.
    pub fn check(&self) -> Result<()> {
        let refuse = |why: &str| Err(Error::Data(format!("operator `{}` cannot be registered: {why}", self.name)));
        let is_name = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_lowercase())
                && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        };
        if !is_name(self.name) || !self.params.iter().all(|param| is_name(param.name)) {
            return refuse("names are lower-case letters, digits and `_`, beginning with a letter");
        }
        let Some(document) = self.params.first() else { return refuse("it has no parameter for the document") };
        if let Cpu::Model(code) = &self.cpu {
            let columns = self.params.get(..code.n_columns).filter(|columns| !columns.is_empty());
            let is_column = |param: &Param| param.ty.is_column() && param.default.is_none();
            if !columns.is_some_and(|columns| columns.iter().all(is_column)) {
                return refuse(
                    "the columns of a model are parameters without a default: texts or vectors, at least one",
                );
            }
            if !matches!(self.returns, Returns::Opened(_)) {
                return refuse("what a model returns is known when it is opened: Returns::Opened");
            }
        } else if document.ty != ParamType::Text || document.default.is_some() {
            return refuse("its first parameter must be the document: a text without a default");
        }
        if self.options().iter().any(|param| param.ty == ParamType::Vector) {
            return refuse("a vector is a column, not an option");
        }
        for (position, param) in self.params.iter().enumerate() {
            if self.params[..position].iter().any(|earlier| earlier.name == param.name) {
                return refuse(&format!("it has two parameters `{}`", param.name));
            }
            if param.default.is_none() && self.params[..position].iter().any(|earlier| earlier.default.is_some()) {
                return refuse(&format!("`{}` has no default and follows one that has", param.name));
            }
            if let Some(Err(why)) = param.default.map(|default| param.accept(default.into())) {
                return refuse(&format!("a default does not fit: {why}"));
            }
        }
        let fits = match &self.cpu {
            Cpu::Statistic(statistic) => match statistic.value {
                StatisticValue::Int(_) => self.returns == Returns::Int64,
                StatisticValue::Float(_) => self.returns == Returns::Float64,
                StatisticValue::Bool(_) => self.returns == Returns::Boolean,
            },
            Cpu::Int(_) => self.returns == Returns::Int64,
            Cpu::Float(_) => self.returns == Returns::Float64,
            Cpu::Bool(_) => self.returns == Returns::Boolean,
            Cpu::Text(_) => self.returns == Returns::Utf8,
            Cpu::Record(_) => matches!(self.returns, Returns::Struct(_)),
            Cpu::List(_) => matches!(self.returns, Returns::List(_)),
            Cpu::Batch(_) => !matches!(self.returns, Returns::Opened(_)),
            Cpu::Model(_) => true,
        };
        if !fits {
            return refuse(&format!("{:?} code cannot return {}", self.cpu, self.returns));
        }
        if !self.effects.null_to_null && !matches!(self.cpu, Cpu::Batch(_)) {
            return refuse("only batch code sees nulls, so its effects must be null for null");
        }
        Ok(())
    }
}
