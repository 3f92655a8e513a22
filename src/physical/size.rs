//! How many rows go to the device at once.
//!
//! A batch should be large enough that launching and the latency of copies are a small part of its time, and that every
//! warp of the device has a row; and small enough that those in flight fit into the memory of the device and of the host:
//!
//! ```text
//! wanted   max(rows that fill the device twice, rows for which fixed costs are 5 % of the time)
//! fits     memory of the device × its fraction / (batches in flight × bytes of a row on the device)
//! batch    min(wanted, fits, the host's share / (in flight × bytes of a row that are copied), the most that is allowed)
//! ```
//! Invariant: a batch has at least one row, and those in flight together stay below the budgets by these estimates.
//! Not here: what rows really need, which the layout of the first ones tells (`exec::Sizing`), and splitting a batch that
//! does not fit.

use crate::config::format_bytes;
use crate::cost::format_seconds;
use crate::exec::Sizing;
pub use crate::logical::Resources;

/// Fixed costs should be at most this part of a batch's time.
const FIXED_PART: f64 = 0.05;
/// Rows for each warp of the device: with one, the device idles while the longest document is worked on.
const ROWS_PER_WARP: f64 = 2.0;

/// What a batch may take.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// All memory of the device.
    pub device_bytes: u64,
    /// The part of it that queries may use.
    pub device_fraction: f64,
    /// Memory of the host for what is copied.
    pub host_bytes: u64,
    /// Batches on the device at a time: one is copied in, one computed, one copied back.
    pub in_flight: u32,
    /// The most bytes copied in at once.
    pub max_batch_bytes: u64,
    /// The most rows at once.
    pub max_batch_rows: u64,
    /// Rows that the device works on at a time.
    pub rows_at_once: u64,
}

impl Budget {
    /// For a device with so much memory that works on so many rows at a time, and so much memory of the host.
    pub fn new(device_bytes: u64, rows_at_once: u64, host_bytes: u64) -> Self {
        Self {
            device_bytes,
            device_fraction: 0.8,
            host_bytes,
            in_flight: 3,
            max_batch_bytes: 64_000_000,
            max_batch_rows: 1 << 20,
            rows_at_once,
        }
    }

    fn usable_bytes(&self) -> f64 {
        self.device_bytes as f64 * self.device_fraction
    }
}

/// What the rows of a segment need.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Load {
    /// All rows, in all batches.
    pub n_rows: f64,
    /// Copied in.
    pub in_bytes_per_row: f64,
    /// Copied back.
    pub out_bytes_per_row: f64,
    /// On the device: what is copied, what is computed, and what kernels need meanwhile.
    pub device_bytes_per_row: f64,
    /// Copying and computing.
    pub seconds_per_row: f64,
    /// Launches, and the latency of copies, for each batch.
    pub fixed_s: f64,
}

/// What set the size of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The whole input is one batch.
    Input,
    /// It fills the device.
    Fill,
    /// Fixed costs are a small part of its time.
    Amortized,
    /// The memory of the device.
    DeviceMemory,
    /// The host's share.
    HostMemory,
    /// The most bytes or rows that are allowed.
    Most,
    /// The query says so.
    Asked,
}

/// The size of a segment's batches, and what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Rows.
    pub rows: u64,
    /// Bytes copied in.
    pub in_bytes: u64,
    /// Bytes copied back.
    pub out_bytes: u64,
    /// Bytes on the device.
    pub device_bytes: u64,
    /// How many there are of the whole input.
    pub n_batches: u64,
    /// How many are on the device at a time.
    pub in_flight: u32,
    /// What set the size.
    pub limit: Limit,
}

impl Batch {
    /// The most memory of the device that is expected to be in use.
    pub fn peak_device_bytes(&self) -> u64 {
        u64::from(self.in_flight) * self.device_bytes
    }

    /// The most memory of the host that copies are expected to hold.
    pub fn peak_host_bytes(&self) -> u64 {
        u64::from(self.in_flight) * (self.in_bytes + self.out_bytes)
    }
}

/// Not even one row fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TooBig {
    /// What one row needs on the device.
    pub needed_bytes: u64,
    /// What there is.
    pub usable_bytes: u64,
}

