//! What goes wrong around a run: what was readable is delivered, what was not is named, and the run ends as it should.

use super::cli::Folder;
use std::fmt::Write as _;

fn documents(n_rows: usize) -> String {
    let mut text = String::new();
    for id in 0..n_rows {
        let key = (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let _ = writeln!(text, "{{\"id\":{id},\"key\":{key},\"text\":\"{}\"}}", "word ".repeat(200));
    }
    text
}

#[test]
fn more_rejects_than_are_allowed_fail_the_run_and_change_nothing() {
    let folder = Folder::new();
    folder.write("bad.jsonl", "{\"id\":1}\nnonsense\n{\"id\":2}\n[3]\n");
    let query = "FROM 'bad.jsonl' |> INTO 'out.jsonl' WITH (overwrite = true)";
    for most in ["1", "0", "49%"] {
        let told = folder.run(&["query", "-e", query, "--max-rejects", most]).wrong();
        assert!(told.contains("max_rejects"), "{told}");
        assert!(!folder.path().join("out.jsonl").exists());
    }
    for most in ["2", "50%"] {
        folder.run(&["query", "-e", query, "--max-rejects", most]).ok();
        assert_eq!(folder.read("out.jsonl").lines().count(), 2);
    }
    let told = folder.run(&["query", "-e", "SET max_rejects = 'few'; FROM 'bad.jsonl'"]).wrong();
    assert!(told.contains("neither a number nor a share"), "{told}");
}

#[test]
fn temporary_files_go_where_they_are_told_and_take_no_more_than_they_may() {
    let folder = Folder::new();
    folder.write("docs.jsonl", &documents(20_000));
    std::fs::create_dir(folder.path().join("temp")).unwrap();
    let sort = "FROM 'docs.jsonl' |> ORDER BY key |> SELECT id |> INTO 'out.jsonl' WITH (overwrite = true)";
    let with =
        |more: &[&str]| folder.run(&[&["query", "-e", sort, "--memory", "8MB", "--threads", "2"][..], more].concat());
    let told = with(&["--temp-dir", "nowhere"]).wrong();
    assert!(told.contains("temp_dir: there is no folder 'nowhere'"), "{told}");
    let told = with(&["--temp-dir", "temp", "--temp-limit", "1MB"]).wrong();
    assert!(told.contains("temp_limit"), "{told}");
    assert!(!folder.path().join("out.jsonl").exists());
    with(&["--temp-dir", "temp", "--temp-limit", "1GB"]).ok();
    let count = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap().lines().count();
    assert_eq!(count, 20_000);
    assert_eq!(std::fs::read_dir(folder.path().join("temp")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn results_as_large_as_a_number_says_have_a_bound() {
    let folder = Folder::new();
    for call in [
        "repeat('x', 2000000000)",
        "lpad('x', 2000000000)",
        "rpad('x', 2000000000, 'ab')",
        "range(0, 1000000000)",
        "array_repeat(1, 1000000000)",
    ] {
        let told = folder.run(&["query", "--sql", "-e", &format!("SELECT {call}")]).wrong();
        assert!(told.contains("the most is 1.1 GB"), "{call}: {told}");
    }
    let lengths = "SELECT length(repeat('ab', 3)), length(lpad('x', 5)), array_length(range(2, 9, 2)), repeat('x', -1)";
    let rows = folder.run(&["query", "--sql", "-e", lengths, "--output-format", "csv"]).ok();
    assert!(rows.ends_with("6,5,4,\"\"\n"), "{rows}");
    let many = "FROM 'x.jsonl' |> SELECT length(repeat(text, id * 100000000)) AS n";
    let told = folder.run(&["query", "-e", many]).wrong();
    assert!(told.contains("repeat: its results for 4 rows would take"), "{told}");
}

#[test]
fn a_full_disk_ends_the_run_with_its_name() {
    let folder = Folder::new();
    let told = folder.run(&["query", "-e", "FROM 'x.jsonl' |> INTO '/dev/full' WITH (format = 'jsonl')"]).wrong();
    assert!(told.contains("/dev/full") && told.contains("No space left on device"), "{told}");
}

#[test]
fn a_join_of_sides_larger_than_memory_gives_the_rows_of_one_in_memory() {
    let folder = Folder::new();
    folder.write("a.jsonl", &documents(8000));
    let join = "FROM 'a.jsonl' AS a |> JOIN 'a.jsonl' AS b ON a.key = b.key |> SELECT a.id, b.text \
                |> INTO 'out.jsonl' WITH (overwrite = true)";
    let joined = |memory: &str| {
        folder.run(&["query", "-e", join, "--threads", "2", "--memory", memory]).ok();
        std::fs::read(folder.path().join("out.jsonl")).unwrap()
    };
    let expected = joined("4GB");
    assert!(expected.len() > 8_000_000);
    assert!(joined("12MB") == expected);
}
