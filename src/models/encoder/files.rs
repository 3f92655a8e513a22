//! The files of a model, wherever they lie.

use crate::ops::ModelFile;
use crate::store::{StoredFile, is_folder, stat};
use crate::{Error, Result};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A model's folder, and which of its files were looked at: those are what the model is.
#[derive(Debug)]
pub struct ModelFiles {
    folder: PathBuf,
    seen: Mutex<BTreeSet<String>>,
}

impl ModelFiles {
    /// The folder at a path, which must be there.
    pub fn open(path: &str) -> Result<Self> {
        let folder = PathBuf::from(path);
        if !is_folder(&folder) {
            return Err(Error::Data(format!(
                "{path}: there is no such folder; a model is a folder with config.json, tokenizer.json and *.safetensors, as \
                 `huggingface-cli download … --local-dir {path}` makes it"
            )));
        }
        Ok(ModelFiles { folder, seen: Mutex::default() })
    }

    /// The folder's own name.
    pub fn name(&self) -> String {
        let own = self.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        own.unwrap_or_else(|| self.folder.display().to_string())
    }

    /// A file's name as messages show it.
    pub fn shown(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// How many bytes a file has; none if there is no such file.
    pub fn size(&self, name: &str) -> Result<Option<u64>> {
        let path = self.folder.join(name);
        match stat(&path) {
            Ok(found) => Ok(Some(found.n_bytes)),
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => Ok(None),
            Err(error) => Err(Error::io(path, error)),
        }
    }

    /// Some bytes of a file that is there.
    pub fn read(&self, name: &str, bytes: Range<u64>) -> Result<Vec<u8>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_string());
        let path = self.folder.join(name);
        let mut buffer = vec![0; (bytes.end - bytes.start) as usize];
        let read = StoredFile::open(&path).and_then(|file| file.read_exact_at(&mut buffer, bytes.start));
        read.map(|()| buffer).map_err(|error| Error::io(path, error))
    }

    /// All bytes of a file that is there.
    pub fn read_all(&self, name: &str) -> Result<Vec<u8>> {
        let n_bytes = self.size(name)?.unwrap_or(0);
        self.read(name, 0..n_bytes)
    }

    /// The files that were read so far, with their hashes.
    pub fn seen(&self) -> Result<Vec<ModelFile>> {
        let names = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        names.iter().map(|name| ModelFile::of(role(name), &self.folder.join(name))).collect()
    }
}

fn role(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|ending| ending.to_str()) {
        Some("safetensors" | "onnx") => "weights",
        _ if name.ends_with("tokenizer.json") => "tokenizer",
        _ => "configuration",
    }
}

/// What a configuration may take: labels of ten thousand classes have less.
const MAX_JSON_BYTES: u64 = 64 << 20;

/// A file of JSON, if it is there.
pub fn json(files: &ModelFiles, name: &str) -> Result<Option<Json>> {
    let Some(n_bytes) = files.size(name)? else { return Ok(None) };
    let path = files.shown(name);
    if n_bytes > MAX_JSON_BYTES {
        return Err(Error::Data(format!("{path} has {n_bytes} bytes; {MAX_JSON_BYTES} are the most that is read")));
    }
    let value = serde_json::from_slice(&files.read(name, 0..n_bytes)?)
        .map_err(|error| Error::Data(format!("{path} is not JSON: {error}")))?;
    Ok(Some(Json { path, value }))
}

/// JSON that knows where it came from, so that what is missing can be named.
#[derive(Clone, Debug)]
pub struct Json {
    pub path: String,
    pub value: Value,
}

impl Json {
    pub fn wrong(&self, what: impl std::fmt::Display) -> Error {
        Error::Data(format!("{}: {what}", self.path))
    }

    /// A value that is there and not null.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// A whole number that must be there.
    pub fn count(&self, key: &str) -> Result<usize> {
        self.count_if_there(key)?.ok_or_else(|| self.wrong(format!("`{key}` is missing")))
    }

    pub fn count_or(&self, key: &str, default: usize) -> Result<usize> {
        Ok(self.count_if_there(key)?.unwrap_or(default))
    }

    fn count_if_there(&self, key: &str) -> Result<Option<usize>> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let count = value.as_u64().filter(|count| *count <= u64::from(u32::MAX));
        count.map(|count| Some(count as usize)).ok_or_else(|| self.wrong(format!("`{key}` is {value}, not a count")))
    }

    pub fn number_or(&self, key: &str, default: f64) -> Result<f64> {
        let Some(value) = self.get(key) else { return Ok(default) };
        value.as_f64().ok_or_else(|| self.wrong(format!("`{key}` is {value}, not a number")))
    }

    pub fn flag_or(&self, key: &str, default: bool) -> Result<bool> {
        let Some(value) = self.get(key) else { return Ok(default) };
        value.as_bool().ok_or_else(|| self.wrong(format!("`{key}` is {value}, not true or false")))
    }
}
