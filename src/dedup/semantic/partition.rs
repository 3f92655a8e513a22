//! The vectors of one partition of the rows, as they come.

use super::vectors::{VectorStore, Vectors, no_memory, normalize};
use crate::dedup::claim::Claim;
use crate::dedup::{Budget, Numbering, Positions};
use crate::{Error, Result};
use std::sync::Arc;

/// Bytes held for each row: its number, its cluster, its distance to the centre, its place in the list of clusters.
pub(super) const ROW_BYTES: usize = 4 + 4 + 4 + 4;

/// Rows that memory is claimed for at a time, by all partitions together.
const ROWS_A_CLAIM: usize = 4096;

/// Takes the vectors of a partition.
pub struct VectorPartition {
    n_partitions: usize,
    budget: Arc<dyn Budget>,
    /// The first vector: the row's place in the partition, and how many values it has. All are to have as many.
    first: Option<(u64, usize)>,
    /// The first vector that has not.
    odd: Option<(u64, usize)>,
    n_rows: u64,
    /// The vectors that have a direction, and the places of their rows.
    vectors: Option<VectorStore>,
    rows: Vec<u32>,
    claim: Claim,
    /// Where they are among those of all partitions.
    positions: Option<Positions>,
    scratch: Vec<f32>,
}

impl VectorPartition {
    /// All partitions.
    pub fn all(n_partitions: usize, budget: &Arc<dyn Budget>) -> Vec<Self> {
        let partition = |_| Self {
            n_partitions,
            budget: Arc::clone(budget),
            first: None,
            odd: None,
            n_rows: 0,
            vectors: None,
            rows: Vec::new(),
            claim: Claim::none(budget),
            positions: if n_partitions == 1 { None } else { Some(Positions::of_units(budget)) },
            scratch: Vec::new(),
        };
        (0..n_partitions).map(partition).collect()
    }

    /// The vector of the next row. A null is an empty vector. `position` is looked at if there are several partitions.
    pub fn push(&mut self, position: u64, vector: &[f32]) -> Result<()> {
        let has_direction = self.take(vector)?;
        if let Some(positions) = &mut self.positions {
            positions.push_units(position, u64::from(has_direction))?;
        }
        self.n_rows += 1;
        Ok(())
    }

    fn take(&mut self, vector: &[f32]) -> Result<bool> {
        if vector.is_empty() {
            return Ok(false);
        }
        let (_, dimension) = *self.first.get_or_insert((self.n_rows, vector.len()));
        if dimension != vector.len() {
            self.odd.get_or_insert((self.n_rows, vector.len()));
        }
        self.scratch.clear();
        self.scratch.extend_from_slice(vector);
        // Of vectors that do not fit together nothing is wanted any more, but where the first is.
        if self.odd.is_some() || !normalize(&mut self.scratch) {
            return Ok(false);
        }
        let rows_a_claim = ROWS_A_CLAIM.div_ceil(self.n_partitions);
        if self.rows.len().is_multiple_of(rows_a_claim) && !self.claim.try_grow(rows_a_claim * ROW_BYTES) {
            return Err(no_memory(rows_a_claim * ROW_BYTES));
        }
        let new = || VectorStore::new(dimension, self.n_partitions, Arc::clone(&self.budget));
        self.vectors.get_or_insert_with(new).push(&self.scratch)?;
        let too_many = |_| Error::Data(format!("DEDUP SEMANTIC takes at most {} rows", u32::MAX));
        self.rows.push(u32::try_from(self.n_rows).map_err(too_many)?);
        Ok(true)
    }
}

/// The vectors of all partitions that have a direction.
pub(super) struct AllVectors {
    /// Values of each.
    pub(super) dimension: usize,
    /// In the order of the rows; none if there are none.
    pub(super) vectors: Option<Vectors>,
    /// The number of each one's row.
    pub(super) rows: Vec<u32>,
    /// Memory of [`ROW_BYTES`] for each.
    pub(super) claims: Vec<Claim>,
}

impl AllVectors {
    /// `numbering` is that of the rows.
    pub(super) fn of_partitions(mut partitions: Vec<VectorPartition>, numbering: &Numbering) -> Result<Self> {
        let dimension = common_dimension(&partitions, numbering)?;
        let positions: Option<Vec<Positions>> = partitions.iter_mut().map(|part| part.positions.take()).collect();
        let n_vectors = partitions.iter().map(|part| part.rows.len() as u64).sum();
        let of_vectors = match positions {
            Some(positions) => Numbering::new(positions)?,
            None => Numbering::of_one(n_vectors),
        };
        let row = |vector: u64| {
            let (partition, place) = of_vectors.place_of(vector);
            let row = numbering.number_of(partition, u64::from(partitions[partition].rows[place as usize]));
            let too_many = |_| Error::Data(format!("DEDUP SEMANTIC takes at most {} rows", u32::MAX));
            u32::try_from(row).map_err(too_many)
        };
        let rows = (0..n_vectors).map(row).collect::<Result<Vec<u32>>>()?;
        let (mut stores, mut claims) = (Vec::new(), Vec::new());
        for VectorPartition { vectors, n_partitions, budget, claim, .. } in partitions {
            let mut store = vectors.unwrap_or_else(|| VectorStore::new(dimension, n_partitions, budget));
            store.finish()?;
            stores.push(store);
            claims.push(claim);
        }
        let vectors = (n_vectors > 0).then(|| Vectors::of_partitions(stores, of_vectors, dimension));
        Ok(Self { dimension, vectors, rows, claims })
    }
}

/// How many values all vectors have. The first one says it; one that has others is an error.
fn common_dimension(partitions: &[VectorPartition], numbering: &Numbering) -> Result<usize> {
    let number =
        |(partition, (place, n_values)): (usize, (u64, usize))| (numbering.number_of(partition, place), n_values);
    let firsts = partitions.iter().enumerate().filter_map(|(at, part)| Some(number((at, part.first?))));
    let Some((_, wanted)) = firsts.min() else { return Ok(0) };
    let odd = |part: &VectorPartition| part.first.filter(|(_, found)| *found != wanted).or(part.odd);
    let odd = partitions.iter().enumerate().filter_map(|(at, part)| Some(number((at, odd(part)?)))).min();
    odd.map_or(Ok(wanted), |(row, found)| {
        Err(Error::Data(format!("the vector of row {row} has {found} values; those before it have {wanted}")))
    })
}
