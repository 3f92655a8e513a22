//! A server on loopback that speaks as much of S3, of web servers and of the Hugging Face Hub as curator uses, and fails on
//! request.
//!
//! One thread a connection, objects in memory. What a real store checks and a test must not pass without is checked: ranges,
//! versions (`If-Match`, `If-None-Match`), sizes of parts, tokens of pages.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How a request fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    Status(u16),
    /// `503 SlowDown`.
    SlowDown,
    /// The connection ends without an answer.
    Reset,
    /// The connection ends in the middle of the answer.
    Truncated,
    /// Nothing comes.
    Silent,
}

/// Parts below this size are refused, but for the last.
const MIN_PART_BYTES: usize = 5 << 20;

pub struct Server {
    pub endpoint: String,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    inner: Mutex<Inner>,
    is_over: AtomicBool,
}

#[derive(Default)]
struct Inner {
    objects: BTreeMap<String, Object>,
    uploads: BTreeMap<String, Upload>,
    n_made: u64,
    /// Each request fails in turn in these ways, once.
    faults: Vec<Fault>,
    failed: HashSet<String>,
    /// Requests whose line contains this fail always.
    always: Option<(String, Fault)>,
    once: Option<(String, Fault)>,
    log: Vec<String>,
    /// An object whose next version waits for its first bytes to be read.
    next_version: Option<(String, Vec<u8>)>,
    n_bytes_sent: usize,
    authorizations: Vec<String>,
    has_no_conditions: bool,
    token: Option<String>,
}

#[derive(Clone)]
struct Object {
    bytes: Arc<Vec<u8>>,
    etag: String,
}

struct Upload {
    key: String,
    parts: BTreeMap<usize, (String, Vec<u8>)>,
}

