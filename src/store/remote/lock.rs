//! A lock in a bucket: an object that only one run can create, renewed while the run lives.
//!
//! ```text
//! nobody has it     put, if absent ───────────────────► ours
//! a run has it      of this machine, and dead ────────► put, if it is still that version ──► ours
//!                   of another, not renewed for LEASE ► the same
//!                   otherwise ────────────────────────► taken
//! ```
//! No clock is compared: who finds a lock of another machine watches whether it is renewed.
//!
//! Invariant: who has lost its lock (it was stopped for longer than the lease) does not commit. A store that knows no
//! conditions cannot keep two runs apart that begin at the same moment; that is said.

use super::bucket::If;
use super::requests::{attempts, spawn, wait};
use super::trouble::Trouble;
use super::{Backend, Object};
use object_store::UpdateVersion;
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// How long a lock counts that is not renewed.
const LEASE: Duration = Duration::from_secs(45);
const RENEWAL: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(500);

/// What the object says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Holder {
    process: Process,
    /// Of this one lock.
    token: String,
    n_renewals: u64,
}

/// A process, as others on its machine can look for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Process {
    boot: String,
    /// Of processes: a container has its own.
    namespace: String,
    id: u32,
    started: String,
}

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(in crate::store) struct RemoteLock {
    object: Object,
    token: String,
    is_lost: Arc<AtomicBool>,
    renewing: AbortHandle,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Object").field(&self.key).finish()
    }
}

impl RemoteLock {
    /// Takes a lock; `None` if somebody else has it.
    pub fn take(path: &Path) -> Result<Option<Self>> {
        let object = Object::of(path)?;
        let ours = Holder { process: Process::own(), token: token(), n_renewals: 0 };
        let mut seen: Option<(Holder, Instant)> = None;
        loop {
            let when = match look(&object)? {
                None => If::Absent,
                Some((holder, version)) => match holder.process.is_alive() {
                    Some(true) => return Ok(None),
                    Some(false) => If::Same(version),
                    None => {
                        let (first, since) = seen.get_or_insert_with(|| (holder.clone(), Instant::now()));
                        if *first != holder {
                            return Ok(None);
                        }
                        if since.elapsed() <= LEASE {
                            std::thread::sleep(PAUSE);
                            continue;
                        }
                        If::Same(version)
                    }
                },
            };
            if let Some(version) = put(&object, &ours, when)? {
                return Self::hold(object, ours, version).map(Some);
            }
        }
    }

    /// Whether nobody else has taken it, as the store says now.
    pub fn is_held(&self) -> Result<bool> {
        let is_ours = |(holder, _): (Holder, UpdateVersion)| holder.token == self.token;
        Ok(!self.is_lost.load(Ordering::SeqCst) && look(&self.object)?.is_some_and(is_ours))
    }

    fn hold(object: Object, holder: Holder, version: Option<UpdateVersion>) -> Result<Self> {
        let (is_lost, token) = (Arc::new(AtomicBool::new(false)), holder.token.clone());
        let renewing = spawn(renew(object.clone(), holder, version, Arc::clone(&is_lost)))?;
        Ok(Self { object, token, is_lost, renewing })
    }
}

impl RemoteLock {
    /// Gives it back, once.
    pub fn release(&self) {
        self.renewing.abort();
        // Somebody else may have it a moment later.
        if !self.is_lost.swap(true, Ordering::SeqCst) {
            let _ = self.object.delete();
        }
    }
}

impl Drop for RemoteLock {
    fn drop(&mut self) {
        self.release();
    }
}

/// Renews a lock until it is lost.
async fn renew(object: Object, mut holder: Holder, mut version: Option<UpdateVersion>, is_lost: Arc<AtomicBool>) {
    let mut renewed = Instant::now();
    loop {
        tokio::time::sleep(RENEWAL).await;
        holder.n_renewals += 1;
        let when = version.clone().map_or(If::Always, If::Same);
        match put_once(&object, &holder, when).await {
            Ok(now) => {
                version = version.and(Some(now));
                renewed = Instant::now();
            }
            Err(trouble) if matches!(trouble.kind, ErrorKind::AlreadyExists | ErrorKind::NotFound) => break,
            Err(_) if renewed.elapsed() > LEASE => break,
            Err(_) => {}
        }
    }
    is_lost.store(true, Ordering::SeqCst);
}

