//! What the user says about a source: where it is, and its `WITH (…)` options.
//!
//! Invariant: options hold only checked values; a wrong name or value never gets past [`SourceOptions::set`].
//! Not here: looking at the disk (`discover.rs`).

use crate::config::{SettingError, parse_block_bytes, parse_count};
use crate::diag::did_you_mean;
use arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::num::NonZeroUsize;

/// A source as written in a query: `FROM 'docs/*.jsonl.zst' WITH (…)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct SourceSpec {
    /// A file, a glob, a folder, or `-` for standard input.
    pub location: String,
    /// What `WITH (…)` says.
    pub options: SourceOptions,
}

impl SourceSpec {
    /// A source with default options.
    #[cfg(test)]
    pub fn new(location: impl Into<String>) -> Self {
        Self { location: location.into(), options: SourceOptions::default() }
    }
}

/// The options of a source; what is not set is found out from the files.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct SourceOptions {
    /// The format, where the files' endings do not tell.
    pub format: Option<Format>,
    /// The compression; `None` looks at the ending, then at the first bytes.
    pub compression: Option<Compression>,
    /// The columns of JSON Lines or CSV, instead of those learnt from the data.
    pub columns: Option<Vec<ColumnSpec>>,
    /// The field separator of CSV.
    pub delimiter: Option<u8>,
    /// Whether CSV files begin with a row of names (they do unless told otherwise).
    pub header: Option<bool>,
    /// What one document of a text file is.
    pub unit: TextUnit,
    /// The types of WARC records that become rows; `None`: those that the format is about.
    pub record_types: Option<Vec<String>>,
    /// Bytes on disk that are read as one split; `None`: as the session's setting `blocksize` says.
    pub block_bytes: Option<NonZeroUsize>,
    /// The most files in one split; `None`: as the session's setting `files_per_partition` says.
    pub max_files: Option<NonZeroUsize>,
}

/// How the bytes of a file become rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One JSON object a line.
    #[serde(rename = "jsonl")]
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// Separated values with quotes.
    Csv,
    /// CSV with tabs.
    Tsv,
    /// Arrow IPC, file or stream.
    Arrow,
    /// Plain text.
    Text,
    /// A crawl: what servers answered.
    Warc,
    /// The texts that Common Crawl makes of a crawl.
    Wet,
}

/// How the bytes of a file are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, any number of members.
    Gzip,
    /// Zstandard, any number of frames.
    Zstd,
    /// bzip2, any number of streams.
    Bzip2,
    /// xz, any number of streams.
    Xz,
}

/// What one row of a text source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextUnit {
    /// The whole file.
    #[default]
    File,
    /// One line.
    Line,
}

/// A column that the user declared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: DataType,
}

type Apply = fn(&mut SourceOptions, &str) -> Result<(), String>;

/// Each option's name and how it is set; the one list that checks and help read.
const OPTIONS: [(&str, Apply); 9] = [
    ("format", |options, value| {
        options.format = Some(Format::parse(value)?);
        Ok(())
    }),
    ("compression", |options, value| {
        options.compression = Compression::parse(value)?;
        Ok(())
    }),
    ("columns", |options, value| {
        options.columns = Some(parse_columns(value)?);
        Ok(())
    }),
    ("delimiter", |options, value| {
        options.delimiter = Some(parse_delimiter(value)?);
        Ok(())
    }),
    ("header", |options, value| {
        options.header = Some(match value.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => true,
            "false" | "off" | "0" => false,
            _ => return Err(format!("`{value}` is neither true nor false")),
        });
        Ok(())
    }),
    ("unit", |options, value| {
        options.unit = match value.to_ascii_lowercase().as_str() {
            "file" => TextUnit::File,
            "line" => TextUnit::Line,
            _ => return Err(format!("`{value}` is not a unit of text; write 'file' or 'line'")),
        };
        Ok(())
    }),
    ("record_types", |options, value| {
        options.record_types = Some(parse_record_types(value)?);
        Ok(())
    }),
    ("blocksize", |options, value| {
        options.block_bytes = Some(parse_block_bytes(value)?);
        Ok(())
    }),
    ("files_per_partition", |options, value| {
        options.max_files = Some(parse_count(value)?);
        Ok(())
    }),
];

