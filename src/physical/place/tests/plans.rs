//! Plans like those of real queries, on three machines.
//!
//! Each answer is one glyph an item: `*` on the GPU, `$` could but costs more, `!` cannot, `c` asked for on the CPU.

use super::super::answer::PlacedItem;
use super::super::*;
use crate::cost::{GpuWork, Profile, Reason, ReasonCode, RowEstimate, TEXT_BYTES_PER_ROW, gpu_seconds};
use crate::ops::{Cost, PassStage};
use crate::physical::size::Resources;

/// A chain of items over documents, made for the machine of a profile.
struct Plan {
    profile: Profile,
    problem: Problem,
    rows: RowEstimate,
    text: usize,
}

const PROFILES: [&str; 3] = ["t4", "a100-40gb", "h100-sxm"];

impl Plan {
    fn new(profile: &str, n_rows: f64, text_bytes_per_row: f64) -> Self {
        let text = Column { label: "text".into(), bytes_per_row: text_bytes_per_row + 4.0, is_output: true };
        Self {
            profile: Profile::find(profile).unwrap(),
            problem: Problem { columns: vec![text], items: vec![] },
            rows: RowEstimate { n_rows, text_bytes_per_row, n_rules: 0 },
            text: 0,
        }
    }

    fn push(
        &mut self,
        label: &str,
        reads: Vec<usize>,
        made: Option<(f64, bool)>,
        cost: Cost,
        gpu: Result<GpuWork, Reason>,
    ) {
        let seconds =
            |work: GpuWork| self.profile.device.as_ref().map_or(0.0, |device| gpu_seconds(device, &work, &self.rows));
        let makes = made.map(|(bytes_per_row, is_output)| {
            self.problem.columns.push(Column { label: label.to_string(), bytes_per_row, is_output });
            self.problem.columns.len() - 1
        });
        self.problem.items.push(Item {
            label: label.to_string(),
            inputs: self.problem.items.len().checked_sub(1).into_iter().collect(),
            reads,
            makes: makes.into_iter().collect(),
            rows_in: self.rows.n_rows,
            drops_rows: made.is_none(),
            cpu_seconds: self
                .profile
                .cpu
                .seconds(cost.ns_per_row * self.rows.n_rows + cost.ns_per_byte * self.rows.text_bytes()),
            gpu: gpu.map(|work| OnGpu {
                seconds: seconds(work),
                scratch_bytes_per_row: (work.memory_bytes_per_byte - 1.0).max(0.0) / 3.0 * self.rows.text_bytes_per_row,
            }),
            forced: None,
            resources: Resources::default(),
        });
    }

    /// A walk over the text that gives one number a row.
    fn walk(self, label: &str, stage: PassStage) -> Self {
        let ns_per_byte = match stage {
            PassStage::Scan => 0.8,
            PassStage::Tables => 2.5,
            PassStage::Grams => 10.0,
        };
        self.walk_at(label, stage, ns_per_byte)
    }

    fn walk_at(mut self, label: &str, stage: PassStage, ns_per_byte: f64) -> Self {
        let scratch = match stage {
            PassStage::Scan => 0.0,
            PassStage::Tables => 8.0,
            PassStage::Grams => 24.0,
        };
        let cost = Cost { ns_per_byte, ns_per_row: 100.0 };
        let text = self.text;
        self.push(label, vec![text], Some((9.0, false)), cost, Ok(GpuWork::walk(Some(stage), 0.0, scratch)));
        self
    }

    /// A rule over the number that was made last.
    fn rule(mut self, label: &str) -> Self {
        let last = self.problem.columns.len() - 1;
        let cost = Cost { ns_per_byte: 0.0, ns_per_row: 2.0 };
        self.push(label, vec![last], None, cost, Ok(GpuWork::of_numbers(1)));
        self.rows = self.rows.after_rule();
        self
    }

    /// A number that only the CPU computes.
    fn cpu_only(mut self, label: &str, ns_per_byte: f64) -> Self {
        let refused = Err(Reason::new(ReasonCode::NoKernel, "compression stays on the CPU"));
        let text = self.text;
        self.push(label, vec![text], Some((9.0, false)), Cost { ns_per_byte, ns_per_row: 100.0 }, refused);
        self
    }

    /// A new text that only the CPU makes.
    fn rewritten(mut self, label: &str) -> Self {
        let refused = Err(Reason::from(ReasonCode::NoKernel));
        let (text, bytes) = (self.text, self.problem.columns[self.text].bytes_per_row);
        self.push(label, vec![text], Some((bytes, true)), Cost { ns_per_byte: 2.0, ns_per_row: 100.0 }, refused);
        self.text = self.problem.columns.len() - 1;
        self
    }

