//! Which expressions a device takes, why not the others, and that what it takes means the same.

#![allow(clippy::unwrap_used)]

use super::DeviceProgram;
use crate::gpu::tests::{on_cpu::on_cpu, random::Dice};
use crate::logical::scalar_udf;
use crate::ops::Registry;
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringViewArray, UInt16Array, UInt64Array,
};
use arrow::datatypes::{DataType, Field, Float64Type, Schema, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::prelude::SessionContext;
use std::sync::Arc;

const INTS: [i64; 10] = [0, 1, -1, 7, -3, 50, 1 << 53, i64::MAX, i64::MIN, i64::MIN + 1];
const FLOATS: [f64; 12] = [
    0.0,
    -0.0,
    1.0,
    -2.5,
    0.1,
    50.0,
    1e300,
    5e-324,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::from_bits(0xfff8_0000_0000_0123),
];

fn schema() -> SchemaRef {
    let fields = [
        ("text", DataType::Utf8View),
        ("n", DataType::Int64),
        ("m", DataType::Int64),
        ("i", DataType::Int32),
        ("j", DataType::Int32),
        ("u", DataType::UInt16),
        ("big", DataType::UInt64),
        ("x", DataType::Float64),
        ("y", DataType::Float64),
        ("f", DataType::Float32),
        ("p", DataType::Boolean),
        ("q", DataType::Boolean),
    ];
    Arc::new(Schema::new(fields.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec()))
}

struct Plans {
    context: SessionContext,
    schema: SchemaRef,
}

impl Plans {
    fn new() -> Self {
        let context = SessionContext::new();
        Registry::builtin().iter().for_each(|spec| context.register_udf(scalar_udf(Arc::clone(spec))));
        Self { context, schema: schema() }
    }

    fn expr(&self, sql: &str) -> Arc<dyn PhysicalExpr> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema)).unwrap();
        let expr = self.context.parse_sql_expr(sql, &schema).unwrap();
        self.context.create_physical_expr(expr, &schema).unwrap()
    }

    /// The code of the reason why `sql` is refused.
    fn refusal(&self, sql: &str) -> &'static str {
        let refused = DeviceProgram::new(Arc::clone(&self.schema)).add_output(&self.expr(sql));
        refused.map_or_else(|reason| reason.code.as_str(), |_| "none")
    }
}

#[test]
fn every_refusal_has_its_code() {
    let cases = [
        ("chars(text) > 5", "none"),
        ("chars(text) + n * 2", "none"),
        ("CASE WHEN p THEN x ELSE y END", "none"),
        ("n IN (1, 2, 3)", "none"),
        ("n BETWEEN 1 AND 9", "none"),
        ("n / 7", "none"),
        ("n % -1 = 0", "none"),
        ("x / y", "none"),
        ("abs(x) + floor(y) - ceil(x)", "none"),
        ("i + 1 > n", "none"),
        ("f > 0.5", "none"),
        ("text IS NULL", "none"),
        ("n / m", "may-fail"),
        ("n / -1", "may-fail"),
        ("abs(n)", "may-fail"),
        ("CAST(x AS BIGINT)", "may-fail"),
        ("CAST(n AS INT) = 1", "may-fail"),
        ("CAST(u AS BIGINT) + 1", "none"),
        ("big > 5", "type"),
        ("i", "type"),
        ("f * f > 1.5::float", "type"),
        ("text", "type"),
        ("text = 'a'", "type"),
        ("chars(lower(text))", "expression"),
        ("ln(x)", "expression"),
        ("random() < 0.5", "volatile"),
        ("fix_unicode(text) IS NULL", "no-kernel"),
        ("words(text, lang => 'zh')", "options"),
    ];
    let plans = Plans::new();
    let given: Vec<(&str, &str)> = cases.iter().map(|(sql, _)| (*sql, plans.refusal(sql))).collect();
    assert_eq!(given, cases);
}

#[test]
fn a_refused_expression_leaves_no_trace() {
    let plans = Plans::new();
    let mut program = DeviceProgram::new(schema());
    program.add_rule(&plans.expr("n > 5")).unwrap();
    let before = program.clone().finish().0.to_string();
    program.add_output(&plans.expr("x + ln(y)")).unwrap_err();
    program.add_rule(&plans.expr("m / n > 1")).unwrap_err();
    let (program, columns) = program.finish();
    assert_eq!((program.to_string(), columns), (before, vec![1]));
}

#[test]
fn equal_parts_are_computed_once() {
    let plans = Plans::new();
    let mut program = DeviceProgram::new(schema());
    program.add_rule(&plans.expr("chars(text) > 5")).unwrap();
    assert_eq!(program.add_output(&plans.expr("chars(text)")), Ok(0));
    assert_eq!(program.add_output(&plans.expr("chars(text) * 2")), Ok(1));
    assert_eq!(program.add_output(&plans.expr("chars(text)")), Ok(0));
    assert_eq!(program.finish().0.to_string().matches("chars(").count(), 1);
}

