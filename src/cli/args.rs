//! The arguments that several subcommands share, and the list of subcommands.
//!
//! Not here: the arguments of one subcommand, which are in its file.

use super::{calibrate, check, explain, fmt, gpu, index, merge, models, ops, query, repl, settings, shell, verify};
use crate::config::{DeviceChoice, MaxRejects, parse_bytes, parse_memory};
use crate::diag::SourceText;
use crate::syntax::{SQL_STATEMENTS, STATEMENTS};
use crate::{Config, Error, Language, Result, Session};
use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A query engine for LLM training data.
///
/// Write what the clean corpus is, in CQL (pipes) or SQL. Without a subcommand, on a terminal: the prompt.
#[derive(Debug, clap::Parser)]
#[command(name = "curator", version, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Say what happens on stderr; twice for more. RUST_LOG chooses by module.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 the query, the data or the arguments are wrong; 2 curator failed; \
                          130 interrupted.";

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    Query(query::Args),
    Merge(merge::Args),
    Check(check::Args),
    Explain(explain::Args),
    Fmt(fmt::Args),
    Ops(ops::Args),
    Models(models::Args),
    Settings(settings::Args),
    Verify(verify::Args),
    Index(index::Args),
    Gpu(gpu::Args),
    Calibrate(calibrate::Args),
    Repl(repl::Args),
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

/// Which text to work on.
#[derive(Debug, clap::Args)]
pub struct InputArgs {
    /// The query file, or `-` for standard input. `.sql` files are SQL, all others CQL.
    #[arg(required_unless_present = "execute")]
    pub file: Option<PathBuf>,
    /// A query on the command line. May be repeated; runs after FILE, in the order given.
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true)]
    pub execute: Vec<String>,
    /// Read everything as SQL, whatever the file is called.
    #[arg(long)]
    pub sql: bool,
}

impl InputArgs {
    /// Every text with its language, in the order to run. Nothing runs before all could be read.
    pub fn read(&self) -> Result<Vec<(SourceText, Language)>> {
        let mut texts = vec![];
        if let Some(file) = &self.file {
            let language = if self.sql { Language::Sql } else { language_of(file) };
            texts.push((read_source(file)?, language));
        }
        let language = if self.sql { Language::Sql } else { Language::Cql };
        for (index, text) in self.execute.iter().enumerate() {
            let name = if index == 0 { "<argument>".to_string() } else { format!("<argument {}>", index + 1) };
            texts.push((SourceText::new(name, text.as_str()), language));
        }
        Ok(texts)
    }
}

/// SQL if the name ends in `.sql`.
pub fn language_of(file: &Path) -> Language {
    match file.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("sql") => Language::Sql,
        _ => Language::Cql,
    }
}

/// The text of a query file; `-` is standard input.
pub fn read_source(file: &Path) -> Result<SourceText> {
    let (name, bytes) = if file == Path::new("-") {
        let mut bytes = vec![];
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Error::io("<stdin>", error))?;
        ("<stdin>".to_string(), bytes)
    } else {
        let bytes = std::fs::read(file).map_err(|error| not_read(file, error))?;
        (file.display().to_string(), bytes)
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Error::Data(format!("{name}: the query is not UTF-8 text (byte {at})"))
    })?;
    Ok(SourceText::new(name, text.strip_prefix('\u{feff}').unwrap_or(&text)))
}

/// Why a query file cannot be read; a query in its place is known by its words.
fn not_read(file: &Path, error: std::io::Error) -> Error {
    let text = file.to_string_lossy();
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_query = text.split_whitespace().nth(1).is_some()
        && STATEMENTS.iter().chain(SQL_STATEMENTS).any(|word| word.eq_ignore_ascii_case(first));
    if is_query && error.kind() == std::io::ErrorKind::NotFound {
        let shown: String = text.chars().take(40).collect();
        let more = if shown.len() < text.len() { "…" } else { "" };
        return Error::Data(format!(
            "no file has the name of this query; a query on the command line comes after -e: curator query -e \"{shown}{more}\""
        ));
    }
    Error::io(file, error)
}

/// What a session may use, and the values of `$name`s.
#[derive(Debug, Default, clap::Args)]
pub struct SessionArgs {
    /// Give `$NAME` a value: a number, true, false, null, else text. May be repeated.
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = parse_definition)]
    pub define: Vec<(String, String)>,
    /// Memory the query's operators may hold together, as `8GB`; past it they spill to disk.
    #[arg(long, value_name = "SIZE", value_parser = parse_memory, visible_alias = "memory-limit", alias = "ram")]
    pub memory: Option<usize>,
    /// Worker threads [default: one per core].
    #[arg(long, value_name = "N", aliases = ["workers", "num-workers", "jobs", "tasks", "cpus", "processes"])]
    pub threads: Option<NonZeroUsize>,
    /// Stop at the first line that cannot be read, instead of setting it aside.
    #[arg(long)]
    pub strict: bool,
    /// Fail when more is set aside than this: a number, or a share of the documents such as `0.1%` [default: all may be].
    #[arg(long, value_name = "N|P%", value_parser = MaxRejects::parse)]
    pub max_rejects: Option<MaxRejects>,
    /// The folder for temporary files [default: the system's].
    #[arg(long, value_name = "FOLDER")]
    pub temp_dir: Option<PathBuf>,
    /// What temporary files may take together, as `500GB` [default: what the disk has].
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub temp_limit: Option<usize>,
    /// Where operators run [default: where they cost less].
    #[arg(long, value_enum, value_name = "DEVICE")]
    pub device: Option<DeviceArg>,
    /// Fail instead of running on the CPU what was to run on this device, or when there is none.
    #[arg(long, value_enum, value_name = "DEVICE")]
    pub require: Option<RequireArg>,
    /// The file of NVIDIA's run-time compiler (libnvrtc.so.12), if it is not found by name.
    #[arg(long, value_name = "PATH")]
    pub nvrtc: Option<PathBuf>,
}