    /// The output has the number that was made last.
    fn output(mut self) -> Self {
        self.problem.columns.last_mut().unwrap().is_output = true;
        self
    }

    /// The side that the query asks for, for the last item.
    fn forced(mut self, side: Side) -> Self {
        self.problem.items.last_mut().unwrap().forced = Some(side);
        self
    }

    fn machine(&self) -> Machine {
        Machine::new(&self.profile, 4_000_000_000)
    }
}

fn glyphs(problem: &Problem, machine: &Machine) -> String {
    let placement = place(problem, machine).unwrap();
    let glyph = |(item, placed): (&Item, &PlacedItem)| match item_line(item, placed).chars().next() {
        Some(' ') => 'c',
        glyph => glyph.unwrap(),
    };
    problem.items.iter().zip(&placement.items).map(glyph).collect()
}

/// The lines of a whole placement: the items with the copies between them, and batches.
fn explain(problem: &Problem, placement: &Placement, machine: &Machine) -> String {
    let mut lines = vec![];
    for (index, placed) in placement.items.iter().enumerate() {
        let segment = placed.segment.and_then(|number| placement.segments.get(number).map(|s| (number, s)));
        if let Some((number, segment)) = segment.filter(|(_, segment)| segment.items.first() == Some(&index)) {
            lines.extend(segment_lines(number, segment, problem, machine));
        }
        lines.push(item_line(&problem.items[index], placed));
        if let Some((_, segment)) = segment.filter(|(_, segment)| segment.items.last() == Some(&index)) {
            lines.extend(copy_back_line(segment, problem));
        }
    }
    lines.join("\n")
}

/// The answers on the three machines.
fn check(make: impl Fn(&str) -> Plan, expected: [&str; 3]) {
    let found = PROFILES.map(|name| {
        let plan = make(name);
        glyphs(&plan.problem, &plan.machine())
    });
    assert_eq!(found, expected);
}

const MANY: f64 = 1_000_000.0;

fn web(profile: &str) -> Plan {
    Plan::new(profile, MANY, TEXT_BYTES_PER_ROW)
}

#[test]
fn a_count_that_the_cpu_takes_in_passing_is_not_worth_the_copy() {
    check(
        |name| web(name).walk_at("newlines(text)", PassStage::Scan, 0.05).rule("newlines(text) < 9"),
        ["$$", "$$", "$$"],
    );
    let plan = web("h100").walk_at("newlines(text)", PassStage::Scan, 0.05);
    let placement = place(&plan.problem, &plan.machine()).unwrap();
    assert_eq!(placement.items[0].reason.to_string(), "costs-more: its kernel takes 48.6 ms");
    assert!(placement.items[0].total_if_other_s.unwrap() > placement.total_s);
}

#[test]
fn a_walk_for_words_goes_where_the_device_is_fast_for_its_processor() {
    check(|name| web(name).walk_at("words(text)", PassStage::Scan, 0.47).rule("words(text) >= 50"), ["$$", "**", "$$"]);
    let plan = web("h100").walk_at("words(text)", PassStage::Scan, 0.47).output();
    let placement = place(&plan.problem, &plan.machine()).unwrap();
    assert_eq!(placement.items[0].reason.to_string(), "transfer: copying 2.0 GB takes 39.0 ms");
}

#[test]
fn tables_of_ngrams_are_worth_the_copy_everywhere() {
    check(|name| web(name).walk("top_ngram_char_ratio(text)", PassStage::Grams).rule("… < 0.2"), ["**", "**", "**"]);
}

#[test]
fn a_long_chain_goes_to_the_gpu_as_one_segment() {
    let chain = |name: &str| {
        web(name)
            .walk("words(text)", PassStage::Scan)
            .rule("words(text) >= 50")
            .walk("duplicate_line_ratio(text)", PassStage::Tables)
            .rule("duplicate_line_ratio(text) < 0.3")
            .walk("top_ngram_char_ratio(text)", PassStage::Grams)
            .rule("top_ngram_char_ratio(text) < 0.2")
    };
    check(chain, ["******", "******", "******"]);
    let plan = chain("t4");
    let placement = place(&plan.problem, &plan.machine()).unwrap();
    assert_eq!(placement.segments.len(), 1);
    assert!(placement.segments[0].copied_back.is_empty() && placement.segments[0].drops_rows);
}

