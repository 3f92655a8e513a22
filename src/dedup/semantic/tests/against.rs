//! Runs one after the other against an index of vectors.

use super::*;
use crate::dedup::Budget;
use crate::dedup::index::{Index, IndexParameters, IndexWriter, compact, merge, verify};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const PARAMETERS: fn(&Semantic) -> IndexParameters =
    |spec| IndexParameters::Semantic { clusters: spec.clusters as u64 };

fn in_order(dedup: SemanticDedup, appender: Option<&mut crate::dedup::index::Appender>) -> SemanticOutcome {
    let mut key_of = |_| Ok(Vec::new());
    dedup.finish(Ranking::Keys { which: KeepWhich::First, key_of: &mut key_of }, appender).unwrap()
}

fn pushed(spec: &Semantic, budget: &Arc<dyn Budget>, vectors: &[Vec<f32>]) -> SemanticDedup {
    in_partitions(spec, budget, vectors, 1).unwrap()
}

/// A run that appends, its rows ranked in input order.
fn append(folder: &Path, spec: &Semantic, budget: FixedBudget, vectors: &[Vec<f32>]) -> SemanticOutcome {
    let budget: Arc<dyn Budget> = Arc::new(budget);
    let mut appender = IndexWriter::open(folder, &PARAMETERS(spec)).unwrap().appender().unwrap();
    let index = Arc::clone(appender.index());
    let dedup = pushed(spec, &budget, vectors).against(&index, &budget).unwrap();
    let outcome = in_order(dedup, Some(&mut appender));
    appender.stage(vectors.len() as u64).unwrap().commit().unwrap();
    outcome
}

fn read(folder: &Path, spec: &Semantic, vectors: &[Vec<f32>]) -> SemanticOutcome {
    let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(usize::MAX, 2));
    let index = Index::open_for(folder, &PARAMETERS(spec)).unwrap();
    in_order(pushed(spec, &budget, vectors).against(&index, &budget).unwrap(), None)
}

fn place(folder: &TempDir, name: &str) -> PathBuf {
    folder.path().join(name)
}

/// The rule in f64, run after run: a row goes if a vector that an earlier run kept, or an earlier row of its own run, is
/// close enough and of the same cluster.
fn by_hand(runs: &[&[Vec<f32>]], outcomes: &[SemanticOutcome], threshold: f64) -> Vec<Vec<u64>> {
    let mut kept: Vec<(Vec<f64>, u32)> = Vec::new();
    let mut gone = Vec::new();
    for (vectors, outcome) in runs.iter().zip(outcomes) {
        let units: Vec<(Vec<f64>, u32)> =
            (0..).zip(*vectors).map(|(row, vector)| (unit(vector), outcome.cluster(row).unwrap().0)).collect();
        let close = |a: &(Vec<f64>, u32), b: &(Vec<f64>, u32)| a.1 == b.1 && cosine(&a.0, &b.0) >= threshold;
        let goes = |row: usize| units[..row].iter().chain(&kept).any(|other| close(&units[row], other));
        let going: Vec<usize> = (0..units.len()).filter(|row| goes(*row)).collect();
        kept.extend(units.iter().enumerate().filter(|(row, _)| !going.contains(row)).map(|(_, unit)| unit.clone()));
        gone.push(going.into_iter().map(|row| row as u64).collect());
    }
    gone
}

#[test]
fn rows_go_that_resemble_what_earlier_runs_kept() {
    let vectors = planted(900, 21, 5);
    let runs: Vec<&[Vec<f32>]> = vectors.chunks(300).collect();
    let spec = spec(6);
    let folder = TempDir::new().unwrap();
    let outcomes: Vec<SemanticOutcome> =
        runs.iter().map(|run| append(&place(&folder, "index"), &spec, FixedBudget::new(), run)).collect();
    let gone = |outcome: &SemanticOutcome| outcome.duplicates.iter().map(|d| d.row).collect::<Vec<_>>();
    assert_eq!(outcomes.iter().map(gone).collect::<Vec<_>>(), by_hand(&runs, &outcomes, spec.threshold));
    let n_indexed = outcomes.iter().flat_map(|outcome| &outcome.duplicates);
    let n_indexed = n_indexed.filter(|d| matches!(d.kept, Kept::Indexed(_))).count();
    assert!(n_indexed > 100, "{n_indexed}");
    assert!(outcomes[0].n_iterations > 0 && outcomes[1].n_iterations == 0, "the centres are learned once");
    // Whoever is said to stay did so, in its run.
    for (run, outcome) in outcomes.iter().enumerate() {
        for duplicate in &outcome.duplicates {
            let stayed = match duplicate.kept {
                Kept::Row(row) => Some(run as u64 * 300 + row),
                Kept::Indexed(ordinal) => Some(ordinal),
                Kept::Nobody => None,
            };
            let is_there = |stayed: u64| !gone(&outcomes[stayed as usize / 300]).contains(&(stayed % 300));
            assert!(stayed.is_some_and(is_there), "{duplicate:?}");
        }
    }
}

