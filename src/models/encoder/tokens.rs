//! Texts to ids, as the model's own tokenizer makes them.
//!
//! A model reads the first `max_tokens` tokens of a text. Of a long document only a beginning is tokenized that is sure to hold
//! as many: it ends at white space, where tokenizers that look at one word at a time cannot see what follows.

use crate::{Error, Result};
use serde_json::Value;
use tokenizers::{Tokenizer, TruncationParams};

/// A tokenizer with the limit of a model.
pub struct Tokens {
    tokenizer: Tokenizer,
    max_tokens: usize,
    /// Whether a text may be cut at white space before it is tokenized.
    by_word: bool,
    pad_id: i32,
    key: String,
}

/// One text, as a model reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    pub ids: Vec<i32>,
    /// Whether the text went on.
    pub truncated: bool,
}

/// What is tokenized at first of a long text, for each token that is wanted. Most words are shorter.
const BYTES_PER_TOKEN: usize = 8;

impl Tokens {
    /// From the bytes of a `tokenizer.json`; `shown` names it in messages.
    pub fn open(bytes: &[u8], max_tokens: usize, pad_id: i32, shown: &str) -> Result<Self> {
        let wrong = |error: String| Error::Data(format!("{shown} is not a tokenizer that can be read: {error}"));
        let json: Value = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        let mut tokenizer = Tokenizer::from_bytes(bytes).map_err(|error| wrong(error.to_string()))?;
        // The file may say how texts were cut and filled up in training.
        tokenizer.with_padding(None);
        let truncation = TruncationParams { max_length: max_tokens, ..Default::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| wrong(error.to_string()))?;
        let by_word = looks_at_words(&json["pre_tokenizer"]);
        let key = format!("{:032x} {max_tokens}", xxhash_rust::xxh3::xxh3_128(bytes));
        Ok(Tokens { tokenizer, max_tokens, by_word, pad_id, key })
    }

    /// Tokenizers with one key give the same ids.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn pad_id(&self) -> i32 {
        self.pad_id
    }

    /// How many ids the vocabulary has, added tokens included.
    pub fn vocabulary_size(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// The ids of a text, at most `max_tokens`.
    pub fn encode(&self, text: &str) -> Result<Encoded, String> {
        let mut n_bytes = self.max_tokens.saturating_mul(BYTES_PER_TOKEN);
        while self.by_word && n_bytes < text.len() {
            let Some(end) = end_of_word(text, n_bytes) else { break };
            let encoded = self.encode_all(&text[..end])?;
            if encoded.truncated {
                return Ok(encoded);
            }
            n_bytes = n_bytes.saturating_mul(2);
        }
        self.encode_all(text)
    }

    fn encode_all(&self, text: &str) -> Result<Encoded, String> {
        let encoding = self.tokenizer.encode_fast(text, true).map_err(|error| error.to_string())?;
        let ids = encoding.get_ids().iter().map(|id| *id as i32).collect();
        Ok(Encoded { ids, truncated: !encoding.get_overflowing().is_empty() })
    }
}

/// The first place at or after `from` where a word ends.
fn end_of_word(text: &str, from: usize) -> Option<usize> {
    let from = (from..text.len()).find(|place| text.is_char_boundary(*place))?;
    let space = text[from..].find(char::is_whitespace)?;
    Some(from + space)
}

/// Whether white space always ends what a tokenizer looks at.
fn looks_at_words(pre_tokenizer: &Value) -> bool {
    match pre_tokenizer["type"].as_str() {
        Some("BertPreTokenizer" | "Whitespace" | "WhitespaceSplit") => true,
        Some("Metaspace") => pre_tokenizer["split"].as_bool().unwrap_or(true),
        Some("ByteLevel") => pre_tokenizer["use_regex"].as_bool().unwrap_or(true),
        Some("Sequence") => pre_tokenizer["pretokenizers"].as_array().is_some_and(|all| all.iter().any(looks_at_words)),
        _ => false,
    }
}
