//! Devices that fail while a query runs, and machines that lack something.

use super::documents;
use super::standin::Standin;
use super::{curator, on_cpu, on_gpu};
use tempfile::TempDir;

fn query(file: &str) -> String {
    format!("FROM '{file}' |> WHERE words(text) > 3 |> SELECT id, alpha_ratio(text) AS alpha")
}

#[test]
fn a_device_that_fails_is_replaced_by_the_cpu_loudly() {
    let query = query(&documents::short_file().to_string_lossy());
    let expected = on_cpu(&query, &[]);
    for standin in [Standin::new().fail_launch(1), Standin::new().fail_copy(2)] {
        let run = on_gpu(&query, &standin, &[]);
        assert!(run.stdout == expected, "{}", run.stderr);
        assert!(run.stderr.contains("GPU 0 failed"), "{}", run.stderr);
        assert!(run.stderr.contains("runs on the CPU from here on"), "{}", run.stderr);
    }
    // At whatever call it is lost: while it is looked for, while a kernel is loaded, while a batch is under way.
    let mut n_said = 0;
    for n in (1..80).step_by(7) {
        let run = on_gpu(&query, &Standin::new().lose_device(n), &[]);
        assert!(run.stdout == expected, "lost at call {n}: {}", run.stderr);
        n_said += usize::from(run.stderr.contains("GPU 0 failed"));
    }
    assert!(n_said > 0);
}

#[test]
fn a_run_that_insists_on_a_gpu_stops_when_it_fails_and_leaves_no_half_output() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out.jsonl");
    let query = format!("{} |> INTO '{}'", query(&documents::short_file().to_string_lossy()), out.display());
    let run = on_gpu(&query, &Standin::new().fail_launch(1), &["--require", "gpu"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("GPU 0 failed"), "{}", run.stderr);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files are left");
}

#[test]
fn without_a_gpu_a_run_that_insists_on_one_says_why_there_is_none() {
    let query = query(&documents::short_file().to_string_lossy());
    let run = curator(&["query", "-e", &query, "--require", "gpu"], None);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("no GPU: no NVIDIA driver"), "{}", run.stderr);
    // Without insisting it simply runs.
    assert_eq!(curator(&["query", "-e", &query, "--device", "gpu"], None).code, Some(0));
}

#[test]
fn the_command_shows_what_devices_there_are() {
    let none = curator(&["gpu", "info"], None).ok();
    assert!(none.starts_with("no GPU: no NVIDIA driver"), "{none}");
    let two = curator(&["gpu", "info"], Some(&Standin::new().devices(2))).ok();
    assert!(two.contains("GPU 0: curator stand-in") && two.contains("GPU 1: curator stand-in"), "{two}");
    let json = curator(&["gpu", "info", "--json"], Some(&Standin::new().memory_bytes(64 << 20))).ok();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["devices"][0]["total_bytes"], 64 << 20);
}

#[test]
fn one_device_that_does_not_open_leaves_the_others() {
    let query = query(&documents::short_file().to_string_lossy());
    // The second device fails from its first call on.
    let standin = || Standin::new().devices(3).set("LOSE_DEVICE", "1+@1");
    let shown = curator(&["gpu", "info"], Some(&standin())).ok();
    assert!(shown.contains("GPU 0") && !shown.contains("GPU 1:") && shown.contains("GPU 2"), "{shown}");
    let standin = standin();
    let run = on_gpu(&query, &standin, &["--require", "gpu", "--threads", "4"]);
    assert!(run.stdout == on_cpu(&query, &[]), "{}", run.stderr);
    // All that were asked for must be there.
    let run = on_gpu(&format!("SET num_gpus = 3; {query}"), &standin, &["--require", "gpu"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

#[test]
fn a_compiler_that_is_named_must_be_there() {
    let query = query(&documents::short_file().to_string_lossy());
    let arguments = ["query", "--device", "gpu", "--nvrtc", "/no/libnvrtc.so", "-e", &query];
    let run = curator(&arguments, Some(&Standin::new()));
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("/no/libnvrtc.so"), "{}", run.stderr);
}

#[test]
fn kernels_that_the_driver_is_too_old_for_do_not_stop_a_query() {
    let query = query(&documents::short_file().to_string_lossy());
    let run = on_gpu(&query, &Standin::new().driver_version(12_000), &[]);
    assert!(run.stdout == on_cpu(&query, &[]), "{}", run.stderr);
}
