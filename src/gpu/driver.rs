//! The CUDA driver's objects — context, stream, marker, module — as Rust values that free themselves.
//!
//! Thin over `cudarc::driver::result`, whose functions are the driver's own calls, one for one: what is counted here is
//! what the driver does.
//! Invariant: every call is made with its context current on the calling thread, and none is made in a lost context.
//! Not here: memory and copies (`flight.rs`).
#![allow(unsafe_code)]

use std::{
    ffi::{CString, c_void},
    sync::{Arc, OnceLock},
};

use cudarc::driver::{DriverError, result, sys};

use super::{
    THREADS_PER_BLOCK,
    error::{describe, is_lost, is_out_of_memory},
};

/// What a call to the driver came to.
#[derive(Debug)]
pub(super) enum Failure {
    OutOfMemory,
    /// The context is unusable from now on.
    Lost(String),
    /// This call only.
    Refused(String),
}

/// The primary context of one device.
#[derive(Debug)]
pub(super) struct Context {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    /// Whether memory comes from the driver's stream-ordered pool.
    pub(super) has_pools: bool,
    lost: OnceLock<String>,
}

// SAFETY: a context handle may be used from any thread, one at a time or several, once it is current there; `call` makes
// it so. `lost` synchronises itself.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Opens the device. The driver must have been initialised (`probe::start`).
    pub(super) fn open(ordinal: usize) -> Result<Arc<Self>, DriverError> {
        let device = result::device::get(ordinal as i32)?;
        // SAFETY: `device` is the handle the driver just gave.
        let raw = unsafe { result::primary_ctx::retain(device)? };
        let mut context = Self { device, raw, has_pools: false, lost: OnceLock::new() };
        let pools = context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
        context.has_pools = pools == Some(1) && has_symbol("cuMemAllocAsync") && has_symbol("cuMemFreeAsync");
        Ok(Arc::new(context))
    }

    /// A number about the device, if the driver knows it.
    pub(super) fn attribute(&self, which: sys::CUdevice_attribute) -> Option<u32> {
        attribute(self.device, which)
    }

    /// Free and total bytes of the device.
    pub(super) fn memory_info(&self) -> Result<(usize, usize), Failure> {
        self.call("asking for free memory", result::mem_get_info)
    }

    /// Why nothing works any more, if so.
    pub(super) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Does `work` with this context current, and sorts what may go wrong.
    pub(super) fn call<T>(&self, what: &str, work: impl FnOnce() -> Result<T, DriverError>) -> Result<T, Failure> {
        if let Some(why) = self.lost.get() {
            return Err(Failure::Lost(why.clone()));
        }
        // SAFETY: `raw` was retained by `open` and is released only when `self` is dropped.
        unsafe { result::ctx::set_current(self.raw) }.and_then(|()| work()).map_err(|error| {
            if is_out_of_memory(error) {
                Failure::OutOfMemory
            } else if is_lost(error) {
                Failure::Lost(self.lost.get_or_init(|| describe(what, error)).clone())
            } else {
                Failure::Refused(describe(what, error))
            }
        })
    }

    /// For drops: errors leave nothing to do, and a lost context has nothing to free.
    pub(super) fn release(&self, work: impl FnOnce() -> Result<(), DriverError>) {
        if self.call("releasing", work).is_err() {
            tracing::debug!("a GPU resource was not released: the context is unusable");
        }
    }

    /// The pool that `cuMemAllocAsync` takes from.
    fn pool(&self) -> Option<sys::CUmemoryPool> {
        let known = ["cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute", "cuMemPoolGetAttribute", "cuMemPoolTrimTo"];
        if !self.has_pools || !known.iter().all(|name| has_symbol(name)) {
            return None;
        }
        // SAFETY: `device` is a handle the driver gave.
        self.call("finding the memory pool", || unsafe { result::device::get_default_mem_pool(self.device) }).ok()
    }

    /// Lets the pool keep up to `n_bytes` that nothing uses, so that the next batch need not ask the system for memory.
    pub(super) fn keep_in_pool(&self, n_bytes: u64) {
        let Some(pool) = self.pool() else { return };
        let mut n_bytes = n_bytes;
        let threshold = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the pool is the device's own, and this attribute is a `u64`.
        self.release(|| unsafe { result::mem_pool::set_attribute(pool, threshold, (&raw mut n_bytes).cast()) });
    }

    /// Bytes that the pool holds, used or not.
    pub(super) fn reserved_bytes(&self) -> Option<u64> {
        let pool = self.pool()?;
        let mut n_bytes: u64 = 0;
        let reserved = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
        // SAFETY: the pool is the device's own, and this attribute is a `u64`.
        self.call("asking for reserved memory", || unsafe {
            result::mem_pool::get_attribute(pool, reserved, (&raw mut n_bytes).cast())
        })
        .ok()?;
        Some(n_bytes)
    }

    /// Gives back what the pool holds and nothing uses.
    pub(super) fn trim_pool(&self) {
        let Some(pool) = self.pool() else { return };
        // SAFETY: the pool is the device's own; trimming leaves what is in use.
        self.release(|| unsafe { result::mem_pool::trim_to(pool, 0) });
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained once by `open`; everything made in it holds an `Arc` of it, so nothing is left.
        if unsafe { result::primary_ctx::release(self.device) }.is_err() {
            tracing::debug!("the GPU's context was not released");
        }
    }
}

