//! The manifest of an output: which files it consists of, and what they were made from.
//!
//! A folder has `_manifest.json`; a single file `x.jsonl` has `.x.jsonl.manifest.json` beside it; a folder of rejects has
//! its own. The manifest is what makes `overwrite` safe: only what it lists is ever replaced or removed. It gets its name
//! last in a commit, so a folder with a manifest is whole. Names that begin with `_` or `.` are not data.
//!
//! Invariant: no time and no host of the run is in a manifest; times are those of inputs.
//! Not here: looking for what is in the way (`existing.rs`), checking an output against its manifest (`verify.rs`).

use super::WrittenFile;
use super::existing::{Existing, changed_file, is_rejects_file, rejects_file};
use super::file::{CompleteFile, Target};
use super::parts::PartsThere;
use crate::store::{self, Claim};
use crate::{Error, Result, bug};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The manifest's name in its folder.
pub(super) const MANIFEST: &str = "_manifest.json";

/// How a manifest says that it is ours.
const WRITTEN_BY: &str = "curator";

/// What a manifest lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// The rows of a query.
    #[default]
    Output,
    /// What could not be read, and what rules dropped.
    Rejects,
}

/// What a run says of itself in the manifests of what it wrote.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// The name of the run: the same for the same query on the same inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The version of curator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The names of the runs that wrote the parts before those of this one, the first first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier_runs: Vec<String>,
    /// The statement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// Its XXH3-128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_xxh3_128: Option<String>,
    /// The hash of what the statement means, whatever files it finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_xxh3_128: Option<String>,
    /// The columns of the rows, with their types.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<ColumnType>,
    /// Settings that can change what is written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The files that were read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputFile>,
    /// The files of the models that values depend on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelOfRun>,
    /// What each step let through, as the funnel counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleCount>,
    /// Lines that could not be read, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rejected: BTreeMap<String, u64>,
}

/// A column of an output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnType {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
}

/// A file that a run read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct InputFile {
    /// As the query names it.
    pub path: String,
    /// Its size on disk.
    pub n_bytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified_ns: Option<u64>,
    /// Its version, if it is an object of a store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// A file of a model that a run used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ModelOfRun {
    /// What it holds: weights, a tokenizer.
    pub role: String,
    /// As the query names it.
    pub path: String,
    /// Its size.
    pub n_bytes: u64,
    /// The hash of its bytes.
    pub xxh3_128: String,
}

/// A step of the funnel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleCount {
    /// As EXPLAIN names it.
    pub step: String,
    /// Rows that came in.
    pub rows_in: u64,
    /// Rows that went on.
    pub rows_out: u64,
}

