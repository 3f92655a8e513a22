//! Memory pools.

use super::super::device::Pool;
use super::{Handle, device_number, driver, exports, put};
use crate::driver::{Driver, Status};
use std::ffi::c_void;

/// Numbers of `CUmemPool_attribute`. The first three are switches that make no difference here.
const REUSE_SWITCHES: std::ops::RangeInclusive<u32> = 1..=3;
const RELEASE_THRESHOLD: u32 = 4;
const RESERVED_CURRENT: u32 = 5;
const RESERVED_HIGH: u32 = 6;
const USED_CURRENT: u32 = 7;
const USED_HIGH: u32 = 8;

fn pool(driver: &mut Driver, pool: Handle) -> Result<&mut Pool, Status> {
    driver.devices.iter_mut().find_map(|device| device.pools.get_mut(&pool)).ok_or(Status::INVALID_HANDLE)
}

fn with_pools(driver: &Driver) -> Result<(), Status> {
    if driver.settings.pools { Ok(()) } else { Err(Status::NOT_SUPPORTED) }
}

exports! {
    fn cuDeviceGetDefaultMemPool(to: *mut Handle, device: i32) {
        let driver = driver()?;
        with_pools(&driver)?;
        put(to, driver.devices[device_number(&driver, device)?].default_pool)
    }

    fn cuDeviceGetMemPool(to: *mut Handle, device: i32) {
        let driver = driver()?;
        with_pools(&driver)?;
        put(to, driver.devices[device_number(&driver, device)?].current_pool)
    }

    fn cuDeviceSetMemPool(device: i32, pool: Handle) {
        let mut driver = driver()?;
        let device = device_number(&driver, device)?;
        if !driver.devices[device].pools.contains_key(&pool) {
            return Err(Status::INVALID_VALUE);
        }
        driver.devices[device].current_pool = pool;
        Ok(())
    }

    fn cuMemPoolCreate(to: *mut Handle, properties: *const c_void) {
        // `CUmemPoolProps`: kind of allocation, kind of handle, kind of location, and its number: the device.
        const LOCATION_ID: usize = 3;
        let mut driver = driver()?;
        with_pools(&driver)?;
        if properties.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        let device = device_number(&driver, properties.cast::<i32>().add(LOCATION_ID).read_unaligned())?;
        driver.enter(device)?;
        let handle = driver.handle();
        driver.devices[device].pools.insert(handle, Pool::default());
        put(to, handle)
    }

    fn cuMemPoolDestroy(handle: Handle) {
        let mut driver = driver()?;
        pool(&mut driver, handle)?;
        for device in &mut driver.devices {
            if device.default_pool == handle {
                return Err(Status::INVALID_VALUE);
            }
            if device.current_pool == handle {
                device.current_pool = device.default_pool;
            }
            // A pool with live allocations stays until they are freed; here it only stops keeping anything else.
            if let Some(held) = device.pools.get_mut(&handle) {
                held.release_threshold_bytes = 0;
                held.trim(0);
            }
        }
        Ok(())
    }

    fn cuMemPoolTrimTo(handle: Handle, keep_bytes: usize) {
        pool(&mut *driver()?, handle)?.trim(keep_bytes as u64);
        Ok(())
    }

    fn cuMemPoolGetAttribute(handle: Handle, attribute: u32, value: *mut c_void) {
        let mut driver = driver()?;
        let held = pool(&mut driver, handle)?;
        let n_bytes = match attribute {
            RELEASE_THRESHOLD => held.release_threshold_bytes,
            RESERVED_CURRENT => held.reserved_bytes,
            RESERVED_HIGH => held.most_reserved_bytes,
            USED_CURRENT => held.used_bytes,
            USED_HIGH => held.most_used_bytes,
            switch if REUSE_SWITCHES.contains(&switch) => return put(value.cast(), 1i32),
            _ => return Err(Status::INVALID_VALUE),
        };
        put(value.cast(), n_bytes)
    }

    fn cuMemPoolSetAttribute(handle: Handle, attribute: u32, value: *mut c_void) {
        let mut driver = driver()?;
        let held = pool(&mut driver, handle)?;
        if value.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        match attribute {
            RELEASE_THRESHOLD => held.release_threshold_bytes = value.cast::<u64>().read_unaligned(),
            RESERVED_HIGH => held.most_reserved_bytes = held.reserved_bytes,
            USED_HIGH => held.most_used_bytes = held.used_bytes,
            switch if REUSE_SWITCHES.contains(&switch) => {}
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }

    fn cuMemPoolSetAccess(handle: Handle, _access: *const c_void, _n: usize) { pool(&mut *driver()?, handle).map(drop) }
}
