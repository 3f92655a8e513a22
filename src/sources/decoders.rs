//! The decoders of packed files, as a reader of many files wants them.
//!
//! Invariant: what was unpacked before an error is given before the error; what follows it is not. A file that asks for more
//! memory than it may have is refused with what to change, before that memory is touched.

use liblzma::stream::{Action, CONCATENATED, Status, Stream};
use std::io::{self, BufRead, ErrorKind, Read};

/// The window that each zstd decoder takes; larger ones are asked for (`zstd --long`).
pub(crate) const USUAL_WINDOW_BYTES: u64 = 128 << 20;
/// The largest window that there is.
const MAX_WINDOW_LOG: u32 = 31;
/// What a decoder loses of the bytes that it has unpacked when it meets an error: no more than it was asked for.
const STEP_BYTES: usize = 16 << 10;

/// Unpacks zstd whose window is no larger than this.
pub(super) fn zstd_decoder<R: BufRead>(
    packed: R,
    max_window_bytes: u64,
) -> io::Result<zstd::stream::read::Decoder<'static, R>> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
    decoder.window_log_max(max_window_bytes.max(USUAL_WINDOW_BYTES).ilog2().min(MAX_WINDOW_LOG))?;
    Ok(decoder)
}

/// Says what to do about a file that was packed with more memory than it may take now.
pub(super) fn explained(error: io::Error, max_window_bytes: u64) -> io::Error {
    let text = error.to_string();
    if !text.contains("too much memory") && !text.contains("memory limit reached") {
        return error;
    }
    let limit = crate::config::format_bytes(max_window_bytes.max(USUAL_WINDOW_BYTES) as usize);
    io::Error::other(format!(
        "unpacking it takes more memory ({limit}) than a thread may take for that; raise memory_limit, or set fewer threads"
    ))
}

/// A decoder whose errors are explained.
pub(super) struct Explained<R> {
    pub inner: R,
    pub max_window_bytes: u64,
}

impl<R: Read> Read for Explained<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|error| explained(error, self.max_window_bytes))
    }
}

/// A decoder that is asked for a little at a time, because it loses what it has unpacked when it meets an error.
pub(super) struct InSteps<R>(pub R);

impl<R: Read> Read for InSteps<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = buffer.len().min(STEP_BYTES);
        self.0.read(&mut buffer[..n_bytes])
    }
}

/// Unpacks xz, any number of streams.
pub(super) struct Unxz<R> {
    packed: R,
    decoder: Stream,
    /// Met after bytes that had to be given first.
    error: Option<io::Error>,
    is_over: bool,
}

impl<R: BufRead> Unxz<R> {
    pub fn new(packed: R, max_window_bytes: u64) -> io::Result<Self> {
        let max_bytes = max_window_bytes.max(USUAL_WINDOW_BYTES).saturating_mul(2);
        let decoder = Stream::new_stream_decoder(max_bytes, CONCATENATED)?;
        Ok(Self { packed, decoder, error: None, is_over: false })
    }
}

impl<R: BufRead> Read for Unxz<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(error) = self.error.take() {
                self.is_over = true;
                return Err(error);
            }
            if self.is_over || buffer.is_empty() {
                return Ok(0);
            }
            let packed = self.packed.fill_buf()?;
            let is_last = packed.is_empty();
            let (before_in, before_out) = (self.decoder.total_in(), self.decoder.total_out());
            let action = if is_last { Action::Finish } else { Action::Run };
            let status = self.decoder.process(packed, buffer, action);
            let n_taken = (self.decoder.total_in() - before_in) as usize;
            self.packed.consume(n_taken);
            let n_bytes = (self.decoder.total_out() - before_out) as usize;
            match status {
                Err(error) => self.error = Some(error.into()),
                Ok(Status::StreamEnd) => self.is_over = true,
                Ok(_) if n_bytes == 0 && (is_last || n_taken == 0) => {
                    self.error = Some(io::Error::new(ErrorKind::UnexpectedEof, "the file is cut off"));
                }
                Ok(_) => {}
            }
            if n_bytes > 0 {
                return Ok(n_bytes);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Write;

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_stands_before_garbage_is_given() {
        let text: Vec<u8> = (0..50_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        let packed = [xz(&text), xz(b"more\n"), b"garbage that is no xz stream".to_vec()].concat();
        let mut unpacked = vec![];
        let mut stream = Unxz::new(packed.as_slice(), 0).unwrap();
        assert!(stream.read_to_end(&mut unpacked).is_err());
        assert_eq!(unpacked, [text, b"more\n".to_vec()].concat());
        assert_eq!(stream.read(&mut [0; 9]).unwrap(), 0, "nothing follows an error");
    }

    #[test]
    fn a_long_window_is_taken_where_memory_allows_it() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(28).unwrap();
        encoder.write_all(b"some text\n").unwrap();
        let packed = encoder.finish().unwrap();
        let unpack = |max_window_bytes| {
            let inner = zstd_decoder(packed.as_slice(), max_window_bytes).unwrap();
            let mut text = String::new();
            Explained { inner, max_window_bytes }.read_to_string(&mut text).map(|_| text)
        };
        assert_eq!(unpack(1 << 28).unwrap(), "some text\n");
        let told = unpack(1 << 20).unwrap_err().to_string();
        assert!(told.contains("memory_limit") && told.contains("134.2 MB"), "{told}");
    }
}
