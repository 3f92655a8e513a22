//! What a run has under way beside its rows: the places it has claimed, staged files, rejects, the ledger; and the one
//! commit at its end.
//!
//! ```text
//! begin: claim output, rejects, indexes ──► executors stage ──► end: manifests, then one commit of all
//! ```
//! Invariant: nothing is visible before `end`, and everything is when it has returned without an error. A run that only
//! measures (EXPLAIN ANALYZE) and one that is dropped commit nothing.

use super::identity::Identity;
use super::{Plan, Session};
use crate::exec::{Ledger, RunLog, Step};
use crate::physical::WriteTarget;
use crate::sinks::{RejectsFolder, RuleCount, RunFacts};
use crate::sources::{RejectLog, RejectSummary};
use crate::store::{Location, Outbox};
use crate::{Error, Result};
use datafusion::prelude::SessionConfig;
use std::sync::Arc;

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// What it makes becomes visible.
    Commit,
    /// Its times and counts are wanted; what it makes is thrown away.
    Measure,
}

/// See the module's text.
pub(super) struct Work {
    rejects: Arc<RejectLog>,
    ledger: Option<Arc<Ledger>>,
    log: Arc<RunLog>,
    writing: Option<Writing>,
}

/// Of a run with `INTO`.
struct Writing {
    outbox: Arc<Outbox>,
    rejects: Option<RejectsFolder>,
    facts: RunFacts,
    purpose: Purpose,
}

impl Work {
    /// Of a query whose rows are shown, or of a statement: it changes no file.
    pub fn of_rows(rejects: RejectLog) -> Self {
        Self { rejects: Arc::new(rejects), ledger: None, log: Arc::default(), writing: None }
    }

    /// Claims every place that the plan will change.
    pub fn begin(session: &Session, plan: &Plan, write: &WriteTarget, purpose: Purpose) -> Result<Self> {
        let identity = Identity::of(&plan.logical)?;
        let outbox = Arc::new(Outbox::new(&identity.run));
        write.spec.claim(&outbox)?;
        let rejects = match &write.rejects {
            Some(folder) => {
                let claim = outbox.claim(&Location::folder(folder))?;
                Some(RejectsFolder::open(claim, write.spec.options.overwrite)?)
            }
            None => None,
        };
        if purpose == Purpose::Commit {
            for (at, index) in identity.appends_to.iter().enumerate() {
                if identity.appends_to[..at].contains(index) {
                    let place = index.display();
                    let told =
                        format!("{place}: two DEDUPs of one query add to this index; say READ ONLY in one of them");
                    return Err(Error::Data(told));
                }
                outbox.claim(&Location::index(index))?;
            }
        }
        let ledger = rejects.clone().map(|folder| Arc::new(Ledger::new(folder, write.reject_detail)));
        let strict = session.config.strict;
        Ok(Self {
            rejects: Arc::new(RejectLog::new(rejects.clone(), strict)),
            ledger,
            log: Arc::new(RunLog::new(Some(Arc::clone(&outbox)), purpose == Purpose::Commit)),
            writing: Some(Writing { outbox, rejects, facts: identity.facts(plan, &session.config), purpose }),
        })
    }

    /// Whether rows go to files.
    pub fn writes(&self) -> bool {
        self.writing.is_some()
    }

    /// What the executors find in their configuration.
    pub fn install(&self, config: &SessionConfig) -> SessionConfig {
        let config = config.clone().with_extension(self.rejects.clone()).with_extension(self.log.clone());
        match &self.ledger {
            Some(ledger) => config.with_extension(ledger.clone()),
            None => config,
        }
    }

    /// What the executors have told.
    pub fn log(&self) -> &RunLog {
        &self.log
    }

    /// What could not be read.
    pub fn rejected(&self) -> RejectSummary {
        self.rejects.summary()
    }

    /// All rows have come: everything that was staged becomes visible.
    pub fn end(&mut self, steps: &[Step]) -> Result<()> {
        let Some(writing) = &self.writing else { return Ok(()) };
        let mut staged = vec![];
        staged.extend(self.rejects.stage()?);
        if let Some(ledger) = self.ledger.take() {
            let dropped = ledger.stage()?;
            dropped.iter().for_each(|files| self.log.add_dropped(files.written()));
            staged.extend(dropped);
        }
        let outputs = self.log.take_outputs();
        if writing.purpose == Purpose::Measure {
            return Ok(());
        }
        let facts = RunFacts {
            rules: steps.iter().map(rule_count).collect(),
            rejected: self.rejects.summary().by_kind.iter().map(|(kind, n)| (kind.to_string(), *n)).collect(),
            ..writing.facts.clone()
        };
        outputs.into_iter().try_for_each(|output| output.prepare(&facts))?;
        if let Some(folder) = &writing.rejects {
            folder.staged(staged).prepare(&facts)?;
        }
        self.log.take_appends().into_iter().try_for_each(|append| append.commit())?;
        writing.outbox.commit()
    }

    /// The run is over: what was not committed goes.
    pub fn give_up(&mut self) {
        if let Some(ledger) = &self.ledger {
            ledger.give_up();
        }
        if let Some(writing) = &self.writing {
            writing.outbox.abandon();
        }
    }
}

fn rule_count(step: &Step) -> RuleCount {
    RuleCount { step: step.label.clone(), rows_in: step.rows_in, rows_out: step.rows_out }
}
