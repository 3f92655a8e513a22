// has_curly_bracket(text): whether the document may hold program code.
#include "lib/doc.cuh"
#include "lib/search.cuh"

DEVICE bool has_curly_bracket(const Doc& doc, const Options& options) {
    return contains(doc.text, literal("{"), false);
}
