// has_url_with(text, part): whether an address holds a string.
#include "lib/doc.cuh"
#include "lib/urls.cuh"

DEVICE bool has_url_with(const Doc& doc, const Options& options) {
    for (UrlCursor urls(doc.text); urls.next();) {
        if (contains(part_of(doc.text, urls.start, urls.end), options.text(0), false)) return true;
    }
    return false;
}
