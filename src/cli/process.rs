//! The process around a command: its threads, its panics, its exit code.

use super::funnel::plural;
use super::terminal::{is_closed_pipe, say_error};
use crate::{Error, Result, bug, store};
use futures::FutureExt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::any::Any;
use std::future::Future;
use std::num::NonZeroUsize;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;

/// Plans are walked recursively, on whichever thread; a query of a thousand verbs must not overflow.
const STACK_BYTES: usize = 16 << 20;

/// How long what a run has started may take to end.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// The same for a run that was interrupted; what it leaves half-written is removed then.
const GRACE: Duration = Duration::from_secs(2);

/// Runs `command` on a thread with room to recurse; turns what it gives, or its panic, into an exit code.
pub fn contain(command: impl FnOnce() -> Result<ExitCode> + Send + 'static) -> ExitCode {
    silence_panics();
    allow_many_files();
    let thread = std::thread::Builder::new().name("curator".into()).stack_size(STACK_BYTES).spawn(command);
    let result = match thread {
        Ok(thread) => thread.join().unwrap_or_else(|panic| Err(panic_error(panic.as_ref()))),
        Err(error) => Err(no_threads(1, &error)),
    };
    match result {
        Ok(code) => code,
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            say_error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

/// Threads read and write many files at once; systems often allow few at first, and more to who asks.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    // If it is refused, what there is may do.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// A panic becomes an error value where it is caught; only who asked for backtraces sees the raw message too.
fn silence_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none_or(|value| value == "0") {
        std::panic::set_hook(Box::new(|panic| tracing::debug!("{panic}")));
    }
}

fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (_, Some(message)) => message.as_str(),
        _ => "a panic without a message",
    };
    // The runtime panics where the system has no thread for it.
    match message.strip_prefix("OS can't spawn worker thread: ") {
        Some(why) => no_threads(1, &why),
        None => bug!("{message}"),
    }
}

/// The system refuses threads, or the memory for their stacks.
fn no_threads(n_threads: usize, why: &dyn std::fmt::Display) -> Error {
    let threads = plural(n_threads as u64, "thread");
    Error::Data(format!(
        "the system does not let this process start {threads}: {why}\n\
         use fewer with --threads, or raise the limits on processes and memory (`ulimit -u`, `ulimit -v`, the container's)"
    ))
}

/// Starts as many threads as the runtime is going to, to see whether it can: where one is refused, it would panic or wait
/// for ever.
fn try_threads(n_threads: usize) -> Result<()> {
    let gate = Mutex::new(());
    let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        let mut refused = Ok(());
        for _ in 0..n_threads {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            if let Err(error) = thread.spawn_scoped(scope, || drop(gate.lock())) {
                refused = Err(no_threads(n_threads, &error));
                break;
            }
        }
        drop(closed);
        refused
    })
}

/// Awaits `work`; a panic in it becomes an error.
pub async fn catch<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| Err(panic_error(panic.as_ref())))
}

/// The threads a session's queries run on.
pub fn runtime(threads: NonZeroUsize) -> Result<Runtime> {
    // Its own, and a few that wait for files.
    try_threads(threads.get() + 4)?;
    // Outputs are encoded by as many. A second runtime of the process keeps those of the first.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.get())
        .thread_name("curator-worker")
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .map_err(|error| no_threads(threads.get(), &error))
}

/// Awaits `work` on a runtime of its own, and everything it started before returning.
pub fn block_on<T>(threads: NonZeroUsize, work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = runtime(threads)?;
    let result = runtime.block_on(catch(work));
    let is_interrupted = matches!(result, Err(Error::Interrupted));
    runtime.shutdown_timeout(if is_interrupted { GRACE } else { SHUTDOWN });
    if is_interrupted {
        // A thread that is stuck in one long line has not yet heard of it.
        store::remove_unfinished();
    }
    result
}

/// `tracing` and `log` events on stderr: warnings of ours, more with `-v`, by module with RUST_LOG.
pub fn start_tracing(verbose: u8) {
    let default = match verbose {
        0 => "curator=warn",
        1 => "curator=info",
        2 => "curator=debug,info",
        _ => "trace",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    // A library user may have set a subscriber up; theirs stays.
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(super::terminal::stderr_has_colour())
        .try_init();
}
