//! What a run relies on: lookups, appends all or nothing, damage that is told.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::dedup::{Budget, FixedBudget};
use crate::ops::dedup::{HashFamily, Normalize};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

fn fuzzy() -> IndexParameters {
    IndexParameters::Fuzzy {
        bands: 14,
        rows: 8,
        shingle: "words:5".parse().unwrap(),
        normalize: Normalize::Words,
        hash: HashFamily::Native,
        seed: 1,
    }
}

fn unlimited() -> Arc<dyn Budget> {
    Arc::new(FixedBudget::new())
}

/// The keys of each document, which is named after its first.
type Docs<const K: usize> = Vec<Vec<[u64; K]>>;

fn stage<const K: usize>(folder: &Path, parameters: &IndexParameters, docs: &Docs<K>, named: bool) -> StagedAppend {
    let mut appender = IndexWriter::open(folder, parameters).unwrap().appender().unwrap();
    let first = appender.first_ordinal();
    let mut records: Vec<([u64; K], u64)> =
        (first..).zip(docs).flat_map(|(ordinal, keys)| keys.iter().map(move |key| (*key, ordinal))).collect();
    records.sort_unstable();
    for (key, ordinal) in records {
        appender.push_record(key, ordinal).unwrap();
    }
    for keys in docs.iter().filter(|_| named) {
        appender.push_name(keys.first().map(|key| format!("{key:?}")).as_deref()).unwrap();
    }
    appender.stage(docs.len() as u64).unwrap()
}

fn append<const K: usize>(folder: &Path, parameters: &IndexParameters, docs: &Docs<K>) {
    stage(folder, parameters, docs, true).commit().unwrap();
}

/// What each key should be found with.
fn expected<'a, const K: usize>(docs: impl IntoIterator<Item = &'a Vec<[u64; K]>>) -> BTreeMap<[u64; K], u64> {
    let mut least = BTreeMap::new();
    for (ordinal, keys) in (0..).zip(docs) {
        for key in keys {
            least.entry(*key).or_insert(ordinal);
        }
    }
    least
}

/// Asks for every key, for its neighbours, and for some of them twice.
fn assert_holds<const K: usize>(folder: &Path, expected: &BTreeMap<[u64; K], u64>) {
    let mut asked: BTreeSet<[u64; K]> = expected.keys().copied().collect();
    for key in expected.keys() {
        for neighbour in [key[K - 1].wrapping_sub(1), key[K - 1].wrapping_add(1)] {
            let mut other = *key;
            other[K - 1] = neighbour;
            asked.insert(other);
        }
    }
    let index = Index::open(folder).unwrap();
    let mut cursor = index.cursor(&unlimited()).unwrap();
    for key in asked {
        assert_eq!(cursor.seek(key).unwrap(), expected.get(&key).copied(), "{key:x?}");
        assert_eq!(cursor.seek(key).unwrap(), expected.get(&key).copied(), "{key:x?} again");
    }
    // Far apart, as a small run against a large index asks.
    let mut cursor = index.cursor(&unlimited()).unwrap();
    for (key, ordinal) in expected.iter().step_by(7) {
        assert_eq!(cursor.seek(*key).unwrap(), Some(*ordinal), "{key:x?}");
    }
    assert_eq!(verify(folder).unwrap().problems, Vec::<String>::new());
}

fn assert_named<const K: usize>(folder: &Path, docs: &[Vec<[u64; K]>]) {
    let index = Index::open(folder).unwrap();
    let mut names = index.names(&unlimited()).unwrap();
    for (ordinal, keys) in (0..).zip(docs) {
        let name = keys.first().map(|key| format!("{key:?}"));
        assert_eq!(names.get(ordinal).unwrap(), name.as_deref(), "document {ordinal}");
    }
}

/// Documents with keys that repeat, lie close together, far apart, and at the ends.
fn docs<const K: usize>() -> impl Strategy<Value = Docs<K>> {
    let word = prop_oneof![0..40u64, any::<u64>(), Just(u64::MAX), Just(u64::MAX - 1), (0..9u64).prop_map(|n| n << 60)];
    let key = proptest::array::uniform(word);
    proptest::collection::vec(proptest::collection::vec(key, 0..4), 0..60)
}

