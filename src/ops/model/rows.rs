//! The rows that a model is given, and what it gives for them.

use crate::{Result, bug};
use arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type};
use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows that a model is to compute: no value in them is null.
pub struct ModelRows {
    columns: Vec<ArrayRef>,
    n_rows: usize,
    shared: Mutex<HashMap<String, Arc<dyn Any + Send + Sync>>>,
}

impl ModelRows {
    /// Rows of these columns, which have no nulls: texts in any layout, and lists of numbers.
    pub fn new(columns: Vec<ArrayRef>) -> Result<Self> {
        let columns = columns.iter().map(plain).collect::<Result<Vec<_>>>()?;
        let n_rows = columns.first().map_or(0, |column| column.len());
        if columns.iter().any(|column| column.len() != n_rows || column.null_count() > 0) {
            return Err(bug!("the columns of a model have as many rows as each other, and no nulls"));
        }
        Ok(Self { columns, n_rows, shared: Mutex::default() })
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.n_rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n_rows == 0
    }

    /// A column of texts, by the place of its parameter.
    pub fn texts(&self, column: usize) -> Result<&StringArray> {
        let texts = self.columns.get(column).and_then(|column| column.as_string_opt::<i32>());
        texts.ok_or_else(|| bug!("a model reads texts of column {column}, which has none"))
    }

    /// A column of lists of numbers (`Float32`), by the place of its parameter. No number in them is null.
    pub fn vectors(&self, column: usize) -> Result<&ListArray> {
        let lists = self.columns.get(column).and_then(|column| column.as_list_opt::<i32>());
        lists.ok_or_else(|| bug!("a model reads vectors of column {column}, which has none"))
    }

    /// What another call made of these very rows under this key, or what `make` makes: a tokenization, say, is made once for
    /// all calls that stand side by side.
    pub fn shared<T: Any + Send + Sync>(&self, key: &str, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let known = |shared: &HashMap<String, Arc<dyn Any + Send + Sync>>| shared.get(key).cloned();
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let value = match known(&shared) {
            Some(value) => value,
            None => {
                let made: Arc<dyn Any + Send + Sync> = Arc::new(make()?);
                shared.insert(key.to_string(), Arc::clone(&made));
                made
            }
        };
        value.downcast::<T>().map_err(|_| bug!("`{key}` is shared as two types"))
    }
}

/// Texts as `Utf8`, lists of numbers as lists of `Float32`.
fn plain(column: &ArrayRef) -> Result<ArrayRef> {
    let wanted = match column.data_type() {
        DataType::Utf8 => return Ok(Arc::clone(column)),
        DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => DataType::Utf8,
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
            DataType::new_list(DataType::Float32, true)
        }
        other => return Err(bug!("a model is given a column of type {other}")),
    };
    let plain = cast(column, &wanted).map_err(|error| crate::Error::Data(format!("the rows of a model: {error}")))?;
    Ok(plain)
}

/// Whether a list of numbers has one that is null.
pub(crate) fn has_null_number(lists: &ListArray, row: usize) -> bool {
    lists.value(row).as_primitive_opt::<Float32Type>().is_none_or(|numbers| numbers.null_count() > 0)
}

/// What a model gives for rows.
#[derive(Debug, Clone)]
pub struct ModelColumn {
    /// A value for each row, of the type that the model returns.
    pub values: ArrayRef,
    /// Rows that it could not take. They leave the query, and go to the rejects with the reason.
    pub rejected: Vec<RejectedRow>,
}

/// A row that a model could not take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRow {
    /// Its place in the batch.
    pub row: usize,
    /// Why, for people.
    pub reason: String,
}

impl ModelColumn {
    /// A value for each row.
    pub fn of(values: ArrayRef) -> Self {
        Self { values, rejected: vec![] }
    }

    /// The same, where some rows could not be taken.
    pub fn rejecting(self, rejected: Vec<RejectedRow>) -> Self {
        Self { rejected, ..self }
    }
}
