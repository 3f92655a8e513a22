//! Reading: a file of this machine or an object of a store, from its beginning on or anywhere.
//!
//! Every reader of every format opens its input here, and cannot tell where it is.
//! Not here: how bytes of an object come (`remote/reading.rs`).

use super::remote::{self, RemoteFile};
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A file that is read: from its beginning on, or anywhere, also by several threads at once.
#[derive(Clone, Debug)]
pub struct StoredFile {
    bytes: Bytes,
    /// Where the next bytes are read.
    at: u64,
}

#[derive(Clone, Debug)]
enum Bytes {
    Local(Arc<File>),
    Remote(Arc<RemoteFile>),
}

/// What a list has said of a file, so that it need not be asked for again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its size.
    pub n_bytes: u64,
    /// The version of the object.
    pub etag: Option<String>,
}

impl StoredFile {
    /// Opens a file, to be read from its beginning on.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_as(path, None)
    }

    /// The same of a file of which something is known. Of an object only this version is read.
    pub fn open_known(path: &Path, known: Known) -> io::Result<Self> {
        Self::open_as(path, Some((known.n_bytes, known.etag)))
    }

    fn open_as(path: &Path, known: Option<(u64, Option<String>)>) -> io::Result<Self> {
        let bytes = match remote::is_remote(path) {
            true => Bytes::Remote(Arc::new(RemoteFile::open(path, known)?)),
            false => Bytes::Local(Arc::new(open_local(path)?)),
        };
        Ok(Self { bytes, at: 0 })
    }

    /// Its size.
    pub fn n_bytes(&self) -> io::Result<u64> {
        match &self.bytes {
            Bytes::Local(file) => Ok(file.metadata()?.len()),
            Bytes::Remote(file) => Ok(file.n_bytes()),
        }
    }

    /// The same, to be read from this byte on.
    pub fn from(&self, at: u64) -> Self {
        Self { bytes: self.bytes.clone(), at }
    }

    /// The same, to be read from one byte to another, and little behind that.
    pub fn within(&self, start: u64, end: u64) -> Self {
        let bytes = match &self.bytes {
            Bytes::Local(file) => Bytes::Local(Arc::clone(file)),
            Bytes::Remote(file) => Bytes::Remote(Arc::new(file.within(start..end))),
        };
        Self { bytes, at: start }
    }

    /// Says which ranges will be read soon, each from its beginning to its end: an object's are fetched beforehand.
    pub fn plan(&self, ranges: Vec<Range<u64>>) {
        if let Bytes::Remote(file) = &self.bytes {
            file.plan(ranges);
        }
    }

    /// Says that it will be read from its beginning on soon.
    pub fn warm(&self) {
        if let Bytes::Remote(file) = &self.bytes {
            file.warm();
        }
    }

    /// Reads at most as much as there is room for; less only at the end.
    pub fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let mut n_read = 0;
        while n_read < buffer.len() {
            match self.read_some(&mut buffer[n_read..], at + n_read as u64) {
                Ok(0) => break,
                Ok(n_bytes) => n_read += n_bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(n_read)
    }

    fn read_some(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        match &self.bytes {
            Bytes::Local(file) => file.read_at(buffer, at),
            Bytes::Remote(file) => file.read_at(buffer, at),
        }
    }

    /// Fills the buffer.
    pub fn read_exact_at(&self, buffer: &mut [u8], at: u64) -> io::Result<()> {
        match self.read_at(buffer, at)? {
            n_bytes if n_bytes == buffer.len() => Ok(()),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Read for StoredFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Pipes and devices have no places.
        let read = match (self.read_some(buffer, self.at), &self.bytes) {
            (Err(error), Bytes::Local(file)) if error.raw_os_error() == Some(NO_PLACES) => (&**file).read(buffer),
            (read, _) => read,
        };
        let n_bytes = read?;
        self.at += n_bytes as u64;
        Ok(n_bytes)
    }
}

/// Opens a file. Where the process has no file descriptor left, it waits for one: others read on, and close theirs.
fn open_local(path: &Path) -> io::Result<File> {
    for pause_ms in PAUSES_MS {
        match File::open(path) {
            Err(error) if is_out_of_descriptors(&error) => std::thread::sleep(Duration::from_millis(pause_ms)),
            opened => return opened,
        }
    }
    File::open(path)
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
