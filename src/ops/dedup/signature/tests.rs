//! Signatures equal those that NeMo's and datatrove's definitions give, document by document (`tests/golden/README.md`).
#![allow(clippy::unwrap_used)]

use super::super::curve::candidate_probability;
use super::super::shingle::{HashFamily, Normalize, Shingle};
use super::super::shingler::{Shingler, jaccard_sorted};
use super::MinHash;
use serde_json::{Value, from_str};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

#[test]
fn golden_signatures_are_reproduced_on_the_committed_documents() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/edge");
    assert_eq!(compare(&folder), 60);
}

#[test]
fn golden_signatures_are_reproduced_on_the_large_set_where_there_is_one() {
    if let Some(folder) = large_set() {
        assert!(compare(&folder) > 100);
    }
}

#[test]
fn pairs_have_their_golden_similarity_and_become_candidates_as_often_as_the_curve_says() {
    use Normalize::{None, Words};
    let Some(folder) = large_set() else { return };
    let (docs, pairs) = (rows(&folder, "dedup_docs"), rows(&folder, "dedup_pairs"));
    for (column, shingle, normalize, family, bands, n_rows, seed) in [
        ("j_word5", "words:5", Words, HashFamily::Native, 14, 8, 1),
        ("j_ws5", "words:5", None, HashFamily::Native, 14, 8, 1),
        ("j_char24", "chars:24", None, HashFamily::Nemo, 20, 13, 42),
    ] {
        let shingle: Shingle = shingle.parse().unwrap();
        let mut shingler = Shingler::new(shingle, normalize);
        let mut minhash = MinHash::new(family, shingle, normalize, bands, n_rows, seed);
        let mut keys = HashMap::new();
        for doc in &docs {
            let (mut set, mut fingerprints) = (vec![], vec![]);
            let text = doc["text"].as_str().unwrap();
            shingler.set(text, &mut set);
            minhash.bands(text, &mut fingerprints);
            keys.insert(doc["id"].as_str().unwrap(), (set, fingerprints));
        }
        let (mut n_candidates, mut expected, mut variance) = (0, 0.0, 0.0);
        for pair in &pairs {
            let [a, b] = ["id_a", "id_b"].map(|id| &keys[pair[id].as_str().unwrap()]);
            let similarity = pair[column].as_f64().unwrap();
            assert!((jaccard_sorted(&a.0, &b.0) - similarity).abs() < 1e-5, "{column} {pair}");
            if similarity >= 0.8 {
                let probability = candidate_probability(similarity, bands, n_rows);
                n_candidates += u32::from(a.1.iter().zip(&b.1).any(|(a, b)| a == b));
                expected += probability;
                variance += probability * (1.0 - probability);
            }
        }
        let deviation = (f64::from(n_candidates) - expected) / variance.sqrt();
        assert!(deviation.abs() < 4.0, "{column}: {n_candidates} candidates, {expected} expected");
    }
}

fn large_set() -> Option<PathBuf> {
    let named = std::env::var_os("CURATOR_GOLDEN").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/golden"));
    if folder.join("minhash.jsonl").exists() {
        return Some(folder);
    }
    // Not through `println!`, which the harness keeps to itself when a test passes.
    writeln!(std::io::stderr(), "SKIPPED: no large golden set; name its folder in CURATOR_GOLDEN").unwrap();
    None
}

/// Compares each document of a folder; their number.
fn compare(folder: &Path) -> usize {
    let texts: HashMap<String, String> = rows(folder, "inputs")
        .into_iter()
        .map(|row| (row["id"].as_str().unwrap().to_string(), row["text"].as_str().unwrap().to_string()))
        .collect();
    let chars: Shingle = "chars:24".parse().unwrap();
    let words: Shingle = "words:5".parse().unwrap();
    let mut nemo = MinHash::new(HashFamily::Nemo, chars, Normalize::None, 20, 13, 42);
    let mut datatrove = MinHash::new(HashFamily::Datatrove, words, Normalize::Datatrove, 14, 8, 1);
    let mut shingler = Shingler::new(words, Normalize::Datatrove);
    let golden = rows(folder, "minhash");
    for row in &golden {
        let id = row["id"].as_str().unwrap();
        let text = &texts[id];
        let (mut signature, mut shingles) = (vec![], vec![]);
        nemo.signature(text, &mut signature);
        assert_eq!(row["nemo32_first16"], Value::from(&signature[..16]), "{id}");
        let bytes = signature.iter().flat_map(|value| (*value as u32).to_le_bytes()).collect();
        assert_eq!(row["nemo32_sha256"], sha256(bytes), "{id}");
        shingler.hashes(text, &mut shingles);
        assert_eq!(row["datatrove_ws_shingles"], shingles.len(), "{id}");
        if datatrove.signature(text, &mut signature) {
            assert_eq!(row["datatrove_ws_first16"], Value::from(&signature[..16]), "{id}");
            let bytes = signature.iter().flat_map(|value| value.to_le_bytes()).collect();
            assert_eq!(row["datatrove_ws_sha256"], sha256(bytes), "{id}");
        } else {
            assert_eq!(row["datatrove_ws_sha256"], Value::Null, "{id}");
        }
    }
    golden.len()
}

fn sha256(bytes: Vec<u8>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn rows(folder: &Path, name: &str) -> Vec<Value> {
    let mut text = String::new();
    match std::fs::read_to_string(folder.join(format!("{name}.jsonl"))) {
        Ok(plain) => text = plain,
        Err(_) => {
            let file = std::fs::File::open(folder.join(format!("{name}.jsonl.gz"))).unwrap();
            flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).unwrap();
        }
    }
    text.split('\n').filter(|line| !line.is_empty()).map(|line| from_str(line).unwrap()).collect()
}
