//! Records as rows: the columns of a WARC or WET file.
//!
//! A record of a message (`Content-Type: application/http`) gives what the message says, any other its block. Only what a query
//! reads is worked out: a payload that nobody asks for is not even kept.

use super::header::{Head, charset_of, head_end, mime_of};
use super::payload::{Payload, payload_of};
use super::records::{MAX_HTTP_HEAD_BYTES, RawRecord};
use crate::Result;
use crate::ops::charset;
use crate::sources::buffers::Buffer;
use crate::sources::format::{DecodedRows, InputPosition, Origin, Scan};
use crate::sources::rejects::RejectKind;
use arrow::array::{ArrayRef, BinaryBuilder, Int64Builder, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use std::borrow::Cow;
use std::sync::Arc;

/// The most bytes that a payload may have once its encodings are undone.
const MAX_PAYLOAD_BYTES: usize = 256 << 20;

/// Records of one piece.
#[derive(Debug)]
pub(crate) struct RecordBlock {
    pub piece: usize,
    pub data: Buffer,
    pub records: Vec<RawRecord>,
}

/// A column, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Url,
    Date,
    RecordId,
    Type,
    Status,
    Mime,
    Charset,
    Language,
    Digest,
    Truncated,
    Offset,
    Length,
    Payload,
    Text,
}

const COLUMNS: [(Column, &str, DataType); 14] = [
    (Column::Url, "url", DataType::Utf8),
    (Column::Date, "date", DataType::Utf8),
    (Column::RecordId, "record_id", DataType::Utf8),
    (Column::Type, "type", DataType::Utf8),
    (Column::Status, "status", DataType::Int64),
    (Column::Mime, "mime", DataType::Utf8),
    (Column::Charset, "charset", DataType::Utf8),
    (Column::Language, "language", DataType::Utf8),
    (Column::Digest, "digest", DataType::Utf8),
    (Column::Truncated, "truncated", DataType::Utf8),
    (Column::Offset, "offset", DataType::Int64),
    (Column::Length, "length", DataType::Int64),
    (Column::Payload, "payload", DataType::Binary),
    (Column::Text, "text", DataType::Utf8),
];

pub(super) fn schema() -> Schema {
    Schema::new(COLUMNS.map(|(_, name, data_type)| Field::new(name, data_type, true)).to_vec())
}

/// The columns at these places.
pub(super) fn projected(projection: &[usize]) -> Vec<Column> {
    projection.iter().filter_map(|index| COLUMNS.get(*index)).map(|(column, ..)| *column).collect()
}

/// Whether a column follows from the payload: whether that breaks off is seen when it is unpacked.
pub(super) fn reads_payload(column: &Column) -> bool {
    matches!(column, Column::Payload | Column::Text | Column::Truncated)
}

enum Builder {
    Int(Int64Builder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
}

impl Builder {
    fn of(column: Column) -> Self {
        match column {
            Column::Status | Column::Offset | Column::Length => Builder::Int(Int64Builder::new()),
            Column::Payload => Builder::Bytes(BinaryBuilder::new()),
            _ => Builder::Text(StringBuilder::new()),
        }
    }

    fn finish(mut self) -> ArrayRef {
        match &mut self {
            Builder::Int(builder) => Arc::new(builder.finish()),
            Builder::Text(builder) => Arc::new(builder.finish()),
            Builder::Bytes(builder) => Arc::new(builder.finish()),
        }
    }
}

/// The rows of a block, some at a time.
pub(super) struct BlockDecoder {
    pub block: RecordBlock,
    /// The record that comes next.
    pub next: usize,
    pub columns: Vec<Column>,
    pub scan: Scan,
}

impl Iterator for BlockDecoder {
    type Item = Result<DecodedRows>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.next < self.block.records.len()).then(|| self.rows())
    }
}

impl BlockDecoder {
    fn rows(&mut self) -> Result<DecodedRows> {
        let mut builders: Vec<Builder> = self.columns.iter().map(|column| Builder::of(*column)).collect();
        let (mut origins, mut n_bytes) = (Vec::new(), 0);
        while let Some(record) = self.block.records.get(self.next) {
            if origins.len() >= self.scan.batch_rows || n_bytes >= self.scan.batch_bytes {
                break;
            }
            self.next += 1;
            match Facts::of(record, &self.block.data, self.columns.iter().any(reads_payload)) {
                Ok(mut facts) => {
                    n_bytes += facts.n_bytes();
                    for (column, builder) in self.columns.iter().zip(&mut builders) {
                        facts.add(*column, record, builder);
                    }
                    origins.push(Origin { piece: self.block.piece as u32, row: record.row });
                }
                Err(reason) => {
                    let byte_offset = record.place.map_or(0, |(offset, _)| offset);
                    let at = InputPosition { piece: self.block.piece, line: record.row, byte_offset };
                    self.scan.reject(
                        at,
                        RejectKind::TooLarge,
                        reason,
                        self.block.data[record.head.clone()].to_vec(),
                    )?;
                }
            }
        }
        Ok(DecodedRows { columns: builders.into_iter().map(Builder::finish).collect(), lines: None, origins })
    }
}

/// What a record says of itself.
struct Facts<'a> {
    head: Head<'a>,
    /// The head of the message that it holds.
    http: Option<Head<'a>>,
    content_type: Option<Cow<'a, str>>,
    /// If it is read.
    payload: Option<Payload<'a>>,
}

