//! `INTO 'place' WITH (…)`: the rows go to files; what is left is one row with their number.
//!
//! Every column of the input is written, so none may be dropped as unused.
//! Not here: what the options mean (`sinks`), and the writing (`exec::WriteExec`).

use super::only_input;
use crate::sinks::SourceLines;
use arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Writes its input's rows, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Write {
    /// The rows to write.
    pub input: LogicalPlan,
    /// The file or folder, as written in the query.
    pub location: String,
    /// The options as written, already checked by the binder.
    pub options: Vec<(String, String)>,
    /// The rows bring the lines that they were read from (`KeepSourceLines`).
    pub lines: Option<Arc<SourceLines>>,
    schema: DFSchemaRef,
}

impl Write {
    /// A node that writes `input` to `location`.
    pub fn new(input: LogicalPlan, location: String, options: Vec<(String, String)>) -> Result<Self> {
        let count = Field::new("count", DataType::UInt64, false);
        let schema = DFSchema::new_with_metadata(vec![(None, Arc::new(count))], HashMap::new())?;
        Ok(Self { input, location, options, lines: None, schema: Arc::new(schema) })
    }

    /// The same for rows that bring their lines.
    pub fn with_lines(self, lines: SourceLines) -> Self {
        Self { lines: Some(Arc::new(lines)), ..self }
    }

    /// The same for other rows.
    pub fn over(&self, input: LogicalPlan) -> Self {
        Self { input, ..self.clone() }
    }
}

impl PartialOrd for Write {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (&self.location, &self.options).cmp(&(&other.location, &other.options)) {
            Ordering::Equal => self.input.partial_cmp(&other.input),
            different => Some(different),
        }
    }
}

impl UserDefinedLogicalNodeCore for Write {
    fn name(&self) -> &str {
        "Write"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Write: '{}'", self.location)?;
        for (name, value) in &self.options {
            write!(f, ", {name} = {value}")?;
        }
        self.lines.as_ref().map_or(Ok(()), |lines| write!(f, ", {lines}"))
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        Ok(self.over(only_input("Write", inputs)?))
    }

    fn necessary_children_exprs(&self, _output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![(0..self.input.schema().fields().len()).collect()])
    }
}
