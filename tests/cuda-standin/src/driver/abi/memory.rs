//! Device memory and pinned memory.

use super::{Handle, current, current_stream, driver, exports, put};
use crate::driver::{HostRange, Owner, Pinned, Status};
use crate::memory::UNWRITTEN;
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;

const PINNED_ALIGNMENT: usize = 4096;

fn pinned_layout(n_bytes: usize) -> Result<Layout, Status> {
    Layout::from_size_align(n_bytes, PINNED_ALIGNMENT).map_err(|_| Status::OUT_OF_MEMORY)
}

unsafe fn host_allocate(to: *mut *mut c_void, n_bytes: usize) -> Result<(), Status> {
    let (mut driver, device) = current()?;
    if n_bytes == 0 || to.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    if driver.settings.fail_host_alloc.hits(device) {
        driver.injected(device, "FAIL_HOST_ALLOC");
        return Err(Status::OUT_OF_MEMORY);
    }
    // SAFETY: the layout has a size, which was just checked.
    let memory = unsafe { alloc(pinned_layout(n_bytes)?) };
    if memory.is_null() {
        return Err(Status::OUT_OF_MEMORY);
    }
    // SAFETY: the memory was allocated with this size. It does not start as zero on a GPU's driver either.
    unsafe { memory.write_bytes(UNWRITTEN, n_bytes) };
    driver.pin(memory as usize, Pinned { n_bytes, device, is_ours: true })?;
    // SAFETY: `to` is the place of a pointer.
    unsafe { put(to, memory.cast()) }
}

unsafe fn allocate_on(to: *mut u64, n_bytes: usize, pool: Option<Handle>, stream: Handle) -> Result<(), Status> {
    let (mut driver, device, stream) = current_stream(stream)?;
    if !driver.settings.pools {
        return Err(Status::NOT_SUPPORTED);
    }
    driver.refuse_in_capture(stream)?;
    let pool = pool.unwrap_or(driver.devices[device].current_pool);
    let address = driver.allocate(device, n_bytes as u64, Owner::Pool(pool))?;
    // SAFETY: `to` is the place of an address.
    unsafe { put(to, address) }
}

exports! {
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let (driver, device) = current()?;
        put(free, driver.devices[device].free_bytes() as usize)?;
        put(total, driver.devices[device].capacity_bytes as usize)
    }

    fn cuMemAlloc_v2(to: *mut u64, n_bytes: usize) {
        let (mut driver, device) = current()?;
        let address = driver.allocate(device, n_bytes as u64, Owner::Plain)?;
        put(to, address)
    }

    fn cuMemFree_v2(address: u64) {
        let (mut driver, _) = current()?;
        if address == 0 { Ok(()) } else { driver.free(address) }
    }

    fn cuMemAllocAsync(to: *mut u64, n_bytes: usize, stream: Handle) { allocate_on(to, n_bytes, None, stream) }

    fn cuMemAllocFromPoolAsync(to: *mut u64, n_bytes: usize, pool: Handle, stream: Handle) {
        allocate_on(to, n_bytes, Some(pool), stream)
    }

    fn cuMemFreeAsync(address: u64, stream: Handle) {
        let (mut driver, _, stream) = current_stream(stream)?;
        driver.free_on(stream, address)
    }

    fn cuMemHostAlloc(to: *mut *mut c_void, n_bytes: usize, _flags: u32) { host_allocate(to, n_bytes) }

    fn cuMemAllocHost_v2(to: *mut *mut c_void, n_bytes: usize) { host_allocate(to, n_bytes) }

    fn cuMemFreeHost(memory: *mut c_void) {
        // Not `current`: pinned memory can be freed after an error has ended the context.
        let pinned = driver()?.unpin(memory as usize, true)?;
        dealloc(memory.cast(), pinned_layout(pinned.n_bytes)?);
        Ok(())
    }

    fn cuMemHostRegister_v2(memory: *mut c_void, n_bytes: usize, _flags: u32) {
        let (mut driver, device) = current()?;
        if memory.is_null() || n_bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        driver.pin(memory as usize, Pinned { n_bytes, device, is_ours: false })
    }

    fn cuMemHostUnregister(memory: *mut c_void) { driver()?.unpin(memory as usize, false).map(drop) }

    fn cuMemHostGetFlags(flags: *mut u32, memory: *mut c_void) {
        let (driver, _) = current()?;
        if !driver.is_pinned(HostRange { address: memory as usize, n_bytes: 1 }) {
            return Err(Status::INVALID_VALUE);
        }
        put(flags, 0)
    }

    fn cuMemHostGetDevicePointer_v2(_to: *mut u64, _memory: *mut c_void, _flags: u32) { Err(Status::NOT_SUPPORTED) }

    fn cuMemGetAddressRange_v2(start: *mut u64, n_bytes: *mut usize, address: u64) {
        let (driver, _) = current()?;
        let device = driver.device_of(address).ok_or(Status::INVALID_VALUE)?;
        let (at, n) = driver.devices[device].memory.allocation_at(address).ok_or(Status::INVALID_VALUE)?;
        if !start.is_null() {
            put(start, at)?;
        }
        if n_bytes.is_null() { Ok(()) } else { put(n_bytes, n as usize) }
    }

    fn cuPointerGetAttribute(to: *mut c_void, attribute: u32, address: u64) {
        const MEMORY_TYPE: u32 = 2;
        const DEVICE_ORDINAL: u32 = 9;
        let (driver, _) = current()?;
        let of = driver.device_of(address);
        let is_pinned = driver.is_pinned(HostRange { address: address as usize, n_bytes: 1 });
        match (attribute, of) {
            (MEMORY_TYPE, Some(_)) => put(to.cast(), 2u32),
            (MEMORY_TYPE, None) if is_pinned => put(to.cast(), 1u32),
            (DEVICE_ORDINAL, Some(device)) => put(to.cast(), device as i32),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    fn cuMemAllocManaged(_to: *mut u64, _n_bytes: usize, _flags: u32) { Err(Status::NOT_SUPPORTED) }

    fn cuMemAdvise_v2(_address: u64, _n_bytes: usize, _advice: u32, _location: u64) { Err(Status::NOT_SUPPORTED) }

    fn cuMemPrefetchAsync_v2(_address: u64, _n_bytes: usize, _location: u64, _flags: u32, _stream: Handle) {
        Err(Status::NOT_SUPPORTED)
    }
}
