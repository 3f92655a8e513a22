//! `decode_text(bytes, content_type)`, `charset(bytes, content_type)` and `invalid_sequences(bytes, content_type)`: bytes of the web as
//! text, as browsers read them.
//!
//! Row functions of two columns, which is why they are no operators (`ops`): what a server said of its charset stands in a column
//! of its own. The second may be left out or null.

use crate::ops::charset::{charset, decode};
use arrow::array::{Array, ArrayRef, AsArray, Int64Builder, StringBuilder};
use arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::sync::Arc;

/// The functions.
pub fn charset_udfs() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let made = |what| {
        let signature = Signature::new(TypeSignature::UserDefined, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(CharsetFunction { what, signature }))
    };
    [Wanted::Text, Wanted::Charset, Wanted::Invalid].into_iter().map(made)
}

/// What a function says of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Wanted {
    Text,
    Charset,
    /// How many sequences are none of the charset: each is U+FFFD in the text.
    Invalid,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CharsetFunction {
    what: Wanted,
    signature: Signature,
}

impl ScalarUDFImpl for CharsetFunction {
    fn name(&self) -> &str {
        match self.what {
            Wanted::Text => "decode_text",
            Wanted::Charset => "charset",
            Wanted::Invalid => "invalid_sequences",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        let (bytes, rest) = match given {
            [bytes] => (bytes, &[][..]),
            [bytes, label] => (bytes, std::slice::from_ref(label)),
            _ => return plan_err!("`{}` takes bytes and, if there is one, a Content-Type or charset", self.name()),
        };
        let is_bytes =
            matches!(bytes, DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::Null);
        if !is_bytes && !bytes.is_string() {
            return plan_err!("`{}` reads bytes, and this is {bytes}", self.name());
        }
        if let Some(label) = rest.iter().find(|label| !label.is_string() && **label != DataType::Null) {
            return plan_err!("`{}` takes a Content-Type or charset as text, and this is {label}", self.name());
        }
        Ok([DataType::Binary].into_iter().chain(rest.iter().map(|_| DataType::Utf8)).collect())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(if self.what == Wanted::Invalid { DataType::Int64 } else { DataType::Utf8 })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let n_rows = args.number_rows;
        let columns = args.args.iter().map(|arg| arg.to_array(n_rows)).collect::<Result<Vec<_>>>()?;
        let bytes = columns.first().and_then(|column| column.as_binary_opt::<i32>());
        let bytes = bytes.ok_or_else(|| crate::bug!("{} got no bytes", self.name()))?;
        let labels = columns.get(1).and_then(|column| column.as_string_opt::<i32>());
        let rows = (0..n_rows).map(|row| {
            let said = labels.filter(|labels| labels.is_valid(row)).map(|labels| labels.value(row));
            bytes.is_valid(row).then(|| (bytes.value(row), said.map(label)))
        });
        let found: ArrayRef = match self.what {
            Wanted::Invalid => {
                let mut counts = Int64Builder::with_capacity(n_rows);
                rows.for_each(|row| {
                    counts.append_option(row.map(|(bytes, said)| decode(bytes, said, None).n_replaced as i64))
                });
                Arc::new(counts.finish())
            }
            Wanted::Charset => {
                let mut names = StringBuilder::new();
                rows.for_each(|row| names.append_option(row.map(|(bytes, said)| charset(bytes, said, None))));
                Arc::new(names.finish())
            }
            Wanted::Text => {
                let (mut texts, mut n_bytes) = (StringBuilder::new(), 0);
                for row in rows {
                    let text = row.map(|(bytes, said)| decode(bytes, said, None).text);
                    n_bytes += text.as_ref().map_or(0, |text| text.len());
                    if n_bytes > i32::MAX as usize {
                        let told =
                            "decode_text made more than 2 GB of text in one batch; lower batch_bytes or batch_rows";
                        return Err(crate::Error::Data(told.into()).into());
                    }
                    texts.append_option(text);
                }
                Arc::new(texts.finish())
            }
        };
        Ok(ColumnarValue::Array(found))
    }
}

/// The charset of a `Content-Type`; a text that is none is taken for a charset.
fn label(said: &str) -> &str {
    let value = said.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    });
    value.unwrap_or(said).trim().trim_matches(['"', '\'']).trim()
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn a_content_type_and_a_charset_say_the_same() {
        for said in ["koi8-r", " 'koi8-r'", "text/html; charset=koi8-r", "text/html; a=b; Charset = \"koi8-r\""] {
            assert_eq!(label(said), "koi8-r", "{said}");
        }
    }
}
