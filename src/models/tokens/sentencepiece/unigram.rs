//! Unigram models: of all ways to cut a text into pieces, the one with the greatest sum of scores.

use super::pieces::Pieces;
use super::{Segment, char_bytes};

/// The best way to a place in the text.
#[derive(Debug, Clone, Copy)]
struct Way {
    score: f32,
    /// The bytes of its last piece; 0 where no way leads.
    n_bytes: u32,
    is_known: bool,
}

pub(super) fn segment(text: &[u8], pieces: &Pieces) -> Vec<Segment> {
    let mut ways = vec![Way { score: 0.0, n_bytes: 0, is_known: false }; text.len() + 1];
    let mut at = 0;
    while at < text.len() {
        let so_far = ways[at].score;
        let one = char_bytes(text[at]).min(text.len() - at);
        let mut take = |n_bytes: usize, score: f32, is_known: bool| {
            let way = &mut ways[at + n_bytes];
            // Of equal scores the first stays.
            if way.n_bytes == 0 || score > way.score {
                *way = Way { score, n_bytes: n_bytes as u32, is_known };
            }
        };
        let mut has_one = false;
        for (n_bytes, piece) in pieces.beginning(&text[at..]) {
            if !piece.is_unused {
                take(n_bytes, so_far + pieces.score(piece, n_bytes), true);
                has_one |= n_bytes == one;
            }
        }
        if !has_one {
            take(one, so_far + pieces.unknown_score, false);
        }
        at += one;
    }
    let mut segments = Vec::new();
    let mut end = text.len();
    while end > 0 && ways[end].n_bytes > 0 {
        let Way { n_bytes, is_known, .. } = ways[end];
        segments.push(Segment { n_bytes: n_bytes as usize, is_known });
        end -= n_bytes as usize;
    }
    segments.reverse();
    segments
}
