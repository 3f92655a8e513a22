//! From what was asked to the plan node: the hidden columns, what all methods share, the label.

use super::asked::Asked;
use super::hash::{dedup_hash, has_key};
use super::label;
use super::methods::{Bound, Part, bind_method, refused};
use super::options::{Options, boolean, name, whole};
use crate::dedup::{Against, ExtraColumn, Keep, KeepWhich};
use crate::diag::{Code, did_you_mean};
use crate::logical::Place;
use crate::logical::type_name;
use crate::verb::{VerbNode, verb_plan};
use crate::verbs::dedup::read::DedupMethod;
use crate::verbs::dedup::{Dedup, DedupRequest};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::planner::ContextProvider;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder};
use std::sync::Arc;

/// The column that names documents unless another is chosen.
pub(super) const ID_COLUMN: &str = "id";

/// The columns that a method may add.
const EXTRA: [(&str, ExtraColumn); 4] = [
    ("cluster_id", ExtraColumn::ClusterId),
    ("cluster_size", ExtraColumn::ClusterSize),
    ("kept_id", ExtraColumn::KeptId),
    ("similarity", ExtraColumn::Similarity),
];

/// The options of a method. Those that add columns belong to methods that keep or drop whole rows.
pub(in crate::verbs) fn known_options(method: DedupMethod) -> Vec<&'static str> {
    let own: &[&str] = match method {
        DedupMethod::Exact => &["verify"],
        DedupMethod::Fuzzy => {
            &["threshold", "permutations", "bands", "rows", "shingle", "normalize", "hash", "seed", "verify", "link"]
        }
        DedupMethod::Lines | DedupMethod::Paragraphs | DedupMethod::Sentences => {
            &["span", "min_words", "normalize", "min_document_words", "min_document_units"]
        }
        DedupMethod::Substring => &["min_length", "min_document_words"],
        DedupMethod::Semantic => &[
            "threshold",
            "eps",
            "clusters",
            "iterations",
            "tolerance",
            "seed",
            "sample",
            "which",
            "link",
            "gpus",
            "gpu_memory",
        ],
    };
    let extra = EXTRA.iter().map(|(name, _)| *name).filter(|_| drops_rows(method));
    let drop = Some("drop").filter(|_| drops_rows(method));
    own.iter().copied().chain([ID_COLUMN, "documents"]).chain(drop).chain(extra).collect()
}

fn drops_rows(method: DedupMethod) -> bool {
    matches!(method, DedupMethod::Exact | DedupMethod::Fuzzy | DedupMethod::Semantic)
}

