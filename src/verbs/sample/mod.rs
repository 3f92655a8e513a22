//! `SAMPLE n ROWS | p PERCENT [SEED s]`, in SQL `TABLESAMPLE (…) REPEATABLE (s)`: a part of the rows.

mod exec;
mod verb;

pub use verb::{Percent, Sample, SampleAmount};

use crate::Error;
use crate::diag::Code;
use crate::logical::{Binder, BoundVerb, Relations, Room, number_of};
use crate::syntax::ast::VerbCall;
use crate::verb::verb_plan;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{TableSample, TableSampleUnit};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;

/// Binds the verb.
#[derive(Debug)]
pub struct SampleRoom;

impl Room for SampleRoom {
    fn keyword(&self) -> &'static str {
        "SAMPLE"
    }

    fn keeps_columns(&self) -> bool {
        true
    }

    fn bind(&self, binder: &Binder<'_>, input: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
        let Some(slice) = call.slice("amount") else {
            return Err(vec![binder.error(Code::Syntax, "SAMPLE takes a number", call.span)]);
        };
        let number = binder.number(&input, slice, self.keyword())?;
        let amount = if call.has("kw_rows") { rows(&number) } else { percent(&number) };
        let amount = amount.map_err(|message| vec![binder.error(Code::OptionValue, message, slice.span)])?;
        let seed = binder.seed(&input, call)?;
        verb_plan(Sample { amount, seed }, vec![input]).map_err(|error| binder.blame().explain(error, call.span))
    }

    fn bind_table_sample(
        &self,
        relations: &Relations,
        input: &LogicalPlan,
        sample: &TableSample,
    ) -> Option<Result<LogicalPlan>> {
        let sample = table_sample(relations, sample);
        Some(sample.map_err(Into::into).and_then(|sample| verb_plan(sample, vec![input.clone()])))
    }
}

fn table_sample(relations: &Relations, sample: &TableSample) -> Result<Sample, Error> {
    let refuse = |message: &str| {
        Error::from(
            relations
                .error(Code::Unsupported, message, SqlSpan::empty())
                .help("write TABLESAMPLE (100 ROWS) REPEATABLE (42) or TABLESAMPLE (10 PERCENT) REPEATABLE (42)"),
        )
    };
    let quantity = sample.quantity.as_ref().ok_or_else(|| refuse("TABLESAMPLE without an amount"))?;
    let number = number_of(&quantity.value).ok_or_else(|| refuse("TABLESAMPLE takes a number"))?;
    let amount = match quantity.unit {
        Some(TableSampleUnit::Rows) => rows(&number),
        Some(TableSampleUnit::Percent) | None => percent(&number),
    }
    .map_err(|message| refuse(&message))?;
    let seed = match &sample.seed {
        Some(seed) => seed.value.to_string().parse().map_err(|_| refuse("the seed is not a whole number"))?,
        None => 0,
    };
    Ok(Sample { amount, seed })
}

/// `n ROWS`.
fn rows(number: &str) -> Result<SampleAmount, String> {
    let n_rows = number.parse().map_err(|_| format!("`{number}` is not a number of rows"))?;
    Ok(SampleAmount::Rows(n_rows))
}

/// `p PERCENT`.
fn percent(number: &str) -> Result<SampleAmount, String> {
    let percent = number.parse().ok().and_then(Percent::new);
    Ok(SampleAmount::Percent(percent.ok_or_else(|| format!("`{number}` is not a percentage from 0 to 100"))?))
}
