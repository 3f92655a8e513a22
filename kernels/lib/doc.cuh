// A document taken apart once, for every statistic that is asked of it: the device's side of src/ops/doc.
//
// `read` finds the parts that `needs` names in one walk by the whole warp; a statistic is then a few operations on them.
#include "lib/abi.cuh"
#include "lib/walk.cuh"
#include "lib/repetition.cuh"

// Which parts: the bits of `Needs` in src/ops/doc/needs.rs, and the lengths of n-grams.
struct DocNeeds {
    u32 parts;
    u32 word_grams;
    u32 refined_grams;
    u64 joined_grams;
    u64 char_grams;
};

struct Doc {
    Text text;
    const u8* tables;
    Walk walk;
    Repetition repetition;
};

DEVICE void read(Doc& doc, Text text, const DocNeeds& needs, u8* scratch, const u8* tables) {
    doc.text = text;
    doc.tables = tables;
    scratch = read_walk(doc.walk, text, needs.parts, scratch, tables);
    read_repetition(doc.repetition, text, doc.walk, needs.parts, needs.word_grams, needs.refined_grams,
                    needs.joined_grams, needs.char_grams, scratch, tables);
}
