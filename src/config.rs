//! What a session may use and how it behaves. Set by the library's caller, by flags, and by `SET` in a query.

mod durations;
mod sizes;

use crate::diag::did_you_mean;
pub use durations::{format_duration, parse_duration};
pub use sizes::{format_bytes, parse_bytes, parse_memory};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

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
    /// How much may be set aside before the run fails. `None`: anything.
    pub max_rejects: Option<MaxRejects>,
    /// How long an operator may work on one document; then it is set aside. `None`: as long as it takes.
    pub document_timeout: Option<Duration>,
    /// The folder for temporary files. `None`: the system's.
    pub temp_folder: Option<PathBuf>,
    /// What temporary files may take together. `None`: what the disk has.
    pub temp_limit_bytes: Option<usize>,
    /// Bytes read of a source's files, all together, to learn its columns.
    pub sample_bytes: usize,
    /// Bytes on disk of a source that are read as one split.
    pub block_bytes: NonZeroUsize,
    /// The most files in one split. `None`: as many as fit.
    pub max_files: Option<NonZeroUsize>,
    /// Use our optimizer rules. Off, those that change only how fast an answer comes are left out, to compare results;
    /// DataFusion's stay, and so do those of ours that right answers need.
    pub optimize: bool,
    /// Rules among [`OPTIONAL_RULES`] that are left out, to find out which one is at fault.
    pub disabled_rules: Vec<String>,
    /// Compute the statistics of a query together, in one pass over each document.
    pub fusion: bool,
    /// Where `DEDUP` gets documents from again that do not fit in memory.
    pub replay: ReplayChoice,
    /// Where operators may run.
    pub device: DeviceChoice,
    /// Fail instead of running on the CPU what was to run on a GPU, or when there is none.
    pub require_gpu: bool,
    /// How many GPUs to use. `None`: all.
    pub num_gpus: Option<NonZeroUsize>,
    /// The share of a GPU's memory that batches may take together.
    pub gpu_memory_fraction: f64,
    /// Batches under way at once for each partition, so that copies and kernels overlap.
    pub prefetch_batches: NonZeroUsize,
    /// The hardware to plan for instead of this machine: a shipped name or a file. Such a plan can be shown, not run.
    pub profile: Option<String>,
    /// Where NVRTC is, if it cannot be found by its name.
    pub nvrtc: Option<PathBuf>,
    /// When what a run has finished is kept until its commit, so that another attempt can go on with it.
    pub checkpoint: Checkpoint,
    /// What to do with what an attempt that did not end has kept.
    pub attempt: Attempt,
    /// Queries read only the files that are new since they last wrote their output, and add to it.
    pub incremental: bool,
}

/// When what a run has finished is kept on disk until its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Checkpoint {
    /// If the run reads much: then what is kept costs little beside what it may save.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

impl Checkpoint {
    /// As written in a query.
    pub fn as_str(self) -> &'static str {
        match self {
            Checkpoint::Auto => "auto",
            Checkpoint::On => "on",
            Checkpoint::Off => "off",
        }
    }
}

/// What a run does with the finished work of an attempt that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Attempt {
    /// Refuses to throw it away.
    #[default]
    First,
    /// Goes on with it, if it is of the same query on the same inputs. Nothing is done for an output that is complete.
    Resume,
    /// Throws it away and begins from the start.
    Restart,
}

/// How much may be set aside before a run fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MaxRejects {
    /// So many pieces of input.
    Count(u64),
    /// So large a share of the documents, from 0 to 1.
    Share(f64),
}

impl MaxRejects {
    /// `1000` or `0.1%`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let share = text.strip_suffix('%').map(|number| number.trim().parse::<f64>());
        match share {
            Some(Ok(percent)) if (0.0..=100.0).contains(&percent) => Ok(Self::Share(percent / 100.0)),
            Some(_) => Err(format!("`{text}` is not a share; write for example '0.1%'")),
            None => {
                let count = text.parse().map(Self::Count);
                count.map_err(|_| format!("`{text}` is neither a number nor a share; write for example 1000 or '0.1%'"))
            }
        }
    }
}

impl std::fmt::Display for MaxRejects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Share(share) => write!(f, "{}%", share * 100.0),
        }
    }
}

/// Where a verb that goes through its rows again gets them from, if they do not fit in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReplayChoice {
    /// Whatever is estimated to cost less.
    #[default]
    Auto,
    /// A temporary file.
    Spool,
    /// The source, where that gives the same rows again.
    Source,
}

impl ReplayChoice {
    /// As written in a query.
    pub fn as_str(self) -> &'static str {
        match self {
            ReplayChoice::Auto => "auto",
            ReplayChoice::Spool => "spool",
            ReplayChoice::Source => "source",
        }
    }
}

