//! A set of texts that is asked about every word of a document.
//!
//! Most words are not members, and that must cost next to nothing: one look at their first byte and length says no.
//! What is left is looked up by its first eight bytes, which for most words is the whole word.

/// Texts, for asking whether one of them is this one.
#[derive(Debug, Clone)]
pub(crate) struct TextSet {
    /// For each first byte, the lengths of members that begin with it: bit `n` for `n` bytes, the last for all longer.
    lengths: Box<[u64; 256]>,
    /// Which bytes end a member, and which are one.
    last: Box<[End; 256]>,
    has_empty: bool,
    /// Open addressing; the size is a power of two, and at most half of it is taken.
    slots: Vec<Slot>,
    members: Vec<String>,
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
        let n_slots = (2 * texts.len()).next_power_of_two();
        let mut set = Self {
            lengths: Box::new([0; 256]),
            last: Box::new([End::None; 256]),
            has_empty: false,
            slots: vec![Slot::default(); n_slots],
            members: Vec::with_capacity(texts.len()),
        };
        for text in texts {
            set.insert(text);
        }
        set
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
    pub(crate) fn begins(&self, text: &str) -> bool {
        let Some(&first) = text.as_bytes().first() else { return self.has_empty };
        self.has_empty
            || self.lengths[usize::from(first)] != 0 && self.members.iter().any(|member| text.starts_with(member))
    }

    /// Whether `text` ends with a member.
    pub(crate) fn ends(&self, text: &str) -> bool {
        let Some(&last) = text.as_bytes().last() else { return self.has_empty };
        match self.last[usize::from(last)] {
            End::None => self.has_empty,
            End::OfMember => self.has_empty || self.members.iter().any(|member| text.ends_with(member)),
            End::Member => true,
        }
    }

    /// Whether a member has this last byte.
    pub(crate) fn may_end(&self, last: u8) -> bool {
        self.has_empty || self.last[usize::from(last)] != End::None
    }

    /// Whether `text` is a member.
    #[inline]
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.contains_bytes(text.as_bytes())
    }

    /// Whether these bytes are a member.
    #[inline]
    pub(crate) fn contains_bytes(&self, bytes: &[u8]) -> bool {
        let Some(&first) = bytes.first() else { return self.has_empty };
        if !self.may_contain(first, bytes.len()) {
            return false;
        }
        let key = key(bytes);
        let mut place = self.place(key);
        loop {
            let slot = self.slots[place];
            if slot.member == 0 {
                return false;
            }
            let is_same = || bytes.len() <= 8 || self.members[slot.member as usize - 1].as_bytes() == bytes;
            if slot.key == key && slot.n_bytes as usize == bytes.len() && is_same() {
                return true;
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    fn place(&self, key: u64) -> usize {
        // A multiplication spreads the key over the upper half of the product.
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.slots.len() - 1)
    }
}

/// The first eight bytes as a number; for a shorter text of known length, all of it.
#[inline]
fn key(bytes: &[u8]) -> u64 {
    if let Some(eight) = bytes.first_chunk::<8>() {
        return u64::from_le_bytes(*eight);
    }
    if let (Some(start), Some(end)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*start)) | u64::from(u32::from_le_bytes(*end)) << 32;
    }
    bytes.iter().fold(0, |key, byte| key << 8 | u64::from(*byte))
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
            assert_eq!((set.begins(text), set.ends(text)), (begins, ends), "{text:?}");
        }
        assert!(!TextSet::new(&[]).contains("") && !TextSet::new(&[]).contains("a"));
    }
}
