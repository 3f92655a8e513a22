//! Claims, commits, and what a crash leaves.
#![allow(clippy::unwrap_used)]

use super::record::{JOINED, RECORD};
use super::*;
use crate::Result;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier, Mutex};
use tempfile::TempDir;

fn stage(claim: &Claim, name: &str, text: &str) {
    claim.create(Path::new(name)).unwrap().write_all(text.as_bytes()).unwrap();
    claim.publish(Path::new(name)).unwrap();
}

fn tree(root: &Path) -> Vec<(String, String)> {
    let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(|entry| entry.unwrap());
    let files = files.filter(|entry| entry.file_type().is_file());
    files
        .map(|file| {
            let name = file.path().strip_prefix(root).unwrap().display().to_string();
            (name, fs::read_to_string(file.path()).unwrap())
        })
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()
}

#[test]
fn a_commit_replaces_old_files_in_all_places_and_leaves_nothing_else() {
    let folder = TempDir::new().unwrap();
    let (out, file) = (folder.path().join("new/out"), folder.path().join("one.txt"));
    for (round, text) in ["first", "second"].into_iter().enumerate() {
        let outbox = Outbox::new(format!("run {round}"));
        let claim = outbox.claim(&Location::folder(&out)).unwrap();
        assert!(Arc::ptr_eq(&claim, &outbox.claim(&Location::folder(&out.join("../out"))).unwrap()));
        if round == 1 {
            ["a=1/x", "y"].iter().for_each(|name| claim.remove(Path::new(name)));
            stage(&claim, "y", text);
        } else {
            ["a=1/x", "y"].iter().for_each(|name| stage(&claim, name, text));
        }
        stage(&outbox.claim(&Location::file(&file)).unwrap(), "one.txt", text);
        assert_eq!(file.exists(), round == 1, "nothing has its name yet");
        outbox.commit().unwrap();
        drop(claim);
    }
    assert_eq!(tree(folder.path()), pairs(&[("new/out/y", "second"), ("one.txt", "second")]));
    assert!(!out.join("a=1").exists() && !out.join(AREA).exists());
}

#[test]
fn what_is_not_committed_is_gone_with_the_folders_made_for_it() {
    let folder = TempDir::new().unwrap();
    let outbox = Outbox::new("run");
    stage(&outbox.claim(&Location::folder(&folder.path().join("a/b"))).unwrap(), "x/y", "text");
    stage(&outbox.claim(&Location::index(&folder.path().join("seen"))).unwrap(), "x", "text");
    drop(outbox);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_place_has_one_writer_and_the_next_one_removes_what_a_dead_one_left() {
    let folder = TempDir::new().unwrap();
    let location = Location::folder(folder.path());
    let outbox = Outbox::new("first");
    let claim = outbox.claim(&location).unwrap();
    let told = Outbox::new("second").claim(&location).unwrap_err().to_string();
    assert!(told.contains("another run is writing here"), "{told}");
    assert!(Outbox::new("second").claim(&Location::file(&folder.path().join("beside"))).is_ok());
    drop((claim, outbox));
    fs::create_dir_all(folder.path().join(AREA).join("dead")).unwrap();
    fs::write(folder.path().join(AREA).join("dead/part"), "half").unwrap();
    let next = Outbox::new("next");
    let claim = next.claim(&location).unwrap();
    assert!(!folder.path().join(AREA).join("dead").exists());
    drop((claim, next));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Two places with old files; a run of which each step on the disk can be repeated.
struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { folder: TempDir::new().unwrap() };
        scene.commit("old", &["x", "y"]).unwrap();
        scene
    }

    fn places(&self) -> [PathBuf; 2] {
        ["a", "b"].map(|name| self.folder.path().join(name))
    }

    fn commit(&self, text: &str, names: &[&str]) -> Result<()> {
        let outbox = Outbox::new(text);
        for place in self.places() {
            let claim = outbox.claim(&Location::folder(&place)).unwrap();
            for old in ["x", "y"].iter().filter(|name| place.join(name).exists()) {
                claim.remove(Path::new(old));
            }
            names.iter().for_each(|name| stage(&claim, name, text));
        }
        outbox.commit()
    }
}

