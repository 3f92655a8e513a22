//! Semantic deduplication against plain loops over all pairs.
#![allow(clippy::unwrap_used)]

mod against;

use super::random::Random;
use super::*;
use crate::dedup::{
    Budget, FixedBudget, KeepWhich, Kept, Numbering, Positions, RowStore, Semantic, SemanticKeep, SemanticLink,
};
use proptest::prelude::*;
use std::sync::Arc;

fn spec(clusters: usize) -> Semantic {
    Semantic {
        threshold: 0.95,
        clusters,
        iterations: 50,
        tolerance: 1e-4,
        seed: 42,
        sample: 1_000_000,
        which: SemanticKeep::Hard,
        link: SemanticLink::Any,
        gpus: None,
        gpu_memory_bytes: None,
    }
}

/// Vectors of which five in a row go to one partition, the next five to the next.
fn in_partitions(
    spec: &Semantic,
    budget: &Arc<dyn Budget>,
    vectors: &[Vec<f32>],
    n_partitions: usize,
) -> crate::Result<SemanticDedup> {
    let mut partitions = VectorPartition::all(n_partitions, budget);
    let mut positions: Vec<Positions> = partitions.iter().map(|_| Positions::new(budget)).collect();
    for (row, vector) in vectors.iter().enumerate() {
        positions[row / 5 % n_partitions].push(row as u64)?;
        partitions[row / 5 % n_partitions].push(row as u64, vector)?;
    }
    SemanticDedup::new(spec.clone(), Arc::clone(budget), partitions, &Numbering::new(positions)?)
}

fn run(spec: &Semantic, budget: FixedBudget, vectors: &[Vec<f32>], ranking: Ranking<'_>) -> SemanticOutcome {
    let budget: Arc<dyn Budget> = Arc::new(budget);
    in_partitions(spec, &budget, vectors, 1).unwrap().finish(ranking, None).unwrap()
}

fn by_centre(spec: &Semantic, budget: FixedBudget, vectors: &[Vec<f32>]) -> SemanticOutcome {
    run(spec, budget, vectors, Ranking::Centre(spec.which))
}

/// Vectors around a few directions; some are near copies of earlier ones.
fn planted(n: usize, dimension: usize, seed: u64) -> Vec<Vec<f32>> {
    let mut random = Random::new(seed);
    let mut vectors: Vec<Vec<f32>> = Vec::new();
    for row in 0..n {
        let near = row > 0 && random.unit() < 0.3;
        let of = (random.unit() * row as f64) as usize;
        let noise = if near { 0.05 } else { 1.0 };
        let fresh = (0..dimension).map(|_| (random.unit() - 0.5) as f32 * noise);
        vectors.push(if near { fresh.zip(&vectors[of]).map(|(a, b)| a + b).collect() } else { fresh.collect() });
    }
    vectors
}

