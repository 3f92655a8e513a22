//! `INTO 'place' WITH (…)`: the rows go to files; what is left is one row with their number.
//!
//! Every column of the input is written, so none may be dropped as unused.
//! Not here: what the options mean (`sinks`), and the writing (`exec.rs`).

use super::exec::Writer;
use crate::sinks::{Format, SinkSpec, SourceLines};
use crate::verb::{Planning, RowOrder, Verb};
use crate::{Error, bug};
use arrow::datatypes::{DataType, Field};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use std::fmt::Write as _;
use std::sync::Arc;

/// Writes rows, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Write {
    /// The file or folder, as written in the query.
    pub location: String,
    /// The options as written, already checked by the binder.
    pub options: Vec<(String, String)>,
    /// The rows bring the lines that they were read from (`KeepSourceLines`).
    pub lines: Option<Arc<SourceLines>>,
    /// The rows are added to what earlier runs have written.
    pub appends: bool,
}

impl Write {
    /// The value of an option.
    pub fn option(&self, wanted: &str) -> Option<&str> {
        self.options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    /// The options as the sink takes them.
    pub fn spec(&self) -> Result<SinkSpec, Error> {
        let mut spec = SinkSpec { lines: self.lines.clone(), appends: self.appends, ..SinkSpec::new(&self.location) };
        for (name, value) in &self.options {
            spec.options.set(name, value).map_err(|_| bug!("the binder let option `{name}` = `{value}` pass"))?;
        }
        Ok(spec)
    }
}

impl Verb for Write {
    fn name(&self) -> &'static str {
        "Write"
    }

    fn details(&self) -> String {
        let mut details = format!("'{}'", self.location);
        for (name, value) in &self.options {
            let _ = write!(details, ", {name} = {value}");
        }
        if self.appends {
            details.push_str(", added to what is there");
        }
        if let Some(lines) = &self.lines {
            let _ = write!(details, ", {lines}");
        }
        details
    }

    fn order(&self) -> RowOrder {
        RowOrder::Ends
    }

    fn adds(&self) -> Vec<Field> {
        vec![Field::new("count", DataType::UInt64, false)]
    }

    fn wants_ledger(&self) -> bool {
        self.option("rejects").is_some()
    }

    fn writes_lines(&self) -> Option<Vec<String>> {
        let spec = self.spec().ok().filter(|spec| spec.format() == Some(Format::Jsonl))?;
        self.lines.is_none().then_some(spec.options.partition_by)
    }

    fn with_lines(&self, lines: SourceLines) -> Result<Arc<dyn Verb>> {
        Ok(Arc::new(Self { lines: Some(Arc::new(lines)), ..self.clone() }))
    }

    fn plan(&self, planning: &Planning<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        planning.exec(Writer { spec: self.spec()? })
    }
}