fn check_life<const K: usize>(parameters: &IndexParameters, runs: &[Docs<K>]) {
    let folder = TempDir::new().unwrap();
    let (one, other) = (folder.path().join("one"), folder.path().join("other"));
    for (number, run) in runs.iter().enumerate() {
        append(&one, parameters, run);
        // Every second run goes to the other index too: merging it appends those runs.
        if number % 2 == 1 {
            append(&other, parameters, run);
        }
    }
    let mut all: Docs<K> = runs.iter().flatten().cloned().collect();
    assert_holds(&one, &expected(&all));
    assert_named(&one, &all);
    compact(&one).unwrap();
    assert_holds(&one, &expected(&all));
    assert_named(&one, &all);
    if runs.len() > 1 {
        merge(&one, std::slice::from_ref(&other)).unwrap();
        all.extend(runs.iter().skip(1).step_by(2).flatten().cloned());
        assert_holds(&one, &expected(&all));
        assert_named(&one, &all);
        let report = compact(&one).unwrap();
        assert_eq!(report.n_records_after, expected(&all).len() as u64);
        assert_holds(&one, &expected(&all));
        assert_named(&one, &all);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn a_key_is_found_with_its_first_document_whatever_was_appended_merged_and_compacted(
        runs in proptest::collection::vec(docs::<1>(), 1..5),
        exact in proptest::collection::vec(docs::<2>(), 1..5),
    ) {
        check_life(&fuzzy(), &runs);
        check_life(&IndexParameters::exact(), &exact);
    }
}

/// Keys that are spread and repeat a little.
fn many(n_docs: u64, start: u64) -> Docs<1> {
    let spread = |n: u64| [(n % 30_011).wrapping_mul(0x9e37_79b9_7f4a_7c15)];
    (start..start + n_docs).map(|n| vec![spread(3 * n), spread(3 * n + 1)]).collect()
}

#[test]
fn segments_of_many_blocks_are_searched_and_compacted() {
    let folder = TempDir::new().unwrap();
    let runs = [many(12_000, 0), many(9_000, 12_000), many(1, 21_000)];
    for run in &runs {
        append(folder.path(), &fuzzy(), run);
    }
    let all: Docs<1> = runs.concat();
    assert_holds(folder.path(), &expected(&all));
    let report = compact(folder.path()).unwrap();
    assert_eq!(report.n_segments_before, 3);
    assert!(report.n_bytes_after < report.n_bytes_before, "{report:?}");
    assert_holds(folder.path(), &expected(&all));
    assert_named(folder.path(), &all);
    let records_bytes = files(folder.path())["segment-000004.records"].len() as u64;
    assert!(records_bytes < 11 * report.n_records_after, "{records_bytes} for {report:?}");
    // There is nothing left to do, so nothing is written.
    assert_eq!(compact(folder.path()).unwrap().n_bytes_after, report.n_bytes_after);
}

#[test]
fn an_append_to_an_index_of_too_many_segments_makes_them_one() {
    let folder = TempDir::new().unwrap();
    let (small, large) = (folder.path().join("small"), folder.path().join("large"));
    append(&small, &fuzzy(), &many(2, 0));
    merge(&large, &vec![small; 128]).unwrap();
    append(&large, &fuzzy(), &many(3, 0));
    let index = Index::open(&large).unwrap();
    assert_eq!((index.n_segments(), index.n_docs()), (2, 2 * 128 + 3));
    let docs: Docs<1> = std::iter::repeat_n(many(2, 0), 128).chain([many(3, 0)]).flatten().collect();
    assert_holds(&large, &expected(&docs));
    assert_named(&large, &docs);
}

#[test]
fn an_index_describes_itself() {
    let folder = TempDir::new().unwrap();
    append(folder.path(), &fuzzy(), &many(5, 0));
    stage(folder.path(), &fuzzy(), &many(2, 5), false).commit().unwrap();
    std::fs::write(folder.path().join("segment-000007.names.tmp"), "").unwrap();
    let told = info(folder.path()).unwrap();
    let segments: Vec<_> =
        told.segments.iter().map(|s| (s.first_ordinal, s.n_docs, s.n_records, s.has_names)).collect();
    assert_eq!(segments, [(0, 5, 10, true), (5, 2, 4, false)]);
    assert_eq!((told.n_docs, told.n_records, told.version), (7, 14, 1), "keys need no more than the first version");
    assert_eq!(told.leftovers, ["segment-000007.names.tmp"]);
    let json = serde_json::to_value(&told).unwrap();
    assert_eq!(json["parameters"]["kind"], "fuzzy");
    assert_eq!(json["parameters"]["shingle"], "words:5");
}

#[test]
fn documents_without_names_stay_nameless_beside_others() {
    let folder = TempDir::new().unwrap();
    let run: Docs<1> = vec![vec![[5]], vec![]];
    stage(folder.path(), &fuzzy(), &run, false).commit().unwrap();
    append(folder.path(), &fuzzy(), &run);
    for _ in 0..2 {
        let index = Index::open(folder.path()).unwrap();
        let mut names = index.names(&unlimited()).unwrap();
        let names: Vec<_> = (0..4).map(|ordinal| names.get(ordinal).unwrap().map(str::to_string)).collect();
        assert_eq!(names, [None, None, Some("[5]".to_string()), None]);
        compact(folder.path()).unwrap();
    }
}

#[test]
fn a_key_can_point_at_an_older_document() {
    let folder = TempDir::new().unwrap();
    append(folder.path(), &fuzzy(), &vec![vec![[1]], vec![[2]]]);
    let mut appender = IndexWriter::open(folder.path(), &fuzzy()).unwrap().appender().unwrap();
    assert_eq!(appender.first_ordinal(), 2);
    appender.push_record([3], 1).unwrap();
    appender.stage(0).unwrap().commit().unwrap();
    assert_holds(folder.path(), &BTreeMap::from([([1], 0), ([2], 1), ([3], 1)]));
}

#[test]
fn what_is_not_committed_leaves_no_trace() {
    let folder = TempDir::new().unwrap();
    append(folder.path(), &fuzzy(), &many(10, 0));
    let before = files(folder.path());
    drop(IndexWriter::open(folder.path(), &fuzzy()).unwrap().appender().unwrap());
    assert_eq!(files(folder.path()), before);
    let staged = stage(folder.path(), &fuzzy(), &many(10, 10), true);
    assert_ne!(files(folder.path()), before);
    drop(staged);
    assert_eq!(files(folder.path()), before);
    // A run without documents changes nothing but who wrote the manifest.
    stage::<1>(folder.path(), &fuzzy(), &vec![], true).commit().unwrap();
    assert_eq!(files(folder.path()), before);
}

#[test]
fn mistakes_of_the_caller_are_told_and_change_nothing() {
    let folder = TempDir::new().unwrap();
    let appender = || IndexWriter::open(folder.path(), &fuzzy()).unwrap().appender().unwrap();
    let mut one = appender();
    one.push_record([7], 0).unwrap();
    assert!(one.push_record([6], 0).is_err(), "keys descend");
    assert!(one.push_record([8, 8], 0).is_err(), "a key of two words");
    assert!(one.stage(0).is_err(), "a key of a document that is not there");
    let mut two = appender();
    two.push_name(Some("a")).unwrap();
    assert!(two.stage(2).is_err(), "a name is missing");
    assert_eq!(files(folder.path()).keys().collect::<Vec<_>>(), ["lock"]);
    append(folder.path(), &fuzzy(), &many(3, 0));
    let index = Index::open(folder.path()).unwrap();
    let mut cursor = index.cursor(&unlimited()).unwrap();
    cursor.seek([9]).unwrap();
    assert!(cursor.seek([8]).is_err(), "lookups descend");
}

// ── crashes ──

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_string(), std::fs::read(path).unwrap()))
        .collect()
}

