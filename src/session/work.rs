//! What a run has under way beside its rows: the places it has claimed, staged files, rejects, the ledger; and the one
//! commit at its end.
//!
//! ```text
//! begin: claim output, rejects, indexes ──► executors stage ──► end: manifests, then one commit of all
//!                                             └─► and keep what is finished, for another attempt
//! ```
//! Invariant: nothing is visible before `end`, and everything is when it has returned without an error. A run that only
//! measures (EXPLAIN ANALYZE) and one that is dropped commit nothing.

use super::identity::Identity;
use super::journal::{self, Journal, ScriptOrigin};
use super::{Plan, Session};
use crate::config::{Attempt, Checkpoint, Config, MaxRejects};
use crate::exec::{CheckpointedChain, Checkpoints, Ledger, RunLog, Shard, Step};
use crate::physical::WriteTarget;
use crate::sinks::{RejectsFolder, RuleCount, RunFacts};
use crate::sources::{FileTable, RejectLog, RejectSummary};
use crate::store::{Claim, KeptWork, Location, Lock, Outbox};
use crate::{Error, Result};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a share of a run waits for others that begin at the same time: there may be hundreds of them.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it waits for another process to leave the same share.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// What a run is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// What it makes becomes visible.
    Commit,
    /// Its times and counts are wanted; what it makes is thrown away.
    Measure,
}

/// See the module's text.
pub(super) struct RunWork {
    rejects: Arc<RejectLog>,
    max_rejects: Option<MaxRejects>,
    ledger: Option<Arc<Ledger>>,
    log: Arc<RunLog>,
    writing: Option<Writing>,
    checkpoints: Option<Arc<Checkpoints>>,
    /// Of a share of a run: nobody else does the same one.
    share: Option<Share>,
}

/// A share of a run that others do the rest of.
struct Share {
    shard: Shard,
    place: String,
    _lock: Lock,
}

/// How a run begins.
pub(super) enum Begun {
    /// There is work to do.
    Work(Box<RunWork>),
    /// An earlier attempt has committed the output.
    IsComplete(String),
}

/// Of a run with `INTO`.
struct Writing {
    outbox: Arc<Outbox>,
    rejects: Option<RejectsFolder>,
    facts: RunFacts,
    purpose: Purpose,
}

impl RunWork {
    /// Of a query whose rows are shown, or of a statement: it changes no file.
    pub fn of_rows(config: &Config) -> Self {
        let (ledger, log, writing, checkpoints, share) = (None, Arc::default(), None, None, None);
        let rejects = Arc::new(RejectLog::new(None, config.strict).allowing(config.max_rejects));
        Self { rejects, max_rejects: config.max_rejects, ledger, log, writing, checkpoints, share }
    }

