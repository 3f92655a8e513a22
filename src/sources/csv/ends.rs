//! Where the records of a CSV file end, seen from anywhere in it.
//!
//! A line feed in quotes ends no record, and whether a byte lies in quotes depends on all bytes before it. But a block of
//! bytes leads from each of four states to one of four, whatever came before; so blocks are looked at alone, each once, and
//! the state at the start of a range follows from the blocks before it. Looking jumps from quote to quote.
//!
//! Invariant: agrees with the parser (`csv`): a quote opens a field only at its beginning, two in quotes are one, and
//! what follows a closing quote is taken as it is.

use crate::store::StoredFile;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};

/// Where in a record a byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A field begins.
    Start,
    /// In a field without quotes, or behind them.
    Plain,
    Quoted,
    /// Behind a quote in quotes: the end of them, or the first of two.
    Quote,
}

const STATES: [State; 4] = [State::Start, State::Plain, State::Quoted, State::Quote];
const BOM: &[u8] = b"\xef\xbb\xbf";
const READ_BYTES: usize = 1 << 20;

/// Walks over the bytes of a CSV file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordEnds {
    delimiter: u8,
    state: State,
}

impl RecordEnds {
    /// At the beginning of a file.
    pub fn new(delimiter: u8) -> Self {
        Self { delimiter, state: State::Start }
    }

    /// Whether the bytes so far end in quotes that are still open.
    pub fn is_open(&self) -> bool {
        self.state == State::Quoted
    }

    /// The first line feed that ends a record. Walks behind it, or behind all bytes if there is none.
    pub fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            match self.state {
                State::Start | State::Plain => {
                    let stop = memchr::memchr2(b'"', b'\n', &bytes[at..]);
                    self.walk_plain(&bytes[at..stop.map_or(bytes.len(), |stop| at + stop)]);
                    let stop = at + stop?;
                    self.step(bytes[stop]);
                    at = stop + 1;
                    if bytes[stop] == b'\n' {
                        return Some(stop);
                    }
                }
                State::Quoted => match memchr::memchr(b'"', &bytes[at..]) {
                    Some(quote) => {
                        self.state = State::Quote;
                        at += quote + 1;
                    }
                    None => return None,
                },
                State::Quote => {
                    self.step(bytes[at]);
                    at += 1;
                    if bytes[at - 1] == b'\n' {
                        return Some(at - 1);
                    }
                }
            }
        }
        None
    }

    /// Walks over bytes, whatever ends in them.
    pub fn pass(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            at = match self.state {
                State::Start | State::Plain => match memchr::memchr(b'"', &bytes[at..]) {
                    Some(quote) => {
                        self.walk_plain(&bytes[at..at + quote]);
                        self.step(b'"');
                        at + quote + 1
                    }
                    None => {
                        self.walk_plain(&bytes[at..]);
                        bytes.len()
                    }
                },
                State::Quoted => match memchr::memchr(b'"', &bytes[at..]) {
                    Some(quote) => {
                        self.state = State::Quote;
                        at + quote + 1
                    }
                    None => bytes.len(),
                },
                State::Quote => {
                    self.step(bytes[at]);
                    at + 1
                }
            };
        }
    }

    /// Bytes without quotes, outside of quotes: the last one decides.
    fn walk_plain(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.step(*last);
        }
    }

    fn step(&mut self, byte: u8) {
        self.state = match (self.state, byte) {
            (State::Start | State::Quote, b'"') => State::Quoted,
            (State::Quoted, b'"') => State::Quote,
            (State::Quoted, _) => State::Quoted,
            (_, b'\r' | b'\n') => State::Start,
            (_, byte) if byte == self.delimiter => State::Start,
            _ => State::Plain,
        };
    }
}

/// For each state before a block the state behind it.
type Transition = [State; 4];

/// The blocks of files that were looked at, by file and range.
#[derive(Debug, Default)]
pub(crate) struct SeenBlocks(Mutex<HashMap<(usize, u64), Transition>>);

impl SeenBlocks {
    /// What stands at the end of a file's ranges, each given by start and end, one after the other from its beginning.
    pub fn behind(
        &self,
        file: usize,
        source: &StoredFile,
        delimiter: u8,
        ranges: impl Iterator<Item = (u64, u64)>,
    ) -> io::Result<RecordEnds> {
        let mut ends = RecordEnds::new(delimiter);
        for (start, end) in ranges {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&(file, start)).copied();
            let transition = match known {
                Some(transition) => transition,
                None => {
                    let transition = look(source, delimiter, start, end)?;
                    self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((file, start), transition);
                    transition
                }
            };
            ends.state = transition[ends.state as usize];
        }
        Ok(ends)
    }
}

fn look(source: &StoredFile, delimiter: u8, start: u64, end: u64) -> io::Result<Transition> {
    let mut walks = STATES.map(|state| RecordEnds { delimiter, state });
    let mut buffer = vec![0; READ_BYTES];
    let mut at = start;
    while at < end {
        let wanted = READ_BYTES.min(usize::try_from(end - at).unwrap_or(READ_BYTES));
        let n_bytes = source.read_at(&mut buffer[..wanted], at)?;
        if n_bytes == 0 {
            break;
        }
        let bytes = &buffer[..n_bytes];
        let bytes = if at == 0 { bytes.strip_prefix(BOM).unwrap_or(bytes) } else { bytes };
        walks.iter_mut().for_each(|walk| walk.pass(bytes));
        at += n_bytes as u64;
    }
    Ok(walks.map(|walk| walk.state))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Byte by byte.
    fn slow_ends(bytes: &[u8]) -> (Vec<usize>, State) {
        let mut ends = RecordEnds::new(b',');
        let mut found = vec![];
        for (at, byte) in bytes.iter().enumerate() {
            if *byte == b'\n' && ends.state != State::Quoted {
                found.push(at);
            }
            ends.step(*byte);
        }
        (found, ends.state)
    }

    proptest! {
        #[test]
        fn jumping_finds_what_stepping_finds(text in "[a,\"\r\n]{0,40}") {
            let bytes = text.as_bytes();
            let (expected, state) = slow_ends(bytes);
            let mut ends = RecordEnds::new(b',');
            let (mut found, mut at) = (vec![], 0);
            while let Some(end) = ends.find(&bytes[at..]) {
                found.push(at + end);
                at += end + 1;
            }
            prop_assert_eq!(found, expected);
            prop_assert_eq!(ends.state, state);
            let mut passing = RecordEnds::new(b',');
            passing.pass(bytes);
            prop_assert_eq!(passing.state, state);
        }

        /// The parser's records, and ours: where a line feed ends one of ours, the parser begins a new one.
        #[test]
        fn the_parser_ends_its_records_there(text in "[ab,\"\n]{0,40}") {
            let bytes = text.as_bytes();
            let records = |bytes: &[u8]| -> Vec<Vec<Vec<u8>>> {
                let mut reader =
                    csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
                reader.byte_records().map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect()).collect()
            };
            let (ends, _) = slow_ends(bytes);
            for end in ends {
                let cut = [records(&bytes[..=end]), records(&bytes[end + 1..])].concat();
                prop_assert_eq!(cut, records(bytes), "cut after byte {}", end);
            }
        }
    }
}
