//! What EXPLAIN says of a deduplication: its parameters, its chances, its memory.

use super::Deduplication;
use super::work::ON_DEVICES;
use crate::config::format_bytes;
use crate::dedup::{AgainstMode, Link, Method, SemanticKeep, SemanticLink, exact_memory_bytes, fuzzy_memory_bytes};
use crate::ops::dedup::s_curve;
use crate::verb::counter;
use datafusion::physical_plan::metrics::MetricsSet;

/// Rows that memory is stated for, unless the option `documents` says how many there are.
const ROWS: u64 = 1_000_000;

impl Deduplication {
    /// The lines below the node.
    pub(super) fn planned_notes(&self) -> Vec<String> {
        let request = self.request();
        let mut notes = vec![];
        let n_rows = request.documents.unwrap_or(ROWS).max(1);
        let mut memory = |n_bytes: u64, what: &str| {
            let each = n_bytes.div_ceil(n_rows);
            let all = format_bytes(usize::try_from(n_bytes).unwrap_or(usize::MAX));
            notes.push(format!("memory: {each} B a document ({what}), {all} for {n_rows}; past the limit, on disk"));
        };
        match &request.method {
            Method::Exact(exact) => {
                memory(exact_memory_bytes(n_rows, 0), "hash and row");
                if exact.verify {
                    notes.push("verify: documents with equal hashes are compared; one more pass over them".to_string());
                }
            }
            Method::Fuzzy(fuzzy) => {
                let n_bytes = fuzzy_memory_bytes(n_rows, fuzzy.bands, fuzzy.link, 0);
                let links = if fuzzy.link == Link::Component { ", components" } else { "" };
                memory(n_bytes, &format!("{} bands{links}", fuzzy.bands));
                notes.push(format!(
                    "signature: {} bands × {} rows of {}, normalize {}, hash {}, seed {}",
                    fuzzy.bands, fuzzy.rows, fuzzy.shingle, fuzzy.normalize, fuzzy.hash, fuzzy.seed
                ));
                notes.push(s_curve(fuzzy.bands, fuzzy.rows));
                notes.push(if fuzzy.verify {
                    format!(
                        "verify: candidates count as similar from a true Jaccard of {}; one more pass over the documents",
                        fuzzy.threshold
                    )
                } else {
                    "verify: off; candidates count as similar".to_string()
                });
                notes.push(match fuzzy.link {
                    Link::Kept => "link: a document goes if it is similar to one that stays".to_string(),
                    Link::Component => "link: documents that hang together are one cluster".to_string(),
                });
            }
            Method::Lines(_) | Method::Substring(_) => {}
            Method::Semantic(semantic) => {
                let which = match semantic.which {
                    SemanticKeep::Hard => "hard",
                    SemanticKeep::Easy => "easy",
                    SemanticKeep::Random => "random",
                };
                notes.push(format!(
                    "k-means: {} clusters, at most {} iterations, seed {}; cosine ≥ {} within a cluster; keeps {which}",
                    semantic.clusters, semantic.iterations, semantic.seed, semantic.threshold
                ));
                if semantic.link == SemanticLink::Kept {
                    notes.push("link: a row goes if it is similar to one that stays".to_string());
                }
                notes.extend(self.placement.clone());
            }
        }
        if let Some(against) = &request.against {
            let mode = match against.mode {
                AgainstMode::Append => "appended to when the run ends well",
                AgainstMode::ReadOnly => "read only",
            };
            notes.push(format!("index: '{}', {mode}", against.path));
        }
        if request.forgets_copies {
            notes.push(
                "documents: without most copies, kept in memory while it lasts, then in a temporary file".to_string(),
            );
        }
        notes
    }
}

/// The lines below the node once it ran.
pub(super) fn counted_notes(metrics: &MetricsSet) -> Vec<String> {
    let counts = [
        ("candidates", "dedup_candidates"),
        ("verified", "dedup_verified"),
        ("clusters", "dedup_clusters"),
        ("in the index", "dedup_indexed"),
        ("bytes cut", "dedup_cut_bytes"),
    ];
    let shown = counts.into_iter().map(|(shown, name)| (shown, counter(metrics, name)));
    let shown: Vec<String> =
        shown.filter(|(_, count)| *count > 0).map(|(shown, count)| format!("{shown} {count}")).collect();
    let mut notes = if shown.is_empty() { vec![] } else { vec![shown.join("  ")] };
    let [products, launches, bytes_in, bytes_out] = ON_DEVICES.map(|name| counter(metrics, name));
    if launches > 0 {
        let copies = |n_bytes: u64| format!("{launches} copies, {} ({n_bytes} bytes)", format_bytes(n_bytes as usize));
        let (into, back) = (copies(bytes_in), copies(bytes_out));
        notes
            .push(format!("gpu: {products} pairs compared in {launches} launches; gpu ← cpu {into}; cpu ← gpu {back}"));
    }
    notes
}