fn copy_to(folder: &Path, files: &BTreeMap<String, Vec<u8>>) {
    std::fs::create_dir_all(folder).unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
}

/// The folder as a crash leaves it is an index with the old or the new content, and takes the append again.
fn assert_survives(left: &BTreeMap<String, Vec<u8>>, old: &Docs<1>, new: &Docs<1>) -> bool {
    let folder = TempDir::new().unwrap();
    copy_to(folder.path(), left);
    let all: Docs<1> = [old.clone(), new.clone()].concat();
    let is_new = match Index::open(folder.path()) {
        Ok(index) => index.n_docs() == all.len() as u64,
        // The first append of all: there is no index yet.
        Err(error) => {
            assert!(old.is_empty() && error.to_string().contains("not an index"), "{error}");
            false
        }
    };
    if is_new || !old.is_empty() {
        assert_holds(folder.path(), &expected(if is_new { &all } else { old }));
    }
    if !is_new {
        append(folder.path(), &fuzzy(), new);
    } else {
        compact(folder.path()).unwrap();
    }
    assert_holds(folder.path(), &expected(&all));
    assert!(files(folder.path()).keys().all(|name| !name.ends_with(".tmp")));
    assert!(verify(folder.path()).unwrap().leftovers.is_empty());
    is_new
}

