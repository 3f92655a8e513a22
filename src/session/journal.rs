//! Whose kept work it is: the journal that a run leaves beside it, and whether another attempt may go on with it.
//!
//! Invariant: work is used again only by a run of the same query, on inputs of the same size and time, by the same version,
//! under settings that give the same rows, cut into the same units. What differs is named.

use crate::exec::{CheckpointedChain, Shard};
use crate::sinks::{InputFile, RunFacts, SinkSpec};
use crate::store::{KeptWork, is_folder};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Files that are named one by one.
const N_NAMED: usize = 5;

/// What kept work is of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Journal {
    #[serde(flatten)]
    pub facts: RunFacts,
    pub chains: Vec<CheckpointedChain>,
    /// Of a run that is done share by share: what `curator merge` runs in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptOrigin>,
    /// How many shares there were the last time that one began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_shares: Option<usize>,
}

/// A script as it was given to a run, to be run again somewhere else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptOrigin {
    /// How messages call the text.
    pub name: String,
    /// The text.
    pub text: String,
    /// Whether it is SQL alone.
    pub is_sql: bool,
    /// The values of `$name`s.
    pub parameters: Vec<(String, String)>,
    /// The folder that its paths are relative to.
    pub folder: PathBuf,
}

impl Journal {
    /// What another attempt would do otherwise than the one of this journal.
    fn differences(&self, now: &Journal) -> Vec<String> {
        let (then, facts) = (&self.facts, &now.facts);
        let mut found = query_differences(then, facts);
        found.extend(input_differences(&then.inputs, &facts.inputs));
        if then.models != facts.models {
            found.push("a file of a model has changed".into());
        }
        if found.is_empty() {
            found.extend(chain_differences(&self.chains, &now.chains));
        }
        if found.is_empty() && then.run != facts.run {
            found.push("the columns that the inputs are found to have are others".into());
        }
        found
    }
}

/// What two runs do otherwise, whatever files they read.
pub(super) fn query_differences(then: &RunFacts, now: &RunFacts) -> Vec<String> {
    let mut found = vec![];
    if then.version != now.version {
        let name = |version: &Option<String>| version.clone().unwrap_or_else(|| "unknown".into());
        found.push(format!("curator {} began it, and this is {}", name(&then.version), name(&now.version)));
    }
    if then.query != now.query {
        found.push("the query has changed".into());
    } else if then.plan_xxh3_128 != now.plan_xxh3_128 {
        found.push("what the query uses has changed: a LET, DEFINE, parameter or index".into());
    }
    for name in then.settings.keys().chain(now.settings.keys()).collect::<BTreeSet<_>>() {
        let (before, after) = (then.settings.get(name), now.settings.get(name));
        if before != after {
            let shown = |value: Option<&String>| value.map_or("its default".to_string(), |value| format!("'{value}'"));
            found.push(format!("the setting {name} is {}, and was {}", shown(after), shown(before)));
        }
    }
    found
}

fn input_differences(then: &[InputFile], now: &[InputFile]) -> Vec<String> {
    let by_path = |files: &'_ [InputFile]| -> BTreeMap<String, InputFile> {
        files.iter().map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (then, now) = (by_path(then), by_path(now));
    let mut found = vec![];
    for (path, before) in &then {
        match now.get(path) {
            None => found.push(format!("'{path}' is no input any more")),
            Some(after) if after.n_bytes != before.n_bytes => {
                found.push(format!("'{path}' has {} bytes, and had {}", after.n_bytes, before.n_bytes));
            }
            Some(after) if after != before => {
                found.push(format!("'{path}' was written since"));
            }
            Some(_) => {}
        }
    }
    found.extend(now.keys().filter(|path| !then.contains_key(*path)).map(|path| format!("'{path}' is a new input")));
    shorten(found)
}

/// Names a few of many inputs.
pub(super) fn shorten(mut inputs: Vec<String>) -> Vec<String> {
    if inputs.len() > N_NAMED {
        let n_more = inputs.len() - N_NAMED;
        inputs.truncate(N_NAMED);
        inputs.push(format!("… and {n_more} more inputs"));
    }
    inputs
}

fn chain_differences(then: &[CheckpointedChain], now: &[CheckpointedChain]) -> Vec<String> {
    if then == now {
        return vec![];
    }
    // A program shows how many splits its source has, so it is another one if those are.
    let is_cut_alike = then.len() == now.len()
        && then.iter().zip(now).all(|(then, now)| (then.n_splits, &then.cuts) == (now.n_splits, &now.cuts));
    vec![match is_cut_alike {
        true => "the plan is another one (where operators run, or which work is kept)".into(),
        false => "the inputs are cut into other splits (blocksize, files_per_partition), or other work is kept".into(),
    }]
}