async fn put_once(object: &Object, holder: &Holder, when: If) -> std::result::Result<UpdateVersion, Trouble> {
    let text = serde_json::to_vec(holder);
    let text = text.map_err(|error| Trouble::permanent(ErrorKind::Other, error.to_string()))?;
    match &*object.backend {
        Backend::Bucket(bucket) => {
            let text = bytes::Bytes::from(text);
            attempts(|| bucket.put(&object.key, text.clone(), when.clone())).await
        }
        Backend::Web(_) | Backend::Hub(_) => Err(no_bucket()),
    }
}

/// Who has the lock, if it is there.
fn look(object: &Object) -> Result<Option<(Holder, UpdateVersion)>> {
    let object = object.clone();
    wait(async move {
        let Backend::Bucket(bucket) = &*object.backend else { return Err(no_bucket()) };
        match attempts(|| bucket.get_version(&object.key)).await {
            Err(trouble) if trouble.kind == ErrorKind::NotFound => Ok(None),
            found => {
                let (text, version) = found?;
                let told = "the lock there is none of curator's; remove it if no run is at work";
                let holder = serde_json::from_slice(&text);
                let holder = holder.map_err(|_| Trouble::permanent(ErrorKind::InvalidData, told))?;
                Ok(Some((holder, version)))
            }
        }
    })
}

/// Writes a lock. Gives its version, or none where the store knows no conditions; nothing if somebody else was faster.
fn put(object: &Object, ours: &Holder, when: If) -> Result<Option<Option<UpdateVersion>>> {
    let (object, ours) = (object.clone(), ours.clone());
    wait(async move {
        let is_first = matches!(when, If::Absent);
        let knows_conditions = match put_once(&object, &ours, when).await {
            // Some stores pass over a condition in silence: then a second lock can be put where the first one is.
            Ok(_) if is_first => put_once(&object, &ours, If::Absent).await.is_err(),
            Ok(_) => true,
            Err(trouble) if matches!(trouble.kind, ErrorKind::AlreadyExists | ErrorKind::NotFound) => true,
            Err(trouble) if trouble.kind == ErrorKind::Unsupported => {
                put_once(&object, &ours, If::Always).await?;
                false
            }
            Err(trouble) => return Err(trouble),
        };
        if !knows_conditions {
            tracing::warn!(
                "the store knows no conditional writes, so it cannot keep two runs apart that begin there at one moment"
            );
        }
        let Backend::Bucket(bucket) = &*object.backend else { return Err(no_bucket()) };
        // The answer to the attempt that wrote it may have been lost.
        let (text, version) = match attempts(|| bucket.get_version(&object.key)).await {
            Err(trouble) if trouble.kind == ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        let is_ours = serde_json::from_slice::<Holder>(&text).is_ok_and(|there| there == ours);
        Ok(is_ours.then(|| knows_conditions.then_some(version)))
    })
}

fn no_bucket() -> Trouble {
    Trouble::permanent(ErrorKind::Unsupported, "only buckets (s3://, gs://, az://) can be written to")
}

impl Process {
    fn own() -> Self {
        let id = std::process::id();
        Self { boot: boot(), namespace: namespace(), id, started: started(id).unwrap_or_default() }
    }

    /// Whether it lives; `None` if it is of another machine or container.
    fn is_alive(&self) -> Option<bool> {
        let is_here = !self.boot.is_empty() && (&self.boot, &self.namespace) == (&boot(), &namespace());
        is_here.then(|| started(self.id).as_ref() == Some(&self.started))
    }
}

/// Each start of a machine has its own name.
fn boot() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_string()
}

fn namespace() -> String {
    std::fs::read_link("/proc/self/ns/pid").map(|link| link.display().to_string()).unwrap_or_default()
}

/// When a process was started, in the system's ticks: an id may be given to another one later.
fn started(id: u32) -> Option<String> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name before may hold anything, but not behind its last bracket.
    let fields = text.rsplit_once(')')?.1.split_whitespace().collect::<Vec<_>>();
    let is_dead = matches!(fields.first(), Some(&"Z" | &"X"));
    fields.get(19).filter(|_| !is_dead).map(|ticks| ticks.to_string())
}

fn token() -> String {
    let random = || RandomState::new().hash_one((Instant::now(), std::process::id()));
    format!("{:016x}{:016x}", random(), random())
}