fn unit(vector: &[f32]) -> Vec<f64> {
    let length = vector.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>().sqrt();
    vector.iter().map(|&v| f64::from(v) / length).collect()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The rule in f64, given the clusters: (row, nearest, similarity) for the rows that go.
fn plain(vectors: &[Vec<f32>], outcome: &SemanticOutcome, which: SemanticKeep, threshold: f64) -> Vec<(u64, u64, f64)> {
    let unit: Vec<Vec<f64>> = vectors.iter().map(|vector| unit(vector)).collect();
    let mut found = Vec::new();
    for cluster in 0..outcome.n_clusters() as u32 {
        let mut rows: Vec<usize> = (0..vectors.len()).collect();
        rows.retain(|&row| outcome.cluster(row as u64).is_some_and(|(of, _)| of == cluster));
        let mean = |at: usize| rows.iter().map(|&row| unit[row][at]).sum::<f64>();
        let centre: Vec<f64> = (0..vectors[0].len()).map(mean).collect();
        let length = cosine(&centre, &centre).sqrt();
        let distance = |row: &usize| 1.0 - cosine(&unit[*row], &centre) / length;
        match which {
            SemanticKeep::Hard => rows.sort_by(|a, b| distance(b).total_cmp(&distance(a))),
            _ => rows.sort_by(|a, b| distance(a).total_cmp(&distance(b))),
        }
        for (place, &row) in rows.iter().enumerate() {
            let mut best: Option<(usize, f64)> = None;
            for &other in &rows[..place] {
                let similarity = cosine(&unit[row], &unit[other]);
                if best.is_none_or(|(_, best)| similarity > best) {
                    best = Some((other, similarity));
                }
            }
            found.extend(best.filter(|best| best.1 >= threshold).map(|(other, s)| (row as u64, other as u64, s)));
        }
    }
    found.sort_by_key(|found| found.0);
    found
}

#[test]
fn removes_what_plain_loops_remove() {
    let vectors = planted(700, 33, 1);
    for which in [SemanticKeep::Hard, SemanticKeep::Easy] {
        let spec = Semantic { which, tolerance: 0.0, iterations: 300, ..spec(7) };
        let outcome = by_centre(&spec, FixedBudget::new(), &vectors);
        assert!(outcome.n_iterations < 300, "the centres are the means of the clusters once nothing moves");
        let wanted = plain(&vectors, &outcome, which, spec.threshold);
        assert!(wanted.len() > 100);
        let found =
            |duplicates: &[SemanticDuplicate]| duplicates.iter().map(|d| (d.row, d.nearest)).collect::<Vec<_>>();
        assert_eq!(found(&outcome.duplicates), wanted.iter().map(|w| (w.0, Kept::Row(w.1))).collect::<Vec<_>>());
        for (duplicate, wanted) in outcome.duplicates.iter().zip(&wanted) {
            assert!((f64::from(duplicate.similarity) - wanted.2).abs() < 1e-5);
        }
    }
}

#[test]
fn threads_and_memory_change_nothing() {
    let vectors = planted(3000, 40, 2);
    let spec = Semantic { sample: 2000, ..spec(12) };
    let wanted = by_centre(&spec, FixedBudget::new(), &vectors);
    assert!(wanted.duplicates.len() > 300);
    let needs = Needs::of(&spec, vectors.len(), 40);
    for (limit_bytes, n_threads) in
        [(usize::MAX, 8), (needs.least_bytes, 1), (needs.least_bytes, 3), (needs.all_bytes, 2)]
    {
        assert_eq!(by_centre(&spec, FixedBudget::of(limit_bytes, n_threads), &vectors), wanted);
    }
}

#[test]
fn a_cluster_larger_than_memory_is_compared_block_by_block() {
    let vectors = planted(1500, 64, 3);
    let spec = spec(1);
    let wanted = by_centre(&spec, FixedBudget::new(), &vectors);
    let needs = Needs::of(&spec, vectors.len(), 64);
    assert!(needs.least_bytes < needs.all_bytes / 2);
    assert_eq!(by_centre(&spec, FixedBudget::of(needs.least_bytes, 2), &vectors), wanted);
}

#[test]
fn partitions_give_the_outcome_of_one_stream_in_the_same_memory() {
    let mut vectors = planted(1500, 64, 5);
    [0, 3, 4, 5, 6, 7, 8, 9, 700, 1499].into_iter().for_each(|row: usize| vectors[row] = vec![]);
    let spec = spec(12);
    let wanted = by_centre(&spec, FixedBudget::new(), &vectors);
    assert!(wanted.duplicates.len() > 100);
    let least_bytes = Needs::of(&spec, vectors.len(), 64).least_bytes;
    for (n_partitions, limit_bytes) in [(2, usize::MAX), (7, least_bytes), (7, usize::MAX), (400, usize::MAX)] {
        let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(limit_bytes, 2));
        let dedup = in_partitions(&spec, &budget, &vectors, n_partitions).unwrap();
        let found = dedup.finish(Ranking::Centre(spec.which), None).unwrap();
        assert!(found == wanted, "{n_partitions} partitions, {limit_bytes} bytes");
    }
}

#[test]
fn memory_is_given_back() {
    let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(1 << 20, 2));
    let dedup = in_partitions(&spec(4), &budget, &planted(2000, 24, 4), 3).unwrap();
    dedup.finish(Ranking::Centre(SemanticKeep::Random), None).unwrap();
    assert!(budget.try_grow(1 << 20));
}

#[test]
fn too_little_memory_is_said() {
    let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(1000, 1));
    let error = in_partitions(&spec(4), &budget, &[vec![1.0, 2.0]], 1).err().unwrap();
    assert!(error.to_string().contains("bytes more than the memory"));
}

#[test]
fn rows_without_a_direction_stay() {
    let vectors =
        [vec![], vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![1.0, 0.0], vec![2.0, 0.0], vec![f32::INFINITY, 0.0]];
    let outcome = by_centre(&spec(2), FixedBudget::new(), &vectors);
    assert_eq!(
        outcome.duplicates,
        [SemanticDuplicate { row: 4, nearest: Kept::Row(3), similarity: 1.0, kept: Kept::Row(3) }]
    );
    assert_eq!(
        (0..7).map(|row| outcome.cluster(row).is_some()).collect::<Vec<_>>(),
        [false, false, false, true, true, false, false]
    );
    let none = by_centre(&spec(2), FixedBudget::new(), &[vec![], vec![0.0]]);
    assert!(none.duplicates.is_empty() && none.cluster(0).is_none());
}

