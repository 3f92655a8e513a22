//! What could not be read: counted, remembered, written down, or, in strict mode, the end of the run.
//!
//! Rejects arrive from several threads in any order. Each is written at once to a scratch file, and only its place
//! is kept in memory, 32 bytes; [`RejectLog::stage`] copies them in the order of the input: by source, as the query names
//! them, by file and line. So the same input gives the same `rejects.jsonl`.
//!
//! A log may stand below another one, to keep what one part of a run sets aside ([`RejectLog::keeping`]); a later run of the
//! same query then reports it again ([`RejectLog::replay`]).
//!
//! Invariant: `rejects.jsonl` appears with everything else that the run commits, or not at all.

use super::table::FileTable;
use crate::config::MaxRejects;
use crate::sinks::{RejectsFolder, StagedFile, StagedOutput};
use crate::store::{KeptFile, KeptPart, ScratchFile, scratch_file};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io::{BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What kind of trouble a reject had; rejects are counted by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RejectKind {
    /// The line ends in the middle of a value.
    Truncated,
    /// Not JSON.
    InvalidJson,
    /// JSON, but not an object.
    NotAnObject,
    /// Not UTF-8, or an escape that is no character.
    InvalidText,
    /// A value that its declared column cannot hold.
    WrongType,
    /// More or fewer fields than the header has.
    WrongFieldCount,
    /// Too long, or nested too deep.
    TooLarge,
    /// An operator failed on it.
    OperatorFailed,
    /// An operator took too long on it.
    TooSlow,
    /// An expression of the query has no value for it: a division by zero, a cast of what is no number.
    ExpressionFailed,
    /// A record of a crawl that is not written as it should be, or breaks off.
    BrokenRecord,
    /// A model does not take it.
    ModelRefused,
    /// The file cannot be read on: it is cut off or corrupt.
    Unreadable,
    /// A row that fits no GPU, in a run that insists on one.
    TooLargeForGpu,
}

impl fmt::Display for RejectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RejectKind::Truncated => "line cut off",
            RejectKind::InvalidJson => "invalid JSON",
            RejectKind::NotAnObject => "not a JSON object",
            RejectKind::InvalidText => "invalid text encoding",
            RejectKind::WrongType => "wrong type",
            RejectKind::WrongFieldCount => "wrong number of fields",
            RejectKind::TooLarge => "too large",
            RejectKind::OperatorFailed => "operator failed",
            RejectKind::TooSlow => "took too long",
            RejectKind::ExpressionFailed => "expression failed",
            RejectKind::BrokenRecord => "broken record",
            RejectKind::ModelRefused => "refused by a model",
            RejectKind::Unreadable => "unreadable file",
            RejectKind::TooLargeForGpu => "too large for the GPU",
        })
    }
}

/// One piece of input that did not become a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reject {
    /// The file, as `_file` shows it.
    pub file: String,
    /// The line (or row) in the file, from 1.
    pub line: u64,
    /// Where it begins, in the unpacked file.
    pub byte_offset: u64,
    /// What kind of trouble.
    pub kind: RejectKind,
    /// What is wrong, for people.
    pub reason: String,
    /// The bytes themselves.
    pub raw: Vec<u8>,
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.reason)
    }
}

/// What a run set aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectSummary {
    /// How many pieces of input.
    pub n_rejects: u64,
    /// How many of each kind.
    pub by_kind: BTreeMap<RejectKind, u64>,
    /// The first few, in input order, as `file:line: reason`.
    pub first: Vec<String>,
    /// Where they were written, once finished.
    pub written_to: Option<PathBuf>,
}

const N_SHOWN: usize = 5;

/// The name of the file in which the rejects of a split are kept.
pub(crate) const KEPT_REJECTS: &str = "rejects";

/// Collects the rejects of one run. A session hands it to the scans as an extension of its configuration.
#[derive(Debug)]
pub struct RejectLog {
    destination: Option<RejectsFolder>,
    strict: bool,
    /// The run fails when more is set aside.
    max_rejects: u64,
    state: Mutex<State>,
    keeping: Option<Keeping>,
    sources: OnceLock<Sources>,
}

/// What the query reads.
#[derive(Clone, Debug)]
struct Sources {
    tables: Vec<FileTable>,
    /// A source that is named once may be read several times.
    may_read_again: bool,
}

/// What makes a log keep what is reported, and pass it on.
#[derive(Debug)]
struct Keeping {
    above: Option<Arc<RejectLog>>,
    part: Arc<KeptPart>,
    split: usize,
    file: Mutex<Option<KeptFile>>,
}