impl<'a> Facts<'a> {
    fn of(record: &RawRecord, data: &'a [u8], reads_payload: bool) -> Result<Self, String> {
        let (head, content) = (Head::of(&data[record.head.clone()]), &data[record.content.clone()]);
        let declared = head.text("Content-Type");
        let is_message = declared.as_deref().is_some_and(|declared| declared.trim().starts_with("application/http"))
            || declared.is_none() && content.starts_with(b"HTTP/");
        let (mut http, mut body) = (None, content);
        if is_message {
            // As much as is kept of a record whose payload nobody reads.
            let within = &content[..content.len().min(MAX_HTTP_HEAD_BYTES)];
            let n_head = head_end(within).unwrap_or(within.len());
            http = Some(Head::of(&within[..n_head]));
            body = &content[n_head..];
        }
        let content_type = http.as_ref().map_or(declared, |http| http.text("Content-Type"));
        let unpack = |http: &Head<'_>| {
            let (transfer, content) = (http.text("Transfer-Encoding"), http.text("Content-Encoding"));
            payload_of(body, transfer.as_deref(), content.as_deref(), MAX_PAYLOAD_BYTES)
        };
        let plain = Payload { bytes: Cow::Borrowed(body), is_cut_off: false };
        let payload = match (reads_payload, &http) {
            (true, Some(http)) => Some(unpack(http).map_err(|_| {
                format!("its payload has more than {MAX_PAYLOAD_BYTES} bytes once it is unpacked (its head is kept)")
            })?),
            (true, None) => Some(plain),
            (false, _) => None,
        };
        Ok(Self { head, http, content_type, payload })
    }

    /// What it adds to a batch, about.
    fn n_bytes(&self) -> usize {
        self.payload.as_ref().map_or(0, |payload| payload.bytes.len()) + 500
    }

    fn add(&mut self, column: Column, record: &RawRecord, builder: &mut Builder) {
        match builder {
            Builder::Int(builder) => builder.append_option(match column {
                Column::Status => self.status(),
                Column::Offset => record.place.map(|(offset, _)| offset as i64),
                _ => record.place.map(|(_, length)| length as i64),
            }),
            Builder::Text(builder) => builder.append_option(self.text(column)),
            Builder::Bytes(builder) => builder.append_option(self.payload.as_ref().map(|payload| &payload.bytes)),
        }
    }

    fn text(&self, column: Column) -> Option<Cow<'_, str>> {
        let of_head = |name| self.head.text(name);
        match column {
            Column::Url => self.url(),
            Column::Date => of_head("WARC-Date"),
            Column::RecordId => of_head("WARC-Record-ID").map(without_brackets),
            Column::Type => of_head("WARC-Type"),
            Column::Mime => mime_of(self.content_type.as_deref()?).map(Cow::Owned),
            Column::Charset => self.declared_charset().map(Cow::Borrowed),
            Column::Language => {
                let of_message = self.http.as_ref().and_then(|http| http.text("Content-Language"));
                of_message.or_else(|| of_head("WARC-Identified-Content-Language"))
            }
            Column::Digest => of_head("WARC-Payload-Digest").or_else(|| of_head("WARC-Block-Digest")),
            Column::Truncated => of_head("WARC-Truncated")
                .or_else(|| self.payload.as_ref()?.is_cut_off.then_some(Cow::Borrowed("encoding"))),
            _ => self.payload_text(),
        }
    }

    fn url(&self) -> Option<Cow<'_, str>> {
        self.head.text("WARC-Target-URI").map(without_brackets)
    }

    fn declared_charset(&self) -> Option<&str> {
        charset_of(self.content_type.as_deref()?)
    }

    fn status(&self) -> Option<i64> {
        let line = self.http.as_ref()?.first_line;
        let code = line.split(|byte| *byte == b' ').filter(|part| !part.is_empty()).nth(1)?;
        let code = std::str::from_utf8(code).ok().filter(|_| line.starts_with(b"HTTP/"))?;
        code.parse().ok().filter(|code| (0..1000).contains(code))
    }

    /// The payload as text, if it is one.
    fn payload_text(&self) -> Option<Cow<'_, str>> {
        let payload = self.payload.as_ref()?;
        if !self.content_type.as_deref().and_then(mime_of).is_none_or(|mime| is_text(&mime)) {
            return None;
        }
        let url = self.url();
        let decoded = charset::decode(&payload.bytes, self.declared_charset(), url.as_deref());
        Some(decoded.text)
    }
}

/// `<urn:uuid:…>` without its brackets; some write addresses in them, too.
fn without_brackets(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.strip_prefix('<').and_then(|text| text.strip_suffix('>')) {
        Some(inside) => Cow::Owned(inside.to_string()),
        None => text,
    }
}

/// Whether bytes of a type are text, in whatever charset.
fn is_text(mime: &str) -> bool {
    const TEXTS: [&str; 9] = [
        "application/json",
        "application/javascript",
        "application/x-javascript",
        "application/ecmascript",
        "application/xml",
        "application/http",
        "application/warc-fields",
        "application/x-ndjson",
        "message/rfc822",
    ];
    mime.starts_with("text/") || mime.ends_with("+xml") || mime.ends_with("+json") || TEXTS.contains(&mime)
}
