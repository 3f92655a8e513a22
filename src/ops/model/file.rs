//! The files of a model: what they are told by.

use crate::store::{Kind, StoredFile, stat};
use crate::{Error, Result};
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;
use xxhash_rust::xxh3::Xxh3;

/// A file that a model's values depend on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelFile {
    /// What it holds: `weights`, `tokenizer`.
    pub role: String,
    /// Where it is.
    pub path: String,
    /// Its size.
    pub n_bytes: u64,
    /// When it was last written, where the store tells.
    pub modified: Option<SystemTime>,
    /// The 128-bit XXH3 of its bytes, in hexadecimal.
    pub hash: String,
}

/// What a file is told by without reading it: path, size, time.
type Stamp = (PathBuf, u64, Option<SystemTime>);

/// Hashes of files: large ones are read once in a process.
static KNOWN: LazyLock<Mutex<HashMap<Stamp, String>>> = LazyLock::new(Mutex::default);

impl ModelFile {
    /// The file at `path`, read to its end unless it is known.
    pub fn of(role: &str, path: &Path) -> Result<Self> {
        let found = stat(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                Error::Data(format!("{}: there is no such file ({role} of a model)", path.display()))
            }
            _ => Error::io(path, error),
        })?;
        if found.kind != Kind::File {
            return Err(Error::Data(format!("{}: this is no file ({role} of a model)", path.display())));
        }
        let key = (path.to_path_buf(), found.n_bytes, found.modified);
        let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let hash = match known {
            Some(hash) => hash,
            None => {
                let hash = hash_of(path)?;
                KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(key, hash.clone());
                hash
            }
        };
        let path = path.display().to_string();
        Ok(Self { role: role.to_string(), path, n_bytes: found.n_bytes, modified: found.modified, hash })
    }

    /// Whether the file is still what it was, as far as size and time tell.
    pub(crate) fn is_unchanged(&self) -> bool {
        let now = stat(Path::new(&self.path));
        now.is_ok_and(|now| now.n_bytes == self.n_bytes && now.modified == self.modified)
    }
}

fn hash_of(path: &Path) -> Result<String> {
    let failed = |error| Error::io(path, error);
    let mut file = StoredFile::open(path).map_err(failed)?;
    let mut hash = Xxh3::new();
    let mut part = vec![0; 1 << 20];
    loop {
        match file.read(&mut part).map_err(failed)? {
            0 => return Ok(format!("{:032x}", hash.digest128())),
            n_bytes => hash.update(&part[..n_bytes]),
        }
    }
}
