//! Finishing what a run has committed and did not live to carry out; done by whoever opens one of its places next.
//!
//! A run that is carrying out its own commit holds its locks, and is waited for: it takes as long as its renames do.

use super::claim::remove_leftovers;
use super::files;
use super::kept::KeptWork;
use super::location::{AREA, Location, file_area};
use super::lock::lock_file;
use super::objects::folders_around;
use super::record::{JOINED, Joined, RECORD, Record, read_json};
use super::remote::{Scheme, is_remote, scheme_of};
use crate::{Error, Result};
use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long another run may take to carry out its commit.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);
const REMOTE_PAUSE: Duration = Duration::from_millis(500);

/// Carries out what was committed in a place. Gives whether there was anything.
pub fn settle(location: &Location) -> Result<bool> {
    settle_area(&location.area)
}

/// The same for everything that a path is part of: the file, its folder, and the folders above.
pub fn settle_around(path: &Path) -> Result<bool> {
    let path = super::real_path(path);
    if matches!(scheme_of(&path), Some(Scheme::Web | Scheme::Hub)) {
        // Nobody writes there.
        return Ok(false);
    }
    let mut has_changed = false;
    if let Some(folder) = path.parent() {
        has_changed |= settle_area(&folder.join(file_area(&path)))?;
    }
    for folder in folders_around(&path) {
        has_changed |= settle_area(&folder.join(AREA))?;
    }
    Ok(has_changed)
}

/// The same for files below a folder that are each, or whose folders are, places of their own.
pub(crate) fn settle_within<'p>(base: &Path, files: impl Iterator<Item = &'p Path>) -> Result<bool> {
    let mut seen = HashSet::new();
    let mut has_changed = false;
    for file in files {
        let Some(parent) = file.parent() else { continue };
        has_changed |= settle_area(&parent.join(file_area(file)))?;
        for folder in parent.ancestors().take_while(|folder| folder.starts_with(base)) {
            if !seen.insert(folder) {
                break;
            }
            has_changed |= settle_area(&folder.join(AREA))?;
        }
    }
    Ok(has_changed)
}

/// The same for a hidden folder for work under way, which need not be there.
pub(super) fn settle_area(area: &Path) -> Result<bool> {
    let started = Instant::now();
    let mut has_changed = false;
    loop {
        let Some(path) = record_of(area)? else { return Ok(has_changed) };
        let (record, locations) = match Record::read(&path) {
            Ok(Some(found)) => found,
            // It has just been carried out.
            Ok(None) => return Ok(has_changed),
            // The same, while we were reading.
            Err(_) if !files::is_there(&path)? => continue,
            Err(error) => return Err(error),
        };
        has_changed = true;
        let locks: Option<Vec<_>> =
            locations.iter().map(|location| lock_file(&location.lock)).collect::<Result<_>>()?;
        match locks {
            Some(_locks) if files::is_there(&path)? => {
                tracing::info!("carrying out what a run has committed in {}", area.display());
                record.carry_out().map_err(|error| unsettled(&path, &error))?;
                locations.iter().try_for_each(|location| KeptWork::of(location).remove())?;
                record.remove().map_err(|error| unsettled(&path, &error))?;
                locations.iter().for_each(tidy);
            }
            Some(_locks) => locations.iter().for_each(tidy),
            None if started.elapsed() > PATIENCE => {
                return Err(Error::Data(format!("{}: another run is being committed here; try again", area.display())));
            }
            None => std::thread::sleep(if is_remote(area) { REMOTE_PAUSE } else { PAUSE }),
        }
    }
}

/// The record that a place takes part in, if it is there.
fn record_of(area: &Path) -> Result<Option<PathBuf>> {
    let own = area.join(RECORD);
    if is_remote(area) {
        // One list says of both.
        let names = match files::names_in(area) {
            // Who may not look there did not write there; where there is no bucket, reading and writing say so.
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound) => return Ok(None),
            names => names.map_err(|error| Error::io(area, error))?,
        };
        if names.iter().any(|name| name == RECORD) {
            return Ok(Some(own));
        }
        if !names.iter().any(|name| name == JOINED) {
            return Ok(None);
        }
    } else if own.exists() {
        return Ok(Some(own));
    }
    let joined: Option<Joined> = read_json(&area.join(JOINED))?;
    // Without its record, the commit never was, or is history.
    let Some(record) = joined.map(|joined| joined.record.to_path()) else { return Ok(None) };
    Ok(files::is_there(&record)?.then_some(record))
}

/// Nothing is under way there any more; only for who holds the lock.
fn tidy(location: &Location) {
    let _ = remove_leftovers(&location.area);
    if is_remote(&location.area) {
        return;
    }
    if !location.keeps_lock {
        let _ = fs::remove_file(&location.lock);
    }
    let _ = fs::remove_dir(&location.area);
}

fn unsettled(record: &Path, error: &Error) -> Error {
    Error::Data(format!(
        "{}: a run has committed this, and it cannot be carried out: {error}\n\
         the output is complete once a curator command that may write there has opened it",
        record.display()
    ))
}
