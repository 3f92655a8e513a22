//! `index.json`: what an index holds. A file that it does not name is not part of the index.
//!
//! ```text
//! { "format": "curator index", "version": 1, …, "segments": [ … ],
//!   "checksum": "xxh3-128 of every byte before this line's comma" }
//! ```
//! Invariant: a manifest that was read without an error is byte for byte one that was written.
//! Not here: replacing it (`publish.rs`), the files it names (`block_file.rs`).

use super::parameters::{IndexParameters, StoredParameters};
use crate::store;
use crate::{Error, Result, bug};
use serde::{Deserialize, Serialize};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_128;

/// The file's name.
pub(super) const MANIFEST: &str = "index.json";

/// The newest version of the format: vectors came with 2. An index states the least version that has all it holds.
pub const INDEX_FORMAT_VERSION: u32 = 2;

const FORMAT: &str = "curator index";
const CHECKSUM: &str = ",\n  \"checksum\": \"";
const END: &str = "\"\n}\n";

/// What an index holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: String,
    pub version: u32,
    /// The program that wrote this manifest.
    pub written_by: String,
    parameters: StoredParameters,
    /// Documents that were added, over all appends: the next one's ordinal.
    pub n_docs: u64,
    /// The number of the next segment. Numbers are never used twice, so that a reader cannot mistake a file.
    pub next_segment: u64,
    /// The centres of clusters of vectors: those of the first append that had any, for good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centres: Option<FileEntry>,
    pub segments: Vec<SegmentEntry>,
    /// Runs whose documents a compaction put together with others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compacted_runs: Vec<String>,
}

/// The records and names that one append, merge or compaction added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SegmentEntry {
    /// The ordinal of the segment's first document.
    pub first_ordinal: u64,
    /// Documents that came with it.
    pub n_docs: u64,
    /// Added to the ordinals in its file: more than 0 if the file was written for another index.
    pub ordinal_shift: u64,
    /// Keys with an ordinal each, or vectors.
    pub n_records: u64,
    /// The range of the keys, hexadecimal; none in an empty segment.
    pub first_key: Option<String>,
    pub last_key: Option<String>,
    pub records: FileEntry,
    /// The documents' names, if there are any.
    pub names: Option<FileEntry>,
    /// The run that added it, by its name. None after a compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A file of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileEntry {
    pub file: String,
    pub n_bytes: u64,
    /// The hash of the whole file, 32 hexadecimal digits.
    pub xxh3_128: String,
}

impl SegmentEntry {
    /// Its files.
    pub fn files(&self) -> impl Iterator<Item = &FileEntry> {
        std::iter::once(&self.records).chain(&self.names)
    }
}

impl Manifest {
    /// An index without documents.
    pub fn empty(parameters: &IndexParameters) -> Self {
        Self {
            format: FORMAT.to_string(),
            version: parameters.format_version(),
            written_by: written_by(),
            parameters: parameters.to_stored(),
            n_docs: 0,
            next_segment: 1,
            centres: None,
            segments: vec![],
            compacted_runs: vec![],
        }
    }

    /// How the keys were made.
    pub fn parameters(&self) -> Result<IndexParameters> {
        IndexParameters::from_stored(&self.parameters).map_err(|problem| Error::Data(format!("{MANIFEST}: {problem}")))
    }

    /// The index as it was before its segments from `at` on were added.
    pub fn before_segment(&self, at: usize) -> Self {
        let mut before = self.clone();
        before.n_docs = self.segments.get(at).map_or(self.n_docs, |segment| segment.first_ordinal);
        before.segments.truncate(at);
        if before.n_records() == 0 {
            before.centres = None;
        }
        before
    }

    /// The index as it was before the run of this name; `None` if it has not added anything.
    pub fn before_run(&self, run: &str) -> Result<Option<Self>, String> {
        if self.compacted_runs.iter().any(|known| known == run) {
            return Err(
                "it holds what this very run has added, and a compaction has put that together with the rest, so \
                        the run cannot be repeated against the index as it was before\n\
                        restore the index from a copy, or use READ ONLY"
                    .to_string(),
            );
        }
        let at = self.segments.iter().position(|segment| segment.run.as_deref() == Some(run));
        Ok(at.map(|at| self.before_segment(at)))
    }

    /// Keys or vectors over all segments.
    pub fn n_records(&self) -> u64 {
        self.segments.iter().map(|segment| segment.n_records).sum()
    }

    /// The size of the files it names.
    pub fn n_bytes(&self) -> u64 {
        self.files().map(|file| file.n_bytes).sum()
    }