#[test]
fn a_vector_of_another_length_is_an_error_wherever_it_was_read() {
    let budget: Arc<dyn Budget> = Arc::new(FixedBudget::new());
    let mut vectors = vec![vec![1.0, 2.0]; 40];
    vectors[0] = vec![];
    [22, 31].into_iter().for_each(|row| vectors[row] = vec![1.0]);
    for n_partitions in [1, 2, 5, 9] {
        let error = in_partitions(&spec(2), &budget, &vectors, n_partitions).err().unwrap().to_string();
        assert_eq!(error, "the vector of row 22 has 1 values; those before it have 2");
    }
}

/// Angles in degrees, as vectors.
fn at_angles(degrees: &[f32]) -> Vec<Vec<f32>> {
    degrees.iter().map(|degrees| vec![degrees.to_radians().cos(), degrees.to_radians().sin()]).collect()
}

#[test]
fn a_row_that_goes_still_removes_others_and_the_kept_row_is_the_end_of_the_chain() {
    // 12 degrees are a cosine of 0.978, 24 degrees one of 0.914.
    let vectors = at_angles(&[0.0, 12.0, 24.0, 80.0]);
    let check = |which, wanted: &[(u64, u64, Kept)]| {
        let mut key_of = |_| Ok(Vec::new());
        let outcome = run(&spec(1), FixedBudget::new(), &vectors, Ranking::Keys { which, key_of: &mut key_of });
        let found: Vec<_> = outcome.duplicates.iter().map(|d| (d.row, d.nearest, d.kept)).collect();
        let wanted: Vec<_> = wanted.iter().map(|w| (w.0, Kept::Row(w.1), w.2)).collect();
        assert_eq!(found, wanted, "{which:?}");
    };
    check(KeepWhich::First, &[(1, 0, Kept::Row(0)), (2, 1, Kept::Row(0))]);
    check(KeepWhich::Any, &[(1, 0, Kept::Row(0)), (2, 1, Kept::Row(0))]);
    check(KeepWhich::Last, &[(0, 1, Kept::Row(2)), (1, 2, Kept::Row(2))]);
    check(KeepWhich::None, &[(0, 1, Kept::Nobody), (1, 0, Kept::Nobody), (2, 1, Kept::Nobody)]);
}

/// In plain loops: each row that goes, and the first row that stays and that it is similar to.
fn first_that_stays(ranked: &[usize], is_close: impl Fn(usize, usize) -> bool) -> Vec<(u64, Kept)> {
    let (mut staying, mut found) = (vec![], vec![]);
    for &row in ranked {
        match staying.iter().find(|kept| is_close(**kept, row)) {
            Some(kept) => found.push((row as u64, Kept::Row(*kept as u64))),
            None => staying.push(row),
        }
    }
    found.sort_by_key(|(row, _)| *row);
    found
}

#[test]
fn linked_to_what_stays_a_chain_falls_apart() {
    let vectors = at_angles(&[0.0, 12.0, 24.0, 80.0]);
    let mut key_of = |_| Ok(Vec::new());
    let ranking = Ranking::Keys { which: KeepWhich::First, key_of: &mut key_of };
    let spec = Semantic { link: SemanticLink::Kept, ..spec(1) };
    let outcome = run(&spec, FixedBudget::new(), &vectors, ranking);
    let found: Vec<_> = outcome.duplicates.iter().map(|d| (d.row, d.nearest, d.kept)).collect();
    assert_eq!(found, [(1, Kept::Row(0), Kept::Row(0))]);
}