/// The files as they are, and with the unfinished ones cut off at some places, as after a loss of power.
fn crashes(folder: &Path) -> Vec<BTreeMap<String, Vec<u8>>> {
    let now = files(folder);
    let mut all = vec![now.clone()];
    for (name, bytes) in now.iter().filter(|(name, _)| name.ends_with(".tmp")) {
        for length in [0, bytes.len() / 2, bytes.len().saturating_sub(1)] {
            let mut cut = now.clone();
            cut.insert(name.clone(), bytes[..length].to_vec());
            all.push(cut);
        }
    }
    all
}

#[test]
fn a_crash_at_any_step_of_an_append_leaves_the_old_or_the_new_index() {
    let runs = [many(5_000, 0), many(300, 5_000)];
    for n_before in 0..2 {
        let folder = TempDir::new().unwrap();
        let old: Docs<1> = runs[..n_before].concat();
        if n_before > 0 {
            append(folder.path(), &fuzzy(), &old);
        }
        let new = &runs[n_before];
        let mut appender = IndexWriter::open(folder.path(), &fuzzy()).unwrap().appender().unwrap();
        let mut left = crashes(folder.path());
        appender.push_record([1], old.len() as u64).unwrap();
        left.extend(crashes(folder.path()));
        drop(appender);
        let staged = stage(folder.path(), &fuzzy(), new, true);
        left.extend(crashes(folder.path()));
        let mut steps = vec![];
        staged
            .commit_and_tell(|step| {
                steps.push(step.to_string());
                left.extend(crashes(folder.path()));
            })
            .unwrap();
        assert_eq!(steps.len(), 4, "{steps:?}");
        let n_new = left.iter().filter(|left| assert_survives(left, &old, new)).count();
        assert_eq!(n_new, 1, "the index is new when its manifest is in place, not before");
    }
}

#[test]
fn a_crash_at_any_step_of_a_compaction_loses_nothing() {
    let folder = TempDir::new().unwrap();
    let runs = [many(5_000, 0), many(300, 5_000)];
    for run in &runs {
        append(folder.path(), &fuzzy(), run);
    }
    let mut left = vec![];
    let writer = IndexWriter::open(folder.path(), &fuzzy()).unwrap();
    super::maintain::compact_locked(&writer, |_| left.extend(crashes(folder.path()))).unwrap();
    drop(writer);
    assert!(left.len() > 4);
    let all: Docs<1> = runs.concat();
    for left in &left {
        assert!(assert_survives(left, &all, &vec![]));
    }
}

#[test]
fn who_reads_is_not_disturbed_by_who_compacts() {
    let folder = TempDir::new().unwrap();
    for run in 0..3 {
        append(folder.path(), &fuzzy(), &many(100, 100 * run));
    }
    let index = Index::open(folder.path()).unwrap();
    compact(folder.path()).unwrap();
    let all = expected(&many(300, 0)).into_iter().collect::<Vec<_>>();
    let mut cursor = index.cursor(&unlimited()).unwrap();
    assert!(all.iter().all(|(key, ordinal)| cursor.seek(*key).unwrap() == Some(*ordinal)));
}

