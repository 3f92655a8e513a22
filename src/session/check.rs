//! Every error of a text before anything of it runs.
//!
//! A script is bound in a trial session, as a run would bind it, with `SET`, `LET` and `DEFINE` in force. What comes out
//! is kept: a statement is bound again for its run only where an earlier one may have changed what it reads.
//!
//! Invariant: checking changes neither files nor the session.

use super::{Compiled, Language, Plan, Session};
use crate::diag::{Diagnostic, SourceText};
use crate::logical::UsedPreset;
use crate::syntax::ast::{Script, Statement, StatementKind};
use crate::syntax::{Partly, Token, TokenKind};
use crate::{Result, physical, syntax};
use datafusion::datasource::empty::EmptyTable;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{CreateMemoryTable, DdlStatement, LogicalPlan};
use std::sync::Arc;

/// Scripts that were checked, to run one after the other.
#[derive(Debug, Default)]
pub struct Checked {
    /// What is wrong with them.
    pub problems: Vec<Diagnostic>,
    /// For each script and each of its statements, what it was bound to, if that holds when its turn comes.
    bound: Vec<Vec<Option<Outcome>>>,
}

/// What binding a statement gave.
#[derive(Debug, Clone)]
enum Outcome {
    /// A `LET`, its plan and the presets in it.
    Let(String, LogicalPlan, Vec<UsedPreset>),
    /// A query or an EXPLAIN.
    Query(Compiled),
}

impl Session {
    /// Every error of a text, without running anything.
    pub async fn check(&mut self, source: &SourceText, language: Language) -> Vec<Diagnostic> {
        self.check_partly(&[syntax::parse_partly(source, language == Language::Sql)]).await.problems
    }

    /// The statements of texts that are to run one after the other, and every error of all of them: one that does not
    /// parse does not hide what is wrong with the others.
    pub async fn check_texts(&self, texts: &[(SourceText, Language)]) -> (Vec<Script>, Checked) {
        self.opened.forget();
        let read: Vec<Partly> =
            texts.iter().map(|(source, language)| syntax::parse_partly(source, *language == Language::Sql)).collect();
        let checked = self.check_partly(&read).await;
        (read.into_iter().map(|read| read.script).collect(), checked)
    }

    /// Every error of a parsed script, without running anything and without changing this session.
    pub async fn check_script(&self, script: &Script) -> Vec<Diagnostic> {
        self.check_scripts(std::slice::from_ref(script)).await.problems
    }

    /// The same for scripts that are to run one after the other: each sees what those before it define.
    /// [`Session::compile_checked`] goes on with what was found.
    pub async fn check_scripts(&self, scripts: &[Script]) -> Checked {
        let whole = |script: &Script| Partly { script: script.clone(), broken: vec![], problems: vec![] };
        self.check_partly(&scripts.iter().map(whole).collect::<Vec<_>>()).await
    }

    async fn check_partly(&self, texts: &[Partly]) -> Checked {
        let mut checked = Checked::default();
        let Ok(state) = physical::separate(&self.state).await else { return checked };
        let mut trial = Session {
            config: self.config.clone(),
            operators: self.operators.clone(),
            scope: self.scope.clone(),
            state,
            opened: self.opened.clone(),
        };
        let mut unknown = Unknown::default();
        for Partly { script, broken, problems } in texts {
            checked.problems.extend(problems.iter().cloned());
            let mut broken = broken.iter().peekable();
            let mut outcomes = vec![];
            for statement in &script.statements {
                while let Some(span) = broken.next_if(|span| span.start < statement.span.start) {
                    unknown.pass_over(script.source.slice(*span));
                }
                let may_read_else = unknown.has_changes;
                let outcome = trial.try_statement(script, statement, &mut unknown, &mut checked.problems).await;
                outcomes.push(outcome.filter(|_| !may_read_else));
            }
            broken.for_each(|span| unknown.pass_over(script.source.slice(*span)));
            checked.bound.push(outcomes);
        }
        checked
    }

