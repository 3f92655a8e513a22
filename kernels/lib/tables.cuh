// The tables that src/ops/device_tables.rs writes, by number, and what they say about characters outside ASCII.
//
// Not here: ASCII, which needs no table.
#include "lib/abi.cuh"

static const u32 CLASS_PAGES = 0;
static const u32 CLASS_PROPERTIES = 1;
static const u32 CLASSES = 2;
static const u32 MARK_PAGES = 3;
static const u32 MARKS = 4;
static const u32 CASE_TABLE = 5;

static const u32 NOWHERE = ~0u;

DEVICE const u8* table(const u8* tables, u32 number) { return tables + ((const u32*)tables)[number]; }

// The bits of `Properties` in src/ops/scan/class.rs.
static const u32 LETTER = 1 << 0;
static const u32 NUMBER = 1 << 1;
static const u32 ALPHABETIC = 1 << 2;
static const u32 UPPERCASE = 1 << 3;
static const u32 SPACE = 1 << 4;
static const u32 PUNCTUATION = 1 << 5;
static const u32 SPECIAL = 1 << 6;
static const u32 LINE_BREAK = 1 << 7;
static const u32 ELLIPSIS = 1 << 9;
static const u32 SYMBOL = 1 << 11;

static const u32 MAX_CLASSES = 64;

// The class of a character outside ASCII: characters of a class have the same properties.
DEVICE u32 class_of(const u8* tables, u32 code_point) {
    u32 page = table(tables, CLASS_PAGES)[code_point >> 8];
    return table(tables, CLASSES)[page << 8 | (code_point & 0xff)];
}

DEVICE u32 properties_of_class(const u8* tables, u32 number) {
    return ((const u16*)table(tables, CLASS_PROPERTIES))[number];
}

DEVICE u32 properties_of(const u8* tables, u32 code_point) {
    return properties_of_class(tables, class_of(tables, code_point));
}

// What Rust's standard library and the list of sentence-ending marks say of a character: the bits of
// src/ops/device_tables.rs.
static const u32 IS_ALPHANUMERIC = 1 << 0;
static const u32 IS_NUMERIC = 1 << 1;
static const u32 IS_TERMINAL = 1 << 2;

DEVICE u32 marks_of(const u8* tables, u32 code_point) {
    u32 page = table(tables, MARK_PAGES)[code_point >> 8];
    return table(tables, MARKS)[page << 8 | (code_point & 0xff)];
}
