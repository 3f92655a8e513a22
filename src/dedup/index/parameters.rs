//! What two runs must agree on to share an index.
//!
//! Keys of other hash functions or other shingles would not be wrong, they would just never be found: the index
//! therefore states how its keys were made, and is only opened by a query that makes them in the same way.

use crate::dedup::{Fuzzy, Method};
use crate::ops::dedup::{HashFamily, Normalize, Shingle};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The hash of `DEDUP EXACT`.
const EXACT_HASH: &str = "xxh3-128";

/// How the keys of an index were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexParameters {
    /// 128-bit hashes of values.
    Exact {
        /// The hash function.
        hash: String,
    },
    /// Fingerprints of the bands of MinHash signatures.
    Fuzzy {
        /// Bands of a signature.
        bands: u32,
        /// Hashes in a band.
        rows: u32,
        /// What a document is a set of.
        shingle: Shingle,
        /// What is done to the text before.
        normalize: Normalize,
        /// The hash functions.
        hash: HashFamily,
        /// Chooses the hash functions of the family.
        seed: u64,
    },
    /// Vectors, by the nearest of centres that the index holds too.
    Semantic {
        /// Centres that were asked for when the index was begun.
        clusters: u64,
    },
}

impl IndexParameters {
    /// What an index for `method` must hold; none for methods that have no index.
    pub fn of(method: &Method) -> Option<Self> {
        match method {
            Method::Exact(_) => Some(Self::exact()),
            Method::Fuzzy(fuzzy) => Some(Self::fuzzy(fuzzy)),
            Method::Semantic(semantic) => Some(Self::Semantic { clusters: semantic.clusters as u64 }),
            Method::Lines(_) | Method::Substring(_) => None,
        }
    }

    /// The keys of `DEDUP EXACT`.
    pub fn exact() -> Self {
        Self::Exact { hash: EXACT_HASH.to_string() }
    }

    /// The keys of a `DEDUP FUZZY`. Its threshold and verification are no part of them.
    pub fn fuzzy(fuzzy: &Fuzzy) -> Self {
        let Fuzzy { bands, rows, shingle, normalize, hash, seed, threshold: _, verify: _, link: _ } = *fuzzy;
        Self::Fuzzy { bands, rows, shingle, normalize, hash, seed }
    }

    /// The number of 64-bit words in a key; 0 if there are vectors in place of keys.
    pub fn key_words(&self) -> usize {
        match self {
            Self::Exact { .. } => 2,
            Self::Fuzzy { .. } => 1,
            Self::Semantic { .. } => 0,
        }
    }

    /// What the index is a store of.
    pub fn has_vectors(&self) -> bool {
        matches!(self, Self::Semantic { .. })
    }

    /// The version of the format that first had such an index. Older programs refuse it by that number, and still read
    /// the others.
    pub(super) fn format_version(&self) -> u32 {
        if self.has_vectors() { 2 } else { 1 }
    }

    /// An error unless `wanted` are the same.
    pub(super) fn check(&self, wanted: &Self, place: &str) -> Result<()> {
        if self == wanted {
            return Ok(());
        }
        Err(Error::Data(format!(
            "{place}: other parameters: the index holds {self}, this query asks for {wanted}; \
             use the options of the index, or another folder"
        )))
    }

    pub(super) fn to_stored(&self) -> StoredParameters {
        match self {
            Self::Exact { hash } => StoredParameters::Exact { hash: hash.clone() },
            Self::Fuzzy { bands, rows, shingle, normalize, hash, seed } => StoredParameters::Fuzzy {
                bands: *bands,
                rows: *rows,
                shingle: shingle.to_string(),
                normalize: normalize.to_string(),
                hash: hash.to_string(),
                seed: *seed,
            },
            Self::Semantic { clusters } => StoredParameters::Semantic { clusters: *clusters },
        }
    }

    pub(super) fn from_stored(stored: &StoredParameters) -> Result<Self, String> {
        Ok(match stored {
            StoredParameters::Exact { hash } => Self::Exact { hash: hash.clone() },
            StoredParameters::Fuzzy { bands, rows, shingle, normalize, hash, seed } => Self::Fuzzy {
                bands: *bands,
                rows: *rows,
                shingle: shingle.parse()?,
                normalize: normalize.parse()?,
                hash: hash.parse()?,
                seed: *seed,
            },
            StoredParameters::Semantic { clusters } => Self::Semantic { clusters: *clusters },
        })
    }
}

impl fmt::Display for IndexParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact { hash } => write!(f, "exact {hash}"),
            Self::Fuzzy { bands, rows, shingle, normalize, hash, seed } => {
                write!(f, "fuzzy {shingle} {bands}×{rows}, normalize {normalize}, hash {hash}, seed {seed}")
            }
            Self::Semantic { clusters } => write!(f, "semantic, {clusters} clusters"),
        }
    }
}

impl Serialize for IndexParameters {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_stored().serialize(serializer)
    }
}

/// The parameters as the manifest writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum StoredParameters {
    Exact { hash: String },
    Fuzzy { bands: u32, rows: u32, shingle: String, normalize: String, hash: String, seed: u64 },
    Semantic { clusters: u64 },
}
