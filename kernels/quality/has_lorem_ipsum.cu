// has_lorem_ipsum(text): whether the document holds filler text.
#include "lib/doc.cuh"
#include "lib/search.cuh"

DEVICE bool has_lorem_ipsum(const Doc& doc, const Options& options) {
    return contains(doc.text, literal("lorem ipsum"), true);
}
