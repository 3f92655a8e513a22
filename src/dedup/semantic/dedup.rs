//! The course of a semantic deduplication, when all vectors are there: duplicates out.
//!
//! Not here: how vectors come (`partition.rs`).

use super::against::{Stored, best_stored, padded, unpadded};
use super::device::{Comparers, OnDevices, Passes};
use super::kmeans::{self, Centres, Limits, Nearest};
use super::near_kept::first_kept;
use super::nearest::{Best, Others, best_of};
#[cfg(test)]
use super::partition::ROW_BYTES;
use super::partition::{AllVectors, VectorPartition};
use super::random::{Random, shuffle_key};
use super::vectors::{VectorStore, Vectors, no_memory};
#[cfg(test)]
use super::vectors::{chunk_bytes, stride};
use crate::dedup::claim::Claim;
use crate::dedup::index::{Appender, Index, IndexCentres, IndexVectors};
use crate::dedup::{Budget, KeepWhich, Kept, Numbering, Semantic, SemanticKeep, SemanticLink, StoredRows};
use crate::{Error, Result, bug};
use std::collections::BTreeMap;
use std::sync::Arc;

/// k-means++ looks at so many vectors for each centre it chooses.
const SEEDS_A_CENTRE: usize = 16;

/// Who is ranked before whom within a cluster. Rows that are equal by it stand in input order.
pub enum Ranking<'a> {
    /// By the distance to the cluster's centre, or by chance.
    Centre(SemanticKeep),
    /// By keys whose bytes compare as the rows do.
    Keys {
        /// The end of the order that stays.
        which: KeepWhich,
        /// The key of a row.
        key_of: &'a mut dyn FnMut(u64) -> Result<Vec<u8>>,
    },
}

/// A row that goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SemanticDuplicate {
    /// The row.
    pub row: u64,
    /// The most similar document of the index, if it is similar enough; else the most similar row that was ranked
    /// before it; with `KEEP NONE`, the most similar row; with `link = 'kept'`, the first similar row that stays.
    pub nearest: Kept,
    /// The cosine similarity to it.
    pub similarity: f32,
    /// What stays for it: the nearest, or if that one goes, what stays for it. Nobody with `KEEP NONE`.
    pub kept: Kept,
}

/// What a semantic deduplication found.
#[derive(Debug, Clone, PartialEq)]
pub struct SemanticOutcome {
    /// The rows that go, by row.
    pub duplicates: Vec<SemanticDuplicate>,
    /// The iterations of k-means.
    pub n_iterations: usize,
    /// The rows that have a direction, ascending.
    rows: Vec<u32>,
    /// Their clusters.
    clusters: Vec<u32>,
    sizes: Vec<u64>,
}

impl SemanticOutcome {
    /// The number and the size of a row's cluster; none if the row has no direction.
    pub fn cluster(&self, row: u64) -> Option<(u32, u64)> {
        let at = self.rows.binary_search(&u32::try_from(row).ok()?).ok()?;
        let cluster = *self.clusters.get(at)?;
        Some((cluster, *self.sizes.get(cluster as usize)?))
    }

    /// Clusters, some of which may be empty.
    pub fn n_clusters(&self) -> usize {
        self.sizes.len()
    }
}

/// Memory by formula, for EXPLAIN.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// What must be granted.
    pub least_bytes: usize,
    /// What is used if it is granted: all vectors in memory.
    pub all_bytes: usize,
}

#[cfg(test)]
impl Needs {
    /// For so many rows with vectors of so many values.
    pub fn of(spec: &Semantic, n_rows: usize, dimension: usize) -> Self {
        let k = spec.clusters.clamp(1, n_rows.max(1));
        let vector_bytes = stride(dimension) * size_of::<f32>();
        let n_sample = spec.sample.min(n_rows);
        let held_bytes = n_rows * ROW_BYTES + kmeans::held_bytes(k, stride(dimension), n_sample);
        let n_seeds = (k * SEEDS_A_CENTRE).min(n_sample);
        let n_copied = if n_sample < n_rows { n_sample } else { 0 } + if n_seeds < n_sample { n_seeds } else { 0 };
        Self {
            least_bytes: held_bytes + 4 * chunk_bytes(dimension),
            all_bytes: held_bytes + (n_rows + n_copied) * vector_bytes + 4 * chunk_bytes(dimension),
        }
    }
}

/// Finds duplicates among vectors.
pub struct SemanticDedup {
    spec: Semantic,
    budget: Arc<dyn Budget>,
    dimension: usize,
    /// The vectors that have a direction, and their rows.
    vectors: Option<Vectors>,
    rows: Vec<u32>,
    claims: Vec<Claim>,
    devices: Option<OnDevices>,
    against: Option<Against>,
    /// The value of `PER` of each row.
    per: Option<StoredRows>,
}

