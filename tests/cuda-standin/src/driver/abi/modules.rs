//! Modules, libraries, and what kernels say about themselves.
//!
//! A library is the same as a module here, and its kernels are functions.

use super::super::attributes::most_shared_per_block;
use super::{Handle, current, driver, exports, put};
use crate::driver::Status;
use std::ffi::{CStr, c_char, c_void};

/// What a thread can have; PTX names many more than a compiler would keep.
const MOST_REGISTERS: u32 = 255;

const JIT_ERROR_LOG: u32 = 5;
const JIT_ERROR_LOG_BYTES: u32 = 6;

/// The bytes of an image. PTX ends with a zero; of anything else the first four bytes tell what it is.
unsafe fn image<'a>(image: *const c_void) -> Result<&'a [u8], Status> {
    if image.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: an image has a magic number of four bytes or is text, which is at least as long as its first word.
    unsafe {
        let magic = std::slice::from_raw_parts(image.cast::<u8>(), 4);
        let is_text = magic.iter().all(|byte| (1..0x7f).contains(byte));
        Ok(if is_text { CStr::from_ptr(image.cast()).to_bytes() } else { magic })
    }
}

fn load(bytes: &[u8]) -> Result<Handle, (Status, String)> {
    let (mut driver, device) = current().map_err(|status| (status, String::new()))?;
    driver.load_module(device, bytes)
}

unsafe fn load_into(to: *mut Handle, bytes: &[u8]) -> Result<(), Status> {
    let module = load(bytes).map_err(|(status, _)| status)?;
    // SAFETY: `to` is the place of a handle.
    unsafe { put(to, module) }
}

unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Status> {
    if text.is_null() {
        return Err(Status::INVALID_VALUE);
    }
    // SAFETY: the program gives a text that ends with a zero.
    unsafe { CStr::from_ptr(text) }.to_str().map_err(|_| Status::INVALID_VALUE)
}

unsafe fn get_function(to: *mut Handle, module: Handle, name: *const c_char) -> Result<(), Status> {
    let (mut driver, _) = current()?;
    // SAFETY: as `text` and `put` ask.
    unsafe { put(to, driver.function(module, text(name)?)?) }
}

unsafe fn get_global(to: *mut u64, n_bytes: *mut usize, module: Handle, name: *const c_char) -> Result<(), Status> {
    let (driver, _) = current()?;
    // SAFETY: as `text` and `put` ask; either place may be missing.
    unsafe {
        let (address, size) = driver.global(module, text(name)?)?;
        if !to.is_null() {
            put(to, address)?;
        }
        if n_bytes.is_null() { Ok(()) } else { put(n_bytes, size) }
    }
}

unsafe fn get_attribute(value: *mut i32, attribute: u32, function: Handle) -> Result<(), Status> {
    let (driver, _) = current()?;
    let function = driver.functions.get(&function).ok_or(Status::INVALID_HANDLE)?;
    let kernel = function.kernel()?;
    let (major, minor) = driver.settings.capability;
    let of = match attribute {
        0 => kernel.max_threads().unwrap_or(1024),
        1 => function.static_shared_bytes(),
        2 => 0,
        3 => kernel.local_bytes() as u32,
        4 => kernel.n_registers().min(MOST_REGISTERS),
        5 | 6 => major * 10 + minor,
        8 => function.most_dynamic_shared_bytes,
        7 | 9..=15 => 0,
        _ => return Err(Status::INVALID_VALUE),
    };
    // SAFETY: `value` is the place of a number.
    unsafe { put(value, of as i32) }
}

fn set_attribute(function: Handle, attribute: u32, value: i32) -> Result<(), Status> {
    const MOST_DYNAMIC_SHARED: u32 = 8;
    let (mut driver, _) = current()?;
    let most = most_shared_per_block(driver.settings.capability);
    let function = driver.functions.get_mut(&function).ok_or(Status::INVALID_HANDLE)?;
    if attribute == MOST_DYNAMIC_SHARED {
        let wanted = u32::try_from(value).map_err(|_| Status::INVALID_VALUE)?;
        if wanted > most.saturating_sub(function.static_shared_bytes()) {
            return Err(Status::INVALID_VALUE);
        }
        function.most_dynamic_shared_bytes = wanted;
    }
    Ok(())
}