#[derive(Debug, Default)]
struct State {
    summary: RejectSummary,
    /// The first few, kept sorted.
    first: Vec<(RejectPosition, String)>,
    /// Made when there is a reject.
    files: Option<Files>,
    /// A file that a query reads twice rejects the same lines twice; they count once.
    known: HashSet<RejectPosition>,
    scratch: Option<Scratch>,
}

/// Files by their places in the input.
#[derive(Debug)]
struct Files {
    places: HashMap<String, u32>,
    /// Whether a file is read by one scan alone, by its place.
    is_read_once: Vec<bool>,
}

/// File, line, byte offset: the order in which rejects are shown and written.
type RejectPosition = (u32, u64, u64);

#[derive(Debug)]
struct Scratch {
    writer: BufWriter<ScratchFile>,
    /// The place of each reject, and where in the scratch file its line begins.
    entries: Vec<(RejectPosition, u64)>,
    n_bytes: u64,
}

impl RejectLog {
    /// A log that writes `rejects.jsonl` into the folder `destination`, if there is one, and whose
    /// [`report`](Self::report) fails at the first reject if `strict`.
    pub fn new(destination: Option<RejectsFolder>, strict: bool) -> Self {
        let max_rejects = u64::MAX;
        Self { destination, strict, max_rejects, state: Mutex::default(), keeping: None, sources: OnceLock::new() }
    }

    /// The same, failing when more is set aside than `limit` allows. Of a share it knows nothing: see [`check_share`].
    ///
    /// [`check_share`]: Self::check_share
    pub(crate) fn allowing(self, limit: Option<MaxRejects>) -> Self {
        let max_rejects = if let Some(MaxRejects::Count(count)) = limit { count } else { u64::MAX };
        Self { max_rejects, ..self }
    }

    /// Fails if more was set aside than this share of `n_rows`, the rows that were read, and of what was set aside.
    pub(crate) fn check_share(&self, limit: Option<MaxRejects>, n_rows: u64) -> Result<()> {
        let Some(MaxRejects::Share(share)) = limit else { return Ok(()) };
        let summary = self.summary();
        let n_all = n_rows + summary.n_rejects;
        if summary.n_rejects as f64 <= share * n_all as f64 {
            return Ok(());
        }
        let RejectSummary { n_rejects, first, .. } = summary;
        let first = first.first().map(|first| format!("; the first: {first}")).unwrap_or_default();
        Err(Error::Data(format!(
            "{n_rejects} of {n_all} documents were set aside, more than max_rejects allows ({}%){first}",
            share * 100.0
        )))
    }

    /// Says what the query reads, in the order in which it names them. Files that are not among them come last.
    pub(crate) fn follow(&self, tables: Vec<FileTable>, may_read_again: bool) {
        self.sources.get_or_init(|| Sources { tables, may_read_again });
    }

    /// A log that keeps what one split of `part` sets aside, and reports it to the log `above` it.
    pub(crate) fn keeping(above: Option<Arc<RejectLog>>, part: Arc<KeptPart>, split: usize) -> Self {
        let strict = above.as_ref().is_some_and(|above| above.strict);
        let sources = above.as_ref().map(|above| above.sources.clone()).unwrap_or_default();
        let keeping = Keeping { above, part, split, file: Mutex::default() };
        Self { keeping: Some(keeping), sources, ..Self::new(None, strict) }
    }