/// Our optimizer rules that change only how fast an answer comes, as EXPLAIN names them. All others are needed for right
/// answers, such as the order of the rows, and cannot be left out.
pub const OPTIONAL_RULES: [&str; 8] = [
    "FlattenAliases",
    "FilterBeforeDedup",
    "OnePass",
    "GatherInOrder",
    "SortBeyondMemory",
    "YieldInJoins",
    "PlaceOperators",
    "ReplayRows",
];

/// Where operators may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DeviceChoice {
    /// Each where it is estimated to cost less.
    #[default]
    Auto,
    /// All on the CPU.
    Cpu,
    /// All that have a kernel on the GPU.
    Gpu,
}

impl DeviceChoice {
    /// As written in a query.
    pub fn as_str(self) -> &'static str {
        match self {
            DeviceChoice::Auto => "auto",
            DeviceChoice::Cpu => "cpu",
            DeviceChoice::Gpu => "gpu",
        }
    }
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
            max_rejects: None,
            document_timeout: Some(Duration::from_secs(300)),
            temp_folder: None,
            temp_limit_bytes: None,
            sample_bytes: 64 << 20,
            block_bytes: NonZeroUsize::new(16 << 20).unwrap_or(NonZeroUsize::MIN),
            max_files: None,
            optimize: true,
            disabled_rules: vec![],
            fusion: true,
            replay: ReplayChoice::Auto,
            device: DeviceChoice::Auto,
            require_gpu: false,
            num_gpus: None,
            gpu_memory_fraction: 0.8,
            prefetch_batches: NonZeroUsize::new(2).unwrap_or(NonZeroUsize::MIN),
            profile: None,
            nvrtc: None,
            checkpoint: Checkpoint::Auto,
            attempt: Attempt::First,
            incremental: false,
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
            config.memory_limit_bytes = if value == "auto" { None } else { Some(parse_memory(value)?) };
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
        name: "max_rejects",
        doc: "fail when more is set aside than this: a number, a share of the documents such as '0.1%', or all",
        apply: |config, value| {
            config.max_rejects = if value == "all" { None } else { Some(MaxRejects::parse(value)?) };
            Ok(())
        },
        show: |config| config.max_rejects.map_or("all".to_string(), |most| most.to_string()),
    },
    Setting {
        name: "document_timeout",
        doc: "how long an operator may work on one document before it is set aside, as '30s', '5min', or none",
        apply: |config, value| {
            config.document_timeout = if value == "none" { None } else { Some(parse_duration(value)?) };
            Ok(())
        },
        show: |config| format_duration(config.document_timeout),
    },
    Setting {
        name: "temp_dir",
        doc: "the folder for temporary files, or auto (the system's: TMPDIR)",
        apply: |config, value| {
            config.temp_folder = if value == "auto" { None } else { Some(PathBuf::from(value)) };
            Ok(())
        },
        show: |config| config.temp_folder.as_ref().map_or("auto".to_string(), |path| path.display().to_string()),
    },
    Setting {
        name: "temp_limit",
        doc: "what temporary files may take together, as '500GB', or none (what the disk has)",
        apply: |config, value| {
            config.temp_limit_bytes = if value == "none" { None } else { Some(parse_bytes(value)?) };
            Ok(())
        },
        show: |config| config.temp_limit_bytes.map_or("none".to_string(), format_bytes),
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
        name: "blocksize",
        doc: "bytes on disk that one split of a source aims at, as '16MB': large files are cut, small ones joined",
        apply: |config, value| {
            config.block_bytes = parse_block_bytes(value)?;
            Ok(())
        },
        show: |config| format_bytes(config.block_bytes.get()),
    },
    Setting {
        name: "files_per_partition",
        doc: "the most files in one split of a source, or auto (as many as fit into blocksize)",
        apply: |config, value| {
            config.max_files = if value == "auto" { None } else { Some(parse_count(value)?) };
            Ok(())
        },
        show: |config| config.max_files.map_or("auto".to_string(), |n| n.to_string()),
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
        name: "disabled_rules",
        doc: "curator's optimizer rules to leave out, as 'OnePass, GatherInOrder', or none; to find the one at fault",
        apply: |config, value| {
            config.disabled_rules = parse_rules(value)?;
            Ok(())
        },
        show: |config| match config.disabled_rules.as_slice() {
            [] => "none".to_string(),
            rules => rules.join(", "),
        },
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
    Setting {
        name: "replay",
        doc: "where DEDUP gets documents from again that do not fit in memory: auto (what costs less), spool (a temporary \
              file), or source (reading them again)",
        apply: |config, value| {
            let choices = [ReplayChoice::Auto, ReplayChoice::Spool, ReplayChoice::Source];
            let chosen = choices.into_iter().find(|choice| value.eq_ignore_ascii_case(choice.as_str()));
            config.replay = chosen.ok_or(format!("`{value}` is not a choice; write auto, spool or source"))?;
            Ok(())
        },
        show: |config| config.replay.as_str().to_string(),
    },
    Setting {
        name: "device",
        doc: "where operators run: auto (where they cost less), cpu, or gpu (all that have a kernel)",
        apply: |config, value| {
            let choices = [DeviceChoice::Auto, DeviceChoice::Cpu, DeviceChoice::Gpu];
            let chosen = choices.into_iter().find(|choice| value.eq_ignore_ascii_case(choice.as_str()));
            config.device = chosen.ok_or(format!("`{value}` is not a device; write auto, cpu or gpu"))?;
            Ok(())
        },
        show: |config| config.device.as_str().to_string(),
    },
    Setting {
        name: "require_gpu",
        doc: "fail instead of running on the CPU what was to run on a GPU, or when there is none",
        apply: |config, value| {
            config.require_gpu = parse_bool(value)?;
            Ok(())
        },
        show: |config| config.require_gpu.to_string(),
    },
    Setting {
        name: "num_gpus",
        doc: "how many GPUs to use, or all",
        apply: |config, value| {
            config.num_gpus = if value == "all" { None } else { Some(parse_count(value)?) };
            Ok(())
        },
        show: |config| config.num_gpus.map_or("all".to_string(), |n| n.to_string()),
    },
    Setting {
        name: "gpu_memory_fraction",
        doc: "the share of a GPU's memory that batches may take together",
        apply: |config, value| {
            let share: f64 = value.trim().parse().map_err(|_| format!("`{value}` is not a number"))?;
            if !(share > 0.0 && share <= 1.0) {
                return Err(format!("`{value}` is not a share: write a number above 0 and up to 1"));
            }
            config.gpu_memory_fraction = share;
            Ok(())
        },
        show: |config| config.gpu_memory_fraction.to_string(),
    },
    Setting {
        name: "prefetch_batches",
        doc: "batches under way at once on a GPU for each partition, so that copies and kernels overlap",
        apply: |config, value| {
            config.prefetch_batches = parse_count(value)?;
            Ok(())
        },
        show: |config| config.prefetch_batches.to_string(),
    },
    Setting {
        name: "profile",
        doc: "plan for this hardware instead of this machine's (EXPLAIN only): a shipped name such as h100, a file, or none",
        apply: |config, value| {
            config.profile = if value.is_empty() || value == "none" { None } else { Some(value.to_string()) };
            Ok(())
        },
        show: |config| config.profile.clone().unwrap_or("none".to_string()),
    },
    Setting {
        name: "nvrtc",
        doc: "the file of NVIDIA's run-time compiler (libnvrtc.so.12), if it is not found by name",
        apply: |config, value| {
            config.nvrtc = if value == "auto" { None } else { Some(PathBuf::from(value)) };
            Ok(())
        },
        show: |config| config.nvrtc.as_ref().map_or("auto".to_string(), |path| path.display().to_string()),
    },
    Setting {
        name: "checkpoint",
        doc: "keep finished splits until the commit, for `--resume`: on, off, or auto (if 10 GB or more are read)",
        apply: |config, value| {
            let choices = [Checkpoint::Auto, Checkpoint::On, Checkpoint::Off];
            let chosen = choices.into_iter().find(|choice| value.eq_ignore_ascii_case(choice.as_str()));
            config.checkpoint = chosen.ok_or(format!("`{value}` is not a choice; write auto, on or off"))?;
            Ok(())
        },
        show: |config| config.checkpoint.as_str().to_string(),
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

    /// Whether one of the [`OPTIONAL_RULES`] takes part.
    pub fn uses_rule(&self, rule: &str) -> bool {
        self.optimize && !self.disabled_rules.iter().any(|disabled| disabled == rule)
    }
}

/// Names of [`OPTIONAL_RULES`], between commas.
fn parse_rules(text: &str) -> Result<Vec<String>, String> {
    if text == "none" {
        return Ok(vec![]);
    }
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let known = |name: &str| match OPTIONAL_RULES.iter().find(|rule| rule.eq_ignore_ascii_case(name)) {
        Some(rule) => Ok(rule.to_string()),
        None => Err(format!("`{name}` is no rule that can be left out; these can: {}", OPTIONAL_RULES.join(", "))),
    };
    names.map(known).collect()
}

/// The size of a split, which is not nothing.
pub fn parse_block_bytes(text: &str) -> Result<NonZeroUsize, String> {
    NonZeroUsize::new(parse_bytes(text)?).ok_or("a split needs at least one byte".to_string())
}

/// A positive whole number.
pub fn parse_count(text: &str) -> Result<NonZeroUsize, String> {
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
