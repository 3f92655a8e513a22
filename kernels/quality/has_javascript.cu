// has_javascript(text): whether the document speaks of JavaScript.
#include "lib/doc.cuh"
#include "lib/search.cuh"

DEVICE bool has_javascript(const Doc& doc, const Options& options) {
    return contains(doc.text, literal("javascript"), true);
}
