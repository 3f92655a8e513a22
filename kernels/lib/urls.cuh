// Addresses in a text: twin of src/ops/scan/urls.rs. The warp finds one after the other.
#include "lib/abi.cuh"
#include "lib/search.cuh"

DEVICE bool is_hexadecimal(u8 byte) { return is_digit(byte) || is_between(byte | 0x20, 'a', 'f'); }

// Whether the byte at `at` can be in an address after its `http://`.
DEVICE bool is_in_url(Text text, u32 at) {
    if (at >= text.n_bytes) return false;
    const u8 byte = text.bytes[at];
    if (byte == '%') {
        return text.n_bytes - at > 2 && is_hexadecimal(text.bytes[at + 1]) && is_hexadecimal(text.bytes[at + 2]);
    }
    // From ! to ? without " % ' ; < >, then @ _ ~.
    const bool is_other = byte == '"' || byte == '\'' || byte == ';' || byte == '<' || byte == '>';
    const bool is_sign = byte == '@' || byte == '_' || byte == '~' || (is_between(byte, '!', '?') && !is_other);
    return is_letter(byte) || is_sign;
}

// Where the first of an address comes after `http://` or `https://` at `at`; 0 if none is there.
DEVICE u32 url_body(Text text, u32 at) {
    if (!is_at(text, at, literal("http"))) return 0;
    at += 4;
    if (at < text.n_bytes && text.bytes[at] == 's') at++;
    return is_at(text, at, literal("://")) && is_in_url(text, at + 3) ? at + 3 : 0;
}

struct UrlCursor {
    Text text;
    // The 32 places that are looked at, and those of them where an address begins, if none before reaches there.
    u32 at;
    u32 starts;
    u32 start;
    u32 end;

    __device__ __forceinline__ UrlCursor(Text text) : text(text), at(0), starts(0), start(0), end(0) { look(); }

    __device__ __forceinline__ void look() {
        starts = __ballot_sync(ALL_LANES, at + lane() < text.n_bytes && url_body(text, at + lane()) != 0);
    }

    // Goes to the next address, if there is one; all lanes together.
    __device__ __forceinline__ bool next() {
        do {
            while (starts == 0) {
                at += WARP;
                if (at >= text.n_bytes) return false;
                look();
            }
            start = at + __ffs(starts) - 1;
            starts &= starts - 1;
        } while (start < end);
        u32 outside = 0;
        for (end = url_body(text, start); outside == 0; end += WARP) {
            outside = __ballot_sync(ALL_LANES, !is_in_url(text, end + lane()));
        }
        end += __ffs(outside) - 1 - WARP;
        return true;
    }
};
