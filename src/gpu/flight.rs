//! One batch on its way through a device: its slab, its staging buffer, its place in a stream.
//!
//! ```text
//! staging ──copy in──► slab ──kernels──► slab ──copy out──► staging
//! ```
//! Invariant: while the device may still read or write the staging buffer, nobody else can: it is lent out as a slice
//! only before the copy in and after the wait, and a flight that is dropped in between waits first.
//! Not here: how much memory may be used (`memory.rs`), and what lies where in the slab (`layout.rs`).
#![allow(unsafe_code)]

use std::{ffi::c_void, ops::Range, ptr::NonNull, sync::Arc};

use cudarc::driver::{result, sys};

use super::driver::{Context, Failure, Kernel, Marker, Stream};

/// Host memory that batches are packed in.
#[derive(Debug)]
pub(super) struct Staging {
    memory: HostMemory,
    n_bytes: usize,
}

#[derive(Debug)]
enum HostMemory {
    /// The device copies from it directly.
    Pinned { context: Arc<Context>, start: NonNull<u8> },
    /// The driver copies it to memory of its own first.
    Pageable(Vec<u8>),
}

// SAFETY: pinned memory is ordinary memory of the process that does not move; `Staging` owns it alone.
unsafe impl Send for Staging {}

impl Staging {
    /// Memory that is locked in place, zeroed.
    pub(super) fn pinned(context: &Arc<Context>, n_bytes: usize) -> Result<Self, Failure> {
        // Not write-combined: results are read from it too.
        // SAFETY: the driver gives `n_bytes` that only this value knows of, until `drop` frees them.
        let start = context.call("pinning memory", || unsafe { result::malloc_host(n_bytes, 0) })?;
        let start = NonNull::new(start.cast::<u8>()).ok_or(Failure::OutOfMemory)?;
        // SAFETY: `n_bytes` were just given; a slice may only be made of bytes that were written.
        unsafe { start.write_bytes(0, n_bytes) };
        Ok(Self { memory: HostMemory::Pinned { context: context.clone(), start }, n_bytes })
    }

    /// Ordinary memory, zeroed.
    pub(super) fn pageable(n_bytes: usize) -> Self {
        Self { memory: HostMemory::Pageable(vec![0; n_bytes]), n_bytes }
    }

    /// How much fits.
    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn as_slice(&self) -> &[u8] {
        match &self.memory {
            // SAFETY: `n_bytes` from `start` are owned by `self` and were written when it was made.
            HostMemory::Pinned { start, .. } => unsafe { std::slice::from_raw_parts(start.as_ptr(), self.n_bytes) },
            HostMemory::Pageable(bytes) => bytes,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        match &mut self.memory {
            // SAFETY: as above, and `self` is borrowed alone.
            HostMemory::Pinned { start, .. } => unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), self.n_bytes) },
            HostMemory::Pageable(bytes) => bytes,
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let HostMemory::Pinned { context, start } = &self.memory {
            // SAFETY: from `malloc_host`, freed once.
            context.release(|| unsafe { result::free_host(start.as_ptr().cast::<c_void>()) });
        }
    }
}

/// Device memory, given back in the order of the stream that it was taken in.
#[derive(Debug)]
pub(super) struct Slab {
    stream: Arc<Stream>,
    address: sys::CUdeviceptr,
    n_bytes: usize,
}

impl Slab {
    pub(super) fn new(stream: &Arc<Stream>, n_bytes: usize) -> Result<Self, Failure> {
        let context = &stream.context;
        // The driver refuses to give nothing.
        let asked = n_bytes.max(1);
        // SAFETY: the stream lives; the memory is written before kernels read it (`layout.rs`).
        let address = context.call("taking memory", || unsafe {
            if context.has_pools { result::malloc_async(stream.raw(), asked) } else { result::malloc_sync(asked) }
        })?;
        Ok(Self { stream: stream.clone(), address, n_bytes })
    }

    pub(super) fn address(&self) -> u64 {
        self.address
    }

    /// Puts a copy of `bytes` to the start of the slab into the stream, and waits for it.
    pub(super) fn fill(&self, bytes: &[u8]) -> Result<(), Failure> {
        if bytes.len() > self.n_bytes {
            return Err(Failure::Refused(format!("{} bytes do not fit in {}", bytes.len(), self.n_bytes)));
        }
        let context = &self.stream.context;
        // SAFETY: the slab has room, and `bytes` are borrowed until the wait below is over.
        let copied = context.call("copying to the GPU", || unsafe {
            result::memcpy_htod_async(self.address, bytes, self.stream.raw())
        });
        // Also after a failure: something may be under way.
        let waited = self.stream.synchronize();
        copied.and(waited)
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        let context = &self.stream.context;
        // SAFETY: taken by `new` and freed once. From a pool it is freed behind all work of its stream; without pools
        // the driver waits for the device itself.
        context.release(|| unsafe {
            if context.has_pools {
                result::free_async(self.address, self.stream.raw())
            } else {
                result::free_sync(self.address)
            }
        });
    }
}

/// Where in a stream a batch began, was copied in, was computed and was copied out.
#[derive(Debug)]
pub(super) struct Markers {
    pub(super) begin: Marker,
    pub(super) copied_in: Marker,
    pub(super) computed: Marker,
    pub(super) copied_out: Marker,
}

impl Markers {
    pub(super) fn new(context: &Arc<Context>) -> Result<Self, Failure> {
        let marker = || Marker::new(context);
        Ok(Self { begin: marker()?, copied_in: marker()?, computed: marker()?, copied_out: marker()? })
    }
}