/// Where operators may run.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum DeviceArg {
    /// Each where it is estimated to cost less.
    Auto,
    /// All on the CPU.
    Cpu,
    /// All that have a kernel on the GPU.
    Gpu,
}

/// What a run can insist on.
#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum RequireArg {
    /// A GPU, for all that was planned to run on it.
    Gpu,
}

impl SessionArgs {
    /// The settings these flags ask for.
    pub fn config(&self) -> Config {
        let mut config = Config::default();
        config.memory_limit_bytes = self.memory.or(config.memory_limit_bytes);
        config.threads = self.threads.unwrap_or(config.threads);
        config.strict |= self.strict;
        config.max_rejects = self.max_rejects.or(config.max_rejects);
        config.temp_folder = self.temp_dir.clone().or(config.temp_folder);
        config.temp_limit_bytes = self.temp_limit.or(config.temp_limit_bytes);
        config.device = match self.device {
            Some(DeviceArg::Cpu) => DeviceChoice::Cpu,
            Some(DeviceArg::Gpu) => DeviceChoice::Gpu,
            Some(DeviceArg::Auto) | None => config.device,
        };
        config.require_gpu |= self.require == Some(RequireArg::Gpu);
        config.nvrtc = self.nvrtc.clone().or(config.nvrtc);
        config
    }

    /// A session with these settings and parameters.
    pub fn session(&self) -> Result<Session> {
        self.session_for(None)
    }

    /// The same, planning for the hardware of a profile.
    pub fn session_for(&self, profile: Option<String>) -> Result<Session> {
        self.session_with(Config { profile, ..self.config() })
    }

    /// The same under other settings.
    pub fn session_with(&self, config: Config) -> Result<Session> {
        let mut session = Session::new(config)?;
        for (name, value) in &self.define {
            session.set_parameter(name, value);
        }
        Ok(session)
    }
}

/// `name=value`; the value may be empty and may contain `=`.
fn parse_definition(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, for example -D min_words=50")?;
    let name = name.strip_prefix('$').unwrap_or(name);
    let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    if !is_name {
        return Err(format!("`{name}` is not a name; use letters, digits and `_`, not a digit first"));
    }
    Ok((name.to_string(), value.to_string()))
}

/// How results are printed.
#[derive(Debug, Default, clap::Args)]
pub struct OutputArgs {
    /// How to print rows of queries without INTO.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub output_format: super::output::Format,
    /// The most rows in a table; the rest is counted, not shown. Other formats print all.
    #[arg(long, value_name = "N")]
    pub max_rows: Option<usize>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[test]
    fn definitions_split_at_the_first_equals_sign_and_need_a_name() {
        let pair = |name: &str, value: &str| Ok((name.to_string(), value.to_string()));
        assert_eq!(parse_definition("n=50"), pair("n", "50"));
        assert_eq!(parse_definition("$n=50"), pair("n", "50"));
        assert_eq!(parse_definition("path=a=b c"), pair("path", "a=b c"));
        assert_eq!(parse_definition("empty="), pair("empty", ""));
        for wrong in ["n", "=5", "1n=5", "a-b=5", "a b=5"] {
            assert!(parse_definition(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_query_needs_a_file_or_a_text() {
        assert!(Cli::try_parse_from(["curator", "query"]).is_err());
        assert!(Cli::try_parse_from(["curator", "query", "-e", "-- nothing"]).is_ok());
        assert!(Cli::try_parse_from(["curator", "query", "-", "--memory", "8GB", "--threads", "2"]).is_ok());
        assert!(Cli::try_parse_from(["curator", "query", "-", "--memory", "8 parsecs"]).is_err());
        assert!(Cli::try_parse_from(["curator", "query", "-", "--threads", "0"]).is_err());
    }

    #[test]
    fn the_ending_chooses_the_language_and_the_flag_overrides_it() {
        assert_eq!(language_of(Path::new("a.SQL")), Language::Sql);
        assert_eq!(language_of(Path::new("a.cql")), Language::Cql);
        assert_eq!(language_of(Path::new("-")), Language::Cql);
        let input = InputArgs { file: None, execute: vec!["a".into(), "b".into()], sql: true };
        let texts = input.read().unwrap();
        assert!(texts.iter().all(|(_, language)| *language == Language::Sql));
        assert_eq!(texts[1].0.name(), "<argument 2>");
    }
}