    async fn try_statement(
        &mut self,
        script: &Script,
        statement: &Statement,
        unknown: &mut Unknown,
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Outcome> {
        let text = script.source.slice(statement.span);
        if unknown.names.iter().any(|name| syntax::mentions(text, name)) {
            return None;
        }
        let is_unclear = unknown.is_read_in(text);
        self.state.mark_start_execution();
        let result = self.statement_on_files(&script.source, statement).await;
        if is_unclear || result.is_err() {
            unknown.names.extend(defined_name(statement));
        }
        unknown.written.extend(written_path(&script.source, statement));
        let compiled = match result {
            Ok(compiled) => compiled,
            Err(found) => {
                if !is_unclear {
                    problems.extend(found);
                }
                return None;
            }
        };
        if let Compiled::Query(plan) = &compiled {
            self.define(plan).await;
        }
        if let Compiled::Query(plan) | Compiled::Explain { plan, .. } = &compiled {
            unknown.has_changes |= changes_anything(&plan.logical);
        }
        match (&statement.kind, compiled) {
            (StatementKind::Let { name, .. }, _) => {
                let plan = self.scope.lets.get(&name.text)?.clone();
                Some(Outcome::Let(name.text.clone(), plan, self.scope.presets.get(&name.text)?.clone()))
            }
            (_, Compiled::Done) => None,
            (_, compiled) => Some(Outcome::Query(compiled)),
        }
    }

    /// [`Session::compile`] for a statement of a script that was checked: it is not bound again, unless an earlier
    /// statement changed files or tables. `script_index` is the script's place among those that were checked.
    pub async fn compile_checked(
        &mut self,
        checked: &Checked,
        (script, script_index): (&Script, usize),
        index: usize,
    ) -> Result<Compiled> {
        let known = checked.bound.get(script_index).and_then(|outcomes| outcomes.get(index)?.clone());
        match known {
            Some(Outcome::Let(name, plan, presets)) => {
                self.scope.presets.insert(name.clone(), presets);
                self.scope.lets.insert(name, plan);
                Ok(Compiled::Done)
            }
            Some(Outcome::Query(compiled)) => {
                // What `now()` says, everywhere in the statement.
                self.state.mark_start_execution();
                Ok(compiled)
            }
            None => self.compile(script, index).await,
        }
    }

    /// Applies what a statement would leave behind, so that later statements can be checked: a view, or a table
    /// without its rows.
    pub async fn define(&mut self, plan: &Plan) {
        let context = SessionContext::new_with_state(self.state.clone());
        let ddl = match &plan.logical {
            LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(CreateMemoryTable { name, input, .. })) => {
                let table = EmptyTable::new(Arc::new(input.schema().as_arrow().clone()));
                // A table that is there already was reported when the statement was bound, or will be when it runs.
                let _ = context.register_table(name.clone(), Arc::new(table));
                return;
            }
            LogicalPlan::Ddl(ddl) => LogicalPlan::Ddl(ddl.clone()),
            _ => return,
        };
        let _ = context.execute_logical_plan(ddl).await;
    }
}

/// Whether later statements may read something else once this one has run.
fn changes_anything(plan: &LogicalPlan) -> bool {
    let is_statement =
        matches!(plan, LogicalPlan::Ddl(_) | LogicalPlan::Dml(_) | LogicalPlan::Statement(_) | LogicalPlan::Copy(_));
    is_statement || physical::write_of(plan).is_some()
}

/// What a script's earlier statements leave unclear when it is only checked.
#[derive(Default)]
struct Unknown {
    /// `LET`s and `DEFINE`s that are wrong themselves, or read what is not written yet: statements that use them
    /// are passed over.
    names: Vec<String>,
    /// What earlier statements would have written.
    written: Vec<String>,
    /// Whether any of them changes files or tables.
    has_changes: bool,
}

impl Unknown {
    /// A statement that does not parse: what it would have defined or written is not known.
    fn pass_over(&mut self, statement: &str) {
        let tokens = syntax::tokens(statement);
        let words: Vec<&Token> = tokens.iter().filter(|token| token.kind != TokenKind::Comment).collect();
        for pair in words.windows(2) {
            let (word, next) = (pair[0].text(statement).to_ascii_uppercase(), pair[1].text(statement));
            match word.as_str() {
                "LET" | "DEFINE" | "TABLE" | "VIEW" | "EXISTS" => {
                    self.names.push(next.trim_matches(['"', '`']).to_string())
                }
                "INTO" | "TO" if pair[1].kind == TokenKind::Text => {
                    self.written.push(next.trim_matches('\'').to_string());
                }
                _ => {}
            }
        }
    }

    /// Whether a statement reads what an earlier one writes: a file that is not there yet, or there with the
    /// columns of an earlier run.
    fn is_read_in(&self, statement: &str) -> bool {
        let tokens = syntax::tokens(statement);
        let is_path = |kind: TokenKind| matches!(kind, TokenKind::Text | TokenKind::Parameter);
        let texts = tokens.iter().filter(|token| is_path(token.kind)).map(|token| token.text(statement));
        let mut texts = texts.map(|text| text.trim_matches('\''));
        texts.any(|text| self.written.iter().any(|path| may_read(text, path)))
    }
}

/// Whether `text`, if it is a source, may be what is written at `path`: in it, a folder around it, or a pattern there.
fn may_read(text: &str, path: &str) -> bool {
    let folder = match text.find(['*', '?', '[', '{']) {
        // No folder, and no expression of another kind, such as a regular one.
        Some(0) => return !path.contains('/'),
        Some(at) => text[..at].rfind('/').map_or("", |slash| &text[..slash]),
        None => text.trim_end_matches('/'),
    };
    let is_around = !folder.is_empty() && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    is_around || text.starts_with(path.trim_end_matches('/'))
}

fn defined_name(statement: &Statement) -> Option<String> {
    match &statement.kind {
        StatementKind::Let { name, .. } | StatementKind::Define { name, .. } => Some(name.text.clone()),
        _ => None,
    }
}