/// The node over `plan` that does what was asked, or every mistake in it.
pub(in crate::verbs) fn bind_dedup(
    plan: LogicalPlan,
    mut asked: Asked,
    functions: &dyn ContextProvider,
) -> Result<LogicalPlan> {
    let verb = format!("DEDUP {}", asked.method.name());
    let mut given = std::mem::take(&mut asked.given);
    let needless = given.extract_if(.., |option| option.name == "link" && asked.method == DedupMethod::Exact);
    let needless: Vec<_> = needless.collect();
    let mut options = Options::new(&verb, &known_options(asked.method), given);
    options.problems.extend(needless.iter().map(|option| {
        let message = "DEDUP EXACT has no `link`: all copies are equal to the one that stays";
        option.name_place.error(Code::UnknownOption, message).help("DEDUP FUZZY and DEDUP SEMANTIC have it")
    }));
    let schema = plan.schema().clone();
    let per = asked.keep.iter().flat_map(|keep| &keep.per).map(|key| key.refuse_other_rows("DEDUP"));
    let ordered = asked.keep.iter().flat_map(|keep| &keep.by).map(|item| item.refuse_other_rows("DEDUP"));
    let other_rows = asked.on.iter().map(|key| key.refuse_other_rows("DEDUP")).chain(ordered).chain(per);
    let other_rows: Vec<_> = other_rows.filter_map(std::result::Result::err).collect();
    if !other_rows.is_empty() {
        options.problems.extend(other_rows);
        return Err(refused(&mut options));
    }
    if let Some(against) = asked.against.as_ref().filter(|_| !has_index(asked.method)) {
        let problem = against.place.error(Code::Unsupported, format!("{verb} has no index"));
        options.problems.push(problem.help("DEDUP EXACT, DEDUP FUZZY and DEDUP SEMANTIC have one"));
    }
    refuse_per(&asked, &mut options, &schema)?;
    let bound = bind_method(&asked, &mut options, &schema, functions)?;
    let id = id_column(&mut options, &schema);
    let extra = extra_columns(&mut options, &schema);
    let drops = options.setting("drop", true, boolean);
    if !drops && extra.is_empty() {
        options.refuse("drop", "duplicates that stay have to be told: name a column with `cluster_id` or another");
    }
    let documents = options.value("documents", whole(0_u64));
    if !options.problems.is_empty() {
        return Err(refused(&mut options));
    }
    let label = [
        format!("{verb} ON {}", label::listed(asked.on.iter().map(|key| &key.expr))),
        label::with(&options.shown),
        label::keep(asked.keep.as_ref()),
        label::against(asked.against.as_ref().map(|against| (against.path.as_str(), against.mode))),
    ]
    .concat();
    let mut hidden = Hidden::over(&plan)?;
    let Bound { method, key, value, compared } = bound;
    let key = key.map(|key| hidden.part("key", key));
    let value = value.map(|value| hidden.part("value", value));
    let keep = keep_of(&asked, &mut hidden);
    let request = DedupRequest {
        label,
        method,
        key,
        value,
        keep,
        id,
        drops,
        extra,
        against: asked.against.map(|against| Against { path: against.path, mode: against.mode }),
        hidden: hidden.columns(),
        compared,
        documents,
        forgets_copies: false,
    };
    verb_plan(Dedup { request: Arc::new(request), wants_dropped: false }, vec![hidden.project(plan)?])
}

/// Methods whose keys can be kept from one run to the next.
fn has_index(method: DedupMethod) -> bool {
    matches!(method, DedupMethod::Exact | DedupMethod::Fuzzy | DedupMethod::Semantic)
}

/// What stands after `PER` must have a hash, and an index knows nothing of it.
fn refuse_per(asked: &Asked, options: &mut Options, schema: &DFSchema) -> Result<()> {
    let per = asked.keep.iter().flat_map(|keep| &keep.per);
    for key in per {
        let kind = key.expr.get_type(schema)?;
        if !has_key(&kind) {
            let message = format!("KEEP … PER cannot compare what is {}", type_name(&kind));
            options.problems.push(key.place.error(Code::Type, message));
        }
        if let Some(against) = &asked.against {
            let message = "an index does not know for which value of PER its documents stayed";
            let problem = key.place.error(Code::Unsupported, message);
            let problem = problem.and_at(&against.place.source, against.place.span, "the index");
            options.problems.push(problem.help("leave out PER, or use an index for each value"));
            break;
        }
    }
    Ok(())
}

fn keep_of(asked: &Asked, hidden: &mut Hidden) -> Keep {
    let Some(keep) = &asked.keep else { return Keep { which: KeepWhich::First, by: vec![], per: None } };
    let per: Vec<Expr> = keep.per.iter().map(|key| key.expr.clone()).collect();
    let per = Some(per).filter(|per| !per.is_empty());
    let per = per.map(|per| hidden.add(&format!("per_{}", hidden.number), dedup_hash().call(per)).name);
    let by = keep.by.iter().enumerate().map(|(at, item)| {
        let column = hidden.add(&format!("keep_{}_{at}", hidden.number), item.expr.clone());
        // A row without a value is not preferred, whichever end stays.
        let nulls_first = item.nulls_first.unwrap_or(keep.which == KeepWhich::Last);
        (column.name, item.descending, nulls_first)
    });
    Keep { which: keep.which, by: by.collect(), per }
}

