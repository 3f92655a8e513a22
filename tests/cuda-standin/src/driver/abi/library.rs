//! Errors in words, functions by name, and what NVRTC asks for.

use super::super::status::{name_of, text_of};
use super::{exports, find, put};
use crate::driver::Status;
use std::ffi::{CStr, c_char, c_void};

/// NVRTC loads the driver, asks for a private table of functions and reads the table's size without looking whether
/// there is one. A table that holds nothing but its own size, in bytes, sends it on without.
static EMPTY_TABLE: [u64; 2] = [8, 0];

unsafe fn by_name(name: *const c_char, to: *mut *const c_void) -> Result<bool, Status> {
    if name.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program gives a text that ends with a zero, and the place of a pointer.
    unsafe {
        let found = find(&CStr::from_ptr(name).to_string_lossy());
        put(to, found.unwrap_or(std::ptr::null()))?;
        Ok(found.is_some())
    }
}

exports! {
    fn cuGetErrorName(status: u32, to: *mut *const c_char) {
        put(to, name_of(status).map_or(std::ptr::null(), CStr::as_ptr))?;
        name_of(status).map(drop).ok_or(Status::INVALID_VALUE)
    }

    fn cuGetErrorString(status: u32, to: *mut *const c_char) {
        put(to, text_of(status).map_or(std::ptr::null(), CStr::as_ptr))?;
        text_of(status).map(drop).ok_or(Status::INVALID_VALUE)
    }

    fn cuGetProcAddress(name: *const c_char, to: *mut *const c_void, _version: i32, _flags: u64) {
        if by_name(name, to)? { Ok(()) } else { Err(Status::NOT_FOUND) }
    }

    fn cuGetProcAddress_v2(
        name: *const c_char, to: *mut *const c_void, _version: i32, _flags: u64, found: *mut u32,
    ) {
        let is_found = by_name(name, to)?;
        if !found.is_null() {
            put(found, u32::from(!is_found))?;
        }
        Ok(())
    }

    fn cuGetExportTable(table: *mut *const c_void, _id: *const c_void) { put(table, EMPTY_TABLE.as_ptr().cast()) }

    fn cuProfilerStart() { Ok(()) }

    fn cuProfilerStop() { Ok(()) }
}