/// The size of the batches of a segment that needs `load`.
pub fn batch(load: &Load, budget: &Budget, resources: &Resources) -> Result<Batch, TooBig> {
    let usable_bytes = usable(budget, resources);
    let row_bytes = load.device_bytes_per_row.max(1.0);
    if row_bytes > usable_bytes {
        return Err(TooBig { needed_bytes: row_bytes as u64, usable_bytes: usable_bytes as u64 });
    }
    // Fewer batches in flight rather than none.
    let fit_at_all = (usable_bytes / row_bytes).min(f64::from(u32::MAX)) as u32;
    let in_flight = resources.batches_on_device(budget.in_flight).min(fit_at_all).max(1);
    let flying = f64::from(in_flight);

    let in_bytes_per_row = load.in_bytes_per_row.max(1.0);
    let fill = ROWS_PER_WARP * budget.rows_at_once as f64;
    let amortized = (1.0 - FIXED_PART) / FIXED_PART * load.fixed_s / load.seconds_per_row.max(f64::MIN_POSITIVE);
    let mut choice = if amortized > fill { (amortized, Limit::Amortized) } else { (fill, Limit::Fill) };
    if let Some(rows) = resources.batch_size {
        choice = (rows as f64, Limit::Asked);
    }
    let copied_per_row = load.in_bytes_per_row + load.out_bytes_per_row;
    for bound in [
        (load.n_rows, Limit::Input),
        (usable_bytes / (flying * row_bytes), Limit::DeviceMemory),
        (budget.host_bytes as f64 / (flying * copied_per_row.max(1.0)), Limit::HostMemory),
        (budget.max_batch_bytes as f64 / in_bytes_per_row, Limit::Most),
        (budget.max_batch_rows as f64, Limit::Most),
    ] {
        if bound.0 < choice.0 {
            choice = bound;
        }
    }
    // What is wanted is rounded up, what is allowed is rounded down.
    let wanted = matches!(choice.1, Limit::Fill | Limit::Amortized | Limit::Input);
    let rows = (if wanted { choice.0.ceil() } else { choice.0.floor() }).max(1.0);
    Ok(Batch {
        rows: rows as u64,
        in_bytes: (rows * load.in_bytes_per_row).round() as u64,
        out_bytes: (rows * load.out_bytes_per_row).round() as u64,
        device_bytes: (rows * row_bytes).round() as u64,
        n_batches: (load.n_rows / rows).ceil().max(1.0) as u64,
        in_flight,
        limit: choice.1,
    })
}

/// The same bounds for rows whose width is not known yet; `batch` is the one for a typical width.
pub fn sizing(batch: &Batch, load: &Load, budget: &Budget, resources: &Resources) -> Sizing {
    let flying = f64::from(batch.in_flight);
    let amortized_rows = (1.0 - FIXED_PART) / FIXED_PART * load.fixed_s / load.seconds_per_row.max(f64::MIN_POSITIVE);
    Sizing {
        fill_rows: ROWS_PER_WARP * budget.rows_at_once as f64,
        amortized_bytes: amortized_rows * load.in_bytes_per_row,
        asked_rows: resources.batch_size,
        most_rows: budget.max_batch_rows,
        most_bytes: budget.max_batch_bytes,
        host_bytes: budget.host_bytes as f64 / flying,
        device_bytes: usable(budget, resources) / flying,
    }
}

fn usable(budget: &Budget, resources: &Resources) -> f64 {
    let declared = resources.gpu_memory_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
    budget.usable_bytes().min(declared)
}

