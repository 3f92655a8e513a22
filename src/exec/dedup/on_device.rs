//! `DEDUP SEMANTIC` with a device: what its comparisons cost on either side, and what is said when the device fails.
//!
//! Rows and the length of vectors are guesses; they decide who compares, never what comes out.
//! Not here: the decision (`physical::fuse`), the comparisons (`crate::dedup`, `crate::gpu`).

use super::DedupExec;
use super::work::Work;
use crate::cost::{GpuWork, Rows};
use crate::dedup::{Method, SemanticDedup};
use crate::exec::Engine;
use crate::gpu::GpuError;
use crate::{Error, Result};
use datafusion::physical_plan::{StatisticsArgs, StatisticsContext};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The length of vectors of which nothing is known: that of small embedding models.
const DIMENSION: f64 = 384.0;
/// A product and its addition on one core. Measured on vectors of 384 numbers in the cache, with registers of four numbers.
const CPU_NS: f64 = 0.11;
/// The same on a device, in instructions of single threads. Counted by running the PTX of `run_nearest` over 320 vectors of
/// 64 numbers: 5.6 with 32 centres, 5.2 with 128.
const GPU_INSTRUCTIONS: f64 = 5.4;

/// The devices that compare, and what a failure means.
#[derive(Debug, Clone)]
pub(super) struct OnDevice {
    /// `None`: the plan is for other hardware, and is only shown.
    pub engine: Option<Arc<Engine>>,
    /// The run insists on a GPU.
    pub require: bool,
}

/// What the comparisons of a semantic deduplication are thought to cost, at most: k-means may end early.
#[derive(Debug, Clone)]
pub struct Comparisons {
    /// As a user would say it.
    pub label: String,
    /// How many vectors go over: each once for every pass that it is in.
    pub passed: Rows,
    /// All of it on one core.
    pub cpu_ns: f64,
    /// The same on a device.
    pub on_gpu: GpuWork,
    /// Bytes of a vector.
    pub vector_bytes: f64,
}

impl DedupExec {
    /// What there is to compare; none if the method compares no vectors.
    pub fn comparisons(&self) -> Option<Comparisons> {
        let Method::Semantic(semantic) = &self.request.method else { return None };
        let known = StatisticsContext::new().compute(self.input.as_ref(), &StatisticsArgs::new()).ok();
        let known = known.and_then(|statistics| statistics.num_rows.get_value().map(|n_rows| *n_rows as f64));
        let rows = Rows::guess(self.request.documents.map(|n_rows| n_rows as f64).or(known), None);
        let n_rows = rows.n_rows.max(1.0);
        let k = (semantic.clusters as f64).clamp(1.0, n_rows);
        // Each row of the sample is read in each iteration; then all rows, to find their cluster, and again within it.
        let n_learned = n_rows.min(semantic.sample as f64) * semantic.iterations as f64;
        let n_products = (n_learned + n_rows) * k + n_rows * n_rows / k / 2.0;
        let n_passed = n_learned + 2.0 * n_rows;
        let vector_bytes = DIMENSION * size_of::<f32>() as f64;
        Some(Comparisons {
            label: format!("comparisons of {n_rows:.0} vectors, {DIMENSION:.0} numbers each (estimated)"),
            passed: Rows::guess(Some(n_passed), None),
            cpu_ns: n_products * DIMENSION * CPU_NS,
            on_gpu: GpuWork {
                instructions_per_row: n_products / n_passed * DIMENSION * GPU_INSTRUCTIONS,
                memory_bytes_per_row: vector_bytes,
                ..GpuWork::default()
            },
            vector_bytes,
        })
    }

    /// The node with a line for EXPLAIN that says where its comparisons run, and why.
    pub fn with_placement(self, line: String) -> Self {
        Self { placement: Some(line), ..self }
    }

    /// The node with devices that compare; `None` if they are in another machine. `require`: the run insists on them.
    pub fn with_engine(self, engine: Option<Arc<Engine>>, require: bool) -> Self {
        Self { on_device: Some(OnDevice { engine, require }), ..self }
    }
}

impl OnDevice {
    /// Whether it can run here at all.
    pub fn check(&self) -> Result<()> {
        match self.engine {
            Some(_) => Ok(()),
            None => Err(Error::Data(
                "this plan is for other hardware (`SET profile`): it can be shown, not run".to_string(),
            )),
        }
    }

    /// `dedup` on the first of the devices.
    pub fn give_to(&self, dedup: SemanticDedup, work: &Work) -> SemanticDedup {
        let device = self.engine.as_ref().and_then(|engine| engine.runtime().devices().first().cloned());
        let Some(device) = device else { return dedup };
        let (require, label, log) = (self.require, work.request.label.clone(), work.log.clone());
        let was_full = AtomicBool::new(false);
        let on_failure = move |error: &GpuError| {
            if require {
                return Err(Error::Device(format!("GPU 0 failed: {error}")));
            }
            let message = match error {
                // Said once, however often it happens.
                GpuError::OutOfMemory { .. } if was_full.swap(true, Relaxed) => return Ok(()),
                GpuError::OutOfMemory { .. } => format!("{label}: {error}\nwhat has no room runs on the CPU"),
                _ => format!("GPU 0 failed: {error}\nwhat was to run on it runs on the CPU from here on"),
            };
            tracing::warn!("{message}");
            if let Some(log) = &log {
                log.note(message);
            }
            Ok(())
        };
        dedup.on_device(device, Box::new(on_failure))
    }
}