const OPTION_NAMES: [&str; OPTIONS.len()] = {
    let mut names = [""; OPTIONS.len()];
    let mut i = 0;
    while i < OPTIONS.len() {
        names[i] = OPTIONS[i].0;
        i += 1;
    }
    names
};

impl SourceOptions {
    /// Sets one option of a `WITH (name = value)`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let wanted = name.to_ascii_lowercase();
        let Some((_, apply)) = OPTIONS.iter().find(|(option, _)| *option == wanted) else {
            return Err(SettingError::Unknown { help: did_you_mean(name, OPTION_NAMES) });
        };
        apply(self, value.trim_matches(' ')).map_err(SettingError::Value)
    }
}

impl SourceOptions {
    /// The types of WARC records that become rows.
    pub(super) fn record_types(&self, format: Format) -> Vec<String> {
        let usual = if format == Format::Wet { "conversion" } else { "response" };
        self.record_types.clone().unwrap_or_else(|| vec![usual.to_string()])
    }
}

/// File endings and the format each one means.
const ENDINGS: [(&str, Format); 13] = [
    ("jsonl", Format::JsonLines),
    ("ndjson", Format::JsonLines),
    ("json", Format::JsonLines),
    ("parquet", Format::Parquet),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("txt", Format::Text),
    ("md", Format::Text),
    ("arrow", Format::Arrow),
    ("feather", Format::Arrow),
    ("ipc", Format::Arrow),
    ("warc", Format::Warc),
    ("wet", Format::Wet),
];

impl Format {
    fn parse(name: &str) -> Result<Self, String> {
        match name.to_ascii_lowercase().as_str() {
            "jsonl" | "json" | "ndjson" => Ok(Format::JsonLines),
            "parquet" => Ok(Format::Parquet),
            "csv" => Ok(Format::Csv),
            "tsv" => Ok(Format::Tsv),
            "arrow" => Ok(Format::Arrow),
            "text" | "txt" => Ok(Format::Text),
            "warc" => Ok(Format::Warc),
            "wet" => Ok(Format::Wet),
            other => {
                let help = did_you_mean(other, Format::NAMES).map(|help| format!("; {help}")).unwrap_or_default();
                Err(format!("`{name}` is not a format; there are {}{help}", Format::NAMES.join(", ")))
            }
        }
    }

    /// The formats as a query names them.
    pub const NAMES: [&'static str; 8] = ["jsonl", "parquet", "csv", "tsv", "arrow", "text", "warc", "wet"];

    /// The format that a file's name tells, compression endings aside: `a.jsonl.gz` is JSON Lines.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let lower = name.to_ascii_lowercase();
        let (plain, _) = Compression::of_file_name(&lower);
        let (_, ending) = plain.rsplit_once('.')?;
        ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, format)| *format)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::JsonLines => "jsonl",
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Arrow => "arrow",
            Format::Text => "text",
            Format::Warc => "warc",
            Format::Wet => "wet",
        })
    }
}

impl Compression {
    fn parse(name: &str) -> Result<Option<Self>, String> {
        Ok(Some(match name.to_ascii_lowercase().as_str() {
            "auto" => return Ok(None),
            "none" => Compression::None,
            "gzip" | "gz" => Compression::Gzip,
            "zstd" | "zst" => Compression::Zstd,
            "bzip2" | "bz2" => Compression::Bzip2,
            "xz" => Compression::Xz,
            _ => {
                return Err(format!("`{name}` is not a compression; there are auto, none, gzip, zstd, bzip2, xz"));
            }
        }))
    }

    /// The name without its compression ending, and the compression the ending means.
    pub fn of_file_name(name: &str) -> (&str, Option<Self>) {
        const COMPRESSED: [(&str, Compression); 4] = [
            (".gz", Compression::Gzip),
            (".zst", Compression::Zstd),
            (".bz2", Compression::Bzip2),
            (".xz", Compression::Xz),
        ];
        for (ending, compression) in COMPRESSED {
            let split = name.len().saturating_sub(ending.len());
            if name.get(split..).is_some_and(|tail| tail.eq_ignore_ascii_case(ending)) {
                return (&name[..split], Some(compression));
            }
        }
        (name, None)
    }
}

