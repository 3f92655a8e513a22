//! Standard output, and whether there is one.
//!
//! A program that is started with a closed stdout (`>&-`) is given `/dev/null` in its place by the standard library, where
//! everything that is written passes for written. So the program looks before that happens ([`look_at_stdout`]).
//! Not here: a reader that goes away later (`| head`), which ends a run in peace.

use rustix::io::fcntl_getfd;
use std::io::{Error, Result, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Finds out whether the process was given a standard output. To be called before `main`.
pub fn look_at_stdout() {
    if fcntl_getfd(std::io::stdout()).is_err() {
        IS_CLOSED.store(true, Ordering::Relaxed);
    }
}

/// Where data goes that is printed; an error if nothing can be.
#[derive(Debug, Default)]
pub struct Stdout;

impl Stdout {
    /// An error if nothing can be written.
    pub fn check(&self) -> Result<()> {
        match IS_CLOSED.load(Ordering::Relaxed) {
            true => Err(Error::other("standard output is closed")),
            false => Ok(()),
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.check()?;
        std::io::stdout().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        self.check()?;
        std::io::stdout().flush()
    }
}