struct Request {
    method: String,
    path: String,
    query: HashMap<String, String>,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = shared.clone();
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { endpoint, state }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.state.lock()
    }

    /// Puts an object where `s3://BUCKET/KEY` finds it.
    pub fn put(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.inner().put(name, bytes.into());
    }

    /// Every object below a name, hidden ones too.
    pub fn objects(&self, below: &str) -> Vec<(String, Vec<u8>)> {
        let inner = self.inner();
        let found = inner.objects.iter().filter_map(|(name, object)| Some((name.strip_prefix(below)?, object)));
        found.map(|(name, object)| (name.to_string(), object.bytes.to_vec())).collect()
    }

    pub fn names(&self, below: &str) -> Vec<String> {
        self.objects(below).into_iter().map(|(name, _)| name).collect()
    }

    /// Uploads that hold bytes and were neither completed nor given up. One whose beginning was not answered holds none.
    pub fn n_uploads(&self) -> usize {
        self.inner().uploads.values().filter(|upload| !upload.parts.is_empty()).count()
    }

    /// From now on each request fails once, in these ways by turns.
    pub fn fail_each_once(&self, faults: &[Fault]) {
        let mut inner = self.inner();
        (inner.faults, inner.failed) = (faults.to_vec(), HashSet::new());
    }

    /// From now on requests whose line contains this fail.
    pub fn fail_always(&self, what: &str, fault: Fault) {
        self.inner().always = Some((what.to_string(), fault));
    }

    /// The next request whose line contains this fails.
    pub fn fail_once(&self, what: &str, fault: Fault) {
        self.inner().once = Some((what.to_string(), fault));
    }

    pub fn fail_no_more(&self) {
        let mut inner = self.inner();
        (inner.faults, inner.always) = (vec![], None);
    }

    /// A store that passes over `If-Match` and `If-None-Match`.
    pub fn forget_conditions(&self) {
        self.inner().has_no_conditions = true;
    }

    /// Who has not this token is refused.
    pub fn ask_for_token(&self, token: &str) {
        self.inner().token = Some(token.to_string());
    }

    /// Puts a new version of an object when the first bytes of it were read.
    pub fn replace_after_first_get(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.inner().next_version = Some((name.to_string(), bytes.into()));
    }

    /// The bytes of objects that were sent.
    pub fn n_bytes_sent(&self) -> usize {
        self.inner().n_bytes_sent
    }

    /// How the requests since the last call were signed.
    pub fn take_authorizations(&self) -> Vec<String> {
        std::mem::take(&mut self.inner().authorizations)
    }

    /// The requests since the last call, as `GET /bucket/key?query`.
    pub fn take_log(&self) -> Vec<String> {
        std::mem::take(&mut self.inner().log)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.endpoint.trim_start_matches("http://"));
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(stream: TcpStream, state: &State) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::with_capacity(256 << 10, stream.try_clone()?);
    let mut stream = stream;
    while let Some(request) = read_request(&mut reader, &mut stream)? {
        if state.is_over.load(Ordering::SeqCst) {
            return Ok(());
        }
        let (fault, answer) = {
            let mut inner = state.lock();
            let line = request.line();
            inner.log.push(line.clone());
            inner.authorizations.extend(request.header("authorization").map(str::to_string));
            let fault = inner.fault_of(&line, &request);
            // A connection that breaks in an answer breaks after the work is done.
            let does_it = matches!(fault, None | Some(Fault::Truncated));
            let answer = does_it.then(|| inner.answer(&request));
            if request.method == "GET" && request.header("range").is_some() {
                inner.n_bytes_sent += answer.as_ref().map_or(0, |answer| answer.body.len());
                if let Some((name, bytes)) = inner.next_version.take_if(|(name, _)| *name == request.path) {
                    inner.put(&name, bytes);
                }
            }
            (fault, answer)
        };
        let answer = match (fault, answer) {
            (Some(Fault::Reset), _) => return Ok(()),
            (Some(Fault::Silent), _) => {
                // Until the other side gives up.
                let _ = reader.read(&mut [0]);
                return Ok(());
            }
            (Some(Fault::Status(status)), _) => error(status, "Injected", "as the test asks for"),
            (Some(Fault::SlowDown), _) => error(503, "SlowDown", "Please reduce your request rate."),
            (_, Some(answer)) => answer,
            (_, None) => return Ok(()),
        };
        let mut head = format!("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n", answer.status, answer.length(&request));
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes())?;
        if request.method != "HEAD" {
            let n_bytes = if fault == Some(Fault::Truncated) { answer.body.len() / 2 } else { answer.body.len() };
            stream.write_all(&answer.body[..n_bytes])?;
        }
        if fault == Some(Fault::Truncated) {
            return Ok(());
        }
    }
    Ok(())
}

fn read_request(reader: &mut BufReader<TcpStream>, stream: &mut TcpStream) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut parts = line.split_whitespace();
    let (method, target) = (parts.next().unwrap_or_default().to_string(), parts.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(&value.replace('+', " ")))
    });
    let (path, query) = (decoded(path.trim_start_matches('/')), query.collect());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_string());
    }
    if headers.contains_key("expect") {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let length = headers.get("content-length").map_or(0, |length: &String| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, query, headers, body }))
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (vec![], 0);
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap()
}

fn error(status: u16, code: &str, message: &str) -> Answer {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{message}</Message></Error>");
    Answer { status, headers: vec![("Content-Type".into(), "application/xml".into())], body: body.into_bytes() }
}

fn xml(body: String) -> Answer {
    Answer { headers: vec![("Content-Type".into(), "application/xml".into())], ..Answer::ok(body.into_bytes()) }
}

impl Answer {
    fn ok(body: Vec<u8>) -> Self {
        Self { status: 200, headers: vec![], body }
    }

    fn length(&self, request: &Request) -> String {
        let told = self.headers.iter().find(|(name, _)| request.method == "HEAD" && name == "X-Length");
        told.map_or(self.body.len().to_string(), |(_, length)| length.clone())
    }
}

