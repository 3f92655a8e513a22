//! A hook for tests: lets a commit fail, or the process die, before the n-th step that it takes on the disk.
//!
//! `CURATOR_FAULT=abort:3` ends the process before the third step, as a crash would; `fail:3` lets the step fail as a
//! full disk would. Steps are writing the record, each removal, each rename, and the cleaning up. `abort-kept:3` and
//! `fail-kept:3` do so before the record of the third split that is kept. Nothing else reads it.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is to happen, and before which step.
#[derive(Clone, Copy)]
struct Fault {
    aborts: bool,
    of: Steps,
    at: usize,
}

/// What kind of steps are counted.
#[derive(Clone, Copy, PartialEq)]
enum Steps {
    Commit,
    Kept,
}

/// Called before each step of a commit.
pub(super) fn step() -> io::Result<()> {
    step_of(Steps::Commit)
}

/// Called before each split that is kept.
pub(super) fn keep() -> io::Result<()> {
    step_of(Steps::Kept)
}

fn step_of(steps: Steps) -> io::Result<()> {
    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    let Some(fault) = FAULT.get_or_init(asked_for).filter(|fault| fault.of == steps) else { return Ok(()) };
    if STEPS.fetch_add(1, Ordering::SeqCst) + 1 != fault.at {
        return Ok(());
    }
    if fault.aborts {
        std::process::abort();
    }
    Err(io::Error::new(io::ErrorKind::StorageFull, "no space left (CURATOR_FAULT)"))
}

fn asked_for() -> Option<Fault> {
    let text = std::env::var("CURATOR_FAULT").ok()?;
    let (kind, at) = text.split_once(':')?;
    let (of, kind) = kind.strip_suffix("-kept").map_or((Steps::Commit, kind), |kind| (Steps::Kept, kind));
    Some(Fault { aborts: kind == "abort", of, at: at.parse().ok()? })
}
