//! A set of texts that is asked about every word of a document.
//!
//! Most words are not members, and that must cost next to nothing: one look at their first byte and length says no.
//! What is left is looked up by its first eight bytes, which for most words is the whole word. Where members are few, a
//! factor is found that gives each a slot of its own: then one look settles it, and words are counted without a branch.

use super::doc::Word;
use super::simd;
use fearless_simd::dispatch;
use std::collections::BTreeSet;

/// For up to this many members a factor without collisions is looked for, in a table of this many slots for each.
const FEW_MEMBERS: usize = 64;
const SLOTS_PER_MEMBER: usize = 8;

/// Texts, for asking whether one of them is this one.
#[derive(Debug, Clone)]
pub(crate) struct TextSet {
    /// For each first byte, the lengths of members that begin with it: bit `n` for `n` bytes, the last for all longer.
    lengths: Box<[u64; 256]>,
    /// Which bytes end a member, and which are one.
    last: Box<[End; 256]>,
    /// Which bytes may stand before the last one: all, if a member has one byte.
    before_last: Box<[bool; 256]>,
    has_empty: bool,
    /// Open addressing; the size is a power of two, and at most half of it is taken.
    slots: Vec<Slot>,
    /// Multiplied with a key, it gives the slot.
    factor: u64,
    /// Whether every member is in its own slot, and has at most eight bytes.
    is_one_look: bool,
    members: Vec<String>,
}

/// Room for words that can be members.
pub(crate) struct Candidates([Word; 64]);

impl Default for Candidates {
    fn default() -> Self {
        Self([Word { start: 0, end: 0 }; 64])
    }
}

impl Candidates {
    /// How many words there is room for.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    key: u64,
    n_bytes: u32,
    /// Its place in `members`, from 1; 0 is a free slot.
    member: u32,
}

/// What a byte can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    None,
    OfMember,
    Member,
}

impl TextSet {
    pub(super) fn new(texts: &[String]) -> Self {
        let per_member = if texts.len() <= FEW_MEMBERS { SLOTS_PER_MEMBER } else { 2 };
        let n_slots = (per_member * texts.len()).next_power_of_two();
        let mut set = Self {
            lengths: Box::new([0; 256]),
            last: Box::new([End::None; 256]),
            before_last: Box::new([false; 256]),
            has_empty: false,
            slots: vec![Slot::default(); n_slots],
            factor: 0x9e37_79b9_7f4a_7c15,
            is_one_look: false,
            members: Vec::with_capacity(texts.len()),
        };
        if texts.len() <= FEW_MEMBERS && texts.iter().all(|text| text.len() <= 8) {
            set.spread_apart(texts);
        }
        for text in texts {
            set.insert(text);
        }
        set
    }

    /// Looks for a factor that gives each of the texts a slot of its own. With an eighth of the slots taken at most, a
    /// handful of tries suffices; texts that differ in trailing zero bytes alone never come apart.
    fn spread_apart(&mut self, texts: &[String]) {
        let distinct: BTreeSet<&str> = texts.iter().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let first = self.factor;
        for n in 0..256 {
            self.factor = first.wrapping_mul(2 * n + 1);
            let places: BTreeSet<usize> = distinct.iter().map(|text| self.place(key(text.as_bytes()))).collect();
            if places.len() == distinct.len() {
                self.is_one_look = true;
                return;
            }
        }
    }

    /// How many members there are that are not empty.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// How many of the words of `text` are members.
    pub(crate) fn count(&self, text: &[u8], words: &[Word]) -> usize {
        dispatch!(simd::level(), _ => self.count_members(text, words))
    }

    #[inline(always)]
    fn count_members(&self, text: &[u8], words: &[Word]) -> usize {
        let mut n_members = 0;
        let mut room = Candidates::default();
        for words in words.chunks(room.len()) {
            for word in self.candidates(text, words, &mut room) {
                n_members += if self.is_one_look {
                    usize::from(self.is_in_its_slot(text, *word))
                } else {
                    usize::from(self.contains_bytes(&text[word.start as usize..word.end as usize]))
                };
            }
        }
        n_members
    }

