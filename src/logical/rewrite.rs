//! Makes SQL trees ready for the planner: what our language has on top of SQL is gone afterwards.
//!
//! - calls of macros are replaced by their bodies (`macros.rs`)
//! - calls of operators get their arguments in order: names resolved, defaults filled in up to the last one given
//! - `$name` becomes the literal it stands for, typed, never text
//! - `f(x).field` becomes `f(x)['field']`
//! - `FROM t` without SELECT means `SELECT *`
//! - names of functions that do not exist are reported here, where their place is known
//!
//! Invariant: a tree that was rewritten once is not changed by rewriting it again.

use super::macros::{Macro, Macros, plain_access};
use super::positions::Positions;
use super::tree::drop_repeated_provenance;
use crate::diag::{Code, Diagnostic, SourceText, Span, did_you_mean, functions_for};
use crate::ops::{ArgSource, ArgumentAt, OpSpec, Registry, Value as OpValue};
use datafusion::execution::session_state::SessionState;
use datafusion::sql::sqlparser::ast::{
    Array, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, ObjectNamePart, Select, SelectFlavor, SelectItem, Spanned, Value, VisitMut, VisitorMut,
    WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

/// A query parameter's value, as `-D name=value` gives it.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    /// No value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as written.
    Number(String),
    /// Anything else.
    Text(String),
}

impl Parameter {
    /// Reads a value as a person means it on a command line: `3`, `true`, `null`, else text; `'3'` is text too.
    pub fn parse(text: &str) -> Self {
        let quoted = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        match text {
            _ if let Some(inner) = quoted => Parameter::Text(inner.replace("''", "'")),
            "true" => Parameter::Bool(true),
            "false" => Parameter::Bool(false),
            "null" | "NULL" => Parameter::Null,
            _ if is_number(text) => Parameter::Number(text.to_string()),
            _ => Parameter::Text(text.to_string()),
        }
    }

    /// The value as text, for options and paths.
    pub fn as_text(&self) -> String {
        match self {
            Parameter::Null => String::new(),
            Parameter::Bool(value) => value.to_string(),
            Parameter::Number(text) | Parameter::Text(text) => text.clone(),
        }
    }

    fn literal(&self) -> Value {
        match self {
            Parameter::Null => Value::Null,
            Parameter::Bool(value) => Value::Boolean(*value),
            Parameter::Number(text) => Value::Number(text.clone(), false),
            Parameter::Text(text) => Value::SingleQuotedString(text.clone()),
        }
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// All parameters of a session.
pub type Parameters = BTreeMap<String, Parameter>;

/// A `$name` that was given no value.
pub fn no_value_for(name: &str, parameters: &Parameters, source: &SourceText, span: Span) -> Diagnostic {
    let help = missing_help(name, parameters);
    Diagnostic::error(Code::UnknownParameter, missing_message(name), source, span).help(help)
}

fn missing_message(name: &str) -> String {
    format!("no value for parameter `${name}`")
}

fn missing_help(name: &str, parameters: &Parameters) -> String {
    did_you_mean(name, parameters.keys()).unwrap_or_else(|| format!("give it with -D {name}=value"))
}

/// What names may mean.
pub struct Names<'a> {
    /// Where locations point.
    pub positions: &'a Positions,
    /// The session's macros.
    pub macros: &'a Macros,
    /// The operators.
    pub operators: &'a Registry,
    /// The values of `$name`.
    pub parameters: &'a Parameters,
    /// DataFusion's functions.
    pub state: &'a SessionState,
}

/// A tree this large was not written by a person: macros that double at each step get there.
const MOST_MACRO_USES: usize = 10_000;
/// The same, in expressions: macros whose arguments double at each step need few uses.
const MOST_MACRO_EXPRESSIONS: usize = 100_000;
/// The deepest that a macro's body nests with its arguments in it.
const DEEPEST_EXPRESSION: usize = 1000;
/// Macros in macros: each one nests its body in the one before.
const DEEPEST_MACROS: usize = 64;

/// Rewrites a tree in place; all problems found are returned.
pub fn rewrite<T: VisitMut>(tree: &mut T, names: &Names<'_>) -> Vec<Diagnostic> {
    let mut rewriter = Rewriter {
        names,
        inside: vec![],
        n_macro_uses: 0,
        n_macro_expressions: 0,
        is_too_large: false,
        problems: vec![],
    };
    let _ = tree.visit(&mut rewriter);
    rewriter.problems
}

struct Rewriter<'a> {
    names: &'a Names<'a>,
    /// Macros whose bodies we are in, outermost first.
    inside: Vec<String>,
    n_macro_uses: usize,
    n_macro_expressions: usize,
    /// Macros grow without bound: nothing further is replaced.
    is_too_large: bool,
    problems: Vec<Diagnostic>,
}

