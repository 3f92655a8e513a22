//! Finds the files of a source: one file, a glob, a folder, and the hive partitions in their paths.
//!
//! Invariant: files come sorted by path, each once, and their paths look as the user wrote them
//! (a relative location gives relative paths), so that `_file` and row positions do not depend on the machine.
//! Not here: what is inside the files.

use super::objects::discover_objects;
use super::spec::{Format, SourceSpec};
use crate::diag::nearest;
use crate::sinks::check_complete;
use crate::store::{
    Known, NoMatch, StoredFile, alternatives, data_below, exists, is_file, is_folder, is_remote, matching, names_in,
    real_path, settle_around, settle_within, shown_path, stat,
};
use crate::{Error, Result};
use arrow::datatypes::DataType;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

/// One file of a source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SourceFile {
    /// Where it is.
    pub path: PathBuf,
    /// The path as shown in `_file`.
    pub name: String,
    /// Its size on disk.
    pub size_bytes: u64,
    /// When it was last written, where the disk tells.
    pub modified: Option<SystemTime>,
    /// The version of the object that it is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// `key=value` folders on the way to it.
    pub partitions: Vec<(String, Option<String>)>,
}

impl SourceFile {
    /// Opens it to be read. An object is not asked for what is known of it already.
    pub fn open(&self) -> io::Result<StoredFile> {
        match is_remote(&self.path) {
            true => StoredFile::open_known(&self.path, Known { n_bytes: self.size_bytes, etag: self.etag.clone() }),
            false => StoredFile::open(&self.path),
        }
    }
}

/// The files of a source and the one format they share.
#[derive(Clone, Debug)]
pub(crate) struct Discovered {
    pub files: Vec<SourceFile>,
    pub format: Format,
}

/// Finds the files that `spec` names and settles their format.
///
/// What a run has committed is carried out first. If files came or went meanwhile by another commit, they are looked for
/// once more, so that those found are of one run.
pub(crate) fn discover(spec: &SourceSpec) -> Result<Discovered> {
    if is_remote(Path::new(&spec.location)) {
        return discover_objects(spec);
    }
    let base = base_of(&spec.location);
    for _ in 0..N_LOOKS {
        settle_around(&base)?;
        let before = manifest_stamps(&base);
        let found = find(spec);
        let mut has_changed = settle_around(&base)?;
        if let Ok(found) = &found {
            has_changed |= settle_within(&base, found.files.iter().map(|file| file.path.as_path()))?;
        }
        if has_changed || manifest_stamps(&base) != before {
            continue;
        }
        if let Ok(found) = &found
            && is_folder(Path::new(&spec.location))
        {
            check_complete(&base, found.files.iter().map(|file| file.path.as_path())).map_err(Error::Data)?;
        }
        return found;
    }
    Err(Error::Data(format!(
        "'{}' is being replaced again and again; wait until the runs that write there end",
        spec.location
    )))
}

/// How often files are looked for while others replace them.
pub(super) const N_LOOKS: usize = 20;

