//! The text of kernels: what is computed when, and what it depends on.

use super::random::{Dice, random_columns, random_program};
use crate::gpu::{Primitive, Program, Scalar, Type, Value, ValueId, single_kernels};
use crate::ops::{Args, Registry, Value as Choice};
use insta::assert_snapshot;
use std::collections::HashSet;
use std::sync::Arc;

/// The part of a source that is made for the program.
fn kernel(program: &Program) -> String {
    let source = program.source();
    let start = source.find("extern \"C\"").unwrap();
    source[start..].to_string()
}

fn call(program: &mut Program, name: &str, options: Vec<Choice>, document: usize) -> ValueId {
    let spec = Arc::clone(Registry::builtin().find(name).unwrap());
    let args = Arc::new(Args::new(&spec, options).unwrap());
    program.push(Value::Call { spec, args, document }).unwrap()
}

fn int(program: &mut Program, n: i64) -> ValueId {
    program.push(Value::Constant(Scalar::Int(Some(n)))).unwrap()
}

fn apply(program: &mut Program, primitive: Primitive, of: &[ValueId]) -> ValueId {
    program.push(Value::Apply { primitive, of: of.to_vec() }).unwrap()
}

/// `chars(text) > least` as a rule, `chars(text) * n` as an output.
fn filter_and_number(least: i64) -> Program {
    let mut program = Program::new(vec![Type::Text, Type::Int]);
    let chars = call(&mut program, "chars", vec![], 0);
    let least = int(&mut program, least);
    let rule = apply(&mut program, Primitive::Greater, &[chars, least]);
    let n = program.push(Value::Column(1)).unwrap();
    let product = apply(&mut program, Primitive::Multiply, &[chars, n]);
    program.add_rule(rule).unwrap();
    program.add_output(product).unwrap();
    program
}

