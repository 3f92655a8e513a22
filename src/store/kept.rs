//! Work that outlives the process that did it: what a later attempt of the same run need not do again.
//!
//! ```text
//! .curator-stage/kept/journal.json            the run that it is of
//! .curator-stage/kept/PART/000012.rows …      what was made of split 12 of a part of the plan
//! .curator-stage/kept/PART/000012.json        the record: split 12 is complete, and these are its files
//! .curator-stage/kept/shard-2-of-7.lock       held by the process that works on a share of the splits
//! ```
//! Of an output in a bucket the same is kept on this machine, below `~/.local/state/curator/kept` (`XDG_STATE_HOME`).
//!
//! Unlike what a run stages, it stays when the run fails, is interrupted or killed. It goes when the run is committed, or
//! when somebody begins again from the start.
//!
//! Invariant: a split counts as kept only if its record is there and every file has its size; the files are on the disk
//! before their record is, and the checksum in the record is compared while they are read.
//! Not here: what the files hold (`exec::checkpoint`), and whose work it is (`session::journal`).

use super::claim::Claim;
use super::fault;
use super::location::Location;
use super::lock::{Lock, lock_file};
use super::record::read_json;
use super::remote::is_remote;
use super::sync_folder;
use crate::{Error, Result, bug};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// The folder of kept work in the hidden folder of a place.
pub(super) const KEPT: &str = "kept";
const JOURNAL: &str = "journal.json";

/// The kept work of one place.
#[derive(Debug, Clone)]
pub struct KeptWork {
    folder: PathBuf,
}

impl KeptWork {
    /// Of the place that a run has claimed.
    pub fn of_claim(claim: &Claim) -> Self {
        Self::of(&claim.location)
    }

    /// Of a place, whoever has it.
    pub fn of(location: &Location) -> Self {
        let folder = if is_remote(&location.area) { of_bucket(&location.area) } else { location.area.join(KEPT) };
        Self { folder }
    }

    /// Where it is, for messages.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What was noted about the run; `None` if nothing is kept.
    pub fn journal<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        read_json(&self.folder.join(JOURNAL))
    }

    /// Notes what the work is of. From here on it stays when the process ends.
    pub fn write_journal(&self, journal: &impl Serialize) -> Result<()> {
        fs::create_dir_all(&self.folder).map_err(|error| Error::io(&self.folder, error))?;
        write_synced(&self.folder.join(JOURNAL), journal)
    }

    /// The part of this name, made if it is missing.
    pub fn part(&self, name: &str) -> Result<KeptPart> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, error))?;
        Ok(KeptPart { folder })
    }

    /// The splits of a part that are complete, as far as their records tell.
    pub fn complete_splits(&self, name: &str) -> BTreeSet<usize> {
        let number = |name: &str| name.strip_suffix(".json").and_then(|number| number.parse::<usize>().ok());
        let entries = fs::read_dir(self.folder.join(name)).into_iter().flatten().filter_map(io::Result::ok);
        entries.filter_map(|entry| entry.file_name().to_str().and_then(number)).collect()
    }

    /// Takes one share of the splits for this process; `None` if another process works on it.
    pub fn lock_share(&self, share: &str) -> Result<Option<Lock>> {
        fs::create_dir_all(&self.folder).map_err(|error| Error::io(&self.folder, error))?;
        lock_file(&self.folder.join(format!("{share}.lock")))
    }

    /// The shares of the splits that processes work on.
    pub fn shares_under_way(&self) -> Result<Vec<String>> {
        let mut found = vec![];
        for entry in fs::read_dir(&self.folder).into_iter().flatten().filter_map(io::Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(share) = name.strip_suffix(".lock") else { continue };
            if lock_file(&entry.path())?.is_none() {
                found.push(share.to_string());
            }
        }
        found.sort();
        Ok(found)
    }

    /// Nothing of it is needed any more.
    pub fn remove(&self) -> Result<()> {
        // Without its journal it is nobody's, should the rest not go.
        let removed = [fs::remove_file(self.folder.join(JOURNAL)), fs::remove_dir_all(&self.folder)];
        let failed = removed.into_iter().filter_map(io::Result::err).find(|error| error.kind() != ErrorKind::NotFound);
        failed.map_or(Ok(()), |error| Err(Error::io(&self.folder, error)))
    }
}

/// Where the work for a place in a bucket is kept: rows are written and read again at the speed of a disk, and another attempt
/// begins on the machine where the first one was.
fn of_bucket(area: &Path) -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    let name = format!("{:032x}", xxh3_128(area.as_os_str().as_encoded_bytes()));
    state.unwrap_or_else(std::env::temp_dir).join("curator").join(KEPT).join(name)
}

