//! Copies and memsets. Those without a stream in their name wait for the default one.

use super::{Handle, current_stream, driver, exports};
use crate::driver::{Driver, HostRange, Status};
use std::ffi::c_void;

const DEFAULT: Handle = 0;

fn host(memory: *const c_void, n_bytes: usize) -> Result<HostRange, Status> {
    if memory.is_null() && n_bytes > 0 {
        return Err(Status::INVALID_VALUE);
    }
    Ok(HostRange { address: memory as usize, n_bytes })
}

/// Does something on a stream and, if the call has no stream of its own, waits for it.
fn on(stream: Handle, waits: bool, call: impl FnOnce(&mut Driver, Handle) -> Result<(), Status>) -> Result<(), Status> {
    let (mut driver, _, stream) = current_stream(stream)?;
    call(&mut driver, stream)?;
    if waits { driver.run(stream, u64::MAX) } else { Ok(()) }
}

unsafe fn copy_in(to: u64, from: *const c_void, n_bytes: usize, stream: Handle, waits: bool) -> Result<(), Status> {
    let from = host(from, n_bytes)?;
    // SAFETY: the program gives readable memory, as CUDA asks.
    on(stream, waits, |driver, stream| unsafe { driver.copy_in(stream, to, from) })
}

unsafe fn copy_out(to: *mut c_void, from: u64, n_bytes: usize, stream: Handle, waits: bool) -> Result<(), Status> {
    let to = host(to, n_bytes)?;
    // SAFETY: the program gives writable memory, as CUDA asks.
    on(stream, waits, |driver, stream| unsafe { driver.copy_out(stream, to, from) })
}

fn copy_within(to: u64, from: u64, n_bytes: usize, stream: Handle, waits: bool) -> Result<(), Status> {
    on(stream, waits, |driver, stream| driver.copy_within(stream, to, from, n_bytes as u64))
}

/// A copy that tells by the addresses which side is the device.
unsafe fn copy(to: u64, from: u64, n_bytes: usize, stream: Handle, waits: bool) -> Result<(), Status> {
    let is_device = |address| driver().map(|driver| driver.device_of(address).is_some());
    // SAFETY: an address outside of all devices is memory of the program.
    unsafe {
        match (is_device(to)?, is_device(from)?) {
            (true, true) => copy_within(to, from, n_bytes, stream, waits),
            (true, false) => copy_in(to, from as *const c_void, n_bytes, stream, waits),
            (false, true) => copy_out(to as *mut c_void, from, n_bytes, stream, waits),
            (false, false) => Err(Status::INVALID_VALUE),
        }
    }
}

fn fill(at: u64, pattern: &[u8], n: usize, stream: Handle, waits: bool) -> Result<(), Status> {
    on(stream, waits, |driver, stream| driver.fill(stream, at, pattern, n as u64))
}

exports! {
    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, n_bytes: usize) { copy_in(to, from, n_bytes, DEFAULT, true) }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, n_bytes: usize, stream: Handle) {
        copy_in(to, from, n_bytes, stream, false)
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, n_bytes: usize) { copy_out(to, from, n_bytes, DEFAULT, true) }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, n_bytes: usize, stream: Handle) {
        copy_out(to, from, n_bytes, stream, false)
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, n_bytes: usize) { copy_within(to, from, n_bytes, DEFAULT, true) }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, n_bytes: usize, stream: Handle) {
        copy_within(to, from, n_bytes, stream, false)
    }

    fn cuMemcpyPeer(to: u64, _to_context: Handle, from: u64, _from_context: Handle, n_bytes: usize) {
        copy_within(to, from, n_bytes, DEFAULT, true)
    }

    fn cuMemcpyPeerAsync(
        to: u64, _to_context: Handle, from: u64, _from_context: Handle, n_bytes: usize, stream: Handle,
    ) {
        copy_within(to, from, n_bytes, stream, false)
    }

    fn cuMemcpy(to: u64, from: u64, n_bytes: usize) { copy(to, from, n_bytes, DEFAULT, true) }

    fn cuMemcpyAsync(to: u64, from: u64, n_bytes: usize, stream: Handle) { copy(to, from, n_bytes, stream, false) }

    fn cuMemsetD8_v2(at: u64, value: u8, n: usize) { fill(at, &[value], n, DEFAULT, true) }

    fn cuMemsetD16_v2(at: u64, value: u16, n: usize) { fill(at, &value.to_le_bytes(), n, DEFAULT, true) }

    fn cuMemsetD32_v2(at: u64, value: u32, n: usize) { fill(at, &value.to_le_bytes(), n, DEFAULT, true) }

    fn cuMemsetD8Async(at: u64, value: u8, n: usize, stream: Handle) { fill(at, &[value], n, stream, false) }

    fn cuMemsetD16Async(at: u64, value: u16, n: usize, stream: Handle) {
        fill(at, &value.to_le_bytes(), n, stream, false)
    }

    fn cuMemsetD32Async(at: u64, value: u32, n: usize, stream: Handle) {
        fill(at, &value.to_le_bytes(), n, stream, false)
    }
}
