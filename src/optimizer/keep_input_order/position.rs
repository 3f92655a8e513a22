//! `after_branches(position, n)`: a row's position among the rows of all branches of a `UNION ALL`.
//!
//! Each branch gets a range of positions of its own. The function tells DataFusion that it keeps the order of its
//! input, so that branches which are sorted by their own position are not sorted again. (`+` cannot tell that: it may
//! overflow.)

use arrow::array::{ArrayRef, AsArray, Decimal128Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility, lit,
};
use std::sync::{Arc, LazyLock};

/// Holds the positions of many branches, 2⁶⁴ of them each, one after another.
pub(super) const POSITION: DataType = DataType::Decimal128(38, 0);

/// `position` in a branch that starts after `n_spans` times 2⁶⁴ positions of others.
pub(super) fn after(position: Expr, n_spans: u64) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let either = vec![
            TypeSignature::Exact(vec![DataType::UInt64, DataType::UInt64]),
            TypeSignature::Exact(vec![POSITION, DataType::UInt64]),
        ];
        let signature = Signature::one_of(either, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(AfterBranches { signature }))
    });
    FUNCTION.call(vec![position, lit(n_spans)])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AfterBranches {
    signature: Signature,
}

impl ScalarUDFImpl for AfterBranches {
    fn name(&self) -> &str {
        "after_branches"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(POSITION)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [position, ColumnarValue::Scalar(ScalarValue::UInt64(Some(n_spans)))] = args.args.as_slice() else {
            return Err(crate::bug!("after_branches takes a position and a number").into());
        };
        let start = i128::from(*n_spans) << 64;
        let positions = cast(&position.to_array(args.number_rows)?, &POSITION)?;
        let moved: Decimal128Array = positions.as_primitive::<Decimal128Type>().unary(|position| position + start);
        Ok(ColumnarValue::Array(Arc::new(moved.with_data_type(POSITION)) as ArrayRef))
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        Ok(inputs.first().map_or(SortProperties::Unordered, |position| position.sort_properties))
    }
}
