//! The bytes of a model, read from the beginning to the end; every length is compared with what is there.

use crate::{Error, Result};
use bytes::Bytes;

/// The bytes that are left to read.
pub(super) struct File<'a> {
    bytes: Bytes,
    name: &'a str,
}

impl<'a> File<'a> {
    pub(super) fn new(bytes: Bytes, name: &'a str) -> Self {
        Self { bytes, name }
    }

    /// An error about this file.
    pub(super) fn damaged(&self, why: impl std::fmt::Display) -> Error {
        Error::Data(format!("{}: {why}", self.name))
    }

    /// The next bytes, which stay where they are. `n_bytes` is none where a size does not fit a number.
    pub(super) fn take(&mut self, n_bytes: Option<usize>, what: &str) -> Result<Bytes> {
        match n_bytes {
            Some(n_bytes) if n_bytes <= self.bytes.len() => Ok(self.bytes.split_to(n_bytes)),
            _ => Err(self.damaged(format!("the file ends within {what}: it is damaged, or was not copied to its end"))),
        }
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let bytes = self.take(Some(N), what)?;
        let mut array = [0; N];
        array.copy_from_slice(&bytes);
        Ok(array)
    }

    pub(super) fn flag(&mut self, what: &str) -> Result<bool> {
        match self.array::<1>(what)? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.damaged(format!("{what} is {other}, neither 0 nor 1: it is damaged"))),
        }
    }

    pub(super) fn i32(&mut self, what: &str) -> Result<i32> {
        Ok(i32::from_le_bytes(self.array(what)?))
    }

    pub(super) fn i64(&mut self, what: &str) -> Result<i64> {
        Ok(i64::from_le_bytes(self.array(what)?))
    }

    /// A number that cannot be negative.
    pub(super) fn count(&mut self, what: &str) -> Result<usize> {
        let n = self.i32(what)?;
        usize::try_from(n).map_err(|_| self.damaged(format!("{what} is {n}: it is damaged")))
    }

    /// The same in eight bytes.
    pub(super) fn long_count(&mut self, what: &str) -> Result<usize> {
        let n = self.i64(what)?;
        usize::try_from(n).map_err(|_| self.damaged(format!("{what} is {n}: it is damaged")))
    }

    /// The bytes up to the next zero, without it.
    pub(super) fn text(&mut self, what: &str) -> Result<Bytes> {
        let end = memchr::memchr(0, &self.bytes);
        let text = self.take(end, what)?;
        self.take(Some(1), what)?;
        Ok(text)
    }

    /// All that is left to read.
    pub(super) fn rest(&self) -> Bytes {
        self.bytes.clone()
    }

    /// How many bytes are left: nothing in the file can be of more.
    pub(super) fn n_left(&self) -> usize {
        self.bytes.len()
    }
}

/// The numbers in some bytes, which may begin at any address.
pub(super) fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four))
}
