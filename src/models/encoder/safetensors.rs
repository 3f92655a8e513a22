//! Reads the header of a safetensors file: which tensors it holds, and where.
//!
//! The file is a length of eight bytes, that many bytes of JSON, and the numbers. Whoever made the file may mean harm, so nothing
//! is believed: the header is limited, each tensor must fill exactly the bytes that its shape and type take, and tensors must
//! lie side by side, from the first byte to the last, without gaps and without overlaps.
//! Invariant: a [`TensorInfo`] that this module returns can be read in full.
//! Not here: other formats. Files of pickle (`pytorch_model.bin`) can run code when they are opened; they are never opened.

use super::files::ModelFiles;
use crate::{Error, Result};
use serde_json::Value;
use std::ops::Range;

/// What the JSON at the beginning may take: models with thousands of tensors have some hundred kilobytes.
const MAX_HEADER_BYTES: u64 = 100_000_000;

/// How numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    F64,
    F32,
    F16,
    Bf16,
    /// Whole numbers, and kinds that no weight of ours has; with the bytes that one takes.
    Other(usize),
}

impl Stored {
    fn parse(name: &str) -> Option<Stored> {
        Some(match name {
            "F64" => Stored::F64,
            "F32" => Stored::F32,
            "F16" => Stored::F16,
            "BF16" => Stored::Bf16,
            "I64" | "U64" => Stored::Other(8),
            "I32" | "U32" => Stored::Other(4),
            "I16" | "U16" => Stored::Other(2),
            "I8" | "U8" | "BOOL" | "F8_E4M3" | "F8_E5M2" | "F8_E8M0" => Stored::Other(1),
            _ => return None,
        })
    }

    /// The bytes that one number takes.
    pub fn n_bytes(self) -> usize {
        match self {
            Stored::F64 => 8,
            Stored::F32 => 4,
            Stored::F16 | Stored::Bf16 => 2,
            Stored::Other(n_bytes) => n_bytes,
        }
    }
}

/// One tensor of a file.
#[derive(Clone, Debug)]
pub struct TensorInfo {
    pub stored: Stored,
    pub shape: Vec<usize>,
    /// Where its numbers lie in the file.
    pub bytes: Range<u64>,
}

impl TensorInfo {
    pub fn n_numbers(&self) -> usize {
        self.shape.iter().product()
    }
}

/// The tensors of a file, in the order of its header.
pub fn read_header(files: &ModelFiles, name: &str) -> Result<Vec<(String, TensorInfo)>> {
    let shown = files.shown(name);
    let wrong = |what: String| Error::Data(format!("{shown} is not a sound safetensors file: {what}"));
    let n_file_bytes = files.size(name)?.ok_or_else(|| Error::Data(format!("{shown}: there is no such file")))?;
    if n_file_bytes < 8 {
        return Err(wrong(format!("it has {n_file_bytes} bytes, and the length of its header takes 8")));
    }
    let length = files.read(name, 0..8)?;
    let length = <[u8; 8]>::try_from(length.as_slice()).map(u64::from_le_bytes).unwrap_or(u64::MAX);
    if length > MAX_HEADER_BYTES {
        return Err(wrong(format!(
            "its header would take {length} bytes; {MAX_HEADER_BYTES} are the most that is read"
        )));
    }
    let first = 8 + length;
    if first > n_file_bytes {
        return Err(wrong(format!("its header would take {length} bytes, and the file has {n_file_bytes}")));
    }
    let header: Value = serde_json::from_slice(&files.read(name, 8..first)?)
        .map_err(|error| wrong(format!("its header is not JSON ({error})")))?;
    let header = header.as_object().ok_or_else(|| wrong("its header is not a JSON object".into()))?;
    let mut tensors = Vec::new();
    for (tensor, entry) in header.iter().filter(|(tensor, _)| *tensor != "__metadata__") {
        let info = read_entry(entry, first).map_err(|what| wrong(format!("tensor {tensor:?}: {what}")))?;
        tensors.push((tensor.clone(), info));
    }
    check_places(&tensors, first, n_file_bytes).map_err(wrong)?;
    Ok(tensors)
}

fn read_entry(entry: &Value, first: u64) -> Result<TensorInfo, String> {
    let stored = entry["dtype"].as_str().ok_or("it has no `dtype`")?;
    let stored = Stored::parse(stored).ok_or_else(|| format!("`dtype` {stored:?} is not known"))?;
    let whole = |value: &Value| value.as_u64().and_then(|value| usize::try_from(value).ok());
    let list = |key: &str| -> Option<Vec<usize>> { entry[key].as_array()?.iter().map(whole).collect() };
    let shape = list("shape").ok_or("it has no `shape` of whole numbers")?;
    let offsets = list("data_offsets").ok_or("it has no `data_offsets` of whole numbers")?;
    let [begin, end] = offsets[..] else { return Err("`data_offsets` are not two numbers".into()) };
    let n_bytes = shape.iter().try_fold(stored.n_bytes(), |bytes, length| bytes.checked_mul(*length));
    if begin > end || n_bytes != Some(end - begin) {
        return Err(format!("shape {shape:?} does not take the bytes {begin} to {end}"));
    }
    let place = |offset: usize| first.checked_add(offset as u64).ok_or("its offsets are out of range");
    Ok(TensorInfo { stored, shape, bytes: place(begin)?..place(end)? })
}

/// Each byte of the file belongs to exactly one tensor.
fn check_places(tensors: &[(String, TensorInfo)], first: u64, n_file_bytes: u64) -> Result<(), String> {
    let mut places: Vec<(&Range<u64>, &str)> =
        tensors.iter().map(|(name, info)| (&info.bytes, name.as_str())).collect();
    places.sort_by_key(|(bytes, _)| (bytes.start, bytes.end));
    let mut end = first;
    for (bytes, name) in places {
        if bytes.start < end {
            return Err(format!("tensor {name:?} overlaps the one before it"));
        }
        if bytes.start > end {
            return Err(format!("{} bytes before tensor {name:?} belong to nothing", bytes.start - end));
        }
        end = bytes.end;
    }
    match end.cmp(&n_file_bytes) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(format!("{} bytes at its end belong to nothing", n_file_bytes - end)),
        std::cmp::Ordering::Greater => {
            Err(format!("it was cut short: its tensors end at byte {end}, and the file at byte {n_file_bytes}"))
        }
    }
}
