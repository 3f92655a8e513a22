//! The S-curve: how likely two documents become candidates, and which bands and rows suit a threshold.

use std::fmt::Write;

/// The chance that two documents of this similarity agree in all rows of some band.
pub fn candidate_probability(similarity: f64, bands: u32, rows: u32) -> f64 {
    let agree_in_band = similarity.clamp(0.0, 1.0).powf(f64::from(rows));
    1.0 - (1.0 - agree_in_band).powf(f64::from(bands))
}

/// Bands and rows, at most `permutations` values together, for which the curve rises at `threshold`: the sum of the
/// area under it before (false positives) and over it after (false negatives) is least. The same choice as
/// datasketch's with equal weights. Of equally good ones, the fewest bands.
pub fn bands_and_rows(threshold: f64, permutations: u32) -> (u32, u32) {
    let mut best = (f64::INFINITY, (1, permutations.max(1)));
    for bands in 1..=permutations {
        for rows in 1..=permutations / bands {
            let curve = |similarity| candidate_probability(similarity, bands, rows);
            let error = integral(0.0, threshold, curve) + integral(threshold, 1.0, |s| 1.0 - curve(s));
            if error < best.0 {
                best = (error, (bands, rows));
            }
        }
    }
    best.1
}

/// The curve in one line, for plans: `P(candidate): 0.5 5 %, 0.6 21 %, …`.
pub fn s_curve(bands: u32, rows: u32) -> String {
    let mut line = "P(candidate):".to_string();
    for tenths in 5..10 {
        let similarity = f64::from(tenths) / 10.0;
        let percent = 100.0 * candidate_probability(similarity, bands, rows);
        let end = if tenths == 9 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = if percent < 1.0 {
            write!(line, " {similarity} {percent:.1} %{end}")
        } else {
            write!(line, " {similarity} {percent:.0} %{end}")
        };
    }
    line
}

/// Gauss–Legendre with 5 points in each of a few pieces: the curves are smooth, but steep with many rows.
fn integral(from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
    const N_PIECES: u32 = 16;
    const POINTS: [(f64, f64); 5] = [
        (0.0, 0.568_888_888_888_888_9),
        (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (-0.906_179_845_938_664, 0.236_926_885_056_189_08),
        (0.906_179_845_938_664, 0.236_926_885_056_189_08),
    ];
    let half = (to - from) / f64::from(2 * N_PIECES);
    let piece = |piece: u32| {
        let centre = from + half * f64::from(2 * piece + 1);
        POINTS.iter().map(|(at, weight)| weight * of(centre + half * at)).sum::<f64>()
    };
    half * (0..N_PIECES).map(piece).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_datasketchs() {
        for (threshold, permutations, expected) in [
            (0.5, 128, (25, 5)),
            (0.6, 64, (10, 6)),
            (0.7, 112, (12, 9)),
            (0.7, 128, (14, 9)),
            (0.75, 256, (21, 12)),
            (0.8, 112, (9, 12)),
            (0.8, 128, (9, 13)),
            (0.8, 260, (17, 15)),
            (0.85, 100, (6, 16)),
            (0.9, 128, (5, 25)),
            (0.95, 256, (5, 51)),
            (0.3, 32, (12, 2)),
            (0.1, 128, (64, 2)),
            (0.99, 64, (1, 64)),
        ] {
            assert_eq!(bands_and_rows(threshold, permutations), expected, "{threshold} {permutations}");
        }
        assert_eq!(bands_and_rows(0.8, 1), (1, 1));
    }

    #[test]
    fn the_curve_is_shown_in_one_line() {
        assert_eq!(s_curve(14, 8), "P(candidate): 0.5 5 %, 0.6 21 %, 0.7 56 %, 0.8 92 %, 0.9 100 %");
        assert_eq!(s_curve(20, 13), "P(candidate): 0.5 0.2 %, 0.6 3 %, 0.7 18 %, 0.8 68 %, 0.9 100 %");
    }

    #[test]
    fn nothing_in_common_is_never_a_candidate_and_equal_always() {
        assert_eq!(candidate_probability(0.0, 14, 8), 0.0);
        assert_eq!(candidate_probability(1.0, 14, 8), 1.0);
    }
}
