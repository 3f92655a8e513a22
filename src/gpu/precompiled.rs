//! Kernels that come compiled with the program, one for each operator, so that a machine with a driver and without NVRTC
//! can use its GPU: unfused.
//!
//! The pack is one file, `kernels/precompiled.pack`: a line with the hash of all sources, then, compressed, for each
//! kernel a line with its name and length and its PTX.
//! Invariant: the hash in the file is that of the sources it was made from; a test compares it with today's.

use std::{collections::BTreeMap, sync::OnceLock};

use sha2::{Digest, Sha256};

use super::{Compiler, Form, GpuError, cache::hex};

static COMMITTED: &[u8] = include_bytes!("../../kernels/precompiled.pack");

/// PTX needs no newer driver than the instructions in it: NVRTC states its own version, whatever it wrote.
const PTX_VERSION: &str = ".version 7.0";

/// The oldest architecture: PTX for it runs on all newer ones.
const COMPUTE_CAPABILITY: (u32, u32) = super::probe::OLDEST;

const MAGIC: &str = "curator precompiled kernels 1, sources sha256 ";

/// Precompiled kernels by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Precompiled {
    /// The hash of the sources it was made from.
    pub sources_hash: String,
    kernels: BTreeMap<String, Vec<u8>>,
}

impl Precompiled {
    /// The one that came with the program.
    pub fn committed() -> Result<&'static Precompiled, String> {
        static PACK: OnceLock<Result<Precompiled, String>> = OnceLock::new();
        PACK.get_or_init(|| Precompiled::read(COMMITTED)).as_ref().map_err(Clone::clone)
    }

    /// The PTX of a kernel.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.kernels.get(name).map(Vec::as_slice)
    }

    /// The names of the kernels, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.kernels.keys().map(String::as_str)
    }

    /// Compiles `kernels`: names and sources.
    pub fn compile(compiler: &Compiler, kernels: &[(String, String)]) -> Result<Self, GpuError> {
        let compile = |(name, source): &(String, String)| {
            let ptx = compiler.compile(source, COMPUTE_CAPABILITY, Form::Ptx).map_err(|error| match error {
                GpuError::Compile(log) => GpuError::Compile(format!("{name}: {log}")),
                error => error,
            })?;
            Ok((name.clone(), portable(&String::from_utf8_lossy(&ptx)).into_bytes()))
        };
        let compiled = kernels.iter().map(compile).collect::<Result<_, GpuError>>()?;
        Ok(Self { sources_hash: hash_of(kernels), kernels: compiled })
    }

    /// The file.
    pub fn write(&self) -> std::io::Result<Vec<u8>> {
        let mut body = vec![];
        for (name, ptx) in &self.kernels {
            body.extend_from_slice(format!("{name} {}\n", ptx.len()).as_bytes());
            body.extend_from_slice(ptx);
        }
        let mut file = format!("{MAGIC}{}\n", self.sources_hash).into_bytes();
        // The kernels share most of their text, over more bytes than a small window sees.
        let mut encoder = zstd::Encoder::new(&mut file, 19)?;
        encoder.long_distance_matching(true)?;
        encoder.window_log(WINDOW_LOG)?;
        // Else whoever reads it makes room for the whole window.
        encoder.set_pledged_src_size(Some(body.len() as u64))?;
        std::io::Write::write_all(&mut encoder, &body)?;
        encoder.finish()?;
        Ok(file)
    }

    /// Reads such a file.
    pub fn read(file: &[u8]) -> Result<Self, String> {
        let broken = |why: &str| format!("the precompiled kernels cannot be read: {why}");
        let (head, body) = split_line(file).ok_or_else(|| broken("there is no first line"))?;
        let sources_hash = head.strip_prefix(MAGIC).ok_or_else(|| broken("the first line is another"))?.to_string();
        let mut kernels = BTreeMap::new();
        if body.is_empty() {
            return Ok(Self { sources_hash, kernels });
        }
        let mut decoder = zstd::Decoder::new(body).map_err(|error| broken(&error.to_string()))?;
        decoder.window_log_max(WINDOW_LOG).map_err(|error| broken(&error.to_string()))?;
        let mut text = vec![];
        std::io::Read::read_to_end(&mut decoder, &mut text).map_err(|error| broken(&error.to_string()))?;
        let mut rest = text.as_slice();
        while !rest.is_empty() {
            let (line, after) = split_line(rest).ok_or_else(|| broken("a kernel has no name"))?;
            let (name, n_bytes) = line.split_once(' ').ok_or_else(|| broken("a kernel has no length"))?;
            let n_bytes: usize = n_bytes.parse().map_err(|_| broken("a length is no number"))?;
            let (ptx, next) = after.split_at_checked(n_bytes).ok_or_else(|| broken("a kernel is cut off"))?;
            kernels.insert(name.to_string(), ptx.to_vec());
            rest = next;
        }
        Ok(Self { sources_hash, kernels })
    }
}

