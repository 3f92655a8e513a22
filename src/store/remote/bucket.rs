//! A bucket of S3, Google or Azure (or of what speaks like them), by the `object_store` crate.

use super::requests::timeout;
use super::trouble::Trouble;
use super::{Meta, Page};
use bytes::Bytes;
use futures::StreamExt;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path as Key;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use std::io::ErrorKind;
use std::ops::Range;
use std::sync::Arc;

/// A bucket, seen from the three sides that are needed of it.
pub(super) struct Bucket {
    objects: Arc<dyn ObjectStore>,
    lists: Arc<dyn PaginatedListStore>,
    uploads: Arc<dyn MultipartStore>,
}

/// When an object may be written.
#[derive(Clone, Debug)]
pub(super) enum If {
    Always,
    /// Nothing of the name is there.
    Absent,
    /// What is there is this version.
    Same(UpdateVersion),
}

impl Bucket {
    pub fn new<S: ObjectStore + PaginatedListStore + MultipartStore>(store: Arc<S>) -> Self {
        Self { objects: store.clone(), lists: store.clone(), uploads: store }
    }

    pub async fn head(&self, key: &str) -> Result<Meta, Trouble> {
        Ok(meta(self.objects.head(&parsed(key)?).await?))
    }

    /// A range of an object, in the pieces in which it came.
    pub async fn get(&self, key: &str, range: Range<u64>, etag: Option<String>) -> Result<Vec<Bytes>, Trouble> {
        let wanted = range.end - range.start;
        let options = GetOptions { range: Some(GetRange::Bounded(range)), if_match: etag, ..GetOptions::default() };
        let mut stream = self.objects.get_opts(&parsed(key)?, options).await?.into_stream();
        let (mut pieces, mut n_bytes) = (vec![], 0);
        loop {
            match tokio::time::timeout(timeout(), stream.next()).await {
                Ok(Some(piece)) => {
                    let piece = piece?;
                    n_bytes += piece.len() as u64;
                    pieces.push(piece);
                }
                Ok(None) if n_bytes == wanted => return Ok(pieces),
                Ok(None) => {
                    return Err(Trouble::transient(format!("the store sent {n_bytes} of {wanted} bytes")));
                }
                Err(_) => return Err(Trouble::transient(format!("the store was silent for {:?}", timeout()))),
            }
        }
    }

    /// One page of the objects whose names begin with `prefix`; with `is_flat` those below the next `/` as folders.
    pub async fn page(&self, prefix: &str, is_flat: bool, token: Option<String>) -> Result<Page, Trouble> {
        let delimiter = is_flat.then(|| "/".into());
        let options = PaginatedListOptions { delimiter, page_token: token, ..PaginatedListOptions::default() };
        let found = self.lists.list_paginated(Some(prefix).filter(|prefix| !prefix.is_empty()), options).await?;
        let folders = found.result.common_prefixes.iter().map(|folder| folder.to_string()).collect();
        let objects = found.result.objects.into_iter().map(meta).collect();
        Ok(Page { objects, folders, next: found.page_token })
    }

    /// Writes a small object.
    pub async fn put(&self, key: &str, bytes: Bytes, when: If) -> Result<UpdateVersion, Trouble> {
        let mode = match when {
            If::Always => PutMode::Overwrite,
            If::Absent => PutMode::Create,
            If::Same(version) => PutMode::Update(version),
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        Ok(self.objects.put_opts(&parsed(key)?, PutPayload::from_bytes(bytes), options).await?.into())
    }

    /// A small object and its version.
    pub async fn get_version(&self, key: &str) -> Result<(Bytes, UpdateVersion), Trouble> {
        let found = self.objects.get(&parsed(key)?).await?;
        let version = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
        Ok((found.bytes().await?, version))
    }

    /// Removes an object, if it is there.
    pub async fn delete(&self, key: &str) -> Result<(), Trouble> {
        gone_is_fine(self.objects.delete(&parsed(key)?).await.map_err(Trouble::from))
    }

    /// Begins an object that nobody sees before it is completed.
    pub async fn begin_upload(&self, key: &str) -> Result<String, Trouble> {
        Ok(self.uploads.create_multipart(&parsed(key)?).await?)
    }

    pub async fn put_part(&self, key: &str, id: &str, part: usize, bytes: Bytes) -> Result<String, Trouble> {
        let payload = PutPayload::from_bytes(bytes);
        Ok(self.uploads.put_part(&parsed(key)?, &id.to_string(), part, payload).await?.content_id)
    }

    /// Makes an upload the object.
    pub async fn complete(&self, key: &str, id: &str, parts: &[String]) -> Result<(), Trouble> {
        let parts = parts.iter().map(|part| PartId { content_id: part.clone() }).collect();
        self.uploads.complete_multipart(&parsed(key)?, &id.to_string(), parts).await?;
        Ok(())
    }

    /// Throws an upload away, if it is there.
    pub async fn abort(&self, key: &str, id: &str) -> Result<(), Trouble> {
        gone_is_fine(self.uploads.abort_multipart(&parsed(key)?, &id.to_string()).await.map_err(Trouble::from))
    }
}

fn gone_is_fine(result: Result<(), Trouble>) -> Result<(), Trouble> {
    match result {
        Err(trouble) if trouble.kind == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn parsed(key: &str) -> Result<Key, Trouble> {
    Key::parse(key).map_err(|error| Trouble::permanent(ErrorKind::InvalidInput, error.to_string()))
}

fn meta(found: ObjectMeta) -> Meta {
    Meta {
        key: found.location.to_string(),
        n_bytes: found.size,
        modified: Some(found.last_modified.into()),
        etag: found.e_tag,
    }
}
