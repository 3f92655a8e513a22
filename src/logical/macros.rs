//! `DEFINE name(params) AS expression`: macros over syntax trees.
//!
//! A macro sees its parameters and nothing else: its body may name no column, so that it means the same
//! wherever it is used, and an argument is put in as a tree, so that no operator around it can tear it apart.
//! Parameters are replaced all at once: an argument that happens to contain another parameter's name stays
//! what it was.
//!
//! Not here: finding the calls (`rewrite.rs`).

use super::positions::Positions;
use super::sqltext::SqlReader;
use crate::diag::{Code, Diagnostic, SourceText, Span, did_you_mean};
use crate::syntax::ast::{MacroParam, Name};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, LambdaFunction, OneOrManyWithParens, Query, Subscript, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::tokenizer::Span as SqlSpan;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

/// A macro as defined.
#[derive(Debug, Clone)]
pub struct Macro {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<MacroParam>,
    /// The text it was defined in.
    pub source: SourceText,
    /// Its name's place.
    pub name_span: Span,
    /// Its body's place.
    pub body: Span,
}

/// All macros of a session, by name in lower case: function names do not mind their case.
pub type Macros = BTreeMap<String, Macro>;

/// Defines a macro, after a look at its body: it must parse and name nothing but its parameters.
pub fn define(source: &SourceText, name: &Name, params: &[MacroParam], body: Span) -> Result<Macro, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    for (at, param) in params.iter().enumerate() {
        if let Some(first) = params[..at].iter().find(|other| other.name.text == param.name.text) {
            problems.push(
                Diagnostic::error(
                    Code::Duplicate,
                    format!("two parameters `{}`", param.name.text),
                    source,
                    param.name.span,
                )
                .and_at(source, first.name.span, "the first is here"),
            );
        }
        if let (Some(last), None) = (params[..at].iter().rev().find(|other| other.default.is_some()), &param.default) {
            problems.push(
                Diagnostic::error(
                    Code::Arguments,
                    format!("parameter `{}` has no default but follows one that has", param.name.text),
                    source,
                    param.name.span,
                )
                .and_at(source, last.name.span, "has a default"),
            );
        }
    }
    let made =
        Macro { name: name.text.clone(), params: params.to_vec(), source: source.clone(), name_span: name.span, body };
    let positions = Positions::default();
    let origin = positions.add_text(source);
    match SqlReader::new(&positions, origin, source).expr(body) {
        Err(problem) => problems.push(problem),
        Ok(mut tree) => {
            let mut strangers =
                Strangers { made: &made, positions: &positions, queries: 0, lambdas: vec![], found: vec![] };
            let _ = tree.visit(&mut strangers);
            problems.extend(strangers.found);
        }
    }
    if problems.is_empty() { Ok(made) } else { Err(problems) }
}

impl Macro {
    /// The body with each parameter replaced by its argument. `call` is the place of the call.
    pub fn expand(
        &self,
        positions: &Positions,
        call: SqlSpan,
        arguments: &HashMap<String, Expr>,
    ) -> Result<Expr, Diagnostic> {
        let origin = positions.add_macro_use(&self.source, &self.name, call);
        let reader = SqlReader::new(positions, origin, &self.source);
        let mut body = reader.expr(self.body)?;
        let mut arguments = arguments.clone();
        for param in &self.params {
            if let (Some(default), false) = (param.default, arguments.contains_key(&param.name.text)) {
                arguments.insert(param.name.text.clone(), reader.expr(default.span)?);
            }
        }
        let _ = body.visit(&mut Substitute { arguments, lambdas: vec![] });
        Ok(Expr::Nested(Box::new(body)))
    }

    /// A call with what has no default: `name(a)`.
    pub fn short_call(&self) -> String {
        let needed = self.params.iter().filter(|param| param.default.is_none()).map(|param| param.name.text.as_str());
        // Presets call the document `t`; users call it `text`.
        let needed: Vec<&str> = needed.map(|name| if name == "t" { "text" } else { name }).collect();
        format!("{}({})", self.name, needed.join(", "))
    }

    /// `name(a, b => 3)`, for messages.
    pub fn signature(&self) -> String {
        let param = |param: &MacroParam| match param.default {
            Some(default) => format!("{} => {}", param.name.text, self.source.slice(default.span)),
            None => param.name.text.clone(),
        };
        format!("{}({})", self.name, self.params.iter().map(param).collect::<Vec<_>>().join(", "))
    }
}

/// Finds names in a body that are neither parameters nor bound inside it.
struct Strangers<'a> {
    made: &'a Macro,
    positions: &'a Positions,
    queries: usize,
    lambdas: Vec<Vec<String>>,
    found: Vec<Diagnostic>,
}

