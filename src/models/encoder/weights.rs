//! The weights of a model, as one buffer of `f32` that its graph points into.
//!
//! Tensors are read from the safetensors files one by one, when the graph asks for them: as they are, or turned round, since a
//! linear layer is stored as `[out, in]` and multiplied as `[in, out]`. So there is one copy of the weights in a process, aligned,
//! and 16-bit numbers become `f32` on the way.
//! Invariants: the buffer never moves, so that alignment holds; what no graph asked for is known by name ([`Weights::unused`]).

use super::files::{self, ModelFiles};
use super::safetensors::{Stored, TensorInfo, read_header};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Where tensors begin in the buffer: at multiples of what the widest vector of a CPU takes.
const ALIGNMENT: usize = 64;

/// What is read of a large tensor at once; whole numbers of all sizes.
const PART_BYTES: u64 = 4 << 20;

/// What a tensor of the files becomes in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// As it is stored.
    Stored,
    /// `[out, in]` becomes `[in, out]`.
    Transposed,
}

/// A tensor in the buffer.
#[derive(Clone, Debug)]
pub struct Placed {
    pub shape: Vec<usize>,
    pub offset: usize,
    pub length: usize,
}

/// The tensors of a model's files, and those that were read so far.
pub struct Weights<'a> {
    files: &'a ModelFiles,
    tensors: BTreeMap<String, (String, TensorInfo)>,
    used: BTreeSet<String>,
    /// Empty while only shapes are looked at.
    buffer: Vec<u8>,
    loads: bool,
}

impl<'a> Weights<'a> {
    /// Opens `model.safetensors`, or the parts that `model.safetensors.index.json` lists. Nothing but headers is read.
    pub fn open(files: &'a ModelFiles) -> Result<Self> {
        let mut tensors = BTreeMap::new();
        for name in weight_files(files)? {
            for (tensor, info) in read_header(files, &name)? {
                if tensors.insert(tensor.clone(), (name.clone(), info)).is_some() {
                    return Err(Error::Data(format!("{}: tensor {tensor:?} stands in two files", files.shown(&name))));
                }
            }
        }
        Ok(Weights { files, tensors, used: BTreeSet::new(), buffer: Vec::new(), loads: false })
    }

    /// Opens one file of tensors.
    pub fn open_file(files: &'a ModelFiles, name: &str) -> Result<Self> {
        let tensors = read_header(files, name)?.into_iter().map(|(tensor, info)| (tensor, (name.to_string(), info)));
        Ok(Weights { files, tensors: tensors.collect(), used: BTreeSet::new(), buffer: Vec::new(), loads: false })
    }

    /// From now on, tensors that are asked for are read. Until then, only their shapes are checked.
    pub fn load(&mut self) {
        let n_bytes = self.tensors.values().map(|(_, info)| info.n_numbers() * 4 + ALIGNMENT).sum::<usize>();
        // What is not written of it takes no memory.
        self.buffer = Vec::with_capacity(n_bytes + ALIGNMENT);
        self.loads = true;
        self.used.clear();
    }

    /// Takes in the tensors of another file of the same model, under names that begin with its folder.
    pub fn extend_below(&mut self, folder: &str, other: Weights<'a>) {
        self.tensors.extend(other.tensors.into_iter().map(|(name, tensor)| (format!("{folder}{name}"), tensor)));
    }

