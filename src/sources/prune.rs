//! Skips row groups of Parquet files whose statistics say that no row passes the query's filter.
//!
//! Sound because the filter itself still runs above the scan: statistics only prove that rows are not worth reading.
//! Rows skipped this way are counted as `pruned_rows`, so that the numbers of a run still add up.

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, Operator};
use datafusion::physical_optimizer::pruning::{PruningPredicate, PruningPredicateBuilder};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use std::collections::HashSet;
use std::sync::Arc;

/// Whether statistics can say anything about a filter: comparisons of columns with constants.
///
/// Not those of floating-point columns. Statistics leave NaN out, and a comparison does not: NaN is greater than every
/// number, a negative NaN less, so that `x > 5` holds for rows of a group whose greatest `x` is said to be 4.
pub(crate) fn can_prune(filter: &Expr, data: &Schema) -> bool {
    let can_prune = |filter: &Expr| can_prune(filter, data);
    let type_of = |column: &Column| data.field_with_name(&column.name).ok().map(Field::data_type);
    match filter {
        Expr::Column(column) => type_of(column).is_some_and(|data_type| !data_type.is_floating()),
        Expr::Literal(..) => true,
        // A NaN is no null, and nulls are counted.
        Expr::IsNull(inner) | Expr::IsNotNull(inner) => match inner.as_ref() {
            Expr::Column(column) => type_of(column).is_some(),
            inner => can_prune(inner),
        },
        Expr::Not(inner) => can_prune(inner),
        Expr::Cast(cast) => can_prune(&cast.expr),
        Expr::Between(between) => [&between.expr, &between.low, &between.high].into_iter().all(|part| can_prune(part)),
        Expr::InList(list) => can_prune(&list.expr) && list.list.iter().all(|item| matches!(item, Expr::Literal(..))),
        Expr::BinaryExpr(binary) => {
            let is_known = matches!(
                binary.op,
                Operator::Eq
                    | Operator::NotEq
                    | Operator::Lt
                    | Operator::LtEq
                    | Operator::Gt
                    | Operator::GtEq
                    | Operator::And
                    | Operator::Or
            );
            is_known && can_prune(&binary.left) && can_prune(&binary.right)
        }
        _ => false,
    }
}

/// The filters as one predicate over statistics, if it can exclude anything.
pub(crate) fn pruning_predicate(
    state: &dyn Session,
    filters: &[Expr],
    schema: &SchemaRef,
) -> Result<Option<Arc<PruningPredicate>>> {
    let Some(filter) = conjunction(filters.iter().cloned()) else { return Ok(None) };
    let df_schema = DFSchema::try_from(schema.as_ref().clone())?;
    let filter = state.create_physical_expr(filter, &df_schema)?;
    let predicate = PruningPredicateBuilder::new().with_file_schema(schema.clone()).try_build(filter)?;
    Ok((!predicate.always_true()).then(|| Arc::new(predicate)))
}

/// For each row group of a file, whether it may hold a row that passes. Without usable statistics it may.
pub(crate) fn groups_to_read(
    predicate: &PruningPredicate,
    metadata: &ArrowReaderMetadata,
    file_name_of: &dyn Fn(&str) -> Option<String>,
) -> Vec<bool> {
    let statistics = GroupStatistics { predicate, metadata, file_name_of };
    predicate.prune(&statistics).unwrap_or_else(|error| {
        tracing::debug!(%error, "statistics not used");
        vec![true; metadata.metadata().num_row_groups()]
    })
}

struct GroupStatistics<'a> {
    predicate: &'a PruningPredicate,
    metadata: &'a ArrowReaderMetadata,
    /// The name in the file of a column of the table.
    file_name_of: &'a dyn Fn(&str) -> Option<String>,
}

impl GroupStatistics<'_> {
    fn converted(
        &self,
        column: &Column,
        convert: impl FnOnce(&StatisticsConverter<'_>) -> parquet::errors::Result<ArrayRef>,
    ) -> Option<ArrayRef> {
        let name = (self.file_name_of)(&column.name)?;
        let converter = StatisticsConverter::try_new(&name, self.metadata.schema(), self.metadata.parquet_schema())
            .ok()?
            .with_missing_null_counts_as_zero(false);
        convert(&converter).ok()
    }

    fn bounds(
        &self,
        column: &Column,
        convert: impl FnOnce(&StatisticsConverter<'_>) -> parquet::errors::Result<ArrayRef>,
    ) -> Option<ArrayRef> {
        let bounds = self.converted(column, convert)?;
        // The file may lay its text out in another way than the table.
        let wanted = self.predicate.schema().field_with_name(&column.name).ok()?.data_type().clone();
        cast(&bounds, &wanted).ok()
    }
}

impl PruningStatistics for GroupStatistics<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column, |converter| converter.row_group_mins(self.metadata.metadata().row_groups()))
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column, |converter| converter.row_group_maxes(self.metadata.metadata().row_groups()))
    }

    fn num_containers(&self) -> usize {
        self.metadata.metadata().num_row_groups()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        self.converted(column, |converter| {
            // A count that the file does not give is unknown, not zero.
            let counts = converter.row_group_null_counts(self.metadata.metadata().row_groups())?;
            Ok(Arc::new(counts))
        })
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        let counts = self.metadata.metadata().row_groups().iter().map(|group| group.num_rows().max(0) as u64);
        Some(Arc::new(arrow::array::UInt64Array::from_iter_values(counts)))
    }

    fn contained(&self, _column: &Column, _values: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
