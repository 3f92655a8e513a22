//! The devices of a session, and what all queries on them share.

use crate::exec::admission::ShareSemaphore;
use crate::gpu::{Device, Runtime};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A device, in the thousandths that its share is counted in.
pub const WHOLE_DEVICE: u32 = 1000;

/// The thousandths of a device that so many batches or launches hold; 0 if the query sets no share aside.
pub fn share_of_device(gpus: Option<f64>, n_batches: usize) -> u32 {
    let share = gpus.map_or(0.0, |share| (share * f64::from(WHOLE_DEVICE) * n_batches as f64).ceil());
    (share as u32).min(WHOLE_DEVICE)
}

/// The GPUs that a session may use.
#[derive(Debug)]
pub struct Engine {
    runtime: Arc<Runtime>,
    semaphores: Vec<Arc<ShareSemaphore>>,
    /// Devices that failed: nothing is sent there any more.
    lost: Vec<AtomicBool>,
}

impl Engine {
    /// All devices of a runtime.
    pub fn new(runtime: Arc<Runtime>) -> Self {
        let n_devices = runtime.devices().len();
        Self {
            semaphores: (0..n_devices).map(|_| Arc::new(ShareSemaphore::new(WHOLE_DEVICE))).collect(),
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
        let mut working = self.working();
        let n_working = working.len().max(1);
        (!working.is_empty()).then(|| working.swap_remove(partition % n_working))
    }

    /// All devices that work.
    pub(crate) fn working(&self) -> Vec<Seat> {
        let seats = self.runtime.devices().iter().zip(&self.semaphores).enumerate();
        let seats = seats.map(|(place, (device, semaphore))| Seat {
            place,
            device: device.clone(),
            semaphore: semaphore.clone(),
        });
        seats.filter(|seat| !self.is_lost(seat.place)).collect()
    }

    /// Who lets batches onto a device.
    pub(crate) fn door(&self, place: usize) -> Option<&Arc<ShareSemaphore>> {
        self.semaphores.get(place)
    }

    pub(super) fn is_lost(&self, place: usize) -> bool {
        self.lost.get(place).is_none_or(|lost| lost.load(Relaxed))
    }

    /// Takes a device out. True the first time, so that it is said once.
    pub(crate) fn lose(&self, place: usize) -> bool {
        self.lost.get(place).is_some_and(|lost| !lost.swap(true, Relaxed))
    }
}

/// One partition's place on a device.
pub(crate) struct Seat {
    /// Which of the session's devices.
    pub place: usize,
    pub device: Arc<Device>,
    pub semaphore: Arc<ShareSemaphore>,
}
