//! A program computed on the host, value by value: what a device must give.
//!
//! With Arrow's kernels, which DataFusion's expressions end in, and the operators' own CPU code.

use crate::gpu::{Primitive, Program, Results, Scalar, Type, Value, ValueId};
use crate::ops::evaluate;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array};
use arrow::compute::kernels::{boolean, cmp, numeric, zip::zip};
use arrow::compute::{cast, filter, is_not_null, is_null};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use std::sync::Arc;

/// The results of `program` for a batch of `columns`.
pub(crate) fn on_cpu(program: &Program, columns: &[ArrayRef]) -> Results {
    let n_rows = columns[0].len();
    let mut values: Vec<ArrayRef> = vec![];
    for (place, value) in program.values().iter().enumerate() {
        let ty = program.type_of(ValueId(place)).unwrap();
        values.push(match value {
            Value::Column(column) if ty == Type::Text => Arc::clone(&columns[*column]),
            Value::Column(column) => cast(&columns[*column], &ty.data_type()).unwrap(),
            Value::Constant(Scalar::Bool(value)) => Arc::new(BooleanArray::from(vec![*value; n_rows])),
            Value::Constant(Scalar::Int(value)) => Arc::new(Int64Array::from(vec![*value; n_rows])),
            Value::Constant(Scalar::Float(value)) => Arc::new(Float64Array::from(vec![*value; n_rows])),
            Value::Call { spec, args, document } => evaluate(spec, &columns[*document], args).unwrap(),
            Value::Apply { primitive, of } => {
                let of: Vec<ArrayRef> = of.iter().map(|part| Arc::clone(&values[part.0])).collect();
                apply(*primitive, &of)
            }
        });
    }
    let fails = |rule: &ValueId, row: usize| {
        let condition = values[rule.0].as_boolean();
        condition.is_null(row) || !condition.value(row)
    };
    let first = |row: usize| program.rules().iter().position(|rule| fails(rule, row)).map_or(-1, |rule| rule as i32);
    let failed: Vec<i32> = (0..n_rows).map(first).collect();
    let passes = BooleanArray::from(failed.iter().map(|rule| *rule < 0).collect::<Vec<_>>());
    Results {
        failed: (!program.rules().is_empty()).then_some(failed),
        outputs: program.outputs().iter().map(|id| filter(&values[id.0], &passes).unwrap()).collect(),
        groups: None,
    }
}

fn apply(primitive: Primitive, of: &[ArrayRef]) -> ArrayRef {
    let truth = |i: usize| of[i].as_boolean();
    let whole =
        |f: fn(i64) -> i64| -> ArrayRef { Arc::new(of[0].as_primitive::<Int64Type>().unary::<_, Int64Type>(f)) };
    let number =
        |f: fn(f64) -> f64| -> ArrayRef { Arc::new(of[0].as_primitive::<Float64Type>().unary::<_, Float64Type>(f)) };
    match primitive {
        Primitive::Add => numeric::add_wrapping(&of[0], &of[1]).unwrap(),
        Primitive::Subtract => numeric::sub_wrapping(&of[0], &of[1]).unwrap(),
        Primitive::Multiply => numeric::mul_wrapping(&of[0], &of[1]).unwrap(),
        Primitive::Divide => numeric::div(&of[0], &of[1]).unwrap(),
        Primitive::Modulo => numeric::rem(&of[0], &of[1]).unwrap(),
        Primitive::Negate => numeric::neg_wrapping(&of[0]).unwrap(),
        Primitive::Abs => number(f64::abs),
        Primitive::Floor => number(f64::floor),
        Primitive::Ceil => number(f64::ceil),
        Primitive::Equal => Arc::new(cmp::eq(&of[0], &of[1]).unwrap()),
        Primitive::NotEqual => Arc::new(cmp::neq(&of[0], &of[1]).unwrap()),
        Primitive::Less => Arc::new(cmp::lt(&of[0], &of[1]).unwrap()),
        Primitive::LessOrEqual => Arc::new(cmp::lt_eq(&of[0], &of[1]).unwrap()),
        Primitive::Greater => Arc::new(cmp::gt(&of[0], &of[1]).unwrap()),
        Primitive::GreaterOrEqual => Arc::new(cmp::gt_eq(&of[0], &of[1]).unwrap()),
        Primitive::Distinct => Arc::new(cmp::distinct(&of[0], &of[1]).unwrap()),
        Primitive::NotDistinct => Arc::new(cmp::not_distinct(&of[0], &of[1]).unwrap()),
        Primitive::And => Arc::new(boolean::and_kleene(truth(0), truth(1)).unwrap()),
        Primitive::Or => Arc::new(boolean::or_kleene(truth(0), truth(1)).unwrap()),
        Primitive::Not => Arc::new(boolean::not(truth(0)).unwrap()),
        Primitive::IsNull => Arc::new(is_null(&of[0]).unwrap()),
        Primitive::IsNotNull => Arc::new(is_not_null(&of[0]).unwrap()),
        Primitive::Select => zip(truth(0), &of[1], &of[2]).unwrap(),
        Primitive::Coalesce => zip(&is_not_null(&of[0]).unwrap(), &of[0], &of[1]).unwrap(),
        Primitive::ToFloat => cast(&of[0], &DataType::Float64).unwrap(),
        Primitive::ToInt => cast(&of[0], &DataType::Int64).unwrap(),
        Primitive::WrapI8 => whole(|n| i64::from(n as i8)),
        Primitive::WrapI16 => whole(|n| i64::from(n as i16)),
        Primitive::WrapI32 => whole(|n| i64::from(n as i32)),
        Primitive::WrapU8 => whole(|n| i64::from(n as u8)),
        Primitive::WrapU16 => whole(|n| i64::from(n as u16)),
        Primitive::WrapU32 => whole(|n| i64::from(n as u32)),
    }
}
