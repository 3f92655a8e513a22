// Numbers read from bytes at any place, least byte first, as hash functions take them.
//
// Memory is read in whole words where those lie inside; what is read never goes past `end`. It may begin up to three
// bytes before `at`, so the buffer that `at` points into must begin at a multiple of four.
#include "lib/abi.cuh"

DEVICE u64 bytes_u64(const u8* at, const u8* end) {
    u32 offset = (u32)(u64)at & 3;
    const u32* words = (const u32*)(at - offset);
    if (offset == 0) return words[0] | (u64)words[1] << 32;
    if ((const u8*)(words + 3) <= end) {
        u32 middle = words[1];
        return __funnelshift_r(words[0], middle, 8 * offset) | (u64)__funnelshift_r(middle, words[2], 8 * offset) << 32;
    }
    u64 value = 0;
    for (u32 i = 0; i < 8; i++) value |= (u64)at[i] << (8 * i);
    return value;
}

DEVICE u32 bytes_u32(const u8* at, const u8* end) {
    u32 offset = (u32)(u64)at & 3;
    const u32* words = (const u32*)(at - offset);
    if (offset == 0) return words[0];
    if ((const u8*)(words + 2) <= end) return __funnelshift_r(words[0], words[1], 8 * offset);
    return at[0] | at[1] << 8 | at[2] << 16 | (u32)at[3] << 24;
}

DEVICE u64 rotate_left64(u64 value, u32 by) { return value << by | value >> (64 - by); }

DEVICE u64 swap_bytes64(u64 value) {
    u32 low = (u32)value, high = (u32)(value >> 32);
    return (u64)__byte_perm(low, 0, 0x0123) << 32 | __byte_perm(high, 0, 0x0123);
}

// Both halves of the product, in one word.
DEVICE u64 fold_product(u64 a, u64 b) { return a * b ^ __umul64hi(a, b); }