exports! {
    fn cuModuleLoadData(to: *mut Handle, data: *const c_void) { load_into(to, image(data)?) }

    fn cuModuleLoadDataEx(
        to: *mut Handle, data: *const c_void, n_options: u32, options: *const u32, values: *const *mut c_void,
    ) {
        let loaded = load(image(data)?);
        if let Err((_, message)) = &loaded {
            let given = |wanted| (0..n_options as usize).find(|i| *options.add(*i) == wanted).map(|i| *values.add(i));
            if let (Some(log), Some(n_bytes)) = (given(JIT_ERROR_LOG), given(JIT_ERROR_LOG_BYTES)) {
                let n = message.len().min((n_bytes as usize).saturating_sub(1));
                if !log.is_null() && n_bytes as usize > 0 {
                    log.cast::<u8>().copy_from_nonoverlapping(message.as_ptr(), n);
                    log.cast::<u8>().add(n).write(0);
                }
            }
        }
        put(to, loaded.map_err(|(status, _)| status)?)
    }

    fn cuModuleLoadFatBinary(to: *mut Handle, data: *const c_void) { load_into(to, image(data)?) }

    fn cuModuleLoad(to: *mut Handle, path: *const c_char) {
        let bytes = std::fs::read(text(path)?).map_err(|_| Status::FILE_NOT_FOUND)?;
        load_into(to, &bytes)
    }

    fn cuModuleUnload(module: Handle) {
        let (mut driver, _) = current()?;
        driver.unload_module(module)
    }

    fn cuModuleGetFunction(to: *mut Handle, module: Handle, name: *const c_char) { get_function(to, module, name) }

    fn cuModuleGetGlobal_v2(to: *mut u64, n_bytes: *mut usize, module: Handle, name: *const c_char) {
        get_global(to, n_bytes, module, name)
    }

    fn cuModuleGetLoadingMode(mode: *mut u32) { put(mode, 1) }

    fn cuLibraryLoadData(
        to: *mut Handle, data: *const c_void, _jit: *const u32, _jit_values: *const *mut c_void, _n_jit: u32,
        _options: *const u32, _values: *const *mut c_void, _n_options: u32,
    ) {
        load_into(to, image(data)?)
    }

    fn cuLibraryUnload(library: Handle) {
        let (mut driver, _) = current()?;
        driver.unload_module(library)
    }

    fn cuLibraryGetKernel(to: *mut Handle, library: Handle, name: *const c_char) { get_function(to, library, name) }

    fn cuLibraryGetModule(to: *mut Handle, library: Handle) {
        if !driver()?.modules.contains_key(&library) {
            return Err(Status::INVALID_HANDLE);
        }
        put(to, library)
    }

    fn cuLibraryGetGlobal(to: *mut u64, n_bytes: *mut usize, library: Handle, name: *const c_char) {
        get_global(to, n_bytes, library, name)
    }

    fn cuKernelGetFunction(to: *mut Handle, kernel: Handle) {
        if !driver()?.functions.contains_key(&kernel) {
            return Err(Status::INVALID_HANDLE);
        }
        put(to, kernel)
    }

    fn cuKernelGetAttribute(value: *mut i32, attribute: u32, kernel: Handle, _device: i32) {
        get_attribute(value, attribute, kernel)
    }

    fn cuKernelSetAttribute(attribute: u32, value: i32, kernel: Handle, _device: i32) {
        set_attribute(kernel, attribute, value)
    }

    fn cuFuncGetAttribute(value: *mut i32, attribute: u32, function: Handle) { get_attribute(value, attribute, function) }

    fn cuFuncSetAttribute(function: Handle, attribute: u32, value: i32) { set_attribute(function, attribute, value) }

    fn cuFuncSetCacheConfig(_function: Handle, _config: u32) { current().map(drop) }

    fn cuFuncGetModule(to: *mut Handle, function: Handle) {
        let driver = driver()?;
        let function = driver.functions.get(&function).ok_or(Status::INVALID_HANDLE)?;
        let module = driver.modules.iter().find(|(_, loaded)| std::sync::Arc::ptr_eq(loaded, &function.loaded));
        put(to, *module.ok_or(Status::INVALID_HANDLE)?.0)
    }
}
