//! The tables that kernels look things up in, as one block of bytes: copied to a device once.
//!
//! ```text
//! u32: place of table 0 | u32: place of table 1 | … | table 0 | table 1 | …
//! ```
//! The numbers of the tables are those in `kernels/lib/tables.cuh`. Tables begin at multiples of 16 bytes.

use super::scan::Classes;

/// The block.
pub fn device_tables() -> Vec<u8> {
    let tables = Classes::get().bytes();
    let mut block = vec![0; (4 * tables.len()).next_multiple_of(16)];
    for (number, table) in tables.iter().enumerate() {
        let place = block.len() as u32;
        block[4 * number..4 * number + 4].copy_from_slice(&place.to_le_bytes());
        block.extend_from_slice(table);
        block.resize(block.len().next_multiple_of(16), 0);
    }
    block
}
