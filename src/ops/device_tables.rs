//! The tables that kernels look things up in, as one block of bytes: copied to a device once.
//!
//! ```text
//! u32: place of table 0 | u32: place of table 1 | … | table 0 | table 1 | …
//! ```
//! The numbers of the tables are those in `kernels/lib/tables.cuh`. Tables begin at multiples of 16 bytes. What is known of
//! each character is in two tables: for each page of 256 characters its number among the pages that differ, and those.

use super::dedup::case_table;
use super::scan::{Classes, is_terminal};

/// The block.
pub fn device_tables() -> Vec<u8> {
    let [class_pages, properties, classes] = Classes::get().bytes();
    let [mark_pages, marks] = pages(marks);
    let tables = [class_pages, properties, classes, mark_pages, marks, case_table()];
    let mut block = vec![0; (4 * tables.len()).next_multiple_of(16)];
    for (number, table) in tables.iter().enumerate() {
        let place = block.len() as u32;
        block[4 * number..4 * number + 4].copy_from_slice(&place.to_le_bytes());
        block.extend_from_slice(table);
        block.resize(block.len().next_multiple_of(16), 0);
    }
    block
}

const PAGE: u32 = 256;

/// The page of each 256 characters, and the pages that differ, with `of` each character.
fn pages(of: impl Fn(char) -> u8) -> [Vec<u8>; 2] {
    let mut known: Vec<Vec<u8>> = vec![];
    let numbers = (0..=u32::from(char::MAX) / PAGE).map(|number| {
        let characters = number * PAGE..(number + 1) * PAGE;
        let page: Vec<u8> = characters.map(|c| char::from_u32(c).map_or(0, &of)).collect();
        let place = known.iter().position(|other| *other == page).unwrap_or_else(|| {
            known.push(page);
            known.len() - 1
        });
        place as u8
    });
    let numbers = numbers.collect();
    debug_assert!(known.len() <= 256);
    [numbers, known.concat()]
}

/// What kernels ask of a character besides its class, a bit each.
fn marks(c: char) -> u8 {
    u8::from(c.is_alphanumeric()) | u8::from(c.is_numeric()) << 1 | u8::from(is_terminal(c)) << 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(block: &[u8], number: usize) -> &[u8] {
        let place = u32::from_le_bytes([0, 1, 2, 3].map(|i| block[4 * number + i]));
        &block[place as usize..]
    }

    #[test]
    fn characters_are_found_as_kernels_look_them_up() {
        let block = device_tables();
        let place =
            |pages: usize, c: char| 256 * usize::from(table(&block, pages)[c as usize / 256]) + c as usize % 256;
        for c in '\u{80}'..=char::MAX {
            assert_eq!(table(&block, 4)[place(3, c)], marks(c), "{c:?}");
        }
    }
}
