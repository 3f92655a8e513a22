//! The best of many scores.
//!
//! Which of two equal scores is kept, and which stands first, is left to a heap by the reference. One-vs-all gives equal scores
//! often (they come from a table), so this is the same heap: that of libstdc++, with which the reference is built.

/// At most `k` scores with their labels; the least is at the front.
#[derive(Debug)]
pub(super) struct Best {
    heap: Vec<(f32, u32)>,
    k: usize,
}

/// Whether `a` belongs below `b` in the heap.
fn is_greater(a: (f32, u32), b: (f32, u32)) -> bool {
    a.0 > b.0
}

impl Best {
    pub(super) fn new(k: usize) -> Self {
        Self { heap: Vec::with_capacity(k.min(64) + 1), k }
    }

    /// Whether a score is not below all that are kept.
    pub(super) fn would_take(&self, score: f32) -> bool {
        self.heap.len() < self.k || self.heap.first().is_some_and(|least| score >= least.0)
    }

    pub(super) fn offer(&mut self, score: f32, label: u32) {
        if self.would_take(score) {
            self.push(score, label);
        }
    }

    pub(super) fn push(&mut self, score: f32, label: u32) {
        self.heap.push((score, label));
        let hole = self.heap.len() - 1;
        sift_up(&mut self.heap, hole, (score, label));
        if self.heap.len() > self.k {
            self.pop();
        }
    }

    /// Takes the least one out.
    fn pop(&mut self) -> Option<(f32, u32)> {
        let last = self.heap.pop()?;
        let Some(least) = self.heap.first().copied() else { return Some(last) };
        // The hole goes down to a leaf, always where the lesser one is, and the last one comes up from there.
        let n = self.heap.len();
        let mut hole = 0;
        while hole * 2 + 2 < n {
            let mut child = hole * 2 + 2;
            if is_greater(self.heap[child], self.heap[child - 1]) {
                child -= 1;
            }
            self.heap[hole] = self.heap[child];
            hole = child;
        }
        if hole * 2 + 2 == n {
            self.heap[hole] = self.heap[hole * 2 + 1];
            hole = hole * 2 + 1;
        }
        sift_up(&mut self.heap, hole, last);
        Some(least)
    }

    /// All of them, best first.
    pub(super) fn into_sorted(mut self) -> Vec<(f32, u32)> {
        let mut sorted = Vec::with_capacity(self.heap.len());
        while let Some(least) = self.pop() {
            sorted.push(least);
        }
        sorted.reverse();
        sorted
    }
}

/// Puts a value into a hole or above it, where none above is greater.
fn sift_up(heap: &mut [(f32, u32)], mut hole: usize, value: (f32, u32)) {
    while hole > 0 && is_greater(heap[(hole - 1) / 2], value) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = value;
}
