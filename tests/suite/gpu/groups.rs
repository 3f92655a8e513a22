//! An aggregation above a device: groups come back instead of rows, and are those of the CPU.

use super::documents;
use super::standin::Standin;
use super::{assert_no_mistakes, curator, nvrtc, on_cpu, on_gpu};

/// Aggregations that a device does.
const ON_DEVICE: &[&str] = &[
    "AGGREGATE count(*) AS rows, sum(words(text)) AS words, min(n) AS low, max(chars(text)) AS high",
    "WHERE chars(text) > 5 |> AGGREGATE count(n) AS there, sum(n) AS n, avg(n) AS mean, min(x) AS low, max(x) AS high",
    "AGGREGATE count(*) AS rows, sum(words(text)) AS words, avg(lines(text)) AS lines GROUP BY flag",
    "AGGREGATE min(n) AS low, max(n) AS high, count(x) AS there GROUP BY lines(text), flag",
    "WHERE words(text) > 3 AND n > -500 |> AGGREGATE sum(n) AS total, avg(words(text)) AS words GROUP BY n",
    "WHERE words(text) > 100000 |> AGGREGATE count(*) AS rows, sum(n) AS n, max(x) AS x",
    "WHERE words(text) > 100000 |> AGGREGATE count(*) AS rows, sum(n) AS n GROUP BY flag",
    "AGGREGATE count(DISTINCT words(text)) AS different, sum(n) AS n",
    "EXTEND words(text) AS w |> AGGREGATE count(*) AS rows GROUP BY w |> ORDER BY rows DESC, w |> LIMIT 5",
];

fn query(verbs: &str) -> String {
    format!("FROM '{}' |> {verbs}", documents::short_file().display())
}

#[test]
fn groups_equal_those_of_the_cpu() {
    for verbs in ON_DEVICE {
        let query = query(verbs);
        let expected = on_cpu(&query, &["--threads", "1"]);
        for (threads, devices) in [("1", 1), ("3", 2)] {
            let standin = Standin::new().devices(devices);
            let further = ["--threads", threads, "--require", "gpu"];
            assert_eq!(on_gpu(&query, &standin, &further).ok(), expected, "{verbs}");
            assert_no_mistakes(&standin);
            let launches = standin.counters().launches_by_kernel;
            assert!(launches.get("run_groups").is_some_and(|n| *n > 0), "{verbs}: {launches:?}");
        }
    }
}

/// The kernels that come with curator, without a compiler.
#[test]
fn groups_by_committed_kernels_equal_those_of_the_cpu() {
    let queries: String = ON_DEVICE.iter().map(|verbs| format!("{};\n", query(verbs))).collect();
    let standin = Standin::new();
    let arguments = ["query", "--quiet", "--output-format", "json", "--device", "gpu", "-e", &queries];
    assert_eq!(curator(&arguments, Some(&standin)).ok(), on_cpu(&queries, &[]));
    assert!(standin.counters().launches_by_kernel["run_groups"] > 0);
    assert_no_mistakes(&standin);
}

#[test]
fn only_groups_come_back() {
    let verbs = "AGGREGATE count(*) AS rows, sum(words(text)) AS words, sum(chars(text)) AS chars";
    let standin = Standin::new();
    let told = on_gpu(&format!("EXPLAIN ANALYZE {}", query(verbs)), &standin, &["--threads", "1"]).ok();
    assert!(told.contains("DeviceExec: groups of"), "{told}");
    let counters = standin.counters();
    // One slot of 10 words, the word before it; nothing for the 301 rows.
    assert!(counters.copies_out == 1 && counters.bytes_out <= 96, "{counters:?}\n{told}");
    assert!(told.contains(&format!("({} bytes)", counters.bytes_out)), "{told}");
    if nvrtc().is_some() {
        assert_eq!(counters.launches, 3, "{told}");
    }
}

#[test]
fn more_groups_than_a_device_tells_apart_come_back_as_rows() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("many.jsonl");
    let lines: String = (0..5000).map(|n| format!("{{\"n\":{n},\"text\":\"a b {n}\"}}\n")).collect();
    std::fs::write(&file, lines).unwrap();
    let query = format!(
        "FROM '{}' |> AGGREGATE sum(words(text)) AS words, count(*) AS rows GROUP BY n |> AGGREGATE count(*) AS n, sum(words) AS w",
        file.display()
    );
    let standin = Standin::new();
    let further = ["--threads", "1", "--require", "gpu"];
    assert_eq!(on_gpu(&query, &standin, &further).ok(), on_cpu(&query, &[]));
    assert_no_mistakes(&standin);
    let told = on_gpu(&format!("EXPLAIN ANALYZE {query}"), &standin, &further).ok();
    assert!(told.contains("batches with too many groups 1"), "{told}");
    assert!(!told.contains("batches on the CPU"), "{told}");
}

/// Whole numbers beyond what a float holds exactly: their mean is what adding floats gives, not what wrapping around does.
#[test]
fn means_of_huge_numbers_are_those_of_the_cpu() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("huge.jsonl");
    let huge = [i64::MAX, i64::MAX - 7, 5, (1 << 53) + 1];
    let lines: String = huge.iter().map(|n| format!("{{\"n\":{n},\"text\":\"a\"}}\n")).collect();
    std::fs::write(&file, lines).unwrap();
    let query = format!(
        "FROM '{}' |> WHERE words(text) > 0 |> AGGREGATE avg(n) AS mean, sum(n % 100) AS s, max(n) AS high",
        file.display()
    );
    let standin = Standin::new();
    assert_eq!(on_gpu(&query, &standin, &["--threads", "1"]).ok(), on_cpu(&query, &["--threads", "1"]));
}

#[test]
fn a_device_that_fails_leaves_groups_to_the_cpu() {
    let query = query(ON_DEVICE[2]);
    let expected = on_cpu(&query, &[]);
    for standin in
        [Standin::new().fail_launch(1), Standin::new().fail_launch(3), Standin::new().fail_allocations_from(2)]
    {
        let run = on_gpu(&query, &standin, &[]);
        assert_eq!(run.stdout, expected, "{}", run.stderr);
    }
}

#[test]
fn the_plan_says_where_rows_are_put_together_and_why() {
    let explain = |verbs: &str| {
        let query = query(verbs);
        let arguments = ["explain", "--stage", "placed", "--device", "gpu", "--profile", "t4", "-e", &query];
        curator(&arguments, None).ok()
    };
    let device = explain(ON_DEVICE[0]);
    assert!(
        device.contains("DeviceExec: groups of") && device.contains("* count(") && device.contains("cpu ← gpu: groups"),
        "{device}"
    );
    for (verbs, why) in [
        ("AGGREGATE sum(alpha_ratio(text)) AS a", "aggregate: "),
        ("AGGREGATE avg(x * words(text)) AS a", "aggregate: "),
        ("AGGREGATE max(alpha_ratio(text)) AS a GROUP BY flag", "aggregate: "),
        ("AGGREGATE sum(words(text)) AS a GROUP BY text", "aggregate: "),
    ] {
        let cpu = explain(verbs);
        assert!(cpu.contains(why) && !cpu.contains("groups of"), "{verbs}: {cpu}");
    }
}