/// A number about a device, if the driver knows it.
pub(super) fn attribute(device: sys::CUdevice, which: sys::CUdevice_attribute) -> Option<u32> {
    // SAFETY: `device` is a handle the driver gave.
    unsafe { result::device::get_attribute(device, which) }.ok().and_then(|value| u32::try_from(value).ok())
}

/// Bytes of a device.
pub(super) fn total_bytes(device: sys::CUdevice) -> Result<usize, DriverError> {
    // SAFETY: `device` is a handle the driver gave.
    unsafe { result::device::total_mem(device) }
}

/// The CUDA version of the driver, as 12090 for 12.9.
pub(super) fn driver_version() -> Result<u32, DriverError> {
    let mut version = 0;
    // SAFETY: the driver writes one integer.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result()?;
    Ok(u32::try_from(version).unwrap_or(0))
}

/// Whether the driver's library is there.
pub(super) fn has_library() -> bool {
    // SAFETY: loading it runs its initialisers, as any program that uses the driver does.
    unsafe { sys::is_culib_present() }
}

/// Whether the driver has a function; `cudarc` panics on the first call of one that is missing. The library must be
/// there.
pub(super) fn has_symbol(name: &str) -> bool {
    // SAFETY: the symbol is only looked for, not called.
    unsafe { sys::culib().get::<*const c_void>(name.as_bytes()).is_ok() }
}

/// A queue of work: what is put into one is done in order, what is in different ones at the same time.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) context: Arc<Context>,
    raw: sys::CUstream,
}

// SAFETY: the driver's stream functions may be called from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    pub(super) fn new(context: &Arc<Context>) -> Result<Arc<Self>, Failure> {
        let raw =
            context.call("making a stream", || result::stream::create(result::stream::StreamKind::NonBlocking))?;
        Ok(Arc::new(Self { context: context.clone(), raw }))
    }

    /// Waits until all that was put in is done.
    pub(super) fn synchronize(&self) -> Result<(), Failure> {
        // SAFETY: `raw` is destroyed only when `self` is dropped.
        self.context.call("waiting for a stream", || unsafe { result::stream::synchronize(self.raw) })
    }

    /// The driver's handle, for calls that put work in.
    pub(super) fn raw(&self) -> sys::CUstream {
        self.raw
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: made by `new` and destroyed once; the driver finishes what is in it first.
        self.context.release(|| unsafe { result::stream::destroy(self.raw) });
    }
}

/// A place in a stream that can be waited for, with the time at which it was reached.
#[derive(Debug)]
pub(super) struct Marker {
    context: Arc<Context>,
    raw: sys::CUevent,
}

// SAFETY: the driver's event functions may be called from any thread.
unsafe impl Send for Marker {}
// SAFETY: as above.
unsafe impl Sync for Marker {}

