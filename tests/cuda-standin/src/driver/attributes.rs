//! What a device says about itself: the numbers of `cuDeviceGetAttribute`.
//!
//! They are those of a card of the compute capability that was asked for, so that a planner has something plausible to
//! work with. The name says that there is no card.

/// The name of every device.
pub const DEVICE_NAME: &str = "curator stand-in (no GPU)";

/// What differs between architectures.
struct Architecture {
    capability: (u32, u32),
    n_multiprocessors: i32,
    clock_khz: i32,
    memory_clock_khz: i32,
    bus_bits: i32,
    l2_bytes: i32,
    threads_per_multiprocessor: i32,
    shared_per_multiprocessor: i32,
    most_shared_per_block: i32,
    blocks_per_multiprocessor: i32,
}

const fn architecture(
    capability: (u32, u32),
    n_multiprocessors: i32,
    [clock_khz, memory_clock_khz, bus_bits]: [i32; 3],
    l2_mb: i32,
    [threads, shared_kb, shared_per_block_kb, blocks]: [i32; 4],
) -> Architecture {
    Architecture {
        capability,
        n_multiprocessors,
        clock_khz,
        memory_clock_khz,
        bus_bits,
        l2_bytes: l2_mb << 20,
        threads_per_multiprocessor: threads,
        shared_per_multiprocessor: shared_kb << 10,
        most_shared_per_block: shared_per_block_kb << 10,
        blocks_per_multiprocessor: blocks,
    }
}

/// Ascending by capability. V100, T4, A100, RTX 3090, L4, H100, B200.
const ARCHITECTURES: [Architecture; 7] = [
    architecture((7, 0), 80, [1_380_000, 877_000, 4096], 6, [2048, 96, 96, 32]),
    architecture((7, 5), 40, [1_590_000, 5_001_000, 256], 4, [1024, 64, 64, 16]),
    architecture((8, 0), 108, [1_410_000, 1_215_000, 5120], 40, [2048, 164, 163, 32]),
    architecture((8, 6), 82, [1_695_000, 9_751_000, 384], 6, [1536, 100, 99, 16]),
    architecture((8, 9), 58, [2_040_000, 6_251_000, 192], 48, [1536, 100, 99, 24]),
    architecture((9, 0), 132, [1_980_000, 2_619_000, 5120], 50, [2048, 228, 227, 32]),
    architecture((10, 0), 148, [1_965_000, 3_996_000, 8192], 126, [2048, 228, 227, 32]),
];

fn nearest(capability: (u32, u32)) -> &'static Architecture {
    ARCHITECTURES.iter().rev().find(|known| known.capability <= capability).unwrap_or(&ARCHITECTURES[0])
}

/// The most shared memory that a kernel can ask for.
pub fn most_shared_per_block(capability: (u32, u32)) -> u32 {
    nearest(capability).most_shared_per_block as u32
}

/// How many threads a multiprocessor holds.
pub fn threads_per_multiprocessor(capability: (u32, u32)) -> u32 {
    nearest(capability).threads_per_multiprocessor as u32
}

/// How many blocks a multiprocessor holds.
pub fn blocks_per_multiprocessor(capability: (u32, u32)) -> u32 {
    nearest(capability).blocks_per_multiprocessor as u32
}

/// How much shared memory a multiprocessor has.
pub fn shared_per_multiprocessor(capability: (u32, u32)) -> u32 {
    nearest(capability).shared_per_multiprocessor as u32
}

/// How many multiprocessors a device has.
pub fn n_multiprocessors(capability: (u32, u32)) -> u32 {
    nearest(capability).n_multiprocessors as u32
}

/// The value of an attribute by CUDA's number for it; 0 for what the stand-in does not have.
pub fn attribute(number: u32, ordinal: usize, capability: (u32, u32), pools: bool) -> i32 {
    let of = nearest(capability);
    match number {
        1 => 1024,                           // MAX_THREADS_PER_BLOCK
        2 | 3 => 1024,                       // MAX_BLOCK_DIM_X, _Y
        4 => 64,                             // MAX_BLOCK_DIM_Z
        5 => i32::MAX,                       // MAX_GRID_DIM_X
        6 | 7 => 65535,                      // MAX_GRID_DIM_Y, _Z
        8 => 48 << 10,                       // MAX_SHARED_MEMORY_PER_BLOCK
        9 => 64 << 10,                       // TOTAL_CONSTANT_MEMORY
        10 => 32,                            // WARP_SIZE
        11 => i32::MAX,                      // MAX_PITCH
        12 | 82 => 65536,                    // MAX_REGISTERS_PER_BLOCK, _PER_MULTIPROCESSOR
        13 => of.clock_khz,                  // CLOCK_RATE
        14 => 512,                           // TEXTURE_ALIGNMENT
        15 => 1,                             // GPU_OVERLAP
        16 => of.n_multiprocessors,          // MULTIPROCESSOR_COUNT
        19 => 1,                             // CAN_MAP_HOST_MEMORY
        31 => 1,                             // CONCURRENT_KERNELS
        33 => ordinal as i32 + 1,            // PCI_BUS_ID
        36 => of.memory_clock_khz,           // MEMORY_CLOCK_RATE
        37 => of.bus_bits,                   // GLOBAL_MEMORY_BUS_WIDTH
        38 => of.l2_bytes,                   // L2_CACHE_SIZE
        39 => of.threads_per_multiprocessor, // MAX_THREADS_PER_MULTIPROCESSOR
        40 => 2,                             // ASYNC_ENGINE_COUNT
        41 => 1,                             // UNIFIED_ADDRESSING
        75 => capability.0 as i32,           // COMPUTE_CAPABILITY_MAJOR
        76 => capability.1 as i32,           // COMPUTE_CAPABILITY_MINOR
        78 => 1,                             // STREAM_PRIORITIES_SUPPORTED
        81 => of.shared_per_multiprocessor,  // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
        97 => of.most_shared_per_block,      // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
        99 => 1,                             // HOST_REGISTER_SUPPORTED
        106 => of.blocks_per_multiprocessor, // MAX_BLOCKS_PER_MULTIPROCESSOR
        111 => 1 << 10,                      // RESERVED_SHARED_MEMORY_PER_BLOCK
        115 => i32::from(pools),             // MEMORY_POOLS_SUPPORTED
        _ => 0,
    }
}

/// The newest PTX that a driver of a CUDA version (12090 is 12.9) compiles.
pub fn newest_ptx(driver_version: u32) -> (u32, u32) {
    let (major, minor) = (driver_version / 1000, driver_version % 1000 / 10);
    match major {
        0..11 => (6, 5),
        11 => (7, minor),
        12 if minor <= 5 => (8, minor),
        12 => (8, minor - 1),
        _ => (major - 4, minor),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_take_the_ptx_of_their_time() {
        for (driver, ptx) in [
            (11080, (7, 8)),
            (12000, (8, 0)),
            (12040, (8, 4)),
            (12050, (8, 5)),
            (12060, (8, 5)),
            (12080, (8, 7)),
            (12090, (8, 8)),
            (13000, (9, 0)),
        ] {
            assert_eq!(newest_ptx(driver), ptx, "{driver}");
        }
    }

    #[test]
    fn a_capability_between_two_takes_the_lower() {
        assert_eq!(attribute(16, 0, (8, 7), true), 82);
        assert_eq!(attribute(16, 0, (6, 0), true), 80);
        assert_eq!((attribute(75, 0, (12, 1), true), attribute(76, 0, (12, 1), true)), (12, 1));
    }
}
