// content_hash(text): XXH3-128 of the bytes; the upper half first, so that the words read as the hexadecimal digits.
#include "lib/doc.cuh"
#include "lib/xxh3.cuh"

DEVICE u32 content_hash(const Doc& doc, const Options& options, u8* scratch, Words words) {
    Hash128 hash = xxh3_128(doc.text.bytes, doc.text.n_bytes);
    if (lane() == 0) {
        words.values[0] = hash.high;
        words.values[1] = hash.low;
    }
    return 2;
}
