//! One device: its memory with a limit, its pools, its counters, and whether it is still usable.
//!
//! Memory is taken plainly, from a pool, or by a module for its variables. A pool keeps what was freed (`reserved`) until
//! someone waits for the device, and then down to its release threshold, as CUDA's pools do.
//!
//! Invariant: `plain + Σ reserved` never exceeds the capacity.
//! Not here: when a free happens (`stream.rs`), and what the addresses are (`memory.rs`).

use super::counters::Counters;
use super::state::Handle;
use super::status::Status;
use crate::memory::{DeviceMemory, rounded};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Who an allocation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// Taken and freed by itself.
    Plain,
    /// Taken from a pool.
    Pool(Handle),
    /// A variable of a module.
    Module,
}

/// A pool of memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pool {
    /// What allocations take now, and took at most.
    pub used_bytes: u64,
    pub most_used_bytes: u64,
    /// What the pool holds, used or not, and held at most.
    pub reserved_bytes: u64,
    pub most_reserved_bytes: u64,
    /// How much the pool keeps when someone waits for the device.
    pub release_threshold_bytes: u64,
}

impl Pool {
    /// Gives back what is not used, but keeps `keep_bytes` in all.
    pub fn trim(&mut self, keep_bytes: u64) {
        self.reserved_bytes = self.used_bytes.max(self.reserved_bytes.min(keep_bytes));
    }

    fn growth(&self, n_bytes: u64) -> u64 {
        (self.used_bytes + n_bytes).saturating_sub(self.reserved_bytes)
    }
}

/// A device.
pub struct Device {
    /// How much memory it has.
    pub capacity_bytes: u64,
    pub memory: DeviceMemory,
    pub counters: Counters,
    /// The error that ended its context: every later call gets it.
    pub sticky: Option<Status>,
    /// Where work goes that names no stream.
    pub default_stream: Handle,
    pub default_pool: Handle,
    /// The pool that allocations on streams come from.
    pub current_pool: Handle,
    pub pools: BTreeMap<Handle, Pool>,
    pub primary_context: Handle,
    pub n_retained: u32,
    owners: HashMap<u64, Owner>,
    /// Allocations whose free is queued.
    freeing: HashSet<u64>,
    plain_bytes: u64,
}

impl Device {
    /// A device without streams and allocations.
    pub fn new(memory: DeviceMemory, capacity_bytes: u64, stream: Handle, pool: Handle, context: Handle) -> Device {
        Device {
            capacity_bytes,
            memory,
            counters: Counters::default(),
            sticky: None,
            default_stream: stream,
            default_pool: pool,
            current_pool: pool,
            pools: BTreeMap::from([(pool, Pool::default())]),
            primary_context: context,
            n_retained: 0,
            owners: HashMap::new(),
            freeing: HashSet::new(),
            plain_bytes: 0,
        }
    }

    fn held_bytes(&self) -> u64 {
        self.plain_bytes + self.pools.values().map(|pool| pool.reserved_bytes).sum::<u64>()
    }

    /// What the device reports as free.
    pub fn free_bytes(&self) -> u64 {
        self.capacity_bytes.saturating_sub(self.held_bytes())
    }

    /// Takes memory. What pools hold without need is given up first.
    pub fn take(&mut self, n_bytes: u64, owner: Owner) -> Result<u64, Status> {
        if n_bytes == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let capacity = self.capacity_bytes;
        let size =
            n_bytes.checked_next_multiple_of(512).filter(|size| *size <= capacity).ok_or(Status::OUT_OF_MEMORY)?;
        if self.growth(size, owner)? + self.held_bytes() > capacity {
            self.pools.values_mut().for_each(|pool| pool.trim(0));
            if self.growth(size, owner)? + self.held_bytes() > capacity {
                return Err(Status::OUT_OF_MEMORY);
            }
        }
        let address = self.memory.allocate(n_bytes).ok_or(Status::OUT_OF_MEMORY)?;
        match owner {
            Owner::Pool(pool) => {
                let pool = self.pools.get_mut(&pool).ok_or(Status::INVALID_HANDLE)?;
                pool.used_bytes += size;
                pool.reserved_bytes = pool.reserved_bytes.max(pool.used_bytes);
                pool.most_used_bytes = pool.most_used_bytes.max(pool.used_bytes);
                pool.most_reserved_bytes = pool.most_reserved_bytes.max(pool.reserved_bytes);
            }
            Owner::Plain | Owner::Module => self.plain_bytes += size,
        }
        self.owners.insert(address, owner);
        self.counters.bytes_in_use += size;
        self.counters.peak_bytes = self.counters.peak_bytes.max(self.counters.bytes_in_use);
        Ok(address)
    }

