//! Recognises an object by its content and checks every rule of its format.
use crate::failure::Failure;
use bucketlog_core::format::catalog::{Head, Page};
use bucketlog_core::format::segment::{BlockCodec, BlockIndex, DecodedBlock, RecordRef, open_whole};
use bucketlog_core::format::{FormatError, Section};
use bytes::Bytes;
use sha2::{Digest, Sha256};

/// Where the magic of a segment's trailer stands, from the end.
const SEGMENT_TRAILER: usize = 192;
/// Where the magic of a catalog object's trailer stands, from the end.
const CATALOG_TRAILER: usize = 32;
/// Where heads and pages say how long their header is.
const HEADER_LEN_AT: usize = 6;
const HEAD_HEADER_LEN: [u8; 2] = 192_u16.to_be_bytes();

/// An object without a flaw.
pub(super) enum Object {
    Segment(Segment),
    Head(Box<Head>),
    Page(Box<Page>),
}

/// A segment with every block open.
pub(super) struct Segment {
    pub(super) index: BlockIndex,
    blocks: Vec<DecodedBlock>,
}

impl Segment {
    pub(super) fn records(&self) -> impl Iterator<Item = RecordRef<'_>> {
        self.blocks.iter().flat_map(DecodedBlock::records)
    }

    /// SHA-256 over every record in a form that depends on neither blocks nor compression (docs/cli.md).
    pub(super) fn records_dump_sha256(&self) -> String {
        let mut dump = Sha256::new();
        for record in self.records() {
            dump.update(record.lsn.0.to_be_bytes());
            dump.update(record.timestamp.0.to_be_bytes());
            dump.update(length(record.headers().len()));
            for header in record.headers() {
                put(&mut dump, header.key);
                put(&mut dump, header.value);
            }
            put(&mut dump, record.value);
        }
        hex(dump.finalize().into())
    }
}

/// SHA-256 as 64 hexadecimal digits.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes).into())
}

fn hex(digest: [u8; 32]) -> String {
    let (high, low) = digest.split_at(16);
    [high, low]
        .map(|half| half.iter().fold(0, |number: u128, byte| number << 8 | u128::from(*byte)))
        .map(|n| format!("{n:032x}"))
        .concat()
}

fn put(dump: &mut Sha256, bytes: &[u8]) {
    dump.update(length(bytes.len()));
    dump.update(bytes);
}

/// No part of a record is longer than 4 MiB.
fn length(len: usize) -> [u8; 4] {
    u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes()
}

enum Kind {
    Segment,
    Head,
    Page,
}

/// Opens the object that `bytes` are; `name` is for messages.
pub(super) fn open(name: &str, bytes: &Bytes) -> Result<Object, Failure> {
    let Some(kind) = recognise(bytes) else { return Err(unrecognised(name, bytes)) };
    let object = match kind {
        Kind::Segment => open_segment(bytes).map(Object::Segment),
        Kind::Head => Head::decode(bytes).map(|head| Object::Head(Box::new(head))),
        Kind::Page => Page::decode(bytes).map(|page| Object::Page(Box::new(page))),
    };
    object.map_err(|error| Failure::damaged(name, &error))
}

/// By the magic at the start; where that is damaged, by the magic of the trailer.
fn recognise(bytes: &[u8]) -> Option<Kind> {
    match bytes.get(..4) {
        Some(b"PLSG") => return Some(Kind::Segment),
        Some(b"PLCH") => return Some(Kind::Head),
        Some(b"PLCL" | b"PLCX") => return Some(Kind::Page),
        _ => {}
    }
    if ends_with_trailer(bytes, SEGMENT_TRAILER, b"PLFT") {
        return Some(Kind::Segment);
    }
    let is_head = bytes.get(HEADER_LEN_AT..).is_some_and(|rest| rest.starts_with(&HEAD_HEADER_LEN));
    ends_with_trailer(bytes, CATALOG_TRAILER, b"PLCT").then_some(if is_head { Kind::Head } else { Kind::Page })
}

fn ends_with_trailer(bytes: &[u8], len: usize, magic: &[u8]) -> bool {
    bytes.len().checked_sub(len).and_then(|start| bytes.get(start..)).is_some_and(|trailer| trailer.starts_with(magic))
}

fn unrecognised(name: &str, bytes: &[u8]) -> Failure {
    let detail = match bytes.get(..4) {
        Some(start) => format!("it starts with \"{}\", not with PLSG, PLCH, PLCL or PLCX", start.escape_ascii()),
        None => format!("it has {} bytes", bytes.len()),
    };
    Failure::not_an_object(name, "unrecognized", "object", 0, detail)
}

/// The blocks come before the hash over all of them: their errors say where the damage is.
fn open_segment(bytes: &Bytes) -> Result<Segment, FormatError> {
    let index = open_whole(bytes, false)?;
    let mut codec = BlockCodec::new();
    let blocks =
        (0..index.entries.len()).map(|i| open_block(&mut codec, &index, i, bytes)).collect::<Result<_, _>>()?;
    open_whole(bytes, true)?;
    Ok(Segment { index, blocks })
}

fn open_block(
    codec: &mut BlockCodec,
    index: &BlockIndex,
    i: usize,
    bytes: &Bytes,
) -> Result<DecodedBlock, FormatError> {
    let entry = &index.entries[i];
    // The index was checked to lie inside the object, which is in memory.
    let start = usize::try_from(entry.offset).unwrap_or(usize::MAX).min(bytes.len());
    let stored = index.block_payload(i, &bytes.slice(start..))?;
    let stored_at = entry.end() - stored.len() as u64;
    codec.open(&entry.meta, &stored, index.trailer.codec, index.trailer.hash, stored_at).map_err(|error| {
        match error.section {
            Section::Record => {
                FormatError { detail: format!("block {i}, decompressed: {}", error.detail).into(), ..error }
            }
            _ => error,
        }
    })
}
