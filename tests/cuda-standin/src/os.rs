//! The few functions of the C library that the stand-in needs, declared here so that the package has no dependencies.
//!
//! Invariant: a `Pages` owns its mapping and gives it back when dropped.
//! Not here: what the pages are used for (`memory.rs`).

use std::ffi::{c_int, c_void};

const PROT_NONE: c_int = 0;
const PROT_READ_WRITE: c_int = 1 | 2;
const MAP_PRIVATE_ANONYMOUS_NORESERVE: c_int = 0x02 | 0x20 | 0x4000;
const MADV_DONTNEED: c_int = 4;

unsafe extern "C" {
    fn mmap(at: *mut c_void, n_bytes: usize, protection: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn munmap(at: *mut c_void, n_bytes: usize) -> c_int;
    fn madvise(at: *mut c_void, n_bytes: usize, advice: c_int) -> c_int;
    fn atexit(function: extern "C" fn()) -> c_int;
}

/// The size of a page of memory. Larger pages only make `Pages::forget` give back less.
pub const PAGE_BYTES: usize = 4096;

/// A run of pages of address space. Those that can be used read as zero until something is written to them, and cost
/// memory only from then on.
pub struct Pages {
    start: *mut u8,
    n_bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and is not bound to the thread that made it.
unsafe impl Send for Pages {}

impl Pages {
    /// Address space that nothing may touch: a read or write of it ends the process with a fault.
    pub fn untouchable(n_bytes: usize) -> Option<Pages> {
        Pages::map(n_bytes, PROT_NONE)
    }

    /// Address space to use.
    pub fn usable(n_bytes: usize) -> Option<Pages> {
        Pages::map(n_bytes, PROT_READ_WRITE)
    }

    fn map(n_bytes: usize, protection: c_int) -> Option<Pages> {
        // SAFETY: a new mapping at a place of the system's choice touches no memory in use.
        let start = unsafe { mmap(std::ptr::null_mut(), n_bytes, protection, MAP_PRIVATE_ANONYMOUS_NORESERVE, -1, 0) };
        (start as isize != -1).then_some(Pages { start: start.cast(), n_bytes })
    }

    /// The first address.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// How many bytes there are.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Makes the whole pages within the range read as zero again, and gives their memory back.
    pub fn forget(&self, from: usize, to: usize) {
        let first = from.next_multiple_of(PAGE_BYTES);
        let last = to.min(self.n_bytes) / PAGE_BYTES * PAGE_BYTES;
        if first < last {
            // SAFETY: the range lies inside this mapping, and private anonymous pages read as zero afterwards.
            unsafe { madvise(self.start.add(first).cast(), last - first, MADV_DONTNEED) };
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `map` with this length, and nobody else holds it.
        unsafe { munmap(self.start.cast(), self.n_bytes) };
    }
}

/// Has `function` called when the process ends in an orderly way.
pub fn at_exit(function: extern "C" fn()) {
    // SAFETY: `function` stays callable for as long as the library is loaded; unloading runs it first.
    unsafe { atexit(function) };
}
