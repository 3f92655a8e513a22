//! What a device computes for each row of a batch: [`Program`].
//!
//! ```text
//! columns ──► values (calls of operators, numeric primitives) ──► rules in order ──► outputs
//! ```
//! A rule that is false or null drops the row: rules after it and outputs are not computed for that row.
//!
//! Invariant: a value refers to values before it, and [`Program::push`] refuses one whose types do not fit, so that
//! every program can be made into a kernel.
//! Not here: the kernel (`codegen.rs`), and where the bytes are (`layout.rs`).

use super::groups::Grouping;
use super::primitives::Primitive;
use crate::ops::{Args, Cpu, Kernel, Needs, OpSpec, Returns, Scratch};
use arrow::datatypes::DataType;
use std::fmt;
use std::sync::Arc;

/// The type of a value on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Type {
    /// True or false.
    Bool,
    /// 64 bits with sign; narrower Arrow integers are widened on the way.
    Int,
    /// 64 bits; 32-bit numbers are widened on the way.
    Float,
    /// UTF-8 bytes: a column that operators read.
    Text,
    /// A list of at most this many 64-bit values: a result only.
    Words(usize),
    /// A text of this many 64-bit values in hexadecimal digits: a result only.
    Hex(usize),
}

impl Type {
    /// As which an Arrow column goes to a device, if it can.
    ///
    /// `UInt64` cannot: half of its values are no [`Type::Int`].
    pub fn of(data_type: &DataType) -> Option<Type> {
        Some(match data_type {
            DataType::Boolean => Type::Bool,
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Type::Int,
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Type::Int,
            DataType::Float32 | DataType::Float64 => Type::Float,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::Text,
            _ => return None,
        })
    }

    /// The Arrow type in which results come back.
    pub fn data_type(self) -> DataType {
        match self {
            Type::Bool => DataType::Boolean,
            Type::Int => DataType::Int64,
            Type::Float => DataType::Float64,
            Type::Text | Type::Hex(_) => DataType::Utf8,
            Type::Words(_) => DataType::new_list(DataType::Int64, true),
        }
    }

    /// Whether primitives compute on it.
    pub fn is_number(self) -> bool {
        matches!(self, Type::Bool | Type::Int | Type::Float)
    }

    /// Bytes of one value, besides the bytes of a text.
    pub(super) fn value_bytes(self) -> usize {
        match self {
            Type::Bool => 1,
            Type::Int | Type::Float => 8,
            Type::Text => 4,
            Type::Words(n_words) | Type::Hex(n_words) => 8 * n_words,
        }
    }

    /// In the names of kernels.
    pub(super) fn name(self) -> &'static str {
        match self {
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Float => "float",
            Type::Text => "text",
            Type::Words(_) => "words",
            Type::Hex(_) => "hex",
        }
    }
}

/// A constant; `None` is null.
#[derive(Debug, Clone, Copy)]
pub enum Scalar {
    /// True or false.
    Bool(Option<bool>),
    /// A whole number.
    Int(Option<i64>),
    /// A number.
    Float(Option<f64>),
}

impl Scalar {
    /// Its type.
    pub fn ty(self) -> Type {
        match self {
            Scalar::Bool(_) => Type::Bool,
            Scalar::Int(_) => Type::Int,
            Scalar::Float(_) => Type::Float,
        }
    }

    /// Its bits, if it is not null.
    pub(super) fn bits(self) -> Option<u64> {
        match self {
            Scalar::Bool(value) => value.map(u64::from),
            Scalar::Int(value) => value.map(|n| n as u64),
            Scalar::Float(value) => value.map(f64::to_bits),
        }
    }
}

impl PartialEq for Scalar {
    /// Bit by bit: NaN is itself, and −0 is not 0.
    fn eq(&self, other: &Self) -> bool {
        self.ty() == other.ty() && self.bits() == other.bits()
    }
}

/// The place of a value in [`Program::values`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(pub usize);

/// One value of a row.
#[derive(Debug, Clone)]
pub enum Value {
    /// That of an input column.
    Column(usize),
    /// The same for each row.
    Constant(Scalar),
    /// What an operator says about a text.
    Call {
        /// The operator.
        spec: Arc<OpSpec>,
        /// Its options.
        args: Arc<Args>,
        /// The input column with the documents.
        document: usize,
    },
    /// Computed from other values.
    Apply {
        /// How.
        primitive: Primitive,
        /// From which.
        of: Vec<ValueId>,
    },
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Column(a), Value::Column(b)) => a == b,
            (Value::Constant(a), Value::Constant(b)) => a == b,
            (Value::Call { spec: f, args: a, document: c }, Value::Call { spec: g, args: b, document: d }) => {
                f.name == g.name && a.values() == b.values() && c == d
            }
            (Value::Apply { primitive: f, of: a }, Value::Apply { primitive: g, of: b }) => f == g && a == b,
            _ => false,
        }
    }
}

/// What a device computes for each row.
#[derive(Debug, Clone, Default)]
pub struct Program {
    columns: Vec<Type>,
    values: Vec<Value>,
    types: Vec<Type>,
    rules: Vec<ValueId>,
    outputs: Vec<ValueId>,
    grouping: Option<Grouping>,
}

impl Program {
    /// A program over these input columns, with nothing to compute yet.
    pub fn new(columns: Vec<Type>) -> Self {
        Self { columns, ..Self::default() }
    }

    /// The input columns.
    pub fn columns(&self) -> &[Type] {
        &self.columns
    }

