//! Locks of the operating system on files: held by one process, and given back however that process ends.
//!
//! A lock file may be removed by who holds it. So whoever gets a lock looks whether the file that is locked still is the
//! one of that name; if not, the lock is of a file that is gone, and worth nothing.

use crate::{Error, Result};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file that this process has locked, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Locks a file, made if it is missing; `None` if somebody else has it locked.
pub(crate) fn lock_file(path: &Path) -> Result<Option<Lock>> {
    let failed = |error| Error::io(path, error);
    loop {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, error))?;
        }
        let file = match File::options().create(true).truncate(false).write(true).open(path) {
            // The folder went with its last user, just now.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            opened => opened.map_err(failed)?,
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let locked = file.metadata().map_err(failed)?;
        let is_same = |now: std::fs::Metadata| (now.dev(), now.ino()) == (locked.dev(), locked.ino());
        if std::fs::metadata(path).is_ok_and(is_same) {
            return Ok(Some(Lock { _file: file }));
        }
    }
}
