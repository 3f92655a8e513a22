//! Runs query files as a user would through the library, and prints what came of each statement.

use arrow::array::RecordBatch;
use curator::Report;
use curator::diag::SourceText;
use curator::internals::OutputFile;
use curator::{Compiled, ExplainFormat, Language, Session, Stage};
use curator::{Config, Error};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What one statement gave.
pub struct Outcome {
    pub optimized: String,
    pub logical: String,
    pub batches: Vec<RecordBatch>,
    pub report: Report,
    /// The files written, read while no other test can write them again.
    pub written: BTreeMap<PathBuf, Vec<u8>>,
}

impl Outcome {
    /// The rows as JSON Lines, in their order.
    pub fn rows(&self) -> String {
        let mut bytes = Vec::new();
        let mut writer = arrow::json::WriterBuilder::new()
            .with_explicit_nulls(true)
            .build::<_, arrow::json::writer::LineDelimited>(&mut bytes);
        self.batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder below the repository that end so, sorted, as paths relative to it.
pub fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.sort();
    assert!(!paths.is_empty(), "no {ending} in {folder}");
    paths.into_iter().map(|path| path.strip_prefix(root()).unwrap().to_path_buf()).collect()
}

pub fn name_of(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

pub fn read(path: &Path) -> SourceText {
    let text = std::fs::read_to_string(root().join(path)).unwrap();
    SourceText::new(path.to_string_lossy().replace('\\', "/"), text)
}

/// A session with the parameters that a file's `-- param: name=value` lines give.
pub fn session_for(source: &SourceText, config: Config) -> Session {
    let mut session = Session::new(config).unwrap();
    for line in source.text().lines() {
        if let Some((name, value)) = line.strip_prefix("-- param: ").and_then(|param| param.split_once('=')) {
            session.set_parameter(name.trim(), value.trim());
        }
    }
    session
}

pub fn language_of(path: &Path) -> Language {
    if path.extension().is_some_and(|ending| ending == "sql") { Language::Sql } else { Language::Cql }
}

/// Runs every statement of a text.
pub async fn run(session: &mut Session, source: &SourceText, language: Language) -> Result<Vec<Outcome>, Error> {
    let script = session.parse(source, language)?;
    let mut outcomes = Vec::new();
    for index in 0..script.statements.len() {
        let plan = match session.compile(&script, index).await? {
            Compiled::Done => continue,
            Compiled::Query(plan) | Compiled::Explain { plan, .. } => plan,
        };
        let logical = session.explain(&plan, Stage::Logical, ExplainFormat::Tree).await?;
        let optimized = session.explain(&plan, Stage::Optimized, ExplainFormat::Tree).await?;
        let mut run = session.execute(&plan).await?;
        let mut batches = Vec::new();
        while let Some(batch) = run.next().await {
            batches.push(batch?);
        }
        let report = run.report();
        let contents = |file: &OutputFile| (file.path.clone(), std::fs::read(&file.path).unwrap());
        let written = report.files.iter().filter(|file| file.path != Path::new("-")).map(contents).collect();
        outcomes.push(Outcome { optimized, logical, batches, report, written });
    }
    Ok(outcomes)
}

/// Held while a query writes below `out/`: several tests run the same files.
static WRITING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Holds off the tests that write below `out/`, for one whose commands are processes of their own.
pub fn writing_alone() -> tokio::sync::MutexGuard<'static, ()> {
    WRITING.blocking_lock()
}

pub async fn run_file(path: &Path, config: Config) -> Result<Vec<Outcome>, Error> {
    let source = read(path);
    let _alone = if source.text().contains("out/") { Some(WRITING.lock().await) } else { None };
    let mut session = session_for(&source, config);
    run(&mut session, &source, language_of(path)).await
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    // Queries are planned recursively, so the workers get the stack that the command line gives them.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_stack_size(16 << 20).enable_all().build();
    runtime.unwrap().block_on(future)
}
