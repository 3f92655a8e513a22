//! A local file for a while, without a name: written and read by this process alone, and gone with it however that ends.
//!
//! Invariant: what goes wrong with it names the folder, and where that is the one for temporary files, how to have another.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// See the module's text.
#[derive(Debug)]
pub struct ScratchFile {
    file: File,
    place: Arc<Place>,
}

#[derive(Debug)]
struct Place {
    folder: PathBuf,
    /// It is the folder for temporary files, not one beside an output.
    is_temporary: bool,
}

impl ScratchFile {
    /// A file in the folder for temporary files.
    pub(super) fn temporary(folder: &Path) -> io::Result<Self> {
        Self::create(folder, true)
    }

    /// A file in another folder.
    pub(super) fn beside(folder: &Path) -> io::Result<Self> {
        Self::create(folder, false)
    }

    fn create(folder: &Path, is_temporary: bool) -> io::Result<Self> {
        let place = Arc::new(Place { folder: folder.to_path_buf(), is_temporary });
        let file = tempfile::tempfile_in(folder).map_err(|error| place.named(&error))?;
        Ok(Self { file, place })
    }

    /// Another handle of the same file, with the same place in it.
    pub fn try_clone(&self) -> io::Result<Self> {
        let file = self.file.try_clone().map_err(|error| self.place.named(&error))?;
        Ok(Self { file, place: Arc::clone(&self.place) })
    }

    /// Its size.
    pub fn n_bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Some of the bytes at a place.
    pub fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<usize> {
        self.file.read_at(bytes, at).map_err(|error| self.place.named(&error))
    }

    /// All of the bytes at a place.
    pub fn read_exact_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, at).map_err(|error| self.place.named(&error))
    }

    /// Writes at a place.
    pub fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, at).map_err(|error| self.place.named(&error))
    }
}

impl Place {
    fn named(&self, error: &io::Error) -> io::Error {
        use io::ErrorKind::{FileTooLarge, Interrupted, QuotaExceeded, StorageFull};
        let folder = self.folder.display();
        let kind = error.kind();
        io::Error::new(
            kind,
            match kind {
                // Tried again by who called.
                Interrupted => return kind.into(),
                StorageFull | FileTooLarge | QuotaExceeded if self.is_temporary => {
                    format!("a temporary file in '{folder}': {error}; name another folder with --temp-dir")
                }
                _ => format!("a temporary file in '{folder}': {error}"),
            },
        )
    }
}

impl Write for &ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&self.file).write(bytes).map_err(|error| self.place.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.file).flush().map_err(|error| self.place.named(&error))
    }
}

impl Read for &ScratchFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(bytes).map_err(|error| self.place.named(&error))
    }
}

impl Seek for &ScratchFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&self.file).seek(to).map_err(|error| self.place.named(&error))
    }
}

impl Write for ScratchFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self).flush()
    }
}

impl Read for ScratchFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self).read(bytes)
    }
}

impl Seek for ScratchFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}
