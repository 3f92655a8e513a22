//! A device for tests: one piece of memory, and a launch in one call.

use cuda::ptx::{Access, Checks, Counts, Fault, FaultKind, Launch, Memory, Module, run};
use std::cell::RefCell;
use std::collections::HashMap;

/// The address of the first byte.
pub const BASE: u64 = 0x7000_0000_0000;

/// What comes before every snippet.
pub const HEAD: &str = ".version 8.0\n.target sm_70\n.address_size 64\n";

pub struct Device {
    bytes: RefCell<Vec<u8>>,
    pub checks: Checks,
    pub seed: Option<u64>,
    pub dynamic_shared_bytes: u32,
    pub max_instructions: u64,
}

impl Memory for Device {
    fn read(&self, address: u64, out: &mut [u8], _: Access) -> Result<(), Fault> {
        let bytes = self.bytes.borrow();
        let at = address.wrapping_sub(BASE) as usize;
        let found = at.checked_add(out.len()).and_then(|end| bytes.get(at..end));
        out.copy_from_slice(found.ok_or_else(|| Fault::new(FaultKind::OutOfBounds, format!("read at {address:#x}")))?);
        Ok(())
    }

    fn write(&self, address: u64, from: &[u8], _: Access) -> Result<(), Fault> {
        let mut bytes = self.bytes.borrow_mut();
        let at = address.wrapping_sub(BASE) as usize;
        let found = at.checked_add(from.len()).and_then(|end| bytes.get_mut(at..end));
        found
            .ok_or_else(|| Fault::new(FaultKind::OutOfBounds, format!("write at {address:#x}")))?
            .copy_from_slice(from);
        Ok(())
    }
}

impl Device {
    pub fn new(n_bytes: usize) -> Device {
        Device {
            bytes: RefCell::new(vec![0; n_bytes]),
            checks: Checks { races: true, uninitialized: true },
            seed: None,
            dynamic_shared_bytes: 0,
            max_instructions: 1 << 32,
        }
    }

    pub fn put(&self, at: u64, bytes: &[u8]) {
        self.write(BASE + at, bytes, NOBODY).unwrap();
    }

    pub fn u32(&self, at: u64) -> u32 {
        self.u64(at) as u32
    }

    pub fn u64(&self, at: u64) -> u64 {
        let bytes = self.bytes.borrow();
        let mut out = [0; 8];
        let found = &bytes[at as usize..bytes.len().min(at as usize + 8)];
        out[..found.len()].copy_from_slice(found);
        u64::from_le_bytes(out)
    }

    /// Runs the first kernel of a module given without its head. Globals lie at the end of memory.
    pub fn run(&self, source: &str, grid: [u32; 3], block: [u32; 3], params: &[u64]) -> Result<Counts, Fault> {
        let module = Module::parse(&format!("{HEAD}{source}")).unwrap();
        self.run_module(&module, grid, block, params)
    }

    pub fn run_module(
        &self,
        module: &Module,
        grid: [u32; 3],
        block: [u32; 3],
        params: &[u64],
    ) -> Result<Counts, Fault> {
        let kernel = module.kernels().first().unwrap();
        let mut end = self.bytes.borrow().len();
        let mut global_addresses = HashMap::new();
        for global in module.globals() {
            end = end.checked_sub(global.size).ok_or_else(no_room)? / global.align * global.align;
            self.put(end as u64, &global.bytes);
            global_addresses.insert(global.name.clone(), BASE + end as u64);
        }
        for global in module.globals() {
            for pointer in &global.pointers {
                let to = global_addresses.get(&pointer.to).ok_or_else(no_room)?;
                let value = to.wrapping_add_signed(pointer.plus);
                let at = global_addresses[&global.name] - BASE + pointer.at as u64;
                self.put(at, &value.to_le_bytes());
            }
        }
        let mut block_of_params = vec![0; kernel.param_bytes()];
        for (param, value) in kernel.params().iter().zip(params) {
            let n_bytes = param.size.min(8);
            block_of_params[param.offset..param.offset + n_bytes].copy_from_slice(&value.to_le_bytes()[..n_bytes]);
        }
        let launch = Launch {
            module,
            kernel,
            grid,
            block,
            dynamic_shared_bytes: self.dynamic_shared_bytes,
            params: &block_of_params,
            global_addresses: &global_addresses,
            check: self.checks,
            seed: self.seed,
            max_instructions: self.max_instructions,
        };
        run(&launch, self)
    }
}

fn no_room() -> Fault {
    Fault::new(FaultKind::InvalidLaunch, "no room for a global")
}

const NOBODY: Access = Access { block: 0, thread: 0, epoch: 0, warp_epoch: 0, atomic: false };
