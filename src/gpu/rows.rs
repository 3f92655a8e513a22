//! Rows put together or added up on a device: what is left after a filter, and groups by key.
//!
//! Results do not depend on how threads are scheduled: rows stay in order, and groups are sorted by key.
//! Not here: which rows pass (`codegen.rs`), and who asks.

use super::task::{Parts, Run, Task, words, write_words};
use super::{Device, GpuError, flatten};
use std::sync::Arc;

/// Rows of one block of threads: `ROWS_OF_BLOCK` in `kernels/lib/compact.cuh`.
const ROWS_A_BLOCK: usize = 1024;
/// Threads of it.
const THREADS_A_BLOCK: usize = 128;
const WARPS_A_BLOCK: usize = THREADS_A_BLOCK / 32;

/// The kernels, by entry point.
pub(super) fn row_kernels() -> [(String, String); 6] {
    let kernel = |name: &str, source: &str| (name.to_string(), flatten([source]));
    [
        kernel("run_compact_count", include_str!("../../kernels/rows/compact_count.cu")),
        kernel("run_compact_place", include_str!("../../kernels/rows/compact_place.cu")),
        kernel("run_compact_write", include_str!("../../kernels/rows/compact_write.cu")),
        kernel("run_compact_gather", include_str!("../../kernels/rows/compact_gather.cu")),
        kernel("run_aggregate_begin", include_str!("../../kernels/rows/aggregate_begin.cu")),
        kernel("run_aggregate", include_str!("../../kernels/rows/aggregate.cu")),
    ]
}

/// What is left of a column of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptTexts {
    /// The numbers of the rows that are kept.
    pub rows: Vec<u32>,
    /// Where their texts begin in `bytes`, and where the last ends.
    pub offsets: Vec<u32>,
    /// Their texts, one after the other.
    pub bytes: Vec<u8>,
}

/// The texts of the rows that fail no rule, which is -1 in `failed`. Row i is `bytes[offsets[i]..offsets[i + 1]]`.
pub fn compact(device: &Arc<Device>, failed: &[i32], offsets: &[u32], bytes: &[u8]) -> Result<KeptTexts, GpuError> {
    let n_rows = failed.len();
    let ascends = offsets.is_sorted() && offsets.last().is_none_or(|end| *end as usize <= bytes.len());
    if offsets.len() != n_rows + 1 || !ascends {
        return Err(GpuError::Refused(format!("{} offsets do not part {n_rows} texts", offsets.len())));
    }
    let task = Task::new(device, &row_kernels()[..4])?;
    let n_blocks = n_rows.div_ceil(ROWS_A_BLOCK);
    let mut parts = Parts::default();
    parts.room(10 * size_of::<u64>());
    let failed_at = parts.room(size_of_val(failed));
    let offsets_at = parts.room(size_of_val(offsets));
    let bytes_at = parts.room(bytes.len());
    let input_bytes = parts.n_bytes;
    let block_bytes = (n_blocks + 1) * size_of::<u64>();
    let (block_rows_at, block_bytes_at) = (parts.room(block_bytes), parts.room(block_bytes));
    let rows_at = parts.room(size_of_val(failed));
    let kept_offsets_at = parts.room(size_of_val(offsets));
    let kept_bytes_at = parts.room(bytes.len());
    let run = Run {
        n_bytes: parts.n_bytes,
        input_bytes,
        n_blocks: &[n_blocks, 1, n_blocks, n_rows.div_ceil(WARPS_A_BLOCK)],
        output: block_rows_at..parts.n_bytes,
    };
    let started = task.start(&run, |to, address| {
        let numbers = [n_rows as u64, n_blocks as u64];
        let places =
            [failed_at, offsets_at, bytes_at, block_rows_at, block_bytes_at, rows_at, kept_offsets_at, kept_bytes_at];
        let head = numbers.into_iter().chain(places.map(|place| address + place as u64));
        write_words(head.map(u64::to_le_bytes), to);
        write_words(failed.iter().map(|rule| rule.to_le_bytes()), &mut to[failed_at..]);
        write_words(offsets.iter().map(|offset| offset.to_le_bytes()), &mut to[offsets_at..]);
        to[bytes_at..bytes_at + bytes.len()].copy_from_slice(bytes);
    })?;
    started.wait(|output| {
        let part = |place: usize| output.get(place - block_rows_at..).unwrap_or_default();
        let n_kept = words(part(block_rows_at + 8 * n_blocks), 1).map(u64::from_le_bytes).sum::<u64>() as usize;
        let offsets: Vec<u32> = words(part(kept_offsets_at), n_kept + 1).map(u32::from_le_bytes).collect();
        let n_bytes = offsets.last().map_or(0, |end| *end as usize);
        let bytes = part(kept_bytes_at).get(..n_bytes).unwrap_or_default().to_vec();
        KeptTexts { rows: words(part(rows_at), n_kept).map(u32::from_le_bytes).collect(), offsets, bytes }
    })
}

