//! Carries the backslash commands out.

use super::commands::{self, Command};
use super::names::schema_of;
use super::{Next, Prompt};
use crate::cli::output::Format;
use crate::cli::run::explain_text;
use crate::cli::{ops, settings, terminal};
use crate::diag::SourceText;
use crate::session::Compiled;
use crate::{Error, Language, Result};
use arrow::datatypes::Schema;

impl Prompt {
    /// Understands and carries out a line that starts with a backslash.
    pub(super) fn command(&mut self, line: &str) -> Result<Next> {
        match commands::parse(line).map_err(Error::Data)? {
            Command::Quit => return Ok(Next::Quit),
            Command::Help => terminal::print(&commands::help())?,
            Command::Describe(None) => terminal::show(&self.list_tables())?,
            Command::Describe(Some(name)) => self.describe(&name)?,
            Command::Ops(None) => terminal::print(&ops::list(self.session().operators()))?,
            Command::Ops(Some(name)) => terminal::print(&ops::describe(self.session().operators(), &name)?)?,
            Command::Explain(query) => self.explain(&query)?,
            Command::Timing => {
                self.timing = !self.timing;
                terminal::say(if self.timing { "timing is on" } else { "timing is off" });
            }
            Command::Expand => {
                let is_table = self.display.format == Format::Table;
                self.display.format = if is_table { Format::Vertical } else { Format::Table };
                terminal::say(if is_table {
                    "one value a line; \\x for tables"
                } else {
                    "tables; \\x for whole values"
                });
            }
            Command::Format(Some(format)) => self.display.format = format,
            Command::Format(None) => {
                let format = format!("{:?}", self.display.format).to_lowercase();
                terminal::say(&format!(
                    "rows are printed as {format}; \\format takes table, vertical, json, csv, markdown, raw"
                ));
            }
            Command::Include(file) => self.include(&file)?,
            Command::ShowSettings => terminal::print(&settings::list(self.session().config()))?,
            Command::Set { name, value } => {
                let statement = format!("SET {name} = '{}';", value.replace('\'', "''"));
                self.execute(&SourceText::new("<prompt>", statement), Language::Cql)?;
            }
        }
        Ok(Next::Read)
    }

    fn list_tables(&self) -> String {
        let tables = self.session().tables();
        if tables.is_empty() {
            return "no tables yet: name one with LET name = FROM 'file' |> …; or query files directly\n".into();
        }
        let width = tables.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let line = |name: &str, schema: &Schema| {
            let columns: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            format!("{name:width$}  {}\n", columns.join(", "))
        };
        tables.iter().map(|(name, schema)| line(name, schema)).collect()
    }

    /// The columns of a table by its name, of a file with or without quotes, or of a query.
    fn describe(&self, name: &str) -> Result<()> {
        let table = self.session().tables().into_iter().find(|(table, _)| table == name);
        let schema = match table {
            Some((_, schema)) => schema,
            None => {
                let is_query = name.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("from "));
                let query = match name {
                    _ if is_query => name.to_string(),
                    file if !file.starts_with('\'') && std::path::Path::new(file).exists() => {
                        format!("FROM '{}'", file.replace('\'', "''"))
                    }
                    other => format!("FROM {other}"),
                };
                let mut session = self.session();
                self.enter(schema_of(&mut session, &query))?
            }
        };
        let width = schema.fields().iter().map(|field| field.name().chars().count()).max().unwrap_or(0);
        let lines = schema.fields().iter().map(|field| format!("{:width$}  {}\n", field.name(), field.data_type()));
        terminal::show(&lines.collect::<String>())
    }

    fn explain(&self, query: &str) -> Result<()> {
        let source = SourceText::new("<prompt>", query);
        let mut session = self.session();
        let session = &mut *session;
        let text = self.enter(async {
            let script = session.parse(&source, Language::Cql)?;
            match session.compile(&script, 0).await? {
                Compiled::Done => Ok("nothing to plan: it took effect\n".to_string()),
                Compiled::Query(plan) => explain_text(session, &plan, false, false).await,
                Compiled::Explain { plan, analyze, verbose } => explain_text(session, &plan, analyze, verbose).await,
            }
        })?;
        terminal::show(&text)
    }
}
