// char_ratio(text, characters): the share of given characters.
#include "lib/chars.cuh"

// This lane's share of the characters outside ASCII that are among `characters`.
static __device__ __noinline__ u32 share_of_wide_in(Text text, Text characters) {
    u32 n = 0;
    for (u32 at = lane(); at < text.n_bytes; at += WARP) {
        if (text.bytes[at] < 0xc0) continue;
        const u32 c = decode(text.bytes + at);
        bool is_member = false;
        for (u32 i = 0; i < characters.n_bytes; i += n_bytes_of(characters.bytes[i])) {
            is_member = is_member || character(characters.bytes + i) == c;
        }
        n += is_member;
    }
    return n;
}

DEVICE f64 char_ratio(const Doc& doc, const Options& options) {
    const Text characters = options.text(0);
    // A bit for each ASCII character that is among them.
    u32 ascii[N_ASCII / WARP] = {0, 0, 0, 0};
    bool has_wide = false;
    for (u32 i = 0; i < characters.n_bytes; i++) {
        const u8 byte = characters.bytes[i];
        for (u32 part = 0; part < N_ASCII / WARP; part++) ascii[part] |= byte / WARP == part ? 1u << byte % WARP : 0;
        has_wide = has_wide || byte >= 0x80;
    }
    u32 n_hits = 0;
    for (u32 part = 0; part < N_ASCII / WARP; part++) n_hits += ascii[part] >> lane() & 1 ? doc.walk.ascii[part] : 0;
    if (has_wide && doc.walk.n_wide > 0) n_hits += share_of_wide_in(doc.text, characters);
    n_hits = warp_sum(n_hits);
    return ratio(options.flag(1) ? doc.walk.n_chars - n_hits : n_hits, doc.walk.n_chars);
}