/// What the rows of one key come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The key.
    pub key: u64,
    /// Rows.
    pub count: u64,
    /// Their sum, wrapping around.
    pub sum: i64,
    /// The least value.
    pub least: i64,
    /// The greatest value.
    pub greatest: i64,
}

/// The groups of rows with the same key, by key.
pub fn aggregate(device: &Arc<Device>, keys: &[u64], values: &[i64]) -> Result<Vec<Group>, GpuError> {
    if keys.len() != values.len() {
        return Err(GpuError::Refused(format!("{} keys do not fit {} values", keys.len(), values.len())));
    }
    const GROUP_WORDS: usize = 5;
    let task = Task::new(device, &row_kernels()[4..])?;
    let n_rows = keys.len();
    // Twice as many as there can be keys, so that few are in each other's way.
    let n_slots = 2 * n_rows + 1;
    let mut parts = Parts::default();
    parts.room(5 * size_of::<u64>());
    let (keys_at, values_at) = (parts.room(size_of_val(keys)), parts.room(size_of_val(values)));
    let input_bytes = parts.n_bytes;
    let slots_at = parts.room((n_slots + 1) * GROUP_WORDS * size_of::<u64>());
    let run = Run {
        n_bytes: parts.n_bytes,
        input_bytes,
        n_blocks: &[(n_slots + 1).div_ceil(THREADS_A_BLOCK), n_rows.div_ceil(THREADS_A_BLOCK)],
        output: slots_at..parts.n_bytes,
    };
    let started = task.start(&run, |to, address| {
        let places = [keys_at, values_at, slots_at].map(|place| address + place as u64);
        let head = [n_rows as u64, n_slots as u64].into_iter().chain(places);
        write_words(head.map(u64::to_le_bytes), to);
        write_words(keys.iter().map(|key| key.to_le_bytes()), &mut to[keys_at..]);
        write_words(values.iter().map(|value| value.to_le_bytes()), &mut to[values_at..]);
    })?;
    let mut groups: Vec<Group> = started.wait(|output| {
        let slots: Vec<u64> = words(output, (n_slots + 1) * GROUP_WORDS).map(u64::from_le_bytes).collect();
        let group = |slot: &[u64; GROUP_WORDS]| {
            let [key, count, sum, least, greatest] = *slot;
            Group { key, count, sum: sum as i64, least: least as i64, greatest: greatest as i64 }
        };
        slots.as_chunks::<GROUP_WORDS>().0.iter().map(group).filter(|group| group.count > 0).collect()
    })?;
    groups.sort_unstable_by_key(|group| group.key);
    Ok(groups)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::task::first_device_or_say_so;
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn kept_rows_stay_in_order_with_their_texts() {
        let Some(device) = first_device_or_say_so() else { return };
        for n_rows in [0usize, 1, 33, 1024, 2100] {
            // None, all, and some of the rows.
            for one_of in [usize::MAX, 1, 3] {
                let failed: Vec<i32> =
                    (0..n_rows).map(|row| if row % one_of == 0 && one_of != usize::MAX { -1 } else { 2 }).collect();
                let texts: Vec<Vec<u8>> = (0..n_rows).map(|row| vec![row as u8; row * 7 % 23]).collect();
                let mut offsets = vec![0];
                texts.iter().for_each(|text| offsets.push(offsets.last().unwrap() + text.len() as u32));
                let kept = compact(&device, &failed, &offsets, &texts.concat()).unwrap();
                let mut expected = KeptTexts { rows: vec![], offsets: vec![0], bytes: vec![] };
                for row in (0..n_rows).filter(|row| failed[*row] < 0) {
                    expected.rows.push(row as u32);
                    expected.bytes.extend_from_slice(&texts[row]);
                    expected.offsets.push(expected.bytes.len() as u32);
                }
                assert_eq!(kept, expected);
            }
        }
        assert!(compact(&device, &[-1], &[0], &[]).is_err());
    }

    #[test]
    fn groups_come_by_key_with_all_that_their_rows_add_up_to() {
        let Some(device) = first_device_or_say_so() else { return };
        for n_rows in [0usize, 1, 500] {
            let keys: Vec<u64> =
                (0..n_rows).map(|row| if row % 7 == 0 { u64::MAX } else { row as u64 * 31 % 40 }).collect();
            let values: Vec<i64> =
                (0..n_rows as i64).map(|row| if row % 9 == 0 { i64::MAX } else { 100 - row }).collect();
            let mut expected = BTreeMap::new();
            for (key, value) in keys.iter().zip(&values) {
                let new = Group { key: *key, count: 0, sum: 0, least: i64::MAX, greatest: i64::MIN };
                let group: &mut Group = expected.entry(*key).or_insert(new);
                group.count += 1;
                group.sum = group.sum.wrapping_add(*value);
                group.least = group.least.min(*value);
                group.greatest = group.greatest.max(*value);
            }
            assert_eq!(aggregate(&device, &keys, &values).unwrap(), expected.into_values().collect::<Vec<_>>());
        }
        assert!(aggregate(&device, &[1], &[]).is_err());
    }
}
