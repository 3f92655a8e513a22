//! Everything the driver knows: devices, streams, events, modules, pinned memory.
//!
//! Invariant: a handle is valid if and only if it is a key of the table of its kind; handles are never used again.
//! All contexts of a device share its memory, streams and errors: the stand-in tells them apart by name only.
//! Not here: the C functions (`abi/`), which do nothing but check pointers and call this.

use super::device::{Device, Owner};
use super::events::Event;
use super::graphs::{Capture, Graph};
use super::inject::Injection;
use super::modules::{Function, Loaded};
use super::settings::Settings;
use super::status::Status;
use super::streams::Stream;
use super::{attributes, counters};
use crate::memory::DeviceMemory;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What the C functions give out for a stream, event, module, … Never 0.
pub type Handle = u64;

/// Where handles begin, and the step between two. Small numbers are special streams to CUDA.
const FIRST_HANDLE: Handle = 0x5_0000;
const HANDLE_STEP: Handle = 16;

/// Pinned memory of the host: how much, and for which device it was made.
#[derive(Debug, Clone, Copy)]
pub struct Pinned {
    pub n_bytes: usize,
    pub device: usize,
    /// Whether the driver made it, or only registered memory of the program.
    pub is_ours: bool,
}

/// The driver.
pub struct Driver {
    pub settings: Settings,
    pub devices: Vec<Device>,
    /// The device of each context.
    pub contexts: HashMap<Handle, usize>,
    /// Ordered, so that runs with the same seed take streams in the same order.
    pub streams: BTreeMap<Handle, Stream>,
    pub events: HashMap<Handle, Event>,
    pub modules: HashMap<Handle, Arc<Loaded>>,
    pub functions: HashMap<Handle, Function>,
    pub captures: HashMap<Handle, Capture>,
    pub graphs: HashMap<Handle, Graph>,
    pub runnable_graphs: HashMap<Handle, (usize, Graph)>,
    /// By address.
    pub pinned: BTreeMap<usize, Pinned>,
    pub is_initialized: bool,
    pub(super) random: u64,
    lose_device: Injection,
    next_handle: Handle,
}

impl Driver {
    /// A driver with the devices that the settings ask for, before `cuInit`.
    pub fn new(mut settings: Settings) -> Result<Driver, String> {
        settings.lose_device = settings.lose_device.lasting();
        let mut driver = Driver {
            devices: Vec::new(),
            contexts: HashMap::new(),
            streams: BTreeMap::new(),
            events: HashMap::new(),
            modules: HashMap::new(),
            functions: HashMap::new(),
            captures: HashMap::new(),
            graphs: HashMap::new(),
            runnable_graphs: HashMap::new(),
            pinned: BTreeMap::new(),
            is_initialized: false,
            random: settings.seed.unwrap_or(0),
            lose_device: settings.lose_device.clone(),
            next_handle: FIRST_HANDLE,
            settings,
        };
        for (ordinal, capacity_bytes) in driver.settings.memory_bytes.clone().into_iter().enumerate() {
            let memory = DeviceMemory::new(capacity_bytes, driver.settings.checks)
                .ok_or_else(|| format!("no address space for a device of {capacity_bytes} bytes"))?;
            let (stream, pool, context) = (driver.handle(), driver.handle(), driver.handle());
            driver.streams.insert(stream, Stream::new(ordinal, true));
            driver.contexts.insert(context, ordinal);
            driver.devices.push(Device::new(memory, capacity_bytes, stream, pool, context));
        }
        Ok(driver)
    }

    /// A new handle.
    pub fn handle(&mut self) -> Handle {
        self.next_handle += HANDLE_STEP;
        self.next_handle
    }

    /// Counts a call that concerns a device, and refuses it if the device is lost or its context was ended by an error.
    pub fn enter(&mut self, device: usize) -> Result<(), Status> {
        if self.lose_device.hits(device) && self.devices[device].sticky != Some(Status::DEVICE_UNAVAILABLE) {
            self.injected(device, "LOSE_DEVICE");
            self.end(device, Status::DEVICE_UNAVAILABLE);
        }
        self.usable(device)
    }

    /// An error if the device's context was ended by one.
    pub fn usable(&self, device: usize) -> Result<(), Status> {
        self.devices[device].sticky.map_or(Ok(()), Err)
    }

    /// Ends the context of a device: its queued work is dropped, and all calls get the error from now on.
    pub fn end(&mut self, device: usize, status: Status) {
        let state = &mut self.devices[device];
        state.sticky = Some(status);
        state.counters.launches_in_flight = 0;
        self.streams.values_mut().filter(|stream| stream.device == device).for_each(Stream::drop_work);
        self.save();
    }

