//! The manifest of an output folder, and the rules for writing where something is already.
//!
//! `_manifest.json` lists the files that a run wrote, with rows and bytes. It is what makes `overwrite` safe: only
//! listed files are ever removed, and a folder with other files in it is refused. Names that begin with `_` or `.` are
//! not data, and readers skip them.
//!
//! Invariant: at any moment every data file of ours in the folder is listed. A run first lists the old and the new
//! files as incomplete, then renames and removes, then writes the final list.

use super::WrittenFile;
use super::file::{CompleteFile, Target, sync_folders_of};
use super::spec::Layout;
use crate::{Error, Result, bug};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The manifest's name in its folder.
const MANIFEST: &str = "_manifest.json";

/// How a manifest says that it is ours.
const WRITTEN_BY: &str = "curator";

/// No timestamps or host names in here: the same query gives the same bytes.
#[derive(Serialize, Deserialize)]
struct Manifest {
    written_by: String,
    complete: bool,
    format: String,
    compression: String,
    n_rows: u64,
    n_bytes: u64,
    files: Vec<ManifestFile>,
}

#[derive(Serialize, Deserialize)]
struct ManifestFile {
    path: String,
    n_rows: u64,
    n_bytes: u64,
}

/// What is in an output folder before the run.
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
    pub fn look(folder: &Path) -> Existing {
        let listed = match std::fs::read(folder.join(MANIFEST)) {
            Ok(bytes) => match listed_files(&bytes) {
                Some(files) => Some(files),
                None => return Existing::Strangers { example: MANIFEST.into() },
            },
            Err(_) => None,
        };
        let is_listed = |path: &String| listed.as_ref().is_some_and(|files| files.contains(path));
        match data_files(folder).into_iter().find(|path| !is_listed(path)) {
            Some(example) => Existing::Strangers { example },
            None => listed.map_or(Existing::Nothing, |files| Existing::Ours { files }),
        }
    }
}

/// The files in a manifest of ours; `None` if it is not ours, or points outside of its folder.
fn listed_files(manifest: &[u8]) -> Option<BTreeSet<String>> {
    let manifest: Manifest = serde_json::from_slice(manifest).ok()?;
    let is_inside = |path: &str| {
        !path.is_empty() && Path::new(path).components().all(|component| matches!(component, Component::Normal(_)))
    };
    let ours = manifest.written_by == WRITTEN_BY && manifest.files.iter().all(|file| is_inside(&file.path));
    ours.then(|| manifest.files.into_iter().map(|file| file.path).collect())
}

/// Every file below a folder that a reader would take for data, relative to it.
fn data_files(folder: &Path) -> Vec<String> {
    let is_data =
        |entry: &walkdir::DirEntry| entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with(['.', '_']);
    walkdir::WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(is_data)
        .filter_map(|entry| entry.ok())
        .filter(|entry| !entry.file_type().is_dir())
        .map(|entry| relative(folder, entry.path()))
        .collect()
}

fn relative(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned()
}

/// A folder that a run writes to.
pub(super) struct FolderOutput {
    folder: PathBuf,
    format: &'static str,
    compression: &'static str,
    old_files: BTreeSet<String>,
}

impl FolderOutput {
    /// Takes note of what an earlier run left in the folder.
    pub fn open(folder: &Path, layout: &Layout) -> Result<FolderOutput> {
        let old_files = match Existing::look(folder) {
            Existing::Nothing => BTreeSet::new(),
            Existing::Ours { files } => files,
            Existing::Strangers { example } => {
                return Err(Error::Data(format!("`{example}` appeared in `{}`", folder.display())));
            }
        };
        Ok(FolderOutput {
            folder: folder.to_path_buf(),
            format: layout.format.name(),
            compression: layout.compression.name(),
            old_files,
        })
    }

    /// Puts the new files, all complete, in the place of the old ones.
    pub fn publish(self, complete: Vec<CompleteFile>) -> Result<Vec<WrittenFile>> {
        let list = |file: &CompleteFile| ManifestFile {
            path: relative(&self.folder, file.path()),
            n_rows: file.n_rows,
            n_bytes: file.n_bytes,
        };
        let new_names: BTreeSet<String> = complete.iter().map(|file| list(file).path).collect();
        let stale: Vec<&String> = self.old_files.difference(&new_names).collect();

        let mut union: Vec<ManifestFile> = complete.iter().map(list).collect();
        union.extend(stale.iter().map(|path| ManifestFile { path: path.to_string(), n_rows: 0, n_bytes: 0 }));
        self.write_manifest(false, union)?;

        let final_list = complete.iter().map(list).collect();
        let written = complete
            .into_iter()
            .map(|file| {
                let may_replace = self.old_files.contains(&relative(&self.folder, file.path()));
                file.publish(may_replace)
            })
            .collect::<Result<Vec<_>>>()?;
        sync_folders_of(&written);
        for path in stale {
            self.remove(path)?;
        }
        self.write_manifest(true, final_list)?;
        Ok(written)
    }

    /// Removes a file of an earlier run, and the folders below ours that it leaves empty.
    fn remove(&self, path: &str) -> Result<()> {
        let path = self.folder.join(path);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(path, error)),
            _ => {}
        }
        for parent in path.ancestors().skip(1).take_while(|parent| *parent != self.folder) {
            if std::fs::remove_dir(parent).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn write_manifest(&self, complete: bool, mut files: Vec<ManifestFile>) -> Result<()> {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let manifest = Manifest {
            written_by: WRITTEN_BY.into(),
            complete,
            format: self.format.into(),
            compression: self.compression.into(),
            n_rows: files.iter().map(|file| file.n_rows).sum(),
            n_bytes: files.iter().map(|file| file.n_bytes).sum(),
            files,
        };
        let mut text = serde_json::to_vec_pretty(&manifest).map_err(|error| bug!("manifest: {error}"))?;
        text.push(b'\n');
        let mut target = Target::create(&self.folder.join(MANIFEST))?;
        target.append(&text)?;
        sync_folders_of(&[target.complete(0)?.publish(true)?]);
        Ok(())
    }
}
