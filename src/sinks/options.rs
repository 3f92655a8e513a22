//! The `WITH (…)` options of `INTO`: names, values, and what each value may be.
//!
//! Invariant: every option is one line of [`SinkOption::ALL`]; `set`, help and completion read only that.
//! Not here: which options go together (`validate.rs`).

use crate::config::{SettingError, parse_bytes};
use crate::diag::did_you_mean;

/// How documents are laid out in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a header line.
    Csv,
    /// Tab-separated values with a header line.
    Tsv,
    /// The Arrow IPC file format, also called Feather.
    Arrow,
    /// The text of each document, then a newline.
    Text,
}

impl Format {
    /// Every format, in the order they are shown.
    pub const ALL: [Format; 6] =
        [Format::Jsonl, Format::Parquet, Format::Csv, Format::Tsv, Format::Arrow, Format::Text];

    /// As written in `format = '…'`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Jsonl => "jsonl",
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Arrow => "arrow",
            Format::Text => "text",
        }
    }

    /// The ending of its files, without compression.
    pub(super) fn ending(self) -> &'static str {
        if self == Format::Text { "txt" } else { self.name() }
    }

    /// The format that a file ending stands for.
    pub(super) fn of_ending(ending: &str) -> Option<Format> {
        match ending.to_ascii_lowercase().as_str() {
            "jsonl" | "ndjson" | "json" => Some(Format::Jsonl),
            "parquet" | "pq" => Some(Format::Parquet),
            "csv" => Some(Format::Csv),
            "tsv" => Some(Format::Tsv),
            "arrow" | "feather" | "ipc" => Some(Format::Arrow),
            "txt" | "text" => Some(Format::Text),
            _ => None,
        }
    }

    /// Whether compression wraps the whole file and shows in its name; Parquet and Arrow compress inside.
    pub(super) fn is_lines(self) -> bool {
        !matches!(self, Format::Parquet | Format::Arrow)
    }

    /// What `compression` may be.
    pub(super) fn compressions(self) -> &'static [Compression] {
        use Compression::*;
        match self {
            Format::Parquet => &[None, Snappy, Zstd, Gzip, Lz4, Brotli],
            Format::Arrow => &[None, Zstd, Lz4],
            _ => &[None, Gzip, Zstd, Bzip2, Xz],
        }
    }
}

/// How a file's bytes are made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Compression {
    /// Not at all.
    None,
    /// `.gz`
    Gzip,
    /// `.zst`
    Zstd,
    /// `.bz2`
    Bzip2,
    /// `.xz`
    Xz,
    /// Inside Parquet.
    Snappy,
    /// Inside Parquet and Arrow.
    Lz4,
    /// Inside Parquet.
    Brotli,
}

impl Compression {
    /// Every compression, in the order they are shown.
    pub const ALL: [Compression; 8] = [
        Compression::None,
        Compression::Gzip,
        Compression::Zstd,
        Compression::Bzip2,
        Compression::Xz,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Brotli,
    ];

    /// As written in `compression = '…'`.
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Snappy => "snappy",
            Compression::Lz4 => "lz4",
            Compression::Brotli => "brotli",
        }
    }

    /// The ending that a file compressed as a whole gets.
    pub(super) fn ending(self) -> Option<&'static str> {
        match self {
            Compression::Gzip => Some("gz"),
            Compression::Zstd => Some("zst"),
            Compression::Bzip2 => Some("bz2"),
            Compression::Xz => Some("xz"),
            _ => None,
        }
    }

    /// The compression that a file ending stands for.
    pub(super) fn of_ending(ending: &str) -> Option<Compression> {
        match ending.to_ascii_lowercase().as_str() {
            "gz" | "gzip" => Some(Compression::Gzip),
            "zst" | "zstd" => Some(Compression::Zstd),
            "bz2" => Some(Compression::Bzip2),
            "xz" => Some(Compression::Xz),
            _ => None,
        }
    }
}

/// What `INTO … WITH (…)` says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd)]
pub struct SinkOptions {
    /// `None`: as the file ending says; JSON Lines in folders and on standard output.
    pub format: Option<Format>,
    /// `None`: as the file ending says; zstd inside Parquet and for JSON Lines in folders; else none.
    pub compression: Option<Compression>,
    /// Where a folder's files are cut. `None`: [`SinkOptions::DEFAULT_MAX_FILE_BYTES`].
    pub max_file_bytes: Option<u64>,
    /// Columns whose values become hive folders.
    pub partition_by: Vec<String>,
    /// Whether an earlier output may be replaced.
    pub overwrite: bool,
    /// The folder for lines that could not be read and documents that rules drop. The sink only carries it.
    pub rejects: Option<String>,
    /// Whether the ledger names every rule that a document fails. The sink only carries it.
    pub all_failed_rules: bool,
}

/// One name that `INTO … WITH (…)` takes.
pub struct SinkOption {
    /// As written in a query.
    pub name: &'static str,
    apply: fn(&mut SinkOptions, &str) -> Result<(), String>,
}

