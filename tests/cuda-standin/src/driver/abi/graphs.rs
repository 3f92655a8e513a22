//! Capture and graphs.

use super::{Handle, current, current_stream, driver, exports, put};
use crate::driver::Status;
use std::ffi::c_void;

exports! {
    fn cuStreamBeginCapture_v2(stream: Handle, _mode: u32) {
        let (mut driver, _, stream) = current_stream(stream)?;
        driver.begin_capture(stream)
    }

    fn cuStreamEndCapture(stream: Handle, graph: *mut Handle) {
        let (mut driver, _, stream) = current_stream(stream)?;
        let captured = driver.end_capture(stream)?;
        put(graph, captured)
    }

    fn cuStreamIsCapturing(stream: Handle, status: *mut u32) {
        let (driver, _, stream) = current_stream(stream)?;
        put(status, driver.capture_status(stream)? as u32)
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut u32) { put(mode, 0) }

    fn cuGraphInstantiateWithFlags(runnable: *mut Handle, graph: Handle, _flags: u64) {
        let (mut driver, device) = current()?;
        let instance = driver.instantiate(device, graph)?;
        put(runnable, instance)
    }

    fn cuGraphLaunch(runnable: Handle, stream: Handle) {
        let (mut driver, _, stream) = current_stream(stream)?;
        driver.launch_graph(runnable, stream)
    }

    fn cuGraphUpload(runnable: Handle, stream: Handle) {
        let (driver, ..) = current_stream(stream)?;
        if driver.runnable_graphs.contains_key(&runnable) { Ok(()) } else { Err(Status::INVALID_HANDLE) }
    }

    fn cuGraphGetNodes(graph: Handle, _nodes: *mut c_void, n_nodes: *mut usize) {
        let driver = driver()?;
        put(n_nodes, driver.graphs.get(&graph).ok_or(Status::INVALID_HANDLE)?.len())
    }

    fn cuGraphDestroy(graph: Handle) { driver()?.graphs.remove(&graph).map(drop).ok_or(Status::INVALID_HANDLE) }

    fn cuGraphExecDestroy(runnable: Handle) {
        driver()?.runnable_graphs.remove(&runnable).map(drop).ok_or(Status::INVALID_HANDLE)
    }
}