/// The arithmetic of a batch, for `EXPLAIN`.
pub fn explain(batch: &Batch, load: &Load, budget: &Budget, resources: &Resources) -> Vec<String> {
    let why = match batch.limit {
        Limit::Input => "the whole input".to_string(),
        Limit::Fill => format!("{ROWS_PER_WARP} for each of the device's {} warps", budget.rows_at_once),
        Limit::Amortized => format!(
            "{} of launch and latency are {:.0} % of its time",
            format_seconds(load.fixed_s),
            100.0 * FIXED_PART
        ),
        Limit::DeviceMemory => "what fits the device".to_string(),
        Limit::HostMemory => format!("what fits {} of the host", format_bytes(budget.host_bytes as usize)),
        Limit::Most => "the most at once".to_string(),
        Limit::Asked => "as the query says".to_string(),
    };
    let per_byte = load.device_bytes_per_row.max(1.0) / load.in_bytes_per_row.max(1.0);
    let usable_bytes = usable(budget, resources);
    let memory = match resources.gpu_memory_bytes {
        Some(bytes) if (bytes as f64) < budget.usable_bytes() => format_bytes(bytes as usize),
        _ => format!("{} × {}", budget.device_fraction, format_bytes(budget.device_bytes as usize)),
    };
    let fits = usable_bytes / (f64::from(batch.in_flight) * per_byte);
    let bytes = |n: u64| format_bytes(n as usize);
    vec![
        format!("batch {}, {} rows: {why}", bytes(batch.in_bytes), batch.rows),
        format!(
            "fits {} = {memory} / ({} in flight × {per_byte:.1} B for a byte copied in), at most {}",
            bytes(fits as u64),
            batch.in_flight,
            bytes(budget.max_batch_bytes)
        ),
        format!("peak {} on the device, {} pinned", bytes(batch.peak_device_bytes()), bytes(batch.peak_host_bytes())),
    ]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A million documents of 2 kB that need 57 times their size on a device of 16 GB with 40 multiprocessors.
    fn load() -> Load {
        Load {
            n_rows: 1e6,
            in_bytes_per_row: 2_000.0,
            out_bytes_per_row: 13.0,
            device_bytes_per_row: 114_000.0,
            seconds_per_row: 4e-7,
            fixed_s: 19e-6,
        }
    }

    fn budget() -> Budget {
        Budget::new(16_000_000_000, 1_280, 1_000_000_000)
    }

    #[test]
    fn each_bound_sets_the_size_where_it_is_the_narrowest() {
        let none = Resources::default();
        let check = |load: Load, budget: Budget, resources: Resources, rows: u64, limit: Limit| {
            let batch = batch(&load, &budget, &resources).unwrap();
            assert_eq!((batch.rows, batch.limit), (rows, limit));
        };
        check(load(), budget(), none, 2_560, Limit::Fill);
        check(Load { n_rows: 99.0, ..load() }, budget(), none, 99, Limit::Input);
        check(Load { fixed_s: 1e-4, ..load() }, budget(), none, 4_750, Limit::Amortized);
        check(load(), Budget { device_bytes: 160_000_000, ..budget() }, none, 374, Limit::DeviceMemory);
        check(load(), Budget { host_bytes: 6_039_000, ..budget() }, none, 1_000, Limit::HostMemory);
        check(load(), Budget { max_batch_bytes: 1_000_000, ..budget() }, none, 500, Limit::Most);
        check(load(), budget(), Resources { batch_size: Some(64), ..none }, 64, Limit::Asked);
        check(load(), budget(), Resources { gpu_memory_bytes: Some(34_200_000), ..none }, 100, Limit::DeviceMemory);
    }

    #[test]
    fn a_share_of_a_device_is_the_number_of_batches_on_it() {
        let in_flight = |gpus: f64| {
            let resources = Resources { gpus: Some(gpus), ..Resources::default() };
            batch(&load(), &budget(), &resources).unwrap().in_flight
        };
        assert_eq!([in_flight(0.25), in_flight(0.5), in_flight(0.6), in_flight(2.0)], [3, 2, 1, 1]);
        let cpus = |cpus: f64| Resources { cpus: Some(cpus), ..Resources::default() }.batches_on_cpu(8);
        assert_eq!([cpus(1.0), cpus(3.0), cpus(0.5), cpus(100.0)], [8, 2, 8, 1]);
    }

    #[test]
    fn less_memory_means_fewer_batches_at_a_time_and_then_none() {
        let of = |device_bytes| batch(&load(), &Budget { device_bytes, ..budget() }, &Resources::default());
        let small = of(300_000).unwrap();
        assert_eq!((small.rows, small.in_flight), (1, 2));
        assert_eq!(of(100_000), Err(TooBig { needed_bytes: 114_000, usable_bytes: 80_000 }));
    }

    #[test]
    fn the_arithmetic_is_told() {
        let found = batch(&load(), &budget(), &Resources::default()).unwrap();
        insta::assert_snapshot!(explain(&found, &load(), &budget(), &Resources::default()).join("\n"), @r"
        batch 5.1 MB, 2560 rows: 2 for each of the device's 1280 warps
        fits 74.9 MB = 0.8 × 16.0 GB / (3 in flight × 57.0 B for a byte copied in), at most 64.0 MB
        peak 875.5 MB on the device, 15.5 MB pinned
        ");
    }

    proptest! {
        #[test]
        fn batches_in_flight_stay_below_the_budgets(
            device_bytes in 1u64..100_000_000_000,
            host_bytes in 1u64..10_000_000_000,
            in_bytes_per_row in 0.0..1e6f64,
            scratch in 0.0..1e7f64,
            n_rows in 0.0..1e9f64,
            batch_size in prop::option::of(1u64..1_000_000),
            gpus in prop::option::of(0.01..2.0f64),
        ) {
            let load = Load { n_rows, in_bytes_per_row, device_bytes_per_row: in_bytes_per_row + scratch, ..load() };
            let budget = Budget { device_bytes, host_bytes, ..budget() };
            let resources = Resources { batch_size, gpus, ..Resources::default() };
            let Ok(batch) = batch(&load, &budget, &resources) else {
                prop_assert!(load.device_bytes_per_row.max(1.0) > 0.8 * device_bytes as f64);
                return Ok(());
            };
            prop_assert!(batch.rows >= 1 && batch.in_flight >= 1 && batch.in_flight <= 3);
            prop_assert!(batch.peak_device_bytes() as f64 <= 0.8 * device_bytes as f64 + 3.0);
            prop_assert!(batch.rows == 1 || batch.peak_host_bytes() <= host_bytes + 6);
            prop_assert!(batch.n_batches as f64 * batch.rows as f64 >= n_rows);
        }
    }
}
