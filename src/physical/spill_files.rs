//! `SpillFiles`: where DataFusion's operators put what does not fit in memory.
//!
//! Invariant: the files have no names, so they are gone with the process however it ends, and nobody has to find and remove
//! what a dead run left.
//! Not here: what our own operators spill (`verbs::budget`), to files of the same kind.

use crate::bug;
use crate::store::{ScratchFile, TempSpace};
use bytes::Bytes;
use datafusion::error::Result;
use datafusion::execution::spill_file::{SpillFile, SpillWriter, TempFileFactory};
use futures::stream::{Stream, try_unfold};
use std::io::{self, ErrorKind, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::task::spawn_blocking;

/// Bytes that are read at a time: a merge reads many files side by side.
const READ_BYTES: usize = 128 << 10;

/// Makes files for DataFusion.
#[derive(Debug)]
pub struct SpillFiles(pub Arc<TempSpace>);

impl TempFileFactory for SpillFiles {
    fn create_temp_file(&self, _description: &str) -> Result<Arc<dyn SpillFile>> {
        let (file, space) = (Arc::new(self.0.file()?), Arc::clone(&self.0));
        Ok(Arc::new(UnnamedFile { file, n_bytes: Arc::default(), space }))
    }
}

/// One file, written once and then read, maybe while it is still written.
struct UnnamedFile {
    file: Arc<ScratchFile>,
    n_bytes: Arc<AtomicU64>,
    space: Arc<TempSpace>,
}

impl Drop for UnnamedFile {
    fn drop(&mut self) {
        self.space.release(self.n_bytes.load(Ordering::Acquire));
    }
}

impl SpillFile for UnnamedFile {
    fn size(&self) -> Option<u64> {
        Some(self.n_bytes.load(Ordering::Acquire))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let from_start = (Arc::clone(&self.file), 0);
        Ok(Box::pin(try_unfold(from_start, |(file, at)| async move {
            let reading = Arc::clone(&file);
            let read = spawn_blocking(move || read_at(&reading, at)).await;
            let bytes = read.map_err(|error| bug!("a thread that read a temporary file died: {error}"))??;
            let next = at + bytes.len() as u64;
            Ok((!bytes.is_empty()).then_some((bytes, (file, next))))
        })))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let (file, n_bytes) = (Arc::clone(&self.file), Arc::clone(&self.n_bytes));
        Ok(Box::new(Appender { file, n_bytes, space: Arc::clone(&self.space) }))
    }
}

/// Some of the next bytes; none at the end.
fn read_at(file: &ScratchFile, at: u64) -> io::Result<Bytes> {
    let mut bytes = vec![0; READ_BYTES];
    loop {
        match file.read_at(&mut bytes, at) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => {
                bytes.truncate(read?);
                return Ok(bytes.into());
            }
        }
    }
}

/// Adds to the end of a file.
struct Appender {
    file: Arc<ScratchFile>,
    n_bytes: Arc<AtomicU64>,
    space: Arc<TempSpace>,
}

impl Write for Appender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.space.claim(bytes.len() as u64)?;
        self.file.write_all_at(bytes, self.n_bytes.load(Ordering::Acquire))?;
        self.n_bytes.fetch_add(bytes.len() as u64, Ordering::AcqRel);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SpillWriter for Appender {
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures::TryStreamExt;

    #[tokio::test]
    async fn what_was_written_comes_back_and_can_be_read_again() {
        let file = SpillFiles(Arc::new(TempSpace::new(None, None).unwrap())).create_temp_file("test").unwrap();
        assert!(file.path().is_none(), "nothing is left of it, however the process ends");
        let mut writer = file.open_writer().unwrap();
        let written: Vec<u8> = (0..3 * READ_BYTES + 17).map(|n| (n % 251) as u8).collect();
        written.chunks(1000).for_each(|chunk| writer.write_all(chunk).unwrap());
        writer.finish().unwrap();
        assert_eq!(file.size(), Some(written.len() as u64));
        for _ in 0..2 {
            let read: Vec<Bytes> = file.read_stream().unwrap().try_collect().await.unwrap();
            assert!(read.concat() == written);
        }
    }
}