/// What stands after the `INTO` of a pipeline, or the last `TO` of a `COPY`.
fn written_path(source: &SourceText, statement: &Statement) -> Option<String> {
    let text = match &statement.kind {
        StatementKind::Query(pipeline) => pipeline.verbs.iter().find_map(|verb| match &verb.kind {
            syntax::ast::VerbKind::Room(call) if call.keyword == "INTO" => Some(call.name("path")?.text),
            _ => None,
        })?,
        StatementKind::Sql(_) => copied_to(source.slice(statement.span))?,
        _ => return None,
    };
    Some(text)
}

fn copied_to(statement: &str) -> Option<String> {
    let tokens = syntax::tokens(statement);
    let mut tokens = tokens.iter().filter(|token| token.kind != TokenKind::Comment);
    let is_word = |token: &Token, word: &str| token.text(statement).eq_ignore_ascii_case(word);
    tokens.next().filter(|token| is_word(token, "COPY"))?;
    let pairs = tokens.clone().zip(tokens.skip(1));
    let last = pairs.filter(|(to, path)| is_word(to, "TO") && path.kind == TokenKind::Text).last();
    let path = last?.1;
    Some(path.text(statement).trim_matches('\'').to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Config;
    use datafusion::config::ConfigOptions;
    use datafusion::execution::SessionStateBuilder;
    use datafusion::optimizer::AnalyzerRule;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const DOCS: &str = "tests/corpus/data/docs.jsonl";

    /// Counts how often a plan is analyzed, which binding does once.
    #[derive(Debug, Default)]
    struct Counter(AtomicUsize);

    impl AnalyzerRule for Counter {
        fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> datafusion::error::Result<LogicalPlan> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(plan)
        }

        fn name(&self) -> &str {
            "Counter"
        }
    }

    /// Checks and runs a script as the command line does. Gives the rows of each query, and how often plans were analyzed.
    async fn run(text: &str) -> (Vec<usize>, usize) {
        let mut session = Session::new(Config::default()).unwrap();
        let counter = Arc::new(Counter::default());
        session.state = SessionStateBuilder::new_from_existing(session.state.clone())
            .with_analyzer_rule(Arc::<Counter>::clone(&counter))
            .build();
        let script = session.parse(&SourceText::new("script", text), Language::Cql).unwrap();
        let checked = session.check_scripts(std::slice::from_ref(&script)).await;
        assert!(checked.problems.is_empty(), "{:?}", checked.problems);
        let mut n_rows = vec![];
        for index in 0..script.statements.len() {
            let compiled = session.compile_checked(&checked, (&script, 0), index).await.unwrap();
            let Compiled::Query(plan) = compiled else { continue };
            let mut run = session.execute(&plan).await.unwrap();
            let mut n = 0;
            while let Some(batch) = run.next().await {
                n += batch.unwrap().num_rows();
            }
            n_rows.push(n);
        }
        (n_rows, counter.0.load(Ordering::Relaxed))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_query_is_bound_and_analyzed_once() {
        assert_eq!(run(&format!("FROM '{DOCS}' |> LIMIT 3;")).await, (vec![3], 1));
        let text = format!(
            "DEFINE short(t) AS words(t) < 9; LET docs = FROM '{DOCS}' |> WHERE short(text); FROM docs |> LIMIT 2; \
             SELECT id FROM docs LIMIT 1"
        );
        assert_eq!(run(&text).await, (vec![2, 1], 3));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_query_is_bound_again_where_it_may_read_what_an_earlier_statement_changed() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().display();
        std::fs::write(format!("{folder}/a.jsonl"), "{\"id\": 1}\n").unwrap();
        let text = format!(
            "FROM '{DOCS}' |> SELECT id |> LIMIT 4 |> INTO '{folder}/b.jsonl'; FROM '{folder}/*.jsonl'; FROM '{DOCS}' |> LIMIT 1"
        );
        assert_eq!(run(&text).await, (vec![0, 5, 1], 1 + 2 + 2));
        // `CREATE TABLE … AS` is optimized by DataFusion, twice.
        let (n_rows, _) = run(&format!("CREATE TABLE t AS SELECT id FROM '{DOCS}' LIMIT 3; SELECT * FROM t")).await;
        assert_eq!(n_rows, [0, 3]);
    }
    #[tokio::test(flavor = "multi_thread")]
    async fn what_an_earlier_statement_writes_need_not_be_there() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let (a, b) = (at("a.csv"), at("deep/b.jsonl"));
        let text = format!(
            "COPY (SELECT id FROM '{DOCS}' LIMIT 4) TO '{a}' OPTIONS (compression 'none');
             FROM '{a}' |> LIMIT 3 |> INTO '{b}';
             SELECT * FROM '{}'; FROM '{}' |> LIMIT 1; FROM '{b}' |> LIMIT 2",
            at("deep/*.jsonl"),
            at("deep"),
        );
        assert_eq!(run(&text).await.0, [0, 0, 3, 1, 2]);
        let mut session = Session::new(Config::default()).unwrap();
        let text = format!(
            "COPY (SELECT id FROM '{DOCS}' WHERE title ~ '[a-z]') TO '{}'; SELECT * FROM '{}'",
            at("c.csv"),
            at("d.csv")
        );
        assert_eq!(session.check(&SourceText::new("script", text.as_str()), Language::Sql).await.len(), 1);
    }
}
