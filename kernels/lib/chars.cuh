// How many characters of a kind a document has: the sums that src/ops/doc/chars.rs offers, each lane's share of them.
//
// A statistic adds up the shares it wants and asks for the sum over the lanes once.
#include "lib/doc.cuh"

// Of the ASCII characters from `first` to `last`.
DEVICE u32 share_of_ascii(const Doc& doc, u8 first, u8 last) {
    u32 n = 0;
    for (u32 i = 0; i < N_ASCII / WARP; i++) n += is_between(i * WARP + lane(), first, last) ? doc.walk.ascii[i] : 0;
    return n;
}

DEVICE u32 share_of_ascii_letters(const Doc& doc) {
    return share_of_ascii(doc, 'A', 'Z') + share_of_ascii(doc, 'a', 'z');
}

DEVICE u32 share_of_ascii_digits(const Doc& doc) { return share_of_ascii(doc, '0', '9'); }

DEVICE u32 share_of_ascii_punctuation(const Doc& doc) {
    u32 n = 0;
    for (u32 i = 0; i < N_ASCII / WARP; i++) n += is_ascii_punctuation(i * WARP + lane()) ? doc.walk.ascii[i] : 0;
    return n;
}

// Of the characters outside ASCII that have one of these properties.
DEVICE u32 share_of_wide(const Doc& doc, u32 properties) {
    u32 n = 0;
    for (u32 i = 0; i < MAX_CLASSES / WARP; i++) {
        const u32 of_class = properties_of_class(doc.tables, i * WARP + lane());
        n += of_class & properties ? doc.walk.wide[i] : 0;
    }
    return n;
}
