//! The order of the rules: cheap and selective ones first, learned while running.
//!
//! The next rule is always the one with the least cost / (1 − selectivity), where the cost is that of the rule, of what
//! its statistics add to their pass, and of the steps it needs that no rule before it has paid for. Before anything is
//! known, every rule is taken to keep half of its rows and costs are the operators' own estimates; then both are measured.
//!
//! Invariant: a rule that can fail stays behind the rules written before it. Any order gives the same rows.

use super::program::Program;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// Rows after which the order is thought over for the first time; later at each doubling.
/// Small runs keep the planned order, so that what they report does not depend on timing.
const FIRST_LOOK_ROWS: u64 = 16_384;

/// The order shared by all partitions of a run, and what it is based on.
#[derive(Debug)]
pub struct RuleOrder {
    order: RwLock<Arc<[usize]>>,
    rules: Vec<Seen>,
    steps: Vec<Seen>,
    rows: AtomicU64,
    next_look: Mutex<u64>,
}

/// What was measured of a rule or a step.
#[derive(Debug, Default)]
struct Seen {
    rows: AtomicU64,
    kept: AtomicU64,
    nanos: AtomicU64,
}

impl Seen {
    fn ns_per_row(&self, estimate: f64) -> f64 {
        match self.rows.load(Relaxed) {
            0 => estimate,
            rows => self.nanos.load(Relaxed) as f64 / rows as f64,
        }
    }

    /// The share of rows kept; a half before anything is known, and never quite 0 or 1.
    fn selectivity(&self) -> f64 {
        (self.kept.load(Relaxed) as f64 + 1.0) / (self.rows.load(Relaxed) as f64 + 2.0)
    }
}

impl RuleOrder {
    /// Starts with the rules as the program has them.
    pub fn new(program: &Program) -> Self {
        Self {
            order: RwLock::new((0..program.rules.len()).collect()),
            rules: program.rules.iter().map(|_| Seen::default()).collect(),
            steps: program.steps.iter().map(|_| Seen::default()).collect(),
            rows: AtomicU64::new(0),
            next_look: Mutex::new(FIRST_LOOK_ROWS),
        }
    }

    /// The order in force, as places in the program's list.
    pub fn current(&self) -> Arc<[usize]> {
        Arc::clone(&self.order.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn saw_rule(&self, rule: usize, rows: usize, kept: usize, elapsed: Duration) {
        let seen = &self.rules[rule];
        seen.rows.fetch_add(rows as u64, Relaxed);
        seen.kept.fetch_add(kept as u64, Relaxed);
        seen.nanos.fetch_add(elapsed.as_nanos() as u64, Relaxed);
    }

    pub fn saw_step(&self, step: usize, rows: usize, elapsed: Duration) {
        self.steps[step].rows.fetch_add(rows as u64, Relaxed);
        self.steps[step].nanos.fetch_add(elapsed.as_nanos() as u64, Relaxed);
    }

    /// After each batch: thinks the order over when enough rows have passed.
    pub fn learn(&self, program: &Program, n_rows: usize) {
        let rows = self.rows.fetch_add(n_rows as u64, Relaxed) + n_rows as u64;
        let mut next_look = self.next_look.lock().unwrap_or_else(PoisonError::into_inner);
        if rows < *next_look {
            return;
        }
        *next_look = rows * 2;
        let costs = |rule: usize| Estimate {
            ns_per_row: self.rules[rule].ns_per_row(program.rules[rule].ns_per_row) + program.rules[rule].in_pass_ns,
            selectivity: self.rules[rule].selectivity(),
        };
        let step_ns = |step: usize| self.steps[step].ns_per_row(program.steps[step].ns_per_row);
        let order = best(program, costs, step_ns);
        *self.order.write().unwrap_or_else(PoisonError::into_inner) = order.into();
    }
}

/// What a rule is thought to cost by itself and to keep.
pub struct Estimate {
    /// Without the steps it needs, but with what it alone wants of them.
    pub ns_per_row: f64,
    /// The share of rows that it keeps.
    pub selectivity: f64,
}

/// The places of the program's rules in the order that the estimates suggest.
pub fn best(program: &Program, rule: impl Fn(usize) -> Estimate, step_ns: impl Fn(usize) -> f64) -> Vec<usize> {
    // In the order written, so that a rule that can fail may run when it is the first of those that wait.
    let mut waiting: Vec<usize> = (0..program.rules.len()).collect();
    waiting.sort_by_key(|&rule| program.rules[rule].written);
    let mut paid = vec![false; program.steps.len()];
    let mut order = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let rank = |place: usize| {
            let estimate = rule(waiting[place]);
            let unpaid = program.rules[waiting[place]].needs.iter().filter(|step| !paid[**step]);
            let cost = estimate.ns_per_row + unpaid.map(|step| step_ns(*step)).sum::<f64>();
            cost / (1.0 - estimate.selectivity).max(1e-6)
        };
        let may_run = (0..waiting.len()).filter(|&place| place == 0 || !program.rules[waiting[place]].can_fail);
        // The first of equals: the one written first.
        let Some(next) = may_run.min_by(|a, b| rank(*a).total_cmp(&rank(*b))) else { break };
        let chosen = waiting.remove(next);
        program.rules[chosen].needs.iter().for_each(|step| paid[*step] = true);
        order.push(chosen);
    }
    order
}
