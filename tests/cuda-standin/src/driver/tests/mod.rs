//! Tests of the driver, on drivers of their own with the settings they need.

mod abi;
mod failures;
mod kernels;
mod streams;

use super::*;

const BLOCK: [u32; 3] = [64, 1, 1];

/// Writes i to word i, for i below n: `count_up(u64 words, u32 n)`.
const COUNT_UP: &str = include_str!("count_up.ptx");

/// A driver with a stream and, if asked for, a kernel.
struct Bench {
    driver: Driver,
    stream: Handle,
}

impl Bench {
    fn new(settings: Settings) -> Bench {
        let mut driver = Driver::new(settings).unwrap();
        driver.is_initialized = true;
        let stream = driver.create_stream(0, false, 0);
        Bench { driver, stream }
    }

    fn allocate(&mut self, n_bytes: u64) -> Result<u64, Status> {
        let pool = self.driver.devices[0].current_pool;
        self.driver.allocate(0, n_bytes, Owner::Pool(pool))
    }

    fn kernel(&mut self, ptx: &str, name: &str) -> Handle {
        let module = self.driver.load_module(0, ptx.as_bytes()).map_err(|(_, message)| message).unwrap();
        self.driver.function(module, name).unwrap()
    }

    /// Launches a kernel that takes an address and a count.
    fn launch(&mut self, kernel: Handle, n_blocks: u32, address: u64, n: u32) -> Result<(), Status> {
        let params = [&address.to_le_bytes()[..], &n.to_le_bytes()].concat();
        let shape = Shape { grid: [n_blocks, 1, 1], block: BLOCK, dynamic_shared_bytes: 0 };
        self.driver.launch(kernel, shape, self.stream, params)
    }

    fn copy_in(&mut self, to: u64, from: &[u8]) -> Result<(), Status> {
        let from = HostRange { address: from.as_ptr() as usize, n_bytes: from.len() };
        // SAFETY: tests keep what they copy from.
        unsafe { self.driver.copy_in(self.stream, to, from) }
    }

    fn copy_out(&mut self, to: &mut [u8], from: u64) -> Result<(), Status> {
        let to = HostRange { address: to.as_mut_ptr() as usize, n_bytes: to.len() };
        // SAFETY: tests keep what they copy to.
        unsafe { self.driver.copy_out(self.stream, to, from) }
    }

    fn pin(&mut self, memory: &[u8]) {
        let pinned = Pinned { n_bytes: memory.len(), device: 0, is_ours: false };
        self.driver.pin(memory.as_ptr() as usize, pinned).unwrap();
    }

    fn wait(&mut self) -> Result<(), Status> {
        self.driver.synchronize_stream(self.stream)
    }

    /// What a copy out gives now.
    fn words(&mut self, address: u64, n: usize) -> Vec<u32> {
        let mut bytes = vec![0; n * 4];
        self.copy_out(&mut bytes, address).unwrap();
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    fn counters(&self) -> &Counters {
        &self.driver.devices[0].counters
    }

    fn last_fault(&self) -> &str {
        self.counters().faults.last().map_or("", String::as_str)
    }
}

fn settings(pairs: &[(&str, &str)]) -> Settings {
    Settings::read(|name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())).unwrap()
}
