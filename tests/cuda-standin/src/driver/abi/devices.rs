//! `cuInit` and what devices say about themselves.

use super::super::attributes::{DEVICE_NAME, attribute};
use super::{any_driver, device_number, driver, exports, put};
use crate::driver::Status;
use std::ffi::{CStr, c_char};

/// Copies a text with its final zero, shortened to what fits.
unsafe fn put_text(to: *mut c_char, n_bytes: i32, text: &str) -> Result<(), Status> {
    let room = usize::try_from(n_bytes).ok().filter(|room| *room > 0 && !to.is_null()).ok_or(Status::INVALID_VALUE)?;
    let n = text.len().min(room - 1);
    // SAFETY: the program gives a place for `room` bytes.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), n);
        to.add(n).write(0);
    }
    Ok(())
}

fn uuid(device: i32) -> Result<[u8; 16], Status> {
    let mut uuid = *b"curator standin\0";
    uuid[15] = device_number(&*driver()?, device)? as u8;
    Ok(uuid)
}

exports! {
    fn cuInit(flags: u32) {
        let mut driver = any_driver()?;
        if flags != 0 {
            return Err(Status::INVALID_VALUE);
        }
        if driver.devices.is_empty() {
            return Err(Status::NO_DEVICE);
        }
        driver.is_initialized = true;
        driver.save();
        Ok(())
    }

    fn cuDriverGetVersion(version: *mut i32) {
        let driver = any_driver()?;
        put(version, driver.settings.driver_version as i32)
    }

    fn cuDeviceGetCount(count: *mut i32) {
        let driver = driver()?;
        put(count, driver.devices.len() as i32)
    }

    fn cuDeviceGet(device: *mut i32, ordinal: i32) {
        device_number(&*driver()?, ordinal)?;
        put(device, ordinal)
    }

    fn cuDeviceGetName(name: *mut c_char, n_bytes: i32, device: i32) {
        device_number(&*driver()?, device)?;
        put_text(name, n_bytes, DEVICE_NAME)
    }

    fn cuDeviceGetUuid(to: *mut [u8; 16], device: i32) {
        put(to, uuid(device)?)
    }

    fn cuDeviceGetUuid_v2(to: *mut [u8; 16], device: i32) {
        put(to, uuid(device)?)
    }

    fn cuDeviceTotalMem_v2(n_bytes: *mut usize, device: i32) {
        let driver = driver()?;
        let device = device_number(&driver, device)?;
        put(n_bytes, driver.devices[device].capacity_bytes as usize)
    }

    fn cuDeviceGetAttribute(value: *mut i32, number: u32, device: i32) {
        let driver = driver()?;
        let device = device_number(&driver, device)?;
        put(value, attribute(number, device, driver.settings.capability, driver.settings.pools))
    }

    fn cuDeviceComputeCapability(major: *mut i32, minor: *mut i32, device: i32) {
        let driver = driver()?;
        device_number(&driver, device)?;
        put(major, driver.settings.capability.0 as i32)?;
        put(minor, driver.settings.capability.1 as i32)
    }

    fn cuDeviceGetPCIBusId(to: *mut c_char, n_bytes: i32, device: i32) {
        let device = device_number(&*driver()?, device)?;
        put_text(to, n_bytes, &format!("0000:{:02x}:00.0", device + 1))
    }

    fn cuDeviceGetByPCIBusId(device: *mut i32, bus_id: *const c_char) {
        if bus_id.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let bus_id = CStr::from_ptr(bus_id).to_string_lossy();
        let bus = bus_id.split(':').rev().nth(1).and_then(|bus| i32::from_str_radix(bus, 16).ok());
        let ordinal = bus.ok_or(Status::INVALID_VALUE)? - 1;
        device_number(&*driver()?, ordinal)?;
        put(device, ordinal)
    }

    fn cuDeviceCanAccessPeer(can: *mut i32, device: i32, peer: i32) {
        let driver = driver()?;
        device_number(&driver, device)?;
        device_number(&driver, peer)?;
        // Kernels reach the memory of their own device alone; copies between devices work all the same.
        put(can, 0)
    }

    fn cuDeviceGetP2PAttribute(value: *mut i32, _attribute: u32, device: i32, peer: i32) {
        let driver = driver()?;
        device_number(&driver, device)?;
        device_number(&driver, peer)?;
        put(value, 0)
    }
}