/// Seconds that the device spent on one batch, by its own clock.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DeviceSeconds {
    /// Copying the columns in.
    pub copy_in: f64,
    /// Computing.
    pub compute: f64,
    /// Copying the results out.
    pub copy_out: f64,
}

/// What a flight borrows and gives back.
#[derive(Debug)]
pub(super) struct Gear {
    pub(super) staging: Staging,
    pub(super) markers: Markers,
}

/// A batch under way. See the picture above.
#[derive(Debug)]
pub(super) struct Flight {
    // Freed first: the memory goes back to the pool before `stream` may be destroyed.
    slab: Slab,
    stream: Arc<Stream>,
    gear: Option<Gear>,
    stage: FlightStage,
    n_bytes_out: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FlightStage {
    /// Nothing was put into the stream.
    Ready,
    /// The device may be using the staging buffer.
    UnderWay,
    /// The results are in the staging buffer.
    Landed,
}

impl Flight {
    pub(super) fn new(slab: Slab, gear: Gear) -> Self {
        let stream = slab.stream.clone();
        Self { slab, stream, gear: Some(gear), stage: FlightStage::Ready, n_bytes_out: 0 }
    }

    /// Where the slab is on the device.
    pub(super) fn address(&self) -> u64 {
        self.slab.address
    }

    /// Packs the batch by `write` and puts its copy into the stream.
    pub(super) fn copy_in(
        &mut self,
        n_bytes: usize,
        write: impl FnOnce(&mut [u8]) -> Result<(), String>,
    ) -> Result<(), Failure> {
        let slab_bytes = self.slab.n_bytes;
        let gear = self.gear.as_mut().filter(|_| self.stage == FlightStage::Ready).ok_or_else(out_of_order)?;
        let source = gear.staging.as_mut_slice().get_mut(..n_bytes).filter(|_| n_bytes <= slab_bytes);
        let source = source.ok_or_else(|| Failure::Refused(format!("{n_bytes} bytes do not fit in {slab_bytes}")))?;
        write(source).map_err(Failure::Refused)?;
        gear.markers.begin.record(&self.stream)?;
        self.stage = FlightStage::UnderWay;
        // SAFETY: the slab has room; the staging buffer is not touched again until `wait` or `drop` has waited.
        self.stream.context.call("copying to the GPU", || unsafe {
            result::memcpy_htod_async(self.slab.address, source, self.stream.raw())
        })?;
        gear.markers.copied_in.record(&self.stream)
    }

    /// Starts a kernel whose launch block is at `launch_offset` of the slab.
    pub(super) fn launch(&mut self, kernel: &Kernel, launch_offset: usize, n_blocks: usize) -> Result<(), Failure> {
        if self.stage != FlightStage::UnderWay || launch_offset >= self.slab.n_bytes {
            return Err(out_of_order());
        }
        kernel.launch(&self.stream, self.slab.address + launch_offset as u64, n_blocks)
    }

    /// Puts the copy of the results into the stream.
    pub(super) fn copy_out(&mut self, range: Range<usize>) -> Result<(), Failure> {
        let slab_bytes = self.slab.n_bytes;
        let gear = self.gear.as_mut().filter(|_| self.stage == FlightStage::UnderWay).ok_or_else(out_of_order)?;
        let target = gear.staging.as_mut_slice().get_mut(..range.len()).filter(|_| range.end <= slab_bytes);
        let target = target.ok_or_else(|| Failure::Refused(format!("there are no results at {range:?}")))?;
        self.n_bytes_out = range.len();
        gear.markers.computed.record(&self.stream)?;
        // SAFETY: the range is in the slab, and the buffer has room for it; the copy in came before in the same stream,
        // so the buffer is free to be written; it is not read until `wait` has waited.
        self.stream.context.call("copying from the GPU", || unsafe {
            result::memcpy_dtoh_async(target, self.slab.address + range.start as u64, self.stream.raw())
        })?;
        gear.markers.copied_out.record(&self.stream)
    }

    /// Waits for the results.
    pub(super) fn wait(&mut self) -> Result<(&[u8], DeviceSeconds), Failure> {
        let gear = self.gear.as_ref().filter(|_| self.stage == FlightStage::UnderWay).ok_or_else(out_of_order)?;
        gear.markers.copied_out.wait()?;
        self.stage = FlightStage::Landed;
        let Markers { begin, copied_in, computed, copied_out } = &gear.markers;
        let seconds = DeviceSeconds {
            copy_in: copied_in.seconds_since(begin).unwrap_or(0.0),
            compute: computed.seconds_since(copied_in).unwrap_or(0.0),
            copy_out: copied_out.seconds_since(computed).unwrap_or(0.0),
        };
        Ok((&gear.staging.as_slice()[..self.n_bytes_out], seconds))
    }

    /// Ends the flight, after the device has finished with it, and gives back what it borrowed.
    pub(super) fn end(&mut self) -> Option<Gear> {
        let gear = self.gear.take()?;
        if self.stage != FlightStage::UnderWay {
            return Some(gear);
        }
        match self.stream.synchronize() {
            Ok(()) => Some(gear),
            // Nothing of a lost context can be used again, and nothing in it can be freed but by its end.
            Err(Failure::Lost(_)) => None,
            // Whether the device still uses the buffer is not known, so nobody else may ever get it.
            Err(_) => {
                std::mem::forget(gear);
                None
            }
        }
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.end();
    }
}

fn out_of_order() -> Failure {
    Failure::Refused("the steps of a batch came out of order".to_string())
}
