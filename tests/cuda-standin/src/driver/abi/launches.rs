//! Launches, and how many blocks fit.

use super::super::attributes;
use super::{Handle, current, current_stream, exports, put};
use crate::driver::{Driver, Shape, Status};
use std::ffi::c_void;

/// CUDA's `CUlaunchConfig`.
#[repr(C)]
pub struct LaunchConfig {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: u32,
    stream: Handle,
    attributes: *const c_void,
    n_attributes: u32,
}

/// PTX names a register for every value; a compiler would need about this many for a long kernel.
const TYPICAL_REGISTERS: u32 = 64;
const REGISTERS_PER_MULTIPROCESSOR: u32 = 65536;

/// The parameters of a kernel as one run of bytes, from a list of pointers or from a buffer.
unsafe fn gather(
    driver: &Driver,
    function: Handle,
    params: *const *const c_void,
    extra: *const *const c_void,
) -> Result<Vec<u8>, Status> {
    const BUFFER: usize = 1;
    const BUFFER_BYTES: usize = 2;
    let function = driver.functions.get(&function).ok_or(Status::INVALID_HANDLE)?;
    let kernel = function.kernel()?;
    let mut bytes = vec![0; kernel.param_bytes()];
    // SAFETY: the program gives as many pointers as the kernel has parameters, each to as many bytes as the parameter
    // has; or in `extra`, ended by a null, a buffer and the place of its size.
    unsafe {
        if params.is_null() && !extra.is_null() {
            let (mut buffer, mut n_bytes, mut at) = (std::ptr::null::<u8>(), 0usize, extra);
            while !(*at).is_null() {
                match *at as usize {
                    BUFFER => buffer = (*at.add(1)).cast(),
                    BUFFER_BYTES => n_bytes = (*at.add(1)).cast::<usize>().read_unaligned(),
                    _ => return Err(Status::INVALID_VALUE),
                }
                at = at.add(2);
            }
            if buffer.is_null() || n_bytes < bytes.len() {
                return Err(Status::INVALID_VALUE);
            }
            buffer.copy_to_nonoverlapping(bytes.as_mut_ptr(), kernel.param_bytes());
            return Ok(bytes);
        }
        for (i, param) in kernel.params().iter().enumerate() {
            let given = if params.is_null() { std::ptr::null() } else { *params.add(i) };
            if given.is_null() {
                return Err(Status::INVALID_VALUE);
            }
            let place = bytes.get_mut(param.offset..param.offset + param.size);
            let place = place.ok_or(Status::INVALID_VALUE)?;
            given.cast::<u8>().copy_to_nonoverlapping(place.as_mut_ptr(), place.len());
        }
    }
    Ok(bytes)
}

unsafe fn launch(
    function: Handle,
    shape: Shape,
    stream: Handle,
    params: *const *const c_void,
    extra: *const *const c_void,
) -> Result<(), Status> {
    let (mut driver, _, stream) = current_stream(stream)?;
    // SAFETY: as `gather` asks.
    let params = unsafe { gather(&driver, function, params, extra)? };
    driver.launch(function, shape, stream, params)
}

/// How many blocks of a kernel a multiprocessor holds at once.
fn blocks_that_fit(function: Handle, n_threads: i32, dynamic_shared_bytes: usize) -> Result<u32, Status> {
    let (driver, _) = current()?;
    let capability = driver.settings.capability;
    let function = driver.functions.get(&function).ok_or(Status::INVALID_HANDLE)?;
    let kernel = function.kernel()?;
    let n_threads = u32::try_from(n_threads).ok().filter(|n| (1..=1024).contains(n)).ok_or(Status::INVALID_VALUE)?;
    let whole_warps = n_threads.next_multiple_of(32);
    let by_threads = attributes::threads_per_multiprocessor(capability) / whole_warps;
    let by_registers = REGISTERS_PER_MULTIPROCESSOR / (whole_warps * kernel.n_registers().clamp(16, TYPICAL_REGISTERS));
    let shared_bytes = function.static_shared_bytes() as usize + dynamic_shared_bytes;
    let by_shared = (attributes::shared_per_multiprocessor(capability) as usize)
        .checked_div(shared_bytes)
        .map_or(u32::MAX, |n| n.min(u32::MAX as usize) as u32);
    Ok(by_threads.min(by_registers).min(by_shared).min(attributes::blocks_per_multiprocessor(capability)))
}

