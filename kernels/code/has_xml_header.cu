// has_xml_header(text, within => 100): whether a file begins as XML.
#include "lib/doc.cuh"
#include "lib/search.cuh"

DEVICE bool has_xml_header(const Doc& doc, const Options& options) {
    const Text header = literal("<?xml version=");
    u32 n_before = 0;
    for (u32 start = 0; start < doc.text.n_bytes && n_before < options.integer(0); start += WARP) {
        const u32 at = start + lane();
        const bool is_inside = at < doc.text.n_bytes;
        const u32 firsts = __ballot_sync(ALL_LANES, is_inside && !is_inner(doc.text.bytes[at]));
        const i64 end = (i64)n_before + lanes_below(firsts) + header.n_bytes;
        if (__any_sync(ALL_LANES, is_inside && end <= options.integer(0) && is_at(doc.text, at, header))) return true;
        n_before += __popc(firsts);
    }
    return false;
}
