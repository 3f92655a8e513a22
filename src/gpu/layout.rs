//! Where everything of a batch is in its piece of device memory, the slab.
//!
//! ```text
//! launch blocks, columns, outputs, options │ input columns │ values between steps │ results, failed, groups │ scratch
//! └────────────────── one copy to the device ──────────────┘                      └──── one copy back ─────┘
//! ```
//! Where rows are grouped by key, their results stay, and what comes back begins after them.
//! Mirrors `kernels/lib/abi.cuh`: what is written here is read there.
//!
//! Invariant: every piece begins at a multiple of 16 bytes, and a slab is never larger than [`SlabBound`] says.
//! Not here: the bytes of columns (`pack.rs`), results as Arrow columns (`unpack.rs`), allocating and copying.

use super::codegen::THREADS_PER_BLOCK;
use super::groups::{GROUPING_WORDS, Grouping};
use super::pack::{ColumnShape, column_shape};
use super::program::{Program, Type};
use super::steps::{Mode, Step, StepValue, Steps};
use arrow::array::{Array, ArrayRef};
use std::ops::Range;

/// What pieces begin at.
const ALIGNMENT: usize = 16;
/// Bytes of the structs of `abi.cuh`.
const LAUNCH_BYTES: usize = 10 * 8;
const COLUMN_BYTES: usize = 3 * 8;
const OUTPUT_BYTES: usize = 4 * 8;

/// A size that grows with a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SlabBound {
    /// For a batch, however small.
    pub bytes_fixed: usize,
    /// For each row.
    pub bytes_per_row: usize,
    /// For each column of the program: for each byte of its texts.
    pub bytes_per_text_byte: Vec<usize>,
}

impl SlabBound {
    /// The size for a batch.
    pub fn bytes(&self, n_rows: usize, text_bytes: &[usize]) -> usize {
        let texts = self.bytes_per_text_byte.iter().zip(text_bytes);
        let texts: usize = texts.fold(0, |sum, (per_byte, bytes)| sum.saturating_add(per_byte.saturating_mul(*bytes)));
        self.bytes_fixed.saturating_add(self.bytes_per_row.saturating_mul(n_rows)).saturating_add(texts)
    }
}

/// Places of an input column.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ColumnPlace {
    pub values: usize,
    pub offsets: Option<usize>,
    pub validity: Option<usize>,
}

/// Places of a result or of a value between steps.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputPlace {
    pub ty: Type,
    pub values: usize,
    pub validity: usize,
    pub lengths: Option<usize>,
}

impl OutputPlace {
    /// The words of an `Output` in a slab at `base`.
    fn words(&self, base: u64) -> [u64; 4] {
        let address = |place: usize| base + place as u64;
        let n_words = self.ty.value_bytes() as u64 / 8;
        [address(self.values), address(self.validity), self.lengths.map_or(0, address), n_words]
    }
}

/// Where the parts of one launch are.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepPlace {
    launch: usize,
    columns: usize,
    outputs: usize,
    words: usize,
}

/// Where rows are grouped.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct GroupsPlace {
    pub grouping: Grouping,
    launch: usize,
    described: usize,
    results: usize,
    pub table: usize,
}

/// One launch of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchAt {
    /// The place of its `Launch` in the slab: its address is the kernel's argument.
    pub launch_offset: usize,
    /// Blocks of [`THREADS_PER_BLOCK`] threads; never 0.
    pub n_blocks: usize,
}

/// The slab of one batch.
#[derive(Debug, Clone)]
pub struct Layout {
    pub(super) n_rows: usize,
    pub(super) types: Vec<Type>,
    pub(super) shapes: Vec<ColumnShape>,
    pub(super) columns: Vec<ColumnPlace>,
    pub(super) outputs: Vec<OutputPlace>,
    pub(super) failed: Option<usize>,
    pub(super) groups: Option<GroupsPlace>,
    steps: Vec<Step>,
    step_places: Vec<StepPlace>,
    work: Vec<OutputPlace>,
    header_bytes: usize,
    input_bytes: usize,
    output_range: Range<usize>,
    scratch: usize,
    total_bytes: usize,
    bound: SlabBound,
}

/// Gives out places one after the other.
struct Places<'a> {
    n_rows: usize,
    shapes: &'a [ColumnShape],
    next: usize,
    bound: SlabBound,
}

impl Places<'_> {
    /// A place for so many bytes in all, for each row, and for each byte of the texts of columns.
    fn take(&mut self, fixed: usize, per_row: usize, per_text_byte: &[usize]) -> usize {
        let place = self.next;
        let texts: usize =
            self.shapes.iter().zip(per_text_byte).map(|(shape, bytes)| shape.text_bytes.saturating_mul(*bytes)).sum();
        let bytes = fixed.saturating_add(per_row.saturating_mul(self.n_rows)).saturating_add(texts);
        self.next = self.next.saturating_add(bytes).saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        self.bound.bytes_fixed += fixed + ALIGNMENT - 1;
        self.bound.bytes_per_row += per_row;
        self.bound.bytes_per_text_byte.iter_mut().zip(per_text_byte).for_each(|(sum, bytes)| *sum += bytes);
        place
    }

    fn output(&mut self, ty: Type) -> OutputPlace {
        let lengths = matches!(ty, Type::Words(_) | Type::Hex(_)).then(|| self.take(0, 4, &[]));
        OutputPlace { ty, values: self.take(0, ty.value_bytes(), &[]), validity: self.take(0, 1, &[]), lengths }
    }
}