#[test]
fn memory_and_segments_change_nothing() {
    let vectors = planted(1200, 40, 6);
    let (first, rest) = vectors.split_at(500);
    let (second, third) = rest.split_at(400);
    let spec = spec(3);
    let folder = TempDir::new().unwrap();
    let roomy = place(&folder, "roomy");
    let wanted = [first, second].map(|run| append(&roomy, &spec, FixedBudget::new(), run));
    let needs = Needs::of(&spec, 500, 40);
    let tight = place(&folder, "tight");
    let index_bytes = 3 * 40 * 4 + (16 << 10);
    for (run, wanted) in [first, second].into_iter().zip(&wanted) {
        assert_eq!(&append(&tight, &spec, FixedBudget::of(needs.least_bytes + index_bytes, 3), run), wanted);
    }
    let before = read(&roomy, &spec, third);
    assert!(before.duplicates.iter().any(|d| matches!(d.kept, Kept::Indexed(_))));
    assert_eq!(read(&tight, &spec, third), before);
    assert_eq!(compact(&roomy).unwrap().n_segments_before, 2);
    assert_eq!(verify(&roomy).unwrap().problems, Vec::<String>::new());
    assert_eq!(read(&roomy, &spec, third), before);
    let merged = place(&folder, "merged");
    merge(&merged, std::slice::from_ref(&tight)).unwrap();
    assert_eq!(verify(&merged).unwrap().problems, Vec::<String>::new());
    assert_eq!(read(&merged, &spec, third), before);
    // A second copy shifts the ordinals; the first one is still the earliest.
    merge(&merged, &[tight]).unwrap();
    assert_eq!(verify(&merged).unwrap().problems, Vec::<String>::new());
    assert_eq!(read(&merged, &spec, third), before);
    compact(&merged).unwrap();
    assert_eq!(read(&merged, &spec, third), before);
}

#[test]
fn other_centres_other_lengths_and_damage_are_told() {
    let folder = TempDir::new().unwrap();
    let (one, other) = (place(&folder, "one"), place(&folder, "other"));
    append(&one, &spec(4), FixedBudget::new(), &planted(100, 8, 7));
    append(&other, &spec(4), FixedBudget::new(), &planted(100, 8, 8));
    let error = merge(&one, &[other]).unwrap_err().to_string();
    assert!(error.contains("other centres"), "{error}");
    let budget: Arc<dyn Budget> = Arc::new(FixedBudget::new());
    let index = Index::open(&one).unwrap();
    let error = pushed(&spec(4), &budget, &planted(5, 9, 1)).against(&index, &budget).map(drop).unwrap_err();
    assert!(error.to_string().contains("vectors of 9 values; those of the index"), "{error}");
    let error = Index::open_for(&one, &PARAMETERS(&spec(5))).map(drop).unwrap_err().to_string();
    assert!(error.contains("semantic, 4 clusters"), "{error}");
    for ending in ["vectors", "centres"] {
        let path = one.join(format!("segment-000001.{ending}"));
        let sound = std::fs::read(&path).unwrap();
        for at in (0..sound.len()).step_by(37) {
            let mut bytes = sound.clone();
            bytes[at] ^= 4;
            std::fs::write(&path, bytes).unwrap();
            assert!(!verify(&one).unwrap().problems.is_empty(), "byte {at} of the {ending}");
        }
        std::fs::write(&path, sound).unwrap();
    }
    assert!(verify(&one).unwrap().problems.is_empty());
}

#[test]
fn an_index_without_vectors_takes_the_first_ones() {
    let folder = TempDir::new().unwrap();
    let index = place(&folder, "index");
    assert!(append(&index, &spec(2), FixedBudget::new(), &[vec![], vec![0.0, 0.0]]).duplicates.is_empty());
    assert!(verify(&index).unwrap().problems.is_empty());
    append(&index, &spec(2), FixedBudget::new(), &at_angles(&[10.0, 100.0]));
    let outcome = read(&index, &spec(2), &at_angles(&[11.0, 55.0, 101.0]));
    let kept: Vec<_> = outcome.duplicates.iter().map(|d| (d.row, d.kept)).collect();
    assert_eq!(kept, [(0, Kept::Indexed(2)), (2, Kept::Indexed(3))]);
}
