//! The 32 bytes that close every catalog object (objlog formats 2.1).
use super::fill::Fill;
use super::rules::{Flaw, require, require_kind};
use crate::format::read::Cursor;
use crate::format::{FormatError, FormatErrorKind, HashAlgo, Section};
use crate::limits::CATALOG_TRAILER_LEN;

const MAGIC: [u8; 4] = *b"PLCT";
const LEN: u16 = 32;
const _: () = assert!(LEN as usize == CATALOG_TRAILER_LEN);

const BODY_HASH_AT: u64 = 8;
const TRAILER_HASH_AT: u64 = 16;

fn bytes(body_hash: u64, trailer_hash: u64) -> [u8; CATALOG_TRAILER_LEN] {
    let mut out = [0; CATALOG_TRAILER_LEN];
    let mut fields = Fill::new(&mut out);
    fields.bytes(MAGIC);
    fields.u16(LEN);
    fields.reserved::<2>();
    fields.u64(body_hash);
    fields.u64(trailer_hash);
    fields.reserved::<8>();
    out
}

/// Appends the trailer of everything in `object`.
pub(super) fn close(object: &mut Vec<u8>, hash: HashAlgo) {
    let body_hash = hash.hash(object);
    let trailer_hash = hash.hash(&bytes(body_hash, 0));
    object.extend_from_slice(&bytes(body_hash, trailer_hash));
}

/// Everything before the trailer, once both hashes agree.
pub(super) fn open(object: &[u8], hash: HashAlgo) -> Result<&[u8], FormatError> {
    let Some((body, stored)) = object.split_last_chunk::<CATALOG_TRAILER_LEN>() else {
        let detail = format!("{CATALOG_TRAILER_LEN} bytes expected, the object has {}", object.len());
        return Err(FormatError::new(FormatErrorKind::Truncated, Section::CatalogTrailer, 0, detail));
    };
    let base = body.len() as u64;
    let mut fields = Cursor::new(stored, Section::CatalogTrailer, base);
    let (magic, len) = (fields.array::<4>()?, fields.u16()?);
    let in_trailer = |flaw: Flaw| flaw.within(Section::CatalogTrailer, base);
    require(magic == MAGIC, 0, || format!("magic must be \"PLCT\", found \"{}\"", magic.escape_ascii()))
        .map_err(in_trailer)?;
    require(len == LEN, 4, || format!("trailer length must be {LEN}, found {len}")).map_err(in_trailer)?;
    fields.reserved::<2>()?;
    let (body_hash, trailer_hash) = (fields.u64()?, fields.u64()?);
    fields.reserved::<8>()?;
    same_hash("trailer", TRAILER_HASH_AT, trailer_hash, hash.hash(&bytes(body_hash, 0))).map_err(in_trailer)?;
    same_hash("body", BODY_HASH_AT, body_hash, hash.hash(body)).map_err(in_trailer)?;
    Ok(body)
}

fn same_hash(of: &str, at: u64, stored: u64, computed: u64) -> Result<(), Flaw> {
    require_kind(FormatErrorKind::Integrity, stored == computed, at, || {
        format!("{of} hash {stored:016x} is stored, {computed:016x} is computed")
    })
}
