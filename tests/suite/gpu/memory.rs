//! Little device memory, and allocations that fail: the same rows, smaller batches, and it is counted.

use super::documents;
use super::standin::Standin;
use super::{assert_no_mistakes, on_cpu, on_gpu};

fn query(file: &str) -> String {
    format!(
        "FROM '{file}' |> WHERE words(text) > 3 AND alpha_ratio(text) > 0.1 \
         |> EXTEND top_ngram_char_ratio(text, 2) AS top |> SELECT id, top, lines(text) AS n_lines"
    )
}

/// A number that EXPLAIN ANALYZE shows after a word, all of them added up.
fn shown(text: &str, word: &str) -> u64 {
    let word = format!("{word} ");
    let after = text.split(&word).skip(1);
    after.filter_map(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).sum()
}

#[test]
fn little_device_memory_makes_smaller_batches_and_the_same_rows() {
    let query = query(&documents::file().to_string_lossy());
    let expected = on_cpu(&query, &[]);
    for megabytes in [64, 16, 1] {
        let standin = Standin::new().memory_bytes(megabytes << 20);
        let run = on_gpu(&query, &standin, &[]);
        assert_eq!(run.stderr, "", "{megabytes} MB");
        assert!(run.ok() == expected, "{megabytes} MB: other rows");
        let counters = standin.counters();
        assert_eq!((counters.faults.len(), counters.leaked_bytes), (0, 0), "{megabytes} MB: {:?}", counters.faults);
        assert!(counters.peak_bytes <= (megabytes << 20), "{megabytes} MB: peak {}", counters.peak_bytes);
        assert!(counters.launches > 0, "{megabytes} MB");
    }
}

#[test]
fn what_does_not_fit_is_split_and_then_runs_on_the_cpu_and_both_are_shown() {
    let query = format!("EXPLAIN ANALYZE {}", query(&documents::file().to_string_lossy()));
    let roomy = on_gpu(&query, &Standin::new(), &[]).ok();
    assert_eq!((shown(&roomy, "splits"), shown(&roomy, "batches on the CPU")), (0, 0), "{roomy}");
    // Long documents need more than there is, and are alone in their batches.
    let tight = on_gpu(&query, &Standin::new().memory_bytes(1 << 20), &[]).ok();
    assert_eq!(shown(&tight, "batches on the CPU"), 2, "{tight}");
    // There is room for the tables of characters and for no batch, whichever thread asks first.
    let short = on_gpu(&query, &Standin::new().fail_allocations_from(2), &[]).ok();
    assert!(shown(&short, "splits") > 0, "{short}");
    assert!(shown(&short, "batches on the CPU") > 2, "{short}");
}

#[test]
fn a_row_that_fits_nowhere_is_set_aside_if_the_run_insists_on_a_gpu() {
    let query = query(&documents::file().to_string_lossy());
    let expected = on_cpu(&query, &[]);
    let standin = Standin::new().memory_bytes(1 << 20);
    let run = on_gpu(&query, &standin, &["--require", "gpu"]);
    let kept: Vec<&str> = expected.lines().filter(|line| !line.contains(":301,") && !line.contains(":302,")).collect();
    assert_eq!(run.ok().lines().collect::<Vec<_>>(), kept);
}

#[test]
fn any_allocation_may_fail() {
    let query = query(&documents::short_file().to_string_lossy());
    let expected = on_cpu(&query, &[]);
    let further = ["--threads", "2"];
    let clean = Standin::new();
    assert!(on_gpu(&query, &clean, &further).ok() == expected);
    let n_allocations = clean.counters().allocations;
    assert!(n_allocations > 1, "{n_allocations}");
    for n in 1..=n_allocations + 1 {
        let standin = Standin::new().fail_allocation(n);
        let run = on_gpu(&query, &standin, &further);
        assert!(run.stdout == expected, "allocation {n}: {}", run.stderr);
        assert_no_mistakes(&standin);
    }
    // From then on none works: what is left runs on the CPU.
    for n in 1..=2 {
        let run = on_gpu(&query, &Standin::new().fail_allocations_from(n), &further);
        assert!(run.stdout == expected, "no allocations from {n}: {}", run.stderr);
    }
}
