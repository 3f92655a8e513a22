// Comparing with the lower case of a text, as Rust's `to_lowercase` has it.
//
// Only U+0130 becomes two characters: i and U+0307. Both functions are for one lane.
#include "lib/abi.cuh"
#include "lib/case.cuh"
#include "lib/tables.cuh"
#include "lib/utf8.cuh"

static const u32 DOT_ABOVE = 0x307;

// The first character of a character's lower case.
DEVICE u32 lower_of(const u8* tables, u32 c) {
    return c < 0x80 ? lower_ascii(c) : c + case_shift(case_table(tables).info(c));
}

// Where the characters end whose lower case is `wanted`, if they begin at `at`; NOWHERE if they do not. If `wanted`
// ends with the i of U+0130, that is between the two bytes of U+0130.
static __device__ __noinline__ u32 end_of_lower(Text text, u32 at, Text wanted, const u8* tables) {
    u32 i = 0;
    while (i < wanted.n_bytes) {
        if (at >= text.n_bytes) return NOWHERE;
        const u8 byte = text.bytes[at];
        const u32 c = character(text.bytes + at);
        const bool is_final = c == CAPITAL_SIGMA && is_final_sigma(text, at, case_table(tables));
        const u32 lower = utf8_packed(is_final ? FINAL_SIGMA : lower_of(tables, c));
        for (u32 shift = 0; shift < 32 && (lower >> shift != 0 || shift == 0); shift += 8) {
            if (i == wanted.n_bytes || wanted.bytes[i] != (u8)(lower >> shift)) return NOWHERE;
            i++;
        }
        if (c == DOTTED_I) {
            if (i == wanted.n_bytes) return at + 1;
            if (wanted.n_bytes - i < 2 || wanted.bytes[i] != 0xcc || wanted.bytes[i + 1] != 0x87) return NOWHERE;
            i += 2;
        }
        at += n_bytes_of(byte);
    }
    return at;
}

// Whether the lower case of a text, character by character, ends with `wanted`. A sigma is the same everywhere here.
static __device__ __noinline__ bool ends_with_lower(Text text, Text wanted, const u8* tables) {
    u32 end = text.n_bytes, wanted_end = wanted.n_bytes;
    while (wanted_end > 0) {
        if (end == 0) return false;
        end = before(text, end);
        const u32 c = character(text.bytes + end);
        const u32 lower = lower_of(tables, c);
        if (c == DOTTED_I) {
            wanted_end = before(wanted, wanted_end);
            if (character(wanted.bytes + wanted_end) != DOT_ABOVE) return false;
            if (wanted_end == 0) return true;
        }
        wanted_end = before(wanted, wanted_end);
        if (character(wanted.bytes + wanted_end) != lower) return false;
    }
    return true;
}
