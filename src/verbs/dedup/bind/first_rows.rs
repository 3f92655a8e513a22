//! `DISTINCT ON (keys)`: of the rows with equal keys the first stays, as with `DEDUP EXACT`; but nulls are equal too.

use super::hash::{dedup_hash, has_key, plain};
use super::label::listed;
use super::methods::Part;
use super::request::{Hidden, ID_COLUMN, named_column};
use crate::dedup::{Exact, Keep, KeepWhich, Method};
use crate::verb::VerbNode;
use crate::verbs::dedup::{Dedup, DedupRequest};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, lit};
use std::sync::Arc;

/// The node that keeps the first row of each. `None` if values of such types cannot be compared.
pub fn first_rows(rows: &LogicalPlan, keys: &[Expr]) -> Result<Option<VerbNode>> {
    let schema = rows.schema();
    // A constant beside the keys: a row of nulls has a key too.
    let mut compared_values = vec![lit(0_i64)];
    let mut compared = vec![];
    for key in keys {
        let kind = key.get_type(schema)?;
        if !has_key(&kind) {
            return Ok(None);
        }
        let kind = plain(&kind);
        let value = key.clone().cast_to(&kind, schema)?;
        if kind == DataType::Float64 {
            // 0 and -0 are equal, and a condition may still tell them apart.
            compared_values.push(value + lit(0.0));
        } else {
            compared_values.push(value);
            compared.extend(key.try_as_col().cloned());
        }
    }
    let mut hidden = Hidden::over(rows)?;
    let key = hidden.part("key", Part::Computed(dedup_hash().call(compared_values)));
    let request = DedupRequest {
        label: format!("DISTINCT ON ({})", listed(keys.iter())),
        method: Method::Exact(Exact { verify: false }),
        key: Some(key),
        value: None,
        keep: Keep { which: KeepWhich::First, by: vec![], per: None },
        id: named_column(schema, ID_COLUMN),
        drops: true,
        extra: vec![],
        against: None,
        hidden: hidden.columns(),
        compared,
        documents: None,
        forgets_copies: true,
    };
    let verb = Dedup { request: Arc::new(request), wants_dropped: false };
    VerbNode::new(Arc::new(verb), vec![hidden.project(rows.clone())?]).map(Some)
}
