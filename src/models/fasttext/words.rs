//! A line taken apart as fastText does, and the rows of words that come often.

/// The token that stands for the end of a line; where it stands in a text, the line ends too.
pub(super) const END_OF_LINE: &[u8] = b"</s>";

/// The tokens of a text as bytes: what stands between white space of ASCII and zeros, then the end of the line. The first line
/// feed ends the text, unless it counts as white space.
pub(super) fn tokens(text: &str, line_feeds_are_spaces: bool) -> impl Iterator<Item = &[u8]> {
    let text = text.as_bytes();
    let end = if line_feeds_are_spaces { None } else { memchr::memchr(b'\n', text) };
    let text = &text[..end.unwrap_or(text.len())];
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | 0x0B | 0x0C | 0);
    let tokens = text.split(is_space).filter(|token| !token.is_empty()).take_while(|token| *token != END_OF_LINE);
    tokens.chain(std::iter::once(END_OF_LINE))
}

/// The rows of the words met last, one word for each place that a hash can fall on: finding the pieces of a word costs more than
/// adding their rows.
#[derive(Debug)]
pub(super) struct WordCache {
    words: Vec<Word>,
}

#[derive(Debug, Clone, Copy)]
struct Word {
    hash: u32,
    n_bytes: u8,
    n_rows: u8,
    bytes: [u8; MAX_BYTES],
    rows: [u32; MAX_ROWS],
}

/// A word with its rows takes 160 bytes. Longer words are rare, and are looked up each time.
const MAX_BYTES: usize = 26;
const MAX_ROWS: usize = 32;
/// Together about what the second-level cache of a core holds.
const N_WORDS: usize = 8192;
/// No token has no bytes, so this is found for none.
const EMPTY: Word = Word { hash: 0, n_bytes: 0, n_rows: 0, bytes: [0; MAX_BYTES], rows: [0; MAX_ROWS] };

impl WordCache {
    pub(super) const BYTES: usize = N_WORDS * size_of::<Word>();

    pub(super) fn new() -> Self {
        Self { words: vec![EMPTY; N_WORDS] }
    }

    fn place(hash: u32) -> usize {
        // The lowest bits of the hash depend on few bits of each letter.
        (hash ^ (hash >> 15)) as usize % N_WORDS
    }

    pub(super) fn get(&self, word: &[u8], hash: u32) -> Option<&[u32]> {
        let known = &self.words[Self::place(hash)];
        let is_it = known.hash == hash && known.bytes[..known.n_bytes.into()] == *word;
        is_it.then(|| &known.rows[..known.n_rows.into()])
    }

    pub(super) fn put(&mut self, word: &[u8], hash: u32, rows: &[u32]) {
        if word.len() <= MAX_BYTES && rows.len() <= MAX_ROWS {
            let place = &mut self.words[Self::place(hash)];
            place.hash = hash;
            place.n_bytes = word.len() as u8;
            place.n_rows = rows.len() as u8;
            place.bytes[..word.len()].copy_from_slice(word);
            place.rows[..rows.len()].copy_from_slice(rows);
        }
    }
}