#[test]
fn a_function_of_the_cpu_in_the_middle_splits_the_chain() {
    let chain = |name: &str, last: PassStage, ns_per_byte: f64| {
        web(name)
            .walk("top_ngram_char_ratio(text)", PassStage::Grams)
            .rule("top_ngram_char_ratio(text) < 0.2")
            .cpu_only("compression_ratio(text)", 60.0)
            .rule("compression_ratio(text) > 0.2")
            .walk_at("last(text)", last, ns_per_byte)
            .rule("last(text) > 0")
    };
    check(|name| chain(name, PassStage::Grams, 10.0), ["**!$**", "**!$**", "**!$**"]);
    // What comes after it is cheap: it does not go back to the device.
    check(|name| chain(name, PassStage::Scan, 0.05), ["**!$$$", "**!$$$", "**!$$$"]);
}

#[test]
fn a_cheap_rule_that_halves_the_rows_stays_before_the_copy() {
    check(
        |name| {
            web(name)
                .walk_at("newlines(text)", PassStage::Scan, 0.05)
                .rule("newlines(text) < 9")
                .walk("unique_word_ratio(text)", PassStage::Grams)
                .rule("unique_word_ratio(text) > 0.1")
        },
        ["$$**", "$$**", "$$**"],
    );
    // A walk that is not worth the copy alone goes along where the text is there already.
    check(
        |name| {
            web(name)
                .walk("unique_word_ratio(text)", PassStage::Grams)
                .rule("unique_word_ratio(text) > 0.1")
                .walk_at("words(text)", PassStage::Scan, 0.47)
                .rule("words(text) >= 50")
        },
        ["****", "****", "****"],
    );
}

#[test]
fn too_few_rows_do_not_fill_a_device() {
    let of = |name: &str, n_rows: f64, bytes: f64| {
        Plan::new(name, n_rows, bytes).walk("unique_word_ratio(text)", PassStage::Grams).rule("… > 0.1")
    };
    check(|name| of(name, 1.0, 1e6), ["$$", "$$", "$$"]);
    check(|name| of(name, 20.0, 2e3), ["$$", "$$", "$$"]);
    check(|name| of(name, 2_000.0, 2e3), ["**", "**", "**"]);
    let plan = of("a100-40gb", 1.0, 1e6);
    assert_eq!(
        place(&plan.problem, &plan.machine()).unwrap().items[0].reason.to_string(),
        "costs-more: its kernel takes 85.1 ms: too few rows to fill the device"
    );
}

#[test]
fn very_short_documents() {
    check(
        |name| Plan::new(name, 20.0 * MANY, 20.0).walk("words(text)", PassStage::Scan).rule("words(text) > 2"),
        ["**", "**", "**"],
    );
}

#[test]
fn a_text_that_the_cpu_rewrites_is_copied_after_that() {
    let plan =
        |name: &str| web(name).rewritten("fix_unicode(text)").walk("words(text)", PassStage::Grams).rule("… > 9");
    check(plan, ["!**", "!**", "!**"]);
    let plan = plan("l4");
    let placement = place(&plan.problem, &plan.machine()).unwrap();
    assert_eq!(placement.segments[0].copied_in, [1]);
}

#[test]
fn sides_that_the_query_asks_for_are_respected() {
    let cheap = |name: &str| web(name).walk_at("newlines(text)", PassStage::Scan, 0.05);
    check(|name| cheap(name).forced(Side::Gpu).rule("r"), ["**", "**", "**"]);
    let expensive = |name: &str| web(name).walk("unique_word_ratio(text)", PassStage::Grams);
    check(|name| expensive(name).forced(Side::Cpu).rule("r"), ["c$", "c$", "c$"]);
    // What cannot run there says so, and does not keep others from it.
    check(
        |name| expensive(name).rule("r").cpu_only("compression_ratio(text)", 60.0).forced(Side::Gpu),
        ["**!", "**!", "**!"],
    );
    let plan = cheap("t4").forced(Side::Gpu);
    let placement = place(&plan.problem, &plan.machine()).unwrap();
    assert_eq!(placement.items[0].reason.code, ReasonCode::Forced);
    assert_eq!(placement.items[0].total_if_other_s, None);
}

