//! Cuts the unpacked bytes of a piece into records.
//!
//! ```text
//! WARC/1.1 ⏎ fields ⏎ ⏎ block: Content-Length bytes ⏎ ⏎ WARC/1.1 …
//! └ head ───────────┘   └ content ────────────────┘     └ the next record
//! ```
//! A record that is bad is told, and reading goes on at the next one: at the next member that begins with a record, or at the next
//! line that begins as one does.
//!
//! Invariants: every record of a piece is given or told; one whose member turns out to be corrupt behind it is told. A piece ends
//! where the next one begins to read.
//! Not here: what the fields mean (`decode.rs`).

use super::find::{VERSION, record_start};
use super::header::{Head, head_end};
use super::stream::{Chunk, Packing, Unpacked};
use crate::sources::compression::ByteCount;
use crate::sources::rejects::RejectKind;
use crate::store::StoredFile;
use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::ops::Range;

/// The longest head of a record.
const MAX_HEAD_BYTES: usize = 1 << 20;
/// The longest head of an HTTP message that is looked at.
pub(super) const MAX_HTTP_HEAD_BYTES: usize = 64 << 10;
/// What of a bad record goes to the rejects.
const RAW_BYTES: usize = 4 << 10;

/// One record; the ranges are of the bytes that it was added to.
#[derive(Clone, Debug)]
pub(crate) struct RawRecord {
    /// Its number in the piece, from 1.
    pub row: u64,
    /// Where in the file it, or the member that holds it alone, begins and how long that is.
    pub place: Option<(u64, u64)>,
    pub head: Range<usize>,
    /// Its block, or the beginning of it.
    pub content: Range<usize>,
}

/// What of records is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Nothing,
    /// The head, and as much of the block as the head of an HTTP message may take.
    HttpHead,
    All,
}

/// What [`RecordCutter::next`] found.
#[derive(Debug)]
pub(super) enum Cut {
    Record(RawRecord),
    /// One that is not wanted.
    Other,
    Bad {
        row: u64,
        byte_offset: u64,
        kind: RejectKind,
        reason: String,
        raw: Vec<u8>,
    },
    /// The file cannot be read on.
    Broken {
        row: u64,
        byte_offset: u64,
        error: io::Error,
    },
    End,
}

/// The file that a stream is of, for going on elsewhere in it.
pub(super) struct Source {
    pub file: StoredFile,
    pub packing: Packing,
    pub count: ByteCount,
    /// Where the next piece begins to look for a record.
    pub end: u64,
}

/// Cuts one piece.
pub(super) struct RecordCutter {
    stream: Unpacked,
    source: Option<Source>,
    max_record_bytes: u64,
    /// Unpacked bytes, of which those before `at` were taken.
    buffer: Vec<u8>,
    at: usize,
    /// How many unpacked bytes come before the buffer; in a plain file, its bytes.
    before: u64,
    /// Members that begin further on: the unpacked byte, and the byte in the file.
    members: VecDeque<(u64, u64)>,
    /// The member that the current record begins in.
    member: Option<(u64, u64)>,
    row: u64,
    /// Where the stream was opened.
    opened_at: u64,
    /// Met behind bytes that had to be taken first.
    error: Option<io::Error>,
    /// Where the next piece begins, once it was looked for.
    next_piece: Option<u64>,
    is_over: bool,
}

/// Why a record is none.
enum Trouble {
    /// It is not written as it should be.
    Bad(RejectKind, String),
    /// It cannot be read.
    Unreadable(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Unreadable(error)
    }
}

type Read<T> = Result<T, Trouble>;

fn bad<T>(kind: RejectKind, reason: impl Into<String>) -> Read<T> {
    Err(Trouble::Bad(kind, reason.into()))
}

impl RecordCutter {
    /// A stream that begins with a record, at byte `start` of the file.
    pub fn new(stream: Unpacked, start: u64, source: Option<Source>, max_record_bytes: usize) -> Self {
        Self {
            stream,
            source,
            max_record_bytes: max_record_bytes as u64,
            buffer: Vec::new(),
            at: 0,
            before: start,
            members: VecDeque::new(),
            member: None,
            row: 0,
            opened_at: start,
            error: None,
            next_piece: None,
            is_over: false,
        }
    }

