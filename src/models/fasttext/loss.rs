//! From the hidden numbers of a line to its labels, by the loss that the model was trained with.

use super::Prediction;
use super::best::Best;
use super::header::LossKind;
use super::matrix::Matrix;

/// How labels are chosen.
#[derive(Debug)]
pub(super) enum Loss {
    Softmax,
    OneVsAll(SigmoidTable),
    Tree(Vec<Node>),
}

/// A leaf is a label; an inner node asks whether to go right.
#[derive(Debug, Clone, Copy)]
pub(super) enum Node {
    Leaf,
    Inner { left: u32, right: u32 },
}

/// The logarithm that all scores are kept in. It never sees 0, which is why a probability can come out above 1.
fn log(p: f32) -> f32 {
    // The reference adds in double precision, then takes the logarithm of that.
    (f64::from(p) + 1e-5).ln() as f32
}

impl Loss {
    pub(super) fn new(kind: LossKind, label_counts: &[i64]) -> Result<Self, String> {
        Ok(match kind {
            LossKind::Softmax => Loss::Softmax,
            LossKind::OneVsAll => Loss::OneVsAll(SigmoidTable::new()),
            LossKind::HierarchicalSoftmax => Loss::Tree(tree(label_counts)?),
        })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        match self {
            Loss::Tree(nodes) => nodes.len() * size_of::<Node>(),
            Loss::Softmax | Loss::OneVsAll(_) => 0,
        }
    }

    /// As EXPLAIN has it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Loss::Softmax => "softmax",
            Loss::OneVsAll(_) => "one vs all",
            Loss::Tree(_) => "hierarchical softmax",
        }
    }

    /// The `k` best labels. `scores` is empty before the first call for a text, and kept for further ones.
    pub(super) fn best(&self, output: &Matrix, hidden: &[f32], k: usize, scores: &mut Vec<f32>) -> Vec<Prediction> {
        let mut best = Best::new(k);
        match self {
            Loss::Tree(nodes) => walk(nodes, output, hidden, &mut best),
            Loss::Softmax if scores.is_empty() => {
                score_all(output, hidden, scores);
                softmax(scores);
            }
            Loss::OneVsAll(sigmoid) if scores.is_empty() => {
                score_all(output, hidden, scores);
                scores.iter_mut().for_each(|score| *score = sigmoid.at(*score));
            }
            Loss::Softmax | Loss::OneVsAll(_) => {}
        }
        // Scores that are no numbers come from a damaged matrix: they are none.
        for (label, score) in scores.iter().enumerate().filter(|(_, score)| **score >= 0.0) {
            best.offer(log(*score), label as u32);
        }
        let found = best.into_sorted().into_iter();
        found.map(|(score, label)| Prediction { label: label as usize, score: score.exp() }).collect()
    }
}

fn score_all(output: &Matrix, hidden: &[f32], scores: &mut Vec<f32>) {
    scores.clear();
    scores.extend((0..output.n_rows()).map(|label| output.dot(hidden, label)));
}

fn softmax(scores: &mut [f32]) {
    let greatest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = (*score - greatest).exp();
        sum += *score;
    }
    scores.iter_mut().for_each(|score| *score /= sum);
}

/// Goes down from the root, left first, and leaves out what cannot be among the best: a way only gets less
/// probable.
fn walk(nodes: &[Node], output: &Matrix, hidden: &[f32], best: &mut Best) {
    let least = log(0.0);
    let n_labels = output.n_rows() as u32;
    let mut open = vec![(nodes.len() as u32 - 1, 0.0f32)];
    while let Some((node, score)) = open.pop() {
        if score.is_nan() || score < least || !best.would_take(score) {
            continue;
        }
        match nodes[node as usize] {
            Node::Leaf => best.push(score, node),
            Node::Inner { left, right } => {
                let right_share = 1.0 / (1.0 + (-output.dot(hidden, (node - n_labels) as usize)).exp());
                // The left one is looked at first.
                open.push((right, score + log(right_share)));
                open.push((left, score + log(1.0 - right_share)));
            }
        }
    }
}

/// Huffman's tree of labels, which stand in descending order of their counts; the root comes last.
fn tree(label_counts: &[i64]) -> Result<Vec<Node>, String> {
    const NOT_YET: i64 = 1_000_000_000_000_000;
    let n_labels = label_counts.len();
    let mut nodes = vec![Node::Leaf; n_labels];
    let mut counts = label_counts.to_vec();
    let mut n_leaves_left = n_labels;
    let mut first_inner = n_labels;
    for _ in 1..n_labels {
        let mut take = || {
            let inner_count = counts.get(first_inner).copied().unwrap_or(NOT_YET);
            match n_leaves_left.checked_sub(1).filter(|leaf| counts[*leaf] < inner_count) {
                Some(leaf) => {
                    n_leaves_left = leaf;
                    Some(leaf)
                }
                None => (first_inner < counts.len()).then(|| {
                    first_inner += 1;
                    first_inner - 1
                }),
            }
        };
        let (Some(left), Some(right)) = (take(), take()) else {
            return Err("the counts of its labels make no tree: it is damaged".into());
        };
        counts.push(counts[left].saturating_add(counts[right]));
        nodes.push(Node::Inner { left: left as u32, right: right as u32 });
    }
    Ok(nodes)
}

/// The sigmoid as the reference has it for one-vs-all: from a table, flat beyond ±8.
#[derive(Debug)]
pub(super) struct SigmoidTable(Vec<f32>);

impl SigmoidTable {
    const N_STEPS: usize = 512;
    const LIMIT: f32 = 8.0;

    fn new() -> Self {
        let at = |i: usize| (i as f32 * 2.0 * Self::LIMIT) / Self::N_STEPS as f32 - Self::LIMIT;
        Self((0..=Self::N_STEPS).map(|i| (1.0 / (1.0 + f64::from((-at(i)).exp()))) as f32).collect())
    }

    fn at(&self, x: f32) -> f32 {
        if x < -Self::LIMIT {
            0.0
        } else if x > Self::LIMIT {
            1.0
        } else {
            let step = (x + Self::LIMIT) * Self::N_STEPS as f32 / Self::LIMIT / 2.0;
            self.0.get(step as usize).copied().unwrap_or(f32::NAN)
        }
    }
}
