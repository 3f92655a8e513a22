//! Streams, events, and callbacks.

use super::{Handle, current, current_stream, driver, exports, put};
use crate::driver::work::HostFunction;
use crate::driver::{Status, Work};
use std::ffi::c_void;

const NON_BLOCKING: u32 = 1;

unsafe fn create(to: *mut Handle, flags: u32, priority: i32) -> Result<(), Status> {
    let (mut driver, device) = current()?;
    let stream = driver.create_stream(device, flags & NON_BLOCKING == 0, priority);
    // SAFETY: `to` is the place of a handle.
    unsafe { put(to, stream) }
}

unsafe fn elapsed(to: *mut f32, start: Handle, end: Handle) -> Result<(), Status> {
    let (mut driver, _) = current()?;
    let time_ms = driver.elapsed_ms(start, end)?;
    // SAFETY: `to` is the place of a number.
    unsafe { put(to, time_ms) }
}

exports! {
    fn cuStreamCreate(to: *mut Handle, flags: u32) { create(to, flags, 0) }

    fn cuStreamCreateWithPriority(to: *mut Handle, flags: u32, priority: i32) { create(to, flags, priority.clamp(-5, 0)) }

    fn cuStreamDestroy_v2(stream: Handle) {
        let mut driver = driver()?;
        let device = driver.stream(stream)?.device;
        if driver.devices[device].default_stream == stream {
            return Err(Status::INVALID_HANDLE);
        }
        driver.enter(device)?;
        driver.destroy_stream(stream)
    }

    fn cuStreamSynchronize(stream: Handle) {
        let (mut driver, _, stream) = current_stream(stream)?;
        driver.synchronize_stream(stream)
    }

    fn cuStreamQuery(stream: Handle) {
        let (mut driver, _, stream) = current_stream(stream)?;
        driver.poll_stream(stream)
    }

    fn cuStreamWaitEvent(stream: Handle, event: Handle, _flags: u32) {
        let (mut driver, _, stream) = current_stream(stream)?;
        driver.wait_event(stream, event)
    }

    fn cuStreamGetPriority(stream: Handle, priority: *mut i32) {
        let (driver, _, stream) = current_stream(stream)?;
        put(priority, driver.stream(stream)?.priority)
    }

    fn cuStreamGetFlags(stream: Handle, flags: *mut u32) {
        let (driver, _, stream) = current_stream(stream)?;
        put(flags, if driver.stream(stream)?.is_blocking { 0 } else { NON_BLOCKING })
    }

    fn cuStreamGetCtx(stream: Handle, context: *mut Handle) {
        let (driver, _, stream) = current_stream(stream)?;
        put(context, driver.devices[driver.stream(stream)?.device].primary_context)
    }

    fn cuStreamAttachMemAsync(_stream: Handle, _address: u64, _n_bytes: usize, _flags: u32) { Err(Status::NOT_SUPPORTED) }

    fn cuLaunchHostFunc(stream: Handle, function: Option<HostFunction>, argument: *mut c_void) {
        let (mut driver, _, stream) = current_stream(stream)?;
        let function = function.ok_or(Status::INVALID_VALUE)?;
        driver.queue(stream, Work::Call { function, argument: argument as usize })
    }

    fn cuEventCreate(to: *mut Handle, flags: u32) {
        let (mut driver, device) = current()?;
        let event = driver.create_event(device, flags);
        put(to, event)
    }

    fn cuEventDestroy_v2(event: Handle) { driver()?.events.remove(&event).map(drop).ok_or(Status::INVALID_HANDLE) }

    fn cuEventRecord(event: Handle, stream: Handle) {
        let (mut driver, _, stream) = current_stream(stream)?;
        driver.record_event(event, stream)
    }

    fn cuEventRecordWithFlags(event: Handle, stream: Handle, _flags: u32) {
        let (mut driver, _, stream) = current_stream(stream)?;
        driver.record_event(event, stream)
    }

    fn cuEventSynchronize(event: Handle) {
        let (mut driver, _) = current()?;
        driver.synchronize_event(event)
    }

    fn cuEventQuery(event: Handle) {
        let (mut driver, _) = current()?;
        driver.poll_event(event)
    }

    fn cuEventElapsedTime(to: *mut f32, start: Handle, end: Handle) { elapsed(to, start, end) }

    fn cuEventElapsedTime_v2(to: *mut f32, start: Handle, end: Handle) { elapsed(to, start, end) }
}