    /// How many records there were.
    pub fn n_records(&self) -> u64 {
        self.row
    }

    /// The next record, added to `data` as far as `keep` wants records of its type.
    pub fn next(&mut self, keep: impl Fn(&Head<'_>) -> Keep, data: &mut Vec<u8>) -> Cut {
        if self.is_over {
            return Cut::End;
        }
        match self.find_record() {
            Ok(true) => {}
            Ok(false) => return self.end(),
            Err(error) => {
                self.row += 1;
                return self.bad(Trouble::Unreadable(error), Vec::new());
            }
        }
        match self.is_of_next_piece() {
            Ok(None) => {}
            Ok(Some(end)) => return end,
            Err(error) => return self.broken(error),
        }
        self.row += 1;
        let n_before = data.len();
        match self.record(keep, data) {
            Ok(Some(record)) => Cut::Record(record),
            Ok(None) => {
                data.truncate(n_before);
                Cut::Other
            }
            Err(trouble) => {
                let mut raw = data.split_off(n_before);
                if raw.is_empty() {
                    raw.extend_from_slice(&self.buffer[self.at..]);
                }
                raw.truncate(RAW_BYTES);
                self.bad(trouble, raw)
            }
        }
    }

    /// The unpacked byte that comes next.
    fn position(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Where in the file that is, as near as can be told.
    fn byte_offset(&self) -> u64 {
        self.member.map_or(self.position(), |(_, offset)| offset)
    }

    /// Where in the file what could not be read begins.
    fn unreadable_offset(&self) -> u64 {
        let begun = self.members.back().or(self.member.as_ref()).filter(|_| self.stream.is_inside());
        begun.map(|(_, offset)| *offset).or(self.stream.offset()).unwrap_or(self.position())
    }

    /// The member that begins where the current record does.
    fn own_member(&self) -> Option<u64> {
        self.member.filter(|(position, _)| *position == self.position()).map(|(_, offset)| offset)
    }

    /// Unpacks some more. False at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.before += self.at as u64;
        self.buffer.drain(..self.at);
        self.at = 0;
        loop {
            let n_before = self.buffer.len();
            match self.stream.read(&mut self.buffer) {
                Ok(Chunk::Bytes) if self.buffer.len() > n_before => return Ok(true),
                Ok(Chunk::Bytes) => {}
                Ok(Chunk::Member(offset)) => self.members.push_back((self.before + n_before as u64, offset)),
                Ok(Chunk::End) => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if self.buffer.len() > n_before => {
                    self.error = Some(error);
                    return Ok(true);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Goes on behind empty lines, to what should be a record. False at the end of the file.
    fn find_record(&mut self) -> io::Result<bool> {
        loop {
            let rest = &self.buffer[self.at..];
            let n_blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.at += n_blank;
            if self.at < self.buffer.len() {
                let position = self.position();
                while self.members.front().is_some_and(|(begin, _)| *begin <= position) {
                    self.member = self.members.pop_front();
                }
                return Ok(true);
            }
            if !self.fill()? {
                return Ok(false);
            }
        }
    }

    /// Whether the record that comes next is one of the next piece; then what is to be said at the end.
    fn is_of_next_piece(&mut self) -> io::Result<Option<Cut>> {
        let Some(source) = &self.source else { return Ok(None) };
        let begins = if self.stream.has_members() { self.own_member() } else { Some(self.position()) };
        let Some(begins) = begins.filter(|begins| *begins >= source.end) else { return Ok(None) };
        let next = match self.next_piece {
            Some(next) => next,
            None => *self.next_piece.insert(record_start(&source.file, &source.packing, source.end)?),
        };
        if begins < next {
            return Ok(None);
        }
        self.is_over = true;
        if begins == next {
            return Ok(Some(Cut::End));
        }
        let reason = format!(
            "what looks like a record at byte {next} stands inside another one, and was read as if it did not: \
             records of a WARC file that is the payload of a record; read the file in one piece, WITH (blocksize = '1TB')"
        );
        let (row, raw) = (self.row + 1, Vec::new());
        Ok(Some(Cut::Bad { row, byte_offset: next, kind: RejectKind::Unreadable, reason, raw }))
    }

    fn end(&mut self) -> Cut {
        self.is_over = true;
        Cut::End
    }

    fn broken(&mut self, error: io::Error) -> Cut {
        self.is_over = true;
        Cut::Broken { row: self.row.max(1), byte_offset: self.byte_offset(), error }
    }

    fn record(&mut self, keep: impl Fn(&Head<'_>) -> Keep, data: &mut Vec<u8>) -> Read<Option<RawRecord>> {
        let start = self.position();
        let own_member = self.own_member();
        let n_head = self.find_head()?;
        let head_bytes = &self.buffer[self.at..self.at + n_head];
        let head = Head::of(head_bytes);
        if !head.is_well_formed() {
            return bad(RejectKind::BrokenRecord, "a line of the record's head is no field `name: value`");
        }
        let told = head.text("Content-Length");
        let Some(n_content) = told.as_deref().and_then(|told| told.parse::<u64>().ok()) else {
            let told = told.map_or("no Content-Length".into(), |told| format!("the Content-Length `{told}`"));
            return bad(RejectKind::BrokenRecord, format!("the record has {told}: where it ends is not known"));
        };
        let keep = keep(&head);
        let head_start = data.len();
        data.extend_from_slice(head_bytes);
        self.at += n_head;
        let content_start = data.len();
        if n_content > self.max_record_bytes && keep != Keep::Nothing {
            self.content(n_content, 0, own_member.is_some(), data)?;
            let most = self.max_record_bytes;
            return bad(
                RejectKind::TooLarge,
                format!("the record has {n_content} bytes; the most is {most} (its head is kept)"),
            );
        }
        let n_kept = match keep {
            Keep::Nothing => 0,
            Keep::HttpHead => n_content.min(MAX_HTTP_HEAD_BYTES as u64),
            Keep::All => n_content,
        };
        self.content(n_content, n_kept, own_member.is_some(), data)?;
        let next = match self.find_record() {
            Ok(next) => next,
            // The end of its member tells that the record is corrupt.
            Err(error) if self.stream.is_inside() && self.members.is_empty() => return Err(error.into()),
            Err(error) => {
                self.error = Some(error);
                false
            }
        };
        let place = match self.stream.offset() {
            None => None,
            Some(_) if !self.stream.has_members() => Some((start, self.position() - start)),
            Some(taken) => own_member.and_then(|offset| {
                let begun = self.members.front().map(|(_, offset)| *offset);
                let end = if next { self.own_member()? } else { begun.unwrap_or(taken) };
                Some((offset, end - offset))
            }),
        };
        let (head, content) = (head_start..content_start, content_start..data.len());
        Ok((keep != Keep::Nothing).then_some(RawRecord { row: self.row, place, head, content }))
    }

    /// How long the head is that comes next; all of it is in the buffer.
    fn find_head(&mut self) -> Read<usize> {
        loop {
            let rest = &self.buffer[self.at..];
            let n_known = rest.len().min(VERSION.len());
            if rest[..n_known] != VERSION[..n_known] {
                return bad(RejectKind::BrokenRecord, "no WARC record: it does not begin with `WARC/`");
            }
            if let Some(end) = head_end(rest) {
                return Ok(end);
            }
            if rest.len() > MAX_HEAD_BYTES {
                let reason = format!("the head of the record has more than {MAX_HEAD_BYTES} bytes");
                return bad(RejectKind::BrokenRecord, reason);
            }
            if !self.fill()? {
                return bad(RejectKind::BrokenRecord, "the file ends in the head of a record");
            }
        }
    }

    /// Takes `n_content` bytes, and adds the first `n_kept` to `data`.
    fn content(&mut self, n_content: u64, n_kept: u64, is_in_member: bool, data: &mut Vec<u8>) -> Read<()> {
        let (mut n_left, mut n_kept) = (n_content, n_kept);
        while n_left > 0 {
            if self.at == self.buffer.len() && !self.fill()? {
                let n_there = n_content - n_left;
                return bad(
                    RejectKind::BrokenRecord,
                    format!("the file ends in the record: it has {n_there} of {n_content} bytes"),
                );
            }
            let mut n_bytes = n_left.min((self.buffer.len() - self.at) as u64);
            if let Some((begin, _)) = self.members.front().copied() {
                let position = self.position();
                if begin <= position {
                    while is_in_member && self.buffer.len() - self.at < VERSION.len() && self.fill()? {}
                    if is_in_member && self.buffer[self.at..].starts_with(VERSION) {
                        let n_there = n_content - n_left;
                        return bad(
                            RejectKind::BrokenRecord,
                            format!("the next record begins after {n_there} of the record's {n_content} bytes"),
                        );
                    }
                    self.members.pop_front();
                    continue;
                }
                n_bytes = n_bytes.min(begin - position);
            }
            let taken = &self.buffer[self.at..self.at + n_bytes as usize];
            let n_now = n_bytes.min(n_kept);
            data.extend_from_slice(&taken[..n_now as usize]);
            self.at += n_bytes as usize;
            (n_left, n_kept) = (n_left - n_bytes, n_kept - n_now);
        }
        Ok(())
    }

    /// Tells a bad record, and goes on to where the next one may begin.
    fn bad(&mut self, trouble: Trouble, raw: Vec<u8>) -> Cut {
        let (row, mut byte_offset) = (self.row, self.byte_offset());
        let (kind, reason) = match trouble {
            Trouble::Bad(kind, reason) => {
                if kind != RejectKind::TooLarge
                    && let Err(error) = self.skip_to_record()
                {
                    self.at = self.buffer.len();
                    if !matches!(self.skip_to_member(), Ok(true)) {
                        self.error = Some(error);
                    }
                }
                (kind, reason)
            }
            Trouble::Unreadable(error) => {
                let is_data = matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof);
                byte_offset = self.unreadable_offset();
                match self.skip_to_member() {
                    Ok(true) if is_data => (RejectKind::Unreadable, format!("the record cannot be read: {error}")),
                    _ => return self.broken(error),
                }
            }
        };
        Cut::Bad { row, byte_offset, kind, reason, raw }
    }

    /// Goes on to the next member, or the next line, that begins as a record does.
    fn skip_to_record(&mut self) -> io::Result<()> {
        // One that is too short ends where a member begins.
        if self.members.front().is_some_and(|(begin, _)| *begin == self.position()) {
            return Ok(());
        }
        // Not the one that is bad.
        let mut from = self.position() + 1;
        loop {
            while self.buffer.len() as u64 + self.before < from + 2 * VERSION.len() as u64 {
                if !self.fill()? {
                    self.at = self.buffer.len();
                    return Ok(());
                }
            }
            let searched = (from - self.before) as usize;
            let members = &self.members;
            let is_begin = |at: &usize| {
                self.buffer[at - 1] == b'\n' || members.iter().any(|(begin, _)| *begin == self.before + *at as u64)
            };
            let found = memchr::memmem::find_iter(&self.buffer[searched..], VERSION).map(|at| searched + at);
            if let Some(at) = found.filter(|at| *at > 0).find(is_begin) {
                self.at = at;
                return Ok(());
            }
            // A version may lie across what was unpacked and what was not; the byte before it is wanted, too.
            let n_left = VERSION.len();
            from = (self.before + self.buffer.len() as u64 - n_left as u64).max(from);
            self.at = self.at.max((from - self.before) as usize - 1);
            if !self.fill()? {
                self.at = self.buffer.len();
                return Ok(());
            }
        }
    }

    /// Goes on at the next member that begins with a record, from the file itself. False if it has no members.
    fn skip_to_member(&mut self) -> io::Result<bool> {
        let (Some(source), true) = (&self.source, self.stream.has_members()) else { return Ok(false) };
        // The member that broke is the last one that was begun.
        let broken = self.members.back().or(self.member.as_ref()).map_or(self.opened_at, |(_, offset)| *offset);
        let next = record_start(&source.file, &source.packing, broken + 1)?;
        if next >= source.file.n_bytes()? {
            self.is_over = true;
            return Ok(true);
        }
        self.stream = Unpacked::open(source.file.clone(), &source.packing, next, &source.count)?;
        self.before += self.buffer.len() as u64;
        self.buffer.clear();
        self.members.clear();
        (self.at, self.member, self.error, self.opened_at) = (0, None, None, next);
        Ok(true)
    }
}
