// stop_words(text, words => […]): how many words are stop words.
#include "lib/words.cuh"
#include "lib/search.cuh"

// Whether the word is a member as it is or, with `ignore_case`, in lower case; members must then be so themselves.
DEVICE bool is_listed(Text word, const Options& options, bool ignore_case) {
    for (u32 i = 0; i < options.n_texts(0); i++) {
        const Text member = options.text_of(0, i);
        if (member.n_bytes != word.n_bytes) continue;
        bool is_member = true;
        for (u32 at = 0; at < word.n_bytes && is_member; at++) {
            const u8 byte = word.bytes[at];
            is_member = (ignore_case ? lower_ascii(byte) : byte) == member.bytes[at];
        }
        if (is_member) return true;
    }
    return false;
}

DEVICE u32 n_listed(const Doc& doc, const Options& options, bool ignore_case) {
    u32 n = 0;
    for (WordCursor words(doc); words.next();) {
        n += is_listed(part_of(doc.text, words.start, words.end), options, ignore_case);
    }
    return warp_sum(n);
}

DEVICE bool is_equal_in_any_case(Text one, Text other) {
    return one.n_bytes == other.n_bytes && is_at_in_any_case(one, 0, other);
}

// How many members occur; those that differ in case only are one.
DEVICE u32 n_distinct(const Doc& doc, const Options& options, bool ignore_case) {
    u32 n = 0;
    for (u32 i = 0; i < options.n_texts(0); i++) {
        const Text member = options.text_of(0, i);
        bool is_found = false;
        for (u32 earlier = 0; earlier < i; earlier++) {
            is_found = is_found || is_equal_in_any_case(member, options.text_of(0, earlier));
        }
        if (is_found) continue;
        for (WordCursor words(doc); words.next();) {
            const Text word = part_of(doc.text, words.start, words.end);
            is_found = is_found || (is_equal_in_any_case(word, member) && is_listed(word, options, ignore_case));
        }
        n += __any_sync(ALL_LANES, is_found);
    }
    return n;
}

DEVICE i64 stop_words(const Doc& doc, const Options& options) {
    const bool distinct = options.flag(1), ignore_case = options.flag(2);
    const u32 n = distinct ? n_distinct(doc, options, ignore_case) : n_listed(doc, options, ignore_case);
    const i64 at_most = options.integer(3);
    return n < at_most ? n : at_most;
}
