//! A prepared model on columns as a plan has them: rows that need no value, or have a null, are taken out before and put back
//! after.

use crate::ops::{Model, ModelColumn, ModelRows, PreparedModel, has_null_number};
use crate::{Result, bug};
use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array, new_null_array};
use arrow::compute::take;
use arrow::datatypes::DataType;
use std::sync::Arc;

/// Columns that models gave.
pub struct Computed {
    /// For each model a value for each row; null where none was wanted.
    pub columns: Vec<ArrayRef>,
    /// Rows that a model could not take, in ascending order, each once with the first reason.
    pub rejected: Vec<(usize, String)>,
}

/// The rows to compute, and their places.
pub struct RowsToCompute {
    rows: ModelRows,
    places: Vec<u32>,
    n_rows: usize,
    unusable: Vec<(usize, String)>,
}

impl RowsToCompute {
    /// The rows to compute.
    pub fn rows(&self) -> &ModelRows {
        &self.rows
    }
}

/// The rows of `columns` that models compute: those that are `wanted` and have no null. A vector with a null in it is none that a
/// model could take.
pub fn model_rows(columns: &[ArrayRef], wanted: Option<&BooleanArray>) -> Result<RowsToCompute> {
    let n_rows = columns.first().map_or(0, |column| column.len());
    let nulls: Vec<_> = columns.iter().map(|column| column.logical_nulls()).collect();
    let is_null = |row: usize| nulls.iter().flatten().any(|nulls| nulls.is_null(row));
    let is_wanted = |row: usize| wanted.is_none_or(|wanted| wanted.is_valid(row) && wanted.value(row));
    let mut places: Vec<u32> =
        (0..n_rows).filter(|row| is_wanted(*row) && !is_null(*row)).map(|row| row as u32).collect();
    let mut columns = columns.to_vec();
    if places.len() < n_rows {
        columns = taken(&columns, &places)?;
    }
    let mut rows = ModelRows::new(columns.clone())?;
    let mut unusable = vec![];
    for (place, column) in columns.iter().enumerate() {
        if !is_text(column.data_type()) && has_nulls_within(&rows, place)? {
            let lists = rows.vectors(place)?;
            let reason = "a number of its vector is null";
            let bad = (0..lists.len()).filter(|row| has_null_number(lists, *row));
            unusable.extend(bad.map(|row| (places[row] as usize, reason.to_string())));
        }
    }
    if !unusable.is_empty() {
        let is_bad = |place: u32| unusable.iter().any(|(row, _)| *row == place as usize);
        let kept: Vec<u32> = (0..places.len() as u32).filter(|at| !is_bad(places[*at as usize])).collect();
        rows = ModelRows::new(taken(&columns, &kept)?)?;
        places = kept.into_iter().map(|at| places[at as usize]).collect();
    }
    Ok(RowsToCompute { rows, places, n_rows, unusable })
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..))
}

fn has_nulls_within(rows: &ModelRows, column: usize) -> Result<bool> {
    Ok(rows.vectors(column)?.values().null_count() > 0)
}

fn taken(columns: &[ArrayRef], places: &[u32]) -> Result<Vec<ArrayRef>> {
    let places = UInt32Array::from(places.to_vec());
    let taken = columns.iter().map(|column| take(column, &places, None)).collect::<Result<_, _>>();
    taken.map_err(|error| bug!("the rows of a model: {error}"))
}

/// The columns of models that have nothing to compute.
pub fn nothing(group: &[Arc<dyn Model>], rows: &RowsToCompute) -> Computed {
    let columns = group.iter().map(|model| new_null_array(&model.returns(), rows.n_rows));
    Computed { columns: columns.collect(), rejected: rows.unusable.clone() }
}

/// The columns of a group of models.
pub fn compute(prepared: &dyn PreparedModel, group: &[Arc<dyn Model>], rows: &RowsToCompute) -> Result<Computed> {
    if rows.places.is_empty() {
        return Ok(nothing(group, rows));
    }
    let mut rejected = rows.unusable.clone();
    let given = prepared.run(&rows.rows)?;
    if given.len() != group.len() {
        return Err(bug!("{} models gave {} columns", group.len(), given.len()));
    }
    let mut back = vec![None; rows.n_rows];
    for (at, place) in rows.places.iter().enumerate() {
        back[*place as usize] = Some(at as u32);
    }
    let is_whole = rows.places.len() == rows.n_rows;
    let back = UInt32Array::from(back);
    let mut columns = vec![];
    for (model, ModelColumn { values, rejected: refused }) in group.iter().zip(given) {
        if values.len() != rows.places.len() || values.data_type() != &model.returns() {
            return Err(bug!(
                "{model:?} gave {} values of {} for {} rows, and was to give {}",
                values.len(),
                values.data_type(),
                rows.places.len(),
                model.returns()
            ));
        }
        for row in refused {
            match rows.places.get(row.row) {
                Some(place) => rejected.push((*place as usize, row.reason)),
                None => return Err(bug!("{model:?} rejects row {} of {}", row.row, rows.places.len())),
            }
        }
        columns.push(match is_whole {
            true => values,
            false => take(&values, &back, None).map_err(|error| bug!("the values of a model: {error}"))?,
        });
    }
    rejected.sort_by_key(|(row, _)| *row);
    rejected.dedup_by_key(|(row, _)| *row);
    Ok(Computed { columns, rejected })
}