#[test]
fn a_device_that_is_too_small_is_left_alone() {
    let plan = web("h100").walk("unique_word_ratio(text)", PassStage::Grams).forced(Side::Gpu).rule("… > 0.1");
    let mut machine = plan.machine();
    machine.budget.device_bytes = 50_000;
    let placement = place(&plan.problem, &machine).unwrap();
    let reason = placement.items[0].reason.to_string();
    assert_eq!(reason, "too-big: a row needs 50.0 kB, the device has 40.0 kB");
    // With little memory there are more batches, and fewer of them at a time.
    machine.budget.device_bytes = 100_000;
    let batch = place(&plan.problem, &machine).unwrap().segments[0].costs.batch.clone();
    assert_eq!((batch.rows, batch.in_flight), (1, 1));
    assert!(batch.peak_device_bytes() <= 80_000);
}

#[test]
fn without_a_gpu_everything_stays_and_says_so() {
    let plan = web("reference-cpu")
        .walk("unique_word_ratio(text)", PassStage::Grams)
        .cpu_only("compression_ratio(text)", 60.0);
    let placement = place(&plan.problem, &plan.machine()).unwrap();
    let codes: Vec<&str> = placement.items.iter().map(|item| item.reason.code.as_str()).collect();
    assert_eq!(codes, ["no-gpu", "no-kernel"]);
    assert!((placement.total_s - placement.cpu_only_s).abs() < 1e-9);
}

#[test]
fn rows_of_two_inputs_meet_on_the_cpu() {
    check(
        |name| {
            let mut plan = web(name)
                .walk("unique_word_ratio(text)", PassStage::Grams)
                .walk("duplicate_line_ratio(text)", PassStage::Grams);
            plan.problem.items[1].inputs.clear();
            let mut plan = plan.rule("a join").walk("top_ngram_char_ratio(text)", PassStage::Grams);
            plan.problem.items[2].inputs = vec![0, 1];
            plan
        },
        ["**!*", "**!*", "**!*"],
    );
}

#[test]
fn kernels_that_are_launched_alone_cost_more_launches() {
    let plan = web("a100-40gb")
        .walk("words(text)", PassStage::Scan)
        .rule("r")
        .walk("unique_word_ratio(text)", PassStage::Grams)
        .output();
    let mut machine = plan.machine();
    let fused = place(&plan.problem, &machine).unwrap();
    machine.fused = false;
    let alone = place(&plan.problem, &machine).unwrap();
    let launch_s = |placement: &Placement| {
        placement.segments[0].costs.launch_s / placement.segments[0].costs.batch.n_batches as f64
    };
    assert!((launch_s(&alone) / launch_s(&fused) - 3.0).abs() < 1e-9);
    assert_eq!(fused.segments[0].copied_back, [2]);
}

#[test]
fn the_placement_is_told_with_times_copies_and_batches() {
    let plan = web("a100-40gb")
        .walk("pass over text (n-grams): top_ngram_char_ratio(text)", PassStage::Grams)
        .rule("top_ngram_char_ratio(text) < 0.2")
        .cpu_only("compression_ratio(text)", 60.0)
        .rule("compression_ratio(text) > 0.2")
        .walk_at("newlines(text)", PassStage::Scan, 0.05)
        .output();
    let placement = place(&plan.problem, &plan.machine()).unwrap();
    insta::assert_snapshot!(explain(&plan.problem, &placement, &plan.machine()), @r"
    gpu segment 1: 2 operators in one kernel, 280 ms = in 80.4 ms, launch 365 µs, compute 198 ms, out 670 µs
      batch 27.7 MB, 13824 rows: 2 for each of the device's 6912 warps
      fits 453.1 MB = 0.8 × 42.4 GB / (3 in flight × 25.0 B for a byte copied in), at most 64.0 MB
      peak 2.1 GB on the device, 83.3 MB pinned
      ToBackend gpu ← cpu: text  2.0 GB in 73 batches, 80.4 ms
    * pass over text (n-grams): top_ngram_char_ratio(text)   gpu 198 ms  cpu 3.4 s  cheaper: saves 3.1 s
    * top_ngram_char_ratio(text) < 0.2   gpu 52.5 µs  cpu 333 µs  cheaper: saves 480 µs
      ToBackend cpu ← gpu: which rows  4.0 MB in 73 batches, 670 µs
    ! compression_ratio(text)   cpu 10.0 s  no-kernel: compression stays on the CPU
    $ compression_ratio(text) > 0.2   cpu 167 µs  gpu 26.3 µs  transfer: copying 6.5 MB takes 273 µs
    $ newlines(text)   cpu 11.8 ms  gpu 29.5 ms  costs-more: its kernel takes 29.5 ms
    ");
}