#[test]
fn a_record_is_carried_out_from_wherever_it_stopped() {
    // The state right after the record has its name, and after each step from there on.
    for n_done in 0..6 {
        let scene = Scene::new();
        let [a, b] = scene.places();
        let outbox = Outbox::new("new");
        for place in [&a, &b] {
            let claim = outbox.claim(&Location::folder(place)).unwrap();
            ["x", "y"].iter().for_each(|old| claim.remove(Path::new(old)));
            stage(&claim, "x", "new");
        }
        let claims: Vec<_> = scene.places().iter().map(|p| outbox.claim(&Location::folder(p)).unwrap()).collect();
        let record = outbox.record(&claims).unwrap();
        record.write().unwrap();
        let steps: [&dyn Fn(); 6] = [
            &|| fs::remove_file(a.join("x")).unwrap(),
            &|| fs::remove_file(a.join("y")).unwrap(),
            &|| fs::remove_file(b.join("x")).unwrap(),
            &|| fs::remove_file(b.join("y")).unwrap(),
            &|| fs::rename(claims[0].staging().join("x"), a.join("x")).unwrap(),
            &|| fs::rename(claims[1].staging().join("x"), b.join("x")).unwrap(),
        ];
        steps[..n_done].iter().for_each(|step| step());
        claims.iter().for_each(|claim| claim.mark_committed());
        drop((claims, outbox));
        assert!(a.join(AREA).join(RECORD).exists() && b.join(AREA).join(JOINED).exists());
        // Whoever opens the second place finds the record in the first.
        assert!(settle_around(&b.join("part")).unwrap(), "after {n_done} steps");
        assert_eq!(tree(scene.folder.path()), pairs(&[("a/x", "new"), ("b/x", "new")]), "after {n_done} steps");
        assert!(!settle(&Location::folder(&a)).unwrap());
    }
}

#[test]
fn a_record_from_elsewhere_changes_nothing_outside_of_its_folder() {
    let folder = TempDir::new().unwrap();
    let (here, victim) = (folder.path().join("here"), folder.path().join("victim"));
    fs::create_dir_all(here.join(AREA)).unwrap();
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("kept"), "kept").unwrap();
    let part = |root: &Path, removed: &str| {
        let area = root.join(AREA);
        serde_json::json!({
            "root": root, "area": area, "lock": area.join("lock"), "keeps_lock": false,
            "removals": [removed], "renames": [], "last": [],
        })
    };
    std::os::unix::fs::symlink(&victim, here.join("link")).unwrap();
    for parts in [
        vec![part(&here, "../victim/kept")],
        vec![part(&here, "link/kept")],
        vec![part(&here, "nothing"), part(&victim, "kept")],
        vec![part(&victim, "kept")],
    ] {
        let record = serde_json::json!({ "format": "curator commit", "version": 1, "run": "r", "parts": parts });
        fs::write(here.join(AREA).join(RECORD), record.to_string()).unwrap();
        let _ = settle(&Location::folder(&here));
        assert_eq!(fs::read_to_string(victim.join("kept")).unwrap(), "kept", "{record}");
    }
}

#[test]
fn folders_are_synced_at_one_time_and_each_once() {
    let paths: BTreeSet<PathBuf> = (0..100).map(|n| PathBuf::from(format!("{n}"))).collect();
    let (seen, together) = (Mutex::new(vec![]), Barrier::new(4));
    super::many_at_once(&paths, |path| {
        // Passes only if four threads are here.
        together.wait();
        seen.lock().unwrap().push(path.to_path_buf());
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort();
    assert!(paths.iter().eq(&seen));
}