impl Request {
    fn line(&self) -> String {
        let mut query: Vec<String> = self.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        query.sort();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{} /{}{mark}{}", self.method, self.path, query.join("&"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn asks(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }
}

impl Inner {
    fn put(&mut self, name: &str, bytes: Vec<u8>) -> String {
        self.n_made += 1;
        let etag = format!("\"{:016x}\"", self.n_made);
        self.objects.insert(name.to_string(), Object { bytes: Arc::new(bytes), etag: etag.clone() });
        etag
    }

    fn fault_of(&mut self, line: &str, request: &Request) -> Option<Fault> {
        if let Some((what, fault)) = &self.always
            && line.contains(what.as_str())
        {
            return Some(*fault);
        }
        if let Some((_, fault)) = self.once.take_if(|(what, _)| line.contains(what.as_str())) {
            return Some(fault);
        }
        let unlike = format!("{line} {:?} {}", request.header("range"), request.body.len());
        if self.faults.is_empty() || !self.failed.insert(unlike) {
            return None;
        }
        let n_failed = self.failed.len() - 1;
        Some(self.faults[n_failed % self.faults.len()])
    }

    fn answer(&mut self, request: &Request) -> Answer {
        if let Some(token) = &self.token
            && request.header("authorization") != Some(&format!("Bearer {token}"))
        {
            return Answer { status: 401, ..Answer::ok(b"{\"error\": \"Invalid username or password.\"}".to_vec()) };
        }
        if let Some(rest) = request.path.strip_prefix("api/datasets/") {
            return self.hub(rest, request);
        }
        if let Some(rest) = request.path.strip_prefix("datasets/") {
            let (repository, file) = rest.split_once("/resolve/").unwrap();
            let (commit, file) = file.split_once('/').unwrap();
            assert_eq!(commit, "c0ffee", "the hub is read at a commit");
            return self.get(&format!("{repository}/{file}"), request);
        }
        match (request.method.as_str(), request.asks("uploads"), request.asks("uploadId")) {
            ("GET", ..) if request.asks("list-type").is_some() => self.list(request),
            ("GET" | "HEAD", ..) => self.get(&request.path, request),
            ("POST", Some(_), _) => {
                self.n_made += 1;
                let id = format!("upload-{}", self.n_made);
                self.uploads.insert(id.clone(), Upload { key: request.path.clone(), parts: BTreeMap::new() });
                xml(format!(
                    "<InitiateMultipartUploadResult><Bucket>b</Bucket><Key>{}</Key><UploadId>{id}</UploadId>\
                     </InitiateMultipartUploadResult>",
                    request.path
                ))
            }
            ("PUT", _, Some(id)) => self.put_part(id, request),
            ("POST", _, Some(id)) => self.complete(id, request),
            ("DELETE", _, Some(id)) => match self.uploads.remove(id) {
                Some(_) => Answer { status: 204, ..Answer::ok(vec![]) },
                None => error(404, "NoSuchUpload", "The specified upload does not exist."),
            },
            ("POST", ..) if request.asks("delete").is_some() => self.delete_all(request),
            ("PUT", ..) => self.put_object(request),
            ("DELETE", ..) => {
                self.objects.remove(&request.path);
                Answer { status: 204, ..Answer::ok(vec![]) }
            }
            other => error(400, "NotImplemented", &format!("{other:?}")),
        }
    }