impl VisitorMut for Rewriter<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if matches!(select.flavor, SelectFlavor::FromFirstNoSelect) {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
            select.flavor = SelectFlavor::Standard;
        }
        drop_repeated_provenance(&mut select.projection);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundFieldAccess { root, access_chain } = expr {
            plain_access(root, access_chain);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Value(value) => {
                if let Value::Placeholder(placeholder) = &value.value {
                    match self.parameter(placeholder, value.span) {
                        Ok(Some(literal)) => value.value = literal,
                        Ok(None) => {}
                        Err(problem) => self.problems.push(problem),
                    }
                }
            }
            Expr::Function(function) => {
                if let Some(replacement) = self.call(function) {
                    *expr = replacement;
                }
            }
            _ => {}
        }
        if self.is_too_large { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// How many expressions a tree has, and how deep they nest.
#[derive(Default)]
struct TreeSize {
    n_expressions: usize,
    depth: usize,
    deepest: usize,
}

impl VisitorMut for TreeSize {
    type Break = ();

    fn pre_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<()> {
        self.n_expressions += 1;
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &mut Expr) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

impl Rewriter<'_> {
    fn parameter(&self, placeholder: &str, span: SqlSpan) -> Result<Option<Value>, Diagnostic> {
        let name = placeholder.trim_start_matches('$');
        // `$1` belongs to SQL's PREPARE.
        if name.starts_with(|c: char| c.is_ascii_digit()) || placeholder == "?" {
            return Ok(None);
        }
        match self.names.parameters.get(name) {
            Some(value) => Ok(Some(value.literal())),
            None => {
                let help = missing_help(name, self.names.parameters);
                Err(self.error(Code::UnknownParameter, missing_message(name), span).help(help))
            }
        }
    }

    /// What a call becomes, if it changes as a whole. Operators' calls change in place.
    fn call(&mut self, function: &mut Function) -> Option<Expr> {
        let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
        let name = name.clone();
        let lower = name.value.to_lowercase();
        if let Some(found) = self.names.macros.get(&lower) {
            let found = found.clone();
            return match self.expand(&found, &name, function) {
                Ok(body) => Some(body),
                Err(problem) => {
                    self.problems.push(problem);
                    // Anything that plans, so that one mistake gives one message.
                    Some(Expr::Value(Value::Null.with_span(name.span)))
                }
            };
        }
        if let Some(operator) = self.names.operators.find(&lower) {
            if let Err(problem) = self.fill_arguments(operator, &name, function) {
                self.problems.push(problem);
                return Some(Expr::Value(Value::Null.with_span(name.span)));
            }
            return None;
        }
        if !self.is_known_function(&lower) {
            let synonym = functions_for(&lower).iter().find(|name| self.is_callable(name));
            let help = match synonym {
                Some(synonym) => Some(format!("write `{synonym}(…)`")),
                // Words of other tools are near to nothing here by accident only.
                None if !functions_for(&lower).is_empty() => None,
                None => did_you_mean(&name.value, self.function_names()),
            };
            let message = format!("no function `{}`", name.value);
            let problem = self.error(Code::UnknownFunction, message, name.span);
            let problem = if problem.labels.len() == 1 { problem.at("not found") } else { problem };
            self.problems.push(
                problem.maybe_help(help.map(|help| format!("{help}  (`curator ops` lists our operators)"))).maybe_help(
                    Some("`curator ops` lists our operators; every SQL function of DataFusion is there too".into()),
                ),
            );
            return Some(Expr::Value(Value::Null.with_span(name.span)));
        }
        None
    }

    fn expand(&mut self, found: &Macro, name: &Ident, function: &Function) -> Result<Expr, Diagnostic> {
        if self.inside.contains(&found.name) {
            return Err(self
                .error(Code::Recursion, format!("macro `{}` uses itself", found.name), name.span)
                .and_at(&found.source, found.name_span, "defined here")
                .help("macros are replaced by their bodies, so they cannot be recursive"));
        }
        self.n_macro_uses += 1;
        if self.n_macro_uses > MOST_MACRO_USES {
            return Err(self.too_large(name, format!("more than {MOST_MACRO_USES} macro uses in one statement")));
        }
        if self.inside.len() >= DEEPEST_MACROS {
            return Err(self.too_large(name, format!("macros use each other more than {DEEPEST_MACROS} deep")));
        }
        self.refuse_equals(arguments_of(function), found.params.iter().map(|param| param.name.text.as_str()))?;
        let mut arguments = HashMap::new();
        for (at, argument) in arguments_of(function).iter().enumerate() {
            let (param, value) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (found.params.get(at), value),
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
                    let param = found.params.iter().find(|param| param.name.text == name.value);
                    if param.is_none() {
                        let names = found.params.iter().map(|param| &param.name.text);
                        return Err(self
                            .error(
                                Code::Arguments,
                                format!("macro `{}` has no parameter `{}`", found.name, name.value),
                                name.span,
                            )
                            .maybe_help(did_you_mean(&name.value, names))
                            .maybe_help(Some(format!("it is {}", found.signature()))));
                    }
                    (param, value)
                }
                other => {
                    return Err(self.error(
                        Code::Arguments,
                        format!("`{other}` cannot be given to a macro"),
                        other.span(),
                    ));
                }
            };
            let Some(param) = param else {
                return Err(self.wrong_arguments(found, name, "too many arguments"));
            };
            if arguments.insert(param.name.text.clone(), value.clone()).is_some() {
                return Err(self.wrong_arguments(found, name, &format!("`{}` is given twice", param.name.text)));
            }
        }
        let missing =
            found.params.iter().find(|param| param.default.is_none() && !arguments.contains_key(&param.name.text));
        if let Some(param) = missing {
            return Err(self.wrong_arguments(found, name, &format!("`{}` is missing", param.name.text)));
        }
        let mut body = found.expand(self.names.positions, name.span, &arguments)?;
        let mut size = TreeSize::default();
        let _ = body.visit(&mut size);
        self.n_macro_expressions += size.n_expressions;
        if self.n_macro_expressions > MOST_MACRO_EXPRESSIONS || size.deepest > DEEPEST_EXPRESSION {
            return Err(self.too_large(name, "this macro becomes too large when its uses are replaced".to_string()));
        }
        self.inside.push(found.name.clone());
        let _ = body.visit(self);
        self.inside.pop();
        Ok(body)
    }

    fn too_large(&mut self, name: &Ident, message: String) -> Diagnostic {
        self.is_too_large = true;
        self.error(Code::Recursion, message, name.span)
    }

    fn wrong_arguments(&self, found: &Macro, name: &Ident, what: &str) -> Diagnostic {
        self.error(Code::Arguments, format!("macro `{}`: {what}", found.name), name.span)
            .and_at(&found.source, found.name_span, "defined here")
            .help(format!("it is {}", found.signature()))
    }

    fn fill_arguments(&self, operator: &OpSpec, name: &Ident, function: &mut Function) -> Result<(), Diagnostic> {
        let given = arguments_of(function);
        self.refuse_equals(given, operator.params.iter().map(|param| param.name))?;
        let mut positional = Vec::new();
        let mut named = Vec::new();
        for argument in given {
            match argument {
                FunctionArg::Unnamed(value) => positional.push(value.clone()),
                FunctionArg::Named { name, arg, .. } => named.push((name.clone(), arg.clone())),
                FunctionArg::ExprNamed { .. } => {
                    return Err(self.error(
                        Code::Arguments,
                        "an argument's name must be a plain word",
                        argument.span(),
                    ));
                }
            }
        }
        let labels: Vec<&str> = named.iter().map(|(name, _)| name.value.as_str()).collect();
        let mut sources = operator.bind_arguments(positional.len(), &labels).map_err(|problem| {
            let place = match problem.at {
                ArgumentAt::Call => name.span,
                ArgumentAt::Positional(at) => positional.get(at).map_or(name.span, Spanned::span),
                ArgumentAt::Named(at) => named.get(at).map_or(name.span, |(name, _)| name.span),
            };
            self.error(Code::Arguments, problem.message, place).help(problem.help)
        })?;
        // Defaults at the end stay away: a plan then shows the call as it was written.
        while sources.pop_if(|source| matches!(source, ArgSource::Default(_))).is_some() {}
        let argument = |source: ArgSource| match source {
            ArgSource::Positional(at) => positional.get(at).cloned(),
            ArgSource::Named(at) => named.get(at).map(|(_, value)| value.clone()),
            ArgSource::Default(value) => Some(FunctionArgExpr::Expr(literal(&value, name.span))),
        };
        let args = sources.into_iter().filter_map(argument).map(FunctionArg::Unnamed).collect();
        function.args =
            FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: vec![] });
        Ok(())
    }

    /// Refuses `gopher_quality(text, min_doc_words = 30)`, which would be a comparison with a column of that name.
    fn refuse_equals<'n>(
        &self,
        arguments: &[FunctionArg],
        params: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<(), Diagnostic> {
        // What comes first is the document, or a condition on it.
        for argument in arguments.iter().skip(1) {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Eq, right })) =
                argument
            else {
                continue;
            };
            let Expr::Identifier(name) = left.as_ref() else { continue };
            if params.clone().any(|param| param == name.value) {
                let message = format!("an argument is named with `=>`, not with `=`: `{}`", name.value);
                let help = format!("write `{} => {right}`", name.value);
                return Err(self.error(Code::Arguments, message, name.span).help(help));
            }
        }
        Ok(())
    }

    /// Whether a function, operator or macro has this name.
    fn is_callable(&self, name: &str) -> bool {
        self.names.macros.contains_key(name)
            || self.names.operators.find(name).is_some()
            || self.is_known_function(name)
    }

    fn is_known_function(&self, lower: &str) -> bool {
        // The planner turns these into nodes of their own; they are in no list of functions.
        const PLANNED: [&str; 6] = ["unnest", "struct", "grouping", "cube", "rollup", "grouping_sets"];
        let state = self.names.state;
        PLANNED.contains(&lower)
            || state.scalar_functions().contains_key(lower)
            || state.aggregate_functions().contains_key(lower)
            || state.window_functions().contains_key(lower)
            || state.higher_order_functions().contains_key(lower)
    }

    fn function_names(&self) -> Vec<String> {
        let state = self.names.state;
        let ours = self
            .names
            .macros
            .keys()
            .cloned()
            .chain(self.names.operators.iter().map(|operator| operator.name.to_string()));
        ours.chain(state.scalar_functions().keys().cloned())
            .chain(state.aggregate_functions().keys().cloned())
            .chain(state.window_functions().keys().cloned())
            .collect()
    }

    fn error(&self, code: Code, message: impl Into<String>, span: SqlSpan) -> Diagnostic {
        match self.names.positions.find(span) {
            Some(place) => place.error(code, message),
            None => Diagnostic {
                severity: crate::diag::Severity::Error,
                code,
                message: message.into(),
                labels: vec![],
                help: None,
            },
        }
    }
}

fn arguments_of(function: &Function) -> &[FunctionArg] {
    match &function.args {
        FunctionArguments::List(list) => &list.args,
        FunctionArguments::None | FunctionArguments::Subquery(_) => &[],
    }
}

fn literal(value: &OpValue, place: SqlSpan) -> Expr {
    let literal = match value {
        OpValue::Int(number) => Value::Number(number.to_string(), false),
        OpValue::Float(number) => Value::Number(format!("{number:?}"), false),
        OpValue::Bool(value) => Value::Boolean(*value),
        OpValue::Text(text) => Value::SingleQuotedString(text.clone()),
        OpValue::TextList(texts) => {
            let elem = texts.iter().map(|text| literal(&OpValue::Text(text.clone()), place)).collect();
            return Expr::Array(Array { elem, named: true });
        }
    };
    Expr::Value(literal.with_span(place))
}
