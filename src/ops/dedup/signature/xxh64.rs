//! XXH64 with seed 0 (Yann Collet), the hash of datatrove's shingles. Not XXH3, which everything else here uses.

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// The hash of `bytes`.
pub(super) fn xxh64(bytes: &[u8]) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() {
        P5
    } else {
        let mut lanes = [P1.wrapping_add(P2), P2, 0, P1.wrapping_neg()];
        for stripe in stripes {
            for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
                *lane = round(*lane, u64::from_le_bytes(*word));
            }
        }
        let turned = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, by)| lane.rotate_left(by));
        let hash = turned.fold(0u64, u64::wrapping_add);
        lanes.iter().fold(hash, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
    };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash = (hash ^ round(0, u64::from_le_bytes(*word))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(P2);
    hash = (hash ^ hash >> 29).wrapping_mul(P3);
    hash ^ hash >> 32
}

#[inline(always)]
fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_the_reference_implementation() {
        let text = "The quick brown fox jumps over the lazy dog, and then it does so again, and again: 0123456789";
        for (n_bytes, expected) in [
            (0, 0xef46_db37_51d8_e999),
            (1, 0x5b4d_6af2_47a3_cf7b),
            (3, 0x4108_f90b_5de1_4d15),
            (4, 0xcdf1_3a49_d263_200f),
            (7, 0xc6fc_e9d7_2e31_0949),
            (8, 0xd07b_38a7_8a15_3b0b),
            (12, 0xb2ed_3801_7844_f789),
            (31, 0x3f8d_95ab_32c1_27d9),
            (32, 0xe2bb_c913_6629_a4ee),
            (33, 0x6d92_fe2e_bab7_db31),
            (45, 0x2064_e849_8f5f_66e7),
            (64, 0x9a13_25f9_7f65_29a3),
            (93, 0xde0d_5160_f01e_bf69),
        ] {
            assert_eq!(xxh64(&text.as_bytes()[..n_bytes]), expected, "{n_bytes} bytes");
        }
    }
}