#[test]
fn linked_to_what_stays_rows_go_as_plain_loops_say_in_any_memory_and_with_any_value_of_per() {
    // Angles on a line, so that chains are long; far more rows than are decided at a time.
    let mut random = Random::new(11);
    let angles: Vec<f32> = (0..1500).map(|_| (random.unit() * 1200.0) as f32 / 8.0).collect();
    let vectors = at_angles(&angles);
    let keys: Vec<u8> = (0..vectors.len()).map(|_| (random.unit() * 5.0) as u8).collect();
    let values: Vec<u8> = (0..vectors.len()).map(|_| (random.unit() * 3.0) as u8).collect();
    let unit: Vec<Vec<f64>> = vectors.iter().map(|vector| unit(vector)).collect();
    for (which, has_per) in [(KeepWhich::First, false), (KeepWhich::Last, false), (KeepWhich::First, true)] {
        let spec = Semantic { threshold: 0.999, link: SemanticLink::Kept, ..spec(1) };
        let mut ranked: Vec<usize> = (0..vectors.len()).collect();
        ranked.sort_by_key(|row| (keys[*row], *row));
        if which == KeepWhich::Last {
            ranked.reverse();
        }
        let wanted = first_that_stays(&ranked, |a, b| {
            cosine(&unit[a], &unit[b]) >= spec.threshold && (!has_per || values[a] == values[b])
        });
        assert!(wanted.len() > 1000 && wanted.len() < 1480);
        let needs = Needs::of(&spec, vectors.len(), 2);
        for (limit_bytes, n_threads) in [(usize::MAX, 1), (usize::MAX, 4), (needs.least_bytes, 2)] {
            let mut key_of = |row: u64| Ok(vec![keys[row as usize]]);
            let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(limit_bytes, n_threads));
            let dedup = in_partitions(&spec, &budget, &vectors, 1).unwrap();
            let budget: Arc<dyn Budget> = Arc::new(FixedBudget::new());
            let mut store = RowStore::new(&budget);
            values.iter().for_each(|value| store.push(&[*value]).unwrap());
            let dedup = dedup.per(has_per.then(|| store.finish().unwrap()));
            let outcome = dedup.finish(Ranking::Keys { which, key_of: &mut key_of }, None).unwrap();
            let found: Vec<_> = outcome.duplicates.iter().map(|d| (d.row, d.kept)).collect();
            assert_eq!(found, wanted, "{which:?}, {limit_bytes} bytes");
        }
    }
}

#[test]
fn keys_rank_rows_before_their_place_in_the_input() {
    let vectors = at_angles(&[0.0, 0.0, 0.0, 0.0]);
    let keys = [b"b", b"a", b"c", b"a"];
    let mut key_of = |row: u64| Ok(keys[row as usize].to_vec());
    let ranking = Ranking::Keys { which: KeepWhich::First, key_of: &mut key_of };
    let outcome = run(&spec(4), FixedBudget::new(), &vectors, ranking);
    assert_eq!(
        outcome.duplicates.iter().map(|d| (d.row, d.kept)).collect::<Vec<_>>(),
        [(0, Kept::Row(1)), (2, Kept::Row(1)), (3, Kept::Row(1))]
    );
}

#[test]
fn chance_prefers_other_rows_with_another_seed() {
    let vectors = at_angles(&[10.0; 40]);
    let kept = |seed| {
        let outcome =
            by_centre(&Semantic { seed, which: SemanticKeep::Random, ..spec(1) }, FixedBudget::new(), &vectors);
        assert_eq!(outcome.duplicates.len(), 39);
        outcome.duplicates[0].kept
    };
    assert_ne!(kept(1), kept(2));
    assert_eq!(kept(1), kept(1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn copies_never_stay_beside_each_other(n in 1usize..60, copies in 1usize..4, k in 1usize..9, seed in any::<u64>()) {
        let mut vectors = planted(n, 12, seed);
        for _ in 0..copies {
            vectors.extend_from_within(..n);
        }
        let spec = Semantic { threshold: 1.0, seed, ..spec(k) };
        let outcome = by_centre(&spec, FixedBudget::new(), &vectors);
        prop_assert_eq!(outcome.duplicates.len(), n * copies);
        for duplicate in &outcome.duplicates {
            let is_copy = matches!(duplicate.kept, Kept::Row(kept) if kept % n as u64 == duplicate.row % n as u64);
            prop_assert!(is_copy, "{:?}", duplicate);
        }
        prop_assert_eq!(by_centre(&spec, FixedBudget::of(usize::MAX, 3), &vectors), outcome);
    }
}

#[test]
fn blocks_of_any_size_hold_the_vectors_in_order() {
    let dimension = 100;
    let mut store = super::vectors::VectorStore::new(dimension, 1, Arc::new(FixedBudget::new()));
    let n = 135;
    for row in 0..n {
        store.push(&vec![row as f32; dimension]).unwrap();
    }
    let vectors = super::vectors::Vectors::of_one(store).unwrap();
    assert!(n > 3 * vectors.chunk_rows());
    for block_rows in [1, 7, vectors.chunk_rows(), vectors.chunk_rows() + 1, n - 1, n] {
        let mut buffer = Vec::new();
        let mut seen = Vec::new();
        for block in vectors.blocks(block_rows) {
            let rows = vectors.rows(block, &mut buffer).unwrap();
            seen.extend(rows.chunks_exact(vectors.stride()).map(|row| row[0] as usize));
        }
        assert_eq!(seen, (0..n).collect::<Vec<_>>(), "blocks of {block_rows}");
    }
}
