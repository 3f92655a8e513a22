//! Models that run together: one preparation, one run for each batch, a column for each of them.

use super::ModelOutput;
use crate::config::format_bytes;
use crate::cost::{TEXT_BYTES_PER_ROW, format_seconds};
use crate::logical::ModelCall;
use crate::models::{ModelKey, Prepared, prepared};
use crate::ops::{Model, ModelFacts, ModelSetting};
use crate::{Error, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// Calls that are computed together. See the module's text.
#[derive(Debug)]
pub struct ModelGroup {
    models: Vec<Arc<dyn Model>>,
    /// The calls with their constants, as they tell models apart.
    calls: Vec<String>,
    /// The calls as a user would write them.
    labels: Vec<String>,
    /// The columns of the input that they read.
    columns: Vec<usize>,
    /// The column that says for which rows they are wanted.
    when: Option<usize>,
    setting: ModelSetting,
    facts: ModelFacts,
    in_use: Mutex<Option<InUse>>,
}

/// A prepared model, and the memory that was claimed for it.
#[derive(Debug, Clone)]
pub(super) struct InUse {
    pub model: Prepared,
    _claim: Arc<MemoryReservation>,
}

/// What is claimed of a pool for a model, which several nodes of a query may use.
type Claims = HashMap<(usize, ModelKey), Weak<MemoryReservation>>;

static CLAIMS: LazyLock<Mutex<Claims>> = LazyLock::new(Mutex::default);

impl ModelGroup {
    /// A group of one.
    pub(super) fn of(call: ModelCall, when: Option<usize>, output: &ModelOutput) -> Result<Self> {
        let column = |expr: &Arc<dyn PhysicalExpr>| {
            let column = expr.downcast_ref::<Column>().map(Column::index);
            column.ok_or_else(|| crate::bug!("a model reads `{expr}`, which is no column"))
        };
        let columns = call.columns.iter().map(column).collect::<Result<_>>()?;
        Ok(Self {
            facts: call.model.facts(&output.setting),
            calls: vec![call.written()],
            models: vec![call.model],
            labels: vec![output.label.clone()],
            columns,
            when,
            setting: output.setting.clone(),
            in_use: Mutex::default(),
        })
    }

    /// Whether another group can be computed with this one.
    pub(super) fn takes(&self, other: &Self) -> bool {
        let key = |group: &Self| group.models.first().and_then(|model| model.share_key());
        key(self).is_some_and(|own| Some(own) == key(other))
            && (&self.columns, self.when, &self.setting) == (&other.columns, other.when, &other.setting)
    }

    pub(super) fn join(&mut self, other: Self) {
        self.facts.held_bytes = self.facts.held_bytes.max(other.facts.held_bytes);
        self.models.extend(other.models);
        self.calls.extend(other.calls);
        self.labels.extend(other.labels);
    }

    pub(super) fn n_models(&self) -> usize {
        self.models.len()
    }

    pub(super) fn models(&self) -> &[Arc<dyn Model>] {
        &self.models
    }

    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(super) fn when(&self) -> Option<usize> {
        self.when
    }

    /// What it is and takes.
    pub fn facts(&self) -> &ModelFacts {
        &self.facts
    }

    /// The calls as a user would write them.
    pub fn label(&self) -> String {
        self.labels.join(", ")
    }

    /// The model, prepared by whoever comes first.
    pub(super) fn in_use(&self, context: &TaskContext) -> Result<InUse> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(in_use) = in_use.as_ref() {
            return Ok(in_use.clone());
        }
        let key = ModelKey::new(&self.calls, &self.models, &self.setting);
        let claim = self.claim(&key, context.memory_pool())?;
        let model = prepared(&key, &self.models)?;
        Ok(in_use.insert(InUse { model, _claim: claim }).clone())
    }

    /// The memory that the model holds, claimed once for each pool.
    fn claim(&self, key: &ModelKey, pool: &Arc<dyn MemoryPool>) -> Result<Arc<MemoryReservation>> {
        let mut claims = CLAIMS.lock().unwrap_or_else(PoisonError::into_inner);
        claims.retain(|_, claim| claim.strong_count() > 0);
        let place = (Arc::as_ptr(pool).cast::<()>() as usize, key.clone());
        if let Some(claim) = claims.get(&place).and_then(Weak::upgrade) {
            return Ok(claim);
        }
        let reservation = MemoryConsumer::new(format!("ModelExec: {}", self.label())).register(pool);
        reservation.try_grow(self.facts.held_bytes).map_err(|_| {
            Error::Data(format!(
                "`{}` holds {} ({}), and the memory limit leaves less; raise it with --memory",
                self.label(),
                format_bytes(self.facts.held_bytes),
                self.facts.title
            ))
        })?;
        let claim = Arc::new(reservation);
        claims.insert(place, Arc::downgrade(&claim));
        Ok(claim)
    }

    /// Lines for EXPLAIN.
    pub(super) fn notes(&self) -> Vec<String> {
        let ModelFacts { title, device, device_reason, batch, held_bytes, cost, notes } = &self.facts;
        let together = if self.models.len() > 1 { "  together" } else { "" };
        let mut lines = vec![format!("{}: {title}{together}   {}: {device_reason}", self.label(), device.as_str())];
        let why = if batch.why.is_empty() { String::new() } else { format!(": {}", batch.why) };
        lines.push(format!("  batches of {} rows or {}{why}", batch.rows, format_bytes(batch.bytes)));
        let seconds = format_seconds(cost.total_ns(1, TEXT_BYTES_PER_ROW as usize) / 1e9);
        lines.push(format!("  holds {}, about {seconds} a row", format_bytes(*held_bytes)));
        lines.extend(notes.iter().map(|note| format!("  {note}")));
        lines
    }
}
