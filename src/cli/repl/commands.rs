//! The backslash commands: their list, and text to command.
//!
//! Not here: carrying them out (`meta.rs`).

use crate::cli::output::Format;
use clap::ValueEnum;
use std::path::PathBuf;

/// One command of the list.
pub struct CommandDoc {
    /// With its backslash.
    pub name: &'static str,
    /// What it takes.
    pub arguments: &'static str,
    /// What it does.
    pub doc: &'static str,
}

/// Every command, in the order of `\help`.
pub static COMMANDS: &[CommandDoc] = &[
    CommandDoc { name: "\\d", arguments: "[name]", doc: "list the tables, or the columns of a table, 'file' or query" },
    CommandDoc { name: "\\ops", arguments: "[name]", doc: "list the operators and presets, or describe one" },
    CommandDoc { name: "\\explain", arguments: "query", doc: "show the plan of a query without running it" },
    CommandDoc { name: "\\timing", arguments: "", doc: "show how long each statement takes, or stop to" },
    CommandDoc {
        name: "\\format",
        arguments: "[name]",
        doc: "print rows as table, vertical, json, csv, markdown or raw",
    },
    CommandDoc { name: "\\x", arguments: "", doc: "show whole documents, one value a line; again: tables" },
    CommandDoc { name: "\\i", arguments: "file", doc: "run a query file" },
    CommandDoc { name: "\\set", arguments: "[name value]", doc: "show the settings, or change one" },
    CommandDoc { name: "\\help", arguments: "", doc: "this list" },
    CommandDoc { name: "\\q", arguments: "", doc: "quit (also Ctrl-D)" },
];

/// A command, understood.
#[derive(Debug, PartialEq)]
pub enum Command {
    Describe(Option<String>),
    Ops(Option<String>),
    Explain(String),
    Timing,
    Expand,
    Format(Option<Format>),
    Include(PathBuf),
    ShowSettings,
    Set { name: String, value: String },
    Help,
    Quit,
}

/// Understands a line that starts with a backslash. The error says what to do.
pub fn parse(line: &str) -> Result<Command, String> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim().trim_end_matches(';').trim_end();
    let argument = (!rest.is_empty()).then(|| rest.to_string());
    let missing = |what: &str| format!("{name} needs {what}");
    match name.trim_end_matches(';') {
        "\\d" => Ok(Command::Describe(argument)),
        "\\ops" => Ok(Command::Ops(argument)),
        "\\explain" => argument.map(Command::Explain).ok_or_else(|| missing("a query")),
        "\\timing" => Ok(Command::Timing),
        "\\x" => Ok(Command::Expand),
        "\\format" => match argument {
            None => Ok(Command::Format(None)),
            Some(format) => Format::from_str(&format, true)
                .map(|format| Command::Format(Some(format)))
                .map_err(|_| format!("`{format}` is not a format; use table, json, csv or markdown")),
        },
        "\\i" => {
            let path = argument.ok_or_else(|| missing("a file"))?;
            let unquoted = path.strip_prefix('\'').and_then(|path| path.strip_suffix('\'')).unwrap_or(&path);
            Ok(Command::Include(PathBuf::from(unquoted)))
        }
        "\\set" => match argument {
            None => Ok(Command::ShowSettings),
            Some(text) => {
                let (name, value) = text
                    .split_once(|c: char| c.is_whitespace() || c == '=')
                    .ok_or("write \\set name value, for example \\set memory_limit 8GB")?;
                let value = value.trim_start_matches(|c: char| c.is_whitespace() || c == '=');
                let value = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
                Ok(Command::Set { name: name.to_string(), value: value.to_string() })
            }
        },
        "\\help" | "\\h" | "\\?" => Ok(Command::Help),
        "\\q" | "\\quit" => Ok(Command::Quit),
        other => {
            let help = crate::diag::did_you_mean(other, COMMANDS.iter().map(|command| command.name));
            Err(format!("no command `{other}`; {}", help.unwrap_or("\\help lists all".into())))
        }
    }
}

/// The text of `\help`.
pub fn help() -> String {
    let usages = COMMANDS.iter().map(|command| format!("{} {}", command.name, command.arguments));
    let usages: Vec<String> = usages.collect();
    let width = usages.iter().map(String::len).max().unwrap_or(0);
    let lines = usages.iter().zip(COMMANDS).map(|(usage, command)| format!("  {usage:width$}  {}\n", command.doc));
    format!(
        "{}\nStatements may span lines; `;` or an empty line ends them. Tab completes, Ctrl-R searches the history,\n\
         Ctrl-C cancels the query.\n",
        lines.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_take_their_arguments_with_or_without_a_semicolon() {
        assert_eq!(parse("\\d"), Ok(Command::Describe(None)));
        assert_eq!(parse("\\d docs;"), Ok(Command::Describe(Some("docs".into()))));
        assert_eq!(parse("\\q;"), Ok(Command::Quit));
        assert_eq!(parse("\\format JSON"), Ok(Command::Format(Some(Format::Json))));
        assert_eq!(parse("\\i 'a b.cql'"), Ok(Command::Include("a b.cql".into())));
        let set = Ok(Command::Set { name: "memory_limit".into(), value: "8 GB".into() });
        assert_eq!(parse("\\set memory_limit 8 GB"), set);
        assert_eq!(parse("\\set memory_limit = '8 GB';"), set);
    }

    #[test]
    fn wrong_commands_say_what_to_do() {
        assert_eq!(parse("\\explain"), Err("\\explain needs a query".into()));
        assert!(parse("\\format yaml").is_err_and(|message| message.contains("markdown")));
        assert!(parse("\\timin").is_err_and(|message| message.contains("did you mean `\\timing`?")));
        assert!(parse("\\set strict").is_err());
    }

    #[test]
    fn every_listed_command_is_understood() {
        for command in COMMANDS {
            let line = format!("{} table x", command.name);
            let unknown = parse(&line).is_err_and(|message| message.starts_with("no command"));
            assert!(!unknown, "{}", command.name);
            assert!(help().contains(command.doc));
        }
    }
}