impl RunFacts {
    /// What a run and those before it say together.
    fn after(&self, earlier: &RunFacts) -> RunFacts {
        let mut all = self.clone();
        all.earlier_runs = earlier.earlier_runs.iter().chain(&earlier.run).cloned().collect();
        let known = earlier.inputs.iter().filter(|file| !self.inputs.iter().any(|other| other.path == file.path));
        all.inputs.extend(known.cloned().collect::<Vec<_>>());
        all.inputs.sort();
        for rule in &mut all.rules {
            if let Some(before) = earlier.rules.iter().find(|before| before.step == rule.step) {
                rule.rows_in += before.rows_in;
                rule.rows_out += before.rows_out;
            }
        }
        for (reason, n) in &earlier.rejected {
            *all.rejected.entry(reason.clone()).or_default() += n;
        }
        all
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    written_by: String,
    #[serde(default)]
    pub kind: Kind,
    pub complete: bool,
    #[serde(flatten)]
    pub facts: RunFacts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compression: Option<String>,
    /// The folder of this run's rejects, as the query names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rejects: Option<String>,
    pub n_rows: u64,
    pub n_bytes: u64,
    pub files: Vec<ManifestFile>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ManifestFile {
    pub path: String,
    pub n_rows: u64,
    pub n_bytes: u64,
    /// The hash of its bytes; older manifests have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xxh3_128: Option<String>,
}

impl Manifest {
    /// A manifest of ours; `None` if it is not ours, or points outside of its folder.
    pub fn parse(bytes: &[u8]) -> Option<Manifest> {
        let manifest: Manifest = serde_json::from_slice(bytes).ok()?;
        let is_inside = |path: &str| {
            !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
        };
        let is_ours = manifest.written_by == WRITTEN_BY && manifest.files.iter().all(|file| is_inside(&file.path));
        is_ours.then_some(manifest)
    }

    /// The manifest of a folder, if it is one of ours.
    pub fn of_folder(folder: &Path) -> Option<Manifest> {
        Self::parse(&store::read(&folder.join(MANIFEST)).ok()?)
    }
}

/// The manifest that belongs to a single file.
pub(super) fn manifest_of_file(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.manifest.json"))
}

/// Files of one place that are complete and wait for the run's commit.
#[derive(Debug)]
pub struct StagedOutput {
    /// `None` for what was written directly: a pipe, standard output.
    place: Option<StagedPlace>,
    files: Vec<CompleteFile>,
}

/// Where staged files will be.
#[derive(Debug, Clone)]
pub(super) struct StagedPlace {
    pub claim: Arc<Claim>,
    pub kind: Kind,
    /// The single file; `None` for a folder.
    pub file: Option<PathBuf>,
    /// What an earlier run left there, relative to the root.
    pub old_files: BTreeSet<String>,
    /// The manifest of earlier runs, if what they left stays.
    pub earlier: Option<Arc<Manifest>>,
    pub format: Option<&'static str>,
    pub compression: Option<&'static str>,
    /// The folder of this run's rejects.
    pub rejects: Option<String>,
}

impl StagedOutput {
    pub(super) fn new(place: Option<StagedPlace>, mut files: Vec<CompleteFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        if place.as_ref().is_some_and(|place| place.earlier.is_some()) {
            // A file without rows says that there are none; here others are.
            files.retain(|file| file.n_rows > 0);
        }
        Self { place, files }
    }

    /// The same with one more file.
    pub(super) fn with(mut self, file: CompleteFile) -> Self {
        self.files.push(file);
        self
    }

    /// The files, as they will be after the commit.
    pub fn written(&self) -> Vec<WrittenFile> {
        let written =
            |file: &CompleteFile| WrittenFile { path: file.path.clone(), n_rows: file.n_rows, n_bytes: file.n_bytes };
        self.files.iter().map(written).collect()
    }

    /// Writes the manifest, and gives all changes to the commit.
    pub fn prepare(self, facts: &RunFacts) -> Result<()> {
        let Some(place) = self.place else { return Ok(()) };
        place.check_still_free()?;
        let claim = &place.claim;
        let is_folder = place.file.is_none();
        let manifest_name = match &place.file {
            Some(file) => manifest_of_file(file).file_name().map(PathBuf::from).unwrap_or_default(),
            None => PathBuf::from(MANIFEST),
        };
        // A folder without any rejects needs no manifest that says so.
        let is_empty = self.files.is_empty() && place.kind == Kind::Rejects && place.earlier.is_none();
        let (mut listed, facts) = match &place.earlier {
            Some(earlier) => {
                claim.remove(Path::new(MANIFEST));
                (earlier.files.clone(), &facts.after(&earlier.facts))
            }
            None => (vec![], facts),
        };
        if is_folder && !place.old_files.is_empty() && place.earlier.is_none() {
            claim.remove(Path::new(MANIFEST));
            place.old_files.iter().for_each(|file| claim.remove(Path::new(file)));
        }
        if is_empty {
            return Ok(());
        }
        for file in &self.files {
            let Some(name) = &file.name else { return Err(bug!("{} was not staged", file.path.display())) };
            claim.publish(name)?;
            let path = name.to_string_lossy().into_owned();
            let xxh3_128 = Some(file.xxh3_128.clone());
            listed.push(ManifestFile { path, n_rows: file.n_rows, n_bytes: file.n_bytes, xxh3_128 });
        }
        listed.sort_by(|a, b| a.path.cmp(&b.path));
        let text = manifest_text(&place, facts, listed)?;
        let mut target = Target::create(claim, &manifest_name, claim.root().join(&manifest_name))?;
        target.append(&text)?;
        target.complete(0)?;
        claim.publish_last(&manifest_name)
    }
}

fn manifest_text(place: &StagedPlace, facts: &RunFacts, files: Vec<ManifestFile>) -> Result<Vec<u8>> {
    let manifest = Manifest {
        written_by: WRITTEN_BY.into(),
        kind: place.kind,
        complete: true,
        facts: facts.clone(),
        format: place.format.map(str::to_string),
        compression: place.compression.map(str::to_string),
        rejects: place.rejects.clone(),
        n_rows: files.iter().map(|file| file.n_rows).sum(),
        n_bytes: files.iter().map(|file| file.n_bytes).sum(),
        files,
    };
    let mut text = serde_json::to_vec_pretty(&manifest).map_err(|error| bug!("manifest: {error}"))?;
    text.push(b'\n');
    Ok(text)
}

impl StagedPlace {
    /// The parts that stay.
    pub fn parts_there(&self) -> PartsThere {
        let files = self.earlier.iter().flat_map(|earlier| &earlier.files);
        PartsThere::of(files.map(|file| file.path.as_str()))
    }

    /// Nobody has put anything in the way since the place was looked at.
    fn check_still_free(&self) -> Result<()> {
        let place = self.claim.shown().display();
        let found = match (&self.file, self.kind) {
            (Some(file), _) => match self.old_files.is_empty() && store::exists(file) {
                true => Existing::Strangers { example: file.display().to_string() },
                false => Existing::Nothing,
            },
            (None, Kind::Output) => Existing::of_folder(self.claim.root()),
            (None, Kind::Rejects) => Existing::of_rejects(self.claim.root()),
        };
        match found {
            Existing::Strangers { example } => {
                Err(Error::Data(format!("`{example}` appeared in `{place}` while it was being written")))
            }
            _ => Ok(()),
        }
    }
}

/// A folder of rejects that a run has for itself.
#[derive(Debug, Clone)]
pub struct RejectsFolder {
    place: StagedPlace,
}

impl RejectsFolder {
    /// What is in a claimed folder is replaced only if it is ours and `overwrite` is asked for.
    pub fn open(claim: Arc<Claim>, overwrite: bool) -> Result<Self> {
        Self::with(claim, overwrite, None)
    }

    /// What earlier runs have left in a claimed folder stays.
    pub fn extend(claim: Arc<Claim>) -> Result<Self> {
        let earlier = Manifest::of_folder(claim.root()).map(Arc::new);
        Self::with(claim, true, earlier)
    }

    fn with(claim: Arc<Claim>, may_exist: bool, earlier: Option<Arc<Manifest>>) -> Result<Self> {
        let shown = claim.shown().display().to_string();
        let found = Existing::of_rejects(claim.root());
        if let Some(problem) = found.rejects_problem(&shown, may_exist) {
            return Err(Error::Data(problem));
        }
        if let Some(problem) = earlier.is_none().then(|| changed_file(claim.shown())).flatten() {
            return Err(Error::Data(problem));
        }
        let old_files = found.into_files();
        let (kind, file, format, compression, rejects) = (Kind::Rejects, None, None, None, None);
        Ok(Self { place: StagedPlace { claim, kind, file, old_files, earlier, format, compression, rejects } })
    }

    /// The place of some files of it, which all are listed together.
    pub(super) fn place_of_parts(&self) -> StagedPlace {
        StagedPlace { old_files: BTreeSet::new(), ..self.place.clone() }
    }

    /// The name of the next file of rejects.
    pub(crate) fn next_rejects_file(&self) -> String {
        let files = self.place.earlier.iter().flat_map(|earlier| &earlier.files);
        rejects_file(files.filter(|file| is_rejects_file(&file.path)).count())
    }

    /// The claim that it is written under.
    pub fn claim(&self) -> &Arc<Claim> {
        &self.place.claim
    }

    /// Everything that was staged there, as one.
    pub(crate) fn staged(&self, parts: Vec<StagedOutput>) -> StagedOutput {
        let files = parts.into_iter().flat_map(|part| part.files).collect();
        StagedOutput::new(Some(self.place.clone()), files)
    }
}
