//! `DEDUP SEMANTIC` with devices: what its comparisons cost on either side, who may use a device when, and what is said
//! when one fails.
//!
//! Rows and the length of vectors are guesses; they decide who compares, never what comes out.
//! Not here: the decision (`physical::PlaceOperators`), the comparisons (`crate::dedup`, `crate::gpu`).

use super::Deduplication;
use super::work::{DedupCounts, DedupWork};
use crate::cost::{GpuWork, RowEstimate};
use crate::dedup::{Comparers, Method, Semantic, SemanticDedup};
use crate::exec::{Engine, RunLog, share_of_device};
use crate::gpu::{Bounds, ComparisonCounts, Device, GpuError};
use crate::logical::Resources;
use crate::{Error, Result};
use datafusion::physical_plan::{ExecutionPlan, StatisticsArgs, StatisticsContext};
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
    pub passed: RowEstimate,
    /// All of it on one core.
    pub cpu_ns: f64,
    /// The same on a device.
    pub on_gpu: GpuWork,
    /// Bytes of a vector.
    pub vector_bytes: f64,
}

impl Deduplication {
    /// What there is to compare of these rows; none if the method compares no vectors.
    pub fn comparisons(&self, rows: &dyn ExecutionPlan) -> Option<Comparisons> {
        let Method::Semantic(semantic) = &self.request.method else { return None };
        let known = StatisticsContext::new().compute(rows, &StatisticsArgs::new()).ok();
        let known = known.and_then(|statistics| statistics.num_rows.get_value().map(|n_rows| *n_rows as f64));
        let guessed = RowEstimate::guess(self.request.documents.map(|n_rows| n_rows as f64).or(known), None);
        let n_rows = guessed.n_rows.max(1.0);
        let k = (semantic.clusters as f64).clamp(1.0, n_rows);
        // Each row of the sample is read in each iteration; then all rows, to find their cluster, and again within it.
        let n_learned = n_rows.min(semantic.sample as f64) * semantic.iterations as f64;
        let n_products = (n_learned + n_rows) * k + n_rows * n_rows / k / 2.0;
        let n_passed = n_learned + 2.0 * n_rows;
        let vector_bytes = DIMENSION * size_of::<f32>() as f64;
        Some(Comparisons {
            label: format!("comparisons of {n_rows:.0} vectors, {DIMENSION:.0} numbers each (estimated)"),
            passed: RowEstimate::guess(Some(n_passed), None),
            cpu_ns: n_products * DIMENSION * CPU_NS,
            on_gpu: GpuWork {
                instructions_per_row: n_products / n_passed * DIMENSION * GPU_INSTRUCTIONS,
                memory_bytes_per_row: vector_bytes,
                ..GpuWork::default()
            },
            vector_bytes,
        })
    }

    /// The same with a line for EXPLAIN that says where its comparisons run, and why.
    pub fn with_placement(self, line: String) -> Self {
        Self { placement: Some(line), ..self }
    }

    /// The same with devices that compare; `None` if they are in another machine. `require`: the run insists on them.
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

    /// `dedup` on all of the devices.
    pub fn give_to(&self, dedup: SemanticDedup, semantic: &Semantic, work: &DedupWork) -> SemanticDedup {
        let Some(engine) = self.engine.clone() else { return dedup };
        let n_devices = engine.working().len();
        dedup.on_devices(Box::new(Comparing {
            require: self.require,
            gave_up: (0..engine.runtime().devices().len()).map(|_| AtomicBool::new(false)).collect(),
            bounds: bounds(semantic, n_devices),
            gpus: semantic.gpus,
            label: work.request.label.clone(),
            log: work.log.clone(),
            counts: work.counts.clone(),
            was_full: AtomicBool::new(false),
            engine,
        }))
    }
}

/// What the launches of one device may take: the share of a device decides how many are under way, and the memory that
/// is set aside is for all of them.
fn bounds(semantic: &Semantic, n_devices: usize) -> Bounds {
    let resources = Resources { gpus: semantic.gpus, ..Resources::default() };
    let most_bytes = semantic.gpu_memory_bytes.map(|bytes| bytes as usize / n_devices.max(1));
    let n_launches = resources.batches_on_device(Bounds::default().n_launches as u32) as usize;
    Bounds { n_launches, most_bytes }
}

/// The devices, for one deduplication.
struct Comparing {
    engine: Arc<Engine>,
    require: bool,
    /// Devices that do not take the kernels; they are left to others.
    gave_up: Vec<AtomicBool>,
    bounds: Bounds,
    gpus: Option<f64>,
    label: String,
    log: Option<Arc<RunLog>>,
    counts: DedupCounts,
    was_full: AtomicBool,
}

impl Comparers for Comparing {
    fn working(&self) -> Vec<(usize, Arc<Device>)> {
        let takes = |place: usize| !self.gave_up[place].load(Relaxed);
        self.engine
            .working()
            .into_iter()
            .filter(|seat| takes(seat.place))
            .map(|seat| (seat.place, seat.device))
            .collect()
    }

    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn enter(&self, place: usize, n_launches: usize) -> Box<dyn Send> {
        let share = share_of_device(self.gpus, n_launches);
        Box::new(self.engine.door(place).map(|door| Arc::clone(door).enter_blocking(share)))
    }

    fn failed(&self, place: usize, error: &GpuError) -> Result<()> {
        if self.require {
            return Err(Error::Device(format!("GPU {place} failed: {error}")));
        }
        let is_first = match error {
            // There may be room again the next time.
            GpuError::OutOfMemory { .. } => !self.was_full.swap(true, Relaxed),
            GpuError::Compile(_) | GpuError::Refused(_) => !self.gave_up[place].swap(true, Relaxed),
            _ => self.engine.lose(place),
        };
        if !is_first {
            return Ok(());
        }
        let message = match error {
            GpuError::OutOfMemory { .. } => format!("{}: {error}\nwhat has no room runs on the CPU", self.label),
            _ => {
                let elsewhere = if self.working().is_empty() { "the CPU" } else { "the other GPUs" };
                format!("GPU {place} failed: {error}\nwhat was to run on it runs on {elsewhere} from here on")
            }
        };
        tracing::warn!("{message}");
        if let Some(log) = &self.log {
            log.note(message);
        }
        Ok(())
    }

    fn compared(&self, counts: ComparisonCounts) {
        let ComparisonCounts { products, launches, bytes_in, bytes_out } = counts;
        let sums = [products, launches, bytes_in, bytes_out];
        self.counts.on_devices.iter().zip(sums).for_each(|(count, more)| count.add(more as usize));
    }
}
