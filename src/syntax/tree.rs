//! The tree of a text as indented lines, for `explain --stage ast` and golden files.
//!
//! Slices appear as written, on one line. Places are left out: they change with every edit above.

use super::ast::*;
use super::lex::{TokenKind, tokens};
use crate::diag::{SourceText, Span};
use std::fmt::Write as _;

/// The tree, one part a line.
pub fn tree(script: &Script) -> String {
    let mut printer = Printer { source: &script.source, out: String::new(), depth: 0 };
    for statement in &script.statements {
        printer.statement(statement);
    }
    printer.out
}

struct Printer<'a> {
    source: &'a SourceText,
    out: String,
    depth: usize,
}

impl Printer<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.out, "{:indent$}{}", "", text.as_ref(), indent = self.depth * 2);
    }

    fn below(&mut self, title: impl AsRef<str>, inner: impl FnOnce(&mut Self)) {
        self.line(title);
        self.depth += 1;
        inner(self);
        self.depth -= 1;
    }

    fn text(&self, span: Span) -> String {
        one_line(self.source, span)
    }

    fn slices(&self, slices: &[Slice]) -> Vec<String> {
        slices.iter().map(|slice| self.text(slice.span)).collect()
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Set { name, value, .. } => self.line(format!("Set {} = {}", name.text, shown(value))),
            StatementKind::Let { name, pipeline } => self.below(format!("Let {}", name.text), |p| p.pipeline(pipeline)),
            StatementKind::Define { name, params, body } => {
                self.below(format!("Define {}", name.text), |p| {
                    for param in params {
                        let default = param.default.map(|default| format!(" => {}", p.text(default.span)));
                        p.line(format!("Parameter {}{}", param.name.text, default.unwrap_or_default()));
                    }
                    p.line(format!("Body {}", p.text(body.span)));
                });
            }
            StatementKind::Explain { analyze, verbose, statement } => {
                let analyze = if *analyze { " analyze" } else { "" };
                let verbose = if *verbose { " verbose" } else { "" };
                self.below(format!("Explain{analyze}{verbose}"), |p| p.statement(statement));
            }
            StatementKind::Describe(pipeline) => self.below("Describe", |p| p.pipeline(pipeline)),
            StatementKind::Query(pipeline) => self.below("Query", |p| p.pipeline(pipeline)),
            StatementKind::Sql(slice) => self.line(format!("Sql {}", self.text(slice.span))),
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        self.source("From", &pipeline.from);
        for verb in &pipeline.verbs {
            self.verb(verb);
            if let Some(hint) = &verb.hint {
                let device = hint.device.map_or(String::new(), |device| format!(" on {device:?}").to_lowercase());
                self.below(format!("Hint{device}"), |p| p.options(&hint.options));
            }
        }
    }

    fn source(&mut self, title: &str, source: &Source) {
        let alias = source.alias.as_ref().map(|alias| format!(" as {}", alias.text)).unwrap_or_default();
        match &source.kind {
            SourceKind::File { path, options } => {
                self.below(format!("{title} file '{}'{alias}", path.text), |p| p.options(options));
            }
            SourceKind::Pipeline(inner) => self.below(format!("{title} pipeline{alias}"), |p| p.pipeline(inner)),
            SourceKind::Relation(slice) => self.line(format!("{title} relation {}", self.text(slice.span))),
        }
    }

    fn options(&mut self, options: &[OptionItem]) {
        for option in options {
            self.line(format!("Option {} = {}", option.name.text, shown(&option.value)));
        }
    }

    fn list(&mut self, title: &str, lines: Vec<String>) {
        self.below(title, |p| lines.iter().for_each(|line| p.line(line)));
    }

    fn verb(&mut self, verb: &Verb) {
        match &verb.kind {
            VerbKind::Where(condition) => self.line(format!("Where {}", self.text(condition.span))),
            VerbKind::Select { distinct, items } => {
                self.list(if *distinct { "Select distinct" } else { "Select" }, self.slices(items));
            }
            VerbKind::Extend(items) => self.list("Extend", self.slices(items)),
            VerbKind::Set(assignments) => {
                let lines = assignments.iter().map(|a| format!("{} = {}", a.column.text, self.text(a.value.span)));
                self.list("Set", lines.collect());
            }
            VerbKind::Drop(columns) => self.list("Drop", columns.iter().map(|column| column.text.clone()).collect()),
            VerbKind::Rename(renamings) => {
                let lines = renamings.iter().map(|r| format!("{} as {}", r.from.text, r.to.text));
                self.list("Rename", lines.collect());
            }
            VerbKind::Aggregate { items, group_by } => self.below("Aggregate", |p| {
                p.slices(items).iter().for_each(|item| p.line(item));
                if !group_by.is_empty() {
                    p.list("Group by", p.slices(group_by));
                }
            }),
            VerbKind::Join { kind, source, condition } => self.below(format!("Join {kind:?}"), |p| {
                p.source("With", source);
                match condition {
                    JoinCondition::On(condition) => p.line(format!("On {}", p.text(condition.span))),
                    JoinCondition::Using(columns) => {
                        p.list("Using", columns.iter().map(|column| column.text.clone()).collect());
                    }
                    JoinCondition::None => {}
                }
            }),
            VerbKind::SetOperation { kind, all, by_name, sources } => {
                let by_name = if *by_name { " by name" } else { "" };
                self.below(format!("{kind:?}{}{by_name}", if *all { " all" } else { "" }), |p| {
                    sources.iter().for_each(|source| p.source("With", source));
                });
            }
            VerbKind::Summarize => self.line("Summarize"),
            VerbKind::OrderBy(items) => self.list("Order by", self.slices(items)),
            VerbKind::Limit { count, offset } => {
                let count = count.map(|count| format!(" {}", self.text(count.span))).unwrap_or_default();
                let offset = offset.map(|offset| format!(" offset {}", self.text(offset.span))).unwrap_or_default();
                self.line(format!("Limit{count}{offset}"));
            }
            VerbKind::Distinct { on } => self.list("Distinct", self.slices(on)),
            VerbKind::Sweep { sweeps, bytes_of } => self.below("Sweep", |p| {
                for sweep in sweeps {
                    let [value, low, high, step] =
                        [sweep.value, sweep.low, sweep.high, sweep.step].map(|s| p.text(s.span));
                    p.line(format!("{value} {} {low} to {high} step {step}", p.text(sweep.comparison.span)));
                }
                if let Some(bytes_of) = bytes_of {
                    p.line(format!("Bytes of {}", p.text(bytes_of.span)));
                }
            }),
            VerbKind::As(name) => self.line(format!("As {}", name.text)),
            VerbKind::Room(call) => self.below(self.clauses(call), |p| p.options(&call.options)),
        }
    }

    /// A verb with its clauses on one line, without the options of `WITH`.
    fn clauses(&self, call: &VerbCall) -> String {
        let mut line = capitalized(&call.keyword);
        let mut before = "";
        for part in call.parts.iter().skip(1).filter(|part| !["with_options", "EOI"].contains(&part.rule.as_str())) {
            // Equal parts one after the other are a list.
            line.push_str(if part.rule == before { ", " } else { " " });
            line.push_str(&self.text(part.span));
            before = &part.rule;
        }
        line
    }
}

/// The text of a span with comments gone and white space made single blanks.
pub fn one_line(source: &SourceText, span: Span) -> String {
    let written = source.slice(span);
    let mut out = String::new();
    let mut end = 0;
    for token in tokens(written).iter().filter(|token| token.kind != TokenKind::Comment) {
        if end > 0 && token.span.start > end {
            out.push(' ');
        }
        out.push_str(token.text(written));
        end = token.span.end;
    }
    out
}

/// `DEDUP` as `Dedup`.
fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters.map(|letter| letter.to_ascii_lowercase())).collect()
}

fn shown(value: &OptionValue) -> String {
    match value {
        OptionValue::Text(text) => format!("'{text}'"),
        OptionValue::List(items) => format!("({})", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        other => other.as_text(),
    }
}
