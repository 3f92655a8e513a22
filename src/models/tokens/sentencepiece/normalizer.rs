//! What is done to a text before it is cut: characters replaced by a table, white space trimmed and shown.

use super::char_bytes;
use super::pieces::Pieces;
use super::proto::{Message, Value};

/// U+2581, which stands for a space.
const SHOWN_SPACE: &[u8] = "\u{2581}".as_bytes();

#[derive(Debug)]
pub(super) struct Normalizer {
    table: Option<Table>,
    adds_space_before: bool,
    trims: bool,
    shows_spaces: bool,
}

/// Beginnings of a text and what replaces them, in the form of the library Darts-clone.
#[derive(Debug)]
struct Table {
    units: Vec<u32>,
    /// Texts with a zero behind each.
    replacements: Vec<u8>,
}

impl Table {
    fn read(bytes: &[u8]) -> Result<Option<Self>, String> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let read = || {
            let (n_bytes, rest) = bytes.split_first_chunk::<4>()?;
            let (units, replacements) = rest.split_at_checked(u32::from_le_bytes(*n_bytes) as usize)?;
            let units = units.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
            Some(Self { units, replacements: replacements.to_vec() })
        };
        read().map(Some).ok_or_else(|| "its table of characters ends too early".to_string())
    }

    /// The longest entry that a text begins with: its bytes, and what replaces them.
    fn find(&self, text: &[u8]) -> Option<(usize, &[u8])> {
        let offset = |unit: u32| (unit >> 10) << ((unit & (1 << 9)) >> 6);
        let mut place = offset(*self.units.first()?) as usize;
        let mut found = None;
        for (i, byte) in text.iter().enumerate() {
            place ^= usize::from(*byte);
            let Some(unit) = self.units.get(place) else { break };
            if unit & (1 << 31 | 0xFF) != u32::from(*byte) {
                break;
            }
            place ^= offset(*unit) as usize;
            if unit >> 8 & 1 == 1 {
                found = self.units.get(place).map(|unit| (i + 1, unit & !(1 << 31)));
            }
        }
        let (n_bytes, begin) = found?;
        let replacement = self.replacements.get(begin as usize..)?;
        Some((n_bytes, replacement.split(|byte| *byte == 0).next()?))
    }
}

impl Normalizer {
    pub(super) fn read(spec: Message<'_>) -> Result<Self, String> {
        let mut normalizer = Self { table: None, adds_space_before: true, trims: true, shows_spaces: true };
        for field in spec {
            match field? {
                (2, Value::Bytes(table)) => normalizer.table = Table::read(table)?,
                (3, Value::Int(n)) => normalizer.adds_space_before = n != 0,
                (4, Value::Int(n)) => normalizer.trims = n != 0,
                (5, Value::Int(n)) => normalizer.shows_spaces = n != 0,
                _ => {}
            }
        }
        Ok(normalizer)
    }

    /// What the text begins with, as it is to be, and the bytes that this stands for. User-defined pieces stay as they are.
    fn next<'a>(&'a self, text: &'a [u8], pieces: &Pieces) -> (&'a [u8], usize) {
        if let Some(n_bytes) = pieces.user_defined(text) {
            return (&text[..n_bytes], n_bytes);
        }
        if let Some((n_bytes, replacement)) = self.table.as_ref().and_then(|table| table.find(text)) {
            return (replacement, n_bytes);
        }
        let n_bytes = char_bytes(text[0]).min(text.len());
        (&text[..n_bytes], n_bytes)
    }

    /// The text as pieces are found in it.
    pub(super) fn normalize(&self, text: &str, pieces: &Pieces) -> Vec<u8> {
        let mut text = text.as_bytes();
        while self.trims && !text.is_empty() {
            let (begin, n_bytes) = self.next(text, pieces);
            if begin != b" " {
                break;
            }
            text = &text[n_bytes..];
        }
        let mut normal = Vec::with_capacity(text.len() * 5 / 4 + 4);
        if text.is_empty() {
            return normal;
        }
        let space = if self.shows_spaces { SHOWN_SPACE } else { b" " };
        if self.adds_space_before {
            normal.extend_from_slice(space);
        }
        let mut was_space = self.trims;
        while !text.is_empty() {
            let (mut part, n_bytes) = self.next(text, pieces);
            while was_space && part.first() == Some(&b' ') {
                part = &part[1..];
            }
            if !part.is_empty() {
                for byte in part {
                    match byte {
                        b' ' => normal.extend_from_slice(space),
                        byte => normal.push(*byte),
                    }
                }
                was_space = part.ends_with(b" ");
            }
            text = &text[n_bytes..];
            was_space &= self.trims;
        }
        while self.trims && normal.ends_with(space) {
            normal.truncate(normal.len() - space.len());
        }
        normal
    }
}
