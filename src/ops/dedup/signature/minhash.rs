//! [`MinHash`]: from a text to its signature and to the fingerprints of its bands.

use super::super::shingle::{HashFamily, Normalize, Shingle};
use super::super::shingler::Shingler;
use super::datatrove::Datatrove;
use super::native::Native;
use super::nemo::Nemo;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Makes signatures; keeps its buffers from one text to the next.
#[derive(Debug, Clone)]
pub struct MinHash {
    shingler: Shingler,
    functions: Functions,
    rows: usize,
    shingles: Vec<u64>,
    signature: Vec<u64>,
    band: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Functions {
    Native(Native),
    Nemo(Nemo),
    Datatrove(Datatrove),
}

impl MinHash {
    /// Signatures of `bands` × `rows` values. The families of others take the low 32 bits of the seed: theirs have no
    /// more.
    pub fn new(family: HashFamily, shingle: Shingle, normalize: Normalize, bands: u32, rows: u32, seed: u64) -> Self {
        let n_values = bands as usize * rows as usize;
        let functions = match family {
            HashFamily::Native => Functions::Native(Native::new(n_values, seed)),
            HashFamily::Nemo => Functions::Nemo(Nemo::new(n_values, seed as u32)),
            HashFamily::Datatrove => Functions::Datatrove(Datatrove::new(n_values, seed as u32)),
        };
        Self {
            shingler: Shingler::new(shingle, normalize),
            functions,
            rows: rows.max(1) as usize,
            shingles: vec![],
            signature: vec![],
            band: vec![],
        }
    }

    /// The signature; `false` if the text has no shingles. Then there is no signature either, except that libcudf's is
    /// all 0. `out` is emptied before.
    pub fn signature(&mut self, text: &str, out: &mut Vec<u64>) -> bool {
        out.clear();
        match &mut self.functions {
            Functions::Native(native) => {
                self.shingler.hashes(text, &mut self.shingles);
                native.signature(&self.shingles, out)
            }
            Functions::Nemo(nemo) => {
                nemo.clear();
                self.shingler.each_slices(text, |shingles| nemo.add(shingles));
                nemo.signature(out)
            }
            Functions::Datatrove(datatrove) => {
                self.shingles.clear();
                self.shingler.each_slice(text, |shingle| self.shingles.push(Datatrove::hash(shingle)));
                datatrove.signature(&self.shingles, out)
            }
        }
    }

    /// A fingerprint for each band: equal if all rows of the band are, and different bands never meet. `false`, and
    /// none, if the text has no shingles. `out` is emptied before.
    pub fn bands(&mut self, text: &str, out: &mut Vec<u64>) -> bool {
        out.clear();
        let mut signature = std::mem::take(&mut self.signature);
        let has_shingles = self.signature(text, &mut signature);
        if has_shingles {
            for (band, rows) in (0u64..).zip(signature.chunks(self.rows)) {
                self.band.clear();
                rows.iter().for_each(|value| self.band.extend_from_slice(&value.to_le_bytes()));
                out.push(xxh3_64_with_seed(&self.band, band));
            }
        }
        self.signature = signature;
        has_shingles
    }
}
