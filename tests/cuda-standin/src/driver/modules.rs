//! Modules and kernels: from an image to a launch on a stream.
//!
//! Invariant: what a GPU's driver refuses is refused here with the same error: newer PTX than the driver, a target above
//! the device, a grid or block that cannot be, more shared memory than there is.
//! Not here: parsing and running (`crate::ptx`).

use super::attributes;
use super::device::Owner;
use super::state::{Driver, Handle};
use super::status::Status;
use super::work::{KernelLaunch, Work};
use crate::ptx::{Kernel, Module};
use std::collections::HashMap;
use std::sync::Arc;

/// The shared memory that a kernel may use unless it asked for more.
const DEFAULT_SHARED_BYTES: u32 = 48 << 10;

/// A module on a device.
pub struct Loaded {
    pub device: usize,
    pub module: Module,
    pub global_addresses: HashMap<String, u64>,
}

/// A kernel of a loaded module.
#[derive(Clone)]
pub struct Function {
    pub loaded: Arc<Loaded>,
    pub name: String,
    /// How much dynamic shared memory it may be launched with.
    pub most_dynamic_shared_bytes: u32,
}

impl Function {
    /// What the module says about it.
    pub fn kernel(&self) -> Result<&Kernel, Status> {
        self.loaded.module.kernel(&self.name).ok_or(Status::INVALID_HANDLE)
    }

    /// The shared memory that it declares.
    pub fn static_shared_bytes(&self) -> u32 {
        self.kernel().map_or(0, |kernel| u32::try_from(kernel.static_shared_bytes()).unwrap_or(u32::MAX))
    }
}

/// The size of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
}

impl Driver {
    /// Loads an image: PTX as text. The message of an error goes to the program's log, too.
    pub fn load_module(&mut self, device: usize, image: &[u8]) -> Result<Handle, (Status, String)> {
        let loaded = self.load(device, image);
        match loaded {
            Ok(loaded) => {
                let handle = self.handle();
                self.modules.insert(handle, Arc::new(loaded));
                self.devices[device].counters.modules += 1;
                Ok(handle)
            }
            Err((status, message)) => {
                match status {
                    Status::NO_BINARY_FOR_GPU | Status::UNSUPPORTED_PTX_VERSION | Status::OUT_OF_MEMORY => {
                        self.refused(device, message.clone());
                    }
                    _ => self.fault(device, message.clone()),
                }
                Err((status, message))
            }
        }
    }

    fn load(&mut self, device: usize, image: &[u8]) -> Result<Loaded, (Status, String)> {
        let refuse = |status: Status, message: String| Err((status, message));
        if is_binary(image) {
            let message = "a cubin or fatbin: the stand-in runs PTX only".to_string();
            return refuse(Status::NO_BINARY_FOR_GPU, message);
        }
        let text = std::str::from_utf8(image).ok().filter(|text| text.contains(".version"));
        let Some(text) = text else { return refuse(Status::INVALID_IMAGE, "neither PTX nor a cubin".to_string()) };
        if let Some(version) = stated_version(text) {
            let newest = attributes::newest_ptx(self.settings.driver_version);
            if version > newest {
                let (driver, name) = (self.settings.driver_version, "the newest that a driver of CUDA");
                let message = format!(
                    "PTX {}.{} is newer than {}.{}, {name} {}.{} takes",
                    version.0,
                    version.1,
                    newest.0,
                    newest.1,
                    driver / 1000,
                    driver % 1000 / 10
                );
                return refuse(Status::UNSUPPORTED_PTX_VERSION, message);
            }
        }
        let module = Module::parse(text).map_err(|error| (Status::INVALID_PTX, format!("PTX: {error}")))?;
        let (major, minor) = self.settings.capability;
        if module.target() > major * 10 + minor {
            let message = format!("PTX for sm_{} does not run on compute capability {major}.{minor}", module.target());
            return refuse(Status::NO_BINARY_FOR_GPU, message);
        }
        let global_addresses = self
            .place_globals(device, &module)
            .map_err(|status| (status, "no room for the variables of a module".to_string()))?;
        Ok(Loaded { device, module, global_addresses })
    }

    fn place_globals(&mut self, device: usize, module: &Module) -> Result<HashMap<String, u64>, Status> {
        let mut addresses = HashMap::new();
        for global in module.globals() {
            let address = self.devices[device].take(global.size.max(1) as u64, Owner::Module)?;
            addresses.insert(global.name.clone(), address);
        }
        for global in module.globals() {
            let mut bytes = global.bytes.clone();
            for pointer in &global.pointers {
                let target = addresses.get(&pointer.to).ok_or(Status::INVALID_PTX)?;
                let value = target.wrapping_add_signed(pointer.plus).to_le_bytes();
                bytes.get_mut(pointer.at..pointer.at + 8).ok_or(Status::INVALID_PTX)?.copy_from_slice(&value);
            }
            let stored = self.devices[device].memory.store(addresses[&global.name], &bytes);
            stored.map_err(|_| Status::INVALID_PTX)?;
        }
        Ok(addresses)
    }

