//! The price of evaluating an expression on one row, and whether it can fail.
//!
//! A price list: one line a kind of expression. Functions of the registry bring their own price.
//! Invariant: what is not on the list is taken as expensive and as able to fail.

use crate::logical::{GetField, ModelCall, is_model_call};
use crate::ops::ModelSetting;
use crate::optimizer::{cast_never_fails, holds_text};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NegativeExpr,
    NotExpr, TryCastExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use std::sync::Arc;

/// What one call of a function costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FunctionPrice {
    /// For each row, however short.
    pub ns_per_row: f64,
    /// For each byte of text that it reads.
    pub ns_per_byte: f64,
}

/// The prices of the functions that we know, by name. A function that has a price never fails on any row.
pub type FunctionPrices = Arc<dyn Fn(&str) -> Option<FunctionPrice> + Send + Sync>;

/// A typical document; only the ratio between prices matters.
const TEXT_BYTES: f64 = 2_000.0;

const COMPARE_NS: f64 = 1.0;
const COMPARE_TEXT_NS: f64 = 5.0;
const CAST_NS: f64 = 5.0;
const CAST_TEXT_NS: f64 = 30.0;
/// Searching text, as LIKE does.
const SEARCH_NS_PER_BYTE: f64 = 0.1;
const REGEX_NS_PER_BYTE: f64 = 2.0;
/// A function of DataFusion over text, and over anything else.
const TEXT_FUNCTION_NS_PER_BYTE: f64 = 0.5;
const OTHER_FUNCTION_NS: f64 = 20.0;
/// An expression that is not on the list.
const UNKNOWN_NS: f64 = 1_000.0;

/// The estimated price of `expr` for each row of `input`.
pub fn ns_per_row(expr: &Arc<dyn PhysicalExpr>, input: &Schema, prices: &FunctionPrices) -> Result<f64> {
    let mut total_ns = 0.0;
    expr.apply(|node| {
        total_ns += node_ns(node, input, prices)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(total_ns)
}

fn node_ns(node: &Arc<dyn PhysicalExpr>, input: &Schema, prices: &FunctionPrices) -> Result<f64> {
    let reads_text = || -> Result<bool> {
        for child in node.children() {
            if holds_text(&child.data_type(input)?) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    if node.is::<Column>() || node.is::<Literal>() {
        return Ok(0.0);
    }
    if let Some(binary) = node.downcast_ref::<BinaryExpr>() {
        return Ok(match binary.op() {
            Operator::RegexMatch | Operator::RegexIMatch | Operator::RegexNotMatch | Operator::RegexNotIMatch => {
                REGEX_NS_PER_BYTE * TEXT_BYTES
            }
            Operator::LikeMatch | Operator::ILikeMatch | Operator::NotLikeMatch | Operator::NotILikeMatch => {
                SEARCH_NS_PER_BYTE * TEXT_BYTES
            }
            _ if reads_text()? => COMPARE_TEXT_NS,
            _ => COMPARE_NS,
        });
    }
    if node.is::<LikeExpr>() {
        return Ok(SEARCH_NS_PER_BYTE * TEXT_BYTES);
    }
    if node.is::<IsNullExpr>() || node.is::<IsNotNullExpr>() || node.is::<NotExpr>() || node.is::<NegativeExpr>() {
        return Ok(COMPARE_NS);
    }
    if node.is::<InListExpr>() || node.is::<CaseExpr>() {
        return Ok(COMPARE_TEXT_NS);
    }
    if node.is::<CastExpr>() || node.is::<TryCastExpr>() {
        return Ok(if reads_text()? { CAST_TEXT_NS } else { CAST_NS });
    }
    if takes_field(node, input)? {
        return Ok(COMPARE_NS);
    }
    if let Some(call) = ModelCall::of(node.as_ref()) {
        return Ok(call.model.facts(&ModelSetting::default()).cost.total_ns(1, TEXT_BYTES as usize));
    }
    if let Some(call) = node.downcast_ref::<ScalarFunctionExpr>() {
        let price = prices(call.name())
            .unwrap_or(FunctionPrice { ns_per_row: OTHER_FUNCTION_NS, ns_per_byte: TEXT_FUNCTION_NS_PER_BYTE });
        let text_bytes = if reads_text()? { TEXT_BYTES } else { 0.0 };
        return Ok(price.ns_per_row + price.ns_per_byte * text_bytes);
    }
    Ok(UNKNOWN_NS)
}

/// Whether evaluating `expr` can end in an error for some row. When in doubt, yes.
pub fn can_fail(expr: &Arc<dyn PhysicalExpr>, input: &Schema, prices: &FunctionPrices) -> Result<bool> {
    let mut found = false;
    expr.apply(|node| {
        found = node_can_fail(node, input, prices)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn node_can_fail(node: &Arc<dyn PhysicalExpr>, input: &Schema, prices: &FunctionPrices) -> Result<bool> {
    if let Some(binary) = node.downcast_ref::<BinaryExpr>() {
        return Ok(match binary.op() {
            Operator::Divide | Operator::Modulo => {
                let divides_by_constant =
                    binary.right().downcast_ref::<Literal>().is_some_and(|literal| !is_zero(literal));
                !divides_by_constant && !binary.right().data_type(input)?.is_floating()
            }
            // Whole numbers wrap around; decimals and dates report an overflow.
            Operator::Plus | Operator::Minus | Operator::Multiply => {
                let kind = node.data_type(input)?;
                !(kind.is_integer() || kind.is_floating())
            }
            op => !(op.supports_propagation() || op.is_logic_operator()),
        });
    }
    if let Some(cast) = node.downcast_ref::<CastExpr>() {
        return Ok(!cast_never_fails(&cast.expr().data_type(input)?, cast.cast_type()));
    }
    // A row that it cannot take is set aside, wherever that happens.
    if is_model_call(node) {
        return Ok(false);
    }
    if let Some(call) = node.downcast_ref::<ScalarFunctionExpr>() {
        return Ok(prices(call.name()).is_none() && !takes_field(node, input)?);
    }
    let harmless = node.is::<Column>()
        || node.is::<Literal>()
        || node.is::<LikeExpr>()
        || node.is::<IsNullExpr>()
        || node.is::<IsNotNullExpr>()
        || node.is::<NotExpr>()
        || node.is::<InListExpr>()
        || node.is::<CaseExpr>()
        || node.is::<TryCastExpr>();
    Ok(!harmless)
}

/// Whether it is a field of a struct, as in `c4_lines(text)['reason']`: the planner has seen that the field is there.
fn takes_field(node: &Arc<dyn PhysicalExpr>, input: &Schema) -> Result<bool> {
    let call = ScalarFunctionExpr::try_downcast_func::<GetField>(node.as_ref());
    match call.and_then(|call| call.args().first()) {
        Some(of) => Ok(matches!(of.data_type(input)?, DataType::Struct(_))),
        None => Ok(false),
    }
}

fn is_zero(literal: &Literal) -> bool {
    datafusion::common::ScalarValue::new_zero(&literal.value().data_type()).is_ok_and(|zero| &zero == literal.value())
}
