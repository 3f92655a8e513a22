//! BPE models: neighbours are merged, the pair with the greatest score first, until no pair makes a piece.

use super::pieces::Pieces;
use super::{Segment, char_bytes};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

/// A part of the text, among its neighbours. One that was merged into its left neighbour has no bytes.
#[derive(Debug, Clone, Copy)]
struct Symbol {
    begin: usize,
    n_bytes: usize,
    left: Option<usize>,
    right: Option<usize>,
    /// User-defined pieces are not merged.
    is_frozen: bool,
}

/// Two neighbours that would make a piece.
#[derive(Debug, Clone, Copy)]
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    /// Of both together when they were found: if it is another one, they are no more.
    n_bytes: usize,
}

impl Ord for Pair {
    /// The greatest score first; of equal ones the leftmost.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Pair {}

/// The parts of unused pieces, by begin and bytes of the piece: what they are taken apart into.
type Parts = HashMap<(usize, usize), usize>;

pub(super) fn segment(text: &[u8], pieces: &Pieces) -> Vec<Segment> {
    let mut symbols = characters(text, pieces);
    let mut pairs = BinaryHeap::new();
    let mut parts = Parts::new();
    for right in 1..symbols.len() {
        pairs.extend(pair(text, pieces, &symbols, &mut parts, Some(right - 1), Some(right)));
    }
    while let Some(Pair { left, right, n_bytes, .. }) = pairs.pop() {
        let (a, b) = (symbols[left], symbols[right]);
        if a.n_bytes == 0 || b.n_bytes == 0 || a.n_bytes + b.n_bytes != n_bytes {
            continue;
        }
        symbols[left].n_bytes = n_bytes;
        symbols[left].right = b.right;
        if let Some(next) = b.right {
            symbols[next].left = Some(left);
        }
        symbols[right].n_bytes = 0;
        pairs.extend(pair(text, pieces, &symbols, &mut parts, a.left, Some(left)));
        pairs.extend(pair(text, pieces, &symbols, &mut parts, Some(left), b.right));
    }
    let mut segments = Vec::new();
    for symbol in symbols.iter().filter(|symbol| symbol.n_bytes > 0) {
        take_apart(text, pieces, &parts, symbol.begin, symbol.n_bytes, &mut segments);
    }
    segments
}

/// The text as user-defined pieces and characters.
fn characters(text: &[u8], pieces: &Pieces) -> Vec<Symbol> {
    let mut symbols: Vec<Symbol> = Vec::with_capacity(text.len());
    let mut begin = 0;
    while begin < text.len() {
        let user_defined = pieces.user_defined(&text[begin..]);
        let n_bytes = user_defined.unwrap_or_else(|| char_bytes(text[begin]).min(text.len() - begin));
        let (left, right) = (symbols.len().checked_sub(1), Some(symbols.len() + 1));
        symbols.push(Symbol { begin, n_bytes, left, right, is_frozen: user_defined.is_some() });
        begin += n_bytes;
    }
    if let Some(last) = symbols.last_mut() {
        last.right = None;
    }
    symbols
}

/// The pair of two neighbours, if it makes a piece.
fn pair(
    text: &[u8],
    pieces: &Pieces,
    symbols: &[Symbol],
    parts: &mut Parts,
    left: Option<usize>,
    right: Option<usize>,
) -> Option<Pair> {
    let (left, right) = (left?, right?);
    let (a, b) = (symbols[left], symbols[right]);
    if a.is_frozen || b.is_frozen {
        return None;
    }
    let n_bytes = a.n_bytes + b.n_bytes;
    let piece = pieces.get(&text[a.begin..a.begin + n_bytes])?;
    if piece.is_unused {
        parts.insert((a.begin, n_bytes), a.n_bytes);
    }
    Some(Pair { score: piece.score, left, right, n_bytes })
}

/// Adds a piece, or what an unused one was merged from.
fn take_apart(text: &[u8], pieces: &Pieces, parts: &Parts, begin: usize, n_bytes: usize, segments: &mut Vec<Segment>) {
    // Parts that are still to be added, the next one last.
    let mut open = vec![(begin, n_bytes)];
    while let Some((begin, n_bytes)) = open.pop() {
        let piece = pieces.get(&text[begin..begin + n_bytes]);
        match parts.get(&(begin, n_bytes)) {
            Some(first) if piece.is_some_and(|piece| piece.is_unused) => {
                open.push((begin + first, n_bytes - first));
                open.push((begin, *first));
            }
            _ => segments.push(Segment { n_bytes, is_known: piece.is_some() }),
        }
    }
}
