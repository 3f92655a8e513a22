//! What is there: objects below a prefix or matching a pattern, asked for page by page.
//!
//! A store has no folders; a folder is there if an object's name begins with its name and a `/`.
//! Invariant: what is found comes in the order of the paths, as local files do, and looks as the user wrote it.

use super::super::files::{Kind, Stat};
use super::super::matching::matches;
use super::address::Address;
use super::requests::wait;
use super::{Meta, Object, Page};
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// An object that was found.
pub(in crate::store) type Found = (PathBuf, Stat, Option<String>);

impl Meta {
    pub fn stat(&self) -> Stat {
        let identity = self.etag.as_ref().map_or(0, |etag| xxh3_64(etag.as_bytes()));
        Stat { kind: Kind::File, n_bytes: self.n_bytes, modified: self.modified, identity }
    }
}

/// Names as the user writes them: what comes before the key of an object.
struct Naming(String);

impl Naming {
    fn of(location: &Path, key: &str) -> Self {
        let text = location.to_string_lossy();
        let text = text.trim_end_matches('/');
        let root = &text[..text.len() - key.len()];
        let separator = if root.ends_with('/') { "" } else { "/" };
        Self(format!("{root}{separator}"))
    }

    fn path(&self, key: &str) -> PathBuf {
        PathBuf::from(format!("{}{key}", self.0))
    }

    fn found(&self, meta: Meta) -> Found {
        (self.path(&meta.key), meta.stat(), meta.etag)
    }
}

impl Object {
    /// All pages of a list.
    fn pages(&self, prefix: String, is_flat: bool) -> Result<Page> {
        let object = self.clone();
        wait(async move {
            let mut all = Page::default();
            let mut token = None;
            loop {
                let page = object.page(&prefix, is_flat, token).await?;
                all.objects.extend(page.objects);
                all.folders.extend(page.folders);
                token = page.next;
                if token.is_none() {
                    return Ok(all);
                }
            }
        })
    }

    /// The prefix of what is below it.
    fn as_folder(&self) -> String {
        if self.key.is_empty() { String::new() } else { format!("{}/", self.key) }
    }
}

/// Whether something is below a location.
pub(in crate::store) fn is_folder(location: &Path) -> Result<bool> {
    let object = Object::of(location)?;
    let prefix = object.as_folder();
    let first = wait(async move {
        match object.page(&prefix, true, None).await {
            // A web server has files only.
            Err(trouble) if matches!(trouble.kind, ErrorKind::NotFound | ErrorKind::Unsupported) => Ok(Page::default()),
            page => page,
        }
    })?;
    Ok(!first.objects.is_empty() || !first.folders.is_empty())
}

/// Every object below a folder, in order.
pub(in crate::store) fn below(folder: &Path) -> Result<Vec<Found>> {
    let object = Object::of(folder)?;
    let naming = Naming::of(folder, &object.key);
    let prefix = object.as_folder();
    let page = object.pages(prefix.clone(), false)?;
    // Some tools write an empty object for a folder; its name is that of the folder.
    let is_below = |meta: &Meta| meta.key.len() > prefix.len();
    Ok(in_order(page.objects.into_iter().filter(is_below).map(|meta| naming.found(meta)).collect()))
}

/// The names of what is directly in a folder, in order.
pub(in crate::store) fn folders_and_files(folder: &Path) -> Result<Vec<String>> {
    let object = Object::of(folder)?;
    let page = object.pages(object.as_folder(), true)?;
    let keys = page.objects.into_iter().map(|meta| meta.key).chain(page.folders);
    let name = |key: String| key.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_string();
    let mut names: Vec<String> = keys.map(name).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// The objects that match a pattern, in order. The part before its first wildcard is asked for.
pub(in crate::store) fn matching(pattern: &str) -> Result<Vec<Found>> {
    let address = Address::parse(Path::new(pattern))?;
    let key = address.key;
    let naming = Naming::of(Path::new(pattern), &key);
    let wild = key.find(['*', '?', '[']).unwrap_or(key.len());
    let folder_end = key[..wild].rfind('/').map_or(0, |at| at + 1);
    let object = Object::of(&naming.path(&key[..folder_end]))?;
    // Only a bucket knows prefixes that end within a name.
    let prefix = if object.lists_by_prefix() { &key[..wild] } else { &key[..folder_end] };
    let is_flat = !key[wild..].contains('/') && !key.contains("**");
    let page = match object.pages(prefix.to_string(), is_flat) {
        Err(error) if error.kind() == ErrorKind::NotFound => Page::default(),
        page => page?,
    };
    let is_match = |meta: &Meta| matches(&key, Path::new(&meta.key));
    Ok(in_order(page.objects.into_iter().filter(is_match).map(|meta| naming.found(meta)).collect()))
}

/// In the order of local files: folder by folder.
fn in_order(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    found
}
