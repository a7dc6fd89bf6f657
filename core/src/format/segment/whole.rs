//! Opening a segment that is wholly in memory.
use super::{BlockIndex, FilePreamble, Trailer};
use crate::format::FormatErrorKind::{Integrity, Truncated};
use crate::format::{FormatError, Section};
use crate::limits::{MIN_SEGMENT_LEN, TRAILER_LEN};
use bytes::Bytes;

/// Opens a segment that is wholly in memory: trailer, preamble, index and their agreement; with `verify_hash` also the
/// segment hash over everything before the trailer. Blocks are opened one by one afterwards.
///
/// # Errors
/// The first rule that the object breaks, in that order.
pub fn open_whole(object: &Bytes, verify_hash: bool) -> Result<BlockIndex, FormatError> {
    let object_size = object.len() as u64;
    let Some((body, trailer)) = object.split_last_chunk::<TRAILER_LEN>() else {
        let detail = format!("the object has {object_size} bytes; a segment has at least {MIN_SEGMENT_LEN}");
        return Err(FormatError::new(Truncated, Section::SegmentTrailer, 0, detail));
    };
    let trailer = Trailer::decode(trailer, object_size)?;
    FilePreamble::decode(body)?.check_trailer(&trailer)?;
    let index = BlockIndex::decode(index_bytes(body, &trailer)?, &trailer)?;
    if verify_hash {
        check_segment_hash(body, &trailer)?;
    }
    Ok(index)
}

fn index_bytes<'a>(body: &'a [u8], trailer: &Trailer) -> Result<&'a [u8], FormatError> {
    usize::try_from(trailer.block_index_offset).ok().and_then(|offset| body.get(offset..)).ok_or_else(|| {
        let detail = format!("the index starts at {}, after {} bytes", trailer.block_index_offset, body.len());
        FormatError::new(Truncated, Section::BlockIndex, trailer.block_index_offset, detail)
    })
}

fn check_segment_hash(body: &[u8], trailer: &Trailer) -> Result<(), FormatError> {
    let computed = trailer.hash.hash(body);
    if computed == trailer.segment_hash {
        return Ok(());
    }
    let detail = format!("segment_hash is {:016x}, but the body hashes to {computed:016x}", trailer.segment_hash);
    Err(FormatError::new(Integrity, Section::SegmentTrailer, trailer.body_len().saturating_add(128), detail))
}
