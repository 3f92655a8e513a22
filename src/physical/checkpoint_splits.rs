//! `CheckpointSplits`: in a run that writes, what scans give is kept until the commit.

use crate::config::Checkpoint;
use crate::exec::{AnnotateExec, CheckpointExec, CheckpointedChain, DeviceExec, ModelExec, ToBackendExec};
use crate::sources::FileScanExec;
use crate::verb::{RowOrder, VerbExec};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions, displayable};
use std::sync::Arc;

/// Without being asked, the work of a run is kept if it reads as much as this.
const MANY_BYTES: u64 = 10_000_000_000;

/// The most units of a chain. Each has some files, and counters in memory.
const MAX_UNITS: usize = 4096;

/// Puts a checkpoint above each scan of several splits and what is done to each of its rows alone.
///
/// ```text
/// WriteExec: 'out/'                      WriteExec: 'out/'
///   DedupExec                              DedupExec
///     AnnotateExec: words(text) > 50  ⇒      CheckpointExec: kept in 58 units
///       FileScanExec: 'crawl/'                 AnnotateExec: words(text) > 50
///                                                FileScanExec: 'crawl/'
/// ```
/// Sound because the rows stay the same, in the same partitions and order. Last of all rules, so that the chain is what
/// will run. Refuses plans that write nothing, chains with a limit (they do not read all of their splits), sources of one
/// split, and aggregations on a device, whose results are not rows of a split.
#[derive(Debug)]
pub struct CheckpointSplits {
    /// When work is kept.
    pub when: Checkpoint,
}

impl PhysicalOptimizerRule for CheckpointSplits {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let writes = plan.downcast_ref::<VerbExec>().is_some_and(|verb| verb.operator().order() == RowOrder::Ends);
        let is_asked = match self.when {
            Checkpoint::On => true,
            Checkpoint::Off => false,
            Checkpoint::Auto => source_bytes(&plan) >= MANY_BYTES,
        };
        if writes && is_asked { keep(plan, &mut 0) } else { Ok(plan) }
    }

    fn name(&self) -> &str {
        "CheckpointSplits"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn source_bytes(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let own = plan.downcast_ref::<FileScanExec>().map_or(0, |scan| scan.table().total_bytes());
    own + plan.children().into_iter().map(source_bytes).sum::<u64>()
}

fn keep(plan: Arc<dyn ExecutionPlan>, n_chains: &mut usize) -> Result<Arc<dyn ExecutionPlan>> {
    let mut program = String::new();
    if let Some(scan) = scan_of_chain(&plan, &mut program) {
        let n_splits = scan.n_splits();
        if n_splits < 2 {
            return Ok(plan);
        }
        let (name, n_units) = (format!("scan-{n_chains}"), n_splits.min(MAX_UNITS));
        let chain = CheckpointedChain { name, program, n_splits, cuts: scan.cuts()?, n_units };
        *n_chains += 1;
        return Ok(Arc::new(CheckpointExec::new(plan, chain)));
    }
    let children = plan.children().into_iter().cloned().collect::<Vec<_>>();
    if children.is_empty() {
        return Ok(plan);
    }
    let kept = children.into_iter().map(|child| keep(child, n_chains)).collect::<Result<_>>()?;
    plan.replace_children(kept, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// The scan, if every node down to it looks at each row alone; `program` gets what they do.
fn scan_of_chain<'a>(plan: &'a Arc<dyn ExecutionPlan>, program: &mut String) -> Option<&'a FileScanExec> {
    if plan.fetch().is_some() {
        return None;
    }
    program.push_str(&format!("{}\n", displayable(plan.as_ref()).one_line().to_string().trim()));
    if let Some(scan) = plan.downcast_ref::<FileScanExec>() {
        return Some(scan);
    }
    let device = plan.downcast_ref::<DeviceExec>();
    if device.is_some_and(|device| device.segment().groups.is_some()) {
        return None;
    }
    let annotate = device.map(DeviceExec::annotate).or_else(|| plan.downcast_ref::<AnnotateExec>());
    for rule in annotate.iter().flat_map(|annotate| &annotate.program().rules) {
        program.push_str(&format!("  {}\n", rule.label));
    }
    let is_known = device.is_some()
        || annotate.is_some()
        || plan.is::<ModelExec>()
        || plan.is::<ToBackendExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<ProjectionExec>();
    match plan.children().as_slice() {
        [input] if is_known => scan_of_chain(input, program),
        _ => None,
    }
}
