//! Compiled kernels on disk: one file each, named after all that it depends on.
//!
//! Invariant: a file is complete or not there. What cannot be read or written is compiled again, never an error.

use std::{fs, io::Write, path::PathBuf};

use sha2::{Digest, Sha256};

use super::Form;

/// All that a compiled kernel depends on, in 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key(String);

impl Key {
    /// Of a source compiled with `options` by NVRTC of a version.
    pub(super) fn new(source: &str, options: &[String], nvrtc_version: (u32, u32), form: Form) -> Self {
        let mut hash = Sha256::new();
        hash.update(format!("{form:?} {}.{}\n", nvrtc_version.0, nvrtc_version.1));
        for option in options {
            hash.update(option);
            hash.update("\n");
        }
        hash.update("\n");
        hash.update(source);
        Self(hex(&hash.finalize()))
    }

    /// Of a precompiled kernel.
    pub(super) fn precompiled(name: &str) -> Self {
        Self(format!("precompiled {name}"))
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The folder; none means that nothing is kept.
#[derive(Debug)]
pub(super) struct DiskCache {
    folder: Option<PathBuf>,
}

impl DiskCache {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder }
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{}.kernel", key.0)))
    }

    /// What was kept: the image, behind the hash of its bytes.
    pub(super) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let mut bytes = fs::read(self.path(key)?).ok()?;
        if bytes.len() < 32 {
            return None;
        }
        let image = bytes.split_off(32);
        (Sha256::digest(&image).as_slice() == bytes).then_some(image)
    }

    /// Keeps it, if it can.
    pub(super) fn put(&self, key: &Key, image: &[u8]) {
        let (Some(folder), Some(path)) = (&self.folder, self.path(key)) else { return };
        let written = fs::create_dir_all(folder).and_then(|()| {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&Sha256::digest(image))?;
            file.write_all(image)?;
            file.persist(&path).map_err(|error| error.error)
        });
        if let Err(error) = written {
            tracing::debug!("a compiled kernel was not kept in {}: {error}", folder.display());
        }
    }

    /// Forgets it: the driver did not take it.
    pub(super) fn remove(&self, key: &Key) {
        if let Some(path) = self.path(key) {
            // Already gone is as good.
            fs::remove_file(path).ok();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_key_changes_with_all_that_the_kernel_depends_on() {
        let options = |arch: &str| vec![format!("--gpu-architecture={arch}"), "--fmad=false".to_string()];
        let first = Key::new("a", &options("compute_80"), (12, 9), Form::Ptx);
        assert_eq!(first, Key::new("a", &options("compute_80"), (12, 9), Form::Ptx));
        for other in [
            Key::new("b", &options("compute_80"), (12, 9), Form::Ptx),
            Key::new("a", &options("compute_90"), (12, 9), Form::Ptx),
            Key::new("a", &options("compute_80"), (13, 0), Form::Ptx),
            Key::new("a", &options("compute_80"), (12, 9), Form::Cubin),
            Key::new("--fmad=false\n\na", &options("compute_80")[..1], (12, 9), Form::Ptx),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn gives_back_what_was_put_and_nothing_that_was_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::new(Some(folder.path().join("kernels")));
        let key = Key::new("a", &[], (12, 9), Form::Ptx);
        assert_eq!(cache.get(&key), None);
        cache.put(&key, b"ptx");
        assert_eq!(cache.get(&key).as_deref(), Some(b"ptx".as_slice()));
        let path = cache.path(&key).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(cache.get(&key), None);
        fs::write(&path, "short").unwrap();
        assert_eq!(cache.get(&key), None);
        cache.put(&key, b"again");
        assert_eq!(cache.get(&key).as_deref(), Some(b"again".as_slice()));
        cache.remove(&key);
        assert_eq!(cache.get(&key), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_no_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = DiskCache::new(Some(file.path().join("below a file")));
        let key = Key::new("a", &[], (12, 9), Form::Ptx);
        cache.put(&key, b"ptx");
        assert_eq!(cache.get(&key), None);
        assert_eq!(DiskCache::new(None).get(&key), None);
    }
}
