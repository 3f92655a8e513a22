//! Numbers for pieces of text and for pairs of numbers: equal ones get the same, new ones the next.
//!
//! Both are open-addressing tables that are kept from one document to the next. Before a document they are cleared as
//! far as the document can fill them, so a short document after a long one stays cheap.
//!
//! Invariant: exact. A piece is compared byte by byte before it counts as seen; a hash only says where to look.

use xxhash_rust::xxh3::xxh3_64;

/// Pieces of at most this many bytes are their own key.
const SHORT_BYTES: usize = 8;

/// Numbers the distinct pieces of a text.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    slots: Vec<PieceSlot>,
    shift: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct PieceSlot {
    /// The bytes of a short piece, the hash of a longer one.
    key: u64,
    n_bytes: u32,
    /// The number and one; 0 for a free slot.
    taken: u32,
}

impl Pieces {
    /// Forgets all pieces and makes room for `n_most` distinct ones.
    pub(super) fn clear(&mut self, n_most: usize) {
        self.shift = clear(&mut self.slots, n_most);
    }

    /// The number of `text[start..end]`; `next` if it is new. `place_of` tells where a numbered piece is.
    #[inline]
    pub(super) fn number(
        &mut self,
        text: &[u8],
        (start, end): (u32, u32),
        next: u32,
        place_of: impl Fn(u32) -> (u32, u32),
    ) -> u32 {
        let piece = &text[start as usize..end as usize];
        let n_bytes = end - start;
        let is_short = piece.len() <= SHORT_BYTES;
        let key = if is_short { short_key(text, start as usize, piece) } else { long_key(piece) };
        let mut at = spread(key ^ u64::from(n_bytes)) >> self.shift;
        loop {
            let slot = &mut self.slots[at as usize];
            if slot.taken == 0 {
                *slot = PieceSlot { key, n_bytes, taken: next + 1 };
                return next;
            }
            if slot.key == key && slot.n_bytes == n_bytes {
                let number = slot.taken - 1;
                let (start, end) = place_of(number);
                if is_short || text[start as usize..end as usize] == *piece {
                    return number;
                }
            }
            at = (at + 1) & (u64::MAX >> self.shift);
        }
    }
}

/// The bytes of a piece of at most 8, in one number; `text` is read past the piece where it goes on.
#[inline]
fn short_key(text: &[u8], start: usize, piece: &[u8]) -> u64 {
    match text[start..].first_chunk::<SHORT_BYTES>() {
        Some(bytes) => u64::from_le_bytes(*bytes) & (u64::MAX >> (64 - 8 * piece.len().max(1))),
        None => piece.iter().rev().fold(0, |key, byte| key << 8 | u64::from(*byte)),
    }
}

#[inline]
fn long_key(piece: &[u8]) -> u64 {
    match (piece.first_chunk::<8>(), piece.last_chunk::<8>()) {
        (Some(head), Some(tail)) if piece.len() <= 16 => {
            spread(u64::from_le_bytes(*head)) ^ u64::from_le_bytes(*tail).rotate_left(32)
        }
        _ => xxh3_64(piece),
    }
}

/// Numbers the distinct pairs of numbers.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    slots: Vec<PairSlot>,
    shift: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct PairSlot {
    pair: (u32, u32),
    /// The number and one; 0 for a free slot.
    taken: u32,
}

impl Pairs {
    /// Forgets all pairs and makes room for `n_most` distinct ones.
    pub(super) fn clear(&mut self, n_most: usize) {
        self.shift = clear(&mut self.slots, n_most);
    }

    /// The number of `pair`; `next` if it is new.
    #[inline]
    pub(super) fn number(&mut self, pair: (u32, u32), next: u32) -> u32 {
        let mut at = spread(u64::from(pair.0) << 32 | u64::from(pair.1)) >> self.shift;
        loop {
            let slot = &mut self.slots[at as usize];
            if slot.taken == 0 {
                *slot = PairSlot { pair, taken: next + 1 };
                return next;
            }
            if slot.pair == pair {
                return slot.taken - 1;
            }
            at = (at + 1) & (u64::MAX >> self.shift);
        }
    }
}

/// Frees the slots that `n_most` entries can reach: the smallest power of two that leaves a fifth of them free. Gives
/// by how many bits a spread hash is shifted to be a slot.
pub(super) fn clear<T: Default + Clone>(slots: &mut Vec<T>, n_most: usize) -> u32 {
    let n_slots = (n_most + n_most / 4 + 2).next_power_of_two();
    let n_kept = n_slots.min(slots.len());
    slots[..n_kept].fill(T::default());
    slots.resize(n_slots.max(slots.len()), T::default());
    64 - n_slots.trailing_zeros()
}

/// Mixes the bits of a key so that the upper ones choose the slot.
#[inline]
pub(super) fn spread(key: u64) -> u64 {
    let product = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * u128::from(0xa076_1d64_78bd_642f_u64);
    (product >> 64) as u64 ^ product as u64
}