    /// The file with what was kept, complete; `None` if nothing was set aside.
    pub(crate) fn take_kept(&self) -> Option<KeptFile> {
        let keeping = self.keeping.as_ref()?;
        keeping.file.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Reports what an earlier run has kept.
    pub(crate) fn replay(&self, kept: impl Read) -> Result<()> {
        for line in BufReader::new(kept).lines() {
            let line = line.map_err(|error| Error::Data(format!("kept rejects: {error}")))?;
            self.report(serde_json::from_str(&line).map_err(|error| Error::Data(format!("kept rejects: {error}")))?)?;
        }
        Ok(())
    }

    /// The file and the line of a row by its position, as far as it can only be of one source.
    pub(crate) fn place_of(&self, position: u64) -> Option<(String, u64)> {
        match self.sources.get()?.tables.as_slice() {
            [table] => table.place_of(position),
            _ => None,
        }
    }

    /// Whether the first reject ends the run.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Sets one piece of input aside. In strict mode this is the error that ends the run.
    pub fn report(&self, reject: Reject) -> Result<()> {
        if self.strict {
            return Err(Error::Data(format!("{reject}\n(strict mode stops here; without it the line is set aside)")));
        }
        if let Some(keeping) = &self.keeping {
            keeping.write(&reject)?;
            return keeping.above.as_ref().map_or(Ok(()), |above| above.report(reject));
        }
        let mut state = self.lock();
        let (file, is_read_once) = state.files.get_or_insert_with(|| Files::of(self.sources.get())).find(&reject.file);
        let place = (file, reject.line, reject.byte_offset);
        // What has no line has no place that it could come from twice.
        if reject.line > 0 && !is_read_once && !state.known.insert(place) {
            return Ok(());
        }
        state.summary.n_rejects += 1;
        *state.summary.by_kind.entry(reject.kind).or_default() += 1;
        state.remember_first(place, &reject);
        if let Some(folder) = &self.destination {
            state.write(folder, place, &reject)?;
        }
        if state.summary.n_rejects > self.max_rejects {
            let most = self.max_rejects;
            return Err(Error::Data(format!("{reject}\n(more is set aside than max_rejects allows: {most})")));
        }
        Ok(())
    }

    /// What was set aside so far.
    pub fn summary(&self) -> RejectSummary {
        let state = self.lock();
        let mut summary = state.summary.clone();
        summary.first = state.first.iter().map(|(_, shown)| shown.clone()).collect();
        summary
    }

    /// Puts the rejects in order; `rejects.jsonl` waits for the commit of the run. Without rejects there is no file.
    pub fn stage(&self) -> Result<Option<StagedOutput>> {
        let mut state = self.lock();
        let (Some(mut scratch), Some(folder)) = (state.scratch.take(), &self.destination) else { return Ok(None) };
        let staged = scratch.write_sorted(folder)?;
        state.summary.written_to = Some(folder.claim().shown().join(folder.next_rejects_file()));
        Ok(Some(staged))
    }

    /// A thread that panicked while it held the lock cannot leave half an entry that matters more than the rest.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeping {
    fn write(&self, reject: &Reject) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert(self.part.create(self.split, KEPT_REJECTS)?),
        };
        let mut line = serde_json::to_vec(reject).map_err(|error| crate::bug!("a reject as JSON: {error}"))?;
        line.push(b'\n');
        file.write_all(&line).map_err(|error| Error::io(file.path(), error))
    }
}

impl Files {
    fn of(sources: Option<&Sources>) -> Self {
        let mut files = Self { places: HashMap::new(), is_read_once: vec![] };
        let Some(Sources { tables, may_read_again }) = sources else { return files };
        for (name, ..) in tables.iter().flat_map(FileTable::files) {
            match files.places.get(name) {
                Some(place) => files.is_read_once[*place as usize] = false,
                None => {
                    let place = files.add(name);
                    files.is_read_once[place as usize] = !may_read_again;
                }
            }
        }
        files
    }

    fn add(&mut self, name: &str) -> u32 {
        let place = self.is_read_once.len() as u32;
        self.places.insert(name.to_string(), place);
        self.is_read_once.push(false);
        place
    }

    /// The place of a file, and whether it is read once.
    fn find(&mut self, name: &str) -> (u32, bool) {
        let place = self.places.get(name).copied().unwrap_or_else(|| self.add(name));
        (place, self.is_read_once[place as usize])
    }
}

impl State {
    fn remember_first(&mut self, place: RejectPosition, reject: &Reject) {
        let at = self.first.partition_point(|(known, _)| *known < place);
        if at < N_SHOWN {
            self.first.insert(at, (place, reject.to_string()));
            self.first.truncate(N_SHOWN);
        }
    }

    fn write(&mut self, folder: &RejectsFolder, place: RejectPosition, reject: &Reject) -> Result<()> {
        if self.scratch.is_none() {
            self.scratch = Some(Scratch::create(folder)?);
        }
        match &mut self.scratch {
            Some(scratch) => scratch.append(place, reject),
            None => Err(crate::bug!("the scratch file of the rejects was not made")),
        }
    }
}

impl Scratch {
    /// A file without a name, gone with the process however that ends.
    fn create(folder: &RejectsFolder) -> Result<Self> {
        let staging = folder.claim().staging();
        let file = scratch_file(staging).map_err(|e| Error::io(staging, e))?;
        Ok(Self { writer: BufWriter::new(file), entries: Vec::new(), n_bytes: 0 })
    }

