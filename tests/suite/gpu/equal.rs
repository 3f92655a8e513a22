//! Every operator that has a kernel gives on a device what it gives on the CPU: fused, and one by one.

use super::documents;
use super::standin::Standin;
use super::{assert_no_mistakes, curator, nvrtc, on_cpu, on_gpu};
use curator::ops::{Gpu, OpSpec, Registry};

/// Calls of an operator: with its defaults, and with the options of its examples.
fn calls(spec: &OpSpec) -> Vec<String> {
    let mut calls = vec![];
    if spec.options().iter().all(|option| option.default.is_some()) {
        calls.push(format!("{}(text)", spec.name));
    }
    let start = format!("{}('", spec.name);
    for example in spec.examples {
        let Some(rest) = example.call.strip_prefix(&start) else { continue };
        // The document ends at its quote; a doubled quote is one of the document's.
        let bytes = rest.as_bytes();
        let mut end = 0;
        while end < bytes.len() && (bytes[end] != b'\'' || bytes.get(end + 1) == Some(&b'\'')) {
            end += if bytes[end] == b'\'' { 2 } else { 1 };
        }
        let call = format!("{}(text{}", spec.name, &rest[end + 1..]);
        if call.matches(spec.name).count() == 1 && !call.contains("'zh'") && call.ends_with(')') {
            calls.push(call);
        }
    }
    calls.sort();
    calls.dedup();
    calls
}

fn all_calls() -> Vec<String> {
    let registry = Registry::builtin();
    let mut all = vec![];
    for spec in registry.iter().filter(|spec| matches!(spec.gpu, Gpu::Kernel(_))) {
        let calls = calls(spec);
        assert!(!calls.is_empty(), "{}: no call to test it with", spec.name);
        all.extend(calls);
    }
    assert!(all.len() > 100, "{} calls", all.len());
    all
}

/// Queries that compute all calls, some at a time.
fn queries(file: &str, calls: &[String], at_a_time: usize) -> String {
    let mut text = String::new();
    for calls in calls.chunks(at_a_time) {
        let columns: Vec<String> = calls.iter().enumerate().map(|(i, call)| format!("{call} AS c{i}")).collect();
        text.push_str(&format!("FROM '{file}' |> SELECT id, {};\n", columns.join(", ")));
    }
    text
}

#[track_caller]
fn assert_same(calls: &[String], at_a_time: usize, device: &str, cpu: &str) {
    if device == cpu {
        return;
    }
    let n_rows = cpu.lines().count() / calls.len().div_ceil(at_a_time);
    for (line, (ours, theirs)) in device.lines().zip(cpu.lines()).enumerate() {
        if ours != theirs {
            let about = calls.chunks(at_a_time).nth(line / n_rows).unwrap_or_default();
            panic!("{about:?}\ndevice {ours}\ncpu    {theirs}");
        }
    }
    panic!("device gives {} lines, the CPU {}", device.lines().count(), cpu.lines().count());
}

/// Runs a query without a compiler: the kernels that come with curator, one launch each.
fn on_committed(query: &str, standin: &Standin) -> String {
    let arguments = ["query", "--quiet", "--output-format", "json", "--device", "gpu", "--require", "gpu", "-e", query];
    curator(&arguments, Some(standin)).ok()
}

#[test]
fn fused_operators_equal_the_cpu() {
    if nvrtc().is_none() {
        return;
    }
    let calls = all_calls();
    let query = queries(&documents::file().to_string_lossy(), &calls, 8);
    let standin = Standin::new();
    let device = on_gpu(&query, &standin, &["--require", "gpu"]).ok();
    assert_same(&calls, 8, &device, &on_cpu(&query, &[]));
    assert_no_mistakes(&standin);
    assert!(standin.counters().launches >= calls.chunks(8).len() as u64);
}

#[test]
fn committed_kernels_equal_the_cpu() {
    let calls = all_calls();
    let query = queries(&documents::short_file().to_string_lossy(), &calls, 8);
    let standin = Standin::new();
    let device = on_committed(&query, &standin);
    assert_same(&calls, 8, &device, &on_cpu(&query, &[]));
    assert_no_mistakes(&standin);
    assert!(standin.counters().launches > calls.len() as u64 / 2, "{}", standin.counters().launches);
}

/// Where accents are dropped, the signs that stay are in canonical order.
#[test]
fn signs_in_any_order_give_the_cpus_shingles() {
    let calls = [
        "minhash(text, 16, 'words:1', 'datatrove')",
        "minhash(text, 16, 'chars:3', 'datatrove', hash => 'datatrove')",
        "minhash(text, 16, 'tokens:1', 'datatrove', hash => 'nemo')",
        "minhash_bands(text, 4, 2, shingle => 'words:1', normalize => 'datatrove')",
        "shingle_count(text, 'words:1', 'datatrove')",
        "shingle_count(text, 'chars:2', 'datatrove')",
    ];
    let calls = calls.map(str::to_string);
    let query = queries(&documents::signs_file().to_string_lossy(), &calls, 2);
    let (standin, cpu) = (Standin::new(), on_cpu(&query, &[]));
    assert_same(&calls, 2, &on_committed(&query, &standin), &cpu);
    assert_no_mistakes(&standin);
    if nvrtc().is_some() {
        assert_same(&calls, 2, &on_gpu(&query, &standin, &["--require", "gpu"]).ok(), &cpu);
        assert_no_mistakes(&standin);
    }
}
