// The walk: characters by kind, words and lines, in one way over the bytes by the whole warp.
#include "lib/abi.cuh"

struct Walk {
    u32 n_chars;
};

// Finds the parts; gives the scratch memory that it left.
DEVICE u8* read_walk(Walk& walk, Text text, u32 parts, u8* scratch, const u8* tables) {
    u32 n_chars = 0;
    for (u32 at = lane(); at < text.n_bytes; at += WARP) n_chars += (text.bytes[at] & 0xc0) != 0x80;
    walk.n_chars = warp_sum(n_chars);
    return scratch;
}
