// contains_any(text, patterns): whether one of several strings occurs.
#include "lib/doc.cuh"
#include "lib/search.cuh"

DEVICE bool contains_any(const Doc& doc, const Options& options) {
    const bool ignore_case = options.flag(1);
    for (u32 i = 0; i < options.n_texts(0); i++) {
        if (contains(doc.text, options.text_of(0, i), ignore_case)) return true;
    }
    return false;
}
