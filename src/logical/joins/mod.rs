//! Joins. The key of a `JOIN … USING` stands once, with the value of whichever side has the row.
//!
//! DataFusion's planner keeps both key columns and takes one of them for the unqualified name: of the wrong side for
//! rows that only the other has (RIGHT, FULL, and `*` after LEFT), and none at all after a second `USING` of the same key. So
//! these joins are planned here, for SQL and for the verb. A side's own key is still there for who names it with its table:
//!
//! ```text
//! SELECT k, b.k FROM a FULL JOIN b USING (k)
//!   ⇒  SELECT k, "|> own b.k" AS "b.k" FROM (a FULL JOIN b USING (k, "|> own b.k"))
//! ```
//! `own_keys.rs` makes that of the tree, `plan.rs` plans what is in brackets: `|> own b.k` among the keys of a join asks
//! for a column of that name. Not here: `NATURAL`, whose keys a tree does not tell; refused where it could be wrong.

mod own_keys;
mod plan;
mod verb;

pub use own_keys::name_own_keys;

use datafusion::common::JoinType;
use datafusion::sql::sqlparser::ast::{
    Ident, Join, JoinConstraint, JoinOperator, ObjectNamePart, TableFactor, TableWithJoins,
};

/// What the names of columns begin with that hold a side's own key. No user can write it.
const HIDDEN: &str = "|> own ";

/// A key of one table: `b.k`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OwnKey {
    table: String,
    column: String,
}

impl OwnKey {
    /// The column that holds it.
    fn hidden_name(&self) -> String {
        format!("{HIDDEN}{}.{}", self.table, self.column)
    }
}

/// The kind and the keys of a join with `USING` whose rows have columns of both sides.
fn merging(join: &Join) -> Option<(JoinType, Vec<&Ident>)> {
    let (join_type, constraint) = match &join.join_operator {
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (JoinType::Inner, constraint),
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (JoinType::Left, constraint),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (JoinType::Right, constraint),
        JoinOperator::FullOuter(constraint) => (JoinType::Full, constraint),
        _ => return None,
    };
    // What reads columns of the tables before it must be planned together with them.
    let is_lateral = matches!(
        join.relation,
        TableFactor::Derived { lateral: true, .. }
            | TableFactor::Function { lateral: true, .. }
            | TableFactor::UNNEST { .. }
    );
    let JoinConstraint::Using(keys) = constraint else { return None };
    let plain = keys.iter().map(|key| match key.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Some(ident),
        _ => None,
    });
    let keys = plain.collect::<Option<Vec<_>>>()?;
    (!is_lateral).then_some((join_type, keys))
}

/// The place of the last join whose keys are merged.
pub fn last_merging(tables: &TableWithJoins) -> Option<usize> {
    tables.joins.iter().rposition(|join| merging(join).is_some())
}