    fn get(&self, name: &str, request: &Request) -> Answer {
        let Some(object) = self.objects.get(name) else {
            return error(404, "NoSuchKey", "The specified key does not exist.");
        };
        if request.header("if-match").is_some_and(|etag| etag != object.etag) {
            return error(412, "PreconditionFailed", "At least one of the preconditions did not hold.");
        }
        let length = object.bytes.len();
        let mut headers = vec![
            ("ETag".to_string(), object.etag.clone()),
            ("Last-Modified".to_string(), "Thu, 01 Jan 2026 00:00:00 GMT".to_string()),
            ("Accept-Ranges".to_string(), "bytes".to_string()),
        ];
        let Some(range) = request.header("range") else {
            headers.push(("X-Length".into(), length.to_string()));
            let body = if request.method == "HEAD" { vec![] } else { object.bytes.to_vec() };
            return Answer { status: 200, headers, body };
        };
        let (start, end) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
        let (start, end) = (start.parse::<usize>().unwrap(), end.parse::<usize>().unwrap().min(length.max(1) - 1));
        if start >= length {
            headers.push(("Content-Range".into(), format!("bytes */{length}")));
            return Answer { status: 416, headers, body: vec![] };
        }
        headers.push(("Content-Range".into(), format!("bytes {start}-{end}/{length}")));
        Answer { status: 206, headers, body: object.bytes[start..=end].to_vec() }
    }