impl Strangers<'_> {
    fn look_at(&mut self, ident: &Ident) {
        let known = self.made.params.iter().any(|param| param.name.text == ident.value)
            || self.lambdas.iter().flatten().any(|name| *name == ident.value);
        // A subquery has columns of its own; what it names is checked when it is planned.
        if known || self.queries > 0 {
            return;
        }
        let Some(place) = self.positions.find(ident.span) else { return };
        let names = self.made.params.iter().map(|param| &param.name.text);
        self.found.push(
            Diagnostic::error(
                Code::UnknownColumn,
                format!("`{}` is not a parameter of macro `{}`", ident.value, self.made.name),
                &place.source,
                place.span,
            )
            .at("a macro sees only its parameters")
            .maybe_help(did_you_mean(&ident.value, names))
            .maybe_help(Some(format!("add it: DEFINE {}(…, {}) AS …", self.made.name, ident.value))),
        );
    }
}

impl VisitorMut for Strangers<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(ident) => self.look_at(ident),
            Expr::CompoundIdentifier(parts) => {
                if let Some(first) = parts.first() {
                    self.look_at(first);
                }
            }
            // `.field` is not a name of its own: it is seen with what it belongs to.
            Expr::CompoundFieldAccess { root, access_chain } => plain_access(root, access_chain),
            Expr::Lambda(lambda) => self.lambdas.push(lambda_names(lambda)),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Lambda(_)) {
            self.lambdas.pop();
        }
        ControlFlow::Continue(())
    }
}

/// Puts arguments in the place of parameters. A body's own lambda parameters get names that no argument
/// can contain, so that `x -> x > limit` does not capture a column called `x` given as `limit`.
struct Substitute {
    arguments: HashMap<String, Expr>,
    lambdas: Vec<Vec<String>>,
}

impl Substitute {
    fn replacement(&self, ident: &Ident) -> Option<Expr> {
        if self.lambdas.iter().flatten().any(|name| *name == ident.value) {
            return Some(Expr::Identifier(fresh(ident)));
        }
        self.arguments.get(&ident.value).map(|argument| Expr::Nested(Box::new(argument.clone())))
    }
}

impl VisitorMut for Substitute {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::CompoundFieldAccess { root, access_chain } => plain_access(root, access_chain),
            Expr::Lambda(lambda) => {
                self.lambdas.push(lambda_names(lambda));
                match &mut lambda.params {
                    OneOrManyWithParens::One(param) => param.name = fresh(&param.name),
                    OneOrManyWithParens::Many(params) => {
                        params.iter_mut().for_each(|param| param.name = fresh(&param.name));
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    // Replacing on the way up means that an argument, once put in, is never visited itself.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Lambda(_) => {
                self.lambdas.pop();
            }
            Expr::Identifier(ident) => {
                if let Some(replacement) = self.replacement(ident) {
                    *expr = replacement;
                }
            }
            Expr::CompoundIdentifier(parts) => {
                if let Some((first, fields)) = parts.split_first()
                    && let Some(replacement) = self.replacement(first)
                {
                    let access_chain = fields.iter().map(subscript).collect();
                    *expr = Expr::CompoundFieldAccess { root: Box::new(replacement), access_chain };
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn fresh(ident: &Ident) -> Ident {
    Ident { value: format!("{} of macro", ident.value), quote_style: Some('"'), span: ident.span }
}

/// `f(x).a` to `f(x)['a']`, the form the planner knows for anything but a column; `t.c[1]` keeps `t.c` together,
/// since `t` may be a table.
pub fn plain_access(root: &mut Expr, chain: &mut Vec<AccessExpr>) {
    if let Expr::Identifier(first) = root {
        let is_name = |access: &AccessExpr| matches!(access, AccessExpr::Dot(Expr::Identifier(_)));
        let n_names = chain.iter().take_while(|access| is_name(access)).count();
        let rest = chain.drain(..n_names).filter_map(|access| match access {
            AccessExpr::Dot(Expr::Identifier(name)) => Some(name),
            _ => None,
        });
        let parts: Vec<Ident> = std::iter::once(first.clone()).chain(rest).collect();
        if parts.len() > 1 {
            *root = Expr::CompoundIdentifier(parts);
        }
    }
    for access in chain {
        if let AccessExpr::Dot(Expr::Identifier(field)) = access {
            *access = subscript(field);
        }
    }
}

fn subscript(field: &Ident) -> AccessExpr {
    let name = Value::SingleQuotedString(field.value.clone()).with_span(field.span);
    AccessExpr::Subscript(Subscript::Index { index: Expr::Value(name) })
}

fn lambda_names(lambda: &LambdaFunction) -> Vec<String> {
    match &lambda.params {
        OneOrManyWithParens::One(param) => vec![param.name.value.clone()],
        OneOrManyWithParens::Many(params) => params.iter().map(|param| param.name.value.clone()).collect(),
    }
}
