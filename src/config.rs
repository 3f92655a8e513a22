//! What a session may use and how it behaves. Set by the library's caller, by flags, and by `SET` in a query.

use crate::diag::did_you_mean;
use std::num::NonZeroUsize;

/// The limits and habits of a [`Session`](crate::Session).
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Memory the query's operators may hold together; past it they spill to disk. `None`: 80 % of what is free.
    pub memory_limit_bytes: Option<usize>,
    /// Worker threads, and partitions of each plan.
    pub threads: NonZeroUsize,
    /// The most rows in one batch. Batches end earlier at [`Config::batch_bytes`].
    pub batch_rows: NonZeroUsize,
    /// The size a batch of documents aims at.
    pub batch_bytes: NonZeroUsize,
    /// Stop at the first line that cannot be read, instead of setting it aside and going on.
    pub strict: bool,
    /// Bytes read of a source's files, all together, to learn its columns.
    pub sample_bytes: usize,
    /// Turn our optimizer rules off (DataFusion's stay), to compare results.
    pub optimize: bool,
    /// Compute the statistics of a query together, in one pass over each document.
    pub fusion: bool,
}

impl Default for Config {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Self {
            memory_limit_bytes: None,
            threads,
            batch_rows: NonZeroUsize::new(8192).unwrap_or(NonZeroUsize::MIN),
            batch_bytes: NonZeroUsize::new(1 << 20).unwrap_or(NonZeroUsize::MIN),
            strict: false,
            sample_bytes: 64 << 20,
            optimize: true,
            fusion: true,
        }
    }
}

/// One name that `SET` takes.
pub struct Setting {
    /// As written in a query.
    pub name: &'static str,
    /// One line for `curator settings` and the reference.
    pub doc: &'static str,
    apply: fn(&mut Config, &str) -> Result<(), String>,
    show: fn(&Config) -> String,
}

/// Every setting of ours, in the order they are shown. `datafusion.*` settings go to DataFusion.
pub static SETTINGS: &[Setting] = &[
    Setting {
        name: "memory_limit",
        doc: "memory the operators may hold together, as '8GB', or auto; past it they spill to disk",
        apply: |config, value| {
            config.memory_limit_bytes = if value == "auto" { None } else { Some(parse_bytes(value)?) };
            Ok(())
        },
        show: |config| config.memory_limit_bytes.map_or("auto".to_string(), format_bytes),
    },
    Setting {
        name: "threads",
        doc: "worker threads",
        apply: |config, value| {
            config.threads = parse_count(value)?;
            Ok(())
        },
        show: |config| config.threads.to_string(),
    },
    Setting {
        name: "batch_rows",
        doc: "the most rows in one batch",
        apply: |config, value| {
            config.batch_rows = parse_count(value)?;
            Ok(())
        },
        show: |config| config.batch_rows.to_string(),
    },
    Setting {
        name: "batch_bytes",
        doc: "the size a batch of documents aims at, as '1MB'",
        apply: |config, value| {
            config.batch_bytes = NonZeroUsize::new(parse_bytes(value)?).ok_or("a batch needs at least one byte")?;
            Ok(())
        },
        show: |config| format_bytes(config.batch_bytes.get()),
    },
    Setting {
        name: "strict",
        doc: "stop at the first line that cannot be read (true), or set it aside and go on (false)",
        apply: |config, value| {
            config.strict = parse_bool(value)?;
            Ok(())
        },
        show: |config| config.strict.to_string(),
    },
    Setting {
        name: "sample_bytes",
        doc: "bytes read of a source to learn its columns, as '64MB'",
        apply: |config, value| {
            config.sample_bytes = parse_bytes(value)?;
            Ok(())
        },
        show: |config| format_bytes(config.sample_bytes),
    },
    Setting {
        name: "optimize",
        doc: "use curator's optimizer rules",
        apply: |config, value| {
            config.optimize = parse_bool(value)?;
            Ok(())
        },
        show: |config| config.optimize.to_string(),
    },
    Setting {
        name: "fusion",
        doc: "compute the statistics of a query together, in one pass over each document",
        apply: |config, value| {
            config.fusion = parse_bool(value)?;
            Ok(())
        },
        show: |config| config.fusion.to_string(),
    },
];

impl Setting {
    /// The value in force.
    pub fn value(&self, config: &Config) -> String {
        (self.show)(config)
    }
}

/// Why a `SET` was refused: which part is wrong, and help if there is any.
#[derive(Debug, PartialEq)]
pub enum SettingError {
    /// No such name.
    Unknown {
        /// A suggestion.
        help: Option<String>,
    },
    /// The name is right, the value is not.
    Value(String),
}

impl Config {
    /// Applies one `SET name = value`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), SettingError> {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
            return Err(SettingError::Unknown {
                help: did_you_mean(name, SETTINGS.iter().map(|setting| setting.name)),
            });
        };
        (setting.apply)(self, value).map_err(SettingError::Value)
    }
}

/// `8GB`, `512 MiB`, `1048576`: decimal and binary units, as the suffix says.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits_end);
    let scale: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        other => return Err(format!("`{other}` is not a unit of size; write for example '512MB' or '8GiB'")),
    };
    let number: f64 =
        number.parse().map_err(|_| format!("`{text}` is not a size; write for example '512MB' or '8GiB'"))?;
    Ok((number * scale) as usize)
}

/// A number of bytes for people: `1.5 MB`.
pub fn format_bytes(bytes: usize) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

fn parse_count(text: &str) -> Result<NonZeroUsize, String> {
    text.trim().parse().map_err(|_| format!("`{text}` is not a positive whole number"))
}

fn parse_bool(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_decimal_and_binary_units() {
        assert_eq!(parse_bytes("8GB"), Ok(8_000_000_000));
        assert_eq!(parse_bytes("1.5 MiB"), Ok(1_572_864));
        assert_eq!(parse_bytes("17"), Ok(17));
        assert!(parse_bytes("8 parsecs").is_err());
        assert!(parse_bytes("lots").is_err());
        assert_eq!(format_bytes(1_500_000), "1.5 MB");
        assert_eq!(format_bytes(999), "999 B");
    }

    #[test]
    fn unknown_settings_get_a_suggestion() {
        let refused = Config::default().set("memory_limits", "1GB");
        assert_eq!(refused, Err(SettingError::Unknown { help: Some("did you mean `memory_limit`?".into()) }));
    }
}
