//! Words and labels of a model, and which rows of the input matrix a token stands for.
//!
//! Rows are numbered: words first, then the buckets that pieces of words and neighbouring words share by their hash. A
//! quantized model may have only some of its buckets, renumbered (`kept`).

use super::file::File;
use super::header::Header;
use super::words::END_OF_LINE;
use crate::Result;
use bytes::Bytes;

/// An empty place in the table of words.
const NONE: u32 = u32::MAX;
/// The least that an entry takes in a file: a zero, a count and a kind.
const LEAST_ENTRY_BYTES: usize = 1 + 8 + 1;

#[derive(Debug)]
pub(super) struct Dictionary {
    /// The part of the file with the words, then the labels, each with a zero at its end.
    entries: Bytes,
    /// Where each begins there.
    begins: Vec<usize>,
    n_words: usize,
    label_counts: Vec<i64>,
    /// Numbers of words and labels by hash, in open addressing; its length is a power of two.
    table: Vec<u32>,
    /// The buckets that were kept, with their places behind the words; none if all were.
    kept: Option<Kept>,
    /// The rows of hashes, behind those of the words.
    n_hash_rows: usize,
    n_buckets: usize,
    min_chars: usize,
    max_chars: usize,
}

/// FNV-1a as fastText computes it: bytes above 127 count as negative numbers.
pub(super) fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(2_166_136_261, |hash, byte| extend_hash(hash, *byte))
}

fn extend_hash(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as i8 as u32).wrapping_mul(16_777_619)
}

impl Dictionary {
    pub(super) fn read(file: &mut File<'_>, header: &Header) -> Result<Self> {
        let n_entries = file.count("its number of entries")?;
        let n_words = file.count("its number of words")?;
        let n_labels = file.count("its number of labels")?;
        let _n_tokens = file.i64("its number of tokens")?;
        let n_kept = file.i64("its number of kept buckets")?;
        if n_words.checked_add(n_labels) != Some(n_entries) || n_entries > file.n_left() / LEAST_ENTRY_BYTES {
            let what = format!("it names {n_entries} entries, {n_words} words and {n_labels} labels: it is damaged");
            return Err(file.damaged(what));
        }
        if n_labels == 0 {
            return Err(file.damaged("it has no labels"));
        }
        let entries = file.rest();
        let mut begins = Vec::with_capacity(n_entries);
        let mut label_counts = Vec::with_capacity(n_labels);
        for entry in 0..n_entries {
            begins.push(entries.len() - file.n_left());
            let name = file.text("its words")?;
            let count = file.i64("its words")?;
            let is_label = file.flag("the kind of an entry")?;
            if is_label != (entry >= n_words) {
                return Err(file.damaged("its labels do not stand behind its words: it is damaged"));
            }
            if is_label {
                if std::str::from_utf8(&name).is_err() {
                    return Err(file.damaged(format!("label {} is not UTF-8", entry - n_words)));
                }
                label_counts.push(count);
            }
        }
        let mut kept = None;
        let mut n_hash_rows = header.n_buckets;
        if let Ok(n_kept) = usize::try_from(n_kept) {
            if n_kept > file.n_left() / 8 {
                return Err(file.damaged(format!("it names {n_kept} kept buckets: it is damaged")));
            }
            let mut places = Kept::with_capacity(n_kept);
            for _ in 0..n_kept {
                let (bucket, place) = (file.count("a kept bucket")?, file.count("a kept bucket")?);
                if place >= n_kept {
                    return Err(file.damaged(format!("kept bucket {place} of {n_kept}: it is damaged")));
                }
                places.insert(bucket as u32, place as u32);
            }
            kept = Some(places);
            n_hash_rows = n_kept;
        }
        let Header { n_buckets, min_chars, max_chars, .. } = *header;
        let table = Vec::new();
        let mut dictionary =
            Self { entries, begins, n_words, label_counts, table, kept, n_hash_rows, n_buckets, min_chars, max_chars };
        dictionary.fill_table();
        Ok(dictionary)
    }

    /// The rows that tokens can stand for.
    pub(super) fn n_rows(&self) -> usize {
        self.n_words + self.n_hash_rows
    }

    pub(super) fn n_labels(&self) -> usize {
        self.label_counts.len()
    }

    pub(super) fn label_counts(&self) -> &[i64] {
        &self.label_counts
    }

    pub(super) fn label(&self, label: usize) -> &str {
        let name = (label < self.n_labels()).then(|| self.name(self.n_words + label));
        name.and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
    }

