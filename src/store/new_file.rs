//! Writing: a new file of this machine, or an upload to a bucket.
//!
//! Not here: when it gets its name (`outbox.rs`).

use super::remote::{Upload, is_remote};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// A file that is written from its beginning on.
#[derive(Debug)]
pub struct NewFile(Sink);

#[derive(Debug)]
enum Sink {
    Local(File),
    Upload(Arc<Upload>),
}

impl NewFile {
    fn of_file(file: File) -> Self {
        Self(Sink::Local(file))
    }

    pub(super) fn of_upload(upload: Arc<Upload>) -> Self {
        Self(Sink::Upload(upload))
    }

    /// A file that must not be there yet.
    pub fn create(path: &Path) -> io::Result<Self> {
        File::create_new(path).map(Self::of_file)
    }

    /// A file, in place of one that is there.
    pub fn replace(path: &Path) -> io::Result<Self> {
        if is_remote(path) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "an object can only be written by a run"));
        }
        File::create(path).map(Self::of_file)
    }

    /// A pipe or a device, which is there and stays.
    pub fn stream(path: &Path) -> io::Result<Self> {
        File::options().write(true).open(path).map(Self::of_file)
    }

    /// Another handle of the same file.
    pub fn again(&self) -> io::Result<Self> {
        match &self.0 {
            Sink::Local(file) => file.try_clone().map(Self::of_file),
            Sink::Upload(upload) => Ok(Self::of_upload(Arc::clone(upload))),
        }
    }

    /// Waits until everything is on the disk, or with the store.
    pub fn sync(&self) -> io::Result<()> {
        match &self.0 {
            Sink::Local(file) => file.sync_all(),
            Sink::Upload(upload) => upload.finish().map(drop),
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Sink::Local(file) => file.write(bytes),
            Sink::Upload(upload) => upload.write(bytes).map(|()| bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Sink::Local(file) => file.flush(),
            Sink::Upload(_) => Ok(()),
        }
    }
}
