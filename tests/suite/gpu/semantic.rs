//! `DEDUP SEMANTIC` with a device: the same rows and clusters as without, whatever the device does.

use super::standin::Standin;
use super::{assert_no_mistakes, curator, on_cpu, on_gpu};
use std::path::Path;
use tempfile::TempDir;

const N_ROWS: usize = 230;
const DIMENSION: usize = 19;

/// Vectors around a few directions, some of them near copies of earlier ones, and some without a direction.
fn write_vectors(folder: &Path) -> String {
    let mut state = 7u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    };
    let mut vectors: Vec<Vec<f64>> = vec![];
    let mut text = String::new();
    for row in 0..N_ROWS {
        let vector: Vec<f64> = match row % 5 {
            3 | 4 => vectors[row * 2 / 3].iter().map(|value| value + 0.02 * unit()).collect(),
            2 if row % 50 == 2 => vec![0.0; DIMENSION],
            place => (0..DIMENSION).map(|at| unit() + f64::from(u8::from(at == place + row % 3))).collect(),
        };
        text.push_str(&format!("{}\n", serde_json::json!({ "id": row, "vector": vector })));
        vectors.push(vector);
    }
    let file = folder.join("vectors.jsonl");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// What goes is decided at several thresholds, so that a product that differs in its last bits has a chance to show.
fn query(file: &str, threshold: f64, keep: &str) -> String {
    format!(
        "FROM '{file}' |> DEDUP SEMANTIC ON vector \
         WITH (clusters = 3, threshold = {threshold}, cluster_id = 'cluster', cluster_size = 'size') {keep} \
         |> SELECT id, cluster, size"
    )
}

#[test]
fn a_device_finds_the_duplicates_that_the_cpu_finds() {
    let folder = TempDir::new().unwrap();
    let file = write_vectors(folder.path());
    for threshold in [0.5, 0.99, 0.9999] {
        for keep in ["", "KEEP LAST BY id"] {
            let query = query(&file, threshold, keep);
            let expected = on_cpu(&query, &[]);
            let n_kept = expected.lines().count();
            let standin = Standin::new();
            let run = on_gpu(&query, &standin, &[]);
            assert_eq!(run.stderr, "");
            assert_eq!(run.ok(), expected, "{query}");
            assert_no_mistakes(&standin);
            let launches = standin.counters().launches_by_kernel;
            // At least one iteration and the final assignment; one launch for each cluster.
            assert!(launches["run_nearest"] >= 2 && launches["run_dots"] >= 1, "{launches:?}");
            assert!(threshold > 0.999 || n_kept < N_ROWS, "nothing was a duplicate at {threshold}");
        }
    }
}

/// A number that stands before a word.
fn before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line.split([' ', '(', ')', ',', ';']).filter(|word| !word.is_empty()).collect();
    let at = words.iter().position(|found| *found == word).unwrap_or_else(|| panic!("no {word}: {line}"));
    words[at - 1].parse().unwrap()
}

#[test]
fn all_devices_compare_and_what_they_did_is_counted() {
    let folder = TempDir::new().unwrap();
    let file = write_vectors(folder.path());
    for keep in ["", "KEEP LAST BY id"] {
        let query = query(&file, 0.99, keep);
        let standin = Standin::new().devices(2);
        assert_eq!(on_gpu(&query, &standin, &[]).ok(), on_cpu(&query, &[]));
        assert_no_mistakes(&standin);
        for device in standin.counters_of_each() {
            assert!(device.launches_by_kernel["run_nearest"] >= 2, "{device:?}");
            assert!(device.launches_by_kernel["run_dots"] >= 1, "{device:?}");
        }
        let told = on_gpu(&format!("EXPLAIN ANALYZE {query}"), &standin, &[]).ok();
        let line = told.lines().find(|line| line.contains("pairs compared")).unwrap_or_else(|| panic!("{told}"));
        let counters = standin.counters();
        assert_eq!(before(line, "launches"), counters.launches, "{line}");
        let (into, back) = line.split_once("cpu ← gpu").unwrap();
        assert_eq!((before(into, "copies"), before(into, "bytes")), (counters.copies_in, counters.bytes_in), "{line}");
        assert_eq!(
            (before(back, "copies"), before(back, "bytes")),
            (counters.copies_out, counters.bytes_out),
            "{line}"
        );
        // Each row with three centres at least twice, and all pairs of a cluster.
        assert!(before(line, "pairs") > 2 * 3 * 200, "{line}");
    }
}

