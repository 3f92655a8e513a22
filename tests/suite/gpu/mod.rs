//! Queries on a device. There is no GPU where tests run: a stand-in for the driver (`tests/cuda-standin`) executes the
//! same kernels, with a set memory, counters, and faults on demand. What needs NVIDIA's compiler says so where there is
//! none, and the kernels that come with curator run instead.

mod chains;
mod compiled;
mod documents;
mod equal;
mod faults;
mod groups;
mod memory;
mod placements;
mod semantic;
mod shares;
mod standin;
mod transfers;

use standin::Standin;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

static RUNNING: Mutex<()> = Mutex::new(());

/// NVIDIA's run-time compiler, if the environment names it.
pub fn nvrtc() -> Option<PathBuf> {
    let found = std::env::var_os("CURATOR_NVRTC").map(PathBuf::from).filter(|path| path.exists());
    if found.is_none() {
        eprintln!("no NVRTC (CURATOR_NVRTC): fused kernels are not compiled; the committed ones run one by one");
    }
    found
}

/// What a process left behind.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    /// Its stdout, if it succeeded.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self.stdout
    }
}

/// Runs `curator` with a stand-in, or without any device.
pub fn curator(arguments: &[&str], standin: Option<&Standin>) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_curator"));
    command.args(arguments).env_remove("LD_LIBRARY_PATH");
    if let Some(standin) = standin {
        command.envs(standin.environment());
    }
    // Compiled kernels are kept between runs of the tests: the same sources give the same kernels.
    command.env("XDG_CACHE_HOME", PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    // One at a time: the stand-in works as hard as it can, and tests of the prompt beside it wait for answers.
    let _alone = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Fails if a kernel or the program made a mistake: out of bounds, a race, unwritten memory, a leak.
#[track_caller]
pub fn assert_no_mistakes(standin: &Standin) {
    let counters = standin.counters();
    assert_eq!((counters.faults, counters.leaked_bytes), (vec![], 0));
}

/// `curator query -e TEXT` with every operator that has a kernel on the device.
pub fn on_gpu(query: &str, standin: &Standin, further: &[&str]) -> Ran {
    let nvrtc = nvrtc().map(|path| path.to_string_lossy().into_owned());
    let mut arguments = vec!["query", "--quiet", "--output-format", "json", "--device", "gpu", "-e", query];
    if let Some(nvrtc) = &nvrtc {
        arguments.extend(["--nvrtc", nvrtc.as_str()]);
    }
    arguments.extend(further);
    curator(&arguments, Some(standin))
}

/// The same on the CPU.
pub fn on_cpu(query: &str, further: &[&str]) -> String {
    let mut arguments = vec!["query", "--quiet", "--output-format", "json", "--device", "cpu", "-e", query];
    arguments.extend(further);
    curator(&arguments, None).ok()
}
