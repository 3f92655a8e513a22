//! Locks of the operating system on files: held by one process, and given back however that process ends. For a bucket, see
//! `remote/lock.rs`.
//!
//! A lock file may be removed by who holds it. So whoever gets a lock looks whether the file that is locked still is the
//! one of that name; if not, the lock is of a file that is gone, and worth nothing.

use super::remote::{RemoteLock, is_remote};
use crate::{Error, Result};
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file that this process has locked, until it is dropped.
#[derive(Debug)]
pub struct Lock(Held);

#[derive(Debug)]
enum Held {
    // Only held.
    Local { _file: File },
    Remote(RemoteLock),
}

impl Lock {
    /// Gives a lock in a bucket back; one of the operating system goes with its process.
    pub(super) fn release(&self) {
        if let Held::Remote(lock) = &self.0 {
            lock.release();
        }
    }

    /// Whether nobody else can have taken it since. A lock of the operating system is never lost.
    pub(super) fn is_held(&self) -> io::Result<bool> {
        match &self.0 {
            Held::Local { .. } => Ok(true),
            Held::Remote(lock) => lock.is_held(),
        }
    }
}

/// Locks a file, made if it is missing; `None` if somebody else has it locked.
pub(crate) fn lock_file(path: &Path) -> Result<Option<Lock>> {
    let failed = |error| Error::io(path, error);
    if is_remote(path) {
        return Ok(RemoteLock::take(path).map_err(failed)?.map(|lock| Lock(Held::Remote(lock))));
    }
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
            return Ok(Some(Lock(Held::Local { _file: file })));
        }
    }
}
