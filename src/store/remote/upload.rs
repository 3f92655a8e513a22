//! Writes an object that nobody sees before it is completed: a multipart upload.
//!
//! ```text
//! bytes ──► buffer ──8 MB──► parts, some under way ──finish──► what completes it: for the record of a commit
//! ```
//! Beside the upload stands a small object that names it, so that the next run finds what a dead one has begun.
//!
//! Invariants: parts have one size but for the last, as some stores ask for; what all uploads have under way stays within a
//! limit; after a part has failed for good, nothing more is written.

use super::requests::{attempts, spawn, wait};
use super::trouble::Trouble;
use super::{Backend, Object};
use crate::store::remote::bucket::{Bucket, If};
use serde::{Deserialize, Serialize};
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

const PART_BYTES: usize = 8 << 20;
/// Stores take ten thousand parts: a file that has so many already gets larger ones.
const MANY_PARTS: usize = 5000;
const LARGE_PART_BYTES: usize = 64 << 20;
/// What uploads may have under way together.
const MAX_UNDER_WAY: usize = 128 << 20;

static UNDER_WAY: Mutex<usize> = Mutex::new(0);
static HAS_ROOM: Condvar = Condvar::new();

/// What an upload needs to become the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::store) struct Completion {
    pub id: String,
    pub parts: Vec<String>,
    pub n_bytes: u64,
    /// The version that is there before, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

/// What the object beside an upload says.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    /// The URL of the object to be.
    to: String,
    id: String,
}

/// An object being written.
pub(in crate::store) struct Upload {
    object: Object,
    id: String,
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    buffer: Vec<u8>,
    n_bytes: u64,
    parts: Vec<Option<String>>,
    n_running: usize,
    trouble: Option<Trouble>,
    is_over: bool,
    completion: Option<Completion>,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload").field("key", &self.object.key).finish_non_exhaustive()
    }
}

impl Object {
    fn bucket(&self) -> std::result::Result<&Bucket, Trouble> {
        match &*self.backend {
            Backend::Bucket(bucket) => Ok(bucket),
            Backend::Web(_) | Backend::Hub(_) => {
                Err(Trouble::permanent(ErrorKind::Unsupported, "only buckets (s3://, gs://, az://) can be written to"))
            }
        }
    }

    /// Writes a small object, in place of one that is there.
    pub fn put(&self, bytes: Vec<u8>) -> Result<()> {
        let (object, bytes) = (self.clone(), bytes::Bytes::from(bytes));
        wait(async move {
            let bucket = object.bucket()?;
            attempts(|| bucket.put(&object.key, bytes.clone(), If::Always)).await.map(drop)
        })
    }

    /// Removes an object, if it is there.
    pub fn delete(&self) -> Result<()> {
        let object = self.clone();
        wait(async move {
            let bucket = object.bucket()?;
            attempts(|| bucket.delete(&object.key)).await
        })
    }

