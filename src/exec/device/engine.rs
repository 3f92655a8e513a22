//! The devices of a session, and what all queries on them share.

use crate::exec::admission::Door;
use crate::gpu::{Device, Runtime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A device, in the thousandths that its share is counted in.
pub const WHOLE_DEVICE: u32 = 1000;

/// The GPUs that a session may use.
#[derive(Debug)]
pub struct Engine {
    runtime: Arc<Runtime>,
    doors: Vec<Arc<Door>>,
    /// Devices that failed: nothing is sent there any more.
    lost: Vec<AtomicBool>,
}

impl Engine {
    /// All devices of a runtime.
    pub fn new(runtime: Arc<Runtime>) -> Self {
        let n_devices = runtime.devices().len();
        Self {
            doors: (0..n_devices).map(|_| Arc::new(Door::new(WHOLE_DEVICE))).collect(),
            lost: (0..n_devices).map(|_| AtomicBool::new(false)).collect(),
            runtime,
        }
    }

    /// The devices.
    pub fn runtime(&self) -> &Arc<Runtime> {
        &self.runtime
    }

    /// The device for a partition: partitions are spread over the devices that work.
    pub(super) fn device(&self, partition: usize) -> Option<Seat> {
        let working: Vec<usize> = (0..self.lost.len()).filter(|device| !self.is_lost(*device)).collect();
        let place = *working.get(partition % working.len().max(1))?;
        let device = Arc::clone(self.runtime.devices().get(place)?);
        Some(Seat { place, device, door: Arc::clone(self.doors.get(place)?) })
    }

    pub(super) fn is_lost(&self, place: usize) -> bool {
        self.lost.get(place).is_none_or(|lost| lost.load(Relaxed))
    }

    /// Takes a device out. True the first time, so that it is said once.
    pub(super) fn lose(&self, place: usize) -> bool {
        self.lost.get(place).is_some_and(|lost| !lost.swap(true, Relaxed))
    }
}

/// One partition's place on a device.
pub(super) struct Seat {
    /// Which of the session's devices.
    pub place: usize,
    pub device: Arc<Device>,
    pub door: Arc<Door>,
}
