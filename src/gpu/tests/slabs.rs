//! The bytes of a batch: what is written, what is read, and that a slab is as large as was said.

use super::on_cpu::on_cpu;
use super::random::{Dice, random_columns, random_program};
use crate::gpu::{Layout, Mode, Primitive, Program, Scalar, Type, Value, text_bytes};
use arrow::array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray, UInt64Array};
use std::sync::Arc;

fn random(seed: u64) -> (Program, Vec<ArrayRef>) {
    let mut dice = Dice::new(seed);
    let n_rows = 1 + dice.below(70);
    let columns = random_columns(&mut dice, n_rows);
    let types = columns.iter().map(|column| Type::of(column.data_type()).unwrap()).collect();
    (random_program(&mut dice, types), columns)
}

fn input(layout: &Layout, garbage: u8, columns: &[ArrayRef]) -> Vec<u8> {
    let mut bytes = vec![garbage; layout.input_bytes()];
    layout.write_input(&mut bytes, 1 << 40, 1 << 41, columns).unwrap();
    bytes
}

#[test]
fn a_slab_is_within_its_bound_and_its_parts_in_order() {
    for seed in 0..200 {
        let (program, columns) = random(seed);
        for mode in [Mode::Fused, Mode::Steps] {
            let layout = Layout::plan(&program, mode, &columns).unwrap();
            let bound = Layout::bound(&program, mode).unwrap();
            let texts: Vec<usize> = columns.iter().map(text_bytes).collect();
            assert!(layout.total_bytes() <= bound.bytes(layout.n_rows(), &texts), "{program}");
            let back = layout.output_range();
            assert!(layout.input_bytes() <= back.start && back.end <= layout.total_bytes());
            let launches = layout.launches();
            assert!(launches.iter().all(|launch| launch.launch_offset < layout.input_bytes() && launch.n_blocks > 0));
            let n_launches = if mode == Mode::Fused { 1 } else { program.steps().unwrap().len() };
            assert_eq!(launches.len(), n_launches);
        }
    }
}

#[test]
fn every_byte_of_the_input_is_written() {
    for seed in 0..100 {
        let (program, columns) = random(seed);
        let layout = Layout::plan(&program, Mode::Fused, &columns).unwrap();
        assert!(input(&layout, 0x00, &columns) == input(&layout, 0xff, &columns), "seed {seed}");
    }
}

#[test]
fn texts_of_every_layout_pack_to_the_same_bytes() {
    let texts = [Some("skipped"), Some("naïve"), None, Some(""), Some("a text that is longer than a view"), Some("x")];
    let layouts: [ArrayRef; 3] = [
        Arc::new(StringArray::from(texts.to_vec())),
        Arc::new(LargeStringArray::from(texts.to_vec())),
        Arc::new(StringViewArray::from(texts.to_vec())),
    ];
    let mut program = Program::new(vec![Type::Text]);
    let text = program.push(Value::Column(0)).unwrap();
    let is_null = program.push(Value::Apply { primitive: Primitive::IsNull, of: vec![text] }).unwrap();
    program.add_output(is_null).unwrap();
    let packed = layouts.map(|column| {
        let columns = [column.slice(1, 4)];
        input(&Layout::plan(&program, Mode::Fused, &columns).unwrap(), 0, &columns)
    });
    assert!(packed[0] == packed[1] && packed[1] == packed[2]);
    let bytes = "naïvea text that is longer than a view".as_bytes();
    assert!(packed[0].windows(bytes.len()).any(|window| window == bytes));
}

#[test]
fn columns_that_a_device_cannot_take_are_refused() {
    let mut program = Program::new(vec![Type::Int]);
    let n = program.push(Value::Column(0)).unwrap();
    program.add_output(n).unwrap();
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    assert!(Layout::plan(&program, Mode::Fused, &[unsigned]).is_err());
    let text: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
    assert!(Layout::plan(&program, Mode::Fused, &[text]).is_err());
    assert!(Layout::plan(&program, Mode::Fused, &[]).is_err());
}

#[test]
fn results_of_rows_that_fail_are_left_out() {
    let mut program = Program::new(vec![Type::Int]);
    let n = program.push(Value::Column(0)).unwrap();
    let yes = program.push(Value::Constant(Scalar::Bool(Some(true)))).unwrap();
    program.add_rule(yes).unwrap();
    program.add_output(n).unwrap();
    let columns: [ArrayRef; 1] = [Arc::new(arrow::array::Int64Array::from(vec![Some(5), None, Some(-7)]))];
    let layout = Layout::plan(&program, Mode::Fused, &columns).unwrap();
    // As a device would leave them: values at the beginning, then validity, then the rules that failed.
    let mut bytes = vec![0xaa; layout.output_range().len()];
    for (row, n) in [5i64, 99, -7].iter().enumerate() {
        bytes[8 * row..8 * row + 8].copy_from_slice(&n.to_le_bytes());
    }
    bytes[32..35].copy_from_slice(&[1, 0xaa, 0]);
    for (row, rule) in [-1i32, 3, -1].iter().enumerate() {
        bytes[48 + 4 * row..52 + 4 * row].copy_from_slice(&rule.to_le_bytes());
    }
    let results = layout.read_outputs(&bytes).unwrap();
    assert_eq!(results.failed, Some(vec![-1, 3, -1]));
    assert_eq!(results.outputs[0].as_ref(), &arrow::array::Int64Array::from(vec![Some(5), None]) as &dyn Array);
    assert!(layout.read_outputs(&bytes[1..]).is_err());
}

#[test]
fn random_programs_drop_some_rows_and_keep_others() {
    let rows: Vec<(usize, usize)> = (0..50)
        .map(|seed| {
            let (program, columns) = random(seed);
            let results = on_cpu(&program, &columns);
            let kept =
                results.failed.map_or(columns[0].len(), |failed| failed.iter().filter(|rule| **rule < 0).count());
            (kept, columns[0].len())
        })
        .collect();
    assert!(rows.iter().any(|(kept, all)| 0 < *kept && kept < all));
    assert!(rows.iter().filter(|(kept, _)| *kept > 0).count() > 25);
}
