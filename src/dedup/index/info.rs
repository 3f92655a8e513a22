//! What an index says about itself, from its manifest, directories and centres; no record is read.

use super::manifest::SegmentEntry;
use super::parameters::IndexParameters;
use super::publish::leftovers;
use super::reader::Index;
use crate::Result;
use serde::Serialize;
use std::path::Path;

/// A description of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexInfo {
    /// The version of its format.
    pub version: u32,
    /// The program that changed it last.
    pub written_by: String,
    /// How its keys were made.
    pub parameters: IndexParameters,
    /// Documents that were added.
    pub n_docs: u64,
    /// Keys or vectors, over all segments.
    pub n_records: u64,
    /// The size of its files.
    pub n_bytes: u64,
    /// The centres of clusters of vectors, and the values of each; none where there are no vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub centres: Option<CentresInfo>,
    /// The memory that looking keys up takes.
    pub lookup_bytes: usize,
    /// Its parts, in the order of their documents.
    pub segments: Vec<SegmentInfo>,
    /// Files of an append that did not end, or is going on.
    pub leftovers: Vec<String>,
}

/// The centres of an index of vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CentresInfo {
    /// How many there are.
    pub n_centres: usize,
    /// The values of each, and of every vector.
    pub dimension: usize,
}

/// A part of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SegmentInfo {
    /// The file of its records.
    pub file: String,
    /// The ordinal of its first document.
    pub first_ordinal: u64,
    /// Documents that came with it.
    pub n_docs: u64,
    /// Keys or vectors.
    pub n_records: u64,
    /// The size of its files.
    pub n_bytes: u64,
    /// Whether its documents have names.
    pub has_names: bool,
}

/// Describes the index in a folder.
pub fn info(folder: &Path) -> Result<IndexInfo> {
    let index = Index::open(folder)?;
    let manifest = index.manifest();
    Ok(IndexInfo {
        version: manifest.version,
        written_by: manifest.written_by.clone(),
        parameters: index.parameters().clone(),
        n_docs: index.n_docs(),
        n_records: index.n_records(),
        n_bytes: index.n_bytes(),
        centres: index.centres()?.map(|centres| CentresInfo { n_centres: centres.len(), dimension: centres.dimension }),
        lookup_bytes: index.lookup_bytes(),
        segments: manifest.segments.iter().map(segment_info).collect(),
        leftovers: leftovers(folder, manifest)?,
    })
}

fn segment_info(segment: &SegmentEntry) -> SegmentInfo {
    SegmentInfo {
        file: segment.records.file.clone(),
        first_ordinal: segment.first_ordinal,
        n_docs: segment.n_docs,
        n_records: segment.n_records,
        n_bytes: segment.files().map(|file| file.n_bytes).sum(),
        has_names: segment.names.is_some(),
    }
}