/// The column that `id` names, or else the one that is called so.
pub(in crate::verbs) fn id_column(options: &mut Options, schema: &DFSchema) -> Option<Column> {
    match options.value(ID_COLUMN, name) {
        Some(wanted) => {
            let column = named_column(schema, &wanted);
            if column.is_none() {
                let place = options.value_place(ID_COLUMN).cloned();
                options.problems.extend(place.map(|place| unknown_column(&place, &wanted, schema)));
            }
            column
        }
        None => named_column(schema, ID_COLUMN),
    }
}

/// The one column of a name.
pub(in crate::verbs) fn named_column(schema: &DFSchema, wanted: &str) -> Option<Column> {
    match schema.qualified_fields_with_unqualified_name(wanted).as_slice() {
        [(qualifier, field)] => Some(Column::new(qualifier.cloned(), field.name())),
        _ => None,
    }
}

/// The message about a column that is not there, or there twice.
pub(in crate::verbs) fn unknown_column(place: &Place, wanted: &str, schema: &DFSchema) -> crate::diag::Diagnostic {
    let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
    if names.iter().any(|name| *name == wanted) {
        return place.error(Code::Ambiguous, format!("`{wanted}` could be a column of either side"));
    }
    let listed = names.iter().take(10).map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let help = did_you_mean(wanted, &names).unwrap_or_else(|| format!("the columns are {listed}"));
    place.error(Code::UnknownColumn, format!("no column `{wanted}`")).at("not found").help(help)
}

fn extra_columns(options: &mut Options, schema: &DFSchema) -> Vec<(ExtraColumn, String)> {
    let mut columns: Vec<(ExtraColumn, String)> = Vec::new();
    for (option, column) in EXTRA {
        let Some(wanted) = options.value(option, name) else { continue };
        let is_taken =
            schema.has_column_with_unqualified_name(&wanted) || columns.iter().any(|(_, earlier)| *earlier == wanted);
        if is_taken {
            options.refuse(option, format!("there is a column `{wanted}` already"));
        }
        columns.push((column, wanted));
    }
    columns
}

/// Columns that the input gets for the node alone: computed below it, gone above it.
pub(in crate::verbs) struct Hidden {
    /// Tells this node's columns from those of other nodes.
    number: usize,
    exprs: Vec<(Expr, Column)>,
}

impl Hidden {
    /// Numbered by the nodes below, and past any columns of the user's that are called so.
    pub fn over(plan: &LogicalPlan) -> Result<Self> {
        let mut number = 0;
        plan.apply(|node| {
            let is_ours = VerbNode::of(node).is_some();
            number += usize::from(is_ours);
            Ok(TreeNodeRecursion::Continue)
        })?;
        let is_taken = |number: usize| {
            let ends = [
                format!("_key_{number}"),
                format!("_value_{number}"),
                format!("_keep_{number}_"),
                format!("_per_{number}"),
            ];
            let rest = |field: &Arc<arrow::datatypes::Field>| field.name().strip_prefix("_dedup").map(str::to_string);
            plan.schema().fields().iter().filter_map(rest).any(|rest| ends.iter().any(|end| rest.starts_with(end)))
        };
        while is_taken(number) {
            number += 1;
        }
        Ok(Self { number, exprs: vec![] })
    }

    /// A column of this name and number, if it has to be computed.
    pub fn part(&mut self, name: &str, part: Part) -> Column {
        match part {
            Part::There(column) => column,
            Part::Computed(expr) => self.add(&format!("{name}_{}", self.number), expr),
        }
    }

    fn add(&mut self, name: &str, expr: Expr) -> Column {
        let column = Column::new_unqualified(format!("_dedup_{name}"));
        self.exprs.push((expr, column.clone()));
        column
    }

    /// Those that were added.
    pub fn columns(&self) -> Vec<Column> {
        self.exprs.iter().map(|(_, column)| column.clone()).collect()
    }

    /// The plan with them.
    pub fn project(self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if self.exprs.is_empty() {
            return Ok(plan);
        }
        let there = plan.schema().columns().into_iter().map(Expr::Column);
        let added = self.exprs.into_iter().map(|(expr, column)| expr.alias(column.name));
        let exprs: Vec<Expr> = there.chain(added).collect();
        LogicalPlanBuilder::from(plan).project(exprs)?.build()
    }
}
