//! `dedup_hash(value, …)`: the key of `DEDUP EXACT`, 128 bits of one or more values of any type.
//!
//! One text: XXH3-128 of its bytes, which is what `content_hash` prints. Anything else: of an encoding in which no two
//! rows of values are the same bytes. It does not depend on how Arrow holds a text, nor on the width of a whole number,
//! so that keys of one run can be compared with those of another.
//! Invariant: null exactly if all values are null.
//! Not for users: the binder puts it into plans, no session knows its name.

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryBuilder};
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::sync::{Arc, LazyLock};
use xxhash_rust::xxh3::xxh3_128;

const KEY_BYTES: i32 = 16;

/// The function.
pub(in crate::verbs) fn dedup_hash() -> Arc<ScalarUDF> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::new(TypeSignature::UserDefined, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(DedupHash { signature }))
    });
    Arc::clone(&FUNCTION)
}

/// Whether values of this type have a key.
pub(in crate::verbs) fn has_key(kind: &DataType) -> bool {
    let kind = plain(kind);
    kind.is_string() || RowConverter::supports_fields(&[SortField::new(kind)])
}

/// The type that values are hashed as.
pub(super) fn plain(kind: &DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, value) => plain(value),
        DataType::Null => DataType::Utf8,
        DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => DataType::Int64,
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        other => other.clone(),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DedupHash {
    signature: Signature,
}

impl ScalarUDFImpl for DedupHash {
    fn name(&self) -> &str {
        "dedup_hash"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        if given.is_empty() {
            return plan_err!("dedup_hash needs a value");
        }
        Ok(given.iter().map(plain).collect())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::FixedSizeBinary(KEY_BYTES))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let all_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let n_rows = if all_constant { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|arg| arg.to_array(n_rows)).collect::<Result<Vec<_>>>()?;
        let keys = keys(&arrays, n_rows)?;
        Ok(if all_constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&keys, 0)?)
        } else {
            ColumnarValue::Array(keys)
        })
    }
}

fn keys(arrays: &[ArrayRef], n_rows: usize) -> Result<ArrayRef> {
    let values = arrays.iter().map(Values::of).collect::<Result<Vec<_>>>()?;
    let mut keys = FixedSizeBinaryBuilder::with_capacity(n_rows, KEY_BYTES);
    let mut encoded = Vec::new();
    for row in 0..n_rows {
        let key = match values.as_slice() {
            [one] if one.is_text() => one.bytes(row).map(xxh3_128),
            values => {
                encoded.clear();
                let mut has_value = false;
                for value in values {
                    let bytes = value.bytes(row);
                    has_value |= bytes.is_some();
                    encode(&mut encoded, bytes);
                }
                has_value.then(|| xxh3_128(&encoded))
            }
        };
        match key {
            Some(key) => keys.append_value(key.to_be_bytes())?,
            None => keys.append_null(),
        }
    }
    Ok(Arc::new(keys.finish()))
}

/// Nulls and lengths are said, so that `('ab', 'c')` and `('a', 'bc')`, `''` and null differ.
fn encode(encoded: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            encoded.push(1);
            encoded.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            encoded.extend_from_slice(bytes);
        }
        None => encoded.push(0),
    }
}

/// The values of one argument, as bytes.
enum Values<'a> {
    /// Text with 32-bit offsets.
    Utf8(&'a arrow::array::StringArray),
    /// Text with 64-bit offsets.
    LargeUtf8(&'a arrow::array::LargeStringArray),
    /// Text by views.
    Utf8View(&'a arrow::array::StringViewArray),
    /// Anything else, in Arrow's row format.
    Rows(&'a ArrayRef, Rows),
}

impl<'a> Values<'a> {
    fn of(array: &'a ArrayRef) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Utf8 => Values::Utf8(array.as_string()),
            DataType::LargeUtf8 => Values::LargeUtf8(array.as_string()),
            DataType::Utf8View => Values::Utf8View(array.as_string_view()),
            kind => {
                let converter = RowConverter::new(vec![SortField::new(kind.clone())])?;
                Values::Rows(array, converter.convert_columns(std::slice::from_ref(array))?)
            }
        })
    }

    fn is_text(&self) -> bool {
        !matches!(self, Values::Rows(..))
    }

    fn bytes(&self, row: usize) -> Option<&[u8]> {
        match self {
            Values::Utf8(texts) => texts.is_valid(row).then(|| texts.value(row).as_bytes()),
            Values::LargeUtf8(texts) => texts.is_valid(row).then(|| texts.value(row).as_bytes()),
            Values::Utf8View(texts) => texts.is_valid(row).then(|| texts.value(row).as_bytes()),
            Values::Rows(array, rows) => array.is_valid(row).then(|| rows.row(row).data()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, LargeStringArray, ListArray, StringArray, StringViewArray};
    use arrow::datatypes::Int64Type;

    fn hashed(columns: Vec<ArrayRef>) -> Vec<Option<Vec<u8>>> {
        let n_rows = columns[0].len();
        let keys = keys(&columns, n_rows).unwrap();
        keys.as_fixed_size_binary().iter().map(|key| key.map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn the_key_of_one_text_is_its_content_hash_however_arrow_holds_it() {
        let texts = [Some("a"), None, Some("")];
        let expected = texts.map(|text| text.map(|text| xxh3_128(text.as_bytes()).to_be_bytes().to_vec()));
        assert_eq!(hashed(vec![Arc::new(StringArray::from(texts.to_vec()))]), expected);
        assert_eq!(hashed(vec![Arc::new(LargeStringArray::from(texts.to_vec()))]), expected);
        assert_eq!(hashed(vec![Arc::new(StringViewArray::from(texts.to_vec()))]), expected);
    }

    #[test]
    fn rows_of_values_have_one_key_only_if_all_values_are_equal() {
        let left = [Some("ab"), Some("a"), Some(""), None, Some("x"), None, Some("ab")];
        let right = [Some("c"), Some("bc"), Some("x"), Some("x"), None, None, Some("c")];
        let keys =
            hashed(vec![Arc::new(StringArray::from(left.to_vec())), Arc::new(LargeStringArray::from(right.to_vec()))]);
        assert_eq!(keys[0], keys[6]);
        assert_eq!(keys[5], None);
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), 6);
    }

    #[test]
    fn numbers_and_lists_have_keys_and_null_has_none() {
        let keys = hashed(vec![Arc::new(Int64Array::from(vec![Some(1), None, Some(1), Some(0)]))]);
        assert!(keys[0] == keys[2] && keys[0] != keys[3] && keys[1].is_none());
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), Some(2)]),
            Some(vec![Some(1)]),
            None,
        ]);
        let keys = hashed(vec![Arc::new(lists)]);
        assert!(keys[0] != keys[1] && keys[2].is_none());
        assert!(has_key(&DataType::Float32) && has_key(&DataType::Boolean));
    }
}
