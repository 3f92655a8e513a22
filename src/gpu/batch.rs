//! A batch on a device: uploaded, computed, downloaded.
//!
//! ```text
//! Device::upload ──► DeviceBatch ──launch──► ──download──► Pending ──wait──► Results
//! ```
//! Nothing here blocks but `wait`, and the drop of a batch that was given up, which waits until the device is done with
//! it. Either way its memory, its part of the budget and its staging buffer are given back.

use std::sync::Arc;

use arrow::array::ArrayRef;

use super::{Device, DeviceSeconds, GpuError, Layout, Loaded, Results, driver::Failure, flight::Flight, memory::Claim};

/// Columns on a device, and room for what is computed from them.
#[derive(Debug)]
pub struct DeviceBatch {
    // Dropped in this order: the flight waits for the device and frees the memory, then the budget gets it back, and
    // the kernels may be unloaded.
    flight: Flight,
    _claim: Claim,
    layout: Layout,
    loaded: Arc<Loaded>,
    device: Arc<Device>,
}

/// Results on their way back.
#[derive(Debug)]
pub struct Pending {
    batch: DeviceBatch,
}

impl DeviceBatch {
    pub(super) fn new(
        device: &Arc<Device>,
        loaded: &Arc<Loaded>,
        layout: Layout,
        flight: Flight,
        claim: Claim,
    ) -> Self {
        Self { flight, _claim: claim, layout, loaded: loaded.clone(), device: device.clone() }
    }

    pub(super) fn copy_in(&mut self, columns: &[ArrayRef]) -> Result<(), GpuError> {
        let n_bytes = self.layout.input_bytes();
        let (address, tables) = (self.flight.address(), self.loaded.tables_address);
        let layout = &self.layout;
        let copied = self.flight.copy_in(n_bytes, |bytes| layout.write_input(bytes, address, tables, columns));
        copied.map_err(|failure| self.error(failure))?;
        Ok(())
    }

    /// The bytes that its copy in moves.
    pub fn input_bytes(&self) -> usize {
        self.layout.input_bytes()
    }

    /// The bytes that its copy out moves.
    pub fn output_bytes(&self) -> usize {
        self.layout.output_range().len()
    }

    /// How many kernels are launched for it: none for no rows.
    pub fn n_launches(&self) -> usize {
        self.layout.launches().len()
    }

    /// Puts the kernels under way, in order.
    pub fn launch(&mut self) -> Result<(), GpuError> {
        for (kernel, at) in self.loaded.kernels.iter().zip(self.layout.launches()) {
            let launched = self.flight.launch(kernel, at.launch_offset, at.n_blocks);
            launched.map_err(|failure| self.error(failure))?;
        }
        Ok(())
    }

    /// Puts the copy of the results under way.
    pub fn download(mut self) -> Result<Pending, GpuError> {
        let range = self.layout.output_range();
        self.flight.copy_out(range).map_err(|failure| self.error(failure))?;
        Ok(Pending { batch: self })
    }

    fn error(&self, failure: Failure) -> GpuError {
        self.device.error(failure, self.layout.total_bytes(), self.layout.total_bytes())
    }
}

impl Pending {
    /// The same, with the time that the device took.
    pub fn wait_timed(mut self) -> Result<(Results, DeviceSeconds), GpuError> {
        let (layout, device) = (&self.batch.layout, &self.batch.device);
        match self.batch.flight.wait() {
            Ok((bytes, seconds)) => Ok((layout.read_outputs(bytes).map_err(GpuError::Refused)?, seconds)),
            Err(failure) => Err(device.error(failure, layout.total_bytes(), layout.total_bytes())),
        }
    }
}

impl Drop for DeviceBatch {
    fn drop(&mut self) {
        if let Some(gear) = self.flight.end() {
            self.device.put_back(gear);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever waits does so on a thread that may block.
    #[test]
    fn batches_can_be_sent_to_another_thread() {
        fn is_send<T: Send>() {}
        fn is_shared<T: Send + Sync>() {}
        is_send::<DeviceBatch>();
        is_send::<Pending>();
        is_shared::<Device>();
        is_shared::<Loaded>();
    }
}
