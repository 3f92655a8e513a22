//! JSON Lines: one object a line, written straight from Arrow arrays.
//!
//! - Null columns and struct members are written as `null`, as DuckDB and Hugging Face datasets do: every line shows
//!   the whole schema, and loaders that learn it from the first lines are right.
//! - `_extra`, a text column that holds a JSON object, carries the fields that did not fit the schema when the document
//!   was read. Its members become ordinary fields again: in the place of a null column of that name, else at the end.
//!   A member whose column has a value loses to it. Text in `_extra` that is no object is written as it is.
//! - Numbers keep their shortest exact form. What JSON has no number for is text: `"NaN"`, `"Infinity"` and `"-Infinity"`,
//!   as Spark and Protocol Buffers write it; our reader takes such text in a column of numbers for what it was. Decimals
//!   are numbers, binary is hex text, dates and times are ISO 8601 text.
//! - Strings are escaped only where JSON demands it; everything else stays UTF-8.
//! - A row that was read from JSON Lines brings its line (`line_rows.rs`): it is written from that, and what is said above
//!   holds for the values that the query computed.
//!
//! Invariant: each row is one line of valid JSON. Not here: where chunks and files are cut (`lines.rs`).

mod escape;
mod fields;
mod line_rows;
mod rows;
mod value;

pub(super) use line_rows::LineRows;
pub(super) use rows::JsonRows;
pub(crate) use rows::write_json_lines;
pub(crate) use value::json_values;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
