//! What the environment asks of the stand-in: variables that start with `CURATOR_STANDIN_`.
//!
//! Invariant: a value that cannot be read is an error, never silently the default.
//! The README of the package lists the variables.

use super::inject::Injection;
use crate::memory::MemoryChecks;
use std::path::PathBuf;

/// How all the names of variables begin.
pub const PREFIX: &str = "CURATOR_STANDIN_";

/// The settings of one driver.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The memory of each device; there are as many devices.
    pub memory_bytes: Vec<u64>,
    /// Major and minor compute capability of all devices.
    pub capability: (u32, u32),
    /// Whether the devices have memory pools.
    pub pools: bool,
    /// Whether work runs when it is queued, and not only when someone waits for it.
    pub eager: bool,
    /// Shuffles the order of blocks, warps and streams.
    pub seed: Option<u64>,
    /// Which checks are made on the accesses of kernels.
    pub checks: MemoryChecks,
    /// Which device allocation fails.
    pub fail_alloc: Injection,
    /// Which allocation of pinned memory fails.
    pub fail_host_alloc: Injection,
    /// Which launch fails.
    pub fail_launch: Injection,
    /// Which copy fails.
    pub fail_copy: Injection,
    /// At which call a device is lost.
    pub lose_device: Injection,
    /// The CUDA version of the driver: 12090 is 12.9.
    pub driver_version: u32,
    /// Where the counters go.
    pub stats: Option<PathBuf>,
    /// Lane instructions after which a launch is stopped.
    pub max_instructions: u64,
    /// Whether calls and faults are told on standard error.
    pub trace: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            memory_bytes: vec![1 << 30],
            capability: (8, 0),
            pools: true,
            eager: false,
            seed: None,
            checks: MemoryChecks { races: true, uninitialized: true },
            fail_alloc: Injection::default(),
            fail_host_alloc: Injection::default(),
            fail_launch: Injection::default(),
            fail_copy: Injection::default(),
            lose_device: Injection::default(),
            driver_version: 12090,
            stats: None,
            max_instructions: 50_000_000_000,
            trace: false,
        }
    }
}

impl Settings {
    /// Reads the settings; `variable` gives the value of a variable, by its name without the prefix.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let mut settings = Settings::default();
        let given = |name: &str| variable(name).map(|value| value.trim().to_string()).filter(|value| !value.is_empty());
        let n_devices = match given("DEVICES") {
            Some(value) => Some(number::<usize>("DEVICES", &value)?),
            None => None,
        };
        if let Some(value) = given("MEMORY") {
            settings.memory_bytes = value.split(',').map(bytes).collect::<Result<_, _>>()?;
        }
        if let Some(n_devices) = n_devices {
            let last = settings.memory_bytes.last().copied().unwrap_or(1 << 30);
            settings.memory_bytes.resize(n_devices, last);
        }
        if let Some(value) = given("CC") {
            let parts =
                value.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
            settings.capability = parts.ok_or_else(|| wrong("CC", &value, "a compute capability such as 8.0"))?;
        }
        for (name, flag) in
            [("POOLS", &mut settings.pools), ("EAGER", &mut settings.eager), ("TRACE", &mut settings.trace)]
        {
            if let Some(value) = given(name) {
                *flag = number::<u8>(name, &value)? != 0;
            }
        }
        if let Some(value) = given("SEED") {
            settings.seed = Some(number("SEED", &value)?);
        }
        if let Some(value) = given("CHECK") {
            settings.checks = checks(&value)?;
        }
        for (name, injection) in [
            ("FAIL_ALLOC", &mut settings.fail_alloc),
            ("FAIL_HOST_ALLOC", &mut settings.fail_host_alloc),
            ("FAIL_LAUNCH", &mut settings.fail_launch),
            ("FAIL_COPY", &mut settings.fail_copy),
            ("LOSE_DEVICE", &mut settings.lose_device),
        ] {
            if let Some(value) = given(name) {
                *injection =
                    Injection::parse(&value).ok_or_else(|| wrong(name, &value, "n, n+, n@device or n+@device"))?;
            }
        }
        if let Some(value) = given("DRIVER_VERSION") {
            settings.driver_version = number("DRIVER_VERSION", &value)?;
        }
        if let Some(value) = given("MAX_INSTRUCTIONS") {
            settings.max_instructions = number("MAX_INSTRUCTIONS", &value)?;
        }
        settings.stats = given("STATS").map(PathBuf::from);
        Ok(settings)
    }

    /// The settings that this process was started with.
    pub fn from_environment() -> Result<Settings, String> {
        Settings::read(|name| std::env::var(format!("{PREFIX}{name}")).ok())
    }
}

fn wrong(name: &str, value: &str, wanted: &str) -> String {
    format!("{PREFIX}{name}={value}: give {wanted}")
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| wrong(name, value, "a whole number"))
}

fn bytes(value: &str) -> Result<u64, String> {
    let value = value.trim();
    let (digits, shift) = match value.strip_suffix(['K', 'M', 'G']) {
        Some(digits) if value.ends_with('K') => (digits, 10),
        Some(digits) if value.ends_with('M') => (digits, 20),
        Some(digits) => (digits, 30),
        None => (value, 0),
    };
    let n: Option<u64> = digits.parse().ok();
    n.and_then(|n| n.checked_mul(1 << shift)).ok_or_else(|| wrong("MEMORY", value, "bytes, as 65536, 64K, 16M or 2G"))
}

fn checks(value: &str) -> Result<MemoryChecks, String> {
    let mut checks = MemoryChecks { races: false, uninitialized: false };
    for word in value.split(',').map(str::trim) {
        match word {
            "races" => checks.races = true,
            "uninitialized" => checks.uninitialized = true,
            "none" | "0" => {}
            _ => return Err(wrong("CHECK", value, "races, uninitialized, both with a comma between, or none")),
        }
    }
    Ok(checks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::read(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn memory_is_given_for_each_device_and_the_last_holds_for_the_rest() {
        let memory = |pairs: &[(&str, &str)]| read(pairs).unwrap().memory_bytes;
        assert_eq!(memory(&[]), [1 << 30]);
        assert_eq!(memory(&[("MEMORY", "64M")]), [64 << 20]);
        assert_eq!(memory(&[("MEMORY", "100,2K"), ("DEVICES", "3")]), [100, 2048, 2048]);
        assert_eq!(memory(&[("DEVICES", "0")]), [0; 0]);
    }

    #[test]
    fn wrong_values_are_told() {
        for (name, value) in [
            ("MEMORY", "many"),
            ("MEMORY", "99999999999G"),
            ("DEVICES", "-1"),
            ("CC", "8"),
            ("CHECK", "race"),
            ("FAIL_ALLOC", "x+"),
            ("SEED", "0x1"),
        ] {
            let error = read(&[(name, value)]).unwrap_err();
            assert!(error.starts_with(&format!("CURATOR_STANDIN_{name}={value}: give")), "{error}");
        }
    }

    #[test]
    fn checks_are_both_on_unless_chosen() {
        let checks = |pairs: &[(&str, &str)]| read(pairs).unwrap().checks;
        assert_eq!(checks(&[]), MemoryChecks { races: true, uninitialized: true });
        assert_eq!(checks(&[("CHECK", "races")]), MemoryChecks { races: true, uninitialized: false });
        assert_eq!(checks(&[("CHECK", "none")]), MemoryChecks { races: false, uninitialized: false });
    }
}