/// An index that rows are compared with.
struct Against {
    centres: IndexCentres,
    vectors: IndexVectors,
}

impl SemanticDedup {
    /// Of the vectors of all partitions, whose rows have these numbers.
    pub fn new(
        spec: Semantic,
        budget: Arc<dyn Budget>,
        partitions: Vec<VectorPartition>,
        numbering: &Numbering,
    ) -> Result<Self> {
        let AllVectors { dimension, vectors, rows, claims } = AllVectors::of_partitions(partitions, numbering)?;
        Ok(Self { spec, budget, dimension, vectors, rows, claims, devices: None, against: None, per: None })
    }

    /// Compares on devices; what they fail to do, the CPU does.
    pub fn on_devices(mut self, comparers: Box<dyn Comparers>) -> Self {
        self.devices = Some(OnDevices::new(comparers));
        self
    }

    /// Holds the rows against the vectors of an index too, by its centres, if it has some. What is read
    /// of it comes from a budget of its own, so that vectors of this run do not leave it without.
    pub fn against(mut self, index: &Index, budget: &Arc<dyn Budget>) -> Result<Self> {
        let (Some(centres), Some(vectors)) = (index.centres()?, index.vectors(budget)?) else { return Ok(self) };
        if self.vectors.is_some() && self.dimension != centres.dimension {
            let (wanted, found, place) = (centres.dimension, self.dimension, index.folder().display());
            return Err(Error::Data(format!("vectors of {found} values; those of the index {place} have {wanted}")));
        }
        self.against = Some(Against { centres, vectors });
        Ok(self)
    }

    /// Compares rows only with those that have the same value.
    pub fn per(mut self, values: Option<StoredRows>) -> Self {
        self.per = values;
        self
    }

    /// Finds the duplicates. What stays goes into `appender`, which adds it to the index that rows were compared with.
    pub fn finish(mut self, mut ranking: Ranking<'_>, mut appender: Option<&mut Appender>) -> Result<SemanticOutcome> {
        let Some(vectors) = self.vectors.take() else {
            let (duplicates, rows, clusters, sizes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            return Ok(SemanticOutcome { duplicates, n_iterations: 0, rows, clusters, sizes });
        };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.budget.n_threads().max(1)).build();
        let pool = pool.map_err(|error| bug!("no threads for k-means: {error}"))?;
        let (centres, n_iterations) = pool.install(|| self.centres(&vectors, appender.as_deref_mut()))?;
        let k = centres.len();
        let (clusters, distances) = pool.install(|| self.assign(&vectors, &centres))?;
        let (order, ends) = by_cluster(&clusters, k);
        let mut duplicates = Vec::new();
        let others = match ranking {
            Ranking::Keys { which: KeepWhich::None, .. } => Others::All,
            _ => Others::Before,
        };
        let mut start = 0;
        for (cluster, &end) in (0u32..).zip(&ends) {
            let mut members = order[start..end].to_vec();
            start = end;
            let first_duplicate = duplicates.len();
            let stored = pool.install(|| self.best_stored(&vectors, &members, cluster))?;
            for mut members in self.by_value(&members)? {
                if members.len() < 2 && stored.is_empty() {
                    continue;
                }
                self.rank(&mut members, &distances, &mut ranking)?;
                let best = pool.install(|| self.best_of(&vectors, &members, others, &stored))?;
                self.judge(&members, &best, &stored, others, &mut duplicates);
            }
            if let Some(appender) = appender.as_deref_mut() {
                self.append(&vectors, &mut members, cluster, &duplicates[first_duplicate..], appender)?;
            }
        }
        duplicates.sort_unstable_by_key(|duplicate| duplicate.row);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let sizes = starts.zip(&ends).map(|(start, end)| (end - start) as u64).collect();
        Ok(SemanticOutcome { duplicates, n_iterations, rows: std::mem::take(&mut self.rows), clusters, sizes })
    }

    fn claim(&mut self, n_bytes: usize) -> Result<()> {
        let mut claim = Claim::none(&self.budget);
        if !claim.try_grow(n_bytes) {
            return Err(no_memory(n_bytes));
        }
        self.claims.push(claim);
        Ok(())
    }

    /// Those of the index, or if it has none, new ones, which become the index's.
    fn centres(&mut self, vectors: &Vectors, appender: Option<&mut Appender>) -> Result<(Centres, usize)> {
        if let Some(against) = &self.against {
            let centres = Centres::new(padded(&against.centres), vectors.stride());
            self.claim(kmeans::held_bytes(centres.len(), vectors.stride(), 0))?;
            return Ok((centres, 0));
        }
        let k = self.spec.clusters.clamp(1, vectors.len());
        self.claim(kmeans::held_bytes(k, vectors.stride(), vectors.len().min(self.spec.sample)))?;
        let learned = self.learn(vectors, k)?;
        if let Some(appender) = appender {
            appender.set_centres(&unpadded(learned.0.values(), self.dimension))?;
        }
        Ok(learned)
    }

