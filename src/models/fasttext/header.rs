//! What a file says of its model before its words: sizes, and how it was trained.

use super::file::File;
use crate::Result;

const MAGIC: i32 = 793_712_314;
/// Files of version 11 come from before supervised models had pieces of words.
const VERSIONS: [i32; 2] = [11, 12];
const SUPERVISED: i32 = 3;

/// The parameters that matter for a prediction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    /// Numbers in a row of either matrix.
    pub(super) dim: usize,
    /// Words in a row are looked up together, up to this many.
    pub(super) word_ngrams: usize,
    /// How labels come from the hidden numbers.
    pub(super) loss: LossKind,
    /// Rows that pieces of words and several words share, by their hash.
    pub(super) n_buckets: usize,
    /// The shortest pieces of a word, in characters.
    pub(super) min_chars: usize,
    /// The longest ones; 0 for none.
    pub(super) max_chars: usize,
}

/// How a model was trained to choose labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LossKind {
    /// A binary tree of labels, the frequent ones near its root.
    HierarchicalSoftmax,
    /// Each label by itself.
    OneVsAll,
    /// All labels at once.
    Softmax,
}

impl Header {
    pub(super) fn read(file: &mut File<'_>) -> Result<Self> {
        let is_fasttext = file.n_left() >= 8 && file.i32("its first bytes")? == MAGIC;
        if !is_fasttext {
            return Err(file.damaged("this is no fastText model: `.bin` and `.ftz` files begin with other bytes"));
        }
        let version = file.i32("its version")?;
        if !VERSIONS.contains(&version) {
            return Err(file.damaged(format!("a fastText model of version {version}; versions 11 and 12 can be read")));
        }
        let dim = file.count("its dimension")?;
        let _window = file.i32("its window")?;
        let _epochs = file.i32("its epochs")?;
        let _min_count = file.i32("its least count")?;
        let _negatives = file.i32("its negatives")?;
        let word_ngrams = file.i32("its word n-grams")?;
        let loss = file.i32("its loss")?;
        let kind = file.i32("its kind")?;
        let n_buckets = file.count("its number of buckets")?;
        let min_chars = file.i32("its shortest pieces of words")?;
        let max_chars = file.i32("its longest pieces of words")?;
        let _update_rate = file.i32("its update rate")?;
        let _sampling = file.i64("its sampling threshold")?;

        if kind != SUPERVISED {
            return Err(file.damaged("this fastText model holds word vectors; only a supervised one has labels"));
        }
        if dim == 0 {
            return Err(file.damaged("its dimension is 0: it is damaged"));
        }
        let loss = match loss {
            1 => LossKind::HierarchicalSoftmax,
            // Negative sampling trains what one-vs-all does; both are read alike.
            2 | 4 => LossKind::OneVsAll,
            3 => LossKind::Softmax,
            other => return Err(file.damaged(format!("its loss is of kind {other}, which is not known"))),
        };
        let max_chars = if version == 11 { 0 } else { usize::try_from(max_chars).unwrap_or(0) };
        if n_buckets == 0 && (max_chars > 0 || word_ngrams > 1) {
            return Err(file.damaged("it has pieces of words but no buckets for them: it is damaged"));
        }
        Ok(Self {
            dim,
            word_ngrams: usize::try_from(word_ngrams).unwrap_or(0),
            loss,
            n_buckets,
            min_chars: usize::try_from(min_chars).unwrap_or(0),
            max_chars,
        })
    }
}
