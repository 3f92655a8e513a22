//! The record of a commit: every removal and rename, over all places; and carrying it out.
//!
//! The first place of a run holds the record, `commit.json`. Each other one holds `joined.json`, which says where the
//! record is. Both are written before the record gets its name, and removed after it is carried out.
//! Carrying out can be repeated from wherever it stopped: a file is removed only while the one that takes its name
//! still waits, and a rename that was done is not done again.
//! Invariant: a record is believed only about places that say themselves that they take part, and about files below
//! them, so that a record in a folder from elsewhere changes nothing outside of that folder.

use super::location::Location;
use super::remote::{Completion, Object, is_remote};
use super::{fault, files, many_at_once, sync_folder, sync_folders};
use crate::{Error, Result, bug};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The record's name in the hidden folder of the first place.
pub(super) const RECORD: &str = "commit.json";
/// What the other places have.
pub(super) const JOINED: &str = "joined.json";

const FORMAT: &str = "curator commit";
const VERSION: u32 = 1;

/// A path, text where it is text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum AnyPath {
    Text(String),
    Bytes(Vec<u8>),
}

impl From<&Path> for AnyPath {
    fn from(path: &Path) -> Self {
        path.to_str().map_or_else(|| Self::Bytes(path.as_os_str().as_bytes().to_vec()), |text| Self::Text(text.into()))
    }
}

impl AnyPath {
    pub fn to_path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            Self::Bytes(bytes) => PathBuf::from(OsStr::from_bytes(bytes)),
        }
    }
}

/// One place of a commit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Part {
    pub root: AnyPath,
    pub area: AnyPath,
    pub lock: AnyPath,
    pub keeps_lock: bool,
    /// Files to remove, below the root.
    pub removals: Vec<AnyPath>,
    /// Staged files and their final names, below the root.
    pub renames: Vec<(AnyPath, AnyPath)>,
    /// The same, when all others have their names.
    pub last: Vec<(AnyPath, AnyPath)>,
    /// Of a bucket: names below the root, and the uploads that become what they name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<(AnyPath, Completion)>,
    /// The same, when all others are complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_completions: Vec<(AnyPath, Completion)>,
}

/// Everything that a commit changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    format: String,
    version: u32,
    pub run: String,
    /// The first holds the record.
    pub parts: Vec<Part>,
}

/// What the other places of a commit have.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Joined {
    run: String,
    pub record: AnyPath,
}

impl Record {
    pub fn new(run: &str, parts: Vec<Part>) -> Self {
        Self { format: FORMAT.into(), version: VERSION, run: run.into(), parts }
    }

    /// The record of a place, if there is one; and where each of its places is, the first where it was found.
    pub fn read(path: &Path) -> Result<Option<(Self, Vec<Location>)>> {
        let Some(mut record) = read_json::<Self>(path)? else { return Ok(None) };
        let damaged = |what: &str| Error::Data(format!("{}: {what}", path.display()));
        if record.format != FORMAT || record.version > VERSION {
            return Err(damaged("written by a newer curator, or by another program"));
        }
        let Some(area) = path.parent() else { return Err(bug!("a record without a folder")) };
        let Some(first) = record.parts.first_mut() else { return Err(damaged("names no place")) };
        // The folder may have been moved since.
        let found = if is_remote(area) { Ok(area.to_path_buf()) } else { area.canonicalize() };
        if let (Ok(area), Ok(below)) = (found, first.lock.to_path().strip_prefix(first.root.to_path())) {
            let Some(root) = area.parent() else { return Err(damaged("lies in no folder")) };
            (first.root, first.lock, first.area) = (root.into(), root.join(below).as_path().into(), (&*area).into());
        }
        let locations: Vec<Location> = record.parts.iter().map(Part::location).collect();
        let here = locations.first().map(|location| location.area.join(RECORD));
        for location in locations.iter().skip(1) {
            let joined: Option<Joined> = read_json(&location.area.join(JOINED))?;
            let takes_part =
                joined.is_some_and(|joined| joined.run == record.run && Some(joined.record.to_path()) == here);
            if !takes_part {
                let what = format!("names `{}`, which knows nothing of it", location.root.display());
                return Err(damaged(&what));
            }
        }
        Ok(Some((record, locations)))
    }

    /// Writes what makes the commit. When this returns, it is one.
    pub fn write(&self) -> Result<()> {
        let Some((first, others)) = self.parts.split_first() else { return Err(bug!("a commit of nothing")) };
        let record = first.area.to_path().join(RECORD);
        let joined = Joined { run: self.run.clone(), record: record.as_path().into() };
        for other in others {
            write_json(&other.area.to_path().join(JOINED), &joined)?;
        }
        write_json(&record, self)
    }

    /// Does what the record says, from wherever it stopped. Only for who holds the locks of all places.
    pub fn carry_out(&self) -> Result<()> {
        let mut touched = BTreeSet::new();
        for part in self.parts.iter().filter(|part| part.is_remote()) {
            part.remove_objects()?;
        }
        for part in self.parts.iter().filter(|part| !part.is_remote()) {
            let root = part.root.to_path();
            let waiting: HashSet<PathBuf> = part
                .all_renames()
                .filter(|(from, _)| root.join(from.to_path()).symlink_metadata().is_ok())
                .map(|(_, to)| to.to_path())
                .collect();
            let targets: HashSet<PathBuf> = part.all_renames().map(|(_, to)| to.to_path()).collect();
            for name in part.removals.iter().map(AnyPath::to_path) {
                if !targets.contains(&name) || waiting.contains(&name) {
                    remove(&root, &name, &mut touched)?;
                }
            }
        }
        sync_folders(&touched);
        for is_last in [false, true] {
            let mut touched = BTreeSet::new();
            for part in &self.parts {
                let root = part.root.to_path();
                part.complete(if is_last { &part.last_completions } else { &part.completions })?;
                for (from, to) in if is_last { &part.last } else { &part.renames } {
                    rename(&root, &from.to_path(), &to.to_path(), &mut touched)?;
                }
            }
            sync_folders(&touched);
        }
        Ok(())
    }