impl Layout {
    /// The slab for a batch of these columns. The error says which column a device cannot take.
    pub fn plan(program: &Program, mode: Mode, columns: &[ArrayRef]) -> Result<Layout, String> {
        if columns.len() != program.columns().len() {
            return Err(format!("{} columns for a program over {}", columns.len(), program.columns().len()));
        }
        let n_rows = columns.first().map_or(0, |column| column.len());
        let shapes = columns.iter().zip(program.columns()).map(|(column, ty)| column_shape(column, *ty));
        Self::of_shapes(program, mode, n_rows, shapes.collect::<Result<_, _>>()?)
    }

    /// What a slab takes at most.
    pub fn bound(program: &Program, mode: Mode) -> Result<SlabBound, String> {
        let shapes = vec![ColumnShape { text_bytes: 0, has_nulls: true }; program.columns().len()];
        Ok(Self::of_shapes(program, mode, 0, shapes)?.bound)
    }

    fn of_shapes(program: &Program, mode: Mode, n_rows: usize, shapes: Vec<ColumnShape>) -> Result<Layout, String> {
        let Steps { steps, work } = Steps::of(program, mode)?;
        let n_columns = program.columns().len();
        let bound = SlabBound { bytes_per_text_byte: vec![0; n_columns], ..SlabBound::default() };
        let mut places = Places { n_rows, shapes: &shapes, next: 0, bound };
        let step_places = steps.iter().map(|step| StepPlace {
            launch: places.take(LAUNCH_BYTES, 0, &[]),
            columns: places.take(COLUMN_BYTES * step.columns.len(), 0, &[]),
            outputs: places.take(OUTPUT_BYTES * step.outputs.len(), 0, &[]),
            words: places.take(8 * step.words.len(), 0, &[]),
        });
        let step_places = step_places.collect();
        let mut groups = program.grouping().map(|grouping| GroupsPlace {
            launch: places.take(8 * GROUPING_WORDS, 0, &[]),
            described: places.take(8 * (grouping.keys.len() + grouping.folds.len()), 0, &[]),
            results: places.take(OUTPUT_BYTES * program.outputs().len(), 0, &[]),
            table: 0,
            grouping: grouping.clone(),
        });
        let header_bytes = places.next;
        let mut columns = vec![];
        for (column, (ty, shape)) in program.columns().iter().zip(&shapes).enumerate() {
            let validity = shape.has_nulls.then(|| places.take(0, 1, &[]));
            columns.push(if *ty == Type::Text {
                let offsets = places.take(4, 4, &[]);
                let mut per_text_byte = vec![0; n_columns];
                per_text_byte[column] = 1;
                ColumnPlace { values: places.take(0, 0, &per_text_byte), offsets: Some(offsets), validity }
            } else {
                ColumnPlace { values: places.take(0, ty.value_bytes(), &[]), offsets: None, validity }
            });
        }
        let input_bytes = places.next;
        let work = work.into_iter().map(|ty| places.output(ty)).collect();
        let mut output_start = places.next;
        let types = program.outputs().iter().filter_map(|id| program.type_of(*id));
        let outputs = types.map(|ty| places.output(ty)).collect();
        if groups.is_some() {
            output_start = places.next;
        }
        let failed = (!program.rules().is_empty()).then(|| places.take(0, 4, &[]));
        if let Some(groups) = &mut groups {
            groups.table = places.take(groups.grouping.table_bytes(), 0, &[]);
        }
        let output_range = output_start..places.next;
        // Steps run one after the other in the same memory.
        let mut per_byte = vec![0; n_columns];
        let mut per_row = 0;
        for step in &steps {
            per_row = per_row.max(step.scratch.per_row);
            per_byte.iter_mut().zip(&step.scratch.per_byte).for_each(|(most, bytes)| *most = (*most).max(*bytes));
        }
        let scratch = places.take(0, per_row, &per_byte);
        let (total_bytes, bound) = (places.next, places.bound);
        Ok(Layout {
            n_rows,
            types: program.columns().to_vec(),
            shapes,
            columns,
            outputs,
            failed,
            groups,
            steps,
            step_places,
            work,
            header_bytes,
            input_bytes,
            output_range,
            scratch,
            total_bytes,
            bound,
        })
    }

    /// Rows of the batch.
    #[cfg(test)]
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The size of the slab.
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// What is copied to the device: so many bytes from the beginning of the slab.
    pub fn input_bytes(&self) -> usize {
        self.input_bytes
    }