    /// Claims every place that the plan will change. `chains` are those whose work can be kept.
    pub fn begin(
        session: &Session,
        plan: &Plan,
        write: &WriteTarget,
        purpose: Purpose,
        chains: Vec<CheckpointedChain>,
    ) -> Result<Begun> {
        let identity = Identity::of(&plan.logical)?;
        let attempt = session.config.attempt;
        if attempt == Attempt::Resume
            && purpose == Purpose::Commit
            && is_complete(&identity, plan, write, &session.config)?
        {
            tidy_up(&identity, write);
            return Ok(Begun::IsComplete(write.spec.location.clone()));
        }
        let outbox = Arc::new(Outbox::new(&identity.run));
        let claim = write.spec.claim(&outbox)?.filter(|_| purpose == Purpose::Commit);
        let journal = Journal { facts: identity.facts(plan, &session.config), chains, script: None, n_shares: None };
        let kept = claim
            .map(|claim| keep(&claim, (attempt, session.config.checkpoint), &identity, &journal))
            .transpose()?
            .flatten();
        let rejects = match &write.rejects {
            Some(folder) => {
                let claim = outbox.claim(&Location::folder(folder))?;
                Some(match write.spec.appends {
                    true => RejectsFolder::extend(claim)?,
                    false => RejectsFolder::open(claim, write.spec.options.overwrite)?,
                })
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
        let Config { strict, max_rejects, .. } = session.config;
        Ok(Begun::Work(Box::new(Self {
            rejects: Arc::new(RejectLog::new(rejects.clone(), strict).allowing(max_rejects)),
            max_rejects,
            ledger,
            log: Arc::new(RunLog::new(Some(Arc::clone(&outbox)), purpose == Purpose::Commit)),
            writing: Some(Writing { outbox, rejects, facts: journal.facts, purpose }),
            checkpoints: kept.map(|kept| Arc::new(Checkpoints::new(kept, None))),
            share: None,
        })))
    }

    /// Joins those who do shares of the run, or is the first of them. Nothing is committed.
    pub async fn begin_share(
        session: &Session,
        plan: &Plan,
        write: &WriteTarget,
        chains: Vec<CheckpointedChain>,
        (shard, script): (Shard, ScriptOrigin),
    ) -> Result<Begun> {
        let (identity, place) = (Identity::of(&plan.logical)?, write.spec.location.clone());
        if is_complete(&identity, plan, write, &session.config)? {
            tidy_up(&identity, write);
            return Ok(Begun::IsComplete(place));
        }
        if chains.is_empty() {
            return Err(Error::Data(format!(
                "{place}: there is nothing to share out: no source has several splits (one packed file is one; see the \
                 setting blocksize), or the query ends early (LIMIT)"
            )));
        }
        let facts = identity.facts(plan, &session.config);
        let journal = Journal { facts, chains, script: Some(script), n_shares: Some(shard.count) };
        let outbox = Outbox::new(&identity.run);
        let Some(claim) = claim_in_turn(write, &outbox).await? else {
            return Err(Error::Data(format!("{place}: shares of a run need a file or a folder to write to")));
        };
        if claim.is_remote() {
            return Err(Error::Data(format!(
                "{place}: shares of a run keep their work beside its output, where all of them find it: name an output on this \
                 machine or on a file system that is shared"
            )));
        }
        let kept = KeptWork::of_claim(&claim);
        journal::join(&kept, &journal, claim.shown())?;
        let name = journal::share_name(shard);
        let is_other_count = |name: &String| !name.ends_with(&format!("-of-{}", shard.count));
        if let Some(other) = kept.shares_under_way()?.into_iter().find(is_other_count) {
            return Err(Error::Data(format!(
                "{place}: {other} is at work; all shares of a run are of the same number"
            )));
        }
        let Some(lock) = lock_in_turn(&kept, &name).await? else {
            return Err(Error::Data(format!("{place}: another process works on share {shard}")));
        };
        // Others may begin now.
        outbox.abandon();
        let ledger = write.rejects.as_ref().map(|_| Arc::new(Ledger::that_keeps(write.reject_detail)));
        Ok(Begun::Work(Box::new(Self {
            rejects: Arc::new(RejectLog::new(None, session.config.strict).allowing(session.config.max_rejects)),
            max_rejects: session.config.max_rejects,
            ledger,
            log: Arc::default(),
            writing: None,
            checkpoints: Some(Arc::new(Checkpoints::new(kept, Some(shard)))),
            share: Some(Share { shard, place, _lock: lock }),
        })))
    }

    /// Whether rows go to files.
    pub fn writes(&self) -> bool {
        self.writing.is_some() || self.share.is_some()
    }

    /// What is set aside and dropped is written in the order of the plan, not of who comes first.
    pub fn follow(&self, logical: &LogicalPlan, physical: &Arc<dyn ExecutionPlan>) -> Result<()> {
        if let Some(ledger) = &self.ledger {
            ledger.follow(physical);
        }
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.follow(physical);
        }
        let (mut sources, mut may_read_again) = (vec![], false);
        logical.apply_with_subqueries(|node| {
            may_read_again |= matches!(node, LogicalPlan::RecursiveQuery(_));
            if let LogicalPlan::TableScan(scan) = node
                && let Ok(provider) = source_as_provider(&scan.source)
            {
                sources.extend(provider.downcast_ref::<FileTable>().cloned());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        self.rejects.follow(sources, may_read_again);
        Ok(())
    }

    /// What the executors find in their configuration.
    pub fn install(&self, config: &SessionConfig) -> SessionConfig {
        let mut config = config.clone().with_extension(self.rejects.clone()).with_extension(self.log.clone());
        if let Some(checkpoints) = &self.checkpoints {
            config = config.with_extension(checkpoints.clone());
        }
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

    /// All rows have come, `n_rows_read` of them from files: everything that was staged becomes visible.
    pub fn end(&mut self, steps: &[Step], n_rows_read: u64) -> Result<()> {
        self.note_what_was_kept();
        self.rejects.check_share(self.max_rejects, n_rows_read)?;
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

    fn note_what_was_kept(&self) {
        let Some((n_kept, n_units)) = self.checkpoints.as_ref().map(|checkpoints| checkpoints.reused()) else { return };
        if let Some(Share { shard, place, .. }) = &self.share {
            self.log.note(format!(
                "share {shard}: {n_units} units are finished, {n_kept} of them by an earlier attempt; when all shares are, \
                 `curator merge {place}` writes the output"
            ));
        } else if n_kept > 0 {
            self.log.note(format!("{n_kept} of {n_units} units were finished by an earlier attempt"));
        }
        match self.checkpoints.as_ref().map_or(0, |checkpoints| checkpoints.n_stages_kept()) {
            0 => {}
            1 => self.log.note("one verb had decided about its rows in an earlier attempt".into()),
            n => self.log.note(format!("{n} verbs had decided about their rows in an earlier attempt")),
        }
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

/// Whether an earlier attempt has committed the output, in the form that the query asks for. If not, nothing of another run
/// may be in the way; and the query must be one that gives the same rows each time.
fn is_complete(identity: &Identity, plan: &Plan, write: &WriteTarget, config: &Config) -> Result<bool> {
    let spec = &write.spec;
    if identity.is_unique {
        return Err(Error::Data(format!(
            "{}: this query gives other rows each time it runs (random(), now(), standard input or a pipe), so one attempt \
             cannot go on where another has stopped",
            spec.location
        )));
    }
    let now = identity.facts(plan, config);
    let is_of_this_query =
        |then: RunFacts| then.run == now.run && then.query == now.query && then.settings == now.settings;
    if spec.committed()?.is_some_and(is_of_this_query) {
        return Ok(true);
    }
    spec.check_free().map(|()| false)
}

/// Removes what a run has left beside its complete output, if it was killed while it did so itself.
fn tidy_up(identity: &Identity, write: &WriteTarget) {
    let rejects = write.rejects.iter().map(|folder| Location::folder(folder));
    let indexes = identity.appends_to.iter().map(|index| Location::index(index));
    let places = write.spec.location_on_disk().into_iter().chain(rejects).chain(indexes);
    let outbox = Outbox::new(&identity.run);
    for place in places.filter(Location::is_in_use) {
        // Whoever has the place leaves nothing.
        let _ = outbox.claim(&place);
    }
    outbox.abandon();
}

/// What is kept at a claimed place, ready to be gone on with; `None` if this run keeps nothing.
fn keep(
    claim: &Claim,
    (attempt, checkpoint): (Attempt, Checkpoint),
    identity: &Identity,
    journal: &Journal,
) -> Result<Option<KeptWork>> {
    let kept = KeptWork::of_claim(claim);
    if let Some(share) = kept.shares_under_way()?.first() {
        let place = claim.shown().display();
        return Err(Error::Data(format!("{place}: {share} of a run is at work; wait until it ends")));
    }
    match attempt {
        Attempt::First => journal::refuse_to_discard(&kept, claim.shown())?,
        Attempt::Restart => kept.remove()?,
        Attempt::Resume => {}
    }
    // Beside an output on a disk there is room for what becomes of it. For one in a bucket this machine has room if somebody
    // says so.
    let has_room = !claim.is_remote() || attempt != Attempt::First || checkpoint == Checkpoint::On;
    if journal.chains.is_empty() || identity.is_unique || !has_room {
        return Ok(None);
    }
    journal::join(&kept, journal, claim.shown())?;
    Ok(Some(kept))
}

/// Takes the output for a moment: shares of one run often begin at the same time.
async fn claim_in_turn(write: &WriteTarget, outbox: &Outbox) -> Result<Option<Arc<Claim>>> {
    let began = Instant::now();
    loop {
        match write.spec.claim(outbox) {
            Err(Error::Data(_)) if began.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
            claimed => return claimed,
        }
    }
}

/// Takes a share. The one who has it may be about to end, and who asks only whether it is taken takes it for a moment.
async fn lock_in_turn(kept: &KeptWork, name: &str) -> Result<Option<Lock>> {
    let began = Instant::now();
    loop {
        match kept.lock_share(name)? {
            None if began.elapsed() < SHORT_PATIENCE => tokio::time::sleep(PAUSE).await,
            locked => return Ok(locked),
        }
    }
}

fn rule_count(step: &Step) -> RuleCount {
    RuleCount { step: step.label.clone(), rows_in: step.rows_in, rows_out: step.rows_out }
}
