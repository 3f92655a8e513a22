//! `DECONTAMINATE … AGAINST 'files'`: documents that hold texts of an evaluation go, or the texts are cut out of them.
//!
//! Two inputs: the documents, and the evaluations, which the binder projects to texts, the answer if one is named, and
//! the task. Needs both in a defined order (`KeepInputOrder`), and sees all documents: an n-gram that many of them hold
//! is no evidence, so no filter passes below.
//! Not here: finding the texts (`exec/`).

use super::exec::Decontamination;
use crate::dedup::{Decontaminate as Options, DecontaminateMode};
use crate::verb::{Planning, RowOrder, Verb};
use crate::verbs::dedup::DedupColumns;
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// What a `DECONTAMINATE` was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct DecontaminateRequest {
    /// The verb as the funnel and the ledger name it: `DECONTAMINATE ON text AGAINST 'evals/*.jsonl'`.
    pub label: String,
    /// The text: only read, or cut in its place.
    pub text: Column,
    /// The evaluations: a file, glob or folder.
    pub evals: String,
    /// What counts as a match, and what follows from it.
    pub options: Options,
    /// The hidden columns of the input.
    pub hidden: Vec<Column>,
}

/// Looks for texts of evaluations in rows; keeps the order of the rest. The second input is the evaluations: their texts,
/// the answer if `label` names it, the task or the file it is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Decontaminate {
    /// What to do.
    pub request: Arc<DecontaminateRequest>,
    /// Whole documents that go are wanted, so no column may be taken from below.
    pub wants_dropped: bool,
}

impl DecontaminateRequest {
    /// Whether one document may become several.
    pub(super) fn cuts(&self) -> bool {
        self.options.mode == DecontaminateMode::Cut
    }

    /// What becomes of the order of the rows.
    pub(super) fn order(&self) -> RowOrder {
        if self.cuts() { RowOrder::Splits } else { RowOrder::Keeps }
    }
}

impl Verb for Decontaminate {
    fn name(&self) -> &'static str {
        "Decontaminate"
    }

    fn details(&self) -> String {
        self.request.label.clone()
    }

    fn order(&self) -> RowOrder {
        self.request.order()
    }

    fn hidden(&self) -> &[Column] {
        &self.request.hidden
    }

    fn reads(&self) -> Vec<Column> {
        vec![self.request.text.clone()]
    }

    fn rewrites(&self) -> Option<&Column> {
        Some(&self.request.text).filter(|_| self.request.cuts())
    }

    fn needs_whole_rows(&self) -> bool {
        self.wants_dropped
    }

    fn recording_drops(&self) -> Option<Arc<dyn Verb>> {
        Some(Arc::new(Self { wants_dropped: true, ..self.clone() }))
    }

    fn plan(&self, planning: &Planning<'_>) -> Result<Arc<dyn ExecutionPlan>> {
        let columns = DedupColumns {
            key: None,
            value: Some(planning.index_of(&self.request.text)?),
            keep_by: vec![],
            per: None,
            id: None,
            visible: planning.node.visible_columns(),
            wants_dropped: self.wants_dropped,
        };
        planning.exec(Decontamination::new(Arc::clone(&self.request), columns))
    }
}