/// The part of a location before its first wildcard.
fn base_of(location: &str) -> PathBuf {
    let path = Path::new(location);
    let is_wild = |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{']);
    match exists(path) {
        true => path.to_path_buf(),
        false => path.components().take_while(|part| !is_wild(part)).collect(),
    }
}

/// What tells the manifests of a folder, and of those above, from later ones.
fn manifest_stamps(base: &Path) -> Vec<(PathBuf, u64, Option<SystemTime>)> {
    let base = real_path(base);
    let manifests = base.ancestors().map(|folder| folder.join("_manifest.json"));
    let stamp = |path: PathBuf| stat(&path).ok().map(|found| (path, found.identity, found.modified));
    manifests.filter_map(stamp).collect()
}

fn find(spec: &SourceSpec) -> Result<Discovered> {
    let location = spec.location.as_str();
    let path = Path::new(location);
    if is_folder(path) {
        let found = walk_folder(path)?;
        choose_in_folder(spec, found)
    } else if exists(path) {
        let file = source_file(path.to_path_buf(), false)?;
        let format = one_format(spec, std::slice::from_ref(&file))?;
        Ok(Discovered { files: vec![file], format })
    } else if let patterns = alternatives(location)
        && (patterns.len() > 1 || location.contains(['*', '?', '[']))
    {
        let mut files = vec![];
        for pattern in &patterns {
            files.extend(match_glob(pattern)?);
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files.dedup_by(|one, other| one.path == other.path);
        let format = one_format(spec, &files)?;
        Ok(Discovered { files, format })
    } else {
        Err(no_such_file(location))
    }
}

fn source_file(path: PathBuf, in_many: bool) -> Result<SourceFile> {
    let found = stat(&path).map_err(|e| Error::io(&path, e))?;
    let (size_bytes, modified) = (found.n_bytes, found.modified);
    let partitions = if in_many { hive_partitions(&path) } else { Vec::new() };
    Ok(SourceFile { name: shown_path(&path), path, size_bytes, modified, etag: None, partitions })
}

fn walk_folder(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    for path in data_below(root, true) {
        let path = path.map_err(|(path, error)| Error::io(path, error))?;
        if is_file(&path) {
            files.push(source_file(path, true)?);
        }
    }
    Ok(files)
}

fn match_glob(pattern: &str) -> Result<Vec<SourceFile>> {
    let found = matching(pattern).map_err(|error| match error {
        NoMatch::Pattern(problem, at) => {
            Error::Data(format!("`{pattern}` is not a valid glob: {problem} at character {}", at + 1))
        }
        NoMatch::Unreadable(path, error) => Error::io(path, error),
    })?;
    let is_asked_for = |path: &PathBuf| is_file(path) && !is_hidden_from(path, pattern);
    let files: Vec<SourceFile> =
        found.into_iter().filter(is_asked_for).map(|path| source_file(path, true)).collect::<Result<_>>()?;
    if files.is_empty() {
        return Err(Error::Data(format!("no file matches '{pattern}'{}", what_is_there(Path::new(pattern)))));
    }
    Ok(files)
}

/// Whether a file that a pattern matches is no data: a name on the way to it begins with `_` (a manifest, say), and the
/// pattern does not say so there. `glob` itself minds the names that begin with `.`.
pub(super) fn is_hidden_from(path: &Path, pattern: &str) -> bool {
    let names = |path: &Path| -> Vec<String> {
        let parts = path.components().filter(|part| *part != Component::CurDir);
        parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let (path, pattern) = (names(path), names(Path::new(pattern)));
    // `**` stands for any number of folders, so what is before it is counted from the front, what is behind from the end.
    let first_any = pattern.iter().position(|part| part == "**").unwrap_or(pattern.len());
    let last_any = pattern.iter().rposition(|part| part == "**").map_or(0, |at| at + 1);
    let n_behind = pattern.len() - last_any;
    let asked = |at: usize| match path.len() - at {
        _ if at < first_any => pattern.get(at),
        from_end if from_end <= n_behind => pattern.get(pattern.len() - from_end),
        _ => None,
    };
    let is_asked_for = |at: usize| asked(at).is_some_and(|part| part.starts_with('_'));
    path.iter().enumerate().any(|(at, name)| name.starts_with('_') && !is_asked_for(at))
}

/// What files the folder of a path has; or which folder of the path is not there.
fn what_is_there(path: &Path) -> String {
    let has_wildcard = |part: &Path| part.to_string_lossy().contains(['*', '?', '[']);
    let mut folder = path.parent();
    let mut missing = None;
    while let Some(parent) = folder {
        let shown = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        if !has_wildcard(parent) && !is_folder(shown) {
            missing = Some(shown);
        } else if !has_wildcard(parent) {
            if let Some(missing) = missing {
                return format!("\nthere is no folder '{}'", missing.display());
            }
            let names = sibling_names(shown);
            let listed: Vec<_> = names.iter().take(5).map(|name| format!("`{name}`")).collect();
            let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
            return if listed.is_empty() {
                format!("\nthe folder '{}' is empty", shown.display())
            } else {
                format!("\nthe folder '{}' has {}{more}", shown.display(), listed.join(", "))
            };
        }
        folder = parent.parent();
    }
    String::new()
}

fn sibling_names(folder: &Path) -> Vec<String> {
    let names = names_in(folder).unwrap_or_default();
    names.into_iter().filter(|name| !name.starts_with('.')).collect()
}

fn no_such_file(location: &str) -> Error {
    let path = Path::new(location);
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let help = match nearest(&name, sibling_names(folder)) {
        Some(near) if folder == Path::new(".") => format!("; did you mean '{near}'?"),
        Some(near) => format!("; did you mean '{}'?", folder.join(near).display()),
        None => what_is_there(path),
    };
    Error::Data(format!("no file or folder '{location}'{help}"))
}

fn format_of(file: &SourceFile) -> Option<Format> {
    Format::of_file_name(&file.name)
}

/// The format of files that were named one by one or by a glob: all of them are meant.
pub(super) fn one_format(spec: &SourceSpec, files: &[SourceFile]) -> Result<Format> {
    if let Some(format) = spec.options.format {
        return Ok(format);
    }
    if let Some(unknown) = files.iter().find(|file| format_of(file).is_none()) {
        return Err(Error::Data(format!(
            "cannot tell the format of '{}' from its ending; say it with WITH (format = 'jsonl'), or one of {}",
            unknown.name,
            Format::NAMES.join(", ")
        )));
    }
    same_format(spec, files)
}

/// In a folder, files of unknown endings lie about; a set format picks its own files.
pub(super) fn choose_in_folder(spec: &SourceSpec, found: Vec<SourceFile>) -> Result<Discovered> {
    let shown = &spec.location;
    if found.is_empty() {
        return Err(Error::Data(format!(
            "the folder '{shown}' has no files (names that begin with `.` or `_` are skipped)"
        )));
    }
    if let Some(format) = spec.options.format {
        let (own, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|file| format_of(file) == Some(format));
        let files = if own.is_empty() { others } else { own };
        return Ok(Discovered { files, format });
    }
    let n_found = found.len();
    let files: Vec<_> = found.into_iter().filter(|file| format_of(file).is_some()).collect();
    if files.is_empty() {
        return Err(Error::Data(format!(
            "none of the {n_found} files in '{shown}' has an ending that tells its format; \
             say it with WITH (format = 'jsonl'), or one of {}",
            Format::NAMES.join(", ")
        )));
    }
    // What tells of the data is a text beside them, not one of them.
    match same_format(spec, &files) {
        Ok(format) => Ok(Discovered { files, format }),
        Err(mixed) => {
            let files: Vec<_> = files.into_iter().filter(|file| !is_about_data(&file.name)).collect();
            let format = if files.is_empty() { Err(mixed) } else { same_format(spec, &files) }?;
            Ok(Discovered { files, format })
        }
    }
}

/// Whether a text tells of the files beside it: a README, a licence.
fn is_about_data(name: &str) -> bool {
    const NAMES: [&str; 9] =
        ["readme", "license", "licence", "notice", "changelog", "changes", "citation", "contributing", "authors"];
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let (stem, ending) = name.split_once('.').unwrap_or((&name, ""));
    NAMES.contains(&stem) && matches!(ending, "md" | "txt" | "markdown" | "rst")
}

fn same_format(spec: &SourceSpec, files: &[SourceFile]) -> Result<Format> {
    let mut seen: Vec<(Format, &SourceFile)> = Vec::new();
    for file in files {
        if let Some(format) = format_of(file)
            && !seen.iter().any(|(known, _)| *known == format)
        {
            seen.push((format, file));
        }
    }
    match seen.as_slice() {
        [] => Err(crate::bug!("no format for '{}'", spec.location)),
        [(format, _)] => Ok(*format),
        [(first, a), (second, b), ..] => Err(Error::Data(format!(
            "'{}' holds files of different formats: '{}' is {first}, '{}' is {second}; \
             choose with a glob such as '*.{first}', or with WITH (format = '{first}')",
            spec.location, a.name, b.name
        ))),
    }
}

/// `lang=en/year=2024` on the way to a file. The file's own name does not count.
pub(super) fn hive_partitions(path: &Path) -> Vec<(String, Option<String>)> {
    let mut partitions: Vec<(String, Option<String>)> = Vec::new();
    for part in path.parent().into_iter().flat_map(Path::components) {
        let part = part.as_os_str().to_string_lossy();
        if let Some((key, value)) = part.split_once('=')
            && !key.is_empty()
        {
            let key = percent_decode(key);
            let value = (value != "__HIVE_DEFAULT_PARTITION__").then(|| percent_decode(value));
            if !partitions.iter().any(|(known, _)| *known == key) {
                partitions.push((key, value));
            }
        }
    }
    partitions
}

fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = (bytes[i] == b'%').then(|| text.get(i + 1..i + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                i += 3;
            }
            None => {
                decoded.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_string())
}

/// The partition keys of all files, in order of first sight, and their types: whole numbers or truth values if all
/// values are, else text.
pub(crate) fn partition_columns(files: &[SourceFile]) -> Vec<(String, DataType)> {
    let mut keys: Vec<String> = Vec::new();
    for (key, _) in files.iter().flat_map(|file| &file.partitions) {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    keys.into_iter()
        .map(|key| {
            let values: BTreeSet<&str> = files
                .iter()
                .flat_map(|file| &file.partitions)
                .filter(|(known, _)| *known == key)
                .filter_map(|(_, value)| value.as_deref())
                .collect();
            let all = |is_it: fn(&str) -> bool| !values.is_empty() && values.iter().all(|value| is_it(value));
            let data_type = if all(is_whole_number) {
                DataType::Int64
            } else if all(|value| matches!(value, "true" | "false")) {
                DataType::Boolean
            } else {
                DataType::Utf8
            };
            (key, data_type)
        })
        .collect()
}

/// `007` is a name, not a number: reading it as 7 would lose it.
fn is_whole_number(value: &str) -> bool {
    value.parse::<i64>().is_ok_and(|number| number.to_string() == value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn names(folder: &tempfile::TempDir, pattern: &str) -> Result<Vec<String>> {
        let location = folder.path().join(pattern);
        let found = discover(&SourceSpec::new(location.to_string_lossy()))?;
        let strip = |file: &SourceFile| file.path.strip_prefix(folder.path()).unwrap().display().to_string();
        Ok(found.files.iter().map(strip).collect())
    }

    #[test]
    fn folders_are_read_deep_in_order_without_hidden_files() {
        let folder = folder(&["b.jsonl", "a/z.jsonl", ".hidden/x.jsonl", "_tmp.jsonl", "a/.y.jsonl", "LICENSE"]);
        assert_eq!(names(&folder, "").unwrap(), ["a/z.jsonl", "b.jsonl"]);
        assert_eq!(names(&folder, "**/*.jsonl").unwrap(), ["a/z.jsonl", "b.jsonl"]);
    }

    #[test]
    fn a_glob_gives_hidden_files_only_if_it_says_so() {
        let folder = folder(&["a.jsonl", "_m.jsonl", "_d/b.jsonl", "c/_d/e.jsonl", "c/f.jsonl", "c/_g.jsonl"]);
        for (pattern, expected) in [
            ("*", &["a.jsonl"][..]),
            ("_*.jsonl", &["_m.jsonl"]),
            ("*/*.jsonl", &["c/f.jsonl"]),
            ("_d/*", &["_d/b.jsonl"]),
            ("_*/*", &["_d/b.jsonl"]),
            ("**/*.jsonl", &["a.jsonl", "c/f.jsonl"]),
            ("**/_*.jsonl", &["_m.jsonl", "c/_g.jsonl"]),
            ("**/_d/*.jsonl", &["_d/b.jsonl", "c/_d/e.jsonl"]),
            ("c/**/*.jsonl", &["c/f.jsonl"]),
            ("_m.jsonl", &["_m.jsonl"]),
        ] {
            assert_eq!(names(&folder, pattern).unwrap(), expected, "{pattern}");
        }
        let told = names(&folder, "*/*/*.jsonl").unwrap_err().to_string();
        assert!(told.contains("no file matches"), "{told}");
    }

    #[test]
    fn misses_say_what_is_there() {
        let folder = folder(&["docs.jsonl", "more.csv"]);
        let message = |pattern: &str| names(&folder, pattern).unwrap_err().to_string();
        assert!(message("docs.json").contains("did you mean"), "{}", message("docs.json"));
        assert!(message("*.parquet").contains("`docs.jsonl`, `more.csv`"), "{}", message("*.parquet"));
        assert!(message("").contains("different formats"), "{}", message(""));
    }

    #[test]
    fn a_set_format_picks_its_files_from_a_mixed_folder() {
        let folder = folder(&["docs.jsonl", "more.csv"]);
        let mut spec = SourceSpec::new(folder.path().to_string_lossy());
        spec.options.format = Some(Format::Csv);
        let found = discover(&spec).unwrap();
        assert_eq!(found.files.len(), 1);
        assert!(found.files[0].name.ends_with("more.csv"));
    }

    #[test]
    fn partitions_come_from_folders_only() {
        let paths = ["lang=en/n=1/ok=true/a=b.jsonl", "lang=d%65/n=2/ok=false/a.jsonl", "lang=x/n=007/ok=True/a.jsonl"];
        let folder = folder(&paths);
        let found = discover(&SourceSpec::new(folder.path().to_string_lossy())).unwrap();
        let langs: Vec<_> = found.files.iter().map(|file| file.partitions[0].1.clone().unwrap()).collect();
        assert_eq!(langs, ["de", "en", "x"]);
        let types =
            |files: &[SourceFile]| partition_columns(files).into_iter().map(|(_, data_type)| data_type).collect();
        let all: Vec<DataType> = types(&found.files);
        assert_eq!(all, [DataType::Utf8, DataType::Utf8, DataType::Utf8]);
        let two: Vec<DataType> = types(&found.files[..2]);
        assert_eq!(two, [DataType::Utf8, DataType::Int64, DataType::Boolean]);
    }
}
