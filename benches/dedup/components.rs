//! Connected components of pairs: on disk in a given memory, and in memory with one thread and more.

use curator::internals::{Budget, Components, FixedBudget};
use std::sync::Arc;
use std::time::Instant;

/// How the pairs of `n` rows lie.
struct Shape {
    name: &'static str,
    n_pairs: fn(u64) -> u64,
    pair: fn(u64, u64) -> (u64, u64),
}

const SHAPES: [Shape; 5] = [
    Shape { name: "random", n_pairs: |n| n / 2 * 5, pair: |n, at| (mixed(2 * at) % n, mixed(2 * at + 1) % n) },
    Shape { name: "shuffled chain", n_pairs: |n| n - 1, pair: |n, at| (at * 7919 % n, (at + 1) * 7919 % n) },
    Shape { name: "chain", n_pairs: |n| n - 1, pair: |_, at| (at, at + 1) },
    Shape { name: "star at the last row", n_pairs: |n| n - 1, pair: |n, at| (n - 1, at) },
    Shape { name: "clusters of five", n_pairs: |n| n, pair: |_, at| (at, at / 5 * 5) },
];

/// Prints a line for each shape and memory, and each shape and number of threads.
pub fn show(n_rows: u64) {
    for shape in &SHAPES {
        let n_pairs = (shape.n_pairs)(n_rows);
        // Three bytes a row: less than the four that would keep the pairs off the disk.
        let on_disk: Arc<dyn Budget> = Arc::new(FixedBudget::of(3 * n_rows as usize, 1));
        let name = format!("{n_pairs} pairs, {}, {} MB", shape.name, 3 * n_rows / 1_000_000);
        timed(&name, || clusters(shape, n_rows, n_pairs, &on_disk));
        for n_threads in [1, 2] {
            let in_memory: Arc<dyn Budget> = Arc::new(FixedBudget::of(usize::MAX, n_threads));
            let name = format!("{n_pairs} pairs, {}, {n_threads} threads", shape.name);
            timed(&name, || clusters(shape, n_rows, n_pairs, &in_memory));
        }
    }
}

/// The number of rows that are not the first of their cluster.
fn clusters(shape: &Shape, n_rows: u64, n_pairs: u64, budget: &Arc<dyn Budget>) -> u64 {
    let components = Components::new(n_rows, budget);
    let n_threads = budget.n_threads() as u64;
    std::thread::scope(|scope| {
        for thread in 0..n_threads {
            let components = &components;
            let pairs = n_pairs * thread / n_threads..n_pairs * (thread + 1) / n_threads;
            scope.spawn(move || {
                for at in pairs {
                    let (a, b) = (shape.pair)(n_rows, at);
                    components.union(a, b).unwrap();
                }
            });
        }
    });
    let mut n_others = 0;
    let count = |rows: &[u64], _| {
        n_others += rows.len() as u64 - 1;
        Ok(())
    };
    components.into_clusters(None).unwrap().for_each_cluster(count).unwrap();
    n_others
}

fn timed(name: &str, work: impl FnOnce() -> u64) {
    let (started, before) = (Instant::now(), own_seconds());
    let answer = work();
    let (cpu_seconds, wall_seconds) = (own_seconds() - before, started.elapsed().as_secs_f64());
    println!("{name:44} {cpu_seconds:9.2} {wall_seconds:9.2} {:>10} {answer:>12}", "");
}

/// User and system time of this process.
fn own_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    (fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()) as f64 / 100.0
}

fn mixed(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}
