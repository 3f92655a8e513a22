//! `ASSERT`, `SPLIT` and `REPEAT` as users rely on them: what does not hold commits nothing, parts and copies depend on nothing else.

use super::cli::Folder;

const DOCS: usize = 3000;

fn folder() -> Folder {
    let folder = Folder::new();
    for (name, from) in [("docs-a.jsonl", 0), ("docs-b.jsonl", DOCS / 2)] {
        let line = |id: usize| {
            let source = if id.is_multiple_of(10) { "books" } else { "web" };
            format!("{{\"id\":{id},\"site\":\"s{}\",\"source\":\"{source}\",\"n\":{}}}\n", id % 200, id % 7)
        };
        let text: String = (from..from + DOCS / 2).map(line).collect();
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn query(folder: &Folder, settings: &[&str], text: &str) -> String {
    let mut args = vec!["query", "-q", "--output-format", "csv"];
    args.extend(settings);
    args.extend(["-e", text]);
    folder.run(&args).ok()
}

#[test]
fn an_assertion_that_fails_commits_nothing_and_tells_the_numbers() {
    let folder = folder();
    for (condition, told) in [
        ("count(*) < 3000", "ASSERT count(*) < 3000 does not hold: count(*) is 3000"),
        ("avg(n) > 5, count(*) > 0", "avg(n) is 2.998"),
        ("count(*) FILTER (WHERE n = 6) > 1000", "is 428"),
        ("count(DISTINCT site) = 199", "is 200"),
        ("max(n) < 3 OR min(n) > 0", "max(n) is 6, min(n) is 0"),
        ("sum(n) > sum(id)", "is 8994"),
        ("max(nothing) > 0", "null"),
        ("count(*) >= 1000 GROUP BY source", "for 1 of 2 groups: source = books: count(*) is 300"),
    ] {
        let rows = "FROM 'docs-*.jsonl' |> SELECT *, CAST(NULL AS BIGINT) AS nothing";
        for threads in ["1", "4"] {
            let text = format!("{rows} |> ASSERT {condition} |> INTO 'out/' WITH (rejects = 'rejects/')");
            let run = folder.run(&["query", "-q", "--threads", threads, "-e", &text]);
            assert_eq!(run.code, Some(1), "{condition}: {}", run.stderr);
            assert!(run.stderr.contains(told), "{condition}: {}", run.stderr);
            assert!(!folder.path().join("out").exists() && !folder.path().join("rejects").exists(), "{condition}");
        }
    }
}

#[test]
fn an_assertion_that_holds_changes_no_row() {
    let folder = folder();
    let all = query(&folder, &[], "FROM 'docs-*.jsonl'");
    let text = "FROM 'docs-*.jsonl' |> ASSERT count(*) = 3000, avg(n) BETWEEN 2 AND 4 |> ASSERT min(n) = 0 GROUP BY source, n > 3 OR n <= 3";
    for threads in ["1", "3"] {
        assert_eq!(query(&folder, &["--threads", threads], text), all);
    }
    assert_eq!(
        query(&folder, &[], "FROM 'docs-*.jsonl' |> WHERE n > 9 |> ASSERT count(*) = 0 |> SELECT id").trim(),
        "id"
    );
}

#[test]
fn equal_keys_stay_in_one_part_whatever_else_is_read_and_however() {
    let folder = folder();
    let split = "|> SPLIT BY site TO train 8, valid 1, test 1 SEED 3";
    let of_sites = format!("FROM 'docs-*.jsonl' {split} |> SELECT DISTINCT site, split |> ORDER BY site");
    let all = query(&folder, &[], &of_sites);
    assert_eq!(all.lines().count(), 201, "each site is in one part");
    let n_train = all.lines().filter(|line| line.ends_with(",train")).count();
    assert!((140..=180).contains(&n_train), "{n_train} of 200");
    assert_eq!(query(&folder, &["--threads", "1"], &of_sites.replace("docs-*.jsonl", "docs-b.jsonl")), all);
    let other = query(&folder, &[], &of_sites.replace("SEED 3", "SEED 4"));
    assert_ne!(other, all);
}

#[test]
fn rows_come_as_often_as_they_say_in_their_order() {
    let folder = folder();
    let text = "FROM 'docs-*.jsonl' |> REPEAT n - 4 AS copy |> SELECT id, copy";
    let run = folder.run(&["query", "-q", "-e", text]);
    assert!(run.code == Some(1) && run.stderr.contains("a number of times is 0 or more"), "{}", run.stderr);
    let text =
        "FROM 'docs-*.jsonl' |> REPEAT CASE WHEN n > 4 THEN n - 4 WHEN n > 0 THEN 0 END AS copy |> SELECT id, copy";
    let expected: String =
        (0..DOCS).flat_map(|id| (1..=(id % 7).saturating_sub(4)).map(move |copy| format!("{id},{copy}\n"))).collect();
    for settings in [["--threads", "1"], ["--threads", "4"]] {
        assert_eq!(query(&folder, &settings, text), format!("id,copy\n{expected}"));
    }
    let many = query(&folder, &[], "FROM 'docs-a.jsonl' |> REPEAT 1000 |> AGGREGATE count(*) AS n, sum(id) AS ids");
    assert_eq!(many.trim(), format!("n,ids\n1500000,{}", 1499 * 1500 / 2 * 1000));
}
