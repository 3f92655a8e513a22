//! What is there, as the rest of the program sees it: files and folders of this machine, and objects of stores.
//!
//! Everything that looks for data or results asks here, so that where they are is known in one place.
//! Not here: reading (`stored_file.rs`), writing (`new_file.rs`), and when what is written gets its name (`outbox.rs`).

use super::remote::{self, Object};
use super::scratch_file::ScratchFile;
use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a store says of something that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is; links are followed.
    pub kind: Kind,
    /// Its size.
    pub n_bytes: u64,
    /// When it was last written, where the store tells.
    pub modified: Option<SystemTime>,
    /// Another file of the same name has another one.
    pub identity: u64,
}

/// What something in a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes that stay.
    File,
    /// Files, by name.
    Folder,
    /// A pipe or a device: bytes that come or go once.
    Stream,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        match (kind.is_file(), kind.is_dir()) {
            (true, _) => Kind::File,
            (_, true) => Kind::Folder,
            _ => Kind::Stream,
        }
    }
}

/// What is there; an error of the kind `NotFound` if nothing is.
pub fn stat(path: &Path) -> io::Result<Stat> {
    if remote::is_remote(path) {
        return stat_of_object(path);
    }
    let found = fs::metadata(path)?;
    let (kind, n_bytes, modified) = (found.file_type().into(), found.len(), found.modified().ok());
    Ok(Stat { kind, n_bytes, modified, identity: found.ino() })
}

fn stat_of_object(path: &Path) -> io::Result<Stat> {
    let not_found = match Object::of(path)?.head() {
        Err(error) if error.kind() == ErrorKind::NotFound => error,
        found => return found.map(|meta| meta.stat()),
    };
    match remote::is_folder(path)? {
        true => Ok(Stat { kind: Kind::Folder, n_bytes: 0, modified: None, identity: 0 }),
        false => Err(not_found),
    }
}

/// Whether anything is there.
pub fn exists(path: &Path) -> bool {
    stat(path).is_ok()
}

/// Whether anything has this name; an error if that cannot be found out.
pub(super) fn is_there(path: &Path) -> Result<bool, crate::Error> {
    if !remote::is_remote(path) {
        return Ok(path.exists());
    }
    match Object::of(path).and_then(|object| object.head()) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(crate::Error::io(path, error)),
    }
}

/// Writes a small file that appears complete or not at all. `between` is called before each step.
pub(super) fn write_whole(path: &Path, bytes: &[u8], between: impl Fn() -> io::Result<()>) -> io::Result<()> {
    between()?;
    if remote::is_remote(path) {
        between()?;
        return Object::of(path)?.put(bytes.to_vec());
    }
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    between()?;
    fs::rename(&temporary, path)
}

/// Whether a folder is there.
pub fn is_folder(path: &Path) -> bool {
    if remote::is_remote(path) {
        return remote::is_folder(path).unwrap_or(false);
    }
    stat(path).is_ok_and(|found| found.kind == Kind::Folder)
}

/// Whether a file is there.
pub fn is_file(path: &Path) -> bool {
    stat(path).is_ok_and(|found| found.kind == Kind::File)
}

/// Where a file is that a link leads to; the path itself if it is none.
pub fn followed(path: &Path) -> PathBuf {
    if path.is_symlink() { path.canonicalize().unwrap_or_else(|_| path.into()) } else { path.into() }
}

/// Whether something has this name, be it a link that leads nowhere.
pub fn is_taken(path: &Path) -> bool {
    if remote::is_remote(path) {
        return exists(path);
    }
    path.symlink_metadata().is_ok()
}

/// The names in a folder, in order.
pub fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    if remote::is_remote(folder) {
        return remote::folders_and_files(folder);
    }
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<String>>>()?;
    names.sort();
    Ok(names)
}

/// All bytes of a small file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if remote::is_remote(path) {
        return Object::of(path)?.read();
    }
    fs::read(path)
}

/// Makes a folder, and those that it is in.
pub fn create_folder(path: &Path) -> io::Result<()> {
    if remote::is_remote(path) {
        // A store has none: a folder is there when something is in it.
        return Ok(());
    }
    fs::create_dir_all(path)
}

/// Gives a file another name; one that has it goes.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    if remote::is_remote(to) {
        return Err(io::Error::new(ErrorKind::Unsupported, "nothing can be renamed in an object store"));
    }
    fs::rename(from, to)
}

/// Removes a file.
pub fn remove(path: &Path) -> io::Result<()> {
    if remote::is_remote(path) {
        return Object::of(path)?.delete();
    }
    fs::remove_file(path)
}

/// A file without a name in the folder for temporary files, gone with the process however that ends.
pub fn temp_file() -> crate::Result<ScratchFile> {
    temp_file_in(&std::env::temp_dir())
}

/// The same where the user wants temporary files to be.
pub(super) fn temp_file_in(folder: &Path) -> crate::Result<ScratchFile> {
    ScratchFile::temporary(folder).map_err(|error| crate::Error::Data(error.to_string()))
}

/// The same in another folder.
pub fn scratch_file(folder: &Path) -> io::Result<ScratchFile> {
    ScratchFile::beside(folder)
}
