// Running sums over the lanes of a warp.
#include "lib/abi.cuh"

// The sum of this lane's value and those of all lanes below.
DEVICE u32 warp_running_sum(u32 value) {
    for (u32 step = 1; step < WARP; step *= 2) {
        u32 below = __shfl_up_sync(ALL_LANES, value, step);
        if (lane() >= step) value += below;
    }
    return value;
}

DEVICE u64 warp_running_sum64(u64 value) {
    for (u32 step = 1; step < WARP; step *= 2) {
        u64 below = __shfl_up_sync(ALL_LANES, value, step);
        if (lane() >= step) value += below;
    }
    return value;
}
