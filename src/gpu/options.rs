//! The options of calls as kernels read them: `Options` in `kernels/lib/abi.cuh`.

use crate::ops::{Args, Value};

/// The options of several calls in one block of words.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct OptionBlock {
    /// What goes to the device.
    pub words: Vec<u64>,
    /// For each call the place of its first option.
    pub first: Vec<u32>,
}

impl OptionBlock {
    /// The options of `calls`.
    pub fn new<'a>(calls: impl IntoIterator<Item = &'a Args>) -> Self {
        let calls: Vec<&Args> = calls.into_iter().collect();
        let mut block = Self::default();
        let mut n_words: usize = 0;
        for args in &calls {
            block.first.push(n_words as u32);
            n_words += args.values().len();
        }
        block.words = vec![0; n_words];
        // The words of lists come after all options, and the bytes of texts after those.
        let mut texts: Vec<(usize, &str)> = vec![];
        for (at, value) in calls.iter().flat_map(|args| args.values()).enumerate() {
            match value {
                Value::Int(n) => block.words[at] = *n as u64,
                Value::Float(n) => block.words[at] = n.to_bits(),
                Value::Bool(flag) => block.words[at] = u64::from(*flag),
                Value::Text(text) => texts.push((at, text)),
                Value::TextList(members) => {
                    let first = block.words.len();
                    block.words[at] = first as u64 | (members.len() as u64) << 32;
                    block.words.resize(first + members.len(), 0);
                    texts.extend(members.iter().enumerate().map(|(i, member)| (first + i, member.as_str())));
                }
            }
        }
        let mut bytes: Vec<u8> = vec![];
        let bytes_at = block.words.len() * 8;
        for (word, text) in texts {
            block.words[word] = (bytes_at + bytes.len()) as u64 | (text.len() as u64) << 32;
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        block.words.extend(bytes.chunks_exact(8).map(|word| {
            let mut number = 0;
            word.iter().rev().for_each(|byte| number = number << 8 | u64::from(*byte));
            number
        }));
        block
    }
}
