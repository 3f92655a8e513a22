//! Object stores: S3, Google, Azure, web servers and the Hugging Face Hub, seen as files.
//!
//! ```text
//! path ──address──► backend (bucket, web, hub; one for each root) ──requests: limits, retries──► reading, listing, upload
//! ```
//! The rest of `store` calls this with paths that are URLs, from synchronous code. Requests run on threads of their own
//! (`requests.rs`).
//!
//! Invariants: bytes of an object are of one version of it, or reading fails; messages name the object as the user wrote it,
//! and hold no credentials.

mod address;
mod bucket;
mod connect;
mod hub;
mod listing;
mod lock;
mod profile;
mod reading;
mod requests;
mod trouble;
mod upload;
mod web;

pub(crate) use address::{Scheme, is_remote, plain, root_of, scheme_of};
pub(super) use listing::{below, folders_and_files, is_folder, matching};
pub(super) use lock::RemoteLock;
pub(super) use reading::RemoteFile;
pub use reading::{limit_read_ahead, outage};

pub(super) use upload::{Completion, Upload, abort_marked};

use address::Address;
use bucket::Bucket;
use bytes::Bytes;
use hub::Hub;
use requests::{attempts, wait};
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use trouble::Trouble;
use web::{Web, url_of};

/// What a store says of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub key: String,
    pub n_bytes: u64,
    pub modified: Option<SystemTime>,
    /// Another version of the object has another one.
    pub etag: Option<String>,
}

/// A part of a list of objects.
#[derive(Debug, Default)]
struct Page {
    objects: Vec<Meta>,
    folders: Vec<String>,
    /// Asks for the next part.
    next: Option<String>,
}

/// What objects are asked of.
enum Backend {
    Bucket(Bucket),
    Web(Web),
    Hub(Hub),
}

/// An object, or a place for one.
#[derive(Clone)]
pub(super) struct Object {
    backend: Arc<Backend>,
    key: String,
}

impl Object {
    /// The object of a URL. Nothing is asked of it yet, but its bucket is connected to.
    pub fn of(path: &Path) -> io::Result<Self> {
        let address = Address::parse(path)?;
        let backend = Backend::of(&address)?;
        Ok(Self { backend, key: address.key })
    }

    /// What is there; an error of the kind `NotFound` if nothing is.
    pub fn head(&self) -> io::Result<Meta> {
        let object = self.clone();
        wait(async move { attempts(|| object.backend.head(&object.key)).await })
    }

    /// All bytes of a small object.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        if let Backend::Bucket(_) = *self.backend {
            let object = self.clone();
            return wait(async move {
                let Backend::Bucket(bucket) = &*object.backend else { return Ok(vec![]) };
                attempts(|| bucket.get_version(&object.key)).await.map(|(bytes, _)| bytes.into())
            });
        }
        let (object, meta) = (self.clone(), self.head()?);
        if meta.n_bytes == 0 {
            return Ok(vec![]);
        }
        let pieces = wait(async move { object.get(0..meta.n_bytes, meta.etag).await })?;
        Ok(pieces.concat())
    }

    /// Whether a list can be asked for by the beginning of a name.
    fn lists_by_prefix(&self) -> bool {
        matches!(*self.backend, Backend::Bucket(_))
    }

    async fn get(&self, range: Range<u64>, etag: Option<String>) -> Result<Vec<Bytes>, Trouble> {
        attempts(|| self.backend.get(&self.key, range.clone(), etag.clone())).await
    }

    async fn page(&self, prefix: &str, is_flat: bool, token: Option<String>) -> Result<Page, Trouble> {
        attempts(|| self.backend.page(prefix, is_flat, token.clone())).await
    }
}

/// The backends of this process, by kind and root of their addresses.
type Known = HashMap<(Scheme, String), Arc<Backend>>;

impl Backend {
    /// Connections are kept for the process.
    fn of(address: &Address) -> io::Result<Arc<Self>> {
        static KNOWN: Mutex<Option<Known>> = Mutex::new(None);
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (address.scheme, address.root.clone());
        if let Some(found) = known().as_ref().and_then(|known| known.get(&name)) {
            return Ok(Arc::clone(found));
        }
        let made = Arc::new(match address.scheme {
            Scheme::Web => Self::Web(Web { root: address.root.clone() }),
            Scheme::Hub => Self::Hub(Hub::new(&address.root)),
            Scheme::S3 | Scheme::Gs | Scheme::Az => Self::Bucket(connect::bucket(address)?),
        });
        Ok(Arc::clone(known().get_or_insert_default().entry(name).or_insert(made)))
    }

    async fn head(&self, key: &str) -> Result<Meta, Trouble> {
        match self {
            Self::Bucket(bucket) => bucket.head(key).await,
            Self::Web(web) => web::head(key, &url_of(&web.root, key), None).await,
            Self::Hub(hub) => hub.head(key).await,
        }
    }

    async fn get(&self, key: &str, range: Range<u64>, etag: Option<String>) -> Result<Vec<Bytes>, Trouble> {
        match self {
            Self::Bucket(bucket) => bucket.get(key, range, etag).await,
            Self::Web(web) => web::get(&url_of(&web.root, key), None, range, etag).await,
            Self::Hub(hub) => hub.get(key, range).await,
        }
    }

    async fn page(&self, prefix: &str, is_flat: bool, token: Option<String>) -> Result<Page, Trouble> {
        match self {
            Self::Bucket(bucket) => bucket.page(prefix, is_flat, token).await,
            Self::Hub(hub) => hub.page(prefix, is_flat, token).await,
            Self::Web(_) => Err(Trouble::permanent(
                io::ErrorKind::Unsupported,
                "a web server has no list of its files; name them one by one",
            )),
        }
    }
}
