//! The C functions of CUDA's driver.
//!
//! Each does three things: it checks the pointers it is given, finds the device of the calling thread's context, and
//! calls the [`Driver`]. The names, arguments and results are CUDA's; what is not exported here does not exist for
//! programs.
//!
//! Invariant: no function unwinds into the program; a panic becomes `CUDA_ERROR_UNKNOWN`.

#![allow(non_snake_case, clippy::missing_safety_doc, clippy::too_many_arguments)]

mod contexts;
mod copies;
mod devices;
mod graphs;
mod launches;
mod library;
mod memory;
mod modules;
mod pools;
mod streams;

use super::settings::Settings;
use super::state::{Driver, Handle, tell};
use super::status::Status;
use crate::os;
use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Declares C functions: each body gives `Result<(), Status>` and may use its pointers as CUDA's function of that name.
macro_rules! exports {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            #[doc = concat!("CUDA's `", stringify!($name), "`.")]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> u32 {
                super::answer(stringify!($name), move || {
                    // SAFETY: the caller gives the pointers that CUDA's function of this name asks for; null is checked.
                    #[allow(unused_unsafe)]
                    unsafe { $body }
                })
            }
        )*

        /// The functions of this file, for those who ask for them by name.
        pub(super) fn exports() -> Vec<(&'static str, *const std::ffi::c_void)> {
            vec![$((stringify!($name), $name as *const std::ffi::c_void)),*]
        }
    };
}
use exports;

static DRIVER: OnceLock<Result<Mutex<Driver>, String>> = OnceLock::new();

thread_local! {
    /// The contexts that this thread has pushed; the last one is current.
    static CONTEXTS: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// The driver, made at the first call from the environment. Wrong settings make every call fail, and are told once.
fn any_driver() -> Result<MutexGuard<'static, Driver>, Status> {
    let driver = DRIVER.get_or_init(|| {
        let made = Settings::from_environment().and_then(Driver::new);
        match &made {
            Ok(driver) if driver.settings.stats.is_some() => os::at_exit(save_at_exit),
            Ok(_) => {}
            Err(error) => tell(error),
        }
        made.map(Mutex::new)
    });
    let lock = driver.as_ref().map_err(|_| Status::INVALID_VALUE)?;
    Ok(lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// The driver after `cuInit`.
fn driver() -> Result<MutexGuard<'static, Driver>, Status> {
    let driver = any_driver()?;
    if driver.is_initialized { Ok(driver) } else { Err(Status::NOT_INITIALIZED) }
}

/// The driver and the device of the current context, if it is usable.
fn current() -> Result<(MutexGuard<'static, Driver>, usize), Status> {
    let mut driver = driver()?;
    let context = current_context().ok_or(Status::INVALID_CONTEXT)?;
    let device = *driver.contexts.get(&context).ok_or(Status::CONTEXT_IS_DESTROYED)?;
    driver.enter(device)?;
    Ok((driver, device))
}

/// As `current`, with the stream that a handle means.
fn current_stream(stream: Handle) -> Result<(MutexGuard<'static, Driver>, usize, Handle), Status> {
    let (driver, device) = current()?;
    let stream = driver.resolve(device, stream)?;
    Ok((driver, device, stream))
}

fn current_context() -> Option<Handle> {
    CONTEXTS.with(|contexts| contexts.borrow().last().copied()).filter(|context| *context != 0)
}

fn device_number(driver: &Driver, device: i32) -> Result<usize, Status> {
    usize::try_from(device).ok().filter(|device| *device < driver.devices.len()).ok_or(Status::INVALID_DEVICE)
}

/// Writes a result through a pointer of the program.
unsafe fn put<T>(to: *mut T, value: T) -> Result<(), Status> {
    if to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program gives the place of a `T`, which need not be aligned as Rust wants it.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

fn answer(name: &str, call: impl FnOnce() -> Result<(), Status>) -> u32 {
    let answer = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer,
        Err(_) => {
            tell(&format!("{name} panicked"));
            Err(Status::UNKNOWN)
        }
    };
    if DRIVER.get().is_some() && is_traced() {
        tell(&match answer {
            Ok(()) => name.to_string(),
            Err(status) => format!("{name}: {status:?}"),
        });
    }
    answer.map_or_else(|status| status.0, |()| 0)
}

fn is_traced() -> bool {
    static TRACED: OnceLock<bool> = OnceLock::new();
    *TRACED.get_or_init(|| any_driver().is_ok_and(|driver| driver.settings.trace))
}

extern "C" fn save_at_exit() {
    // A thread that still holds the lock saves when its launch is over; waiting for it could take for ever.
    if let Some(Ok(lock)) = DRIVER.get()
        && let Ok(driver) = lock.try_lock()
    {
        driver.save();
    }
}

/// A C function by its name; CUDA's headers call the second version of a function by its plain name.
pub(super) fn find(name: &str) -> Option<*const c_void> {
    let all = [
        contexts::exports(),
        copies::exports(),
        devices::exports(),
        graphs::exports(),
        launches::exports(),
        library::exports(),
        memory::exports(),
        modules::exports(),
        pools::exports(),
        streams::exports(),
    ]
    .concat();
    let named = |wanted: String| all.iter().find(|(known, _)| *known == wanted).map(|(_, function)| *function);
    named(format!("{name}_v2")).or_else(|| named(name.to_string()))
}
