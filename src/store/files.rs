//! Files as the rest of the program sees them: what is there, and reading and writing it.
//!
//! Everything that reads data or writes results asks here, so that where files are is known in one place.
//! Not here: when what is written gets its name (`outbox.rs`).

use std::fs::{self, File, FileType};
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
pub use std::os::unix::fs::FileExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

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
    let found = fs::metadata(path)?;
    let (kind, n_bytes, modified) = (found.file_type().into(), found.len(), found.modified().ok());
    Ok(Stat { kind, n_bytes, modified, identity: found.ino() })
}

/// Whether anything is there.
pub fn exists(path: &Path) -> bool {
    stat(path).is_ok()
}

/// Whether a folder is there.
pub fn is_folder(path: &Path) -> bool {
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
    path.symlink_metadata().is_ok()
}

/// The names in a folder, in order.
pub fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<String>>>()?;
    names.sort();
    Ok(names)
}

/// All bytes of a small file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    fs::read(path)
}

/// A file that is read: from its beginning on, or anywhere, also by several threads at once.
#[derive(Clone, Debug)]
pub struct StoredFile {
    file: Arc<File>,
    /// Where the next bytes are read.
    at: u64,
}

impl StoredFile {
    /// Opens a file, to be read from its beginning on.
    ///
    /// Where the process has no file descriptor left, it waits for one: others read on, and close theirs.
    pub fn open(path: &Path) -> io::Result<Self> {
        for pause_ms in PAUSES_MS {
            match File::open(path) {
                Err(error) if is_out_of_descriptors(&error) => std::thread::sleep(Duration::from_millis(pause_ms)),
                opened => return Ok(Self { file: Arc::new(opened?), at: 0 }),
            }
        }
        Ok(Self { file: Arc::new(File::open(path)?), at: 0 })
    }

    /// Its size.
    pub fn n_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// The same, to be read from this byte on.
    pub fn from(&self, at: u64) -> Self {
        Self { file: Arc::clone(&self.file), at }
    }

    /// Reads at most as much as there is room for; less only at the end.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let mut n_read = 0;
        while n_read < buffer.len() {
            match self.file.read_at(&mut buffer[n_read..], at + n_read as u64) {
                Ok(0) => break,
                Ok(n_bytes) => n_read += n_bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(n_read)
    }

    /// Fills the buffer.
    pub fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, at)
    }
}

impl Read for StoredFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Pipes and devices have no places.
        let read = match self.file.read_at(buffer, self.at) {
            Err(error) if error.raw_os_error() == Some(NO_PLACES) => (&*self.file).read(buffer),
            read => read,
        };
        let n_bytes = read?;
        self.at += n_bytes as u64;
        Ok(n_bytes)
    }
}

/// How long to wait for a file descriptor, time after time: five seconds in all.
const PAUSES_MS: [u64; 6] = [20, 80, 300, 600, 1500, 2500];

/// Whether a file could not be opened because the process, or the machine, has too many open (`EMFILE`, `ENFILE`): that says
/// nothing of the file.
fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(24 | 23))
}

/// What the system says of files that cannot be read at a place (`ESPIPE`).
const NO_PLACES: i32 = 29;

impl Seek for StoredFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.n_bytes()?.checked_add_signed(by),
        };
        self.at =
            at.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "a place before the beginning of a file"))?;
        Ok(self.at)
    }
}

impl parquet::file::reader::Length for StoredFile {
    fn len(&self) -> u64 {
        self.n_bytes().unwrap_or_default()
    }
}

impl parquet::file::reader::ChunkReader for StoredFile {
    type T = BufReader<StoredFile>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        // A file that is corrupt may name any length.
        let end = start.checked_add(length as u64).filter(|end| self.n_bytes().is_ok_and(|n_bytes| *end <= n_bytes));
        if end.is_none() {
            let told = format!("{length} bytes at {start} are not in the file: it is cut off or corrupt");
            return Err(parquet::errors::ParquetError::EOF(told));
        }
        let mut bytes = vec![0; length];
        self.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// A file that is written from its beginning on.
#[derive(Debug)]
pub struct NewFile(File);

impl NewFile {
    /// A file that must not be there yet.
    pub fn create(path: &Path) -> io::Result<Self> {
        File::create_new(path).map(Self)
    }

    /// A file, in place of one that is there.
    pub fn replace(path: &Path) -> io::Result<Self> {
        File::create(path).map(Self)
    }

    /// A pipe or a device, which is there and stays.
    pub fn stream(path: &Path) -> io::Result<Self> {
        File::options().write(true).open(path).map(Self)
    }

    /// Another handle of the same file.
    pub fn again(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Waits until everything is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Makes a folder, and those that it is in.
pub fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Gives a file another name; one that has it goes.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes a file.
pub fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// A local file for a while, written and read by this process alone; with [`FileExt`] at any place.
pub type ScratchFile = File;

/// A file without a name in the folder for temporary files, gone with the process however that ends.
pub fn temp_file() -> crate::Result<ScratchFile> {
    let folder = std::env::temp_dir();
    scratch_file(&folder).map_err(|error| crate::Error::io(folder, error))
}

/// The same in another folder.
pub fn scratch_file(folder: &Path) -> io::Result<ScratchFile> {
    tempfile::tempfile_in(folder)
}
