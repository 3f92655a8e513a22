//! `DECONTAMINATE`: its options and their defaults, the text, the columns of the evaluation files.

use super::{Decontaminate, DecontaminateRequest};
use crate::dedup::{Decontaminate as Settings, DecontaminateMode};
use crate::diag::{Code, Diagnostic};
use crate::logical::{Place, type_name};
use crate::ops::dedup::Normalize;
use crate::sources::{EXTRA_COLUMN, FILE_COLUMN, ROW_COLUMN};
use crate::verb::verb_plan;
use crate::verbs::dedup::bind::asked::{Given, Keyed};
use crate::verbs::dedup::bind::label;
use crate::verbs::dedup::bind::methods::{Part, is_text, refused};
use crate::verbs::dedup::bind::options::{Options, boolean, mode, name, names, whole};
use crate::verbs::dedup::bind::request::{Hidden, named_column, unknown_column};
use arrow::compute::can_cast_types;
use arrow::datatypes::{DataType, Field};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, cast};
use std::sync::Arc;

/// The column that is read unless another is named.
const TEXT_COLUMN: &str = "text";

/// The options.
pub(super) const OPTIONS: &[&str] = &[
    "mode",
    "ngram",
    "min_ngram",
    "normalize",
    "max_matches",
    "remove_chars",
    "min_document_chars",
    "max_splits",
    "text_columns",
    "label",
    "queries",
    "overlap",
    "task",
];

/// A `DECONTAMINATE`, its expression planned and its files found.
pub(super) struct AskedDecontaminate {
    pub place: Place,
    /// `None`: the column `text`.
    pub on: Option<Keyed>,
    pub given: Vec<Given>,
    pub evals: String,
    /// The rows of the files, with `_file`.
    pub eval_rows: LogicalPlan,
    pub evals_place: Place,
}

/// The node over `plan` that does what was asked, or every mistake in it.
pub(super) fn bind_decontaminate(plan: LogicalPlan, asked: AskedDecontaminate) -> Result<LogicalPlan> {
    let mut options = Options::new("DECONTAMINATE", OPTIONS, asked.given);
    let schema = plan.schema().clone();
    let text = match asked.on {
        Some(on) => on,
        None => match named_column(&schema, TEXT_COLUMN) {
            Some(column) => Keyed { expr: Expr::Column(column), place: asked.place.clone() },
            None => {
                let problem = unknown_column(&asked.place, TEXT_COLUMN, &schema);
                options.problems.push(problem.help("name another with DECONTAMINATE ON column AGAINST …"));
                return Err(refused(&mut options));
            }
        },
    };
    if let Err(problem) = text.refuse_other_rows("DECONTAMINATE") {
        options.problems.push(problem);
        return Err(refused(&mut options));
    }
    let kind = text.expr.get_type(&schema)?;
    if !is_text(&kind) {
        let message = format!("DECONTAMINATE needs a text, this is {}", type_name(&kind));
        options.problems.push(text.place.error(Code::Type, message));
    }
    let settings = settings(&mut options);
    let is_column = matches!(text.expr, Expr::Column(_));
    if settings.mode == DecontaminateMode::Cut && !is_column {
        let problem = text.place.error(Code::Unsupported, "mode 'cut' rewrites its text, so it takes a column");
        options.problems.push(problem.help("SET or EXTEND with the expression first"));
    }
    check_columns(&mut options, &settings, asked.eval_rows.schema(), &asked.evals_place);
    if !options.problems.is_empty() {
        return Err(refused(&mut options));
    }
    let label = [
        format!("DECONTAMINATE ON {} AGAINST '{}'", label::written(&text.expr), asked.evals),
        label::with(&options.shown),
    ]
    .concat();
    let mut hidden = Hidden::over(&plan)?;
    let text = match text.expr {
        Expr::Column(column) => Part::There(column),
        computed => Part::Computed(computed),
    };
    let text = hidden.part("value", text);
    let evals = looked_for(asked.eval_rows, &settings)?;
    let request = DecontaminateRequest { label, text, evals: asked.evals, options: settings, hidden: hidden.columns() };
    let verb = Decontaminate { request: Arc::new(request), wants_dropped: false };
    verb_plan(verb, vec![hidden.project(plan)?, evals])
}

/// The evaluations as the node takes them: the texts, the answer if one is named, then the task or its file.
fn looked_for(evals: LogicalPlan, settings: &Settings) -> Result<LogicalPlan> {
    let schema = Arc::clone(evals.schema());
    let column = |name: &str| match schema.qualified_fields_with_unqualified_name(name).first() {
        Some((qualifier, field)) => Ok(Expr::Column(Column::new(qualifier.cloned(), field.name()))),
        None => Err(crate::bug!("the evaluations lost `{name}`")),
    };
    let texts: Vec<String> = match settings.text_columns.is_empty() {
        true => all_texts(&schema, settings).map(|field| field.name().clone()).collect(),
        false => settings.text_columns.clone(),
    };
    let texts = texts.iter().enumerate().map(|(at, name)| (column(name), format!("text_{at}")));
    let label = settings.label.iter().map(|name| (column(name), "label".to_string()));
    let task = settings.task.as_deref().unwrap_or(FILE_COLUMN);
    let mut exprs = Vec::new();
    for (column, name) in texts.chain(label).chain([(column(task), "task".to_string())]) {
        exprs.push(cast(column?, DataType::Utf8).alias(name));
    }
    LogicalPlanBuilder::from(evals).project(exprs)?.build()
}

