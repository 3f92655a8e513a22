//! What Tab offers: keywords, functions, tables, columns, files inside quotes, commands.
//!
//! Columns are those at the cursor: the pipeline up to the last `|>` is planned (not run) to learn them.

use super::Prompt;
use super::commands::COMMANDS;
use super::names::{SharedNames, column_names, schema_of};
use super::words::{is_keyword, keywords};
use crate::cli::process;
use crate::syntax::{Token, TokenKind, tokens};
use reedline::{Completer, Span, Suggestion};
use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

/// Planning may have to look into files; a key press must not wait longer than this.
const LOOKUP: Duration = Duration::from_millis(700);

/// More than anybody reads.
const MAX_OFFERS: usize = 200;

type ColumnsOf = Box<dyn FnMut(&str) -> Vec<String> + Send>;

/// Offers what fits at the cursor.
pub struct Completion {
    names: SharedNames,
    columns_of: ColumnsOf,
    known_columns: HashMap<String, Vec<String>>,
    known_version: usize,
}

impl Completion {
    /// Completion that asks the prompt's session.
    pub fn of_session(prompt: &Prompt) -> Self {
        let (session, runtime) = (prompt.session.clone(), prompt.runtime.clone());
        let columns_of = move |query: &str| {
            let Ok(mut session) = session.try_lock() else { return vec![] };
            let schema = process::catch(schema_of(&mut session, query));
            match runtime.block_on(async { tokio::time::timeout(LOOKUP, schema).await }) {
                Ok(Ok(schema)) => column_names(&schema),
                _ => vec![],
            }
        };
        Self::new(prompt.names.clone(), Box::new(columns_of))
    }

    fn new(names: SharedNames, columns_of: ColumnsOf) -> Self {
        Self { names, columns_of, known_columns: HashMap::new(), known_version: 0 }
    }

    /// The columns a query gives; asked once per state of the session.
    fn columns(&mut self, query: &str) -> Vec<String> {
        let version = self.names.read().version;
        if version != self.known_version || self.known_columns.len() > MAX_OFFERS {
            self.known_columns.clear();
            self.known_version = version;
        }
        if let Some(columns) = self.known_columns.get(query) {
            return columns.clone();
        }
        let columns = (self.columns_of)(query);
        self.known_columns.insert(query.to_string(), columns.clone());
        columns
    }

    /// The columns that a name at the cursor may mean.
    fn columns_here(&mut self, statement: &Statement) -> Vec<String> {
        if let Some(pipeline) = statement.pipeline_before_cursor() {
            let columns = self.columns(pipeline);
            if !columns.is_empty() {
                return columns;
            }
        }
        let mut columns = vec![];
        for source in statement.sources() {
            columns.extend(self.columns_of_source(source));
        }
        columns
    }

    fn columns_of_source(&mut self, source: &str) -> Vec<String> {
        let table =
            self.names.read().tables.iter().find(|(name, _)| name == source).map(|(_, columns)| columns.clone());
        match table {
            Some(columns) => columns,
            None => self.columns(&format!("FROM {source}")),
        }
    }

    fn names_for(&mut self, statement: &Statement, word: &str) -> Vec<String> {
        if let Some(qualifier) = statement.qualifier() {
            let source = statement.source_named(qualifier).unwrap_or(qualifier).to_string();
            return matching_names(self.columns_of_source(&source), word);
        }
        let previous = statement.previous_word().to_ascii_uppercase();
        let is_typed = !word.is_empty();
        let wants_table = matches!(previous.as_str(), "FROM" | "JOIN" | "DESCRIBE");
        let mut offers = vec![];
        if !wants_table && previous != "|>" {
            offers.extend(matching_names(self.columns_here(statement), word));
        }
        let names = self.names.read();
        offers.extend(matching_names(names.table_names(), word));
        if (is_typed || previous == "|>") && !wants_table {
            let lower = word.starts_with(|c: char| c.is_lowercase());
            let words = keywords().iter().map(|word| if lower { word.to_lowercase() } else { word.to_string() });
            offers.extend(matching(words, word));
        }
        if is_typed {
            offers.extend(matching(names.functions.iter().map(|name| format!("{name}(")), word));
        }
        offers
    }
}

impl Completer for Completion {
    fn complete(&mut self, line: &str, pos: usize) -> Vec<Suggestion> {
        let Some(before) = line.get(..pos) else { return vec![] };
        if before.trim_start().starts_with('\\') {
            return self.complete_command(before);
        }
        let typed = tokens(before);
        let last = typed.last().filter(|token| token.span.end == pos);
        let start = match last {
            Some(token) if !token.closed && token.kind == TokenKind::Text => {
                let is_closed = line[pos..].starts_with('\'');
                return complete_path(before, token.span.start + 1, !is_closed);
            }
            Some(token) if token.kind == TokenKind::Word => token.span.start,
            Some(token) if is_sign(token) => pos,
            Some(_) => return vec![],
            None => pos,
        };
        let statement = Statement::at(line, start);
        let offers = self.names_for(&statement, &before[start..]);
        suggestions(offers, start, pos)
    }
}