    /// The rows of a cluster apart by their values of `PER`, each part in input order.
    fn by_value(&self, members: &[u32]) -> Result<Vec<Vec<u32>>> {
        let Some(per) = &self.per else { return Ok(vec![members.to_vec()]) };
        let mut parts: BTreeMap<Vec<u8>, Vec<u32>> = BTreeMap::new();
        for &at in members {
            let mut value = Vec::new();
            per.get(u64::from(self.rows[at as usize]), &mut value)?;
            parts.entry(value).or_default().push(at);
        }
        Ok(parts.into_values().collect())
    }

    /// For each row of a cluster, given in the order of the ranking: the row that it would go by.
    fn best_of(
        &self,
        vectors: &Vectors,
        ranked: &[u32],
        others: Others,
        stored: &[(u32, Stored)],
    ) -> Result<Vec<Option<Best>>> {
        let best = best_of(vectors, ranked, others, &*self.budget, self.devices.as_ref())?;
        if self.spec.link == SemanticLink::Any || others == Others::All {
            return Ok(best);
        }
        let goes = |place: usize| stored.binary_search_by_key(&ranked[place], |(at, _)| *at).is_ok();
        first_kept(vectors, ranked, &best, goes, self.spec.threshold, &*self.budget)
    }

    /// For each row of a cluster that the index has something similar enough to: that, by row. Else empty.
    fn best_stored(&mut self, vectors: &Vectors, members: &[u32], cluster: u32) -> Result<Vec<(u32, Stored)>> {
        let Some(against) = self.against.as_mut().filter(|_| !members.is_empty()) else { return Ok(vec![]) };
        let best = best_stored(vectors, members, &mut against.vectors, cluster, self.dimension, &*self.budget)?;
        let threshold = self.spec.threshold;
        let close = |(at, best): (&u32, Option<Stored>)| {
            Some((*at, best.filter(|best| f64::from(best.similarity) >= threshold)?))
        };
        Ok(members.iter().zip(best).filter_map(close).collect())
    }

    /// Adds the vectors of the rows that stay to the index. `duplicates` are of their cluster.
    fn append(
        &self,
        vectors: &Vectors,
        members: &mut Vec<u32>,
        cluster: u32,
        duplicates: &[SemanticDuplicate],
        appender: &mut Appender,
    ) -> Result<()> {
        let mut gone: Vec<u64> = duplicates.iter().map(|duplicate| duplicate.row).collect();
        gone.sort_unstable();
        members.retain(|&at| gone.binary_search(&u64::from(self.rows[at as usize])).is_err());
        members.sort_unstable();
        let first_ordinal = appender.first_ordinal();
        let mut values = Vec::new();
        for members in members.chunks(64) {
            vectors.gather(members, &mut values)?;
            for (&at, vector) in members.iter().zip(values.chunks_exact(vectors.stride())) {
                let ordinal = first_ordinal + u64::from(self.rows[at as usize]);
                appender.push_vector(cluster, ordinal, &vector[..self.dimension])?;
            }
        }
        Ok(())
    }

    /// The centres, learned from a sample.
    fn learn(&self, vectors: &Vectors, k: usize) -> Result<(Centres, usize)> {
        let mut random = Random::new(self.spec.seed);
        let limits = Limits { iterations: self.spec.iterations, tolerance: self.spec.tolerance };
        // Fewer vectors than centres cannot be learned from.
        let sample = self.sample(vectors, self.spec.sample.max(k), &mut random)?;
        let sample = sample.as_ref().unwrap_or(vectors);
        let seeds = self.sample(sample, k * SEEDS_A_CENTRE, &mut random)?;
        let passes = Passes::new(sample, self.devices.as_ref(), &*self.budget);
        kmeans::learn(seeds.as_ref().unwrap_or(sample), sample, k, limits, random.next_u64(), &passes)
    }

    /// The cluster of each vector and its cosine distance to the centre.
    fn assign(&self, vectors: &Vectors, centres: &Centres) -> Result<(Vec<u32>, Vec<f32>)> {
        let passes = Passes::new(vectors, self.devices.as_ref(), &*self.budget);
        let mut clusters = Vec::with_capacity(vectors.len());
        let mut distances = Vec::with_capacity(vectors.len());
        let (mut buffer, mut nearest) = (Vec::new(), Vec::new());
        for block in vectors.blocks(passes.block_rows) {
            nearest.clear();
            nearest.resize(block.len(), Nearest::default());
            centres.assign(vectors.rows(block, &mut buffer)?, &mut nearest, passes.devices)?;
            clusters.extend(nearest.iter().map(|nearest| nearest.centre));
            distances.extend(nearest.iter().map(|nearest| centres.cosine_distance(*nearest)));
        }
        Ok((clusters, distances))
    }