    /// Makes a device as new: a context that is gone takes everything of it along.
    pub fn reset(&mut self, device: usize) {
        let leaked_bytes = self.devices[device].unfreed_bytes();
        if leaked_bytes > 0 {
            let message = format!("{leaked_bytes} bytes were never freed when the context was destroyed");
            self.devices[device].counters.fault(message);
        }
        let default_stream = self.devices[device].default_stream;
        self.streams.retain(|handle, stream| stream.device != device || *handle == default_stream);
        self.streams.values_mut().filter(|stream| stream.device == device).for_each(Stream::drop_work);
        self.events.retain(|_, event| event.device != device);
        self.modules.retain(|_, module| module.device != device);
        self.functions.retain(|_, function| function.loaded.device != device);
        self.devices[device].counters.leaked_bytes += leaked_bytes;
        self.devices[device].clear();
        self.save();
    }

    /// Keeps a message about a mistake of the program, and tells it: an error code says too little.
    pub fn fault(&mut self, device: usize, message: String) {
        tell(&format!("device {device}: {message}"));
        self.devices[device].counters.fault(message);
    }

    /// Keeps a message about something that a program must expect: a failure on request, an image for other devices.
    pub fn refused(&mut self, device: usize, message: String) {
        if self.settings.trace {
            tell(&format!("device {device}: {message}"));
        }
        self.devices[device].counters.refusal(message);
    }

    /// Keeps a message about a failure that was asked for.
    pub fn injected(&mut self, device: usize, setting: &str) {
        self.refused(device, format!("failed because {setting} asked for it"));
    }

    /// Which device has the address in its range.
    pub fn device_of(&self, address: u64) -> Option<usize> {
        self.devices.iter().position(|device| device.memory.owns(address))
    }

    /// Allocates device memory; what is queued to be freed is waited for before giving up.
    pub fn allocate(&mut self, device: usize, n_bytes: u64, owner: Owner) -> Result<u64, Status> {
        if self.settings.fail_alloc.hits(device) {
            self.devices[device].counters.failed_allocations += 1;
            self.injected(device, "FAIL_ALLOC");
            return Err(Status::OUT_OF_MEMORY);
        }
        let mut address = self.devices[device].take(n_bytes, owner);
        if address == Err(Status::OUT_OF_MEMORY) {
            self.run_device(device)?;
            address = self.devices[device].take(n_bytes, owner);
        }
        let counters = &mut self.devices[device].counters;
        match address {
            Ok(_) => counters.allocations += 1,
            Err(_) => counters.failed_allocations += 1,
        }
        address
    }

    /// Frees device memory after all work that is queued on its device.
    pub fn free(&mut self, address: u64) -> Result<(), Status> {
        let device = self.device_of(address).ok_or(Status::INVALID_VALUE)?;
        if let Err(status) = self.devices[device].begin_free(address) {
            self.fault(device, format!("free of {address:#x}, where no allocation starts that is not freed already"));
            return Err(status);
        }
        self.run_device(device)?;
        self.devices[device].counters.frees += 1;
        self.devices[device].give_back(address)
    }

    /// The most shared memory that a kernel can ask for.
    pub fn most_shared_bytes(&self) -> u32 {
        attributes::most_shared_per_block(self.settings.capability)
    }

    /// A number from the seed, for the order of streams.
    pub(super) fn draw(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % below.max(1)
    }

    /// The counters of all devices as JSON.
    pub fn counters_json(&self) -> String {
        let current: Vec<_> = self
            .devices
            .iter()
            .map(|device| {
                let mut counters = device.counters.clone();
                counters.leaked_bytes += device.unfreed_bytes();
                counters
            })
            .collect();
        counters::to_json(current.iter())
    }

    /// Writes the counters to their file. A file that cannot be written is told, and no reason to fail a call.
    pub fn save(&self) {
        let Some(path) = &self.settings.stats else { return };
        let mut new = path.clone().into_os_string();
        new.push(format!(".{}", std::process::id()));
        if let Err(error) = std::fs::write(&new, self.counters_json()).and_then(|()| std::fs::rename(&new, path)) {
            tell(&format!("{}: {error}", path.display()));
        }
    }
}

/// Says something on standard error; nobody else is there to hear it.
pub fn tell(message: &str) {
    use std::io::Write;
    // A closed standard error is no reason to end a program that uses the driver.
    let _ = writeln!(std::io::stderr(), "cuda stand-in: {message}");
}
