//! Lists of objects: what a bucket or a dataset has, with what its list says of each.
//!
//! Not here: files of this machine (`matching.rs`), and how a store is asked (`remote/listing.rs`).

use super::files::Stat;
use super::matching::NoMatch;
use super::remote::{self, Object};
use std::io;
use std::path::{Path, PathBuf};

/// Whether what lies at a path below a folder is data: no name on the way begins with `_` or `.`.
pub fn is_data(folder: &Path, path: &Path) -> bool {
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.components().all(|part| !part.as_os_str().to_string_lossy().starts_with(['.', '_']))
}

/// An object that a list names.
#[derive(Clone, Debug)]
pub struct FoundObject {
    /// Its URL.
    pub path: PathBuf,
    /// What the list says of it.
    pub stat: Stat,
    /// Its version.
    pub etag: Option<String>,
}

/// Connects to the store of a URL: an error if there are no credentials, say, or the URL is none.
pub fn connect(path: &Path) -> io::Result<()> {
    if remote::is_remote(path) { Object::of(path).map(drop) } else { Ok(()) }
}

/// The object of a URL; an error of the kind `NotFound` if there is none.
pub fn object(path: &Path) -> io::Result<FoundObject> {
    let meta = Object::of(path)?.head()?;
    Ok(FoundObject { path: path.into(), stat: meta.stat(), etag: meta.etag })
}

/// Every object below a folder of a store, be it data or not, in order of the paths.
pub fn objects_below(folder: &Path) -> io::Result<Vec<FoundObject>> {
    Ok(remote::below(folder)?.into_iter().map(FoundObject::from).collect())
}

/// Every object that a pattern matches, in order of the paths.
pub fn objects_matching(pattern: &str) -> Result<Vec<FoundObject>, NoMatch> {
    glob::Pattern::new(pattern).map_err(|error| NoMatch::Pattern(error.msg, error.pos))?;
    let found = remote::matching(pattern).map_err(|error| NoMatch::Unreadable(pattern.into(), error))?;
    Ok(found.into_iter().map(FoundObject::from).collect())
}

impl From<(PathBuf, Stat, Option<String>)> for FoundObject {
    fn from((path, stat, etag): (PathBuf, Stat, Option<String>)) -> Self {
        Self { path, stat, etag }
    }
}

/// A folder and those that it is in, up to the root of the store.
pub fn folders_around(folder: &Path) -> impl Iterator<Item = &Path> {
    let n_root = if remote::is_remote(folder) { remote::root_of(folder).components().count() } else { 0 };
    folder.ancestors().take_while(move |above| above.components().count() >= n_root)
}