    /// The files it names.
    pub fn files(&self) -> impl Iterator<Item = &FileEntry> {
        self.centres.iter().chain(self.segments.iter().flat_map(SegmentEntry::files))
    }

    /// Whether a file is part of the index.
    pub fn names_file(&self, name: &str) -> bool {
        self.files().any(|file| file.file == name)
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let stamped = Self { written_by: written_by(), ..self.clone() };
        let text = serde_json::to_string_pretty(&stamped).map_err(|error| bug!("{MANIFEST}: {error}"))?;
        let body = text.strip_suffix("\n}").ok_or_else(|| bug!("{MANIFEST} does not end in a brace"))?;
        Ok(format!("{body}{CHECKSUM}{:032x}{END}", xxh3_128(body.as_bytes())).into_bytes())
    }

    /// Reads the file of an index; none if there is no such file.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MANIFEST);
        match store::read(&path) {
            Ok(bytes) => Self::parse(&bytes, &path).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(path, error)),
        }
    }

    fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let place = path.display();
        let damaged = |what: &str| {
            Error::Data(format!(
                "{place}: {what}; restore the index from a copy, or remove its folder and build it anew"
            ))
        };
        let value: serde_json::Value =
            serde_json::from_slice(bytes).map_err(|error| damaged(&format!("damaged, or not of an index: {error}")))?;
        if value.get("format").and_then(|format| format.as_str()) != Some(FORMAT) {
            return Err(Error::Data(format!("{place}: not a curator index")));
        }
        const NEWEST: u64 = INDEX_FORMAT_VERSION as u64;
        // A newer format may differ in everything but the first two fields.
        match value.get("version").and_then(|version| version.as_u64()) {
            Some(1..=NEWEST) => {}
            Some(version) if version > NEWEST => {
                return Err(Error::Data(format!(
                    "{place}: written by a newer curator: format {version}, this one reads {INDEX_FORMAT_VERSION}"
                )));
            }
            _ => return Err(damaged("damaged: no version that there ever was")),
        }
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("damaged: not text"))?;
        let checked = text.rsplit_once(CHECKSUM).is_some_and(|(body, rest)| {
            rest.strip_suffix(END) == Some(format!("{:032x}", xxh3_128(body.as_bytes())).as_str())
        });
        if !checked {
            return Err(damaged("damaged, or changed by hand: the checksum is another"));
        }
        let manifest: Self = serde_json::from_value(value)
            .map_err(|error| damaged(&format!("not as this version writes it: {error}")))?;
        manifest.check().map_err(|problem| damaged(&problem))?;
        Ok(manifest)
    }

    /// What readers rely on; a program that writes another manifest than ours can get the checksum right.
    fn check(&self) -> Result<(), String> {
        let parameters = IndexParameters::from_stored(&self.parameters)?;
        if parameters.format_version() > self.version {
            return Err(format!("an index that format {} does not have", self.version));
        }
        if parameters.has_vectors() && self.centres.is_none() && self.n_records() > 0 {
            return Err("vectors without centres".to_string());
        }
        let mut next_ordinal = 0u64;
        for segment in &self.segments {
            if segment.first_ordinal != next_ordinal {
                return Err(format!("{} does not follow the segment before it", segment.records.file));
            }
            next_ordinal = next_ordinal.checked_add(segment.n_docs).ok_or("too many documents")?;
        }
        if let Some(file) = self.files().find(|file| !is_segment_file(&file.file)) {
            return Err(format!("`{}` is no name of a segment's file", file.file));
        }
        if next_ordinal == self.n_docs { Ok(()) } else { Err("the documents do not add up".to_string()) }
    }
}

fn written_by() -> String {
    format!("curator {}", env!("CARGO_PKG_VERSION"))
}

/// What the files of a segment are called.
const ENDINGS: [&str; 4] = [".records", ".vectors", ".names", ".centres"];

/// The file of a segment's keys or vectors.
pub(super) fn records_file(number: u64, parameters: &IndexParameters) -> String {
    format!("segment-{number:06}.{}", if parameters.has_vectors() { "vectors" } else { "records" })
}

/// The file of a segment's names.
pub(super) fn names_file(number: u64) -> String {
    format!("segment-{number:06}.names")
}

/// The file of the centres that came with a segment.
pub(super) fn centres_file(number: u64) -> String {
    format!("segment-{number:06}.centres")
}

/// Whether a file is called like one of ours.
pub(super) fn is_segment_file(name: &str) -> bool {
    let number = name.strip_prefix("segment-");
    let number = number.and_then(|rest| ENDINGS.iter().find_map(|ending| rest.strip_suffix(ending)));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}