    /// All values; each refers to values before it.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The rules, in the order in which they run.
    pub fn rules(&self) -> &[ValueId] {
        &self.rules
    }

    /// The values that come back.
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// How rows that pass are grouped; none: they come back one by one.
    pub fn grouping(&self) -> Option<&Grouping> {
        self.grouping.as_ref()
    }

    /// The program with groups instead of rows as its result, or the other way round.
    pub fn grouped(mut self, grouping: Option<Grouping>) -> Result<Self, String> {
        grouping.as_ref().map_or(Ok(()), |grouping| grouping.check(&self))?;
        self.grouping = grouping;
        Ok(self)
    }

    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.outputs.is_empty()
    }

    /// The type of a value.
    pub fn type_of(&self, id: ValueId) -> Option<Type> {
        self.types.get(id.0).copied()
    }

    /// A further input column.
    pub fn add_column(&mut self, ty: Type) -> usize {
        self.columns.push(ty);
        self.columns.len() - 1
    }

    /// Adds a value, or finds it if it is there already. The error says what does not fit.
    pub fn push(&mut self, value: Value) -> Result<ValueId, String> {
        let ty = self.check(&value)?;
        if let Some(place) = self.values.iter().position(|known| known == &value) {
            return Ok(ValueId(place));
        }
        self.values.push(value);
        self.types.push(ty);
        Ok(ValueId(self.values.len() - 1))
    }

    /// Adds a rule: rows for which `condition` is not true are dropped. Gives its number.
    pub fn add_rule(&mut self, condition: ValueId) -> Result<usize, String> {
        match self.type_of(condition) {
            Some(Type::Bool) => {}
            Some(ty) => return Err(format!("a rule is true or false, not {ty:?}")),
            None => return Err(format!("there is no value {}", condition.0)),
        }
        self.rules.push(condition);
        Ok(self.rules.len() - 1)
    }

    /// Adds an output, unless it is one. Gives its place among the results.
    pub fn add_output(&mut self, value: ValueId) -> Result<usize, String> {
        match self.type_of(value) {
            Some(Type::Text) => return Err("texts do not come back from a device: they are on the host".to_string()),
            Some(_) => {}
            None => return Err(format!("there is no value {}", value.0)),
        }
        if let Some(place) = self.outputs.iter().position(|known| *known == value) {
            return Ok(place);
        }
        self.outputs.push(value);
        Ok(self.outputs.len() - 1)
    }

    fn check(&self, value: &Value) -> Result<Type, String> {
        let column = |column: usize| self.columns.get(column).copied().ok_or(format!("there is no column {column}"));
        match value {
            Value::Column(number) => column(*number),
            Value::Constant(scalar) => Ok(scalar.ty()),
            Value::Call { spec, args, document } => {
                let kernel = spec.gpu.kernel(args)?;
                if column(*document)? != Type::Text {
                    return Err(format!("`{}` reads a text", spec.name));
                }
                call_type(spec, kernel, args)
            }
            Value::Apply { primitive, of } => {
                let types: Option<Vec<Type>> = of.iter().map(|id| self.type_of(*id)).collect();
                let types = types.ok_or("a value refers to one that is not there")?;
                primitive.result(&types).ok_or_else(|| format!("{primitive:?} does not take {types:?}"))
            }
        }
    }
}

fn call_type(spec: &OpSpec, kernel: &Kernel, args: &Args) -> Result<Type, String> {
    let n_words = || (kernel.n_words)(args).max(1);
    Ok(match spec.returns {
        Returns::Boolean => Type::Bool,
        Returns::Int64 => Type::Int,
        Returns::Float64 => Type::Float,
        Returns::Utf8 => Type::Hex(n_words()),
        Returns::List(Returns::Int64) => Type::Words(n_words()),
        other => return Err(format!("`{}` returns {other}, which a kernel cannot write", spec.name)),
    })
}

/// The parts of the document that a call reads.
pub(super) fn needs(spec: &OpSpec, args: &Args) -> Needs {
    match spec.cpu {
        Cpu::Statistic(statistic) => (statistic.needs)(args),
        _ => Needs::TEXT,
    }
}

/// Memory that a call needs besides that of the document's parts.
pub(super) fn own_scratch(spec: &OpSpec, args: &Args) -> Scratch {
    spec.gpu.kernel(args).map_or(Scratch::NONE, |kernel| (kernel.scratch)(args))
}

impl fmt::Display for Program {
    /// One line a value, a rule, an output: for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, value) in self.values.iter().enumerate() {
            write!(f, "v{place} = ")?;
            match value {
                Value::Column(column) => writeln!(f, "column {column}: {:?}", self.types[place])?,
                Value::Constant(scalar) => writeln!(f, "{scalar:?}")?,
                Value::Call { spec, args, document } => {
                    let mut given = vec![format!("column {document}")];
                    given.extend(args.written());
                    writeln!(f, "{}({})", spec.name, given.join(", "))?;
                }
                Value::Apply { primitive, of } => {
                    let of: Vec<String> = of.iter().map(|id| format!("v{}", id.0)).collect();
                    writeln!(f, "{}({})", primitive.name(), of.join(", "))?;
                }
            }
        }
        self.rules.iter().enumerate().try_for_each(|(number, id)| writeln!(f, "rule {number}: v{}", id.0))?;
        self.outputs.iter().enumerate().try_for_each(|(number, id)| writeln!(f, "output {number}: v{}", id.0))
    }
}
