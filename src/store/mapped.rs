//! Large files that are read here and there, such as the weights of a model: mapped, so that all threads and all processes of a
//! machine read one copy, which the system may take from memory and read again.

use super::remote;
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::path::Path;

/// The bytes of a file. Those of a local one are mapped; an object of a store is read into memory.
///
/// Whoever replaces such a file must give the new one its name, as every tool that fetches models does. To cut or overwrite a
/// file under a process that has mapped it ends that process, or changes what it reads.
pub fn map(path: &Path) -> io::Result<Bytes> {
    if remote::is_remote(path) {
        return super::read(path).map(Bytes::from);
    }
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is read only and private. That nobody changes the file meanwhile cannot be known; what is read is taken for
    // bytes of any value, and the reader has compared each place that it looks at with the length of the map.
    #[allow(unsafe_code)]
    let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(&file)? };
    Ok(Bytes::from_owner(map))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_file_is_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights.bin");
        for content in [Vec::new(), b"weights".to_vec(), vec![7; 100_000]] {
            std::fs::write(&path, &content).unwrap();
            assert_eq!(map(&path).unwrap(), content);
        }
        assert_eq!(map(&folder.path().join("other")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(map(folder.path()).is_err());
    }

    #[test]
    fn bytes_stay_when_another_file_gets_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, new) = (folder.path().join("weights.bin"), folder.path().join("new"));
        std::fs::write(&path, "old").unwrap();
        let old = map(&path).unwrap();
        std::fs::write(&new, "other").unwrap();
        std::fs::rename(&new, &path).unwrap();
        assert_eq!((old, map(&path).unwrap()), (Bytes::from("old"), Bytes::from("other")));
    }
}
