// The parts of a document, bit by bit: those of `Needs` in src/ops/doc/needs.rs.
#include "lib/abi.cuh"

static const u32 NEEDS_CHARS = 1 << 0;
static const u32 NEEDS_WORD_COUNTS = 1 << 1;
static const u32 NEEDS_WORDS = 1 << 2;
static const u32 NEEDS_LINES = 1 << 4;
static const u32 NEEDS_WORD_KINDS = 1 << 5;
static const u32 NEEDS_SPLIT_LINES = 1 << 23;
static const u32 NEEDS_LINE_REPEATS = 1 << 24;
static const u32 NEEDS_PARAGRAPH_REPEATS = 1 << 25;
static const u32 NEEDS_BLOCK_REPEATS = 1 << 26;
