//! Bytes that are appended, then read anywhere: in memory until the [`Budget`] refuses, then in a file.

use super::Budget;
use super::claim::Claim;
use super::spill_file::SpillFile;
use crate::{Result, bug};
use std::sync::Arc;

/// A piece of memory, and what is written at a time; of a size that allocators waste little on (see `groups.rs`).
const PIECE_BYTES: usize = 224 << 10;

/// A growing string of bytes. Until the first refusal all pieces are in memory; after it one piece is, as a buffer.
pub(super) struct ByteLog {
    budget: Arc<dyn Budget>,
    pieces: Vec<Vec<u8>>,
    claim: Claim,
    file: Option<SpillFile>,
    len_bytes: u64,
}

impl ByteLog {
    pub(super) fn new(budget: &Arc<dyn Budget>) -> Self {
        let claim = Claim::none(budget);
        Self { budget: Arc::clone(budget), pieces: Vec::new(), claim, file: None, len_bytes: 0 }
    }

    pub(super) fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    #[cfg(test)]
    pub(super) fn has_spilled(&self) -> bool {
        self.file.is_some()
    }

    /// Writes at the end.
    pub(super) fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.len_bytes += bytes.len() as u64;
        while !bytes.is_empty() {
            let room = self.pieces.last().map_or(0, |piece| PIECE_BYTES - piece.len());
            if room == 0 {
                self.make_room()?;
                continue;
            }
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            if let Some(piece) = self.pieces.last_mut() {
                piece.extend_from_slice(now);
            }
            bytes = later;
        }
        Ok(())
    }

    fn make_room(&mut self) -> Result<()> {
        // The first piece is not claimed: a buffer is needed in any case.
        if self.file.is_some() || !(self.pieces.is_empty() || self.claim.try_grow(PIECE_BYTES)) {
            self.spill()?;
        }
        if self.file.is_none() || self.pieces.is_empty() {
            self.pieces.push(Vec::with_capacity(PIECE_BYTES));
        }
        Ok(())
    }

    /// All pieces to the file; one stays, empty.
    fn spill(&mut self) -> Result<()> {
        if self.file.is_none() {
            self.file = Some(SpillFile::new(self.budget.as_ref())?);
        }
        let Some(file) = &self.file else { return Ok(()) };
        for piece in &self.pieces {
            file.append(piece, self.budget.as_ref())?;
        }
        self.pieces.truncate(1);
        self.pieces.iter_mut().for_each(Vec::clear);
        self.claim.shrink_to(0);
        Ok(())
    }

    /// Call once, after the last `append` and before the first read.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.file.is_some() {
            self.spill()?;
            self.pieces = Vec::new();
        }
        Ok(())
    }

    /// Fills `bytes` from `offset` on.
    pub(super) fn read_at(&self, offset: u64, mut bytes: &mut [u8]) -> Result<()> {
        if let Some(file) = &self.file {
            return file.read_at(offset, bytes);
        }
        let mut at = offset as usize;
        while !bytes.is_empty() {
            let rest = self.pieces.get(at / PIECE_BYTES).and_then(|piece| piece.get(at % PIECE_BYTES..));
            let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
                return Err(bug!("byte {at} of {} read", self.len_bytes));
            };
            let n_bytes = rest.len().min(bytes.len());
            let (now, later) = bytes.split_at_mut(n_bytes);
            now.copy_from_slice(&rest[..n_bytes]);
            bytes = later;
            at += n_bytes;
        }
        Ok(())
    }
}