impl Completion {
    fn complete_command(&mut self, before: &str) -> Vec<Suggestion> {
        let pos = before.len();
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = &before[start..];
        let line = before.trim_start();
        let offers = match line.split_once(char::is_whitespace) {
            None => matching(COMMANDS.iter().map(|command| command.name.to_string()), word),
            Some(("\\i", _)) => return complete_path(before, start, false),
            Some(("\\d", _)) => matching_names(self.names.read().table_names(), word),
            Some(("\\ops", _)) => matching(self.names.read().functions.iter().cloned(), word),
            Some(("\\format", _)) => matching(["table", "json", "csv", "markdown"].map(String::from).into_iter(), word),
            Some(("\\set", _)) => {
                matching(crate::config::SETTINGS.iter().map(|setting| setting.name.to_string()), word)
            }
            Some(("\\explain", query)) => {
                let offset = pos - query.len();
                let mut inner = self.complete(query, query.len());
                for suggestion in &mut inner {
                    suggestion.span = Span::new(suggestion.span.start + offset, suggestion.span.end + offset);
                }
                return inner;
            }
            Some(_) => vec![],
        };
        suggestions(offers, start, pos)
    }
}

/// The statement around the cursor, as tokens.
struct Statement<'a> {
    line: &'a str,
    tokens: Vec<Token>,
    /// How many tokens stand before the word being typed.
    n_before: usize,
}

impl<'a> Statement<'a> {
    fn at(line: &'a str, cursor: usize) -> Self {
        let all: Vec<Token> = tokens(line).into_iter().filter(|token| token.kind != TokenKind::Comment).collect();
        let is_end = |token: &&Token| token.kind == TokenKind::Semicolon;
        let start = all.iter().filter(is_end).map(|token| token.span.end).rfind(|end| *end <= cursor).unwrap_or(0);
        let end =
            all.iter().filter(is_end).map(|token| token.span.start).find(|at| *at >= cursor).unwrap_or(line.len());
        let tokens: Vec<Token> =
            all.into_iter().filter(|token| token.span.start >= start && token.span.end <= end).collect();
        let n_before = tokens.iter().take_while(|token| token.span.end <= cursor).count();
        Self { line, tokens, n_before }
    }

    fn text(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |token| token.text(self.line))
    }

    fn is(&self, index: usize, word: &str) -> bool {
        self.text(index).eq_ignore_ascii_case(word)
    }

    fn previous_word(&self) -> &'a str {
        self.n_before.checked_sub(1).map_or("", |index| self.text(index))
    }

    /// `t` where the cursor is after `t.`
    fn qualifier(&self) -> Option<&'a str> {
        let name = self.n_before.checked_sub(2)?;
        (self.previous_word() == "." && !is_sign(&self.tokens[name])).then(|| self.text(name))
    }

    /// `FROM … |> …` up to the last `|>` before the cursor.
    fn pipeline_before_cursor(&self) -> Option<&'a str> {
        let last_pipe = (0..self.n_before).rfind(|index| self.text(*index) == "|>")?;
        let from = (0..last_pipe).find(|index| self.is(*index, "FROM"))?;
        let is_let = self.is(0, "LET") && self.text(from - 1) == "=";
        if from > 0 && !is_let {
            return None;
        }
        Some(self.line[self.tokens[from].span.start..self.tokens[last_pipe].span.start].trim_end())
    }

    /// What follows each FROM and JOIN, wherever the cursor is.
    fn sources(&self) -> Vec<&'a str> {
        let follows = |index: &usize| self.is(*index, "FROM") || self.is(*index, "JOIN");
        let next = (0..self.tokens.len()).filter(follows).map(|index| index + 1);
        next.filter(|index| self.is_source(*index)).map(|index| self.text(index)).collect()
    }

    fn is_source(&self, index: usize) -> bool {
        self.tokens.get(index).is_some_and(|token| match token.kind {
            TokenKind::Text | TokenKind::QuotedName => token.closed,
            TokenKind::Word => !is_keyword(token.text(self.line)),
            _ => false,
        })
    }

    /// What `alias` stands for: `FROM 'x' AS alias`, `FROM x alias`.
    fn source_named(&self, alias: &str) -> Option<&'a str> {
        let named = (0..self.tokens.len()).filter(|index| self.text(*index) == alias);
        named
            .map(
                |index| {
                    if self.is(index.wrapping_sub(1), "AS") { index.wrapping_sub(2) } else { index.wrapping_sub(1) }
                },
            )
            .find(|index| self.is_source(*index))
            .map(|index| self.text(index))
    }
}

/// Neither a word nor a value: a name may follow at once.
fn is_sign(token: &Token) -> bool {
    use TokenKind::{Close, Comma, Open, Operator, Pipe, Semicolon};
    matches!(token.kind, Close | Comma | Open | Operator | Pipe | Semicolon)
}

