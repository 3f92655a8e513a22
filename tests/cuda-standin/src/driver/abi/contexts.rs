//! Contexts: which device a thread works with.

use super::{CONTEXTS, Handle, current, current_context, device_number, driver, exports, put};
use crate::driver::Status;
use std::ffi::c_void;

fn set_current(context: Handle) {
    CONTEXTS.with(|contexts| {
        let mut contexts = contexts.borrow_mut();
        contexts.pop();
        if context != 0 {
            contexts.push(context);
        }
    });
}

fn create(to: *mut Handle, device: i32) -> Result<(), Status> {
    let mut driver = driver()?;
    let device = device_number(&driver, device)?;
    driver.enter(device)?;
    let context = driver.handle();
    driver.contexts.insert(context, device);
    CONTEXTS.with(|contexts| contexts.borrow_mut().push(context));
    // SAFETY: the program gives the place of a handle.
    unsafe { put(to, context) }
}

fn release(device: i32, all: bool) -> Result<(), Status> {
    let mut driver = driver()?;
    let device = device_number(&driver, device)?;
    let state = &mut driver.devices[device];
    if state.n_retained == 0 {
        return if all { Ok(()) } else { Err(Status::INVALID_CONTEXT) };
    }
    state.n_retained = if all { 0 } else { state.n_retained - 1 };
    if state.n_retained > 0 {
        return Ok(());
    }
    // Work that fails on the way out has nobody left to tell; the fault is in the counters.
    let _ = driver.run_device(device);
    driver.reset(device);
    Ok(())
}

exports! {
    fn cuDevicePrimaryCtxRetain(context: *mut Handle, device: i32) {
        let mut driver = driver()?;
        let device = device_number(&driver, device)?;
        driver.enter(device)?;
        driver.devices[device].n_retained += 1;
        put(context, driver.devices[device].primary_context)
    }

    fn cuDevicePrimaryCtxRelease_v2(device: i32) { release(device, false) }

    fn cuDevicePrimaryCtxRelease(device: i32) { release(device, false) }

    fn cuDevicePrimaryCtxReset_v2(device: i32) { release(device, true) }

    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, _flags: u32) {
        device_number(&*driver()?, device)?;
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: *mut u32, active: *mut i32) {
        let driver = driver()?;
        let device = device_number(&driver, device)?;
        put(flags, 0)?;
        put(active, i32::from(driver.devices[device].n_retained > 0))
    }

    fn cuCtxCreate_v2(context: *mut Handle, _flags: u32, device: i32) { create(context, device) }

    fn cuCtxCreate_v3(context: *mut Handle, _affinity: *mut c_void, _n: i32, _flags: u32, device: i32) {
        create(context, device)
    }

    fn cuCtxCreate_v4(context: *mut Handle, _params: *mut c_void, _flags: u32, device: i32) { create(context, device) }

    fn cuCtxDestroy_v2(context: Handle) {
        let mut driver = driver()?;
        if driver.devices.iter().any(|device| device.primary_context == context) {
            return Err(Status::INVALID_CONTEXT);
        }
        driver.contexts.remove(&context).ok_or(Status::INVALID_CONTEXT)?;
        if current_context() == Some(context) {
            set_current(0);
        }
        Ok(())
    }

    fn cuCtxGetCurrent(context: *mut Handle) {
        drop(driver()?);
        put(context, current_context().unwrap_or(0))
    }

    fn cuCtxSetCurrent(context: Handle) {
        if context != 0 && !driver()?.contexts.contains_key(&context) {
            return Err(Status::INVALID_CONTEXT);
        }
        set_current(context);
        Ok(())
    }

    fn cuCtxPushCurrent_v2(context: Handle) {
        if !driver()?.contexts.contains_key(&context) {
            return Err(Status::INVALID_CONTEXT);
        }
        CONTEXTS.with(|contexts| contexts.borrow_mut().push(context));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(context: *mut Handle) {
        let popped = CONTEXTS.with(|contexts| contexts.borrow_mut().pop()).ok_or(Status::INVALID_CONTEXT)?;
        if context.is_null() { Ok(()) } else { put(context, popped) }
    }

    fn cuCtxGetDevice(to: *mut i32) {
        let driver = driver()?;
        let context = current_context().ok_or(Status::INVALID_CONTEXT)?;
        put(to, *driver.contexts.get(&context).ok_or(Status::CONTEXT_IS_DESTROYED)? as i32)
    }

    fn cuCtxSynchronize() {
        let (mut driver, device) = current()?;
        driver.synchronize_device(device)
    }

    fn cuCtxGetApiVersion(_context: Handle, version: *mut u32) { put(version, 3020) }

    fn cuCtxGetFlags(flags: *mut u32) { put(flags, 0) }

    fn cuCtxSetFlags(_flags: u32) { current().map(drop) }

    fn cuCtxGetLimit(value: *mut usize, limit: u32) {
        drop(current()?);
        // Stack and heap sizes that a device starts with.
        put(value, match limit { 0 => 1024, 1 => 1 << 20, 2 => 8 << 20, _ => return Err(Status::INVALID_VALUE) })
    }

    fn cuCtxSetLimit(_limit: u32, _value: usize) { current().map(drop) }

    fn cuCtxGetCacheConfig(config: *mut u32) { put(config, 0) }

    fn cuCtxSetCacheConfig(_config: u32) { current().map(drop) }

    fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) {
        drop(current()?);
        if !least.is_null() {
            put(least, 0)?;
        }
        if greatest.is_null() { Ok(()) } else { put(greatest, -5) }
    }

    fn cuCtxEnablePeerAccess(_context: Handle, _flags: u32) { Err(Status::NOT_SUPPORTED) }

    fn cuCtxDisablePeerAccess(_context: Handle) { Err(Status::NOT_SUPPORTED) }
}