    /// Pages of a thousand names, as S3 gives them.
    fn list(&self, request: &Request) -> Answer {
        const PAGE: usize = 1000;
        let bucket = request.path.trim_end_matches('/');
        let prefix = request.asks("prefix").unwrap_or_default();
        let after = request.asks("continuation-token").unwrap_or_default();
        let (mut contents, mut folders, mut n_found, mut last, mut is_cut) =
            (String::new(), vec![], 0, String::new(), false);
        for (name, object) in &self.objects {
            let Some(key) = name.strip_prefix(&format!("{bucket}/")) else { continue };
            if !key.starts_with(prefix) || key <= after {
                continue;
            }
            if n_found == PAGE {
                is_cut = true;
                break;
            }
            let rest = &key[prefix.len()..];
            match request.asks("delimiter").and_then(|_| rest.split_once('/')) {
                Some((folder, _)) => {
                    let folder = format!("{prefix}{folder}/");
                    if !folders.contains(&folder) {
                        folders.push(folder);
                        n_found += 1;
                    }
                }
                None => {
                    contents.push_str(&format!(
                        "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
                         <ETag>{}</ETag><Size>{}</Size></Contents>",
                        object.etag.replace('"', "&quot;"),
                        object.bytes.len()
                    ));
                    n_found += 1;
                }
            }
            last = key.to_string();
        }
        let folders: String = folders
            .iter()
            .map(|folder| format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>"))
            .collect();
        let next =
            if is_cut { format!("<NextContinuationToken>{last}</NextContinuationToken>") } else { String::new() };
        xml(format!(
            "<ListBucketResult><IsTruncated>{is_cut}</IsTruncated>{next}{contents}{folders}</ListBucketResult>"
        ))
    }

    fn put_object(&mut self, request: &Request) -> Answer {
        let there = self.objects.get(&request.path).map(|object| object.etag.clone());
        let (absent, same) = (request.header("if-none-match"), request.header("if-match"));
        let is_refused =
            absent == Some("*") && there.is_some() || same.is_some_and(|same| there.as_deref() != Some(same));
        if is_refused && !self.has_no_conditions {
            return error(412, "PreconditionFailed", "At least one of the preconditions did not hold.");
        }
        let etag = self.put(&request.path.clone(), request.body.clone());
        Answer { headers: vec![("ETag".into(), etag)], ..Answer::ok(vec![]) }
    }

    fn put_part(&mut self, id: &str, request: &Request) -> Answer {
        let number: usize = request.asks("partNumber").unwrap().parse().unwrap();
        self.n_made += 1;
        let etag = format!("\"part-{}\"", self.n_made);
        let Some(upload) = self.uploads.get_mut(id).filter(|upload| upload.key == request.path) else {
            return error(404, "NoSuchUpload", "The specified upload does not exist.");
        };
        upload.parts.insert(number, (etag.clone(), request.body.clone()));
        Answer { headers: vec![("ETag".into(), etag)], ..Answer::ok(vec![]) }
    }

    fn complete(&mut self, id: &str, request: &Request) -> Answer {
        let Some(upload) = self.uploads.get(id) else {
            return error(404, "NoSuchUpload", "The specified upload does not exist.");
        };
        let body = String::from_utf8(request.body.clone()).unwrap();
        let told: Vec<String> = between(&body, "ETag").map(|etag| etag.replace("&quot;", "\"")).collect();
        let known: Vec<&(String, Vec<u8>)> = upload.parts.values().collect();
        if told.len() != known.len() || told.iter().zip(&known).any(|(told, (etag, _))| told != etag) {
            return error(400, "InvalidPart", "One or more of the specified parts could not be found.");
        }
        if known.iter().rev().skip(1).any(|(_, bytes)| bytes.len() < MIN_PART_BYTES) {
            return error(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size.");
        }
        let bytes = known.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        self.uploads.remove(id);
        let etag = self.put(&request.path.clone(), bytes);
        xml(format!("<CompleteMultipartUploadResult><ETag>{etag}</ETag></CompleteMultipartUploadResult>"))
    }

    fn delete_all(&mut self, request: &Request) -> Answer {
        let bucket = request.path.trim_end_matches('/').to_string();
        let body = String::from_utf8(request.body.clone()).unwrap();
        let keys: Vec<String> = between(&body, "Key").map(str::to_string).collect();
        let mut told = String::new();
        for key in keys {
            self.objects.remove(&format!("{bucket}/{key}"));
            told.push_str(&format!("<Deleted><Key>{key}</Key></Deleted>"));
        }
        xml(format!("<DeleteResult>{told}</DeleteResult>"))
    }

    /// `OWNER/NAME/revision/main`, `OWNER/NAME/tree/COMMIT/folder`.
    fn hub(&self, rest: &str, request: &Request) -> Answer {
        let parts: Vec<&str> = rest.splitn(5, '/').collect();
        let repository = format!("{}/{}", parts[0], parts[1]);
        if !self.objects.keys().any(|name| name.starts_with(&format!("{repository}/"))) {
            return Answer { status: 404, ..Answer::ok(b"{\"error\": \"Repository not found\"}".to_vec()) };
        }
        if parts[2] == "revision" {
            return Answer::ok(br#"{"sha": "c0ffee", "private": false}"#.to_vec());
        }
        assert_eq!((parts[2], parts[3]), ("tree", "c0ffee"));
        let folder = parts.get(4).map_or(String::new(), |folder| format!("{folder}/"));
        let is_deep = request.asks("recursive") == Some("true");
        let after = request.asks("cursor").unwrap_or_default();
        let mut entries = vec![];
        for (name, object) in &self.objects {
            let Some(path) = name.strip_prefix(&format!("{repository}/")) else { continue };
            let Some(below) = path.strip_prefix(&folder) else { continue };
            if path <= after || !is_deep && below.contains('/') {
                continue;
            }
            entries.push((path, object.bytes.len()));
        }
        let mut headers = vec![];
        if entries.len() > 2 {
            // Two to a page, so that there are several.
            entries.truncate(2);
            let host = request.header("host").unwrap();
            let next = format!(
                "<http://{host}/{}?recursive={is_deep}&expand=false&cursor={}>; rel=\"next\"",
                request.path, entries[1].0
            );
            headers.push(("Link".to_string(), next));
        }
        let entries = entries.iter().map(|(path, size)| {
            serde_json::json!({"type": "file", "oid": format!("oid-{path}"), "size": size, "path": path})
        });
        let body = serde_json::Value::Array(entries.collect()).to_string();
        Answer { status: 200, headers, body: body.into_bytes() }
    }
}

/// The texts in elements of a name.
fn between<'t>(text: &'t str, name: &str) -> impl Iterator<Item = &'t str> + use<'t> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let parts: Vec<&str> = text.split(open.as_str()).skip(1).collect();
    parts.into_iter().filter_map(move |rest| rest.split(close.as_str()).next())
}