#[test]
fn a_rule_ends_the_row_before_outputs_are_computed() {
    assert_snapshot!(kernel(&filter_and_number(50)), @r#"
    extern "C" __global__ void __launch_bounds__(128) segment(const Launch* launch) {
        u64 place = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
        if (place >= launch->n_rows) return;
        u64 row = launch->rows ? launch->rows[place] : place;
        bool is_writer = lane() == 0;
        u8* scratch = launch->scratch;
        Maybe<Text> text0 = text_at(launch->columns[0], row);
        const DocNeeds needs0 = {1u, 0u, 0u, 0ull, 0ull};
        Doc doc0;
        if (text0.valid) read(doc0, text0.value, needs0, scratch, launch->tables);
        Maybe<i64> v0 = text0.valid ? some<i64>(of_chars::chars(doc0, options_at(launch->options + 1, 0))) : none<i64>();
        Maybe<i64> v1 = int_constant(launch->options[0]);
        Maybe<bool> v2 = numeric::greater(v0, v1);
        if (!numeric::is_true(v2)) {
            if (is_writer) launch->failed[row] = 0;
            return;
        }
        Maybe<i64> v3 = int_at(launch->columns[1], row);
        Maybe<i64> v4 = numeric::multiply(v0, v3);
        if (!is_writer) return;
        launch->failed[row] = -1;
        store(launch->outputs[0], row, v4);
    }
    "#);
}

#[test]
fn rows_that_a_cheap_rule_drops_never_pay_for_n_grams() {
    let mut program = Program::new(vec![Type::Text]);
    let words = call(&mut program, "words", vec![], 0);
    let least = int(&mut program, 50);
    let enough = apply(&mut program, Primitive::GreaterOrEqual, &[words, least]);
    program.add_rule(enough).unwrap();
    let top = call(&mut program, "top_ngram_char_ratio", vec![Choice::Int(2)], 0);
    let most = program.push(Value::Constant(Scalar::Float(Some(0.2)))).unwrap();
    let few = apply(&mut program, Primitive::LessOrEqual, &[top, most]);
    program.add_rule(few).unwrap();
    let hash = call(&mut program, "content_hash", vec![], 0);
    let chars = call(&mut program, "chars", vec![], 0);
    for output in [words, top, hash, chars] {
        program.add_output(output).unwrap();
    }
    assert_snapshot!(kernel(&program), @r#"
    extern "C" __global__ void __launch_bounds__(128) segment(const Launch* launch) {
        u64 place = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
        if (place >= launch->n_rows) return;
        u64 row = launch->rows ? launch->rows[place] : place;
        bool is_writer = lane() == 0;
        u8* scratch = launch->scratch + aligned(row * 288ull + launch->columns[0].offsets[row] * 15ull);
        Maybe<Text> text0 = text_at(launch->columns[0], row);
        const DocNeeds needs0 = {3u, 0u, 0u, 0ull, 0ull};
        Doc doc0;
        if (text0.valid) read(doc0, text0.value, needs0, scratch, launch->tables);
        Maybe<i64> v0 = text0.valid ? some<i64>(of_words::words(doc0, options_at(launch->options + 2, 0))) : none<i64>();
        Maybe<i64> v1 = int_constant(launch->options[0]);
        Maybe<bool> v2 = numeric::greater_or_equal(v0, v1);
        if (!numeric::is_true(v2)) {
            if (is_writer) launch->failed[row] = 0;
            return;
        }
        const DocNeeds needs1 = {6u, 2u, 0u, 0ull, 0ull};
        Doc doc1;
        if (text0.valid) read(doc1, text0.value, needs1, scratch, launch->tables);
        scratch = after(scratch, text0.value.n_bytes, 15, 256);
        Maybe<f64> v3 = text0.valid ? some<f64>(of_top_ngram_char_ratio::top_ngram_char_ratio(doc1, options_at(launch->options + 2, 1))) : none<f64>();
        Maybe<f64> v4 = float_constant(launch->options[1]);
        Maybe<bool> v5 = numeric::less_or_equal(v3, v4);
        if (!numeric::is_true(v5)) {
            if (is_writer) launch->failed[row] = 1;
            return;
        }
        Maybe<u32> v6 = text0.valid ? some<u32>(of_content_hash::content_hash(doc0, options_at(launch->options + 2, 2), scratch, words_of(launch->outputs[2], row))) : none<u32>();
        Maybe<i64> v7 = text0.valid ? some<i64>(of_chars::chars(doc0, options_at(launch->options + 2, 2))) : none<i64>();
        if (!is_writer) return;
        launch->failed[row] = -1;
        store(launch->outputs[0], row, v0);
        store(launch->outputs[1], row, v3);
        store(launch->outputs[2], row, v6);
        store(launch->outputs[3], row, v7);
    }
    "#);
}

#[test]
fn a_chain_of_numbers_takes_one_lane_a_row() {
    let mut program = Program::new(vec![Type::Float]);
    let x = program.push(Value::Column(0)).unwrap();
    let half = program.push(Value::Constant(Scalar::Float(Some(0.5)))).unwrap();
    let none = program.push(Value::Constant(Scalar::Float(None))).unwrap();
    let is_less = apply(&mut program, Primitive::Less, &[x, half]);
    let chosen = apply(&mut program, Primitive::Select, &[is_less, none, x]);
    program.add_output(chosen).unwrap();
    assert_snapshot!(kernel(&program), @r#"
    extern "C" __global__ void __launch_bounds__(128) segment(const Launch* launch) {
        u64 place = ((u64)blockIdx.x * blockDim.x + threadIdx.x);
        if (place >= launch->n_rows) return;
        u64 row = launch->rows ? launch->rows[place] : place;
        const bool is_writer = true;
        Maybe<f64> v0 = float_at(launch->columns[0], row);
        Maybe<f64> v1 = float_constant(launch->options[0]);
        Maybe<f64> v2 = none<f64>();
        Maybe<bool> v3 = numeric::less(v0, v1);
        Maybe<f64> v4 = numeric::select(v3, v2, v0);
        if (!is_writer) return;
        store(launch->outputs[0], row, v4);
    }
    "#);
}

#[test]
fn a_changed_threshold_or_option_needs_no_other_kernel() {
    assert_eq!(filter_and_number(50).source(), filter_and_number(-7).source());
}

#[test]
fn statistics_of_a_text_share_one_reading() {
    let mut program = Program::new(vec![Type::Text, Type::Text]);
    let one = call(&mut program, "chars", vec![], 0);
    let other = call(&mut program, "chars", vec![], 1);
    let again = call(&mut program, "chars", vec![], 0);
    assert_eq!(one, again);
    for id in [one, other] {
        program.add_output(id).unwrap();
    }
    assert_eq!(kernel(&program).matches(" read(doc").count(), 2);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let mut program = Program::new(vec![Type::Text, Type::Int]);
    let text = program.push(Value::Column(0)).unwrap();
    let n = program.push(Value::Column(1)).unwrap();
    let spec = Arc::clone(Registry::builtin().find("chars").unwrap());
    let args = Arc::new(Args::new(&spec, vec![]).unwrap());
    assert!(program.push(Value::Call { spec, args, document: 1 }).is_err());
    assert!(program.push(Value::Apply { primitive: Primitive::Add, of: vec![text, n] }).is_err());
    assert!(program.push(Value::Apply { primitive: Primitive::Not, of: vec![ValueId(99)] }).is_err());
    assert!(program.push(Value::Column(2)).is_err());
    assert!(program.add_rule(n).is_err());
    assert!(program.add_output(text).is_err());
}

#[test]
fn every_step_of_any_program_is_among_the_single_kernels() {
    let kernels = single_kernels();
    let names: HashSet<&String> = kernels.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), kernels.len());
    for (name, source) in &kernels {
        assert_eq!(source.matches("__global__").count(), 1);
        assert!(source.contains(&format!(" {name}(")), "{name}");
    }
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let columns = random_columns(&mut dice, 3);
        let types = columns.iter().map(|column| Type::of(column.data_type()).unwrap()).collect();
        let program = random_program(&mut dice, types);
        let missing = program.steps().unwrap().into_iter().find(|step| !names.contains(step));
        assert_eq!(missing, None, "{program}");
    }
}
