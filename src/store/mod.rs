//! Files: what is there, reading and writing them (`files.rs`); where runs write, and how everything that a run made becomes
//! visible at once. No other module knows how files are reached.
//!
//! ```text
//!  Outbox ──claim (lock)──► Claim of a Location ──stage──► .curator-stage/RUN/… ──commit──► final names
//!                                                          (hidden, synced)       one record over all locations
//! ```
//! A run claims every place that it will change before it reads a row. What it makes is *staged* below a hidden folder in
//! that place. [`Outbox::commit`] writes one record that lists all removals and renames over all places; when the record
//! has its name, the run is committed, and the changes are carried out. A crash before that leaves the old state, a crash
//! after it is rolled forward by whoever next opens one of the places ([`settle`]).
//!
//! What a run has finished and would have to do again after a crash is *kept* beside what it stages ([`KeptWork`]), until the
//! commit.
//!
//! Invariants: a place has one writer at a time; nothing has its final name before the record has; who settles a place
//! before reading it sees the state before a commit or after it, in all places of the commit.
//! Not here: what the files hold, and which files an output consists of (`sinks::manifest`).

mod claim;
mod fault;
mod files;
mod free_memory;
mod kept;
mod location;
mod lock;
mod mapped;
mod matching;
mod new_file;
mod objects;
mod outbox;
mod record;
mod remote;
mod scratch_file;
mod settle;
mod staging;
mod stdout;
mod stored_file;
mod temp_space;
#[cfg(test)]
mod tests;

pub use claim::{Claim, remove_unfinished};
pub use files::{
    Kind, Stat, create_folder, exists, followed, is_file, is_folder, is_taken, names_in, read, remove, rename,
    scratch_file, stat, temp_file,
};
pub(crate) use free_memory::most_of_free_memory;
pub use kept::{KeptFile, KeptPart, KeptReader, KeptWork};
pub(crate) use location::real_path;
pub use location::{AREA, Location};
pub use lock::Lock;
pub(crate) use lock::lock_file;
pub use mapped::map;
pub use matching::{NoMatch, alternatives, data_below, matches, matching, shown_path};
pub use new_file::NewFile;
pub use objects::{FoundObject, connect, folders_around, is_data, object, objects_below, objects_matching};
pub use outbox::Outbox;
pub(crate) use remote::{Scheme, is_remote, plain, scheme_of};
pub use remote::{limit_read_ahead, outage};
pub use scratch_file::ScratchFile;
pub(crate) use settle::settle_within;
pub use settle::{settle, settle_around};
pub use stdout::{Stdout, look_at_stdout};
pub use stored_file::{Known, StoredFile};
pub use temp_space::TempSpace;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Makes renames in a folder last. Some file systems refuse; what is in the files is safe by then.
pub(crate) fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// Folders whose renames are made to last at one time: a disk does many in the time that it takes for one.
const SYNCS_AT_ONCE: usize = 32;

/// Makes renames in many folders last, each once.
fn sync_folders(folders: &BTreeSet<PathBuf>) {
    many_at_once(folders, sync_folder);
}

/// Calls `work` with each path, on several threads that mostly wait.
fn many_at_once(paths: &BTreeSet<PathBuf>, work: impl Fn(&Path) + Sync) {
    let left = Mutex::new(paths.iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let do_rest = || {
        while let Some(path) = next() {
            work(path);
        }
    };
    std::thread::scope(|scope| {
        for number in 1..SYNCS_AT_ONCE.min(paths.len()) {
            // Where no thread can be started, this one does its work.
            let _ = std::thread::Builder::new().name(format!("curator-sync-{number}")).spawn_scoped(scope, do_rest);
        }
        do_rest();
    });
}