    pub fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The names of all tensors.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// A tensor's shape, if there is such a tensor.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|(_, info)| info.shape.as_slice())
    }

    /// The first file, for messages that are about all of them.
    pub fn shown(&self) -> String {
        self.tensors.values().next().map_or_else(|| self.files.shown(SINGLE), |(file, _)| self.files.shown(file))
    }

    /// Puts a tensor into the buffer, whose shape is known.
    pub fn place(&mut self, name: &str, shape: &[usize], layout: Layout) -> Result<Placed> {
        let Some((file, info)) = self.tensors.get(name) else {
            return Err(Error::Data(format!("{}: tensor {name:?} is missing", self.shown())));
        };
        let shown = self.files.shown(file);
        if info.shape != shape {
            let found = &info.shape;
            return Err(Error::Data(format!(
                "{shown}: tensor {name:?} has shape {found:?}; the configuration asks for {shape:?}"
            )));
        }
        if let Stored::Other(_) = info.stored {
            return Err(Error::Data(format!(
                "{shown}: tensor {name:?} is stored as whole numbers; weights are read as F32, F16, BF16 or F64"
            )));
        }
        let n_numbers = info.n_numbers();
        self.used.insert(name.to_string());
        let mut placed = Placed { shape: shape.to_vec(), offset: 0, length: n_numbers * 4 };
        if let (Layout::Transposed, [rows, columns]) = (layout, shape) {
            placed.shape = vec![*columns, *rows];
        }
        if self.loads {
            let (file, info) = (file.clone(), info.clone());
            placed.offset = self.begin(placed.length)?;
            match (layout, shape) {
                (Layout::Transposed, [rows, columns]) => {
                    let numbers = as_f32(&self.files.read(&file, info.bytes)?, info.stored);
                    write_transposed(&mut self.buffer, &numbers, *rows, *columns);
                }
                _ => self.copy(&file, &info)?,
            }
        }
        Ok(placed)
    }

    /// Copies a tensor as it is, part by part: a table of words may be most of a model.
    fn copy(&mut self, file: &str, info: &TensorInfo) -> Result<()> {
        let mut begin = info.bytes.start;
        while begin < info.bytes.end {
            let end = (begin + PART_BYTES).min(info.bytes.end);
            let numbers = as_f32(&self.files.read(file, begin..end)?, info.stored);
            numbers.iter().for_each(|number| self.buffer.extend_from_slice(&number.to_le_bytes()));
            begin = end;
        }
        Ok(())
    }

    /// Goes to the next aligned place of the buffer, which must not move.
    fn begin(&mut self, n_bytes: usize) -> Result<usize> {
        let address = self.buffer.as_ptr() as usize + self.buffer.len();
        let offset = self.buffer.len() + address.next_multiple_of(ALIGNMENT) - address;
        if offset + n_bytes > self.buffer.capacity() {
            return Err(crate::bug!("the buffer of weights is too small: a tensor was asked for twice"));
        }
        self.buffer.resize(offset, 0);
        Ok(offset)
    }

    /// Tensors that no graph asked for.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        self.names().filter(|name| !self.used.contains(*name))
    }

    /// How many bytes the tensors take that were asked for, as `f32`.
    pub fn n_used_bytes(&self) -> usize {
        self.used.iter().filter_map(|name| self.tensors.get(name)).map(|(_, info)| info.n_numbers() * 4).sum()
    }

    /// The buffer.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// The files that hold a model's weights.
pub fn weight_files(files: &ModelFiles) -> Result<Vec<String>> {
    if files.size(SINGLE)?.is_some() {
        return Ok(vec![SINGLE.into()]);
    }
    if let Some(index) = files::json(files, INDEX)? {
        let places = index.get("weight_map").and_then(|map| map.as_object());
        let places = places.ok_or_else(|| index.wrong("`weight_map` is missing"))?;
        let names: Option<BTreeSet<&str>> = places.values().map(|name| name.as_str()).collect();
        let names = names.ok_or_else(|| index.wrong("`weight_map` is not a map from tensors to files"))?;
        if let Some(name) = names.iter().find(|name| name.contains(['/', '\\']) || name.starts_with('.')) {
            return Err(index.wrong(format!("`weight_map` names {name:?}, which is not a file of this folder")));
        }
        return Ok(names.into_iter().map(str::to_string).collect());
    }
    let pickle = files.size("pytorch_model.bin")?.is_some();
    let hint = if pickle {
        ": `pytorch_model.bin` is pickle, which can run code and is never opened; save the model with `safe_serialization=True`"
    } else {
        ""
    };
    Err(Error::Data(format!("{}: there is no such file{hint}", files.shown(SINGLE))))
}

fn as_f32(bytes: &[u8], stored: Stored) -> Vec<f32> {
    fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
        bytes.as_chunks::<N>().0.iter().map(|bytes| number(*bytes)).collect()
    }
    match stored {
        Stored::F64 => each(bytes, |bytes| f64::from_le_bytes(bytes) as f32),
        Stored::F32 => each(bytes, f32::from_le_bytes),
        Stored::F16 => each(bytes, |bytes| half::f16::from_le_bytes(bytes).to_f32()),
        Stored::Bf16 => each(bytes, |bytes| half::bf16::from_le_bytes(bytes).to_f32()),
        Stored::Other(_) => Vec::new(),
    }
}

/// Appends a matrix, turned round, tile by tile, so that both sides stay in cache.
fn write_transposed(buffer: &mut Vec<u8>, numbers: &[f32], rows: usize, columns: usize) {
    const TILE: usize = 32;
    let mut turned = vec![0f32; numbers.len()];
    for row in (0..rows).step_by(TILE) {
        for column in (0..columns).step_by(TILE) {
            for row in row..(row + TILE).min(rows) {
                for column in column..(column + TILE).min(columns) {
                    turned[column * rows + row] = numbers[row * columns + column];
                }
            }
        }
    }
    turned.iter().for_each(|number| buffer.extend_from_slice(&number.to_le_bytes()));
}
