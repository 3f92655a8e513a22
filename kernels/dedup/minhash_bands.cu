// minhash_bands(text, bands, rows, shingle, normalize, hash, seed): a fingerprint for each band of the signature.
#include "lib/doc.cuh"
#include "lib/minhash.cuh"

DEVICE u32 minhash_bands(const Doc& doc, const Options& options, u8* scratch, Words words) {
    u32 n_bands = (u32)options.integer(0), n_rows = (u32)options.integer(1);
    u64* signature = (u64*)scratch;
    scratch = after(scratch, 8 * (u64)n_bands * n_rows);
    bool has_shingles = minhash_signature(doc.text, doc.tables, options.text(2), options.text(3), options.text(4),
                                          (u64)options.integer(5), n_bands * n_rows, signature, scratch);
    if (!has_shingles) return 0;
    __syncwarp();
    u32 n_bytes = 8 * n_rows;
    if (n_bytes <= XXH3_ALONE) {
        for (u32 band = lane(); band < n_bands; band += WARP) {
            words.values[band] = xxh3_64_alone((const u8*)(signature + band * n_rows), n_bytes, band);
        }
    } else {
        for (u32 band = 0; band < n_bands; band++) {
            u64 fingerprint = xxh3_64_together((const u8*)(signature + band * n_rows), n_bytes, band);
            if (lane() == 0) words.values[band] = fingerprint;
        }
    }
    return n_bands;
}
