//! Crawls: WARC files (`.warc`), and the texts that Common Crawl makes of them (`.wet`).
//!
//! ```text
//! file ──find──► a record's start ──stream──► unpacked bytes ──records──► blocks of records ──decode, payload──► rows
//! ```
//! A file is cut at its members, so that one large file keeps all cores busy: one thread unpacks a piece, partitions decode its
//! records. A row's number is that of its record, of whatever type.

mod decode;
mod find;
mod header;
mod payload;
mod records;
mod stream;

pub(crate) use self::decode::RecordBlock;
use self::decode::{BlockDecoder, projected, reads_payload};
use self::find::{can_cut, record_start};
use self::header::Head;
use self::records::{Cut, Keep, RecordCutter, Source};
use self::stream::{Packing, Unpacked};
use super::compression::ByteCount;
use super::encoded::ReaderForm;
use super::format::{FormatReader, Input, InputPosition, RowsIter, Scan, Stop, Unit};
use super::line_counts::{CountPiece, LineCount};
use super::lines::MAX_LINE_BYTES;
use super::queue::UnitSender;
use super::rejects::RejectKind;
use super::spec::Compression;
use super::split::{Extent, byte_ranges};
use crate::Result;
use arrow::datatypes::SchemaRef;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// Reads WARC records of some types.
#[derive(Debug)]
pub(crate) struct WarcReader {
    /// In lower case; none: all.
    types: Vec<String>,
}

impl WarcReader {
    /// Records of these types; of all if one is `all`.
    pub fn of_types(types: &[String]) -> Self {
        let types: Vec<String> = types.iter().map(|name| name.to_ascii_lowercase()).collect();
        Self { types: if types.iter().any(|name| name == "all") { Vec::new() } else { types } }
    }

    fn keep(&self, head: &Head<'_>, wanted: Keep) -> Keep {
        let is_of =
            |name: &String| head.field("WARC-Type").is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()));
        if self.types.is_empty() || self.types.iter().any(is_of) { wanted } else { Keep::Nothing }
    }
}

impl FormatReader for WarcReader {
    fn schema(&self) -> SchemaRef {
        Arc::new(decode::schema())
    }

    fn cut(&self, input: &Input, file: usize, block_bytes: u64) -> Vec<Extent> {
        let is_cuttable = || -> io::Result<bool> {
            let stored = input.files[file].open()?;
            can_cut(&stored, &packing(input, file, &stored)?)
        };
        match is_cuttable() {
            Ok(true) => byte_ranges(input.files[file].size_bytes, block_bytes),
            // What is wrong with a file is said when it is read.
            _ => vec![Extent::Whole],
        }
    }

    fn produce(&self, scan: &Scan, mut pieces: Range<usize>, units: &UnitSender) -> Result<(), Stop> {
        pieces.try_for_each(|piece| self.produce_piece(scan, piece, units))
    }

    fn form(&self) -> ReaderForm {
        ReaderForm::Warc { types: self.types.clone() }
    }

    fn count_piece(&self) -> CountPiece {
        count_records
    }

    fn decode(&self, unit: Unit, scan: &Scan) -> Result<RowsIter> {
        let Unit::Records(block) = unit else { return Err(crate::bug!("WARC got the unit {unit:?}")) };
        let columns = projected(&scan.projection);
        Ok(Box::new(BlockDecoder { block, next: 0, columns, scan: scan.clone() }))
    }
}

