//! What is in a place before a run writes there: nothing, an output of ours, or something that is not ours.
//!
//! Invariant: what no manifest of ours lists is never taken for ours.

use super::file::hash_file;
use super::manifest::{Kind, MANIFEST, Manifest, ManifestFile, manifest_of_file};
use crate::store;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What is in a place before a run.
#[derive(Debug, PartialEq)]
pub(super) enum Existing {
    /// No data.
    Nothing,
    /// What earlier runs wrote, relative to the folder, and nothing else.
    Ours { files: BTreeSet<String> },
    /// Something that we did not write.
    Strangers { example: String },
}

impl Existing {
    /// Of a folder for an output.
    pub fn of_folder(folder: &Path) -> Existing {
        Self::listed(folder, Kind::Output, data_files(folder))
    }

    /// Of a folder for rejects, which may hold other things too.
    pub fn of_rejects(folder: &Path) -> Existing {
        let is_of_rejects = |path: &String| is_rejects_file(path) || path.starts_with(DROPPED);
        let files = data_files(folder).into_iter().filter(is_of_rejects).collect();
        Self::listed(folder, Kind::Rejects, files)
    }

    /// Of a single file. It is ours if its manifest lists it as it is.
    pub fn of_file(path: &Path) -> Existing {
        if !store::is_taken(path) {
            return Existing::Nothing;
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match is_as_listed(path, &name) {
            Some(true) => Existing::Ours { files: BTreeSet::from([name]) },
            _ => Existing::Strangers { example: name },
        }
    }

    fn listed(folder: &Path, kind: Kind, found: Vec<String>) -> Existing {
        let listed = match store::read(&folder.join(MANIFEST)) {
            Ok(bytes) => match Manifest::parse(&bytes).filter(|manifest| manifest.kind == kind) {
                Some(manifest) => Some(manifest.files.into_iter().map(|file| file.path).collect::<BTreeSet<String>>()),
                None => return Existing::Strangers { example: MANIFEST.into() },
            },
            Err(_) => None,
        };
        let is_listed = |path: &String| listed.as_ref().is_some_and(|files| files.contains(path));
        match found.into_iter().find(|path| !is_listed(path)) {
            Some(example) => Existing::Strangers { example },
            None => listed.map_or(Existing::Nothing, |files| Existing::Ours { files }),
        }
    }

    /// The files of an earlier run.
    pub fn into_files(self) -> BTreeSet<String> {
        match self {
            Existing::Ours { files } => files,
            Existing::Nothing | Existing::Strangers { .. } => BTreeSet::new(),
        }
    }

    /// Why rejects cannot go there.
    pub fn rejects_problem(&self, shown: &str, overwrite: bool) -> Option<String> {
        match self {
            Existing::Nothing => None,
            Existing::Ours { .. } if overwrite => None,
            Existing::Ours { .. } => Some(format!(
                "`{shown}` holds the rejects of an earlier run: add WITH (overwrite = true) to replace them"
            )),
            Existing::Strangers { example } => Some(format!(
                "`{shown}` holds `{example}`, which no manifest of earlier rejects lists: remove it, or choose another \
                 folder"
            )),
        }
    }
}

/// The name of the file of rejects of the first run into a folder, and of those that add to it: `rejects_00001.jsonl`.
pub(super) fn rejects_file(n_before: usize) -> String {
    match n_before {
        0 => "rejects.jsonl".into(),
        n => format!("rejects_{n:05}.jsonl"),
    }
}

/// Whether a file of a folder of rejects holds what could not be read.
pub(super) fn is_rejects_file(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("rejects").and_then(|rest| rest.strip_suffix(".jsonl")) else { return false };
    let is_number = |number: &str| number.len() >= 5 && number.bytes().all(|byte| byte.is_ascii_digit());
    rest.is_empty() || rest.strip_prefix('_').is_some_and(is_number)
}

/// How the folders of the drop ledger begin.
pub(crate) const DROPPED: &str = "dropped";

/// Whether a single file is what its manifest says; `None` without a manifest.
fn is_as_listed(path: &Path, name: &str) -> Option<bool> {
    let manifest_path = manifest_of_file(path);
    let manifest = Manifest::parse(&store::read(&manifest_path).ok()?)?;
    let listed = manifest.files.iter().find(|file| file.path == name)?;
    let found = store::stat(path).ok()?;
    Some(is_unchanged(path, &found, listed, store::stat(&manifest_path).ok()?.modified))
}

/// Why a folder's output or rejects cannot be replaced: a file that the manifest lists is there, and is another one now.
pub(super) fn changed_file(folder: &Path) -> Option<String> {
    let manifest_path = folder.join(MANIFEST);
    let manifest = Manifest::parse(&store::read(&manifest_path).ok()?)?;
    let written = store::stat(&manifest_path).ok()?.modified;
    let is_changed = |listed: &&ManifestFile| {
        let path = folder.join(&listed.path);
        // Without a checksum, as of a run that had not ended, nobody can tell.
        listed.xxh3_128.is_some() && store::stat(&path).is_ok_and(|found| !is_unchanged(&path, &found, listed, written))
    };
    let changed = manifest.files.iter().find(is_changed)?;
    Some(format!(
        "`{}` is not as an earlier run wrote it: remove it, or choose another folder",
        folder.join(&changed.path).display()
    ))
}

/// A file that is older than its manifest and has the size is taken for the one that is listed; a copy may be younger, and is
/// read.
fn is_unchanged(path: &Path, found: &store::Stat, listed: &ManifestFile, written: Option<SystemTime>) -> bool {
    if found.kind != store::Kind::File || found.n_bytes != listed.n_bytes {
        return false;
    }
    match (found.modified, written) {
        (Some(modified), Some(written)) if modified <= written => true,
        _ => hash_file(path).is_ok_and(|(_, hash)| Some(hash) == listed.xxh3_128),
    }
}

/// Every file below a folder that a reader would take for data, relative to it.
pub(super) fn data_files(folder: &Path) -> Vec<String> {
    let relative = |path: PathBuf| path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
    store::data_below(folder, false).filter_map(Result::ok).map(relative).collect()
}
