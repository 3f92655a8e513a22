//! Arithmetic, comparisons, casts, CASE, lists and a few functions of DataFusion.

use super::builder::{DeviceProgram, Expr, Taken, expression};
use crate::cost::{Reason, ReasonCode};
use crate::gpu::{Primitive, Scalar, Type, Value, ValueId};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::functions::core::nullif::NullIfFunc;
use datafusion::functions::math::{abs::AbsFunc, ceil::CeilFunc, floor::FloorFunc};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, InListExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

/// A longer list of constants is searched on the CPU, by hash.
const LONGEST_LIST: usize = 32;

impl DeviceProgram {
    pub(super) fn binary(&mut self, expr: &Expr, binary: &BinaryExpr) -> Taken<ValueId> {
        let primitive = match binary.op() {
            Operator::And => Primitive::And,
            Operator::Or => Primitive::Or,
            Operator::Eq => Primitive::Equal,
            Operator::NotEq => Primitive::NotEqual,
            Operator::Lt => Primitive::Less,
            Operator::LtEq => Primitive::LessOrEqual,
            Operator::Gt => Primitive::Greater,
            Operator::GtEq => Primitive::GreaterOrEqual,
            Operator::IsDistinctFrom => Primitive::Distinct,
            Operator::IsNotDistinctFrom => Primitive::NotDistinct,
            Operator::Plus => Primitive::Add,
            Operator::Minus => Primitive::Subtract,
            Operator::Multiply => Primitive::Multiply,
            Operator::Divide => Primitive::Divide,
            Operator::Modulo => Primitive::Modulo,
            other => return Err(expression(format!("`{other}`"))),
        };
        let of = [self.value(binary.left())?, self.value(binary.right())?];
        let (left, right) = (self.data_type(binary.left())?, self.data_type(binary.right())?);
        if left != right {
            return Err(Reason::new(ReasonCode::Type, format!("`{}` of {left} and {right}", binary.op())));
        }
        if matches!(primitive, Primitive::Divide | Primitive::Modulo) && left.is_integer() {
            let divisor = binary.right().downcast_ref::<Literal>().map(|literal| scalar(literal.value()));
            // The least whole number has no quotient by −1.
            let can_fail = |n: i64| n == 0 || (n == -1 && primitive == Primitive::Divide);
            match divisor {
                Some(Ok(Scalar::Int(n))) if !n.is_some_and(can_fail) => {}
                _ => return Err(Reason::new(ReasonCode::MayFail, format!("`{expr}`"))),
            }
        }
        let is_arithmetic = matches!(primitive, Primitive::Add | Primitive::Subtract | Primitive::Multiply)
            || matches!(primitive, Primitive::Divide | Primitive::Modulo);
        // 32-bit numbers are rounded after every step.
        if is_arithmetic && left == DataType::Float32 {
            return Err(Reason::new(ReasonCode::Type, "arithmetic on 32-bit numbers"));
        }
        let of = if is_arithmetic { of } else { [self.comparable(of[0])?, self.comparable(of[1])?] };
        let value = self.apply(primitive, &of)?;
        if is_arithmetic { self.narrowed(value, &self.data_type(expr)?) } else { Ok(value) }
    }

    /// A value as comparison operators see it: for them, and not for IN or CASE, −0 equals 0. Adding 0 makes −0 to 0 and
    /// leaves every other number as it is.
    fn comparable(&mut self, value: ValueId) -> Taken<ValueId> {
        match (self.program().type_of(value), self.program().values().get(value.0)) {
            (_, Some(Value::Constant(Scalar::Float(Some(n))))) => {
                let n = *n + 0.0;
                self.push(Value::Constant(Scalar::Float(Some(n))))
            }
            (Some(Type::Float), _) => {
                let zero = self.push(Value::Constant(Scalar::Float(Some(0.0))))?;
                self.apply(Primitive::Add, &[value, zero])
            }
            _ => Ok(value),
        }
    }

