//! Compresses a piece of text as a stream of its own: a gzip member, a zstd frame, a bzip2 or xz stream.
//!
//! One after the other such pieces are a valid file, and none depends on another. A gzip member tells its size in its
//! header, so that a reader can begin with any of them (`sources::members`).

use super::options::Compression;
use crate::sources::GZIP_SIZE_FIELD;
use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
use std::io::{self, Write};

/// Where the size stands in a gzip member of ours: after the header, the length of all fields, and the name and length of
/// this one.
const GZIP_SIZE_AT: usize = 10 + 2 + 4;

/// One complete compressed stream.
pub(super) fn compress(text: Vec<u8>, compression: Compression) -> io::Result<Vec<u8>> {
    let out = Vec::with_capacity(text.len() / 2);
    match compression {
        Compression::Gzip => {
            // The field of the size, filled in when it is known.
            let field = [GZIP_SIZE_FIELD.as_slice(), &4_u16.to_le_bytes(), &[0; 4]].concat();
            let builder = flate2::GzBuilder::new().extra(field);
            let mut encoder = builder.write(out, flate2::Compression::default());
            encoder.write_all(&text)?;
            let mut member = encoder.finish()?;
            let size = u32::try_from(member.len()).unwrap_or(0);
            if let Some(field) = member.get_mut(GZIP_SIZE_AT..GZIP_SIZE_AT + 4) {
                field.copy_from_slice(&size.to_le_bytes());
            }
            Ok(member)
        }
        Compression::Zstd => {
            let mut compressor = zstd::bulk::Compressor::new(zstd::DEFAULT_COMPRESSION_LEVEL)?;
            compressor.include_checksum(true)?;
            compressor.compress(&text)
        }
        Compression::Bzip2 => {
            let mut encoder = bzip2::write::BzEncoder::new(out, bzip2::Compression::default());
            encoder.write_all(&text)?;
            encoder.finish()
        }
        Compression::Xz => {
            let mut encoder = liblzma::write::XzEncoder::new_stream(out, xz_stream(text.len())?);
            encoder.write_all(&text)?;
            encoder.finish()
        }
        Compression::None => Ok(text),
        other => Err(io::Error::other(format!("{} does not compress whole files", other.name()))),
    }
}

/// The usual settings of xz, with a window that is no larger than the text: its tables are cleared for every piece.
fn xz_stream(text_bytes: usize) -> io::Result<Stream> {
    let mut options = LzmaOptions::new_preset(6)?;
    let window_bytes = text_bytes.next_power_of_two().clamp(64 << 10, 8 << 20);
    options.dict_size(window_bytes as u32);
    Ok(Stream::new_stream_encoder(Filters::new().lzma2(&options), Check::Crc64)?)
}
