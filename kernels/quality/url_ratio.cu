// url_ratio(text): the share of characters that belong to addresses, which are ASCII.
#include "lib/doc.cuh"
#include "lib/urls.cuh"

DEVICE f64 url_ratio(const Doc& doc, const Options& options) {
    u32 n = 0;
    for (UrlCursor urls(doc.text); urls.next();) n += urls.end - urls.start;
    return ratio(n, doc.walk.n_chars);
}