/// Writes a file that appears complete or not at all, and stays after a power cut.
fn write_synced(path: &Path, value: &impl Serialize) -> Result<()> {
    let bytes = serde_json::to_vec(value).map_err(|error| bug!("{}: {error}", path.display()))?;
    let temporary = path.with_extension("tmp");
    let written = || -> io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    written().map_err(|error| Error::io(path, error))?;
    path.parent().into_iter().for_each(sync_folder);
    Ok(())
}

/// The kept splits of one part of a plan.
#[derive(Debug)]
pub struct KeptPart {
    folder: PathBuf,
}

/// What is complete of a split.
#[derive(Debug, Serialize, Deserialize)]
struct SplitRecord<T> {
    files: Vec<FileRecord>,
    facts: T,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct FileRecord {
    name: String,
    n_bytes: u64,
    xxh3_128: String,
}

impl KeptPart {
    /// The facts and the files of a kept split; `None` if it has to be done.
    pub fn open<T: DeserializeOwned>(&self, split: usize) -> Result<Option<(T, Vec<KeptReader>)>> {
        let path = self.record(split);
        let Some(SplitRecord { files, facts }) = read_json::<SplitRecord<T>>(&path)? else { return Ok(None) };
        let opened: io::Result<Vec<KeptReader>> =
            files.into_iter().map(|file| KeptReader::open(self.file(split, &file.name), file, &path)).collect();
        match opened {
            Ok(files) => Ok(Some((facts, files))),
            Err(error) => {
                tracing::warn!("{}: {error}; the split is read again", path.display());
                Ok(None)
            }
        }
    }

    /// A new file of a split. It counts once it is in a record.
    pub fn create(&self, split: usize, name: &str) -> Result<KeptFile> {
        let path = self.file(split, name);
        let file = File::create(&path).map_err(|error| Error::io(&path, error))?;
        Ok(KeptFile { name: name.into(), path, file: BufWriter::new(file), hash: Xxh3::new(), n_bytes: 0 })
    }

    /// The split is complete.
    pub fn complete<T: Serialize>(&self, split: usize, files: Vec<KeptFile>, facts: T) -> Result<()> {
        let files = files.into_iter().map(KeptFile::close).collect::<Result<Vec<FileRecord>>>()?;
        fault::keep().map_err(|error| Error::io(&self.folder, error))?;
        write_synced(&self.record(split), &SplitRecord { files, facts })
    }

    fn file(&self, split: usize, name: &str) -> PathBuf {
        self.folder.join(format!("{split:06}.{name}"))
    }

    fn record(&self, split: usize) -> PathBuf {
        self.file(split, "json")
    }
}

/// A file of a split under way.
pub struct KeptFile {
    name: String,
    path: PathBuf,
    file: BufWriter<File>,
    hash: Xxh3,
    n_bytes: u64,
}

impl KeptFile {
    /// Where it is, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Who writes here knows of no file.
    fn named(&self, error: &io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
    }

    fn close(mut self) -> Result<FileRecord> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.map_err(|error| Error::io(&self.path, error))?;
        Ok(FileRecord { name: self.name, n_bytes: self.n_bytes, xxh3_128: format!("{:032x}", self.hash.digest128()) })
    }
}

impl fmt::Debug for KeptFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Write for KeptFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes).map_err(|error| self.named(&error))?;
        self.hash.update(&bytes[..n]);
        self.n_bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.named(&error))
    }
}

/// A file of a kept split, being read. Its last bytes come only if the whole file is as it was written.
pub struct KeptReader {
    /// What it holds, as its writer called it.
    pub name: String,
    path: PathBuf,
    /// The record of its split.
    record: PathBuf,
    expected: FileRecord,
    file: File,
    hash: Xxh3,
    n_read: u64,
}

impl KeptReader {
    fn open(path: PathBuf, expected: FileRecord, record: &Path) -> io::Result<Self> {
        let file = File::open(&path)?;
        if file.metadata()?.len() != expected.n_bytes {
            return Err(io::Error::new(ErrorKind::InvalidData, format!("{} has another size", path.display())));
        }
        let (name, record) = (expected.name.clone(), record.to_path_buf());
        Ok(Self { name, path, record, expected, file, hash: Xxh3::new(), n_read: 0 })
    }
}

impl Read for KeptReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.hash.update(&buffer[..n]);
        self.n_read += n as u64;
        if n > 0
            && self.n_read == self.expected.n_bytes
            && format!("{:032x}", self.hash.digest128()) != self.expected.xxh3_128
        {
            // Without its record the split is done again by the next attempt.
            let _ = fs::remove_file(&self.record);
            let message = format!("{} is damaged; the next `--resume` reads its part again", self.path.display());
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        Ok(n)
    }
}
