// Finding strings in a text.
//
// `is_at` and its like are for one lane; the others are for the warp, each lane of which looks at places of its own.
// Not here: lower case outside ASCII (lower.cuh).
#include "lib/abi.cuh"
#include "lib/utf8.cuh"

// The bytes of a string in quotation marks.
template <u32 N>
DEVICE Text literal(const char (&text)[N]) {
    Text bytes = {(const u8*)text, N - 1};
    return bytes;
}

DEVICE Text part_of(Text text, u32 start, u32 end) {
    Text part = {text.bytes + start, end - start};
    return part;
}

// Whether `string` is in the text at `at`.
DEVICE bool is_at(Text text, u32 at, Text string) {
    if (string.n_bytes > text.n_bytes - at) return false;
    for (u32 i = 0; i < string.n_bytes; i++) {
        if (text.bytes[at + i] != string.bytes[i]) return false;
    }
    return true;
}

// The same with A taken for a in both.
DEVICE bool is_at_in_any_case(Text text, u32 at, Text string) {
    if (string.n_bytes > text.n_bytes - at) return false;
    for (u32 i = 0; i < string.n_bytes; i++) {
        if (lower_ascii(text.bytes[at + i]) != lower_ascii(string.bytes[i])) return false;
    }
    return true;
}

DEVICE bool is_equal(Text one, Text other) { return one.n_bytes == other.n_bytes && is_at(one, 0, other); }

DEVICE bool ends_with(Text text, Text string) {
    return string.n_bytes <= text.n_bytes && is_at(text, text.n_bytes - string.n_bytes, string);
}

// Whether a text begins, ends or agrees with a member of option `i`, a list.
DEVICE bool begins_with_any(Text text, const Options& options, u32 i) {
    for (u32 member = 0; member < options.n_texts(i); member++) {
        if (is_at(text, 0, options.text_of(i, member))) return true;
    }
    return false;
}

DEVICE bool ends_with_any(Text text, const Options& options, u32 i) {
    for (u32 member = 0; member < options.n_texts(i); member++) {
        if (ends_with(text, options.text_of(i, member))) return true;
    }
    return false;
}

// Whether `string` occurs; with `ignore_case` A is taken for a in both.
static __device__ __noinline__ bool contains(Text text, Text string, bool ignore_case) {
    if (string.n_bytes > text.n_bytes) return false;
    const u32 n_places = text.n_bytes - string.n_bytes + 1;
    for (u32 start = 0; start < n_places; start += WARP) {
        const u32 at = start + lane();
        bool is_here = at < n_places;
        if (is_here) is_here = ignore_case ? is_at_in_any_case(text, at, string) : is_at(text, at, string);
        if (__any_sync(ALL_LANES, is_here)) return true;
    }
    return false;
}

// How often `string` occurs, without overlap from the left; an empty one never does.
static __device__ __noinline__ u32 count_of(Text text, Text string) {
    if (string.n_bytes == 0 || string.n_bytes > text.n_bytes) return 0;
    const u32 n_places = text.n_bytes - string.n_bytes + 1;
    u32 n = 0, next = 0;
    for (u32 start = 0; start < n_places; start += WARP) {
        const u32 at = start + lane();
        u32 here = __ballot_sync(ALL_LANES, at < n_places && is_at(text, at, string));
        for (; here != 0; here &= here - 1) {
            const u32 place = start + __ffs(here) - 1;
            if (place < next) continue;
            n++;
            next = place + string.n_bytes;
        }
    }
    return n;
}
