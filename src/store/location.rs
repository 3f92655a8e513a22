//! A place that a run changes: a folder, a single file, or an index; and the hidden folder in it for work under way.

use super::remote::{is_remote, plain};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The name, or the end of the name, of the hidden folder for work under way.
pub const AREA: &str = ".curator-stage";

/// The lock of an index, which has one without a run too (`curator index compact`).
const INDEX_LOCK: &str = "lock";

/// A place that a run changes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// As the user wrote it.
    pub(super) shown: PathBuf,
    /// The folder that all changes are below.
    pub(super) root: PathBuf,
    /// The hidden folder for work under way.
    pub(super) area: PathBuf,
    /// The file that is locked by who changes the place.
    pub(super) lock: PathBuf,
    /// The lock stays when the work is over.
    pub(super) keeps_lock: bool,
}

impl Location {
    /// A folder, with everything in it.
    pub fn folder(path: &Path) -> Self {
        let area = path.join(AREA);
        Self { shown: path.into(), root: path.into(), lock: area.join("lock"), area, keeps_lock: false }
    }

    /// One file.
    pub fn file(path: &Path) -> Self {
        let root = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let area = root.join(file_area(path));
        Self { shown: path.into(), root: root.into(), lock: area.join("lock"), area, keeps_lock: false }
    }

    /// The folder of an index.
    pub fn index(path: &Path) -> Self {
        Self { lock: path.join(INDEX_LOCK), keeps_lock: true, ..Self::folder(path) }
    }

    /// Whether somebody works there, or was killed before all of it was tidied up.
    pub fn is_in_use(&self) -> bool {
        self.area.exists()
    }

    /// The same by its real path, which must be there. Two names of one place give one location.
    pub(super) fn resolved(&self) -> Result<Self> {
        if is_remote(&self.root) {
            return Ok(self.clone());
        }
        let root = self.root.canonicalize().map_err(|error| Error::io(&self.root, error))?;
        let moved = |path: &Path| path.strip_prefix(&self.root).map_or_else(|_| path.into(), |rest| root.join(rest));
        let (area, lock) = (moved(&self.area), moved(&self.lock));
        Ok(Self { shown: self.shown.clone(), root, area, lock, keeps_lock: self.keeps_lock })
    }
}

/// The name of the hidden folder that belongs to a single file.
pub(super) fn file_area(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!(".{name}{AREA}")
}

/// A path without links and `..`, also of what is not there yet.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    if is_remote(path) {
        return plain(path);
    }
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut missing = vec![];
    for known in absolute.ancestors() {
        if let Ok(found) = known.canonicalize() {
            return missing.iter().rev().fold(found, |path, part| path.join(part));
        }
        missing.extend(known.file_name());
    }
    absolute
}