fn matching(names: impl Iterator<Item = String>, word: &str) -> Vec<String> {
    let word = word.to_lowercase();
    names.filter(|name| name.to_lowercase().starts_with(&word)).collect()
}

/// The names that begin with `word`, as a query needs them.
fn matching_names(names: Vec<String>, word: &str) -> Vec<String> {
    matching(names.into_iter(), word).iter().map(|name| quoted(name)).collect()
}

/// A name as a query needs it: in quotes if it is not a plain word.
fn quoted(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !is_keyword(name);
    if is_plain { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn suggestions(offers: Vec<String>, start: usize, end: usize) -> Vec<Suggestion> {
    let mut seen = std::collections::HashSet::new();
    let fresh = offers.into_iter().filter(|offer| seen.insert(offer.clone())).take(MAX_OFFERS);
    fresh.map(|value| Suggestion { value, span: Span::new(start, end), ..Suggestion::default() }).collect()
}

/// Files and folders for the path that begins at `start`; a file ends the quote if there is one to end.
fn complete_path(before: &str, start: usize, ends_quote: bool) -> Vec<Suggestion> {
    let typed = &before[start..];
    let (folder, prefix) = typed.rfind('/').map_or(("", typed), |at| typed.split_at(at + 1));
    let entries = std::fs::read_dir(if folder.is_empty() { Path::new(".") } else { Path::new(folder) });
    let mut offers: Vec<String> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_wanted = name.starts_with(prefix) && (prefix.starts_with('.') || !name.starts_with('.'));
            let end = match entry.path().is_dir() {
                true => "/",
                false if ends_quote => "'",
                false => "",
            };
            is_wanted.then(|| format!("{folder}{name}{end}"))
        })
        .collect();
    offers.sort_unstable();
    suggestions(offers, start, before.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::names::Names;
    use super::*;

    fn offers(line: &str) -> Vec<String> {
        let names = SharedNames::default();
        names.set(Names {
            functions: vec!["word_length".into(), "words".into()],
            tables: vec![("docs".into(), vec!["text".into(), "my url".into()])],
            ..Names::default()
        });
        let columns_of = |query: &str| match query {
            "FROM 'x' |> EXTEND 1 AS tall" => vec!["tag".to_string(), "tall".to_string()],
            "FROM 'x'" => vec!["tag".to_string()],
            _ => vec![],
        };
        // `^` is the cursor.
        let pos = line.find('^').unwrap();
        let found = Completion::new(names, Box::new(columns_of)).complete(&line.replace('^', ""), pos);
        found.into_iter().map(|suggestion| suggestion.value).collect()
    }

    #[test]
    fn offers_what_fits_at_the_cursor() {
        let cases: &[(&str, &[&str])] = &[
            ("FROM docs |> WHERE wor^", &["word_length(", "words("]),
            ("FROM docs |> sel^", &["select"]),
            ("FROM docs |> SEL^", &["SELECT"]),
            ("FROM d^", &["docs"]),
            ("FROM ^", &["docs"]),
            ("FROM 'x' |> EXTEND 1 AS tall |> WHERE ta^", &["tag", "tall", "table"]),
            ("LET y = FROM 'x' |> EXTEND 1 AS tall |> WHERE ta^;", &["tag", "tall", "table"]),
            ("SELECT ta^ FROM 'x'", &["tag", "table"]),
            ("SELECT te^ FROM docs", &["text"]),
            ("SELECT my^ FROM docs", &["\"my url\""]),
            ("SELECT docs.^ FROM docs", &["text", "\"my url\""]),
            ("SELECT d.te^ FROM docs AS d", &["text"]),
            ("SET a = 1; FROM 'x' |> WHERE tag^", &["tag"]),
            ("FROM docs -- wor^", &[]),
            ("SELECT 12^", &[]),
            ("\\ti^", &["\\timing"]),
            ("\\d do^", &["docs"]),
            ("\\format m^", &["markdown"]),
            ("\\ops wo^", &["word_length", "words"]),
            ("\\set mem^", &["memory_limit"]),
            ("\\explain FROM do^", &["docs"]),
        ];
        for (line, expected) in cases {
            assert_eq!(offers(line), *expected, "{line}");
        }
    }

    #[test]
    fn paths_inside_quotes_complete_from_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("docs.jsonl"), "").unwrap();
        std::fs::write(folder.path().join(".hidden"), "").unwrap();
        std::fs::create_dir(folder.path().join("deep")).unwrap();
        let path = folder.path().display();
        assert_eq!(offers(&format!("FROM '{path}/d^")), [format!("{path}/deep/"), format!("{path}/docs.jsonl'")]);
        assert_eq!(offers(&format!("FROM '{path}/do^' |> LIMIT 1")), [format!("{path}/docs.jsonl")]);
        assert_eq!(offers(&format!("\\i {path}/do^")), [format!("{path}/docs.jsonl")]);
        assert_eq!(offers(&format!("FROM '{path}/^")).len(), 2);
    }
}
