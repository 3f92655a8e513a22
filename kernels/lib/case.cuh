// Characters: their bytes in UTF-8, and what src/ops/dedup/shingler/device.rs says about each.
#include "lib/abi.cuh"
#include "lib/tables.cuh"

// Properties of a character, or of its lower case where that differs; above them the distance to the lower case.
static const u32 CASE_WORD = 1, CASE_CASED = 2, CASE_IGNORABLE = 4, CASE_RUN = 8, CASE_SPACE = 16, CASE_DIGIT = 32;
static const u32 CASE_PUNCTUATION = 64, CASE_STRIPPED = 128;
// It is all accents and other signs, which belong to the character before it.
static const u32 CASE_ATTACHED = 256;
static const u32 CASE_LAST_ORDER = 31;

static const u32 CAPITAL_SIGMA = 0x3a3, SMALL_SIGMA = 0x3c3, FINAL_SIGMA = 0x3c2;
// Its lower case is two characters; no other's is.
static const u32 DOTTED_I = 0x130;

// Which of the classes of signs that stay without accents it is of, in canonical order from 1; of a character of several,
// its first sign. 0: it leaves no such sign.
DEVICE u32 case_order(u32 info) { return info >> 9 & CASE_LAST_ORDER; }

DEVICE i32 case_shift(u32 info) { return (i32)info >> 14; }

DEVICE u32 utf8_length(u32 c) { return 1 + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000); }

// The bytes of a character, the first in the lowest eight bits.
DEVICE u32 utf8_packed(u32 c) {
    if (c < 0x80) return c;
    u32 last = 0x80 | (c & 0x3f);
    if (c < 0x800) return 0xc0 | c >> 6 | last << 8;
    u32 middle = 0x80 | (c >> 6 & 0x3f);
    if (c < 0x10000) return 0xe0 | c >> 12 | middle << 8 | last << 16;
    return 0xf0 | c >> 18 | (0x80 | (c >> 12 & 0x3f)) << 8 | middle << 16 | last << 24;
}

// The character whose first byte is at `at`. Texts are valid UTF-8.
DEVICE u32 utf8_char(Text text, u32 at) {
    const u8* bytes = text.bytes + at;
    u32 c = bytes[0];
    if (c < 0x80) return c;
    if (c < 0xe0) return (c & 0x1f) << 6 | (bytes[1] & 0x3f);
    if (c < 0xf0) return (c & 0x0f) << 12 | (bytes[1] & 0x3f) << 6 | (bytes[2] & 0x3f);
    return (c & 0x07) << 18 | (bytes[1] & 0x3f) << 12 | (bytes[2] & 0x3f) << 6 | (bytes[3] & 0x3f);
}

// A Hangul syllable is two or three letters, of three bytes each.
DEVICE bool is_hangul_syllable(u32 c) { return c - 0xac00 < 11172; }

DEVICE u32 hangul_length(u32 c) { return (c - 0xac00) % 28 == 0 ? 6 : 9; }

DEVICE u8 hangul_byte(u32 c, u32 i) {
    u32 number = c - 0xac00;
    u32 letter = i < 3 ? 0x1100 + number / 588 : i < 6 ? 0x1161 + number % 588 / 28 : 0x11a7 + number % 28;
    return (u8)(utf8_packed(letter) >> (8 * (i % 3)));
}

// The table: six places, then what they say. Characters come in pages of 256, of which many are alike.
struct CaseTable {
    const u8* pages;
    const u8* kinds;
    const u32* infos;
    const u8* start;

    __device__ __forceinline__ const u8* part(u32 number) const { return start + ((const u32*)start)[number]; }

    __device__ __forceinline__ u32 info(u32 c) const { return infos[kinds[pages[c >> 8] << 8 | (c & 0xff)]]; }

    // What is left of the lower case of a character without its accents, if it is not the lower case itself.
    __device__ __forceinline__ const u8* stripped(u32 c, u32& n_bytes) const {
        u32 page = part(3)[c >> 8];
        u32 place = ((const u16*)part(4))[page << 8 | (c & 0xff)];
        const u8* text = part(5) + place;
        n_bytes = text[0];
        return text + 1;
    }
};

DEVICE CaseTable case_table(const u8* tables) {
    CaseTable found;
    found.start = table(tables, CASE_TABLE);
    found.pages = found.part(0);
    found.kinds = found.part(1);
    found.infos = (const u32*)found.part(2);
    return found;
}

// Whether the letter Σ at `at` ends a word: a cased letter comes before it and none after it, the ignorable aside.
DEVICE bool is_final_sigma(Text text, u32 at, const CaseTable& table) {
    u32 info = 0;
    for (u32 i = at; i > 0;) {
        i--;
        if ((text.bytes[i] & 0xc0) == 0x80) continue;
        info = table.info(utf8_char(text, i));
        if (!(info & CASE_IGNORABLE)) break;
    }
    if (!(info & CASE_CASED)) return false;
    info = 0;
    for (u32 i = at + 2; i < text.n_bytes; i++) {
        if ((text.bytes[i] & 0xc0) == 0x80) continue;
        info = table.info(utf8_char(text, i));
        if (!(info & CASE_IGNORABLE)) break;
    }
    return !(info & CASE_CASED);
}
