//! How the columns of JSON Lines belong to the fields of a line, for those who write the line again.
//!
//! Not here: reading the fields (`json/`), and writing them (`sinks/json`).

/// The fields of a source's lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFields {
    /// What each column of the source is read from.
    pub columns: Vec<LineField>,
    /// What becomes of fields that no column is for.
    pub others: OtherFields,
}

/// What of a line a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineField {
    /// The value of the field with this name. Of several with the same name, the last.
    Named(String),
    /// Everything that fits no other column, as a JSON object.
    Others,
    /// Nothing: the column comes from elsewhere.
    None,
}

/// What the rows of a source have of the fields that no column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherFields {
    /// There are none, or the column of the others has them.
    Held,
    /// The user declared the columns, and nothing else is wanted.
    Unwanted,
}