/// The text columns of the files, without what is no text to look for.
fn all_texts<'a>(evals: &'a DFSchema, settings: &'a Settings) -> impl Iterator<Item = &'a Arc<Field>> {
    let named = [settings.label.as_deref(), settings.task.as_deref(), Some(FILE_COLUMN), Some(EXTRA_COLUMN)];
    evals.fields().iter().filter(move |field| is_text(field.data_type()) && !named.contains(&Some(field.name())))
}

/// The defaults of each mode are those of the tool that it follows.
fn settings(options: &mut Options) -> Settings {
    let n_problems = options.problems.len();
    let mode = options.setting("mode", DecontaminateMode::Drop, mode);
    let is_known = options.problems.len() == n_problems;
    let (ngram, normalize) = match mode {
        DecontaminateMode::Drop => (12, Normalize::Datatrove),
        DecontaminateMode::Cut => (13, Normalize::Words),
    };
    let ngram = options.setting("ngram", ngram, whole(1));
    let label = options.value("label", name);
    let settings = Settings {
        mode,
        ngram,
        min_ngram: options.setting("min_ngram", ngram.min(8), whole(1)),
        normalize: options.setting("normalize", normalize, str::parse),
        max_matches: options.setting("max_matches", 10, whole(1)),
        remove_chars: options.setting("remove_chars", 200, whole(0)),
        min_document_chars: options.setting("min_document_chars", 200, whole(0)),
        max_splits: options.setting("max_splits", 10, whole(1)),
        text_columns: options.setting("text_columns", vec![], names),
        queries: options.setting("queries", label.is_none(), boolean),
        overlap: options.setting("overlap", true, boolean),
        task: options.value("task", name),
        label,
    };
    if settings.min_ngram > ngram {
        options.refuse("min_ngram", format!("it is at most `ngram`, which is {ngram}"));
    }
    if settings.label.is_none() {
        for option in ["queries", "overlap"] {
            options.refuse(option, "it says what counts beside the answers: give their column as `label`");
        }
    }
    if mode == DecontaminateMode::Drop && is_known {
        for option in ["min_ngram", "max_matches", "remove_chars", "min_document_chars", "max_splits"] {
            options.refuse(option, "it belongs to mode 'cut'");
        }
    }
    if mode == DecontaminateMode::Cut {
        for option in ["normalize", "label"] {
            options.refuse(option, "it belongs to mode 'drop'");
        }
    }
    for (option, value) in [("label", &settings.label), ("task", &settings.task)] {
        if let Some(value) = value {
            options.show(option, value, &String::new());
        }
    }
    settings
}

/// The columns named in the options are in the evaluation files, and are texts.
fn check_columns(options: &mut Options, settings: &Settings, evals: &DFSchema, place: &Place) {
    let texts = settings.text_columns.iter().map(|column| ("text_columns", column, true));
    let others = [("label", &settings.label, true), ("task", &settings.task, false)];
    let others = others.into_iter().filter_map(|(option, column, text)| Some((option, column.as_ref()?, text)));
    for (option, column, must_be_text) in texts.chain(others) {
        let place = options.value_place(option).unwrap_or(place).clone();
        let message = |field: &Field| format!("`{column}` of the evaluation files is {}", type_name(field.data_type()));
        match evals.fields_with_unqualified_name(column).first() {
            None => options.problems.push(unknown_eval_column(&place, column, evals)),
            Some(field) if must_be_text && !is_text(field.data_type()) => {
                options.problems.push(place.error(Code::Type, message(field)).at("a text is needed"));
            }
            Some(field) if !can_cast_types(field.data_type(), &DataType::Utf8) => {
                options.problems.push(place.error(Code::Type, message(field)).at("a name is needed"));
            }
            Some(_) => {}
        }
    }
    if settings.text_columns.is_empty() && all_texts(evals, settings).next().is_none() {
        options.problems.push(place.error(Code::Type, "the evaluation files have no text column"));
    }
}

/// The files' own columns are what a user can have meant.
fn unknown_eval_column(place: &Place, wanted: &str, evals: &DFSchema) -> Diagnostic {
    let own = evals.iter().filter(|(_, field)| ![FILE_COLUMN, ROW_COLUMN].contains(&field.name().as_str()));
    let own: Vec<_> = own.map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field))).collect();
    let own = DFSchema::new_with_metadata(own, Default::default());
    unknown_column(place, wanted, own.as_ref().unwrap_or(evals))
}
