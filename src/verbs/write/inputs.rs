//! An output must not be an input of its own statement: a run would read what it writes, or replace what it reads.
//!
//! Compared are real places, so links and `..` hide nothing. An output is refused that is an input, that holds one, or
//! that lies where an input looks for files: in its folder, or where its pattern matches.
//! Not here: whether an output is in the way of something that is no input (`sinks`).

use crate::sinks::SinkSpec;
use crate::sources::FileTable;
use crate::store::{self, is_remote, real_path};
use crate::verb::VerbNode;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use std::path::{Component, Path, PathBuf};

/// A place that a statement reads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Input {
    /// A source, as its location is written, and its files.
    Source { location: String, files: Vec<PathBuf> },
    /// The folder of an index.
    Index(String),
}

/// What is wrong with where an output goes.
pub(super) struct InputProblem {
    /// The option that names the place; `None`: the location of the output.
    pub option: Option<&'static str>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// The first thing that is wrong with where `spec` writes, of a statement that reads `plan`.
pub(super) fn find_problem(spec: &SinkSpec, plan: &LogicalPlan) -> Result<Option<InputProblem>> {
    let inputs = inputs_of(plan)?;
    let output = spec.path();
    let rejects = spec.options.rejects.as_ref().map(PathBuf::from);
    for (option, path) in [(None, &output), (Some("rejects"), &rejects)] {
        let Some(path) = path else { continue };
        let found = inputs.iter().find_map(|input| input.conflict(path));
        if let Some(conflict) = found {
            let what = match option {
                Some(_) => format!("the folder of rejects `{}`", path.display()),
                None => format!("the output `{}`", spec.location),
            };
            return Ok(Some(InputProblem {
                option,
                message: format!("{what} {conflict}"),
                help: "write to another place; what is read must stay as it is until the run is over".to_string(),
            }));
        }
    }
    Ok(match (&output, &rejects) {
        (Some(output), Some(rejects)) => rejects_problem(spec, output, rejects),
        _ => None,
    })
}

/// Rejects lie beside the output, where nobody takes them for it.
fn rejects_problem(spec: &SinkSpec, output: &Path, rejects: &Path) -> Option<InputProblem> {
    let (real_output, real_rejects) = (real_path(output), real_path(rejects));
    let relation = if real_output == real_rejects {
        "is the output itself"
    } else if spec.is_folder() && real_rejects.strip_prefix(&real_output).is_ok_and(is_visible) {
        "lies within the output, where it would be read as data"
    } else if real_output.strip_prefix(&real_rejects).is_ok_and(is_of_rejects) {
        "has a folder for dropped documents where the output is to go"
    } else {
        return None;
    };
    Some(InputProblem {
        option: Some("rejects"),
        message: format!("the folder of rejects `{}` {relation}", rejects.display()),
        help: "name another folder, beside the output".to_string(),
    })
}

/// Whether a reader of the folder above would come here.
fn is_visible(below: &Path) -> bool {
    below.components().all(|part| !part.as_os_str().to_string_lossy().starts_with(['.', '_']))
}

/// Whether a name in the folder of rejects is one that a run gives.
fn is_of_rejects(below: &Path) -> bool {
    let first = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    first.is_some_and(|name| name == "rejects.jsonl" || name.starts_with("dropped"))
}

/// Everything that a plan reads, subqueries and views included.
fn inputs_of(plan: &LogicalPlan) -> Result<Vec<Input>> {
    let mut inputs = vec![];
    let mut views = vec![];
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
        {
            if let Some(table) = provider.downcast_ref::<FileTable>() {
                let files = table.paths().map(Path::to_path_buf).collect();
                inputs.push(Input::Source { location: table.location().to_string(), files });
            } else if let Some(view) = provider.get_logical_plan() {
                views.push(view.into_owned());
            }
        }
        if let Some(index) = VerbNode::of(node).and_then(|node| node.verb.index()) {
            inputs.push(Input::Index(index.path.clone()));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    for view in views {
        inputs.extend(inputs_of(&view)?);
    }
    Ok(inputs)
}

impl Input {
    /// How an output there stands to this input, if it must not.
    fn conflict(&self, output: &Path) -> Option<String> {
        let place = real_path(output);
        match self {
            Input::Index(path) => {
                let index = real_path(Path::new(path));
                let touches = place.starts_with(&index) || index.starts_with(&place);
                touches.then(|| format!("and the index `{path}` lie within each other"))
            }
            Input::Source { location, .. } if location == "-" => None,
            Input::Source { location, files } => {
                if files.iter().any(|file| real_path(file) == place) {
                    return Some("is an input of this statement".to_string());
                }
                if let Some(file) = files.iter().find(|file| real_path(file).starts_with(&place)) {
                    return Some(format!("holds an input of this statement, `{}`", file.display()));
                }
                let folder = Path::new(location);
                let is_looked_at = (store::is_folder(folder) && place.starts_with(real_path(folder)))
                    || (!store::exists(folder) && matches_within(location, &place));
                is_looked_at.then(|| format!("lies within an input of this statement, `{location}`"))
            }
        }
    }
}

/// Whether a pattern would match an output at `place`, or a file in it.
fn matches_within(pattern: &str, place: &Path) -> bool {
    if is_remote(Path::new(pattern)) {
        return store::matches(pattern, place);
    }
    // What comes before the first wildcard is a path like others.
    let is_wild = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    let path = Path::new(pattern);
    let base: PathBuf = path.components().take_while(|part| !is_wild(part)).collect();
    let Ok(below) = place.strip_prefix(real_path(&base)) else { return false };
    let rest: PathBuf = path.components().skip_while(|part| !is_wild(part)).collect();
    store::matches(&rest.to_string_lossy(), below)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn source(location: &Path, files: &[&Path]) -> Input {
        let files = files.iter().map(|path| path.to_path_buf()).collect();
        Input::Source { location: location.display().to_string(), files }
    }

    #[test]
    fn an_output_stands_apart_from_its_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::fs::create_dir(folder.join("in")).unwrap();
        let file = folder.join("in/a.jsonl");
        std::fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, folder.join("link.jsonl")).unwrap();
        let one = source(&file, &[&file]);
        for (output, told) in [
            ("in/a.jsonl", Some("is an input")),
            ("in/../in/a.jsonl", Some("is an input")),
            ("link.jsonl", Some("is an input")),
            ("in/", Some("holds an input")),
            (".", Some("holds an input")),
            ("in/b.jsonl", None),
            ("out/", None),
            ("in/out/", None),
        ] {
            let found = one.conflict(&folder.join(output));
            assert!(found.as_deref().unwrap_or_default().contains(told.unwrap_or_default()), "{output}: {found:?}");
            assert_eq!(found.is_some(), told.is_some(), "{output}: {found:?}");
        }
        let whole = source(&folder.join("in"), &[&file]);
        assert!(whole.conflict(&folder.join("in/out/")).unwrap().contains("lies within"));
        assert!(whole.conflict(&folder.join("input/")).is_none());
        let pattern = source(&folder.join("in/*.jsonl"), &[&file]);
        assert!(pattern.conflict(&folder.join("in/new.jsonl")).unwrap().contains("lies within"));
        assert!(pattern.conflict(&folder.join("in/new.csv")).is_none());
        assert!(pattern.conflict(&folder.join("in/out/")).is_none());
        let index = Input::Index(folder.join("seen").display().to_string());
        assert!(index.conflict(&folder.join("seen/out/")).is_some());
        assert!(index.conflict(folder).is_some());
        assert!(index.conflict(&folder.join("out/")).is_none());
    }
}