/// 128 MB.
const WINDOW_LOG: u32 = 27;

/// The hash of the names and sources that a pack is made from.
pub fn hash_of(kernels: &[(String, String)]) -> String {
    let mut hash = Sha256::new();
    hash.update(format!("{PTX_VERSION} {COMPUTE_CAPABILITY:?}\n"));
    for (name, source) in kernels {
        hash.update(format!("{name} {}\n{source}", source.len()));
    }
    hex(&hash.finalize())
}

/// PTX without comments and empty lines, which name the compiler and differ from build to build, and with the version
/// that its instructions need. Remarks to newer assemblers are left out: older ones do not know them.
fn portable(ptx: &str) -> String {
    let is_remark = |line: &str| line.trim_start().starts_with(".pragma \"used_bytes_mask");
    let lines = ptx.lines().filter(|line| !line.starts_with("//") && !line.is_empty() && !is_remark(line));
    lines
        .map(|line| if line.starts_with(".version ") { PTX_VERSION } else { line })
        .fold(String::new(), |text, line| text + line + "\n")
}

fn split_line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pack() -> Precompiled {
        let kernels = [("words", "ptx of words\n"), ("chars", "ptx\nof chars"), ("empty", "")];
        let kernels = kernels.map(|(name, ptx)| (name.to_string(), ptx.as_bytes().to_vec())).into();
        Precompiled { sources_hash: "abc".to_string(), kernels }
    }

    #[test]
    fn a_pack_is_read_as_it_was_written() {
        let file = pack().write().unwrap();
        assert_eq!(Precompiled::read(&file).unwrap(), pack());
        assert_eq!(pack().get("chars"), Some(b"ptx\nof chars".as_slice()));
        assert_eq!(pack().get("lines"), None);
        assert_eq!(pack().names().collect::<Vec<_>>(), ["chars", "empty", "words"]);
    }

    #[test]
    fn a_damaged_pack_is_a_message() {
        let file = pack().write().unwrap();
        for n_bytes in 0..file.len() {
            // The first line alone is a pack of nothing.
            if file[..n_bytes].last() != Some(&b'\n') || n_bytes == 0 {
                let why = Precompiled::read(&file[..n_bytes]).unwrap_err();
                assert!(why.starts_with("the precompiled kernels cannot be read: "), "{why}");
            }
        }
    }

    #[test]
    fn the_hash_changes_with_names_and_sources() {
        let kernel = |name: &str, source: &str| (name.to_string(), source.to_string());
        let hash = hash_of(&[kernel("a", "x"), kernel("b", "y")]);
        assert_eq!(hash.len(), 64);
        for other in [vec![kernel("a", "x")], vec![kernel("a", "xb"), kernel("b", "y")], vec![kernel("a", "y")]] {
            assert_ne!(hash, hash_of(&other));
        }
    }

    /// With `UPDATE_PTX=1`, and NVRTC, the file is made again.
    #[test]
    fn the_committed_pack_was_made_from_these_sources() {
        let kernels = crate::gpu::single_kernels();
        if std::env::var_os("UPDATE_PTX").is_some() {
            let made = Precompiled::compile(&Compiler::open(None, None, None), &kernels).unwrap();
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/precompiled.pack");
            std::fs::write(path, made.write().unwrap()).unwrap();
            return;
        }
        let committed = Precompiled::committed().unwrap();
        let names: Vec<&str> = committed.names().collect();
        let mut expected: Vec<&str> = kernels.iter().map(|(name, _)| name.as_str()).collect();
        expected.sort_unstable();
        assert_eq!(names, expected, "kernels came or went: run the tests with UPDATE_PTX=1");
        assert_eq!(committed.sources_hash, hash_of(&kernels), "a kernel changed: run the tests with UPDATE_PTX=1");
    }

    #[test]
    fn the_committed_pack_can_be_read() {
        let pack = Precompiled::committed().unwrap();
        for name in pack.names() {
            let ptx = String::from_utf8_lossy(pack.get(name).unwrap());
            assert!(ptx.contains(&format!(".entry {name}(")), "{name}");
            assert!(ptx.starts_with(PTX_VERSION), "{name}");
        }
    }

    #[test]
    fn precompiled_code_states_the_version_that_it_needs_and_not_who_made_it() {
        let ptx = "//\n// Generated by NVIDIA NVVM Compiler\n//\n\n.version 8.8\n.target sm_70\n\
                   \t.pragma \"used_bytes_mask 0xff\";\n\tret;\n";
        assert_eq!(portable(ptx), ".version 7.0\n.target sm_70\n\tret;\n");
    }
}
