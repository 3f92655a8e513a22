//! What a query asks of `DEDUP`, each part with its place: the same for both languages.

use crate::dedup::{AgainstMode, KeepWhich};
use crate::diag::{Code, Diagnostic};
use crate::logical::Place;
use crate::verbs::dedup::read::{DedupMethod, KeepWord};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::{find_aggregate_exprs, find_window_exprs};

/// A `DEDUP`, its expressions planned and nothing else checked.
pub(in crate::verbs) struct Asked {
    pub method: DedupMethod,
    /// Where the method is named.
    pub place: Place,
    pub on: Vec<Keyed>,
    pub given: Vec<Given>,
    pub keep: Option<AskedKeep>,
    pub against: Option<AskedIndex>,
}

/// An expression after `ON`.
pub(in crate::verbs) struct Keyed {
    pub expr: Expr,
    pub place: Place,
}

impl Keyed {
    /// Aggregates and window functions need more than the row that is looked at.
    pub fn refuse_other_rows(&self, verb: &str) -> Result<(), Diagnostic> {
        refuse_other_rows(&self.expr, &self.place, verb)
    }
}

/// `name = value`
pub(in crate::verbs) struct Given {
    pub name: String,
    /// Texts without their quotes, lists with commas.
    pub value: String,
    pub name_place: Place,
    pub value_place: Place,
}

/// `KEEP …`
pub(in crate::verbs) struct AskedKeep {
    pub which: KeepWhich,
    pub per: Vec<Keyed>,
    pub by: Vec<AskedOrder>,
    pub place: Place,
}

/// One item of `KEEP … BY`.
pub(in crate::verbs) struct AskedOrder {
    pub expr: Expr,
    pub descending: bool,
    /// `None`: rows without a value are not preferred.
    pub nulls_first: Option<bool>,
    pub place: Place,
}

impl AskedOrder {
    /// As [`Keyed::refuse_other_rows`].
    pub fn refuse_other_rows(&self, verb: &str) -> Result<(), Diagnostic> {
        refuse_other_rows(&self.expr, &self.place, verb)
    }
}

/// `AGAINST INDEX …`
pub(in crate::verbs) struct AskedIndex {
    pub path: String,
    pub mode: AgainstMode,
    pub place: Place,
}

/// The tree's word as the plan's.
pub(in crate::verbs) fn which_of(word: KeepWord) -> KeepWhich {
    match word {
        KeepWord::First => KeepWhich::First,
        KeepWord::Last => KeepWhich::Last,
        KeepWord::Any => KeepWhich::Any,
        KeepWord::None => KeepWhich::None,
    }
}

fn refuse_other_rows(expr: &Expr, place: &Place, verb: &str) -> Result<(), Diagnostic> {
    let (what, help) = if !find_aggregate_exprs(std::iter::once(expr)).is_empty() {
        ("an aggregate", format!("AGGREGATE first, then {verb} its result"))
    } else if !find_window_exprs(std::iter::once(expr)).is_empty() {
        ("a window function", format!("EXTEND with it first, then {verb} with the new column"))
    } else {
        return Ok(());
    };
    let message = format!("{what} cannot stand in {verb}, which looks at one row at a time");
    Err(place.error(Code::Unsupported, message).help(help))
}
