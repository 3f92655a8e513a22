// Copies the texts of the rows that are kept, a warp each.
#include "lib/compact.cuh"

extern "C" __global__ void __launch_bounds__(128) run_compact_gather(const Compaction* launch) {
    u64 place = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (place >= launch->block_rows[launch->n_blocks]) return;
    const u8* from = launch->bytes + launch->offsets[launch->kept_rows[place]];
    u8* to = launch->kept_bytes + launch->kept_offsets[place];
    u32 n_bytes = launch->kept_offsets[place + 1] - launch->kept_offsets[place];
    // Whole words once the target begins one; the source may lie askew.
    u32 n_first = (0 - (u32)(u64)to) & 3;
    n_first = n_first < n_bytes ? n_first : n_bytes;
    if (lane() < n_first) to[lane()] = from[lane()];
    const u8* words = from + n_first;
    u32 askew = (u32)(u64)words & 3;
    // A word that lies askew is taken from two, both of which end before the text does.
    u32 n_whole = (n_bytes - n_first + askew) / 4;
    u32 n_words = askew == 0 || n_whole == 0 ? n_whole : n_whole - 1;
    for (u32 i = lane(); i < n_words; i += WARP) {
        const u32* source = (const u32*)(words - askew) + i;
        ((u32*)(to + n_first))[i] = askew == 0 ? source[0] : __funnelshift_r(source[0], source[1], 8 * askew);
    }
    for (u32 i = n_first + 4 * n_words + lane(); i < n_bytes; i += WARP) to[i] = from[i];
}