/// Makes sure that work kept at `shown` is of this run, or that there is none; afterwards there is a journal of this run.
pub(super) fn join(kept: &KeptWork, now: &Journal, shown: &Path) -> Result<()> {
    let Some(then) = kept.journal::<Journal>()? else { return kept.write_journal(now) };
    let differences = then.differences(now);
    if differences.is_empty() {
        // A share was done first, and now the whole is, or the other way round; or the shares are others.
        let is_known = now.script.is_none() || (then.script.is_some() && then.n_shares == now.n_shares);
        return if is_known { Ok(()) } else { kept.write_journal(now) };
    }
    if progress(kept, &then).0 == 0 && kept.shares_under_way()?.is_empty() {
        // Nothing is lost.
        kept.remove()?;
        return kept.write_journal(now);
    }
    let again = match &now.script {
        None => "`--restart` begins again from the start".to_string(),
        Some(_) => format!("to begin again from the start, end all shares and remove '{}'", kept.folder().display()),
    };
    Err(Error::Data(format!(
        "{}: a run did not end here, and this one cannot go on with its work:\n  {}\n{again}",
        shown.display(),
        differences.join("\n  ")
    )))
}

/// Refuses to throw away what was kept, if anything was finished.
pub(super) fn refuse_to_discard(kept: &KeptWork, shown: &Path) -> Result<()> {
    let Some(journal) = kept.journal::<Journal>()? else { return Ok(()) };
    let (n_kept, n_units) = progress(kept, &journal);
    if n_kept == 0 {
        return kept.remove();
    }
    let shown = shown.display();
    Err(Error::Data(format!(
        "{shown}: a run did not end here; {n_kept} of {n_units} units of its work are finished. `--resume` goes on with \
         them, `--restart` throws them away and begins again"
    )))
}

fn progress(kept: &KeptWork, journal: &Journal) -> (usize, usize) {
    let n_kept = |chain: &CheckpointedChain| kept.complete_splits(&chain.name).len();
    let chains = &journal.chains;
    (chains.iter().map(n_kept).sum(), chains.iter().map(|chain| chain.n_units).sum())
}

/// A run whose work is kept and not committed.
#[derive(Debug)]
pub struct UnfinishedRun {
    journal: Journal,
    kept: KeptWork,
    shown: PathBuf,
}

impl UnfinishedRun {
    /// The one at this place, a folder or a file that it was to write; `None` if a run has ended there and nothing is left.
    pub fn at(place: &Path) -> Result<Option<Self>> {
        let is_bare_folder = is_folder(place) && !place.to_string_lossy().ends_with('/');
        let written = format!("{}{}", place.display(), if is_bare_folder { "/" } else { "" });
        let output = SinkSpec::new(written);
        let kept = output.location_on_disk().map(|location| KeptWork::of(&location));
        let journal = kept.as_ref().map(KeptWork::journal::<Journal>).transpose()?.flatten();
        match (kept, journal) {
            (Some(kept), Some(journal)) => Ok(Some(Self { journal, kept, shown: place.to_path_buf() })),
            _ if output.committed()?.is_some() => Ok(None),
            _ => Err(Error::Data(format!(
                "{}: nothing is kept here of a run that has not ended; `curator query --shard 1/3 QUERY.cql` begins one",
                place.display()
            ))),
        }
    }

    /// The script to run for the rest, once every share is finished.
    pub fn script(&self) -> Result<&ScriptOrigin> {
        let shown = self.shown.display();
        let Some(script) = &self.journal.script else {
            return Err(Error::Data(format!(
                "{shown}: this run was not begun in shares; `curator query --resume QUERY.cql` goes on with it"
            )));
        };
        if let Some(share) = self.kept.shares_under_way()?.first() {
            return Err(Error::Data(format!("{shown}: {share} is still at work; merge when it has ended")));
        }
        let (n_kept, n_units) = progress(&self.kept, &self.journal);
        if n_kept == n_units {
            return Ok(script);
        }
        let shares: Vec<String> = self.missing_shares().iter().map(Shard::to_string).collect();
        let more = if shares.len() > N_NAMED { ", …" } else { "" };
        Err(Error::Data(format!(
            "{shown}: {n_kept} of {n_units} units are finished; missing are those of --shard {}{more}. Run these shares \
             again: finished units are not repeated",
            shares[..shares.len().min(N_NAMED)].join(", ")
        )))
    }

    /// Settings of the run that are not what they are by default.
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.journal.facts.settings
    }

    /// The shares that have units without a record.
    fn missing_shares(&self) -> BTreeSet<Shard> {
        let count = self.journal.n_shares.unwrap_or(1);
        let chains = self.journal.chains.iter();
        let missing = chains.flat_map(|chain| {
            let complete = self.kept.complete_splits(&chain.name);
            (0..chain.n_units).filter(move |unit| !complete.contains(unit))
        });
        missing.map(|unit| Shard::that_has(unit, count)).collect()
    }
}

/// The name of the lock of a share.
pub(super) fn share_name(shard: Shard) -> String {
    format!("shard-{}-of-{}", shard.number, shard.count)
}
