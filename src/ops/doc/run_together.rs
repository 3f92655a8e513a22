//! The words of a document without what separates them.
//!
//! ```text
//! letters   · · t h e c a t s a t o n t h e m a t · ·     the words run together, padding at both ends
//! starts        0     1     2     3   4     5     6       where words begin, and the end
//! ```

use super::words::Word;

/// The padding, and how much of a word is copied at once.
pub(super) const WINDOW: usize = 16;

/// Words run together; the buffers are kept from one document to the next.
#[derive(Debug, Default)]
pub(super) struct RunTogether {
    /// The words, with a window of padding before and after them, and whatever an earlier document left.
    pub(super) letters: Vec<u8>,
    /// Where each word begins in `letters`, and the end.
    pub(super) starts: Vec<u32>,
}

impl RunTogether {
    /// Copies `words`, which are places in `text`.
    pub(super) fn read(&mut self, text: &str, words: &[Word]) {
        let text = text.as_bytes();
        // What is left of an earlier document is written over. Words are copied a window at a time, and the next word
        // begins where this one ends.
        let n_most = text.len() + 3 * WINDOW;
        if self.letters.len() < n_most {
            self.letters.resize(n_most, 0);
        }
        self.starts.clear();
        self.starts.reserve(words.len() + 1);
        let mut end = WINDOW;
        self.starts.push(end as u32);
        for word in words {
            let n_bytes = word.n_bytes();
            let from = &text[word.start as usize..];
            match (from.first_chunk::<WINDOW>(), self.letters[end..].first_chunk_mut::<WINDOW>()) {
                (Some(from), Some(to)) if n_bytes <= WINDOW => *to = *from,
                _ => self.letters[end..end + n_bytes].copy_from_slice(&from[..n_bytes]),
            }
            end += n_bytes;
            self.starts.push(end as u32);
        }
        self.letters[end..end + WINDOW].fill(0);
    }

    /// The letters of the `n` words from word `at` on.
    pub(super) fn gram(&self, at: usize, n: usize) -> &[u8] {
        &self.letters[self.starts[at] as usize..self.starts[at + n] as usize]
    }

    /// A hash of the `N` letters from byte `at` on, of which there are 8 to 16.
    #[inline(always)]
    pub(super) fn hash<const N: usize>(&self, at: usize) -> u64 {
        let window = self.letters.get(at..).and_then(|rest| rest.first_chunk::<WINDOW>());
        let window = window.map_or(0, |window| u128::from_le_bytes(*window));
        // Two products that do not wait for each other: it only has to keep most windows apart.
        let low = (window as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let high = ((window >> (8 * (N - 8))) as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
        low.wrapping_add(high.rotate_left(32)).wrapping_mul(0x9fb2_1c65_1e98_df25)
    }
}