    /// What is left of a 64-bit result in arithmetic on narrower whole numbers.
    pub(super) fn narrowed(&mut self, value: ValueId, data_type: &DataType) -> Taken<ValueId> {
        let primitive = match data_type {
            DataType::Int8 => Primitive::WrapI8,
            DataType::Int16 => Primitive::WrapI16,
            DataType::Int32 => Primitive::WrapI32,
            DataType::UInt8 => Primitive::WrapU8,
            DataType::UInt16 => Primitive::WrapU16,
            DataType::UInt32 => Primitive::WrapU32,
            DataType::Int64 | DataType::Float32 | DataType::Float64 => return Ok(value),
            other => return Err(Reason::new(ReasonCode::Type, format!("arithmetic on {other}"))),
        };
        self.apply(primitive, &[value])
    }

    pub(super) fn cast(&mut self, of: &Expr, to: &DataType) -> Taken<ValueId> {
        if let Some(literal) = of.downcast_ref::<Literal>()
            && let Ok(constant) = literal.value().cast_to(to)
        {
            return self.push(Value::Constant(scalar(&constant)?));
        }
        let from = self.data_type(of)?;
        let value = self.value(of)?;
        match (&from, to) {
            (from, to) if from == to => Ok(value),
            (DataType::Boolean, to) if to.is_integer() && Type::of(to).is_some() => {
                self.apply(Primitive::ToInt, &[value])
            }
            (DataType::Boolean, DataType::Float64) => self.apply(Primitive::ToFloat, &[value]),
            (DataType::Float32, DataType::Float64) => Ok(value),
            (from, DataType::Float64) if from.is_integer() => self.apply(Primitive::ToFloat, &[value]),
            (from, to) if from.is_integer() && to.is_integer() && holds_all(to, from) => Ok(value),
            (from, to) if from.is_numeric() && to.is_integer() => {
                Err(Reason::new(ReasonCode::MayFail, format!("a cast from {from} to {to}")))
            }
            (from, to) => Err(expression(format!("a cast from {from} to {to}"))),
        }
    }

    pub(super) fn case(&mut self, expr: &Expr, case: &CaseExpr) -> Taken<ValueId> {
        let data_type = self.data_type(expr)?;
        let mut value = match case.else_expr() {
            Some(other) => self.value(other)?,
            None => self.push(Value::Constant(null(&data_type)?))?,
        };
        let base = match case.expr() {
            Some(base) => Some((self.value(base)?, self.data_type(base)?)),
            None => None,
        };
        for (when, then) in case.when_then_expr().iter().rev() {
            if self.data_type(then)? != data_type {
                return Err(Reason::new(ReasonCode::Type, format!("a CASE of {data_type} and other types")));
            }
            let mut condition = self.value(when)?;
            if let Some((base, base_type)) = &base {
                if self.data_type(when)? != *base_type {
                    return Err(Reason::new(ReasonCode::Type, format!("a CASE that compares {base_type} and others")));
                }
                condition = self.apply(Primitive::Equal, &[*base, condition])?;
            }
            let then = self.value(then)?;
            value = self.apply(Primitive::Select, &[condition, then, value])?;
        }
        Ok(value)
    }

    pub(super) fn in_list(&mut self, list: &InListExpr) -> Taken<ValueId> {
        if list.list().len() > LONGEST_LIST {
            return Err(expression(format!("a list of {} values", list.list().len())));
        }
        let (value, data_type) = (self.value(list.expr())?, self.data_type(list.expr())?);
        let mut found = None;
        for member in list.list() {
            let constant = self.value(member)?;
            let is_constant = matches!(self.program().values().get(constant.0), Some(Value::Constant(_)));
            if !is_constant || self.data_type(member)? != data_type {
                return Err(expression("a list of other values than constants"));
            }
            let is_member = self.apply(Primitive::Equal, &[value, constant])?;
            found = Some(match found {
                Some(found) => self.apply(Primitive::Or, &[found, is_member])?,
                None => is_member,
            });
        }
        match found {
            Some(found) if list.negated() => self.apply(Primitive::Not, &[found]),
            Some(found) => Ok(found),
            None => Err(expression("an empty list")),
        }
    }

