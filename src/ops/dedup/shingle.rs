//! What a document is a set of, for near-duplicate search: n words, characters or tokens in a row.

use std::fmt;
use std::str::FromStr;

/// What is counted off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShingleUnit {
    /// Words, as the normalization cuts them.
    Words,
    /// Characters (code points).
    Chars,
    /// Runs of letters and digits, and every other character that is not white space.
    Tokens,
}

/// So many units in a row: `words:5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shingle {
    /// What is counted off.
    pub unit: ShingleUnit,
    /// How many make a shingle.
    pub n: usize,
}

impl fmt::Display for Shingle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            ShingleUnit::Words => "words",
            ShingleUnit::Chars => "chars",
            ShingleUnit::Tokens => "tokens",
        };
        write!(f, "{unit}:{}", self.n)
    }
}

impl FromStr for Shingle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || format!("'{text}' is no shingle; write 'words:5', 'chars:24' or 'tokens:5'");
        let (unit, n) = text.split_once(':').ok_or_else(wanted)?;
        let unit = match unit.trim() {
            "words" => ShingleUnit::Words,
            "chars" => ShingleUnit::Chars,
            "tokens" => ShingleUnit::Tokens,
            _ => return Err(wanted()),
        };
        let n: usize = n.trim().parse().map_err(|_| wanted())?;
        if n == 0 { Err("a shingle has at least one unit".to_string()) } else { Ok(Self { unit, n }) }
    }
}

/// What is done to a text before it is cut into shingles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Normalize {
    /// Nothing; words are what Python's `str.split()` gives.
    None,
    /// Lower case; words are runs of letters, digits and `_`.
    Words,
    /// datatrove's: lower case, digits to 0, no punctuation, no accents, white space to one space.
    Datatrove,
}

impl fmt::Display for Normalize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Normalize::None => "none",
            Normalize::Words => "words",
            Normalize::Datatrove => "datatrove",
        })
    }
}

impl FromStr for Normalize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Normalize::None),
            "words" => Ok(Normalize::Words),
            "datatrove" => Ok(Normalize::Datatrove),
            _ => Err(format!("'{text}' is no normalization; write 'none', 'words' or 'datatrove'")),
        }
    }
}

/// Whose hash functions a signature is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HashFamily {
    /// Our own: each shingle is hashed once, not once for each permutation.
    Native,
    /// NeMo Curator's on libcudf: MurmurHash3 32-bit, a·x + b mod 2³².
    Nemo,
    /// datatrove's: xxh64, a·x + b mod 2⁶¹ − 1.
    Datatrove,
}

impl fmt::Display for HashFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HashFamily::Native => "native",
            HashFamily::Nemo => "nemo",
            HashFamily::Datatrove => "datatrove",
        })
    }
}

impl FromStr for HashFamily {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "native" => Ok(HashFamily::Native),
            "nemo" => Ok(HashFamily::Nemo),
            "datatrove" => Ok(HashFamily::Datatrove),
            _ => Err(format!("'{text}' is no hash family; write 'native', 'nemo' or 'datatrove'")),
        }
    }
}