#[test]
fn there_is_one_writer_at_a_time_and_any_number_of_readers() {
    let folder = TempDir::new().unwrap();
    append(folder.path(), &fuzzy(), &many(3, 0));
    let writer = IndexWriter::open(folder.path(), &fuzzy()).unwrap();
    let busy = IndexWriter::open(folder.path(), &fuzzy()).unwrap_err().to_string();
    assert!(busy.contains("another run is changing this index"), "{busy}");
    assert!(compact(folder.path()).is_err());
    assert_eq!(Index::open(folder.path()).unwrap().n_docs(), 3);
    drop(writer);
    assert!(IndexWriter::open(folder.path(), &fuzzy()).is_ok());
}

// ── damage ──

fn damaged_copy(original: &BTreeMap<String, Vec<u8>>, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut files = original.clone();
    change(files.get_mut(name).unwrap());
    copy_to(folder.path(), &files);
    folder
}

fn is_found(folder: &Path) -> bool {
    verify(folder).map_or(true, |found| !found.problems.is_empty())
}

#[test]
fn a_changed_byte_in_any_file_is_found() {
    let folder = TempDir::new().unwrap();
    append(folder.path(), &fuzzy(), &many(60, 0));
    stage(folder.path(), &fuzzy(), &many(5, 60), false).commit().unwrap();
    let original = files(folder.path());
    assert!(!is_found(folder.path()));
    let mut n_tried = 0;
    for (name, bytes) in original.iter().filter(|(name, _)| *name != "lock") {
        // Every byte of the ends, where the structure is, and a sample of the rest.
        for at in (0..bytes.len()).filter(|at| *at < 40 || *at + 90 > bytes.len() || at % 13 == 0) {
            for change in [1, 0x20, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                std::fs::write(folder.path().join(name), changed).unwrap();
                assert!(is_found(folder.path()), "byte {at} of {name} by {change:#x}");
                n_tried += 1;
            }
        }
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    assert!(!is_found(folder.path()));
    assert!(n_tried > 1000, "{n_tried}");
}

#[test]
fn a_file_that_is_cut_off_longer_or_gone_is_found() {
    let folder = TempDir::new().unwrap();
    append(folder.path(), &fuzzy(), &many(200, 0));
    let original = files(folder.path());
    for (name, bytes) in original.iter().filter(|(name, _)| *name != "lock") {
        for length in [0, 1, 15, 16, 40, bytes.len() / 2, bytes.len() - 1, bytes.len() + 1] {
            let copy = damaged_copy(&original, name, |bytes| bytes.resize(length, b' '));
            assert!(is_found(copy.path()), "{name} with {length} bytes");
            assert!(Index::open(copy.path()).is_err(), "{name} with {length} bytes");
        }
        let copy = damaged_copy(&original, name, |_| ());
        std::fs::remove_file(copy.path().join(name)).unwrap();
        assert!(is_found(copy.path()), "{name} gone");
    }
}

#[test]
fn a_damaged_block_is_found_by_a_lookup_too() {
    let folder = TempDir::new().unwrap();
    append(folder.path(), &fuzzy(), &many(10_000, 0));
    let original = files(folder.path());
    let copy = damaged_copy(&original, "segment-000001.records", |bytes| bytes[70_000] ^= 1);
    let index = Index::open(copy.path()).unwrap();
    let mut cursor = index.cursor(&unlimited()).unwrap();
    let found: Result<Vec<_>, _> = expected(&many(10_000, 0)).keys().map(|key| cursor.seek(*key)).collect();
    let error = found.unwrap_err().to_string();
    assert!(error.contains("segment-000001.records: damaged: the checksum of block 1"), "{error}");
    assert!(compact(copy.path()).is_ok(), "one segment is left as it is");
    let target = TempDir::new().unwrap();
    assert!(merge(target.path(), &[copy.path().to_path_buf()]).unwrap_err().to_string().contains("damaged"));
}

// ── the wrong folder ──

#[test]
fn errors_name_the_folder_and_the_way_out() {
    let folder = TempDir::new().unwrap();
    append(folder.path(), &fuzzy(), &many(3, 0));
    let files = files(folder.path());
    let manifest = String::from_utf8(files["index.json"].clone()).unwrap();
    let with = |text: &str| damaged_copy(&files, "index.json", |bytes| *bytes = text.as_bytes().to_vec());

    let newer = with(&manifest.replace("\"version\": 1", "\"version\": 3, \"more\": {}"));
    let told = Index::open(newer.path()).unwrap_err().to_string();
    assert!(told.ends_with("written by a newer curator: format 3, this one reads 2"), "{told}");

    for (text, wanted) in [
        ("{\"a\": 1}", "not a curator index"),
        ("", "damaged, or not of an index"),
        (manifest.replace("words:5", "words:6").as_str(), "damaged, or changed by hand"),
    ] {
        let told = Index::open(with(text).path()).unwrap_err().to_string();
        assert!(told.contains(wanted) && told.contains("index.json"), "{told}");
    }

    let other = IndexParameters::Fuzzy {
        bands: 20,
        rows: 13,
        shingle: "chars:24".parse().unwrap(),
        normalize: Normalize::None,
        hash: HashFamily::Nemo,
        seed: 42,
    };
    let wanted = "the index holds fuzzy words:5 14×8, normalize words, hash native, seed 1, this query asks for \
                  fuzzy chars:24 20×13, normalize none, hash nemo, seed 42";
    let told = Index::open_for(folder.path(), &other).unwrap_err().to_string();
    assert!(told.contains(wanted), "{told}");
    assert!(IndexWriter::open(folder.path(), &other).unwrap_err().to_string().contains(wanted));
    assert!(Index::open_for(folder.path(), &IndexParameters::exact()).is_err());
    assert!(Index::open_for(folder.path(), &fuzzy()).is_ok());
}

#[test]
fn only_an_append_makes_an_index_and_never_among_other_files() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("a/b");
    let told = Index::open_for(&missing, &fuzzy()).unwrap_err().to_string();
    assert!(told.contains("a/b") && told.contains("there is no index here"), "{told}");
    assert!(verify(&missing).is_err() && compact(&missing).is_err() && !missing.exists());
    append(&missing, &fuzzy(), &many(2, 0));
    assert_eq!(Index::open_for(&missing, &fuzzy()).unwrap().n_docs(), 2);

    let foreign = folder.path().join("foreign");
    copy_to(&foreign, &BTreeMap::from([("notes.txt".to_string(), vec![])]));
    assert!(Index::open(&foreign).unwrap_err().to_string().contains("not an index"));
    let told = IndexWriter::open(&foreign, &fuzzy()).unwrap_err().to_string();
    assert!(told.contains("holds other files"), "{told}");
    assert_eq!(files(&foreign).len(), 1);
}