    /// So many of the vectors; none if those are all.
    fn sample(&self, vectors: &Vectors, wanted: usize, random: &mut Random) -> Result<Option<Vectors>> {
        if wanted >= vectors.len() {
            return Ok(None);
        }
        let mut sample = VectorStore::new(self.dimension, 1, self.budget.clone());
        let mut values = Vec::new();
        for chosen in random.choose(wanted, vectors.len()).chunks(64) {
            let chosen: Vec<u32> = chosen.iter().map(|&at| at as u32).collect();
            vectors.gather(&chosen, &mut values)?;
            values.chunks_exact(vectors.stride()).try_for_each(|vector| sample.push(vector))?;
        }
        Ok(Some(Vectors::of_one(sample)?))
    }

    /// Puts the members of a cluster, which stand in input order, in the order of the ranking.
    fn rank(&self, members: &mut [u32], distances: &[f32], ranking: &mut Ranking<'_>) -> Result<()> {
        let distance = |at: &u32| distances[*at as usize];
        match ranking {
            Ranking::Centre(SemanticKeep::Hard) => members.sort_by(|a, b| distance(b).total_cmp(&distance(a))),
            Ranking::Centre(SemanticKeep::Easy) => members.sort_by(|a, b| distance(a).total_cmp(&distance(b))),
            Ranking::Centre(SemanticKeep::Random) => {
                members.sort_by_cached_key(|&at| shuffle_key(self.spec.seed, self.rows[at as usize]));
            }
            Ranking::Keys { which, key_of } => {
                let keyed = members.iter().map(|&at| Ok((key_of(u64::from(self.rows[at as usize]))?, at)));
                let mut keyed = keyed.collect::<Result<Vec<_>>>()?;
                keyed.sort_unstable();
                if *which == KeepWhich::Last {
                    keyed.reverse();
                }
                members.iter_mut().zip(keyed).for_each(|(member, (_, at))| *member = at);
            }
        }
        Ok(())
    }

    /// Writes down the rows of a cluster that go, and who stays for them.
    fn judge(
        &self,
        ranked: &[u32],
        best: &[Option<Best>],
        stored: &[(u32, Stored)],
        others: Others,
        duplicates: &mut Vec<SemanticDuplicate>,
    ) {
        let row_at = |place: usize| u64::from(self.rows[ranked[place] as usize]);
        // What stays for the row at each place; those before a place are known when it is reached.
        let mut stays: Vec<Kept> = Vec::with_capacity(ranked.len());
        for (place, best) in best.iter().enumerate() {
            let row = row_at(place);
            let in_index = stored.binary_search_by_key(&ranked[place], |(at, _)| *at).map(|found| stored[found].1);
            let in_run = best.filter(|best| f64::from(best.similarity) >= self.spec.threshold);
            let (nearest, similarity, kept) = match (in_index, in_run) {
                (Ok(stored), _) => (Kept::Indexed(stored.ordinal), stored.similarity, Kept::Indexed(stored.ordinal)),
                (Err(_), Some(best)) => {
                    let nearest = best.place as usize;
                    let kept = if others == Others::Before { stays[nearest] } else { Kept::Nobody };
                    (Kept::Row(row_at(nearest)), best.similarity, kept)
                }
                (Err(_), None) => {
                    stays.push(Kept::Row(row));
                    continue;
                }
            };
            stays.push(kept);
            // With `KEEP NONE` nobody stays, whoever was there before.
            let kept = if others == Others::Before { kept } else { Kept::Nobody };
            duplicates.push(SemanticDuplicate { row, nearest, similarity, kept });
        }
    }
}

/// The vectors sorted by cluster, in input order within each, and where each cluster ends.
fn by_cluster(clusters: &[u32], k: usize) -> (Vec<u32>, Vec<usize>) {
    let mut ends = vec![0usize; k];
    clusters.iter().for_each(|&cluster| ends[cluster as usize] += 1);
    let mut start = 0;
    for end in &mut ends {
        // For now where it starts; filling it moves that to its end.
        start += std::mem::replace(end, start);
    }
    let mut order = vec![0u32; clusters.len()];
    for (at, &cluster) in clusters.iter().enumerate() {
        order[ends[cluster as usize]] = at as u32;
        ends[cluster as usize] += 1;
    }
    (order, ends)
}
