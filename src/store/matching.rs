//! Which files a pattern or a folder means.
//!
//! Invariant: each file comes once, whatever links lead to folders that they are in; the order is that of the paths. Names
//! need not be text: where they are shown or compared with a pattern, U+FFFD stands for what is none.
//! Not here: what is in the files.

use super::files::{exists, is_folder, is_taken};
use super::location::real_path;
use super::objects::{is_data, objects_below};
use super::remote::is_remote;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What matches a pattern with `*`, `?`, `[…]` and `**`, in order. `**` is any number of folders, and at the end everything
/// in them; it does not follow links that lead to where it came from.
///
/// `{a,b}` is not known here: who has such a pattern asks for each of its [`alternatives`].
pub fn matching(pattern: &str) -> Result<Vec<PathBuf>, NoMatch> {
    glob::Pattern::new(pattern).map_err(|error| NoMatch::Pattern(error.msg, error.pos))?;
    let mut parts: Vec<Part<'_>> = Vec::new();
    for part in pattern.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match part {
            "**" if matches!(parts.last(), Some(Part::Any)) => {}
            "**" => parts.push(Part::Any),
            part if part.contains(['*', '?', '[']) => {
                let like = glob::Pattern::new(part).map_err(|error| NoMatch::Pattern(error.msg, error.pos))?;
                parts.push(Part::Like(like));
            }
            part => parts.push(Part::Name(part)),
        }
    }
    if let Some(Part::Any) = parts.last() {
        parts.push(Part::Like(glob::Pattern::new("*").map_err(|error| NoMatch::Pattern(error.msg, error.pos))?));
    }
    let start = PathBuf::from(if pattern.starts_with('/') { "/" } else { "" });
    let mut found = vec![];
    collect(start, &parts, &mut found)?;
    found.sort();
    found.dedup();
    Ok(found)
}

/// The patterns that `{a,b}` in a pattern stands for, in order; the pattern itself, if it has none.
pub fn alternatives(pattern: &str) -> Vec<String> {
    let Some((before, choices, after)) = first_choice(pattern) else { return vec![pattern.to_string()] };
    choices.into_iter().flat_map(|choice| alternatives(&format!("{before}{choice}{after}"))).collect()
}

/// What stands before the first `{…}` that has a comma, its parts, and what stands behind it.
fn first_choice(pattern: &str) -> Option<(&str, Vec<&str>, &str)> {
    for (open, _) in pattern.match_indices('{') {
        let (mut depth, mut starts) = (0usize, vec![open + 1]);
        for (at, byte) in pattern.bytes().enumerate().skip(open) {
            match byte {
                b'{' => depth += 1,
                b',' if depth == 1 => starts.push(at + 1),
                b'}' if depth == 1 && starts.len() > 1 => {
                    let ends = starts.iter().skip(1).map(|start| start - 1).chain([at]);
                    let choices = starts.iter().zip(ends).map(|(start, end)| &pattern[*start..end]).collect();
                    return Some((&pattern[..open], choices, &pattern[at + 1..]));
                }
                b'}' if depth == 1 => break,
                b'}' => depth -= 1,
                _ => {}
            }
        }
    }
    None
}

/// Whether a pattern matches a path.
pub fn matches(pattern: &str, path: &Path) -> bool {
    let options = glob::MatchOptions { require_literal_separator: true, ..HIDDEN };
    glob::Pattern::new(pattern).is_ok_and(|pattern| pattern.matches_with(&path.to_string_lossy(), options))
}

/// Names that begin with a dot are matched only by patterns that have it.
const HIDDEN: glob::MatchOptions =
    glob::MatchOptions { case_sensitive: true, require_literal_separator: false, require_literal_leading_dot: true };