#[test]
fn comparisons_hold_no_more_of_a_device_than_their_share() {
    let folder = TempDir::new().unwrap();
    let file = write_vectors(folder.path());
    let expected = on_cpu(&query(&file, 0.99, ""), &[]);
    for (share, most) in [("1", 1), ("0.5", 2)] {
        let query = query(&file, 0.99, "").replace("clusters = 3", &format!("clusters = 3, gpus = {share}"));
        let standin = Standin::new().devices(2);
        assert_eq!(on_gpu(&query, &standin, &[]).ok(), expected);
        for device in standin.counters_of_each() {
            assert!(device.launches > 0 && device.most_launches_in_flight <= most, "gpus = {share}: {device:?}");
        }
    }
    // Ten kilobytes on each are enough for 32 vectors and the centres, so there are more launches. The stand-in frees what a
    // stream gives back when it next works on that stream, so it counts some launches that are over.
    let unbounded = Standin::new().devices(2);
    assert_eq!(on_gpu(&query(&file, 0.99, ""), &unbounded, &[]).ok(), expected);
    let query = query(&file, 0.99, "").replace("clusters = 3", "clusters = 3, gpu_memory = '20kB'");
    let standin = Standin::new().devices(2);
    assert_eq!(on_gpu(&query, &standin, &["--require", "gpu"]).ok(), expected);
    assert!(standin.counters().launches > unbounded.counters().launches, "{:?}", standin.counters());
    for (device, unbounded) in standin.counters_of_each().iter().zip(unbounded.counters_of_each()) {
        assert!(device.bytes_in / device.launches <= 10_000, "{device:?}");
        assert!(device.bytes_in / device.launches < unbounded.bytes_in / unbounded.launches, "{device:?}");
    }
}

#[test]
fn one_of_two_devices_that_fails_leaves_its_part_to_the_other() {
    let folder = TempDir::new().unwrap();
    let query = query(&write_vectors(folder.path()), 0.99, "");
    let standin = Standin::new().devices(2).set("FAIL_LAUNCH", "1@1");
    let run = on_gpu(&query, &standin, &[]);
    assert_eq!(run.stdout, on_cpu(&query, &[]), "{}", run.stderr);
    assert!(run.stderr.contains("GPU 1 failed") && run.stderr.contains("runs on the other GPUs"), "{}", run.stderr);
    let [first, second] = &standin.counters_of_each()[..] else { panic!("two devices") };
    assert!(first.launches > second.launches, "{first:?}\n{second:?}");
}

#[test]
fn a_device_that_fails_or_is_full_leaves_the_work_to_the_cpu_and_says_so() {
    let folder = TempDir::new().unwrap();
    let query = query(&write_vectors(folder.path()), 0.99, "");
    let expected = on_cpu(&query, &[]);
    for n in [1, 3] {
        let run = on_gpu(&query, &Standin::new().fail_launch(n), &[]);
        assert_eq!(run.stdout, expected, "{}", run.stderr);
        assert_eq!(run.stderr.matches("GPU 0 failed").count(), 1, "{}", run.stderr);
        assert!(run.stderr.contains("runs on the CPU from here on"), "{}", run.stderr);
    }
    let run = on_gpu(&query, &Standin::new().fail_allocations_from(1), &[]);
    assert_eq!(run.stdout, expected, "{}", run.stderr);
    assert_eq!(run.stderr.matches("what has no room runs on the CPU").count(), 1, "{}", run.stderr);
}

#[test]
fn a_run_that_insists_on_a_gpu_stops_when_its_comparisons_fail() {
    let folder = TempDir::new().unwrap();
    let query = query(&write_vectors(folder.path()), 0.99, "");
    let run = on_gpu(&query, &Standin::new().fail_launch(1), &["--require", "gpu"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("GPU 0 failed"), "{}", run.stderr);
}

#[test]
fn the_plan_says_where_vectors_are_compared_and_why() {
    let folder = TempDir::new().unwrap();
    let query = query(&write_vectors(folder.path()), 0.99, "");
    let explain = |further: &[&str], standin: Option<&Standin>| {
        let mut arguments = vec!["explain", "--stage", "placed", "-e", &query];
        arguments.extend(further);
        curator(&arguments, standin).ok()
    };
    let forced = explain(&["--device", "gpu"], Some(&Standin::new()));
    let line = forced.lines().find(|line| line.contains("comparisons of")).unwrap();
    assert!(line.contains("* comparisons of") && line.contains("forced:"), "{line}");
    let cheaper = explain(&["--profile", "h100-sxm", "--threads", "16"], None);
    let line = cheaper.lines().find(|line| line.contains("comparisons of")).unwrap();
    assert!(line.contains("* comparisons of") && line.contains("cheaper:"), "{line}");
    let without = explain(&["--device", "cpu"], Some(&Standin::new()));
    assert!(!without.contains("comparisons of"), "{without}");
}