#[test]
fn indexes_that_do_not_fit_together_are_not_merged() {
    let folder = TempDir::new().unwrap();
    let place = |name: &str| -> PathBuf { folder.path().join(name) };
    append(&place("fuzzy"), &fuzzy(), &many(2, 0));
    append(&place("exact"), &IndexParameters::exact(), &vec![vec![[1, 2]]]);
    let told = merge(&place("fuzzy"), &[place("exact")]).unwrap_err().to_string();
    assert!(told.contains("other parameters"), "{told}");
    let told = merge(&place("fuzzy"), &[place("fuzzy")]).unwrap_err().to_string();
    assert!(told.contains("into itself"), "{told}");
    assert!(merge(&place("new"), &[place("fuzzy"), place("exact")]).is_err() && !place("new").exists());
    let report = merge(&place("new"), &[place("fuzzy"), place("fuzzy")]).unwrap();
    assert_eq!((report.n_docs_added, report.n_segments), (4, 2));
    assert_holds(&place("new"), &expected(&many(2, 0)));
}

#[test]
fn memory_is_claimed_and_given_back() {
    let folder = TempDir::new().unwrap();
    append(folder.path(), &fuzzy(), &many(10_000, 0));
    let index = Index::open(folder.path()).unwrap();
    let n_bytes = index.lookup_bytes();
    assert!(n_bytes < 100_000, "{n_bytes}");
    let budget: Arc<dyn Budget> = Arc::new(FixedBudget::of(n_bytes, 1));
    let cursor = index.cursor(&budget).unwrap();
    let told = index.cursor(&budget).err().unwrap().to_string();
    assert!(told.contains("out of memory"), "{told}");
    drop(cursor);
    assert!(index.cursor(&budget).is_ok());
}
