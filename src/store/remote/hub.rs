//! Datasets of the Hugging Face Hub: read at the commit that their revision names when the run begins.
//!
//! ```text
//! hf://datasets/OWNER/NAME@REVISION/PATH
//!   ──► ENDPOINT/api/datasets/OWNER/NAME/tree/COMMIT/PATH       what is there, page by page
//!   ──► ENDPOINT/datasets/OWNER/NAME/resolve/COMMIT/PATH        its bytes, by ranges
//! ```
//! A commit does not change, so all reads of a process see one state. `HF_ENDPOINT` names another hub; the token comes from
//! `HF_TOKEN`, or from the file that `huggingface-cli login` writes.

use super::profile::variable;
use super::requests::apart;
use super::trouble::Trouble;
use super::web::{self, url_of};
use super::{Meta, Page};
use bytes::Bytes;
use reqwest::header::LINK;
use serde::Deserialize;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::PathBuf;
use tokio::sync::OnceCell;

/// One dataset at one revision.
pub(super) struct Hub {
    endpoint: String,
    /// `OWNER/NAME`.
    name: String,
    revision: String,
    token: Option<String>,
    commit: OnceCell<String>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    oid: Option<String>,
    lfs: Option<Lfs>,
}

#[derive(Deserialize)]
struct Lfs {
    oid: String,
    size: u64,
}

#[derive(Deserialize)]
struct Revision {
    sha: String,
}

impl Hub {
    /// `root`: `OWNER/NAME`, or `OWNER/NAME@REVISION`.
    pub fn new(root: &str) -> Self {
        let (name, revision) = root.split_once('@').unwrap_or((root, "main"));
        let revision = match revision {
            "~parquet" => "refs%2Fconvert%2Fparquet".to_string(),
            other => other.replace('/', "%2F"),
        };
        let endpoint = variable("HF_ENDPOINT").unwrap_or("https://huggingface.co".into());
        let endpoint = endpoint.trim_end_matches('/').to_string();
        Self { endpoint, name: name.into(), revision, token: token(), commit: OnceCell::new() }
    }

    /// The commit that the revision is, from now on.
    async fn commit(&self) -> Result<&str, Trouble> {
        let ask = || async {
            let url = format!("{}/api/datasets/{}/revision/{}", self.endpoint, self.name, self.revision);
            let response = web::send(&url, self.token.as_deref(), &[]).await?;
            let found: Revision = answer(self.checked(response).await?).await?;
            Ok(found.sha)
        };
        self.commit.get_or_try_init(|| apart(ask)).await.map(String::as_str)
    }

    async fn checked(&self, response: reqwest::Response) -> Result<reqwest::Response, Trouble> {
        let checked = web::checked(response).await;
        checked.map_err(|mut trouble| {
            if trouble.kind == ErrorKind::PermissionDenied {
                trouble.text.push_str(match &self.token {
                    None => "; the dataset may be private, or does not exist: set HF_TOKEN",
                    Some(_) => {
                        "; the token (HF_TOKEN) may lack access to the dataset, or its terms wait to be accepted"
                    }
                });
            }
            trouble
        })
    }

    /// One page of what is below a folder.
    pub async fn page(&self, folder: &str, is_flat: bool, token: Option<String>) -> Result<Page, Trouble> {
        let commit = self.commit().await?;
        let folder = folder.trim_end_matches('/');
        let first = || {
            let root = format!("{}/api/datasets/{}/tree/{commit}", self.endpoint, self.name);
            format!("{}?recursive={}&expand=false", hub_url(&root, folder).trim_end_matches('/'), !is_flat)
        };
        let url = token.unwrap_or_else(first);
        // The next page must be one of the same hub, who gets the token.
        if !url.starts_with(&format!("{}/", self.endpoint)) {
            return Err(Trouble::permanent(ErrorKind::InvalidData, "the hub continues its list elsewhere"));
        }
        let response = self.checked(web::send(&url, self.token.as_deref(), &[]).await?).await?;
        let next = web::header(response.headers(), LINK).and_then(|link| next_of(&link));
        let mut page = Page { next, ..Page::default() };
        for entry in answer::<Vec<Entry>>(response).await? {
            match entry.kind.as_str() {
                "directory" => page.folders.push(entry.path),
                _ => page.objects.push(entry.into_meta()),
            }
        }
        Ok(page)
    }

    pub async fn head(&self, key: &str) -> Result<Meta, Trouble> {
        let folder = key.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut token = None;
        loop {
            let page = self.page(folder, true, token).await?;
            if let Some(found) = page.objects.into_iter().find(|object| object.key == key) {
                return Ok(found);
            }
            token = page.next;
            if token.is_none() {
                return Err(Trouble::permanent(ErrorKind::NotFound, "the dataset has no such file"));
            }
        }
    }

    pub async fn get(&self, key: &str, range: Range<u64>) -> Result<Vec<Bytes>, Trouble> {
        let root = format!("{}/datasets/{}/resolve/{}", self.endpoint, self.name, self.commit().await?);
        // What is behind a commit does not change, so no version is asked for.
        web::get(&hub_url(&root, key), self.token.as_deref(), range, None).await
    }
}

impl Entry {
    fn into_meta(self) -> Meta {
        let (n_bytes, etag) = match self.lfs {
            Some(lfs) => (lfs.size, Some(lfs.oid)),
            None => (self.size, self.oid),
        };
        Meta { key: self.path, n_bytes, modified: None, etag }
    }
}

async fn answer<T: for<'de> Deserialize<'de>>(response: reqwest::Response) -> Result<T, Trouble> {
    let broken =
        |error: &dyn std::fmt::Display| Trouble::transient(format!("the hub's answer cannot be read: {error}"));
    let text = response.text().await.map_err(|_| broken(&"it broke off"))?;
    serde_json::from_str(&text).map_err(|error| broken(&error))
}

/// The URL of a file, whose name is not encoded yet.
fn hub_url(root: &str, key: &str) -> String {
    url_of(root, &key.replace('%', "%25"))
}

/// `<URL>; rel="next"`.
fn next_of(link: &str) -> Option<String> {
    let next = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    Some(next.split_once('<')?.1.split_once('>')?.0.to_string())
}

fn token() -> Option<String> {
    let of_file = || {
        let home = || variable("HOME").map(|home| PathBuf::from(home).join(".cache/huggingface"));
        let path = variable("HF_TOKEN_PATH").map(PathBuf::from);
        let path = path.or_else(|| variable("HF_HOME").map(PathBuf::from).or_else(home).map(|home| home.join("token")));
        std::fs::read_to_string(path?).ok()
    };
    let token = variable("HF_TOKEN").or_else(of_file)?;
    Some(token.trim().to_string()).filter(|token| !token.is_empty())
}
