//! The builder: columns, calls of operators, and which kind of expression goes where.

use super::numbers::scalar;
use crate::cost::{Reason, ReasonCode};
use crate::gpu::{Primitive, Program, Type, Value, ValueId};
use crate::logical::OperatorCall;
use crate::ops::Gpu;
use crate::optimizer::unmarked;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, Literal, NegativeExpr, NotExpr,
    TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::sync::Arc;

pub(super) type Expr = Arc<dyn PhysicalExpr>;
pub(super) type Taken<T> = Result<T, Reason>;

/// A device program in the making, over the columns of a plan's input.
#[derive(Debug, Clone)]
pub struct DeviceProgram {
    schema: SchemaRef,
    program: Program,
    columns: Vec<usize>,
}

impl DeviceProgram {
    /// A program over rows of `schema` that computes nothing yet.
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, program: Program::default(), columns: vec![] }
    }

    /// Adds a rule: rows for which `condition` is not true are dropped. Gives its number.
    pub fn add_rule(&mut self, condition: &Expr) -> Taken<usize> {
        self.attempt(|attempt| {
            let id = attempt.value(condition)?;
            attempt.program.add_rule(id).map_err(expression)
        })
    }

    /// Adds an output. Gives its place among the results, which may be that of an equal one.
    pub fn add_output(&mut self, expr: &Expr) -> Taken<usize> {
        self.attempt(|attempt| {
            let (id, wanted) = (attempt.value(expr)?, attempt.data_type(expr)?);
            let given = attempt.program.type_of(id).map(Type::data_type);
            if given.as_ref() != Some(&wanted) {
                return Err(Reason::new(ReasonCode::Type, format!("a result of type {wanted}")));
            }
            attempt.program.add_output(id).map_err(expression)
        })
    }

    /// The program, and for each of its input columns the place in the schema.
    pub fn finish(self) -> (Program, Vec<usize>) {
        (self.program, self.columns)
    }

    fn attempt<T>(&mut self, add: impl FnOnce(&mut Self) -> Taken<T>) -> Taken<T> {
        let mut attempt = self.clone();
        let added = add(&mut attempt)?;
        *self = attempt;
        Ok(added)
    }

    pub(super) fn data_type(&self, expr: &Expr) -> Taken<DataType> {
        expr.data_type(&self.schema).map_err(|error| expression(error.to_string()))
    }

    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    pub(super) fn push(&mut self, value: Value) -> Taken<ValueId> {
        self.program.push(value).map_err(expression)
    }

    pub(super) fn apply(&mut self, primitive: Primitive, of: &[ValueId]) -> Taken<ValueId> {
        self.push(Value::Apply { primitive, of: of.to_vec() })
    }

    pub(super) fn value(&mut self, expr: &Expr) -> Taken<ValueId> {
        let expr = &unmarked(Arc::clone(expr)).map_err(|error| expression(error.to_string()))?;
        if let Some(column) = expr.downcast_ref::<Column>() {
            let column = self.column(column)?;
            return self.push(Value::Column(column));
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return self.push(Value::Constant(scalar(literal.value())?));
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            return self.binary(expr, binary);
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            return self.cast(cast.expr(), cast.cast_type());
        }
        if let Some(cast) = expr.downcast_ref::<TryCastExpr>() {
            return self.cast(cast.expr(), cast.cast_type());
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            return self.case(expr, case);
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            return self.in_list(list);
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            let of = self.value(not.arg())?;
            return self.apply(Primitive::Not, &[of]);
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            let of = self.value(is_null.arg())?;
            return self.apply(Primitive::IsNull, &[of]);
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            let of = self.value(is_not_null.arg())?;
            return self.apply(Primitive::IsNotNull, &[of]);
        }
        if let Some(negative) = expr.downcast_ref::<NegativeExpr>() {
            let of = self.value(negative.arg())?;
            let negated = self.apply(Primitive::Negate, &[of])?;
            return self.narrowed(negated, &self.data_type(expr)?);
        }
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            return match OperatorCall::of(expr.as_ref()) {
                Some(operator) => self.operator(operator),
                None => self.function(call),
            };
        }
        let code = if expr.is_volatile_node() { ReasonCode::Volatile } else { ReasonCode::Expression };
        Err(Reason::new(code, format!("`{expr}`")))
    }

    /// The program's number of a column of the schema.
    fn column(&mut self, column: &Column) -> Taken<usize> {
        if let Some(known) = self.columns.iter().position(|known| *known == column.index()) {
            return Ok(known);
        }
        let schema: &Schema = &self.schema;
        let Some(field) = schema.fields().get(column.index()) else {
            return Err(expression(format!("there is no column {}", column.index())));
        };
        let Some(ty) = Type::of(field.data_type()) else {
            return Err(Reason::new(ReasonCode::Type, format!("`{}` is {}", field.name(), field.data_type())));
        };
        self.columns.push(column.index());
        Ok(self.program.add_column(ty))
    }

    fn operator(&mut self, call: OperatorCall) -> Taken<ValueId> {
        let name = call.spec.name;
        if !call.spec.effects.is_movable() {
            return Err(Reason::new(ReasonCode::Volatile, format!("`{name}`")));
        }
        if let Err(why) = call.spec.gpu.kernel(&call.args) {
            let code = if matches!(call.spec.gpu, Gpu::No(_)) { ReasonCode::NoKernel } else { ReasonCode::Options };
            return Err(Reason::new(code, format!("`{name}`: {why}")));
        }
        // Kernels read every layout of text, so that a change of layout is nothing to do.
        let mut document = &call.document;
        while let Some(cast) = document.downcast_ref::<CastExpr>()
            && is_text(cast.cast_type())
        {
            document = cast.expr();
        }
        let Some(column) = document.downcast_ref::<Column>() else {
            return Err(expression(format!("`{name}` of `{}`, which is not a column", call.document)));
        };
        let document = self.column(column)?;
        if self.program.columns().get(document) != Some(&Type::Text) {
            return Err(Reason::new(ReasonCode::Type, format!("`{name}` of `{}`, which is no text", column.name())));
        }
        self.push(Value::Call { spec: call.spec, args: call.args, document })
    }
}

/// The reason for a part that kernels do not compute.
pub(super) fn expression(detail: impl Into<String>) -> Reason {
    Reason::new(ReasonCode::Expression, detail)
}

fn is_text(data_type: &DataType) -> bool {
    Type::of(data_type) == Some(Type::Text)
}