    /// The record goes: from here on the commit is history.
    pub fn remove(&self) -> Result<()> {
        let Some(first) = self.parts.first() else { return Ok(()) };
        let area = first.area.to_path();
        let path = area.join(RECORD);
        fault::step().and_then(|()| files::remove(&path)).map_err(|error| Error::io(&path, error))?;
        sync_folder(&area);
        Ok(())
    }
}

impl Part {
    fn location(&self) -> Location {
        let root = self.root.to_path();
        let (area, lock) = (self.area.to_path(), self.lock.to_path());
        Location { shown: root.clone(), root, area, lock, keeps_lock: self.keeps_lock }
    }

    fn is_remote(&self) -> bool {
        is_remote(&self.root.to_path())
    }

    /// Removes old objects. Those that are replaced go when the new ones come.
    fn remove_objects(&self) -> Result<()> {
        let root = self.root.to_path();
        let completions = self.completions.iter().chain(&self.last_completions);
        let targets: HashSet<PathBuf> = completions.map(|(name, _)| name.to_path()).collect();
        let names: Vec<PathBuf> = self.removals.iter().map(AnyPath::to_path).collect();
        // The manifest goes first, so that nobody believes it; unless it is the new one already.
        for (name, completion) in &self.last_completions {
            let name = name.to_path();
            if names.contains(&name) {
                let path = below(&root, &name)?;
                let removed =
                    fault::step().and_then(|()| Object::of(&path)?.remove_version(completion.replaces.as_deref()));
                removed.map_err(|error| Error::io(&path, error))?;
            }
        }
        let others = names.iter().filter(|name| !targets.contains(*name));
        let paths = others.map(|name| below(&root, name)).collect::<Result<BTreeSet<PathBuf>>>()?;
        for_each_path(&paths, |path| fault::step().and_then(|()| files::remove(path)))
    }

    /// Makes uploads what they are to be.
    fn complete(&self, completions: &[(AnyPath, Completion)]) -> Result<()> {
        let root = self.root.to_path();
        let named =
            |(name, completion): &(AnyPath, Completion)| Ok((below(&root, &name.to_path())?, completion.clone()));
        let completions = completions.iter().map(named).collect::<Result<BTreeMap<PathBuf, Completion>>>()?;
        let paths = completions.keys().cloned().collect();
        for_each_path(&paths, |path| {
            fault::step()?;
            completions.get(path).map_or(Ok(()), |completion| Object::of(path)?.complete(completion))
        })
    }

    fn all_renames(&self) -> impl Iterator<Item = &(AnyPath, AnyPath)> {
        self.renames.iter().chain(&self.last)
    }
}

/// A path of a record below its root: nothing in a record leads outside, not by `..` and not by a link.
fn below(root: &Path, name: &Path) -> Result<PathBuf> {
    let path = root.join(name);
    let is_plain = name.components().all(|part| matches!(part, Component::Normal(_)));
    let folder = path.parent().unwrap_or(root);
    let is_inside = is_remote(root)
        || match folder.canonicalize() {
            Ok(folder) => folder.starts_with(root),
            Err(_) => true,
        };
    if is_plain && is_inside && name.components().next().is_some() {
        return Ok(path);
    }
    Err(Error::Data(format!("`{}` leads out of `{}`", name.display(), root.display())))
}

/// Does something with each path, many at one time, and tells the first failure.
fn for_each_path(paths: &BTreeSet<PathBuf>, work: impl Fn(&Path) -> io::Result<()> + Sync) -> Result<()> {
    let failure = Mutex::new(None);
    many_at_once(paths, |path| {
        if let Err(error) = work(path) {
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(Error::io(path, error));
        }
    });
    failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Removes a file, and the folders below the root that it leaves empty.
fn remove(root: &Path, name: &Path, touched: &mut BTreeSet<PathBuf>) -> Result<()> {
    let path = below(root, name)?;
    match fault::step().and_then(|()| fs::remove_file(&path)) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::io(path, error)),
        _ => {}
    }
    for folder in path.ancestors().skip(1) {
        touched.insert(folder.to_path_buf());
        if folder == root || fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// Gives a staged file its name, unless it has it already.
fn rename(root: &Path, from: &Path, to: &Path, touched: &mut BTreeSet<PathBuf>) -> Result<()> {
    let (source, target) = (below(root, from)?, below(root, to)?);
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        touched.extend(folder.ancestors().take_while(|above| above.starts_with(root)).map(Path::to_path_buf));
    }
    match fault::step().and_then(|()| fs::rename(&source, &target)) {
        Err(error) if error.kind() == ErrorKind::NotFound && target.exists() => Ok(()),
        result => result.map_err(|error| Error::io(target, error)),
    }
}

pub(super) fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>> {
    match files::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| Error::Data(format!("{}: damaged: {error}", path.display()))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Error::io(path, error)),
    }
}

/// Writes a file that appears complete or not at all.
fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let bytes = serde_json::to_vec(value).map_err(|error| bug!("{}: {error}", path.display()))?;
    files::write_whole(path, &bytes, fault::step).map_err(|error| Error::io(path, error))?;
    if let Some(folder) = path.parent() {
        sync_folder(folder);
    }
    Ok(())
}