unsafe fn best_block(n_blocks: *mut i32, n_threads: *mut i32, function: Handle, limit: i32) -> Result<(), Status> {
    let (driver, _) = current()?;
    let held = driver.functions.get(&function).ok_or(Status::INVALID_HANDLE)?;
    let kernel = held.kernel()?;
    let limit = if limit > 0 { limit as u32 } else { 1024 };
    let threads = kernel.max_threads().unwrap_or(1024).min(limit).max(32) / 32 * 32;
    let n_multiprocessors = attributes::n_multiprocessors(driver.settings.capability);
    drop(driver);
    let fit = blocks_that_fit(function, threads as i32, 0)?;
    // SAFETY: both are places of numbers.
    unsafe {
        put(n_blocks, (fit * n_multiprocessors) as i32)?;
        put(n_threads, threads as i32)
    }
}

exports! {
    fn cuLaunchKernel(
        function: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        dynamic_shared_bytes: u32, stream: Handle, params: *const *const c_void, extra: *const *const c_void,
    ) {
        let shape =
            Shape { grid: [grid_x, grid_y, grid_z], block: [block_x, block_y, block_z], dynamic_shared_bytes };
        launch(function, shape, stream, params, extra)
    }

    fn cuLaunchKernelEx(
        config: *const LaunchConfig, function: Handle, params: *const *const c_void, extra: *const *const c_void,
    ) {
        let config = config.as_ref().ok_or(Status::INVALID_VALUE)?;
        let shape =
            Shape { grid: config.grid, block: config.block, dynamic_shared_bytes: config.dynamic_shared_bytes };
        launch(function, shape, config.stream, params, extra)
    }

    fn cuLaunchCooperativeKernel(
        _function: Handle, _grid_x: u32, _grid_y: u32, _grid_z: u32, _block_x: u32, _block_y: u32, _block_z: u32,
        _dynamic_shared_bytes: u32, _stream: Handle, _params: *const *const c_void,
    ) {
        // Blocks run one after the other, so a barrier of the whole grid could never be passed.
        Err(Status::NOT_SUPPORTED)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(to: *mut i32, function: Handle, n_threads: i32, shared: usize) {
        put(to, blocks_that_fit(function, n_threads, shared)? as i32)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        to: *mut i32, function: Handle, n_threads: i32, shared: usize, _flags: u32,
    ) {
        put(to, blocks_that_fit(function, n_threads, shared)? as i32)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        n_blocks: *mut i32, n_threads: *mut i32, function: Handle, _shared_of: *const c_void, _shared: usize, limit: i32,
    ) {
        best_block(n_blocks, n_threads, function, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        n_blocks: *mut i32, n_threads: *mut i32, function: Handle, _shared_of: *const c_void, _shared: usize, limit: i32,
        _flags: u32,
    ) {
        best_block(n_blocks, n_threads, function, limit)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(to: *mut usize, function: Handle, n_blocks: i32, _n_threads: i32) {
        let (driver, _) = current()?;
        let held = driver.functions.get(&function).ok_or(Status::INVALID_HANDLE)?;
        let n_blocks = u32::try_from(n_blocks).ok().filter(|n| *n > 0).ok_or(Status::INVALID_VALUE)?;
        let each = attributes::shared_per_multiprocessor(driver.settings.capability) / n_blocks;
        put(to, each.min(driver.most_shared_bytes()).saturating_sub(held.static_shared_bytes()) as usize)
    }
}
