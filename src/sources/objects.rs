//! Finds the files of a source in an object store: one list of names, and no request for each of them.
//!
//! Invariant: the same as for local files (`discover.rs`): sorted, each once, named as the user wrote them; what a run has
//! committed and not carried out is carried out first, and a folder that lacks a file of its manifest is no source.

use super::discover::{Discovered, N_LOOKS, SourceFile, choose_in_folder, hive_partitions, is_hidden_from, one_format};
use super::spec::SourceSpec;
use crate::sinks::check_complete_list;
use crate::store::{
    FoundObject, NoMatch, connect, is_data, object, objects_below, objects_matching, plain, settle_around,
};
use crate::{Error, Result};
use std::io::ErrorKind;
use std::path::Path;

/// What a location names.
enum Found {
    File(FoundObject),
    Folder(Vec<FoundObject>),
    Pattern(Vec<FoundObject>),
}

/// Finds the objects that `spec` names and settles their format.
pub(super) fn discover_objects(spec: &SourceSpec) -> Result<Discovered> {
    let location = plain(Path::new(&spec.location));
    let wild = spec.location.find(['*', '?', '[']);
    let base = wild.and_then(|wild| Some(plain(Path::new(spec.location[..wild].rsplit_once('/')?.0))));
    let base = base.as_ref().unwrap_or(&location);
    connect(&location).map_err(|error| Error::io(&spec.location, error))?;
    for _ in 0..N_LOOKS {
        settle_around(base)?;
        let found = look(spec, &location)?;
        if settle_around(base)? {
            continue;
        }
        return match found {
            Found::File(object) => {
                let file = source_file(object, false);
                let format = one_format(spec, std::slice::from_ref(&file))?;
                Ok(Discovered { files: vec![file], format })
            }
            Found::Folder(objects) => {
                let paths: Vec<&Path> = objects.iter().map(|object| object.path.as_path()).collect();
                check_complete_list(&location, &paths).map_err(Error::Data)?;
                let files = objects.into_iter().filter(|object| is_data(&location, &object.path));
                choose_in_folder(spec, files.map(|object| source_file(object, true)).collect())
            }
            Found::Pattern(objects) => {
                let asked = objects.into_iter().filter(|object| !is_hidden_from(&object.path, &spec.location));
                let files: Vec<SourceFile> = asked.map(|object| source_file(object, true)).collect();
                if files.is_empty() {
                    return Err(Error::Data(format!("no object matches '{}'", spec.location)));
                }
                let format = one_format(spec, &files)?;
                Ok(Discovered { files, format })
            }
        };
    }
    Err(Error::Data(format!(
        "'{}' is being replaced again and again; wait until the runs that write there end",
        spec.location
    )))
}

fn look(spec: &SourceSpec, location: &Path) -> Result<Found> {
    let failed = |error| Error::io(&spec.location, error);
    if spec.location.contains(['*', '?', '[']) {
        return match objects_matching(&spec.location) {
            Ok(found) => Ok(Found::Pattern(found)),
            Err(NoMatch::Pattern(problem, at)) => {
                Err(Error::Data(format!("`{}` is not a valid glob: {problem} at character {}", spec.location, at + 1)))
            }
            Err(NoMatch::Unreadable(_, error)) => Err(failed(error)),
        };
    }
    if !spec.location.ends_with('/') {
        match object(location) {
            Ok(found) => return Ok(Found::File(found)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
    }
    match objects_below(location) {
        Ok(found) if !found.is_empty() => Ok(Found::Folder(found)),
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => Err(failed(error)),
        _ => Err(Error::Data(format!("no object or folder '{}'", spec.location))),
    }
}

fn source_file(object: FoundObject, in_many: bool) -> SourceFile {
    let FoundObject { path, stat, etag } = object;
    let partitions = if in_many { hive_partitions(&path) } else { Vec::new() };
    let name = path.to_string_lossy().into_owned();
    SourceFile { path, name, size_bytes: stat.n_bytes, modified: stat.modified, etag, partitions }
}
