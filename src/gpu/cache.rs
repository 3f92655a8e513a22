//! Compiled kernels on disk: one file each, named after all that it depends on.
//!
//! Invariant: a file is complete or not there. What cannot be read or written is compiled again, never an error. After
//! each that is added, those that were not used for longest go until the rest is at most [`MOST_BYTES`].

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    time::SystemTime,
};

use sha2::{Digest, Sha256};

use super::Form;

/// What the folder may hold: thousands of kernels.
const MOST_BYTES: u64 = 256 << 20;

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
    most_bytes: u64,
}

impl DiskCache {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, most_bytes: MOST_BYTES }
    }

    fn path(&self, key: &Key) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(format!("{}.kernel", key.0)))
    }

    /// What was kept: the image, behind the hash of its bytes.
    pub(super) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key)?;
        let mut bytes = fs::read(&path).ok()?;
        // Of use now. Where that cannot be noted, it counts as used when it was made.
        fs::File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now())).ok();
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
        if written.is_ok() {
            self.make_room(folder);
        }
        if let Err(error) = written {
            tracing::debug!("a compiled kernel was not kept in {}: {error}", folder.display());
        }
    }

    /// Removes what was not used for longest, until the rest is small enough.
    fn make_room(&self, folder: &Path) {
        let Ok(files) = fs::read_dir(folder) else { return };
        let mut kernels: Vec<(SystemTime, u64, PathBuf)> = files
            .flatten()
            .filter(|file| file.path().extension().is_some_and(|kind| kind == "kernel"))
            .filter_map(|file| {
                let known = file.metadata().ok()?;
                Some((known.modified().ok()?, known.len(), file.path()))
            })
            .collect();
        kernels.sort_unstable();
        let mut n_bytes: u64 = kernels.iter().map(|(_, n_bytes, _)| n_bytes).sum();
        for (_, kernel_bytes, path) in kernels {
            if n_bytes <= self.most_bytes {
                break;
            }
            // Another process may have removed it.
            fs::remove_file(path).ok();
            n_bytes -= kernel_bytes;
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
    fn what_was_not_used_for_longest_goes_when_there_is_too_much() {
        let folder = tempfile::tempdir().unwrap();
        // Each takes 32 bytes more than its image.
        let cache = DiskCache { most_bytes: 2 * (32 + 100), ..DiskCache::new(Some(folder.path().to_path_buf())) };
        let keys = ["a", "b", "c"].map(|source| Key::new(source, &[], (12, 9), Form::Ptx));
        let age = |key: &Key, seconds: u64| {
            let file = fs::File::options().append(true).open(cache.path(key).unwrap()).unwrap();
            file.set_modified(SystemTime::now() - std::time::Duration::from_secs(seconds)).unwrap();
        };
        for (key, seconds) in keys[..2].iter().zip([200, 100]) {
            cache.put(key, &[1; 100]);
            age(key, seconds);
        }
        // The older one is of use once more.
        assert!(cache.get(&keys[0]).is_some());
        cache.put(&keys[2], &[1; 100]);
        assert_eq!(keys.each_ref().map(|key| cache.get(key).is_some()), [true, false, true]);
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