/// Why nothing could be matched with a pattern.
#[derive(Debug)]
pub enum NoMatch {
    /// It is not a pattern: what is wrong, and after how many bytes.
    Pattern(&'static str, usize),
    /// A folder could not be read.
    Unreadable(PathBuf, io::Error),
}

/// What a pattern says between two slashes.
enum Part<'a> {
    Name(&'a str),
    Like(glob::Pattern),
    /// Folders, any number of them.
    Any,
}

/// Adds what lies below `path` as `parts` say.
fn collect(path: PathBuf, parts: &[Part<'_>], found: &mut Vec<PathBuf>) -> Result<(), NoMatch> {
    let Some((part, rest)) = parts.split_first() else {
        if is_taken(&path) {
            found.push(path);
        }
        return Ok(());
    };
    match part {
        Part::Name(name) => collect(path.join(name), rest, found),
        Part::Like(pattern) => {
            for name in entries(&path)? {
                if pattern.matches_with(&name.to_string_lossy(), HIDDEN) {
                    collect(path.join(name), rest, found)?;
                }
            }
            Ok(())
        }
        Part::Any => {
            let mut chain = real_path(&path).ancestors().filter_map(|folder| identity(folder).ok()).collect();
            collect_below(path, rest, &mut chain, found)
        }
    }
}

/// Adds what lies in a folder, and in all folders below it. `chain` are the folders that lead there.
fn collect_below(
    folder: PathBuf,
    parts: &[Part<'_>],
    chain: &mut Vec<(u64, u64)>,
    found: &mut Vec<PathBuf>,
) -> Result<(), NoMatch> {
    for name in entries(&folder)? {
        let below = folder.join(&name);
        if name.to_string_lossy().starts_with('.') || !is_folder(&below) {
            continue;
        }
        let identity = identity(&below).map_err(|error| NoMatch::Unreadable(below.clone(), error))?;
        if !chain.contains(&identity) {
            chain.push(identity);
            collect_below(below, parts, chain, found)?;
            chain.pop();
        }
    }
    collect(folder, parts, found)
}

/// What tells a folder from all others.
fn identity(folder: &Path) -> io::Result<(u64, u64)> {
    fs::metadata(folder).map(|found| (found.dev(), found.ino()))
}

/// The names in a folder; none if it is no folder.
fn entries(folder: &Path) -> Result<Vec<OsString>, NoMatch> {
    let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let read = || fs::read_dir(shown)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<OsString>>>();
    match read() {
        Err(_) if !exists(shown) || !is_folder(shown) => Ok(vec![]),
        read => read.map_err(|error| NoMatch::Unreadable(folder.to_path_buf(), error)),
    }
}

/// Everything below a folder that is no folder, as far as it is data: names that begin with `_` or `.` are not. In order of
/// the paths; for what cannot be read, where it is and why.
pub fn data_below(
    folder: &Path,
    follows_links: bool,
) -> Box<dyn Iterator<Item = Result<PathBuf, (PathBuf, io::Error)>>> {
    let root = folder.to_path_buf();
    if is_remote(folder) {
        return match objects_below(folder) {
            Ok(found) => {
                Box::new(found.into_iter().map(|object| object.path).filter(move |path| is_data(&root, path)).map(Ok))
            }
            Err(error) => Box::new(std::iter::once(Err((root, error)))),
        };
    }
    let start = real_path(folder);
    // A link to a folder that the walk began in leads to everything, once more.
    let leads_out = move |entry: &walkdir::DirEntry| {
        let is_link = entry.path_is_symlink() && entry.file_type().is_dir();
        is_link && start.starts_with(real_path(entry.path())) && entry.depth() > 0
    };
    let is_data = move |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !entry.file_name().to_string_lossy().starts_with(['.', '_']) && !leads_out(entry)
    };
    let entries = walkdir::WalkDir::new(folder).follow_links(follows_links).sort_by_file_name().into_iter();
    Box::new(entries.filter_entry(is_data).filter_map(move |entry| match entry {
        Ok(entry) => (!entry.file_type().is_dir()).then(|| Ok(entry.into_path())),
        // A link to a folder that it is in: everything there comes without it.
        Err(error) if error.loop_ancestor().is_some() => None,
        Err(error) => {
            let path = error.path().unwrap_or(&root).to_path_buf();
            Some(Err((path, error.into_io_error().unwrap_or_else(|| io::Error::other("it cannot be read")))))
        }
    }))
}

/// A path as text; bytes that are no text are shown by their numbers (`\xff`), so that two names stay two.
pub fn shown_path(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut shown = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        shown.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
    }
    shown
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    fn below(folder: &Path, pattern: &str) -> Vec<String> {
        let found = matching(folder.join(pattern).to_str().unwrap()).unwrap();
        found.iter().map(|path| shown_path(path.strip_prefix(folder).unwrap())).collect()
    }

    #[test]
    fn braces_stand_for_each_of_their_parts() {
        assert_eq!(alternatives("a/*.jsonl"), ["a/*.jsonl"]);
        assert_eq!(alternatives("{x,y}/0{1,2}.gz"), ["x/01.gz", "x/02.gz", "y/01.gz", "y/02.gz"]);
        assert_eq!(alternatives("a{b,c{d,e}}"), ["ab", "acd", "ace"]);
        for plain in ["a{b}", "a{b,c", "}{", "{}"] {
            assert_eq!(alternatives(plain), [plain]);
        }
    }

    #[test]
    fn names_that_are_no_text_are_matched_and_shown() {
        let folder = tempfile::tempdir().unwrap();
        for name in [&b"a.jsonl"[..], b"b\xff.jsonl", b"b\xfe.jsonl", b"c\xff.txt"] {
            fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
        }
        for pattern in ["*.jsonl", "**/*.jsonl"] {
            assert_eq!(below(folder.path(), pattern), ["a.jsonl", "b\\xfe.jsonl", "b\\xff.jsonl"]);
        }
        assert_eq!(below(folder.path(), "b?.jsonl").len(), 2);
        assert_eq!(data_below(folder.path(), true).count(), 4);
    }

    #[test]
    fn links_that_lead_back_give_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir_all(&a).unwrap();
        fs::create_dir_all(&b).unwrap();
        fs::write(a.join("1.jsonl"), "").unwrap();
        symlink("..", a.join("up")).unwrap();
        symlink("/", a.join("root")).unwrap();
        symlink("../b", a.join("to_b")).unwrap();
        symlink("../a", b.join("to_a")).unwrap();
        // A link to a folder beside it is another way to its files, and no loop.
        assert_eq!(below(folder.path(), "**/*.jsonl"), ["a/1.jsonl", "b/to_a/1.jsonl"]);
        let walked: Vec<_> = data_below(folder.path(), true).map(Result::unwrap).collect();
        assert!(walked.contains(&a.join("1.jsonl")), "{walked:?}");
    }

    #[test]
    fn two_stars_at_the_end_mean_everything_below() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("x/y")).unwrap();
        for name in ["0.jsonl", "x/1.jsonl", "x/y/2.jsonl", "x/.hidden"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let files = |pattern| -> Vec<String> {
            below(folder.path(), pattern).into_iter().filter(|name| name.contains("jsonl")).collect()
        };
        assert_eq!(files("**"), ["0.jsonl", "x/1.jsonl", "x/y/2.jsonl"]);
        assert_eq!(files("x/**"), ["x/1.jsonl", "x/y/2.jsonl"]);
        assert_eq!(files("*/[12].jsonl"), ["x/1.jsonl"]);
        assert!(files("nowhere/**/*.jsonl").is_empty());
    }
}
