//! What a batch of an Arrow file says about itself, compared with the bytes that are there.
//!
//! A reader sets memory aside for what is named: a wrong number must not be believed. Buffers must lie in the body, the
//! number of rows must be one that so many bytes can hold, and what is unpacked must fit into memory.

use arrow::ipc::{CompressionType, RecordBatch};

/// Rows that take no bytes (a column of nulls) can be as many as other tools can count.
const MAX_EMPTY_ROWS: u64 = i32::MAX as u64;
/// The length that stands before each packed buffer, unpacked.
const PREFIX_BYTES: usize = 8;
/// A packed buffer that would have grown is stored as it is, with this for its length.
const IS_NOT_PACKED: i64 = -1;
/// One byte becomes no more than so many: a block of zstd takes 4 at least, and holds 128 KiB at most.
const MAX_PACKING: u64 = 1 << 16;

/// An error if a batch cannot be what it says, or would take more than `max_bytes` unpacked.
pub(super) fn check_batch(batch: RecordBatch<'_>, body: &[u8], max_bytes: u64) -> Result<(), String> {
    let max_rows = MAX_EMPTY_ROWS.max(body.len() as u64 * 8).max(max_bytes);
    let rows = |n: i64| u64::try_from(n).ok().filter(|n| *n <= max_rows);
    if rows(batch.length()).is_none() {
        return Err(format!("a batch says that it has {} rows, in {} bytes", batch.length(), body.len()));
    }
    for node in batch.nodes().into_iter().flatten() {
        if rows(node.length()).is_none() || node.null_count() < 0 || node.null_count() > node.length() {
            return Err(format!(
                "a column says that it has {} values, {} of them null",
                node.length(),
                node.null_count()
            ));
        }
    }
    let codec = batch.compression().map(|compression| compression.codec());
    let mut unpacked_bytes = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (at, length) = (buffer.offset(), buffer.length());
        let bytes = usize::try_from(at).ok().zip(usize::try_from(length).ok());
        let bytes = bytes.and_then(|(at, length)| body.get(at..at.checked_add(length)?));
        let Some(bytes) = bytes else {
            return Err(format!("a buffer of {length} bytes at {at} is not in the {} bytes of its batch", body.len()));
        };
        if let Some(codec) = codec {
            unpacked_bytes = unpacked_bytes.saturating_add(unpacked(bytes, codec)?);
        }
    }
    if unpacked_bytes > max_bytes {
        return Err(format!(
            "a batch of {unpacked_bytes} bytes, unpacked, is more than memory_limit leaves for one ({max_bytes}); raise it, \
             or write the file with smaller batches"
        ));
    }
    Ok(())
}

/// The most that a packed buffer can become.
fn unpacked(packed: &[u8], codec: CompressionType) -> Result<u64, String> {
    if packed.is_empty() {
        return Ok(0);
    }
    let Some((prefix, packed)) = packed.split_first_chunk::<PREFIX_BYTES>() else {
        return Err(format!("a packed buffer has {} bytes, less than its length takes", packed.len()));
    };
    let named = i64::from_le_bytes(*prefix);
    if named == IS_NOT_PACKED {
        return Ok(0);
    }
    let named =
        u64::try_from(named).ok().filter(|named| *named <= (packed.len() as u64 + 1).saturating_mul(MAX_PACKING));
    let Some(named) = named else {
        return Err(format!(
            "a packed buffer of {} bytes says that it unpacks to {}",
            packed.len(),
            i64::from_le_bytes(*prefix)
        ));
    };
    // LZ4 is unpacked to its end, whatever was named; it makes at most 255 bytes of one.
    let most = if codec == CompressionType::LZ4_FRAME { lz4_bytes(packed).max(named) } else { named };
    Ok(most)
}

/// The most that the blocks of an LZ4 frame can hold: a whole block each, or 255 bytes for each of theirs.
fn lz4_bytes(frame: &[u8]) -> u64 {
    let (flags, sizes) = (frame.get(4).copied().unwrap_or(0), frame.get(5).copied().unwrap_or(0));
    // 4 is 64 KiB, and each one more is four times as much.
    let block_bytes = 1_u64 << (8 + 2 * u64::from(sizes >> 4 & 7).max(4));
    let has = |bit: u8| usize::from(flags >> bit & 1);
    // The length of the content, the number of a dictionary, and a checksum behind each block may be there.
    let (mut at, checksum_bytes) = (7 + 8 * has(3) + 4 * has(0), 4 * has(4));
    let mut n_bytes = 0_u64;
    while let Some(size) = frame.get(at..).and_then(|rest| rest.first_chunk::<4>()) {
        let stored = (u32::from_le_bytes(*size) & !(1 << 31)) as usize;
        if stored == 0 {
            break;
        }
        n_bytes += block_bytes.min(stored as u64 * 255);
        at = at.saturating_add(4 + stored + checksum_bytes);
    }
    n_bytes
}
