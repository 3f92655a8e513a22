// Going through a text in steps that depend on each other, by the whole warp: finding the next of a few bytes, counting
// the characters of a stretch.
#include "lib/abi.cuh"
#include "lib/search.cuh"

// Where the next of four bytes is, from `at` on; the end of the text if none is. Give a byte again to ask for fewer.
static __device__ __noinline__ u32 next_of(Text text, u32 at, u8 one, u8 two, u8 three, u8 four) {
    for (; at < text.n_bytes; at += WARP) {
        const u32 here = at + lane();
        const u8 byte = here < text.n_bytes ? text.bytes[here] : 0;
        const bool is_one = byte == one || byte == two || byte == three || byte == four;
        const u32 found = __ballot_sync(ALL_LANES, here < text.n_bytes && is_one);
        if (found != 0) return at + __ffs(found) - 1;
    }
    return text.n_bytes;
}

// Where `string` is next, from `at` on; NOWHERE if it is not.
static __device__ __noinline__ u32 next_string(Text text, u32 at, Text string) {
    for (; at < text.n_bytes; at += WARP) {
        const u32 here = at + lane();
        const u32 found = __ballot_sync(ALL_LANES, here < text.n_bytes && is_at(text, here, string));
        if (found != 0) return at + __ffs(found) - 1;
    }
    return NOWHERE;
}

// The characters from `start` to `end`.
static __device__ __noinline__ u32 n_chars_from_to(Text text, u32 start, u32 end) {
    u32 n = 0;
    for (u32 at = start + lane(); at < end; at += WARP) n += !is_inner(text.bytes[at]);
    return warp_sum(n);
}
