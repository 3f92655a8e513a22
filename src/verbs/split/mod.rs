//! `SPLIT BY key TO train 98, valid 1, test 1 [AS name] [SEED s]`, in SQL `FROM split(docs, key, parts => 'train 98, valid 1, test 1')`:
//! a column that says which part a row belongs to.
//!
//! ```text
//! hash_fraction(key) 0 ───────────────────────────────── 0.98 ─ 0.99 ─ 1
//!                     train                                valid   test
//! ```
//! The part follows from the key and the seed alone: rows with one key stay together, and threads, shards, later runs and other
//! files change nothing. So there is nothing to run: the verb is a column.

use crate::Error;
use crate::diag::{Code, Diagnostic};
use crate::logical::{Binder, BoundVerb, Place, Relations, Room, scalar_udf};
use crate::ops::dedup::hash_fraction;
use crate::syntax::ast::VerbCall;
use crate::verbs::call::TableCall;
use crate::verbs::dedup::bind::asked::Keyed;
use crate::verbs::dedup::bind::cql::keyed;
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::conditional_expressions::CaseBuilder;
use datafusion::logical_expr::planner::RelationPlannerContext;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, lit, when};
use datafusion::sql::sqlparser::ast::{Ident, TableFunctionArgs};
use std::sync::Arc;

/// Binds the verb.
#[derive(Debug)]
pub struct SplitRoom;

/// What a query asks of `SPLIT`.
struct Asked {
    key: Keyed,
    parts: Vec<Part>,
    seed: u64,
    /// The column that says the part.
    name: String,
    place: Place,
}

/// One part, and how much it gets beside the others.
struct Part {
    name: String,
    weight: f64,
    place: Place,
}

impl Room for SplitRoom {
    fn keyword(&self) -> &'static str {
        "SPLIT"
    }

    fn bind(&self, binder: &Binder<'_>, input: LogicalPlan, call: &VerbCall) -> BoundVerb<LogicalPlan> {
        let Some(key) = call.slice("split_key") else {
            return Err(vec![binder.error(Code::Syntax, "SPLIT needs a key", call.span)]);
        };
        let key = keyed(binder, &input, key)?;
        let mut parts = Vec::new();
        for part in call.all("split_part") {
            let (Some(name), Some(weight)) = (part.find("split_name"), part.find("number")) else { continue };
            let place = binder.place(part.span);
            parts.push(Part::of(&name.text, &weight.text, place).map_err(|problem| vec![problem])?);
        }
        let seed = binder.seed(&input, call)?;
        let name = call.name("name").map_or_else(|| "split".to_string(), |name| name.text);
        let asked = Asked { key, parts, seed, name, place: binder.place(call.span) };
        asked.bind(input).map_err(|error| binder.blame().explain(error, call.span))
    }

    fn table_functions(&self) -> &'static [&'static str] {
        &["split"]
    }

    fn bind_table_function(
        &self,
        relations: &Relations,
        function: &Ident,
        arguments: TableFunctionArgs,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<LogicalPlan> {
        let mut call = TableCall::read(relations, function, arguments, context)?;
        let place = relations.place(function.span);
        let refuse = |message: &str| -> Error {
            let problem = relations.place(function.span).error(Code::Arguments, message);
            Error::from(
                problem
                    .help("write `split(docs, key, parts => 'train 98, valid 1, test 1', seed => 1, name => 'part')`"),
            )
        };
        let [given, seed, name] = ["parts", "seed", "name"].map(|name| call.take(name));
        if let Some((unknown, _)) = call.named.first() {
            return Err(refuse(&format!("`split` has no option `{unknown}`")).into());
        }
        let given = given.ok_or_else(|| refuse("`split` needs `parts`, with their weights"))?;
        let mut parts = Vec::new();
        for part in call.text(&given, "parts")?.split(',') {
            let Some((name, weight)) = part.trim().rsplit_once(char::is_whitespace) else {
                return Err(refuse(&format!("`{}` is no name with a weight", part.trim())).into());
            };
            parts.push(Part::of(name.trim(), weight, relations.place(function.span)).map_err(Error::from)?);
        }
        let seed = match seed {
            Some(seed) => {
                call.text(&seed, "seed")?.parse().map_err(|_| refuse("the seed is a whole number, 0 or more"))?
            }
            None => 0,
        };
        let name = name.map(|name| call.text(&name, "name")).transpose()?.unwrap_or_else(|| "split".to_string());
        let Some(key) = call.on.pop().filter(|_| call.on.is_empty()) else {
            return Err(refuse("`split` needs one key").into());
        };
        Asked { key, parts, seed, name, place }.bind(call.plan)
    }
}

impl Part {
    fn of(name: &str, weight: &str, place: Place) -> std::result::Result<Self, Diagnostic> {
        match weight.replace('_', "").parse() {
            Ok(weight) if weight > 0.0 && f64::is_finite(weight) => Ok(Self { name: name.to_string(), weight, place }),
            _ => Err(place.error(Code::OptionValue, format!("`{weight}` is no weight; it is a number above 0"))),
        }
    }
}

impl Asked {
    fn bind(self, plan: LogicalPlan) -> Result<LogicalPlan> {
        self.key.refuse_other_rows("SPLIT").map_err(Error::from)?;
        let refuse = |place: &Place, message: String, help: String| {
            Err(Error::from(place.error(Code::Duplicate, message).help(help)).into())
        };
        if plan.schema().has_column_with_unqualified_name(&self.name) {
            let message = format!("there is a column `{}` already", self.name);
            return refuse(&self.place, message, "give the new one another name: SPLIT BY … TO … AS part".into());
        }
        for (at, part) in self.parts.iter().enumerate() {
            if self.parts[..at].iter().any(|earlier| earlier.name == part.name) {
                let message = format!("there are two parts `{}`", part.name);
                return refuse(&part.place, message, "add up their weights".into());
            }
        }
        let column = self.column()?.alias(&self.name);
        let columns = plan.schema().columns().into_iter().map(Expr::Column).chain([column]);
        let columns: Vec<Expr> = columns.collect();
        LogicalPlanBuilder::from(plan).project(columns)?.build()
    }

    /// The name of the part in which the key's share lies.
    fn column(&self) -> Result<Expr> {
        // Rows without a key are a group, too.
        let key = coalesce(vec![cast(self.key.expr.clone(), DataType::Utf8), lit("")]);
        let seed = i64::try_from(self.seed).unwrap_or(i64::MAX);
        let options = (seed != 0).then(|| lit(seed));
        let share = scalar_udf(Arc::new(hash_fraction::SPEC.clone())).call([key].into_iter().chain(options).collect());
        let total: f64 = self.parts.iter().map(|part| part.weight).sum();
        let Some((last, others)) = self.parts.split_last() else {
            return Err(crate::bug!("a SPLIT has no parts").into());
        };
        let mut until = 0.0;
        let mut chosen: Option<CaseBuilder> = None;
        for part in others {
            until += part.weight;
            let (is_below, name) = (share.clone().lt(lit(until / total)), lit(part.name.as_str()));
            chosen = Some(match chosen {
                None => when(is_below, name),
                Some(mut chosen) => chosen.when(is_below, name),
            });
        }
        match chosen {
            Some(mut chosen) => chosen.otherwise(lit(last.name.as_str())),
            None => Ok(lit(last.name.as_str())),
        }
    }
}
