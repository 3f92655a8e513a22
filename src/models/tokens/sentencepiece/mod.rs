//! SentencePiece models (`.model`): how many pieces a text has.
//!
//! ```text
//! text ──normalizer──► text with ▁ for spaces ──unigram | bpe──► pieces ──► runs of unknown ones are one, or bytes
//! ```
//! Counts are those of the reference (0.2), which writes these files.
//!
//! Not here: pieces as texts, and where they stand.

mod bpe;
mod normalizer;
mod pieces;
mod proto;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod trie;
mod unigram;

use normalizer::Normalizer;
use pieces::Pieces;
use proto::{Message, Value};

/// A model, ready for use on any thread.
#[derive(Debug)]
pub(super) struct SentencePiece {
    normalizer: Normalizer,
    pieces: Pieces,
    kind: Kind,
    /// Whether a character that no piece has becomes a token for each of its bytes.
    has_bytes: bool,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Unigram,
    BytePairs,
}

impl SentencePiece {
    /// Reads the bytes of a file. The error says why it is none.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let (mut trainer, mut normalizer) = (Message::empty(), Message::empty());
        for field in Message::of(bytes) {
            match field? {
                (1, Value::Bytes(piece)) => pieces.push(pieces::Piece::read(Message::of(piece))?),
                (2, Value::Bytes(spec)) => trainer = Message::of(spec),
                (3, Value::Bytes(spec)) => normalizer = Message::of(spec),
                _ => {}
            }
        }
        if pieces.is_empty() {
            return Err("it has no pieces".into());
        }
        let (mut kind, mut has_bytes) = (1, false);
        for field in trainer {
            match field? {
                (3, Value::Int(n)) => kind = n,
                (24, Value::Int(1)) => return Err("its white space stands behind words, which is not supported".into()),
                (35, Value::Int(n)) => has_bytes = n != 0,
                _ => {}
            }
        }
        let kind = match kind {
            1 => Kind::Unigram,
            2 => Kind::BytePairs,
            3 => return Err("a model of whole words; unigram and BPE models can be read".into()),
            4 => return Err("a model of characters; unigram and BPE models can be read".into()),
            other => return Err(format!("a model of kind {other}; unigram and BPE models can be read")),
        };
        let pieces = Pieces::new(pieces);
        let normalizer = Normalizer::read(normalizer)?;
        Ok(Self { normalizer, pieces, kind, has_bytes })
    }

    /// How many pieces it has.
    pub(super) fn n_pieces(&self) -> usize {
        self.pieces.len()
    }

    /// How many tokens a text has.
    pub(super) fn count(&self, text: &str) -> usize {
        let text = self.normalizer.normalize(text, &self.pieces);
        let found = match self.kind {
            Kind::Unigram => unigram::segment(&text, &self.pieces),
            Kind::BytePairs => bpe::segment(&text, &self.pieces),
        };
        let mut n_tokens = 0;
        let mut was_unknown = false;
        for segment in found {
            let is_unknown = !segment.is_known;
            n_tokens += match (is_unknown, was_unknown) {
                (true, _) if self.has_bytes => segment.n_bytes,
                (true, true) => 0,
                _ => 1,
            };
            was_unknown = is_unknown;
        }
        n_tokens
    }
}

/// A part of a normalized text.
#[derive(Debug, Clone, Copy)]
struct Segment {
    n_bytes: usize,
    is_known: bool,
}

/// How many bytes the character takes that begins with this byte.
fn char_bytes(first: u8) -> usize {
    match first {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}
