//! What a `DEDUP` is asked to do: plain data, made by the binder from checked options, read by executors and EXPLAIN.

use crate::ops::dedup::{HashFamily, Normalize, Shingle};

/// How duplicates are found.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// Rows with equal values.
    Exact(Exact),
    /// Documents with much the same shingles: MinHash and LSH.
    Fuzzy(Fuzzy),
    /// Lines, paragraphs or sentences that occurred before are cut out.
    Lines(Lines),
    /// Long substrings that occurred before are cut out.
    Substring(Substring),
    /// Vectors that point the same way: k-means, then cosine within each cluster.
    Semantic(Semantic),
}

impl Method {
    /// The word after `DEDUP`.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Exact(_) => "EXACT",
            Method::Fuzzy(_) => "FUZZY",
            Method::Lines(_) => "LINES",
            Method::Substring(_) => "SUBSTRING",
            Method::Semantic(_) => "SEMANTIC",
        }
    }

    /// Whether what repeats is cut out of the texts, instead of dropping rows.
    pub fn cuts_text(&self) -> bool {
        match self {
            Method::Lines(_) | Method::Substring(_) => true,
            Method::Exact(_) | Method::Fuzzy(_) | Method::Semantic(_) => false,
        }
    }

    /// Whether the values themselves are looked at, not only their keys.
    pub fn reads_value(&self) -> bool {
        match self {
            Method::Exact(exact) => exact.verify,
            Method::Fuzzy(fuzzy) => fuzzy.verify,
            Method::Lines(_) | Method::Substring(_) => true,
            Method::Semantic(_) => false,
        }
    }
}

/// `DEDUP EXACT`.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact {
    /// Compare the values too, not only their 128-bit hashes (`verify`).
    pub verify: bool,
}

/// `DEDUP FUZZY`.
#[derive(Debug, Clone, PartialEq)]
pub struct Fuzzy {
    /// Bands of the signature: equal in one band makes two documents candidates.
    pub bands: u32,
    /// Hashes in a band.
    pub rows: u32,
    /// The Jaccard similarity that is meant; verification holds pairs to it.
    pub threshold: f64,
    /// What a document is a set of.
    pub shingle: Shingle,
    /// What is done to the text before.
    pub normalize: Normalize,
    /// The hash functions.
    pub hash: HashFamily,
    /// Chooses the hash functions of the family.
    pub seed: u64,
    /// Check candidate pairs by their true Jaccard similarity.
    pub verify: bool,
    /// What a document must be similar to in order to go.
    pub link: Link,
}

/// What makes a document of `DEDUP FUZZY` a duplicate of the one that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// It is similar to it.
    Kept,
    /// There is a chain of similar documents from one to the other.
    Component,
}

/// What `DEDUP LINES` cuts a text into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinesUnit {
    /// Ends at a line break.
    Line,
    /// Ends at an empty line.
    Paragraph,
    /// Ends at a full stop, question mark, exclamation mark or line break.
    Sentence,
}

/// `DEDUP LINES`.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines {
    /// What is compared.
    pub unit: LinesUnit,
    /// So many units in a row are compared as one (datatrove's sentences: 3).
    pub span: usize,
    /// Spans with fewer words are left alone.
    pub min_words: usize,
    /// What is done to a span before it is hashed.
    pub normalize: Normalize,
    /// A document with fewer words left is dropped, if something was cut out of it.
    pub min_document_words: usize,
    /// A document with fewer units left is dropped, if something was cut out of it.
    pub min_document_units: usize,
}

/// How long a repeated substring must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanLength {
    /// Bytes of UTF-8.
    Bytes(usize),
    /// Tokens: runs of letters and digits, and every other character that is not white space.
    Tokens(usize),
}

/// `DEDUP SUBSTRING`.
#[derive(Debug, Clone, PartialEq)]
pub struct Substring {
    /// The shortest repeated substring that is cut out.
    pub min_length: SpanLength,
    /// A document with fewer words left is dropped, if something was cut out of it.
    pub min_document_words: usize,
}

/// Which of a pair of close vectors `DEDUP SEMANTIC` prefers when no `KEEP` is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SemanticKeep {
    /// The one farther from the cluster's centre.
    Hard,
    /// The one nearer to it.
    Easy,
    /// By a seeded shuffle.
    Random,
}