    /// What is copied back.
    pub fn output_range(&self) -> Range<usize> {
        self.output_range.clone()
    }

    /// The launches, in order; none for a batch without rows.
    pub fn launches(&self) -> Vec<LaunchAt> {
        if self.n_rows == 0 {
            return vec![];
        }
        let launch = |launch_offset: usize, n_threads: usize| LaunchAt {
            launch_offset,
            n_blocks: n_threads.div_ceil(THREADS_PER_BLOCK),
        };
        let steps = self.steps.iter().zip(&self.step_places);
        let mut launches: Vec<_> =
            steps.map(|(step, place)| launch(place.launch, self.n_rows * step.lanes_per_row)).collect();
        if let Some(groups) = &self.groups {
            launches.extend([groups.grouping.n_slots(), self.n_rows].map(|n| launch(groups.launch, n)));
        }
        launches
    }

    /// Writes what is copied to the device: `bytes` is [`Layout::input_bytes`] long, the slab is at `base_address`, the
    /// tables of `ops::device_tables` at `tables_address`, and `columns` are those of [`Layout::plan`].
    pub fn write_input(
        &self,
        bytes: &mut [u8],
        base_address: u64,
        tables_address: u64,
        columns: &[ArrayRef],
    ) -> Result<(), String> {
        if bytes.len() != self.input_bytes {
            return Err(format!("{} bytes for an input of {}", bytes.len(), self.input_bytes));
        }
        bytes[..self.header_bytes].fill(0);
        for (step, place) in self.steps.iter().zip(&self.step_places) {
            self.write_step(bytes, base_address, tables_address, step, place);
        }
        if let Some(groups) = &self.groups {
            self.write_groups(bytes, base_address, groups);
        }
        self.pack(bytes, columns)
    }

    fn write_step(&self, bytes: &mut [u8], base: u64, tables: u64, step: &Step, place: &StepPlace) {
        let address = |place: usize| base + place as u64;
        let pointer = |place: Option<usize>| place.map_or(0, address);
        // Kernels of single operators read one text column.
        let per_byte = step.columns.iter().find_map(|slot| match slot {
            StepValue::Input(column) if self.types[*column] == Type::Text => step.scratch.per_byte.get(*column),
            _ => None,
        });
        let launch = [
            self.n_rows as u64,
            0,
            address(place.columns),
            address(place.outputs),
            address(place.words),
            pointer(self.failed),
            address(self.scratch),
            per_byte.copied().unwrap_or_default() as u64,
            step.scratch.per_row as u64,
            tables,
        ];
        write_words(bytes, place.launch, &launch);
        for (number, slot) in step.columns.iter().enumerate() {
            let column = match slot {
                StepValue::Input(column) => {
                    let place = &self.columns[*column];
                    [address(place.values), pointer(place.offsets), pointer(place.validity)]
                }
                StepValue::Work(_) | StepValue::Output(_) => {
                    let place = self.output_place(*slot);
                    [pointer(place.map(|place| place.values)), 0, pointer(place.map(|place| place.validity))]
                }
            };
            write_words(bytes, place.columns + COLUMN_BYTES * number, &column);
        }
        for (number, slot) in step.outputs.iter().enumerate() {
            if let Some(output) = self.output_place(*slot) {
                write_words(bytes, place.outputs + OUTPUT_BYTES * number, &output.words(base));
            }
        }
        write_words(bytes, place.words, &step.words);
    }

    fn write_groups(&self, bytes: &mut [u8], base: u64, place: &GroupsPlace) {
        let address = |place: usize| base + place as u64;
        let grouping = &place.grouping;
        let launch: [u64; GROUPING_WORDS] = [
            self.n_rows as u64,
            grouping.n_slots() as u64,
            grouping.slot_words() as u64,
            grouping.keys.len() as u64,
            grouping.folds.len() as u64,
            address(place.described),
            address(place.results),
            self.failed.map_or(0, address),
            address(place.table),
            address(place.table + 8),
        ];
        write_words(bytes, place.launch, &launch);
        let types: Vec<Type> = self.outputs.iter().map(|output| output.ty).collect();
        write_words(bytes, place.described, &grouping.described(&types));
        for (number, output) in self.outputs.iter().enumerate() {
            write_words(bytes, place.results + OUTPUT_BYTES * number, &output.words(base));
        }
    }

    fn output_place(&self, slot: StepValue) -> Option<&OutputPlace> {
        match slot {
            StepValue::Input(_) => None,
            StepValue::Work(number) => self.work.get(number),
            StepValue::Output(number) => self.outputs.get(number),
        }
    }
}

fn write_words(bytes: &mut [u8], place: usize, words: &[u64]) {
    for (number, word) in words.iter().enumerate() {
        bytes[place + 8 * number..place + 8 * number + 8].copy_from_slice(&word.to_le_bytes());
    }
}
