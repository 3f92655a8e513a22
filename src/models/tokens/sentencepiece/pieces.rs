//! The pieces of a model, found by their text.

use super::proto::{Message, Value};
use super::trie::Trie;

/// One piece as the file has it.
#[derive(Debug)]
pub(super) struct Piece {
    text: Vec<u8>,
    score: f32,
    kind: PieceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    /// Found in texts.
    Normal,
    /// Found in texts before all others.
    UserDefined,
    /// Merged by byte pairs, and taken apart again.
    Unused,
    /// Unknown, control, byte: not found in texts.
    Other,
}

impl Piece {
    pub(super) fn read(message: Message<'_>) -> Result<Self, String> {
        let mut piece = Self { text: Vec::new(), score: 0.0, kind: PieceKind::Normal };
        for field in message {
            match field? {
                (1, Value::Bytes(text)) => piece.text = text.to_vec(),
                (2, Value::Float(score)) => piece.score = score,
                (3, Value::Int(kind)) => {
                    piece.kind = match kind {
                        1 => PieceKind::Normal,
                        4 => PieceKind::UserDefined,
                        5 => PieceKind::Unused,
                        _ => PieceKind::Other,
                    }
                }
                _ => {}
            }
        }
        Ok(piece)
    }
}

/// All pieces that texts can have.
#[derive(Debug)]
pub(super) struct Pieces {
    all: Vec<Found>,
    trie: Trie,
    user_defined: Option<Trie>,
    /// The score of a character that no piece has: below all others.
    pub(super) unknown_score: f32,
    /// Of normal pieces, and not below 0, as the reference has it.
    greatest_score: f32,
}

/// A piece that was found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) score: f32,
    pub(super) is_user_defined: bool,
    pub(super) is_unused: bool,
}

/// How far below the least score an unknown character is.
const UNKNOWN_PENALTY: f32 = 10.0;

impl Pieces {
    pub(super) fn new(pieces: Vec<Piece>) -> Self {
        let is_normal = |piece: &&Piece| piece.kind == PieceKind::Normal;
        let scores = || pieces.iter().filter(is_normal).map(|piece| piece.score);
        let unknown_score = scores().fold(f32::MAX, f32::min) - UNKNOWN_PENALTY;
        let greatest_score = scores().fold(f32::MIN_POSITIVE, f32::max);
        let texts = |is_wanted: fn(PieceKind) -> bool| {
            let wanted =
                pieces.iter().enumerate().filter(move |(_, piece)| is_wanted(piece.kind) && !piece.text.is_empty());
            wanted.map(|(number, piece)| (piece.text.as_slice(), number as u32)).collect::<Vec<_>>()
        };
        let trie = Trie::new(texts(|kind| kind != PieceKind::Other));
        let user_defined = texts(|kind| kind == PieceKind::UserDefined);
        let user_defined = (!user_defined.is_empty()).then(|| Trie::new(user_defined));
        let found = |piece: &Piece| Found {
            score: piece.score,
            is_user_defined: piece.kind == PieceKind::UserDefined,
            is_unused: piece.kind == PieceKind::Unused,
        };
        Self { all: pieces.iter().map(found).collect(), trie, user_defined, unknown_score, greatest_score }
    }

    /// How many the file has, of all kinds.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The piece with this text.
    pub(super) fn get(&self, text: &[u8]) -> Option<Found> {
        self.trie.beginning(text).find(|(n_bytes, _)| *n_bytes == text.len()).map(|(_, piece)| self.all[piece as usize])
    }

    /// Each piece that a text begins with, and its bytes.
    pub(super) fn beginning(&self, text: &[u8]) -> impl Iterator<Item = (usize, Found)> {
        self.trie.beginning(text).map(|(n_bytes, piece)| (n_bytes, self.all[piece as usize]))
    }

    /// The bytes of the longest user-defined piece that a text begins with.
    pub(super) fn user_defined(&self, text: &[u8]) -> Option<usize> {
        self.user_defined.as_ref()?.beginning(text).map(|(n_bytes, _)| n_bytes).last()
    }

    /// The score of a piece of so many bytes on a way through a text. A user-defined one wins against all others.
    pub(super) fn score(&self, piece: Found, n_bytes: usize) -> f32 {
        if piece.is_user_defined { n_bytes as f32 * self.greatest_score - 0.1 } else { piece.score }
    }
}