    /// A function of DataFusion. `coalesce` and its like are a CASE by now.
    pub(super) fn function(&mut self, call: &ScalarFunctionExpr) -> Taken<ValueId> {
        let function = call.fun().inner();
        if call.is_volatile_node() {
            return Err(Reason::new(ReasonCode::Volatile, format!("`{}`", call.name())));
        }
        let rounding = if function.is::<AbsFunc>() {
            Some(Primitive::Abs)
        } else if function.is::<FloorFunc>() {
            Some(Primitive::Floor)
        } else if function.is::<CeilFunc>() {
            Some(Primitive::Ceil)
        } else {
            None
        };
        let args = call.args();
        match (rounding, args) {
            (Some(primitive), [of]) => {
                let data_type = self.data_type(of)?;
                if data_type.is_integer() {
                    return Err(Reason::new(ReasonCode::MayFail, format!("`{}` of {data_type}", call.name())));
                }
                let of = self.value(of)?;
                self.apply(primitive, &[of])
            }
            (None, [first, second]) if function.is::<NullIfFunc>() => {
                self.same_types(args)?;
                let null = null(&self.data_type(first)?)?;
                let (null, first, second) =
                    (self.push(Value::Constant(null))?, self.value(first)?, self.value(second)?);
                let is_equal = self.apply(Primitive::Equal, &[first, second])?;
                self.apply(Primitive::Select, &[is_equal, null, first])
            }
            _ => Err(expression(format!("`{}`", call.name()))),
        }
    }

    fn same_types(&self, args: &[Expr]) -> Taken<()> {
        let types = args.iter().map(|arg| self.data_type(arg)).collect::<Taken<Vec<_>>>()?;
        if types.windows(2).all(|pair| pair[0] == pair[1]) {
            Ok(())
        } else {
            Err(Reason::new(ReasonCode::Type, "arguments of several types"))
        }
    }
}

/// Whether every value of one whole-number type is one of another that devices know.
fn holds_all(to: &DataType, from: &DataType) -> bool {
    let (Some(to_bytes), Some(from_bytes)) = (to.primitive_width(), from.primitive_width()) else { return false };
    let is_known = Type::of(to).is_some() && Type::of(from).is_some();
    match (to.is_signed_integer(), from.is_signed_integer()) {
        (true, false) => is_known && to_bytes > from_bytes,
        (false, true) => false,
        _ => is_known && to_bytes >= from_bytes,
    }
}

/// A constant of a plan.
pub(super) fn scalar(value: &ScalarValue) -> Taken<Scalar> {
    Ok(match value {
        ScalarValue::Boolean(value) => Scalar::Bool(*value),
        ScalarValue::Int8(value) => Scalar::Int(value.map(i64::from)),
        ScalarValue::Int16(value) => Scalar::Int(value.map(i64::from)),
        ScalarValue::Int32(value) => Scalar::Int(value.map(i64::from)),
        ScalarValue::Int64(value) => Scalar::Int(*value),
        ScalarValue::UInt8(value) => Scalar::Int(value.map(i64::from)),
        ScalarValue::UInt16(value) => Scalar::Int(value.map(i64::from)),
        ScalarValue::UInt32(value) => Scalar::Int(value.map(i64::from)),
        ScalarValue::Float32(value) => Scalar::Float(value.map(f64::from)),
        ScalarValue::Float64(value) => Scalar::Float(*value),
        other => return Err(Reason::new(ReasonCode::Type, format!("a constant of type {}", other.data_type()))),
    })
}

fn null(data_type: &DataType) -> Taken<Scalar> {
    match Type::of(data_type) {
        Some(Type::Bool) => Ok(Scalar::Bool(None)),
        Some(Type::Int) => Ok(Scalar::Int(None)),
        Some(Type::Float) => Ok(Scalar::Float(None)),
        _ => Err(Reason::new(ReasonCode::Type, format!("values of type {data_type}"))),
    }
}
