//! `WITH (gpus = …)`: never more than the declared share of a device is in flight; partitions use all devices.

use super::documents;
use super::standin::Standin;
use super::{on_cpu, on_gpu};

fn query(hint: &str) -> String {
    let file = documents::short_file().to_string_lossy().into_owned();
    format!(
        "FROM '{file}' |> UNION ALL '{file}', '{file}', '{file}' \
         |> WHERE words(text) > 3 {hint} |> SELECT id, alpha_ratio(text) AS alpha {hint}"
    )
}

/// Fused, a batch is one launch; by the kernels that came compiled, one for each step.
fn launches_of_one_batch() -> u64 {
    let file = documents::short_file().to_string_lossy().into_owned();
    let hint = "ON GPU WITH (gpus = 1.0, batch_size = 16)";
    let query =
        format!("FROM '{file}' |> WHERE words(text) > 3 {hint} |> SELECT id, alpha_ratio(text) AS alpha {hint}");
    let standin = Standin::new();
    on_gpu(&query, &standin, &["--threads", "1"]).ok();
    standin.counters().most_launches_in_flight
}

#[test]
fn batches_in_flight_never_hold_more_than_their_share() {
    let expected = on_cpu(&query(""), &["--threads", "1"]);
    let n_per_batch = launches_of_one_batch();
    for (share, most) in [("1.0", 1), ("0.5", 2), ("0.25", 4)] {
        let standin = Standin::new().devices(2);
        let hint = format!("ON GPU WITH (gpus = {share}, batch_size = 16)");
        let rows = on_gpu(&query(&hint), &standin, &["--threads", "4"]).ok();
        assert!(rows == expected, "gpus = {share}");
        for device in standin.counters_of_each() {
            assert!(device.launches > 0, "gpus = {share}: a device without work");
            let in_flight = device.most_launches_in_flight.div_ceil(n_per_batch);
            assert!(in_flight <= most, "gpus = {share}: {in_flight} batches in flight");
        }
    }
}

#[test]
fn a_bound_on_device_memory_is_kept() {
    let expected = on_cpu(&query(""), &["--threads", "1"]);
    let standin = Standin::new();
    let bound = 2 << 20;
    let rows = on_gpu(&query("ON GPU WITH (gpu_memory = '2MiB')"), &standin, &["--threads", "4"]).ok();
    assert!(rows == expected);
    let tables = 1 << 20;
    assert!(standin.counters().peak_bytes <= bound + tables, "{}", standin.counters().peak_bytes);
}

#[test]
fn options_of_a_hint_are_checked() {
    let wrong = on_gpu(&query("ON GPU WITH (gpu = 0.5)"), &Standin::new(), &[]);
    assert_eq!(wrong.code, Some(1));
    assert!(
        wrong.stderr.contains("no option `gpu`") && wrong.stderr.contains("did you mean `gpus`"),
        "{}",
        wrong.stderr
    );
    let wrong = on_gpu(&query("ON GPU WITH (gpus = 2)"), &Standin::new(), &[]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("option `gpus`: `2` is not a number above 0 and up to 1"), "{}", wrong.stderr);
}

/// Two chains on one device, each of which wants all of it, and partitions whose rows are merged in order: a batch that
/// waits to be read must not hold what another needs.
#[test]
fn chains_that_want_the_whole_device_do_not_wait_for_each_other() {
    let file = documents::short_file().to_string_lossy().into_owned();
    let queries = [
        format!(
            "FROM '{file}' |> WHERE words(text) > 1 ON GPU WITH (gpus = 1, batch_size = 20) |> LIMIT 200 \
             |> WHERE chars(text) > 1 ON GPU WITH (gpus = 1, batch_size = 20) |> SELECT id"
        ),
        query("ON GPU WITH (gpus = 1, batch_size = 20)"),
    ];
    for query in queries {
        for threads in ["1", "2"] {
            assert!(on_gpu(&query, &Standin::new(), &["--threads", threads]).ok() == on_cpu(&query, &[]), "{query}");
        }
    }
}
