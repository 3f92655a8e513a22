//! Runs programs against the stand-in for CUDA's driver, and reads what it counted.
//!
//! ```text
//! let standin = Standin::new().memory_bytes(64 << 20).fail_allocation(3);
//! let output = Command::new(curator).envs(standin.environment()).args(…).output();
//! assert_eq!(standin.counters().launches, 1);
//! ```
//!
//! Invariant: the library is found through the environment of the child alone; nothing else on the machine sees it.
//! Not here: the stand-in itself, a package of its own in `tests/cuda-standin`.

use crate::suite::harness::root;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder that holds `libcuda.so` and `libcuda.so.1`, built once for each run of the tests.
pub fn library_dir() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(build)
}

fn build() -> PathBuf {
    let place = scratch();
    let target = place.join("target");
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--offline", "--quiet", "--lib", "--manifest-path"])
        .arg(root().join("tests/cuda-standin/Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        // The flags of the tests' own build (coverage, say) are not for the library, which runs on this machine alone: with
        // all that its processor has, 32 lanes take few instructions.
        .env("RUSTFLAGS", "-C target-cpu=native")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .unwrap();
    assert!(output.status.success(), "the stand-in does not build:\n{}", String::from_utf8_lossy(&output.stderr));
    let folder = place.join("lib");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        // Replaced as a whole: another run of the tests may have the old one loaded.
        let new = folder.join(format!("{name}.{}", std::process::id()));
        std::fs::copy(target.join("debug/libcuda.so"), &new).unwrap();
        std::fs::rename(new, folder.join(name)).unwrap();
    }
    folder
}

fn scratch() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda-standin")
}

/// The stand-in with settings: the README of its package says more about each.
pub struct Standin {
    settings: Vec<(String, String)>,
    counters: PathBuf,
}

impl Standin {
    /// One device of 1 GiB that does not fail.
    pub fn new() -> Standin {
        static N_MADE: AtomicU32 = AtomicU32::new(0);
        let name = format!("counters-{}-{}.json", std::process::id(), N_MADE.fetch_add(1, Ordering::Relaxed));
        library_dir();
        Standin { settings: Vec::new(), counters: scratch().join(name) }
    }

    /// Any setting, by its name without the prefix.
    pub fn set(mut self, name: &str, value: impl ToString) -> Standin {
        self.settings.push((format!("CURATOR_STANDIN_{name}"), value.to_string()));
        self
    }

    /// The memory of each device.
    pub fn memory_bytes(self, n: u64) -> Standin {
        self.set("MEMORY", n)
    }

    pub fn devices(self, n: usize) -> Standin {
        self.set("DEVICES", n)
    }

    /// The CUDA version of the driver: 12080 is 12.8.
    pub fn driver_version(self, version: u32) -> Standin {
        self.set("DRIVER_VERSION", version)
    }

    /// The n-th allocation of device memory fails, counted from 1.
    pub fn fail_allocation(self, n: u64) -> Standin {
        self.set("FAIL_ALLOC", n)
    }

    /// The n-th allocation of device memory fails, and all after it.
    pub fn fail_allocations_from(self, n: u64) -> Standin {
        self.set("FAIL_ALLOC", format!("{n}+"))
    }

    /// The n-th launch fails when it runs, and its context with it.
    pub fn fail_launch(self, n: u64) -> Standin {
        self.set("FAIL_LAUNCH", n)
    }

    /// The n-th copy fails.
    pub fn fail_copy(self, n: u64) -> Standin {
        self.set("FAIL_COPY", n)
    }

    /// From the n-th call on there is no device any more.
    pub fn lose_device(self, n: u64) -> Standin {
        self.set("LOSE_DEVICE", n)
    }

    /// The environment for a child process: the settings, and where the library is.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut path = library_dir().as_os_str().to_os_string();
        if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
            path.push(":");
            path.push(others);
        }
        let mut environment = vec![
            ("LD_LIBRARY_PATH".into(), path),
            ("CURATOR_STANDIN_STATS".into(), self.counters.clone().into_os_string()),
        ];
        environment.extend(self.settings.iter().map(|(name, value)| (name.into(), value.into())));
        environment
    }

    /// What the last process that ran in this environment counted, all devices together.
    pub fn counters(&self) -> Counters {
        self.counters_of_each().iter().fold(Counters::default(), |sum, one| sum.and(one))
    }

    /// The same for each device; nothing if the process never asked for one.
    pub fn counters_of_each(&self) -> Vec<Counters> {
        let Ok(text) = std::fs::read_to_string(&self.counters) else { return Vec::new() };
        let json: Value = serde_json::from_str(&text).unwrap();
        json["devices"].as_array().unwrap().iter().map(Counters::read).collect()
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        // It is not there if no process used the stand-in.
        let _ = std::fs::remove_file(&self.counters);
    }
}

/// Declares the counters with the names that the stand-in gives them.
macro_rules! counters {
    ($($name:ident),* $(,)?) => {
        /// What happened on a device.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        #[allow(dead_code, reason = "a test looks at those it is about")]
        pub struct Counters {
            $(pub $name: u64,)*
            /// How often each kernel was launched.
            pub launches_by_kernel: BTreeMap<String, u64>,
            /// Mistakes of the program, in words: out of bounds, races, unwritten memory, what was never freed.
            pub faults: Vec<String>,
            /// What failed because a test asked for it, and what the driver refused to load.
            pub refusals: Vec<String>,
        }

        impl Counters {
            fn read(json: &Value) -> Counters {
                let number = |name: &str| json[name].as_u64().unwrap_or_else(|| panic!("{name} is not counted"));
                let texts = |name: &str| {
                    let list = json[name].as_array().unwrap();
                    list.iter().map(|text| text.as_str().unwrap().to_string()).collect()
                };
                let by_kernel = json["launches_by_kernel"].as_object().unwrap();
                Counters {
                    $($name: number(stringify!($name)),)*
                    launches_by_kernel: by_kernel.iter().map(|(name, n)| (name.clone(), n.as_u64().unwrap())).collect(),
                    faults: texts("faults"),
                    refusals: texts("refusals"),
                }
            }

            fn and(mut self, other: &Counters) -> Counters {
                $(self.$name += other.$name;)*
                for (name, n) in &other.launches_by_kernel {
                    *self.launches_by_kernel.entry(name.clone()).or_default() += n;
                }
                self.faults.extend(other.faults.iter().cloned());
                self.refusals.extend(other.refusals.iter().cloned());
                self
            }
        }
    };
}

counters! {
    copies_in, bytes_in, copies_out, bytes_out, copies_within, memsets, launches, graph_launches, lane_instructions,
    modules, allocations, failed_allocations, frees, bytes_in_use, peak_bytes, leaked_bytes, host_allocations,
    host_bytes_in_use, launches_in_flight, most_launches_in_flight, streams, waits,
}