/// What a row of `DEDUP SEMANTIC` must be similar to in order to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SemanticLink {
    /// A preferred row that stays.
    Kept,
    /// Any preferred row, also one that goes itself (NeMo).
    Any,
}

/// `DEDUP SEMANTIC`.
#[derive(Debug, Clone, PartialEq)]
pub struct Semantic {
    /// A row goes if its cosine similarity to a preferred row of its cluster is at least this (1 − NeMo's `eps`).
    pub threshold: f64,
    /// Clusters of k-means.
    pub clusters: usize,
    /// Most iterations of k-means.
    pub iterations: usize,
    /// k-means ends when the centres move less than this.
    pub tolerance: f64,
    /// Chooses the first centres.
    pub seed: u64,
    /// k-means learns its centres from at most so many vectors.
    pub sample: usize,
    /// Who is preferred, without `KEEP`.
    pub which: SemanticKeep,
    /// Which preferred rows count.
    pub link: SemanticLink,
    /// The part of a GPU that a launch holds while it is under way.
    pub gpus: Option<f64>,
    /// Device memory that all launches under way may take together.
    pub gpu_memory_bytes: Option<u64>,
}

/// Which row of a cluster stays.
#[derive(Debug, Clone, PartialEq)]
pub struct Keep {
    /// The end of the order that stays.
    pub which: KeepWhich,
    /// Hidden columns that the rows of a cluster are ordered by, before their place in the input; as
    /// (name, descending, nulls first).
    pub by: Vec<(String, bool, bool)>,
    /// The hidden column with the hash of what stands after `PER`: only rows with the same one are duplicates.
    pub per: Option<String>,
}

/// The end of a cluster's order that stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepWhich {
    /// The first.
    First,
    /// The last.
    Last,
    /// Whichever is cheapest; the first, for us.
    Any,
    /// None of them: every row that has a duplicate goes.
    None,
}

/// What a `DEDUP` can add to each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExtraColumn {
    /// A number that the rows of a cluster share (`cluster_id`).
    ClusterId,
    /// Rows in the cluster (`cluster_size`).
    ClusterSize,
    /// The name of the row that stayed (`kept_id`).
    KeptId,
    /// The similarity to it (`similarity`).
    Similarity,
}

/// `AGAINST INDEX 'path' [APPEND | READ ONLY]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Against {
    /// The folder of the index.
    pub path: String,
    /// What happens to it.
    pub mode: AgainstMode,
}

/// What a run does to the index it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgainstMode {
    /// The rows of this run are added when it ends well.
    Append,
    /// It stays as it is.
    ReadOnly,
}

/// `DECONTAMINATE`: documents that share n-grams with the texts of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Decontaminate {
    /// What happens to a document with a match.
    pub mode: DecontaminateMode,
    /// Words of an n-gram.
    pub ngram: usize,
    /// Texts of an evaluation with fewer than `ngram` and at least so many words count as one n-gram (`Cut`).
    pub min_ngram: usize,
    /// What is done to texts before they are cut into words.
    pub normalize: Normalize,
    /// N-grams found in more documents than this are no evidence, and ignored (`Cut`).
    pub max_matches: usize,
    /// Characters that go on each side of a match, up to the end of a sentence (`Cut`).
    pub remove_chars: usize,
    /// Parts of a document with fewer characters left go too (`Cut`).
    pub min_document_chars: usize,
    /// A document that falls into more parts than this is dropped (`Cut`).
    pub max_splits: usize,
    /// Columns of the evaluation files whose texts are looked for; empty: all text columns.
    pub text_columns: Vec<String>,
    /// The column of the answers: its n-grams always count, those of the text columns by `queries` and `overlap`.
    pub label: Option<String>,
    /// With a `label`: n-grams of the text columns alone count too.
    pub queries: bool,
    /// With a `label`: n-grams that begin in the text and end in the answer count too.
    pub overlap: bool,
    /// The column that names the task, for the report; without it, the name of the file without its endings.
    pub task: Option<String>,
}

/// What `DECONTAMINATE` does to a document with a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecontaminateMode {
    /// It goes (datatrove).
    Drop,
    /// The match and its surroundings are cut out (NeMo Curator 0.9).
    Cut,
}
