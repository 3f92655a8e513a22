//! Copies between host and device, as calls: which of them wait, and which memory they read when.
//!
//! | memory of the host | to the device            | to the host                     |
//! |--------------------|--------------------------|---------------------------------|
//! | pageable           | taken when queued        | the call waits for it           |
//! | pinned             | read when the copy runs  | written when the copy runs      |
//!
//! Invariant: an address that is not allocated when the call is made is refused at once; one that is freed before the
//! copy runs ends the context.

use super::state::{Driver, Handle, Pinned};
use super::status::Status;
use super::work::{HostRange, Source, Work};
use std::sync::Arc;

impl Driver {
    /// Whether all of the range is pinned.
    pub fn is_pinned(&self, range: HostRange) -> bool {
        let before = self.pinned.range(..=range.address).next_back();
        before.is_some_and(|(at, pinned)| range.address + range.n_bytes <= at + pinned.n_bytes)
    }

    /// Notes pinned memory. Memory that is pinned already is refused.
    pub fn pin(&mut self, address: usize, pinned: Pinned) -> Result<(), Status> {
        let next = self.pinned.range(..address + pinned.n_bytes).next_back();
        if next.is_some_and(|(at, other)| at + other.n_bytes > address) {
            return Err(Status::HOST_MEMORY_ALREADY_REGISTERED);
        }
        self.pinned.insert(address, pinned);
        let counters = &mut self.devices[pinned.device].counters;
        counters.host_allocations += 1;
        counters.host_bytes_in_use += pinned.n_bytes as u64;
        Ok(())
    }

    /// Forgets pinned memory, after all work of its device: none of it reads or writes the memory later.
    pub fn unpin(&mut self, address: usize, is_ours: bool) -> Result<Pinned, Status> {
        let pinned = self.pinned.get(&address).copied().filter(|pinned| pinned.is_ours == is_ours);
        let pinned = pinned.ok_or(if is_ours { Status::INVALID_VALUE } else { Status::HOST_MEMORY_NOT_REGISTERED })?;
        // A context that an error has ended has no work left that could touch the memory.
        let _ = self.run_device(pinned.device);
        self.pinned.remove(&address);
        self.devices[pinned.device].counters.host_bytes_in_use -= pinned.n_bytes as u64;
        Ok(pinned)
    }

    fn refuse_unallocated(&mut self, device: usize, address: u64, n_bytes: u64, what: &str) -> Result<(), Status> {
        let of = self.device_of(address);
        if of.is_some_and(|of| self.devices[of].memory.contains(address, n_bytes)) {
            return Ok(());
        }
        self.fault(device, format!("{what} {n_bytes} bytes at {address:#x}, which are not allocated"));
        Err(Status::INVALID_VALUE)
    }

    fn count_copy(&mut self, device: usize) -> Result<(), Status> {
        if self.settings.fail_copy.hits(device) {
            self.injected(device, "FAIL_COPY");
            return Err(Status::UNKNOWN);
        }
        Ok(())
    }

    /// Queues a copy to the device.
    ///
    /// # Safety
    /// The range is readable now if it is pageable, and until the copy has run if it is pinned.
    pub unsafe fn copy_in(&mut self, stream: Handle, to: u64, from: HostRange) -> Result<(), Status> {
        let held = self.stream(stream)?;
        let (device, is_captured) = (held.device, held.capture.is_some());
        if from.n_bytes == 0 {
            return Ok(());
        }
        self.count_copy(device)?;
        self.refuse_unallocated(device, to, from.n_bytes as u64, "copy to")?;
        let from = if is_captured || self.is_pinned(from) {
            Source::Pinned(from)
        } else {
            // SAFETY: the caller promises that the range is readable.
            let bytes = unsafe { std::slice::from_raw_parts(from.address as *const u8, from.n_bytes) };
            Source::Staged(Arc::new(bytes.to_vec()))
        };
        self.queue(stream, Work::CopyIn { to, from })
    }

    /// Queues a copy to the host; to pageable memory, it is over when this returns.
    ///
    /// # Safety
    /// The range is writable, and stays so until the copy has run.
    pub unsafe fn copy_out(&mut self, stream: Handle, to: HostRange, from: u64) -> Result<(), Status> {
        let held = self.stream(stream)?;
        let (device, is_captured) = (held.device, held.capture.is_some());
        if to.n_bytes == 0 {
            return Ok(());
        }
        self.count_copy(device)?;
        self.refuse_unallocated(device, from, to.n_bytes as u64, "copy from")?;
        self.queue(stream, Work::CopyOut { to, from })?;
        if is_captured || self.is_pinned(to) { Ok(()) } else { self.run(stream, u64::MAX) }
    }

    /// Queues a copy from device memory to device memory, of the same or another device.
    pub fn copy_within(&mut self, stream: Handle, to: u64, from: u64, n_bytes: u64) -> Result<(), Status> {
        let device = self.stream(stream)?.device;
        if n_bytes == 0 {
            return Ok(());
        }
        self.count_copy(device)?;
        self.refuse_unallocated(device, from, n_bytes, "copy from")?;
        self.refuse_unallocated(device, to, n_bytes, "copy to")?;
        self.queue(stream, Work::CopyWithin { to, from, n_bytes })
    }

    /// Queues a memset of `n` times the pattern.
    pub fn fill(&mut self, stream: Handle, at: u64, pattern: &[u8], n: u64) -> Result<(), Status> {
        let device = self.stream(stream)?.device;
        let n_bytes = n.checked_mul(pattern.len() as u64).ok_or(Status::INVALID_VALUE)?;
        if n_bytes == 0 {
            return Ok(());
        }
        self.refuse_unallocated(device, at, n_bytes, "memset of")?;
        self.queue(stream, Work::Fill { at, pattern: pattern.to_vec(), n_bytes })
    }

    /// Queues a free on a stream.
    pub fn free_on(&mut self, stream: Handle, address: u64) -> Result<(), Status> {
        self.refuse_in_capture(stream)?;
        let device = self.device_of(address).ok_or(Status::INVALID_VALUE)?;
        if let Err(status) = self.devices[device].begin_free(address) {
            self.fault(device, format!("free of {address:#x}, where no allocation starts that is not freed already"));
            return Err(status);
        }
        self.queue(stream, Work::Free { address })
    }
}