impl Marker {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, Failure> {
        // A thread that waits sleeps: others need its core.
        let flags = sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC;
        let raw = context.call("making an event", || result::event::create(flags))?;
        Ok(Self { context: context.clone(), raw })
    }

    /// Puts it at the end of the stream.
    pub(super) fn record(&self, stream: &Stream) -> Result<(), Failure> {
        // SAFETY: both live, and belong to the same context.
        self.context.call("recording an event", || unsafe { result::event::record(self.raw, stream.raw) })
    }

    /// Waits until the stream has come to where it was last put.
    pub(super) fn wait(&self) -> Result<(), Failure> {
        // SAFETY: `raw` is destroyed only when `self` is dropped.
        self.context.call("waiting for the GPU", || unsafe { result::event::synchronize(self.raw) })
    }

    /// Seconds from `earlier` to here; both must have been waited for.
    pub(super) fn seconds_since(&self, earlier: &Marker) -> Option<f64> {
        // SAFETY: both live.
        let ms = self.context.call("reading an event", || unsafe { result::event::elapsed(earlier.raw, self.raw) });
        ms.ok().map(|ms| f64::from(ms) / 1e3)
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        // SAFETY: made by `new` and destroyed once; a stream that has yet to reach it does not mind.
        self.context.release(|| unsafe { result::event::destroy(self.raw) });
    }
}

/// Compiled kernels on a device.
#[derive(Debug)]
pub(super) struct Module {
    context: Arc<Context>,
    raw: sys::CUmodule,
}

// SAFETY: the driver's module functions may be called from any thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads PTX or a cubin.
    pub(super) fn load(context: &Arc<Context>, image: &[u8]) -> Result<Arc<Self>, Failure> {
        // PTX is a text that ends in a zero byte; behind a cubin one more does no harm.
        let mut terminated = Vec::with_capacity(image.len() + 1);
        terminated.extend_from_slice(image);
        terminated.push(0);
        // SAFETY: the image is a zero-terminated text, or a cubin, which says itself how long it is; the driver copies it.
        let raw =
            context.call("loading a kernel", || unsafe { result::module::load_data(terminated.as_ptr().cast()) })?;
        Ok(Arc::new(Self { context: context.clone(), raw }))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded by `load` and unloaded once; whoever launches from it holds an `Arc` of it until it has waited.
        self.context.release(|| unsafe { result::module::unload(self.raw) });
    }
}

/// One kernel of a module: it takes one argument, the address of a `Launch`.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    module: Arc<Module>,
    raw: sys::CUfunction,
}

// SAFETY: the driver's function handles may be used from any thread, and live as long as the module.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Finds a kernel by name.
    pub(super) fn find(module: &Arc<Module>, name: &str) -> Result<Self, Failure> {
        let c_name =
            CString::new(name).map_err(|_| Failure::Refused(format!("`{name}` cannot be the name of a kernel")))?;
        // SAFETY: the module lives.
        let raw = module.context.call(&format!("finding the kernel `{name}`"), || unsafe {
            result::module::get_function(module.raw, c_name)
        })?;
        Ok(Self { module: module.clone(), raw })
    }

    /// Starts it in the stream, on blocks of [`THREADS_PER_BLOCK`].
    pub(super) fn launch(&self, stream: &Stream, launch_address: u64, n_blocks: usize) -> Result<(), Failure> {
        let n_blocks = u32::try_from(n_blocks)
            .ok()
            .filter(|n_blocks| *n_blocks <= i32::MAX as u32)
            .ok_or_else(|| Failure::Refused(format!("{n_blocks} blocks are too many for one launch")))?;
        let mut address = launch_address;
        let mut arguments = [(&raw mut address).cast::<c_void>()];
        // SAFETY: kernels are generated with exactly one argument, a pointer (`codegen.rs`); the
        // driver copies the argument before it returns. The memory that it points to is the slab of a `Flight`, which
        // frees it only behind this launch in the same stream, and the module is held until then.
        self.module.context.call("starting a kernel", || unsafe {
            result::launch_kernel(
                self.raw,
                (n_blocks, 1, 1),
                (THREADS_PER_BLOCK as u32, 1, 1),
                0,
                stream.raw,
                &mut arguments,
            )
        })
    }
}