impl WarcReader {
    fn produce_piece(&self, scan: &Scan, piece: usize, units: &UnitSender) -> Result<(), Stop> {
        let count = ByteCount::default();
        let mut cutter = match open(&scan.input, piece, &count, scan.max_line_bytes())? {
            Ok(Some(cutter)) => cutter,
            Ok(None) => {
                scan.input.counts.learn(piece, LineCount::default());
                return Ok(());
            }
            Err(error) => return Ok(scan.reject_rest(InputPosition::start_of(piece), error)?),
        };
        let reads_payload = projected(&scan.projection).iter().any(reads_payload);
        let wanted = if reads_payload { Keep::All } else { Keep::HttpHead };
        let new_block = || RecordBlock { piece, data: scan.buffers.empty(), records: Vec::new() };
        let mut block = new_block();
        loop {
            let cut = cutter.next(|head| self.keep(head, wanted), &mut block.data);
            scan.counters.bytes_scanned.add(count.take() as usize);
            match cut {
                Cut::Record(record) => block.records.push(record),
                Cut::Other => continue,
                Cut::Bad { row, byte_offset, kind, reason, raw } => {
                    scan.reject(InputPosition { piece, line: row, byte_offset }, kind, reason, raw)?;
                    continue;
                }
                Cut::Broken { row, byte_offset, error } => {
                    units.push(Unit::Records(block))?;
                    let reason = format!("cannot read the file from here on: {error}");
                    let at = InputPosition { piece, line: row, byte_offset };
                    return Ok(scan.reject(at, RejectKind::Unreadable, reason, Vec::new())?);
                }
                Cut::End => break,
            }
            if block.data.len() >= scan.batch_bytes || block.records.len() >= scan.batch_rows {
                units.push(Unit::Records(std::mem::replace(&mut block, new_block())))?;
            }
        }
        if !block.records.is_empty() {
            units.push(Unit::Records(block))?;
        }
        let n_records = cutter.n_records();
        scan.input.counts.learn(piece, LineCount { lines: n_records, bytes: 0 });
        Ok(scan.check_unchanged(InputPosition { piece, line: n_records + 1, byte_offset: 0 })?)
    }
}

/// How a file is packed: as the query or its name says, or as its first bytes do.
fn packing(input: &Input, file: usize, stored: &crate::store::StoredFile) -> io::Result<Packing> {
    let compression = match input.compression_of(file) {
        Some(compression) => compression,
        None => Compression::of_file(stored)?,
    };
    // An empty file is empty, whatever its ending says.
    let compression = if stored.n_bytes()? == 0 { Compression::None } else { compression };
    Packing::of(stored, compression, input.max_window_bytes)
}

/// Opens a piece where its first record begins; `None` if none does.
fn open(input: &Input, piece: usize, count: &ByteCount, max_bytes: usize) -> Result<io::Result<Option<RecordCutter>>> {
    if input.stdin.is_some() {
        let opened = input.open(piece)?;
        let cutter =
            |opened: super::format::Opened| RecordCutter::new(Unpacked::Stream(opened.stream), 0, None, max_bytes);
        return Ok(opened.map(|opened| Some(cutter(opened))));
    }
    let (file, extent) = (input.splits.pieces[piece].file, input.splits.pieces[piece].extent);
    let stored = match input.open_file(piece)? {
        Ok(stored) => stored,
        Err(error) => return Ok(Err(error)),
    };
    let open = || -> io::Result<Option<RecordCutter>> {
        let packing = packing(input, file, &stored)?;
        if !packing.has_places() {
            let opened = input.open_stored(file, stored)?;
            let stream = Box::new(count.of(opened.stream));
            return Ok(Some(RecordCutter::new(Unpacked::Stream(stream), 0, None, max_bytes)));
        }
        let (from, end) = extent.bytes().unwrap_or((0, u64::MAX));
        let start = if from == 0 { 0 } else { record_start(&stored, &packing, from)? };
        if start >= end || from > 0 && start >= stored.n_bytes()? {
            return Ok(None);
        }
        let stream = Unpacked::open(stored.clone(), &packing, start, count)?;
        let source = Source { file: stored, packing, count: count.clone(), end };
        Ok(Some(RecordCutter::new(stream, start, Some(source), max_bytes)))
    };
    Ok(open())
}

/// How many records a piece has, of whatever type. What cannot be read is none; the scan of that piece says what is wrong.
fn count_records(input: &Input, piece: usize) -> Result<LineCount> {
    let mut nothing = Vec::new();
    let Ok(Some(mut cutter)) = open(input, piece, &ByteCount::default(), MAX_LINE_BYTES)? else {
        return Ok(LineCount::default());
    };
    while !matches!(cutter.next(|_| Keep::Nothing, &mut nothing), Cut::End | Cut::Broken { .. }) {}
    Ok(LineCount { lines: cutter.n_records(), bytes: 0 })
}