fn parse_delimiter(value: &str) -> Result<u8, String> {
    match value.as_bytes() {
        b"\\t" | b"tab" => Ok(b'\t'),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err(format!("`{value}` is not a delimiter; it is one ASCII character, such as ';' or '\\t'")),
    }
}

/// `response, resource`, or `all`.
fn parse_record_types(value: &str) -> Result<Vec<String>, String> {
    const TYPES: [&str; 9] =
        ["all", "continuation", "conversion", "metadata", "request", "resource", "response", "revisit", "warcinfo"];
    let names = value.split(',').map(|name| name.trim().to_ascii_lowercase());
    let known = |name: String| match TYPES.contains(&name.as_str()) {
        true => Ok(name),
        false => {
            let help = did_you_mean(&name, TYPES).map(|help| format!("; {help}")).unwrap_or_default();
            Err(format!("`{name}` is not a type of WARC records; there are {}{help}", TYPES.join(", ")))
        }
    };
    names.map(known).collect()
}

/// `id BIGINT, "full name" VARCHAR`.
fn parse_columns(text: &str) -> Result<Vec<ColumnSpec>, String> {
    let mut columns: Vec<ColumnSpec> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (name, after) =
                    quoted.split_once('"').ok_or_else(|| format!("a quoted name has no end in `{text}`"))?;
                (name.to_string(), after)
            }
            None => {
                let end = rest.find(|c: char| c.is_whitespace() || c == ',').unwrap_or(rest.len());
                (rest[..end].to_string(), &rest[end..])
            }
        };
        let (type_name, next) = after.split_once(',').unwrap_or((after, ""));
        let type_name = type_name.trim();
        if name.is_empty() || type_name.is_empty() {
            return Err(format!("columns are written as 'id BIGINT, text VARCHAR'; `{rest}` is not"));
        }
        if columns.iter().any(|column| column.name == name) {
            return Err(format!("column `{name}` is declared twice"));
        }
        columns.push(ColumnSpec { data_type: parse_type(type_name)?, name });
        rest = next.trim();
    }
    if columns.is_empty() { Err("columns are written as 'id BIGINT, text VARCHAR'".into()) } else { Ok(columns) }
}

fn parse_type(name: &str) -> Result<DataType, String> {
    match name.to_ascii_lowercase().as_str() {
        "bigint" | "int" | "integer" => Ok(DataType::Int64),
        "double" | "float" | "real" => Ok(DataType::Float64),
        "boolean" | "bool" => Ok(DataType::Boolean),
        "varchar" | "text" | "string" => Ok(DataType::Utf8),
        other => {
            let known = ["bigint", "int", "double", "float", "boolean", "varchar", "text", "string"];
            let help = did_you_mean(other, known).map(|help| format!("; {help}")).unwrap_or_default();
            Err(format!("`{name}` is not a column type here; there are {}{help}", known.join(", ")))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn unknown_option_gets_a_suggestion_and_wrong_value_a_reason() {
        let mut options = SourceOptions::default();
        let refused = options.set("compresion", "gzip");
        assert_eq!(refused, Err(SettingError::Unknown { help: Some("did you mean `compression`?".into()) }));
        for (name, value) in [
            ("format", "xml"),
            ("unit", "page"),
            ("delimiter", ";;"),
            ("columns", "id"),
            ("header", "y"),
            ("record_types", "response,page"),
        ] {
            assert!(matches!(options.set(name, value), Err(SettingError::Value(_))), "{name} = {value}");
        }
        assert_eq!(options, SourceOptions::default());
    }

    #[test]
    fn columns_take_quoted_names() {
        let mut options = SourceOptions::default();
        options.set("columns", "id BIGINT, \"full name\" text").unwrap();
        let columns = options.columns.unwrap();
        assert_eq!(columns[0], ColumnSpec { name: "id".into(), data_type: DataType::Int64 });
        assert_eq!(columns[1], ColumnSpec { name: "full name".into(), data_type: DataType::Utf8 });
    }

    #[test]
    fn endings_tell_format_and_compression() {
        assert_eq!(Format::of_file_name("a.b.JSONL.GZ"), Some(Format::JsonLines));
        assert_eq!(Format::of_file_name("a.zst"), None);
        assert_eq!(Compression::of_file_name("a.jsonl.zst"), ("a.jsonl", Some(Compression::Zstd)));
        assert_eq!(Compression::of_file_name("é"), ("é", None));
    }
}
