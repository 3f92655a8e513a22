//! Files of a web server, by ranges of HTTP. There is no listing, and nothing is written.

use super::Meta;
use super::requests::timeout;
use super::trouble::{Trouble, without_urls};
use bytes::Bytes;
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, IF_MATCH, LAST_MODIFIED, RANGE,
};
use reqwest::{Client, Response, StatusCode};
use std::io::ErrorKind;
use std::ops::Range;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// A file this large is read from the beginning for each range, if the server knows no ranges.
const MAX_WITHOUT_RANGES: u64 = 64 << 20;

/// One host.
pub(super) struct Web {
    /// `https://host`.
    pub root: String,
}

/// Sends a request; the answer may be of any status.
pub(super) async fn send(
    url: &str,
    token: Option<&str>,
    headers: &[(HeaderName, String)],
) -> Result<Response, Trouble> {
    let mut request = client()?.get(url);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    if let Some(token) = token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    request.send().await.map_err(failed)
}

fn client() -> Result<&'static Client, Trouble> {
    static CLIENT: OnceLock<Result<Client, String>> = OnceLock::new();
    let made = CLIENT.get_or_init(|| {
        let builder = Client::builder().user_agent(concat!("curator/", env!("CARGO_PKG_VERSION")));
        let built = builder.connect_timeout(Duration::from_secs(10)).read_timeout(timeout()).build();
        built.map_err(|error| without_urls(error.to_string()))
    });
    made.as_ref().map_err(|error| Trouble::permanent(ErrorKind::Other, error.clone()))
}

/// Everything that happens before an answer is there may pass.
fn failed(error: reqwest::Error) -> Trouble {
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    Trouble {
        is_transient: !error.is_builder() && !error.is_redirect(),
        ..Trouble::transient(without_urls(cause.to_string()))
    }
}

/// The answer, if it is one.
pub(super) async fn checked(response: Response) -> Result<Response, Trouble> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = response.text().await.unwrap_or_default();
    Err(Trouble::of_status(status.as_u16(), &body))
}

/// What one byte of a file tells of all of it.
pub(super) async fn head(key: &str, url: &str, token: Option<&str>) -> Result<Meta, Trouble> {
    let response = send(url, token, &[(RANGE, "bytes=0-0".into())]).await?;
    let is_empty = response.status() == StatusCode::RANGE_NOT_SATISFIABLE;
    let response = if is_empty { response } else { checked(response).await? };
    let text = |name: HeaderName| header(response.headers(), name);
    let total = match response.status() {
        StatusCode::OK => text(CONTENT_LENGTH),
        _ => text(CONTENT_RANGE).and_then(|range| range.rsplit('/').next().map(str::to_string)),
    };
    let n_bytes = total.and_then(|total| total.parse().ok()).ok_or_else(|| {
        Trouble::permanent(ErrorKind::Unsupported, "the server does not say how long the file is; download it first")
    })?;
    let modified = text(LAST_MODIFIED).and_then(|date| http_date(&date));
    Ok(Meta { key: key.into(), n_bytes, modified, etag: text(ETAG).filter(|etag| !etag.starts_with("W/")) })
}

/// A range of a file, in the pieces in which it came.
pub(super) async fn get(
    url: &str,
    token: Option<&str>,
    range: Range<u64>,
    etag: Option<String>,
) -> Result<Vec<Bytes>, Trouble> {
    let mut headers = vec![(RANGE, format!("bytes={}-{}", range.start, range.end - 1))];
    headers.extend(etag.map(|etag| (IF_MATCH, etag)));
    let mut response = checked(send(url, token, &headers).await?).await?;
    let mut n_skipped = 0;
    if response.status() != StatusCode::PARTIAL_CONTENT {
        if range.end > MAX_WITHOUT_RANGES {
            let told = "the server does not answer ranges, and the file is large; download it first";
            return Err(Trouble::permanent(ErrorKind::Unsupported, told));
        }
        n_skipped = range.start;
    }
    let wanted = range.end - range.start;
    let (mut pieces, mut n_bytes) = (vec![], 0);
    while n_bytes < wanted {
        let Some(mut piece) = response.chunk().await.map_err(failed)? else {
            return Err(Trouble::transient(format!("the server sent {n_bytes} of {wanted} bytes")));
        };
        let before = n_skipped.min(piece.len() as u64);
        n_skipped -= before;
        piece = piece.slice(before as usize..);
        piece.truncate(usize::try_from(wanted - n_bytes).unwrap_or(usize::MAX));
        n_bytes += piece.len() as u64;
        pieces.push(piece);
    }
    Ok(pieces)
}

pub(super) fn header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_string)
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<SystemTime> {
    let date = chrono::DateTime::parse_from_rfc2822(text).ok()?;
    let since = u64::try_from(date.timestamp()).ok()?;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(since))
}

/// The URL of a path below a root. What is percent-encoded already stays.
pub(super) fn url_of(root: &str, key: &str) -> String {
    let mut url = format!("{root}/");
    for byte in key.bytes() {
        match byte {
            b'A'..=b'Z'
            | b'a'..=b'z'
            | b'0'..=b'9'
            | b'-'
            | b'.'
            | b'_'
            | b'~'
            | b'/'
            | b'='
            | b'+'
            | b'@'
            | b'%'
            | b',' => {
                url.push(byte as char);
            }
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b';' | b':' => url.push(byte as char),
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}