    fn append(&mut self, place: RejectPosition, reject: &Reject) -> Result<()> {
        let mut record = json!({
            "file": reject.file,
            "line": reject.line,
            "byte_offset": reject.byte_offset,
            "reason": reject.reason,
            "raw": String::from_utf8_lossy(&reject.raw),
        });
        // The lossy text is for people; the hexadecimal form keeps every byte.
        if let (Err(_), Some(fields)) = (std::str::from_utf8(&reject.raw), record.as_object_mut()) {
            fields.insert("raw_hex".into(), hexadecimal(&reject.raw).into());
        }
        let line = format!("{record}\n");
        self.writer.write_all(line.as_bytes()).map_err(|e| Error::io("rejects", e))?;
        self.entries.push((place, self.n_bytes));
        self.n_bytes += line.len() as u64;
        Ok(())
    }

    fn write_sorted(&mut self, folder: &RejectsFolder) -> Result<StagedOutput> {
        let name = folder.next_rejects_file();
        let shown = folder.claim().shown().join(&name);
        let failed = |e: std::io::Error| Error::io(&shown, e);
        self.writer.flush().map_err(failed)?;
        let mut lines = BufReader::new(self.writer.get_ref());
        let mut at = lines.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut out = StagedFile::create(folder, &name)?;
        self.entries.sort_unstable();
        let mut line = Vec::new();
        for (_, start) in &self.entries {
            line.clear();
            // Neighbours in the input mostly are neighbours here; those are read from what the reader holds.
            lines.seek_relative(*start as i64 - at as i64).map_err(failed)?;
            let n_bytes = lines.read_until(b'\n', &mut line).map_err(failed)?;
            at = start + n_bytes as u64;
            out.append(&line)?;
        }
        out.stage()
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from_digit((byte >> 4).into(), 16).unwrap_or('0'));
        text.push(char::from_digit((byte & 15).into(), 16).unwrap_or('0'));
    }
    text
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::sinks::RunFacts;
    use crate::store::{Location, Outbox};
    use std::fs;
    use std::path::Path;

    fn log_into(outbox: &Outbox, folder: &Path) -> RejectLog {
        let claim = outbox.claim(&Location::folder(folder)).unwrap();
        RejectLog::new(Some(RejectsFolder::open(claim, false).unwrap()), false)
    }

    fn commit(log: &RejectLog, outbox: &Outbox) {
        log.stage().unwrap().unwrap().prepare(&RunFacts::default()).unwrap();
        outbox.commit().unwrap();
    }

    fn reject(file: &str, line: u64, raw: &[u8]) -> Reject {
        Reject {
            file: file.into(),
            line,
            byte_offset: line * 10,
            kind: RejectKind::InvalidJson,
            reason: "bad".into(),
            raw: raw.to_vec(),
        }
    }

    #[test]
    fn rejects_are_written_by_file_and_line_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox::new("test");
        let log = log_into(&outbox, &folder.path().join("r"));
        for (file, line) in [("b", 1), ("a", 7), ("a", 2), ("a", 7)] {
            log.report(reject(file, line, b"\xff{")).unwrap();
        }
        commit(&log, &outbox);
        let summary = log.summary();
        assert_eq!(summary.n_rejects, 3);
        assert_eq!(summary.first, ["b:1: bad", "a:2: bad", "a:7: bad"]);
        let text = fs::read_to_string(folder.path().join("r/rejects.jsonl")).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let places: Vec<_> = lines.iter().map(|v| (v["file"].as_str().unwrap(), v["line"].as_u64().unwrap())).collect();
        assert_eq!(places, [("b", 1), ("a", 2), ("a", 7)]);
        assert_eq!(lines[1]["raw_hex"], "ff7b");
        assert_eq!(lines[1]["raw"], "\u{fffd}{");
        assert_eq!(fs::read_dir(folder.path().join("r")).unwrap().count(), 2, "and a manifest");
    }

    #[test]
    fn many_rejects_survive_the_way_through_the_scratch_file() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox::new("test");
        let log = log_into(&outbox, folder.path());
        for line in (1..=2000).rev() {
            log.report(reject("a", line, &[b'x'; 50])).unwrap();
        }
        commit(&log, &outbox);
        let text = fs::read_to_string(folder.path().join("rejects.jsonl")).unwrap();
        let lines: Vec<u64> = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["line"].as_u64().unwrap())
            .collect();
        assert_eq!(lines, (1..=2000).collect::<Vec<_>>());
    }

    #[test]
    fn unfinished_logs_leave_nothing_and_strict_ones_fail() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox::new("test");
        let log = log_into(&outbox, folder.path());
        log.report(reject("a", 1, b"x")).unwrap();
        drop((log, outbox));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let error = RejectLog::new(None, true).report(reject("a", 3, b"x")).unwrap_err();
        assert!(error.to_string().starts_with("a:3: bad"), "{error}");
    }
}
