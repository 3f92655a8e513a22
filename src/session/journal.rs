//! Whose kept work it is: the journal that a run leaves beside it, and whether another attempt may go on with it.
//!
//! Invariant: work is used again only by a run of the same query, on inputs of the same size and time, by the same version,
//! under settings that give the same rows, cut into the same units. What differs is named.

use crate::exec::{CheckpointedChain, Shard};
use crate::sinks::{InputFile, RunFacts, SinkSpec};
use crate::store::KeptWork;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
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
    for name in then.settings.keys().chain(now.settings.keys()).collect::<std::collections::BTreeSet<_>>() {
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
            Some(after) if after.modified_ns != before.modified_ns => {
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
    let programs =
        |chains: &[CheckpointedChain]| -> Vec<String> { chains.iter().map(|chain| chain.program.clone()).collect() };
    if programs(then) != programs(now) {
        return vec!["the plan is another one (where operators run, or which work is kept)".into()];
    }
    if then != now {
        return vec!["the inputs are cut into other splits (blocksize, files_per_partition)".into()];
    }
    vec![]
}

/// Makes sure that work kept at `shown` is of this run, or that there is none; afterwards there is a journal of this run.
pub(super) fn join(kept: &KeptWork, now: &Journal, shown: &Path) -> Result<()> {
    let Some(then) = kept.journal::<Journal>()? else { return kept.write_journal(now) };
    let differences = then.differences(now);
    if differences.is_empty() {
        // A share was done first, and now the whole is, or the other way round.
        return if then.script.is_none() && now.script.is_some() { kept.write_journal(now) } else { Ok(()) };
    }
    Err(Error::Data(format!(
        "{}: a run did not end here, and this one cannot go on with its work:\n  {}\n`--restart` begins again from the start",
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
    /// The one at this place, a folder or a file that it was to write.
    pub fn at(place: &Path) -> Result<Self> {
        let is_bare_folder = place.is_dir() && !place.to_string_lossy().ends_with('/');
        let written = format!("{}{}", place.display(), if is_bare_folder { "/" } else { "" });
        let location = SinkSpec::new(written).location_on_disk();
        let kept = location.map(|location| KeptWork::of(&location));
        let journal = kept.as_ref().map(KeptWork::journal::<Journal>).transpose()?.flatten();
        match (kept, journal) {
            (Some(kept), Some(journal)) => Ok(Self { journal, kept, shown: place.to_path_buf() }),
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
        let missing: Vec<(usize, usize)> =
            self.journal.chains.iter().flat_map(|chain| self.missing_of(chain)).collect();
        if missing.is_empty() {
            return Ok(script);
        }
        let (n_kept, n_units) = progress(&self.kept, &self.journal);
        let ranges: Vec<String> = missing.iter().take(N_NAMED).map(|range| show_range(*range)).collect();
        let more = if missing.len() > N_NAMED { ", …" } else { "" };
        Err(Error::Data(format!(
            "{shown}: {n_kept} of {n_units} units are finished; missing: {}{more}. Run the shares again that have not \
             ended: finished units are not repeated",
            ranges.join(", ")
        )))
    }

    /// Settings of the run that are not what they are by default.
    pub fn settings(&self) -> &BTreeMap<String, String> {
        &self.journal.facts.settings
    }

    /// Neighbouring units without a record.
    fn missing_of(&self, chain: &CheckpointedChain) -> Vec<(usize, usize)> {
        let complete = self.kept.complete_splits(&chain.name);
        let mut missing: Vec<(usize, usize)> = vec![];
        for unit in (0..chain.n_units).filter(|unit| !complete.contains(unit)) {
            match missing.last_mut() {
                Some((_, last)) if *last + 1 == unit => *last = unit,
                _ => missing.push((unit, unit)),
            }
        }
        missing
    }
}

fn show_range((first, last): (usize, usize)) -> String {
    if first == last { first.to_string() } else { format!("{first}–{last}") }
}

/// The name of the lock of a share.
pub(super) fn share_name(shard: Shard) -> String {
    format!("shard-{}-of-{}", shard.number, shard.count)
}