    /// Removes an object if it is this version.
    pub fn remove_version(&self, etag: Option<&str>) -> Result<()> {
        match self.head() {
            Ok(meta) if meta.etag.as_deref() == etag => self.delete(),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes an upload the object, unless it is the object already.
    pub fn complete(&self, completion: &Completion) -> Result<()> {
        let (object, completion) = (self.clone(), completion.clone());
        wait(async move {
            let bucket = object.bucket()?;
            let completed = attempts(|| bucket.complete(&object.key, &completion.id, &completion.parts)).await;
            let Err(trouble) = completed else { return Ok(()) };
            if trouble.is_transient || trouble.kind == ErrorKind::PermissionDenied {
                return Err(trouble);
            }
            // Who asked before had no answer, or died: then the object is no more what it was, and as long as it should be.
            match attempts(|| bucket.head(&object.key)).await {
                Ok(meta) if meta.etag != completion.replaces && meta.n_bytes == completion.n_bytes => Ok(()),
                _ => Err(trouble),
            }
        })
    }
}

/// Throws away the upload that a marker names, and the marker.
pub(in crate::store) fn abort_marked(marker: &Path) -> Result<()> {
    let object = Object::of(marker)?;
    match object.read() {
        Ok(text) => {
            if let Ok(Marker { to, id }) = serde_json::from_slice(&text) {
                abort(&Object::of(Path::new(&to))?, &id)?;
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    object.delete()
}

fn abort(object: &Object, id: &str) -> Result<()> {
    let (object, id) = (object.clone(), id.to_string());
    wait(async move {
        let bucket = object.bucket()?;
        attempts(|| bucket.abort(&object.key, &id)).await
    })
}

impl Upload {
    /// Begins the object that will be at `to`, with a marker beside it.
    pub fn begin(to: &Path, marker: &Path) -> Result<Arc<Self>> {
        let object = Object::of(to)?;
        let asked = object.clone();
        let id = wait(async move {
            let bucket = asked.bucket()?;
            attempts(|| bucket.begin_upload(&asked.key)).await
        })?;
        let text = Marker { to: to.to_string_lossy().into_owned(), id: id.clone() };
        let text = serde_json::to_vec(&text).map_err(Error::other)?;
        Object::of(marker)?.put(text)?;
        Ok(Arc::new(Self { object, id, state: Mutex::default(), has_changed: Condvar::new() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends bytes. Waits when much is under way.
    pub fn write(self: &Arc<Self>, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let mut state = self.lock();
            if let Some(trouble) = &state.trouble {
                return Err(trouble.clone().into());
            }
            let part_bytes = if state.parts.len() < MANY_PARTS { PART_BYTES } else { LARGE_PART_BYTES };
            let n_bytes = rest.len().min(part_bytes - state.buffer.len());
            state.buffer.extend_from_slice(&rest[..n_bytes]);
            state.n_bytes += n_bytes as u64;
            rest = &rest[n_bytes..];
            if state.buffer.len() == part_bytes {
                let part = std::mem::take(&mut state.buffer);
                drop(state);
                self.send(part)?;
            }
        }
        Ok(())
    }

    /// Sends a part, when there is room.
    fn send(self: &Arc<Self>, bytes: Vec<u8>) -> Result<()> {
        let room = Room::wait_for(bytes.len());
        let (number, upload, bytes) = {
            let mut state = self.lock();
            state.parts.push(None);
            state.n_running += 1;
            (state.parts.len() - 1, Arc::clone(self), bytes::Bytes::from(bytes))
        };
        spawn(async move {
            let ending = Ending { upload: Arc::clone(&upload), _room: room };
            let sent = match upload.object.bucket() {
                Ok(bucket) => attempts(|| bucket.put_part(&upload.object.key, &upload.id, number, bytes.clone())).await,
                Err(trouble) => Err(trouble),
            };
            let mut state = upload.lock();
            match sent {
                Ok(part) => state.parts[number] = Some(part),
                Err(trouble) => state.trouble = state.trouble.take().or(Some(trouble)),
            }
            drop((state, ending));
        })?;
        Ok(())
    }

    /// Sends what is left and waits for all parts. Gives what makes it the object; it can be asked for again.
    pub fn finish(self: &Arc<Self>) -> Result<Completion> {
        let mut state = self.lock();
        if !state.is_over {
            state.is_over = true;
            let last = std::mem::take(&mut state.buffer);
            // An object without bytes has one part without bytes.
            if !last.is_empty() || state.parts.is_empty() {
                drop(state);
                self.send(last)?;
                state = self.lock();
            }
        }
        while state.n_running > 0 {
            state = self.has_changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(trouble) = &state.trouble {
            return Err(trouble.clone().into());
        }
        if let Some(completion) = &state.completion {
            return Ok(completion.clone());
        }
        let parts: Option<Vec<String>> = state.parts.iter().cloned().collect();
        let parts = parts.ok_or_else(|| Error::other("a part of an upload ended unexpectedly"))?;
        let n_bytes = state.n_bytes;
        drop(state);
        let replaces = match self.object.head() {
            Ok(meta) => meta.etag,
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let completion = Completion { id: self.id.clone(), parts, n_bytes, replaces };
        Ok(self.lock().completion.insert(completion).clone())
    }

    /// Throws it away.
    pub fn abort(&self) -> Result<()> {
        abort(&self.object, &self.id)
    }
}

/// A part under way ends, however it does.
struct Ending {
    upload: Arc<Upload>,
    _room: Room,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.upload.lock().n_running -= 1;
        self.upload.has_changed.notify_all();
    }
}

/// A share of what may be under way.
struct Room(usize);

impl Room {
    fn wait_for(n_bytes: usize) -> Self {
        let mut taken = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
        while *taken > 0 && *taken + n_bytes > MAX_UNDER_WAY {
            taken = HAS_ROOM.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        *taken += n_bytes;
        Self(n_bytes)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        *UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner) -= self.0;
        HAS_ROOM.notify_all();
    }
}
