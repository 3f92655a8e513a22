//! Kernels that belong to no operator, run once: one copy in, the launches in order, one copy back.
//!
//! Like a batch (`batch.rs`), but what lies where in the slab is up to whoever starts it. The launch block of all kernels
//! is at its beginning.
//! Not here: how work is cut to fit in memory.

use super::flight::Flight;
use super::memory::Claim;
use super::{Device, GpuError, driver::Kernel};
use std::ops::Range;
use std::sync::Arc;

/// Parts of a slab, one behind the other.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Parts {
    /// So far.
    pub(super) n_bytes: usize,
}

impl Parts {
    /// Room for a part; where it begins.
    pub(super) fn room(&mut self, part_bytes: usize) -> usize {
        let place = self.n_bytes.next_multiple_of(16);
        self.n_bytes = place + part_bytes;
        place
    }
}

/// Kernels on a device.
#[derive(Debug)]
pub(super) struct Task {
    device: Arc<Device>,
    kernels: Vec<Kernel>,
}

/// What one run of a task copies and starts.
pub(super) struct TaskRun<'a> {
    /// Bytes of the slab; of these the first are copied in.
    pub(super) n_bytes: usize,
    pub(super) input_bytes: usize,
    /// Blocks of each kernel.
    pub(super) n_blocks: &'a [usize],
    /// What is copied back.
    pub(super) output: Range<usize>,
}

/// A run under way.
#[derive(Debug)]
pub(super) struct Started {
    // Before the claim: memory is given back to the budget when it is free.
    flight: Flight,
    _claim: Claim,
    device: Arc<Device>,
    n_bytes: usize,
}

impl Task {
    /// Kernels by name, of one source each.
    pub(super) fn new(device: &Arc<Device>, kernels: &[(String, String)]) -> Result<Self, GpuError> {
        let kernels: Result<_, _> = kernels.iter().map(|(name, source)| device.load_kernel(source, name)).collect();
        Ok(Self { device: device.clone(), kernels: kernels? })
    }

    /// Puts it under way. `write` is given what is copied in, and the address that it will have.
    pub(super) fn start(&self, run: &TaskRun<'_>, write: impl FnOnce(&mut [u8], u64)) -> Result<Started, GpuError> {
        let TaskRun { n_bytes, input_bytes, n_blocks, output } = run;
        let (mut flight, claim) = self.device.flight(*n_bytes, (*input_bytes).max(output.len()))?;
        let address = flight.address();
        let error = |failure| self.device.error(failure, *n_bytes, *n_bytes);
        let copied = flight.copy_in(*input_bytes, |bytes| {
            write(bytes, address);
            Ok(())
        });
        copied.map_err(error)?;
        for (kernel, n_blocks) in self.kernels.iter().zip(*n_blocks) {
            if *n_blocks > 0 {
                flight.launch(kernel, 0, *n_blocks).map_err(error)?;
            }
        }
        flight.copy_out(output.clone()).map_err(error)?;
        Ok(Started { flight, _claim: claim, device: self.device.clone(), n_bytes: *n_bytes })
    }
}

impl Started {
    /// Waits for what is copied back.
    pub(super) fn wait<R>(mut self, read: impl FnOnce(&[u8]) -> R) -> Result<R, GpuError> {
        match self.flight.wait() {
            Ok((bytes, _)) => Ok(read(bytes)),
            Err(failure) => Err(self.device.error(failure, self.n_bytes, self.n_bytes)),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(gear) = self.flight.end() {
            self.device.put_back(gear);
        }
    }
}

/// Writes numbers one after the other, the least byte first; their bytes.
pub(super) fn write_words<const N: usize>(words: impl IntoIterator<Item = [u8; N]>, to: &mut [u8]) -> usize {
    let places = to.as_chunks_mut::<N>().0.iter_mut();
    words.into_iter().zip(places).map(|(word, place)| *place = word).count() * N
}

/// The first `n` numbers in `bytes`.
pub(super) fn words<const N: usize>(bytes: &[u8], n: usize) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().take(n).copied()
}

/// A device for tests, if there is one: a GPU, or a stand-in for the driver that the process was started with.
#[cfg(test)]
pub(super) fn first_device_or_say_so() -> Option<Arc<Device>> {
    use std::io::Write;
    let runtime = super::Runtime::open(&super::RuntimeOptions::default());
    let device = runtime.ok().and_then(|runtime| runtime.devices().first().cloned());
    if device.is_none() {
        // Not through `println!`, which the harness keeps to itself when a test passes.
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no GPU, nor a stand-in for one");
    }
    device
}