    fn growth(&self, size: u64, owner: Owner) -> Result<u64, Status> {
        match owner {
            Owner::Pool(pool) => Ok(self.pools.get(&pool).ok_or(Status::INVALID_HANDLE)?.growth(size)),
            Owner::Plain | Owner::Module => Ok(size),
        }
    }

    /// Gives memory back at once.
    pub fn give_back(&mut self, address: u64) -> Result<(), Status> {
        let n_bytes = self.memory.free(address).ok_or(Status::INVALID_VALUE)?;
        self.freeing.remove(&address);
        let size = rounded(n_bytes);
        match self.owners.remove(&address) {
            Some(Owner::Pool(pool)) => {
                if let Some(pool) = self.pools.get_mut(&pool) {
                    pool.used_bytes -= size;
                }
            }
            Some(Owner::Plain | Owner::Module) | None => self.plain_bytes -= size,
        }
        self.counters.bytes_in_use -= size;
        Ok(())
    }

    /// Notes that a free is queued. An address that is not allocated, or whose free is queued already, is an error.
    pub fn begin_free(&mut self, address: u64) -> Result<(), Status> {
        match self.memory.size_of(address) {
            Some(_) if self.freeing.insert(address) => Ok(()),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// Someone waited: pools give back what is above their thresholds.
    pub fn after_wait(&mut self) {
        self.counters.waits += 1;
        self.pools.values_mut().for_each(|pool| pool.trim(pool.release_threshold_bytes));
    }

    /// What a program has allocated and not begun to free. Nothing can be freed once an error has ended the context.
    pub fn unfreed_bytes(&self) -> u64 {
        if self.sticky.is_some() {
            return 0;
        }
        let kept = |(address, owner): (&u64, &Owner)| {
            (*owner != Owner::Module && !self.freeing.contains(address))
                .then(|| self.memory.size_of(*address))
                .flatten()
        };
        self.owners.iter().filter_map(kept).sum()
    }

    /// The context is gone, and all its memory with it.
    pub fn clear(&mut self) {
        for address in self.memory.live_addresses() {
            // The addresses were just listed, so each of them is live.
            let _ = self.give_back(address);
        }
        self.pools.values_mut().for_each(|pool| pool.trim(0));
        self.sticky = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryChecks;

    fn device(capacity_bytes: u64) -> Device {
        let memory = DeviceMemory::new(capacity_bytes, MemoryChecks { races: false, uninitialized: false }).unwrap();
        Device::new(memory, capacity_bytes, 1, 2, 3)
    }

    #[test]
    fn the_last_byte_can_be_had_and_not_one_more() {
        let mut device = device(4096);
        let first = device.take(3000, Owner::Plain).unwrap();
        assert_eq!(device.take(1025, Owner::Plain), Err(Status::OUT_OF_MEMORY));
        device.take(1024, Owner::Pool(2)).unwrap();
        assert_eq!(device.take(1, Owner::Plain), Err(Status::OUT_OF_MEMORY));
        device.give_back(first).unwrap();
        device.take(3072, Owner::Pool(2)).unwrap();
        assert_eq!((device.counters.bytes_in_use, device.counters.peak_bytes), (4096, 4096));
        assert_eq!(device.take(0, Owner::Plain), Err(Status::INVALID_VALUE));
        assert_eq!(device.take(u64::MAX, Owner::Plain), Err(Status::OUT_OF_MEMORY));
    }

    #[test]
    fn a_pool_keeps_what_was_freed_until_someone_waits_or_needs_it() {
        let mut device = device(8192);
        let held = device.take(4096, Owner::Pool(2)).unwrap();
        device.give_back(held).unwrap();
        assert_eq!(device.free_bytes(), 4096);
        device.after_wait();
        assert_eq!(device.free_bytes(), 8192);
        device.pools.get_mut(&2).unwrap().release_threshold_bytes = 1024;
        let held = device.take(4096, Owner::Pool(2)).unwrap();
        device.give_back(held).unwrap();
        device.after_wait();
        assert_eq!(device.free_bytes(), 7168);
        device.take(8192, Owner::Plain).unwrap();
        assert_eq!(device.free_bytes(), 0);
    }

    #[test]
    fn what_no_free_is_under_way_for_is_a_leak() {
        let mut device = device(8192);
        let (a, _b) = (device.take(100, Owner::Plain).unwrap(), device.take(10, Owner::Pool(2)).unwrap());
        device.take(1000, Owner::Module).unwrap();
        assert_eq!(device.unfreed_bytes(), 110);
        device.begin_free(a).unwrap();
        assert_eq!(device.unfreed_bytes(), 10);
        assert_eq!(device.begin_free(a), Err(Status::INVALID_VALUE), "freed twice");
    }
}
