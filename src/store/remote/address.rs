//! Locations that are URLs: which store, and what the object is called there.
//!
//! ```text
//! s3://bucket/key   gs://bucket/key   az://container/key   http(s)://host/path   hf://datasets/owner/name@revision/path
//! ```
//! The rest of the program holds a URL where it holds a path, as it was written: what is below it is joined by `/`.
//! Invariant: a URL with credentials in it is refused, so none is in a plan, a manifest or a message.

use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The kinds of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    S3,
    Gs,
    Az,
    Web,
    Hub,
}

const SCHEMES: [(&str, Scheme); 9] = [
    ("s3://", Scheme::S3),
    ("s3a://", Scheme::S3),
    ("gs://", Scheme::Gs),
    ("gcs://", Scheme::Gs),
    ("az://", Scheme::Az),
    ("azure://", Scheme::Az),
    ("http://", Scheme::Web),
    ("https://", Scheme::Web),
    ("hf://", Scheme::Hub),
];

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub scheme: Scheme,
    /// The bucket or container; `https://host`; `owner/name@revision`. Objects that share it share connections.
    pub root: String,
    /// Below the root, without a `/` on either side.
    pub key: String,
}

/// The store that a location is in; `None` for local files.
pub(crate) fn scheme_of(path: &Path) -> Option<Scheme> {
    let bytes = path.as_os_str().as_encoded_bytes();
    SCHEMES.iter().find(|(prefix, _)| bytes.starts_with(prefix.as_bytes())).map(|(_, scheme)| *scheme)
}

/// Whether a location is a URL of an object store.
pub(crate) fn is_remote(path: &Path) -> bool {
    scheme_of(path).is_some()
}

/// A URL without `/` at its end.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    PathBuf::from(text.trim_end_matches('/'))
}

/// What all locations of a bucket, host or dataset begin with.
pub(crate) fn root_of(path: &Path) -> &Path {
    let n_below = Address::parse(path).map_or(0, |address| Path::new(&address.key).components().count());
    path.ancestors().nth(n_below).unwrap_or(path)
}

impl Address {
    pub fn parse(path: &Path) -> Result<Self> {
        let refused = |why: String| Error::new(ErrorKind::InvalidInput, why);
        let Some(text) = path.to_str() else { return Err(refused("a URL is text in UTF-8".into())) };
        let Some((prefix, scheme)) = SCHEMES.iter().find(|(prefix, _)| text.starts_with(prefix)) else {
            return Err(refused("not a URL of a store".into()));
        };
        let rest = &text[prefix.len()..];
        let (host, key) = rest.split_once('/').unwrap_or((rest, ""));
        let key = key.trim_matches('/').to_string();
        if host.contains('@') {
            return Err(refused("a URL must not hold credentials; they are taken from the environment".into()));
        }
        if host.is_empty() {
            return Err(refused(format!("`{prefix}` is followed by {}", what_follows(*scheme))));
        }
        match scheme {
            Scheme::Web if key.contains('?') => Err(refused(
                "a URL with a query (as signed URLs have) cannot be read: it may hold credentials, and would stand in plans \
                 and manifests"
                    .into(),
            )),
            Scheme::Web => Ok(Self { scheme: *scheme, root: format!("{prefix}{host}"), key }),
            Scheme::Hub => Self::of_dataset(host, &key).ok_or_else(|| {
                refused("datasets are written as hf://datasets/OWNER/NAME/PATH or …/NAME@REVISION/PATH".into())
            }),
            Scheme::S3 | Scheme::Gs | Scheme::Az => Ok(Self { scheme: *scheme, root: host.into(), key }),
        }
    }

    fn of_dataset(kind: &str, rest: &str) -> Option<Self> {
        let mut parts = rest.splitn(3, '/');
        let (owner, name) = (parts.next()?, parts.next()?);
        let key = parts.next().unwrap_or_default();
        let is_whole = kind == "datasets" && !owner.is_empty() && !name.is_empty();
        is_whole.then(|| Self { scheme: Scheme::Hub, root: format!("{owner}/{name}"), key: key.into() })
    }
}

fn what_follows(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::S3 | Scheme::Gs => "a bucket: s3://bucket/path",
        Scheme::Az => "a container: az://container/path",
        Scheme::Web => "a host",
        Scheme::Hub => "`datasets`: hf://datasets/OWNER/NAME/PATH",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<(String, String)> {
        Address::parse(Path::new(url)).map(|address| (address.root, address.key))
    }

    #[test]
    fn urls_are_taken_apart() {
        for (url, root, key) in [
            ("s3://bucket/a/b.jsonl", "bucket", "a/b.jsonl"),
            ("gs://bucket/a/", "bucket", "a"),
            ("az://container", "container", ""),
            ("https://host:8080/a/b.gz", "https://host:8080", "a/b.gz"),
            ("hf://datasets/owner/name@v1/data/x.parquet", "owner/name@v1", "data/x.parquet"),
            ("hf://datasets/owner/name", "owner/name", ""),
        ] {
            assert_eq!(parsed(url).unwrap(), (root.to_string(), key.to_string()), "{url}");
        }
    }

    #[test]
    fn credentials_in_a_url_and_urls_that_lack_something_are_refused() {
        for (url, part) in [
            ("https://user:secret@host/a", "must not hold credentials"),
            ("https://host/a?X-Amz-Signature=1", "a query"),
            ("s3:///a", "a bucket"),
            ("hf://models/owner/name", "hf://datasets/OWNER/NAME"),
            ("hf://datasets/owner", "hf://datasets/OWNER/NAME"),
        ] {
            let told = parsed(url).unwrap_err().to_string();
            assert!(told.contains(part) && !told.contains("secret"), "{url}: {told}");
        }
        assert!(!is_remote(Path::new("a/s3://b")) && !is_remote(Path::new("ftp://b")));
    }
}