fn batch(dice: &mut Dice, n_rows: usize) -> RecordBatch {
    let schema = schema();
    let columns = schema.fields().iter().map(|field| -> ArrayRef {
        macro_rules! column {
            ($array:ty, $value:expr) => {
                Arc::new((0..n_rows).map(|_| (dice.below(6) > 0).then(|| $value)).collect::<$array>())
            };
        }
        match field.data_type() {
            DataType::Utf8View => column!(StringViewArray, "a b ".repeat(dice.below(9))),
            DataType::Int64 => column!(Int64Array, INTS[dice.below(INTS.len())]),
            DataType::Int32 => column!(Int32Array, [0, 1, -1, 9, i32::MAX, i32::MIN][dice.below(6)]),
            DataType::UInt16 => column!(UInt16Array, [0, 1, 9, u16::MAX][dice.below(4)]),
            DataType::UInt64 => column!(UInt64Array, dice.below(9) as u64),
            DataType::Float32 => column!(Float32Array, [0.0, -0.0, 0.1, 2.5, f32::NAN][dice.below(5)]),
            DataType::Float64 => column!(Float64Array, FLOATS[dice.below(FLOATS.len())]),
            _ => column!(BooleanArray, dice.below(2) == 0),
        }
    });
    let columns = columns.collect();
    RecordBatch::try_new(schema, columns).unwrap()
}

fn one(dice: &mut Dice, of: &[&str]) -> String {
    of[dice.below(of.len())].to_string()
}

fn whole(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return one(dice, &["n", "m", "chars(text)", "CAST(i AS BIGINT)", "CAST(u AS BIGINT)", "17", "NULL::bigint"]);
    }
    let (a, b) = (whole(dice, depth - 1), whole(dice, depth - 1));
    match dice.below(8) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("({a} * {b})"),
        3 => format!("({a} / {})", one(dice, &["2", "-7", "9223372036854775807"])),
        4 => format!("({a} % {})", one(dice, &["3", "-1", "-10"])),
        5 => format!("(- {a})"),
        6 => format!("CASE WHEN {a} IS NOT NULL THEN {a} ELSE {b} END"),
        _ => format!("CASE {a} WHEN 1 THEN {b} WHEN n THEN m END"),
    }
}

fn number(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return one(dice, &["x", "y", "CAST(f AS DOUBLE)", "0.5", "-0.0", "NULL::double", "CAST(n AS DOUBLE)"]);
    }
    let (a, b) = (number(dice, depth - 1), number(dice, depth - 1));
    match dice.below(8) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("({a} * {b})"),
        3 => format!("({a} / {b})"),
        4 => format!("({a} % {b})"),
        5 => format!("nullif({a}, {b})"),
        6 => format!("{}({a})", one(dice, &["abs", "floor", "ceil", "-"])),
        _ => format!("CASE WHEN {} THEN {a} ELSE {b} END", truth(dice, depth - 1)),
    }
}

fn truth(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return one(
            dice,
            &["p", "q", "text IS NULL", "i + j > i", "u - 5::smallint > i", "i * i <> j", "f <= 0.1::float"],
        );
    }
    let compare = one(dice, &["<", "<=", ">", ">=", "=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]);
    let (a, b) = (truth(dice, depth - 1), truth(dice, depth - 1));
    match dice.below(9) {
        0 => format!("({a} AND {b})"),
        1 => format!("({a} OR {b})"),
        2 => format!("(NOT {a})"),
        3 => format!("({} {compare} {})", whole(dice, depth - 1), whole(dice, depth - 1)),
        4 | 5 => format!("({} {compare} {})", number(dice, depth - 1), number(dice, depth - 1)),
        6 => format!("({} {}IN (1, 50, NULL))", whole(dice, depth - 1), one(dice, &["", "NOT "])),
        7 => format!("({} IS {})", number(dice, depth - 1), one(dice, &["NULL", "NOT NULL"])),
        _ => format!("({} BETWEEN {} AND 9.0)", number(dice, depth - 1), number(dice, 0)),
    }
}

/// The value of a row with every bit of it.
fn shown(column: &ArrayRef, row: usize) -> String {
    match column.as_primitive_opt::<Float64Type>() {
        Some(numbers) if numbers.is_valid(row) => {
            format!("{:?} {:x}", numbers.value(row), numbers.value(row).to_bits())
        }
        _ => format!("{:?}", column.slice(row, 1)),
    }
}

#[test]
fn programs_mean_what_expressions_mean() {
    let plans = Plans::new();
    for seed in 0..300 {
        let mut dice = Dice::new(seed);
        let sql = match seed % 3 {
            0 => whole(&mut dice, 3),
            1 => number(&mut dice, 3),
            _ => truth(&mut dice, 3),
        };
        let batch = batch(&mut dice, 60);
        let expr = plans.expr(&sql);
        let mut program = DeviceProgram::new(schema());
        program.add_output(&expr).unwrap();
        let (program, columns) = program.finish();
        let mut columns: Vec<ArrayRef> = columns.iter().map(|column| Arc::clone(batch.column(*column))).collect();
        if columns.is_empty() {
            columns.push(Arc::clone(batch.column(0)));
        }
        let expected = expr.evaluate(&batch).unwrap().into_array(batch.num_rows()).unwrap();
        let given = &on_cpu(&program, &columns).outputs[0];
        for row in 0..batch.num_rows() {
            let inputs: Vec<String> = columns.iter().map(|column| shown(column, row)).collect();
            assert_eq!(shown(given, row), shown(&expected, row), "seed {seed}: {sql}\n{program}{inputs:?}");
        }
    }
}
