//! Whether an output is what its manifest says: nothing missing, nothing changed, nothing beside it.

use super::existing::data_files;
use super::file::hash_file;
use super::manifest::{Kind, MANIFEST, Manifest, ManifestFile, manifest_of_file};
use crate::store::{self, AREA, real_path, settle_around};
use crate::{Error, Result};
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// What was found out about an output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OutputVerification {
    /// Files that the manifest lists.
    pub n_files: usize,
    /// Documents in them, as it says.
    pub n_rows: u64,
    /// Their bytes, as it says.
    pub n_bytes: u64,
    /// What is wrong, a line each; none if all is well.
    pub problems: Vec<String>,
}

/// Reads every byte of an output (a folder, a file, or a folder of rejects) and compares it with its manifest.
pub fn verify(path: &Path) -> Result<OutputVerification> {
    settle_around(path)?;
    let is_folder = store::is_folder(path);
    let manifest_path = if is_folder { path.join(MANIFEST) } else { manifest_of_file(path) };
    let bytes = match store::read(&manifest_path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::Data(format!("{}: no output of curator: there is no manifest", path.display())));
        }
        bytes => bytes.map_err(|error| Error::io(&manifest_path, error))?,
    };
    let Some(manifest) = Manifest::parse(&bytes) else {
        return Err(Error::Data(format!("{}: not a manifest of curator, or damaged", manifest_path.display())));
    };
    let root = if is_folder { path } else { path.parent().unwrap_or(Path::new("")) };
    let mut found = OutputVerification {
        n_files: manifest.files.len(),
        n_rows: manifest.n_rows,
        n_bytes: manifest.n_bytes,
        problems: vec![],
    };
    if !manifest.complete {
        found.problems.push("the run that wrote it was cut short".to_string());
    }
    found.problems.extend(manifest.files.iter().filter_map(|file| problem_of(root, file)));
    if is_folder && manifest.kind == Kind::Output {
        let listed: BTreeSet<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
        let others = data_files(path).into_iter().filter(|file| !listed.contains(file.as_str()));
        found.problems.extend(others.map(|file| format!("{file}: not in the manifest")));
    }
    Ok(found)
}

fn problem_of(root: &Path, file: &ManifestFile) -> Option<String> {
    let path = root.join(&file.path);
    let name = &file.path;
    match hash_file(&path) {
        Err(_) if !store::exists(&path) => Some(format!("{name}: missing")),
        Err(error) => Some(error.to_string()),
        Ok((n_bytes, _)) if n_bytes != file.n_bytes => {
            Some(format!("{name}: {n_bytes} bytes long instead of {}", file.n_bytes))
        }
        Ok((_, hash)) if file.xxh3_128.as_ref().is_some_and(|listed| *listed != hash) => {
            Some(format!("{name}: changed: the checksum is another"))
        }
        Ok(_) => None,
    }
}

/// Whether a folder that is to be read as a whole has all the files that manifests list: its own, those above, and those
/// of folders in it.
pub(crate) fn check_complete<'p>(folder: &Path, found: impl Iterator<Item = &'p Path>) -> Result<(), String> {
    let real = real_path(folder);
    for above in real.ancestors() {
        check_manifest(above, &real)?;
    }
    let mut seen = BTreeSet::new();
    for file in found {
        for within in file.ancestors().skip(1).take_while(|within| within.starts_with(folder) && *within != folder) {
            if !seen.insert(within.to_path_buf()) {
                break;
            }
            check_manifest(within, within)?;
        }
    }
    Ok(())
}

/// The same for a folder of a store, with everything in it that is there.
pub(crate) fn check_complete_list(folder: &Path, found: &[&Path]) -> Result<(), String> {
    let there: HashSet<&Path> = found.iter().copied().collect();
    let is_there = |path: &Path| there.contains(path);
    for above in store::folders_around(folder) {
        check_listed(above, folder, &is_there)?;
    }
    let is_manifest = |path: &&&Path| path.file_name().is_some_and(|name| name == MANIFEST);
    let nested = found.iter().filter(is_manifest).filter_map(|manifest| manifest.parent());
    nested.filter(|within| *within != folder).try_for_each(|within| check_listed(within, within, &is_there))
}

/// Whether a file is part of an output, or was until a run began to replace it.
pub(crate) fn is_of_output(path: &Path) -> bool {
    let path = real_path(path);
    let is_place = |folder: &Path| store::exists(&folder.join(AREA)) || Manifest::of_folder(folder).is_some();
    store::exists(&manifest_of_file(&path)) || store::folders_around(&path).skip(1).any(is_place)
}

/// Whether the files of `folder`'s manifest that lie in `part` are there.
fn check_manifest(folder: &Path, part: &Path) -> Result<(), String> {
    check_listed(folder, part, &store::exists)
}

fn check_listed(folder: &Path, part: &Path, is_there: &dyn Fn(&Path) -> bool) -> Result<(), String> {
    let Some(manifest) = Manifest::of_folder(folder) else { return Ok(()) };
    let place = folder.display();
    let help = "write it again with WITH (overwrite = true), or read what is there by a glob such as '*.jsonl'";
    if !manifest.complete {
        return Err(format!("'{place}' is not complete: the run that wrote it was cut short\n{help}"));
    }
    let mut listed = manifest.files.iter().map(|file| (file, folder.join(&file.path)));
    match listed.find(|(_, path)| path.starts_with(part) && !is_there(path)) {
        Some((file, _)) => {
            Err(format!("'{place}' is not complete: its manifest lists `{}`, which is missing\n{help}", file.path))
        }
        None => Ok(()),
    }
}
