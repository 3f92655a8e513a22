//! Numbers for pieces of text and for pairs of numbers: equal ones get the same, new ones the next.
//!
//! Both are open-addressing tables that are kept from one document to the next. Before a document they are cleared as
//! far as the document can fill them, so a short document after a long one stays cheap.
//!
//! Whether a piece is new cannot be foreseen, so nothing is decided by it: a slot that is free and one that holds the
//! piece are treated alike, and written in either case. What is decided, whether the first slot is one of the two, mostly
//! goes one way.
//!
//! Invariant: exact. A piece is compared byte by byte before it counts as seen; a hash only says where to look.

use xxhash_rust::xxh3::xxh3_64;

/// Pieces of at most this many bytes are their own key.
const SHORT_BYTES: usize = 16;

/// Numbers the distinct pieces of a text.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    slots: Vec<PieceSlot>,
    shift: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct PieceSlot {
    key: PieceKey,
    /// The number and one; 0 for a free slot.
    taken: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PieceKey {
    /// The first and the last eight bytes of a short piece, which are the same if it has not more; the hash of a longer
    /// one.
    head: u64,
    tail: u64,
    n_bytes: u32,
}

impl PieceKey {
    #[inline(always)]
    fn of(text: &[u8], start: usize, n_bytes: usize) -> Self {
        let piece = &text[start..start + n_bytes];
        if n_bytes > SHORT_BYTES {
            return Self { head: xxh3_64(piece), tail: 0, n_bytes: n_bytes as u32 };
        }
        // Eight bytes are read also where the piece has fewer and the text goes on.
        let wanted = 1_u64.checked_shl(8 * n_bytes as u32).unwrap_or(0).wrapping_sub(1);
        let last = start + n_bytes.saturating_sub(8);
        let (head, tail) = match (eight(text, start), eight(text, last)) {
            (Some(head), Some(tail)) => (head & wanted, tail & wanted),
            _ => {
                let eight = |bytes: &[u8]| bytes.iter().rev().fold(0, |key, byte| key << 8 | u64::from(*byte));
                (eight(&piece[..n_bytes.min(8)]), eight(&piece[last - start..]))
            }
        };
        Self { head, tail, n_bytes: n_bytes as u32 }
    }

    #[inline(always)]
    fn is(&self, other: &Self) -> bool {
        // Without a branch between the parts.
        (self.head ^ other.head) | (self.tail ^ other.tail) | u64::from(self.n_bytes ^ other.n_bytes) == 0
    }

    #[inline(always)]
    fn hash(&self) -> u64 {
        spread(self.head ^ self.tail.rotate_left(29) ^ u64::from(self.n_bytes))
    }
}

/// The eight bytes from `at` on, if there are as many.
#[inline(always)]
pub(super) fn eight(text: &[u8], at: usize) -> Option<u64> {
    text.get(at..)?.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes))
}

/// A hash of `text[start..end]`.
#[inline(always)]
pub(super) fn piece_hash(text: &[u8], (start, end): (u32, u32)) -> u64 {
    PieceKey::of(text, start as usize, (end - start) as usize).hash()
}

impl Pieces {
    /// Forgets all pieces and makes room for `n_most` distinct ones.
    pub(super) fn clear(&mut self, n_most: usize) {
        self.shift = clear(&mut self.slots, n_most);
    }

    /// The number of `text[start..end]`; `next` if it is new. `place_of` tells where a numbered piece is.
    #[inline(always)]
    pub(super) fn number(
        &mut self,
        text: &[u8],
        (start, end): (u32, u32),
        next: u32,
        place_of: impl Fn(u32) -> (u32, u32),
    ) -> u32 {
        let (start, n_bytes) = (start as usize, (end - start) as usize);
        let key = PieceKey::of(text, start, n_bytes);
        let mut at = key.hash() >> self.shift;
        loop {
            let slot = &mut self.slots[at as usize];
            let is_free = slot.taken == 0;
            if is_free | slot.key.is(&key) {
                let number = if is_free { next } else { slot.taken - 1 };
                let is_equal = |(first, _): (u32, u32)| {
                    text[first as usize..first as usize + n_bytes] == text[start..start + n_bytes]
                };
                if n_bytes <= SHORT_BYTES || is_free || is_equal(place_of(number)) {
                    *slot = PieceSlot { key, taken: number + 1 };
                    return number;
                }
            }
            at = (at + 1) & (u64::MAX >> self.shift);
        }
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
    pair: u64,
    /// The number and one; 0 for a free slot.
    taken: u32,
}

impl Pairs {
    /// Forgets all pairs and makes room for `n_most` distinct ones.
    pub(super) fn clear(&mut self, n_most: usize) {
        self.shift = clear(&mut self.slots, n_most);
    }

    /// The number of a pair; `next` if it is new.
    #[inline(always)]
    pub(super) fn number(&mut self, (left, right): (u32, u32), next: u32) -> u32 {
        let pair = u64::from(left) << 32 | u64::from(right);
        let mut at = spread(pair) >> self.shift;
        loop {
            let slot = &mut self.slots[at as usize];
            let is_free = slot.taken == 0;
            if is_free | (slot.pair == pair) {
                let number = if is_free { next } else { slot.taken - 1 };
                *slot = PairSlot { pair, taken: number + 1 };
                return number;
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
