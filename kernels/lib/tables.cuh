// The tables that src/ops/device_tables.rs writes, by number.
#include "lib/abi.cuh"

static const u32 CLASS_PAGES = 0;
static const u32 CLASS_PROPERTIES = 1;
static const u32 CLASSES = 2;

DEVICE const u8* table(const u8* tables, u32 number) { return tables + ((const u32*)tables)[number]; }