impl SinkOption {
    /// Every option, in the order they are shown.
    pub const ALL: &'static [SinkOption] = &[
        SinkOption {
            name: "format",
            // jsonl, parquet, csv, tsv, arrow or text; by default as the file ending says, jsonl in a folder
            apply: |options, value| {
                options.format = Some(choose(value, &Format::ALL, Format::name, "a format")?);
                Ok(())
            },
        },
        SinkOption {
            name: "compression",
            // none, gzip, zstd, bzip2 or xz; for parquet none, snappy, zstd, gzip, lz4 or brotli
            apply: |options, value| {
                options.compression = Some(choose(value, &Compression::ALL, Compression::name, "a compression")?);
                Ok(())
            },
        },
        SinkOption {
            name: "max_file_size",
            // a folder's files are cut before they grow past this, as '512MB'
            apply: |options, value| {
                let bytes = parse_bytes(value)? as u64;
                if bytes == 0 {
                    return Err("a file needs at least one byte; write for example '512MB'".into());
                }
                options.max_file_bytes = Some(bytes);
                Ok(())
            },
        },
        SinkOption {
            name: "partition_by",
            // columns, separated by commas, whose values become folders: lang=en/part-00000.parquet
            apply: |options, value| {
                let columns: Vec<String> = value.split(',').map(|name| name.trim().to_string()).collect();
                if columns.iter().any(String::is_empty) {
                    return Err(format!("`{value}` is not a list of columns; write for example 'lang, source'"));
                }
                options.partition_by = columns;
                Ok(())
            },
        },
        SinkOption {
            name: "overwrite",
            // replace what an earlier run wrote there (true or false)
            apply: |options, value| {
                options.overwrite = match value.trim().to_ascii_lowercase().as_str() {
                    "true" | "on" | "1" => true,
                    "false" | "off" | "0" => false,
                    _ => return Err(format!("`{value}` is neither true nor false")),
                };
                Ok(())
            },
        },
        SinkOption {
            name: "rejects",
            // the folder that gets the lines that could not be read (rejects.jsonl) and the documents that rules dropped, with rule, value and threshold (dropped/)
            apply: |options, value| {
                if value.trim().is_empty() {
                    return Err("`rejects` names a folder; write for example 'rejects/'".into());
                }
                options.rejects = Some(value.to_string());
                Ok(())
            },
        },
        SinkOption {
            name: "reject_detail",
            // what is written of a dropped document: first, the first rule that it fails, or all of them
            apply: |options, value| {
                options.all_failed_rules = match value.trim().to_ascii_lowercase().as_str() {
                    "first" => false,
                    "all" => true,
                    _ => return Err(format!("`{value}` is neither 'first' nor 'all'")),
                };
                Ok(())
            },
        },
    ];
}

impl SinkOptions {
    /// Where the files of a folder are cut if the query does not say.
    pub const DEFAULT_MAX_FILE_BYTES: u64 = 512_000_000;

    /// Applies one `name = value`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let Some(option) = SinkOption::ALL.iter().find(|option| option.name == name) else {
            return Err(SettingError::Unknown { help: did_you_mean(name, Self::names()) });
        };
        (option.apply)(self, value).map_err(SettingError::Value)
    }

    /// Every name that [`SinkOptions::set`] takes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SinkOption::ALL.iter().map(|option| option.name)
    }
}

/// The choice called `value`, or a message that lists them all.
fn choose<T: Copy>(value: &str, all: &[T], name: fn(T) -> &'static str, what: &str) -> Result<T, String> {
    let wanted = value.trim().to_ascii_lowercase();
    all.iter().copied().find(|choice| name(*choice) == wanted).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|choice| name(*choice)).collect();
        let hint = did_you_mean(&wanted, &names).map(|help| format!("; {help}")).unwrap_or_default();
        format!("`{value}` is not {what}: choose one of {}{hint}", names.join(", "))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_read() {
        let mut options = SinkOptions::default();
        let pairs = [
            ("format", "Parquet"),
            ("compression", "snappy"),
            ("max_file_size", "1.5MB"),
            ("partition_by", "lang, source"),
            ("overwrite", "TRUE"),
            ("rejects", "rejects/"),
            ("reject_detail", "all"),
        ];
        assert_eq!(pairs.map(|pair| pair.0).as_slice(), SinkOptions::names().collect::<Vec<_>>());
        for (name, value) in pairs {
            options.set(name, value).unwrap();
        }
        let expected = SinkOptions {
            format: Some(Format::Parquet),
            compression: Some(Compression::Snappy),
            max_file_bytes: Some(1_500_000),
            partition_by: vec!["lang".into(), "source".into()],
            overwrite: true,
            rejects: Some("rejects/".into()),
            all_failed_rules: true,
        };
        assert_eq!(options, expected);
    }

    #[test]
    fn unknown_names_and_values_say_what_is_allowed() {
        let mut options = SinkOptions::default();
        let refused = options.set("max_filesize", "1MB").unwrap_err();
        assert_eq!(refused, SettingError::Unknown { help: Some("did you mean `max_file_size`?".into()) });
        for (name, value, part) in [
            ("format", "parket", "did you mean `parquet`?"),
            ("compression", "rar", "none, gzip, zstd"),
            ("max_file_size", "0", "at least one byte"),
            ("max_file_size", "big", "512MB"),
            ("partition_by", "a,,b", "not a list of columns"),
            ("overwrite", "maybe", "neither true nor false"),
            ("rejects", " ", "names a folder"),
            ("reject_detail", "some", "neither 'first' nor 'all'"),
        ] {
            let refused = options.set(name, value).unwrap_err();
            assert!(matches!(&refused, SettingError::Value(message) if message.contains(part)), "{refused:?}");
        }
        assert_eq!(options, SinkOptions::default());
    }
}