    /// Unloads a module after all work of its device.
    pub fn unload_module(&mut self, module: Handle) -> Result<(), Status> {
        let loaded = self.modules.get(&module).ok_or(Status::INVALID_HANDLE)?.clone();
        self.run_device(loaded.device)?;
        self.modules.remove(&module);
        self.functions.retain(|_, function| !Arc::ptr_eq(&function.loaded, &loaded));
        loaded.global_addresses.values().try_for_each(|address| self.devices[loaded.device].give_back(*address))
    }

    /// A kernel of a module, by its name.
    pub fn function(&mut self, module: Handle, name: &str) -> Result<Handle, Status> {
        let loaded = self.modules.get(&module).ok_or(Status::INVALID_HANDLE)?.clone();
        loaded.module.kernel(name).ok_or(Status::NOT_FOUND)?;
        let known = self.functions.iter().find(|(_, known)| Arc::ptr_eq(&known.loaded, &loaded) && known.name == name);
        if let Some((handle, _)) = known {
            return Ok(*handle);
        }
        let handle = self.handle();
        let name = name.to_string();
        self.functions.insert(handle, Function { loaded, name, most_dynamic_shared_bytes: DEFAULT_SHARED_BYTES });
        Ok(handle)
    }

    /// A variable of a module: its address and its bytes.
    pub fn global(&self, module: Handle, name: &str) -> Result<(u64, usize), Status> {
        let loaded = self.modules.get(&module).ok_or(Status::INVALID_HANDLE)?;
        let global = loaded.module.globals().iter().find(|global| global.name == name).ok_or(Status::NOT_FOUND)?;
        Ok((loaded.global_addresses[name], global.size))
    }

    /// Queues a launch.
    pub fn launch(&mut self, function: Handle, shape: Shape, stream: Handle, params: Vec<u8>) -> Result<(), Status> {
        let function = self.functions.get(&function).ok_or(Status::INVALID_HANDLE)?.clone();
        let device = self.stream(stream)?.device;
        if device != function.loaded.device {
            return Err(Status::INVALID_HANDLE);
        }
        if let Err((status, reason)) = self.check_shape(&function, shape) {
            self.fault(device, format!("{}: {reason}", function.name));
            return Err(status);
        }
        let fails = self.settings.fail_launch.hits(device);
        let launch = KernelLaunch {
            loaded: function.loaded,
            kernel: function.name,
            grid: shape.grid,
            block: shape.block,
            dynamic_shared_bytes: shape.dynamic_shared_bytes,
            params,
            fails,
        };
        self.queue(stream, Work::Launch(Box::new(launch)))
    }

    fn check_shape(&self, function: &Function, shape: Shape) -> Result<(), (Status, String)> {
        let Shape { grid, block, dynamic_shared_bytes } = shape;
        let refuse = |reason: String| Err((Status::INVALID_VALUE, reason));
        let kernel = function.kernel().map_err(|status| (status, String::new()))?;
        if grid.contains(&0) || grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
            return refuse(format!("a grid of {grid:?} blocks"));
        }
        let n_threads = block.iter().map(|n| u64::from(*n)).product::<u64>();
        if n_threads == 0 || n_threads > 1024 || block[2] > 64 {
            return refuse(format!("a block of {block:?} threads: 1 to 1024 are possible, 64 in z"));
        }
        if let Some(most) = kernel.max_threads().filter(|most| n_threads > u64::from(*most)) {
            return refuse(format!("a block of {n_threads} threads: the kernel was compiled for at most {most}"));
        }
        if dynamic_shared_bytes > function.most_dynamic_shared_bytes {
            let most = function.most_dynamic_shared_bytes;
            return refuse(format!("{dynamic_shared_bytes} bytes of dynamic shared memory: {most} are allowed"));
        }
        let shared_bytes = u64::from(function.static_shared_bytes()) + u64::from(dynamic_shared_bytes);
        let most = DEFAULT_SHARED_BYTES.max(function.most_dynamic_shared_bytes).min(self.most_shared_bytes());
        if shared_bytes > u64::from(most) {
            let reason = format!("{shared_bytes} bytes of shared memory: a block can have {most}");
            return Err((Status::LAUNCH_OUT_OF_RESOURCES, reason));
        }
        Ok(())
    }
}

fn is_binary(image: &[u8]) -> bool {
    image.starts_with(b"\x7fELF") || image.starts_with(&[0x50, 0xed, 0x55, 0xba])
}

/// The number after `.version`, which decides before anything else is read, because newer PTX may not be readable.
fn stated_version(text: &str) -> Option<(u32, u32)> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(".version"))?;
    let (major, minor) = line.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.trim().parse().ok()?))
}
