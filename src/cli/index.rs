//! `curator index`: what an index holds, whether it is sound, and keeping it small.

use super::funnel::plural;
use super::terminal;
use crate::config::format_bytes;
use crate::dedup::index::{self, IndexInfo, Verification};
use crate::{Result, bug};
use std::path::PathBuf;
use std::process::ExitCode;

/// So many parts make lookups slower and hold many files open.
const MANY_SEGMENTS: usize = 16;

/// Look after the indexes of DEDUP … AGAINST INDEX.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say what an index holds and how its keys were made.
    Info {
        /// The folder of the index.
        folder: PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Add the documents of other indexes to one, as if they had been appended.
    Merge {
        /// The folder of the index that grows; it is made if there is none.
        target: PathBuf,
        /// The folders of the indexes to add, with the same parameters. They stay as they are.
        #[arg(required = true)]
        sources: Vec<PathBuf>,
    },
    /// Make the parts of an index one: smaller, and faster to search.
    Compact {
        /// The folder of the index.
        folder: PathBuf,
    },
    /// Undo the last append to an index, or the last merge: it is as it was before.
    Rollback {
        /// The folder of the index.
        folder: PathBuf,
    },
    /// Read every byte of an index and check it; exit with 1 if something is wrong.
    Verify {
        /// The folder of the index.
        folder: PathBuf,
    },
}

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Info { folder, json } => {
            let info = index::info(&folder)?;
            let text = if json {
                serde_json::to_string_pretty(&info).map_err(|error| bug!("the description of an index: {error}"))?
            } else {
                describe(&info)
            };
            terminal::print(&text)?;
        }
        Command::Merge { target, sources } => {
            let report = index::merge(&target, &sources)?;
            let docs = plural(report.n_docs_added, "document");
            let records = plural(report.n_records_added, record(report.has_vectors));
            let segments = plural(report.n_segments as u64, "segment");
            terminal::say(&format!("added {docs} with {records}; {} has {segments} now", target.display()));
        }
        Command::Compact { folder } => {
            let report = index::compact(&folder)?;
            let record = record(report.has_vectors);
            terminal::say(&format!(
                "{}, {}, {} → {}, {}",
                plural(report.n_segments_before as u64, "segment"),
                plural(report.n_records_before, record),
                bytes_text(report.n_bytes_before),
                plural(report.n_records_after, record),
                bytes_text(report.n_bytes_after),
            ));
        }
        Command::Rollback { folder } => {
            let report = index::rollback(&folder)?;
            let removed = plural(report.n_docs_removed, "document");
            let left = plural(report.n_docs, "document");
            terminal::say(&format!("removed {removed} of run {}; {left} left", report.run));
        }
        Command::Verify { folder } => {
            let found = index::verify(&folder)?;
            terminal::say(&verdict(&found));
            if !found.problems.is_empty() {
                return Ok(ExitCode::from(1));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What an index holds of a document.
fn record(has_vectors: bool) -> &'static str {
    if has_vectors { "vector" } else { "key" }
}

fn verdict(found: &Verification) -> String {
    let mut lines: Vec<String> = found.problems.iter().map(|problem| format!("error: {problem}")).collect();
    lines.extend(found.leftovers.iter().map(|file| left_over(file)));
    let read = format!(
        "{} of {} in {}, {}",
        plural(found.n_records, record(found.has_vectors)),
        plural(found.n_docs, "document"),
        plural(found.n_files as u64, "file"),
        bytes_text(found.n_bytes)
    );
    lines.push(match found.problems.len() {
        0 => format!("sound: {read}"),
        n => format!("{}; restore the index from a copy, or build it anew", plural(n as u64, "problem")),
    });
    lines.join("\n")
}

fn left_over(file: &str) -> String {
    format!("{file}: of a change that is going on or was cut short; not part of the index")
}

/// The index as a person reads it.
fn describe(info: &IndexInfo) -> String {
    let record = record(info.parameters.has_vectors());
    let mut text = format!(
        "{}\n{}, {}, {}; a lookup takes {} of memory\nformat {}, written by {}\n",
        info.parameters,
        plural(info.n_docs, "document"),
        plural(info.n_records, record),
        bytes_text(info.n_bytes),
        format_bytes(info.lookup_bytes),
        info.version,
        info.written_by
    );
    if let Some(centres) = &info.centres {
        text += &format!(
            "{} of {} each\n",
            plural(centres.n_centres as u64, "centre"),
            plural(centres.dimension as u64, "value")
        );
    }
    let rows: Vec<[String; 4]> = info
        .segments
        .iter()
        .map(|segment| {
            let names = if segment.has_names { "" } else { ", no names" };
            [
                segment.file.clone(),
                plural(segment.n_docs, "document"),
                plural(segment.n_records, record),
                bytes_text(segment.n_bytes) + names,
            ]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let (files, docs, keys) = (width(0), width(1), width(2));
    for [file, n_docs, n_keys, size] in &rows {
        text += &format!("  {file:files$}  {n_docs:>docs$}  {n_keys:>keys$}  {size}\n");
    }
    for file in &info.leftovers {
        text += &format!("{}\n", left_over(file));
    }
    if rows.len() > MANY_SEGMENTS {
        text += "many segments: `curator index compact` makes them one\n";
    }
    text
}

fn bytes_text(n_bytes: u64) -> String {
    format_bytes(usize::try_from(n_bytes).unwrap_or(usize::MAX))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dedup::index::{IndexParameters, IndexWriter};
    use std::path::Path;

    fn append(folder: &Path, keys: &[u64]) {
        let mut appender = IndexWriter::open(folder, &IndexParameters::exact()).unwrap().appender().unwrap();
        let first = appender.first_ordinal();
        for (ordinal, key) in (first..).zip(keys) {
            appender.push_record([0, *key], ordinal).unwrap();
        }
        appender.stage(keys.len() as u64).unwrap().commit().unwrap();
    }

    #[test]
    fn an_index_is_described_with_a_line_for_each_segment() {
        let folder = tempfile::TempDir::new().unwrap();
        append(folder.path(), &[1, 2, 3]);
        append(folder.path(), &[3]);
        let text = describe(&index::info(folder.path()).unwrap());
        let expected = format!(
            "exact xxh3-128
4 documents, 4 keys, 202 B; a lookup takes 154 B of memory
format 1, written by curator {}
  segment-000001.records  3 documents  3 keys  104 B, no names
  segment-000002.records   1 document   1 key  98 B, no names
",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn the_verdict_lists_problems_and_what_to_do() {
        let folder = tempfile::TempDir::new().unwrap();
        append(folder.path(), &[1, 2, 3]);
        let sound = verdict(&index::verify(folder.path()).unwrap());
        assert_eq!(sound, "sound: 3 keys of 3 documents in 1 file, 104 B");
        std::fs::write(folder.path().join("segment-000001.records"), "short").unwrap();
        let told = verdict(&index::verify(folder.path()).unwrap());
        assert!(told.starts_with("error: segment-000001.records: 5 bytes long instead of 104"), "{told}");
        assert!(told.ends_with("problems; restore the index from a copy, or build it anew"), "{told}");
    }
}