    /// The words, of at most as many as there is room for, that can be members by their first byte and length.
    ///
    /// Words come without a pattern that a processor could foresee. So each is written to the next place, which is kept or
    /// not, and what is decided about those that are left mostly goes one way.
    #[inline(always)]
    pub(crate) fn candidates<'c>(&self, text: &[u8], words: &[Word], room: &'c mut Candidates) -> &'c [Word] {
        let mut n_candidates = 0;
        // A plain loop: what a closure does might be compiled for another processor.
        for word in words {
            room.0[n_candidates % room.0.len()] = *word;
            let first = text.get(word.start as usize).copied().unwrap_or(0);
            n_candidates += usize::from(self.may_contain(first, word.n_bytes()));
        }
        &room.0[..n_candidates]
    }

    /// Whether a word is a member, if one look tells: nothing is decided on the way to the answer.
    #[inline(always)]
    fn is_in_its_slot(&self, text: &[u8], word: Word) -> bool {
        let (start, n_bytes) = (word.start as usize, word.n_bytes());
        let key = match text.get(start..).and_then(|rest| rest.first_chunk::<8>()) {
            Some(eight) => {
                u64::from_le_bytes(*eight) & 1_u64.checked_shl(8 * n_bytes as u32).unwrap_or(0).wrapping_sub(1)
            }
            None => key(text.get(start..start + n_bytes).unwrap_or_default()),
        };
        let slot = self.slots[self.place(key)];
        (slot.key == key) & (slot.n_bytes as usize == n_bytes)
    }

    fn insert(&mut self, text: &str) {
        if self.contains(text) {
            return;
        }
        let Some(&first) = text.as_bytes().first() else {
            self.has_empty = true;
            return;
        };
        self.lengths[usize::from(first)] |= 1 << text.len().min(63);
        let last = &mut self.last[usize::from(text.as_bytes()[text.len() - 1])];
        *last = (*last).max(if text.len() == 1 { End::Member } else { End::OfMember });
        match text.as_bytes() {
            [.., before, _] => self.before_last[usize::from(*before)] = true,
            _ => self.before_last.fill(true),
        }
        self.members.push(text.to_string());
        let slot = Slot { key: key(text.as_bytes()), n_bytes: text.len() as u32, member: self.members.len() as u32 };
        let mut place = self.place(slot.key);
        while self.slots[place].member != 0 {
            place = (place + 1) & (self.slots.len() - 1);
        }
        self.slots[place] = slot;
    }

    /// Whether a text of this first byte and length can be a member.
    #[inline(always)]
    pub(crate) fn may_contain(&self, first: u8, n_bytes: usize) -> bool {
        self.lengths[usize::from(first)] >> n_bytes.min(63) & 1 == 1
    }

    /// Whether `text` begins with a member.
    pub(crate) fn begins(&self, text: &[u8]) -> bool {
        let Some(&first) = text.first() else { return self.has_empty };
        let is_begin = |member: &String| text.starts_with(member.as_bytes());
        self.has_empty || self.lengths[usize::from(first)] != 0 && self.members.iter().any(is_begin)
    }

    /// Whether `text` ends with a member.
    #[inline]
    pub(crate) fn ends(&self, text: &[u8]) -> bool {
        let Some(&last) = text.last() else { return self.has_empty };
        let end = self.last[usize::from(last)];
        // The one thing that is decided here is rare; which byte a text ends in cannot be foreseen.
        if end == End::OfMember && self.members.iter().any(|member| text.ends_with(member.as_bytes())) {
            return true;
        }
        (end == End::Member) | self.has_empty
    }

    /// Whether a member can end `text` in lower case, by its last two bytes. `text` is not empty and ends in a character
    /// that is ASCII or has no lower case; what lower-casing does to the one before is known for ASCII only.
    #[inline(always)]
    pub(crate) fn may_end(&self, text: &[u8]) -> bool {
        let [.., before, last] = text else { return self.has_empty || !self.members.is_empty() };
        let has_last = self.last[usize::from(last.to_ascii_lowercase())] != End::None;
        let has_before = self.before_last[usize::from(before.to_ascii_lowercase())] | !before.is_ascii();
        has_last & has_before | self.has_empty
    }

    /// Whether `text` is a member.
    #[inline]
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.contains_bytes(text.as_bytes())
    }

    /// Whether these bytes are a member.
    #[inline]
    pub(crate) fn contains_bytes(&self, bytes: &[u8]) -> bool {
        self.has_empty && bytes.is_empty() || self.member(bytes).is_some()
    }

    /// Which member these bytes are, as a number below [`TextSet::len`]; the empty text has none.
    #[inline]
    pub(crate) fn member(&self, bytes: &[u8]) -> Option<usize> {
        let &first = bytes.first()?;
        if !self.may_contain(first, bytes.len()) {
            return None;
        }
        let key = key(bytes);
        let mut place = self.place(key);
        loop {
            let slot = self.slots[place];
            let member = (slot.member as usize).checked_sub(1)?;
            let is_same = || bytes.len() <= 8 || self.members[member].as_bytes() == bytes;
            if slot.key == key && slot.n_bytes as usize == bytes.len() && is_same() {
                return Some(member);
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    fn place(&self, key: u64) -> usize {
        // A multiplication spreads the key over the upper half of the product.
        (key.wrapping_mul(self.factor) >> 32) as usize & (self.slots.len() - 1)
    }
}

/// The first eight bytes as a number, the first byte lowest; those that a shorter text does not have are 0.
#[inline]
fn key(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk::<8>() {
        return u64::from_le_bytes(*eight);
    }
    if let (Some(start), Some(end)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // They overlap in bytes that are the same.
        return u64::from(u32::from_le_bytes(*start)) | u64::from(u32::from_le_bytes(*end)) << (8 * (bytes.len() - 4));
    }
    bytes.iter().rev().fold(0, |key, byte| key << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_and_nothing_else_is() {
        let long = "abcdefgh-and-more-than-sixty-three-bytes-so-that-lengths-share-a-bit-";
        let members: Vec<String> =
            ["", "a", "ab", "ba", "the", "that", "abcdefgh", "abcdefghi", "été", long].map(String::from).to_vec();
        let set = TextSet::new(&members);
        for member in &members {
            assert!(set.contains(member), "{member:?}");
        }
        for other in ["b", "aa", "tha", "thet", "abcdefg", "abcdefghj", "abcdefghij", "ete", &format!("{long}x")] {
            assert!(!set.contains(other), "{other:?}");
        }
        for (text, begins, ends) in [("that's", true, false), ("cathe", false, true), ("x", false, false)] {
            let set = TextSet::new(&["the".to_string(), "that".to_string()]);
            assert_eq!((set.begins(text.as_bytes()), set.ends(text.as_bytes())), (begins, ends), "{text:?}");
        }
        let text = "the that he the\u{0}  ab";
        let word = |start, end| Word { start, end };
        let words = [word(0, 3), word(4, 8), word(9, 11), word(12, 16), word(18, 20)];
        for (members, expected) in [(vec!["the", "that"], 2), (vec!["he", "ab"], 2), (vec!["the", "ab", long], 2)] {
            let set = TextSet::new(&members.iter().map(|member| member.to_string()).collect::<Vec<_>>());
            assert_eq!(set.count(text.as_bytes(), &words), expected, "{members:?}");
        }
        // Members that only zero bytes tell apart, and ones that no look at eight bytes settles.
        let text = "a a\u{0} abcdefgh abcdefghi a";
        let words = [word(0, 1), word(2, 4), word(5, 13), word(14, 23), word(24, 25)];
        for (members, expected) in [
            (vec!["a"], 2),
            (vec!["a", "a\u{0}"], 3),
            (vec!["abcdefgh"], 1),
            (vec!["abcdefghi", "a"], 3),
            (vec![""], 0),
        ] {
            let set = TextSet::new(&members.iter().map(|member| member.to_string()).collect::<Vec<_>>());
            assert_eq!(set.count(text.as_bytes(), &words), expected, "{members:?}");
        }
        assert!(!TextSet::new(&[]).contains("") && !TextSet::new(&[]).contains("a"));
    }
}