    fn name(&self, entry: usize) -> &[u8] {
        let from = &self.entries[self.begins[entry]..];
        &from[..memchr::memchr(0, from).unwrap_or(from.len())]
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.begins.len() * size_of::<usize>()
            + self.table.len() * 4
            + self.kept.as_ref().map_or(0, |kept| kept.slots.len() * 8)
    }

    /// Where a name stands in the table, or would stand.
    fn slot(&self, name: &[u8], hash: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let Some(entry) = self.begins.get(self.table[slot] as usize) else { return slot };
            let found = &self.entries[*entry..];
            if found.starts_with(name) && found.get(name.len()) == Some(&0) {
                return slot;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Makes the table twice as long as the names are many, so that looking one up takes a step or two.
    fn fill_table(&mut self) {
        self.table = vec![NONE; (self.begins.len() * 2).next_power_of_two()];
        for entry in 0..self.begins.len() {
            let name = self.name(entry);
            // Of two equal names the later one stands in the reference's table, too.
            let slot = self.slot(name, hash(name));
            self.table[slot] = entry as u32;
        }
    }

    /// Adds the rows of one token: its own and those of its pieces. False for a label, which is no word of the text.
    pub(super) fn add_rows(&self, token: &[u8], hash: u32, rows: &mut Vec<u32>) -> bool {
        match self.table[self.slot(token, hash)] {
            NONE if token.starts_with(super::LABEL_PREFIX.as_bytes()) => return false,
            NONE => {}
            entry if entry as usize >= self.n_words => return false,
            word => rows.push(word),
        }
        if token != END_OF_LINE {
            self.add_pieces(token, rows);
        }
        true
    }

    /// The pieces of `<token>`, of so many characters each; single ones at its ends are left out.
    fn add_pieces(&self, token: &[u8], rows: &mut Vec<u32>) {
        if self.max_chars == 0 {
            return;
        }
        let n_bytes = token.len() + 2;
        let at = |i: usize| match i {
            0 => b'<',
            i if i + 1 == n_bytes => b'>',
            i => token[i - 1],
        };
        let continues = |i: usize| i < n_bytes && at(i) & 0xC0 == 0x80;
        for start in (0..n_bytes).filter(|start| !continues(*start)) {
            let mut end = start;
            let mut hash = hash(&[]);
            for n_chars in 1..=self.max_chars {
                if end == n_bytes {
                    break;
                }
                hash = extend_hash(hash, at(end));
                end += 1;
                while continues(end) {
                    hash = extend_hash(hash, at(end));
                    end += 1;
                }
                if n_chars >= self.min_chars && !(n_chars == 1 && (start == 0 || end == n_bytes)) {
                    rows.extend(self.bucket(u64::from(hash)));
                }
            }
        }
    }

    /// Adds the rows of the first token together with those behind it, given the hashes of all.
    pub(super) fn add_ngram_rows(&self, hashes: &[u32], word_ngrams: usize, rows: &mut Vec<u32>) {
        // As fastText has it: a hash is a signed number that becomes a wide unsigned one.
        let wide = |hash: &u32| *hash as i32 as u64;
        let Some((first, behind)) = hashes.split_first() else { return };
        let mut hash = wide(first);
        for next in behind.iter().take(word_ngrams.saturating_sub(1)) {
            hash = hash.wrapping_mul(116_049_371).wrapping_add(wide(next));
            rows.extend(self.bucket(hash));
        }
    }

    /// The row that a hash falls on, if the model has kept it.
    fn bucket(&self, hash: u64) -> Option<u32> {
        let bucket = (hash % self.n_buckets.max(1) as u64) as u32;
        match &self.kept {
            None => Some(bucket),
            Some(kept) => kept.get(bucket),
        }
        .map(|place| self.n_words as u32 + place)
    }
}

/// Buckets and their places, in open addressing: a bucket is the rest of a hash, so it needs none of its own.
#[derive(Debug)]
struct Kept {
    slots: Vec<(u32, u32)>,
}

impl Kept {
    fn with_capacity(n: usize) -> Self {
        Self { slots: vec![(NONE, NONE); (n * 2).next_power_of_two().max(2)] }
    }

    fn slot(&self, bucket: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = bucket as usize & mask;
        while self.slots[slot].0 != bucket && self.slots[slot].0 != NONE {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn insert(&mut self, bucket: u32, place: u32) {
        let slot = self.slot(bucket);
        self.slots[slot] = (bucket, place);
    }

    fn get(&self, bucket: u32) -> Option<u32> {
        let (found, place) = self.slots[self.slot(bucket)];
        (found == bucket).then_some(place)
    }
}
