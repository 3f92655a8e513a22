//! The C functions, through the driver that all of them share. One test, because they share it.

use crate::driver::abi::find;
use std::ffi::{CStr, c_char};

/// What cudarc calls, and NVRTC.
const NEEDED: &str = "
    cuCtxCreate_v4 cuCtxDestroy_v2 cuCtxGetCacheConfig cuCtxGetCurrent cuCtxGetLimit cuCtxGetStreamPriorityRange
    cuCtxSetCacheConfig cuCtxSetCurrent cuCtxSetFlags cuCtxSetLimit cuCtxSynchronize cuDeviceGet cuDeviceGetAttribute
    cuDeviceGetCount cuDeviceGetDefaultMemPool cuDeviceGetMemPool cuDeviceGetName cuDeviceGetUuid cuDeviceGetUuid_v2
    cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxRetain cuDeviceSetMemPool cuDeviceTotalMem_v2 cuDriverGetVersion
    cuEventCreate cuEventDestroy_v2 cuEventElapsedTime cuEventElapsedTime_v2 cuEventQuery cuEventRecord
    cuEventSynchronize cuFuncGetAttribute cuFuncSetAttribute cuFuncSetCacheConfig cuGetErrorName cuGetErrorString
    cuGetExportTable cuGraphDestroy cuGraphExecDestroy cuGraphInstantiateWithFlags cuGraphLaunch cuGraphUpload cuInit
    cuLaunchCooperativeKernel cuLaunchHostFunc cuLaunchKernel cuMemAdvise_v2 cuMemAllocAsync cuMemAllocFromPoolAsync
    cuMemAllocManaged cuMemAlloc_v2 cuMemFreeAsync cuMemFreeHost cuMemFree_v2 cuMemGetInfo_v2 cuMemHostAlloc
    cuMemPoolCreate cuMemPoolDestroy cuMemPoolGetAttribute cuMemPoolSetAttribute cuMemPoolTrimTo cuMemPrefetchAsync_v2
    cuMemcpyDtoDAsync_v2 cuMemcpyDtoD_v2 cuMemcpyDtoHAsync_v2 cuMemcpyDtoH_v2 cuMemcpyHtoDAsync_v2 cuMemcpyHtoD_v2
    cuMemcpyPeerAsync cuMemsetD8Async cuMemsetD8_v2 cuModuleGetFunction cuModuleGetGlobal_v2 cuModuleLoad
    cuModuleLoadData cuModuleUnload cuOccupancyAvailableDynamicSMemPerBlock cuOccupancyMaxActiveBlocksPerMultiprocessor
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cuOccupancyMaxPotentialBlockSize
    cuOccupancyMaxPotentialBlockSizeWithFlags cuProfilerStart cuProfilerStop cuStreamAttachMemAsync
    cuStreamBeginCapture_v2 cuStreamCreate cuStreamCreateWithPriority cuStreamDestroy_v2 cuStreamEndCapture
    cuStreamIsCapturing cuStreamSynchronize cuStreamWaitEvent";

#[test]
fn every_function_that_programs_call_is_there() {
    let missing: Vec<_> = NEEDED.split_whitespace().filter(|name| find(name).is_none()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert_eq!(find("cuMemAlloc"), find("cuMemAlloc_v2"));
    assert_eq!(find("cuNothing"), None);
}

type Out<T> = *mut T;

unsafe extern "C" {
    fn cuInit(flags: u32) -> u32;
    fn cuDeviceGetName(name: *mut c_char, n_bytes: i32, device: i32) -> u32;
    fn cuDevicePrimaryCtxRetain(context: Out<u64>, device: i32) -> u32;
    fn cuDevicePrimaryCtxRelease_v2(device: i32) -> u32;
    fn cuCtxSetCurrent(context: u64) -> u32;
    fn cuCtxSynchronize() -> u32;
    fn cuMemAlloc_v2(to: Out<u64>, n_bytes: usize) -> u32;
    fn cuMemFree_v2(address: u64) -> u32;
    fn cuMemcpyHtoD_v2(to: u64, from: *const u8, n_bytes: usize) -> u32;
    fn cuMemcpyDtoH_v2(to: *mut u8, from: u64, n_bytes: usize) -> u32;
    fn cuGetErrorName(status: u32, to: Out<*const c_char>) -> u32;
}

#[test]
fn a_c_program_gets_its_bytes_back() {
    let (mut context, mut address, mut name, mut out) = (0, 0, [0; 64], [0u8; 5]);
    // SAFETY: every pointer is to a place of the size that the function takes, and outlives the call.
    unsafe {
        assert_eq!(cuDeviceGetName(name.as_mut_ptr(), 64, 0), 3, "before cuInit");
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDeviceGetName(name.as_mut_ptr(), 64, 0), 0);
        assert_eq!(CStr::from_ptr(name.as_ptr()), c"curator stand-in (no GPU)");
        assert_eq!(cuMemAlloc_v2(&mut address, 5), 201, "no context yet");
        assert_eq!(cuDevicePrimaryCtxRetain(&mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuMemAlloc_v2(&mut address, 5), 0);
        assert_eq!(cuMemcpyHtoD_v2(address, b"hello".as_ptr(), 5), 0);
        assert_eq!(cuMemcpyDtoH_v2(out.as_mut_ptr(), address, 5), 0);
        assert_eq!(&out, b"hello");
        assert_eq!(cuMemcpyDtoH_v2(out.as_mut_ptr(), address + 1, 5), 1);
        assert_eq!(cuMemAlloc_v2(&mut address, usize::MAX / 2), 2);
        assert_eq!(cuMemFree_v2(12345), 1);
        let mut text = std::ptr::null();
        assert_eq!(cuGetErrorName(2, &mut text), 0);
        assert_eq!(CStr::from_ptr(text), c"CUDA_ERROR_OUT_OF_MEMORY");
        assert_eq!(cuCtxSynchronize(), 0);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 0);
        assert_eq!(cuDevicePrimaryCtxRelease_v2(0), 201, "released more often than retained");
    }
}
