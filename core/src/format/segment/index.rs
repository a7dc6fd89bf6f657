//! The block index (objlog formats, 1.4 and 1.5) and the look-ups it serves.
use super::layout::META_OFFSET;
use super::{BlockMeta, Trailer};
use crate::format::FormatErrorKind::{Integrity, Invalid, Mismatch, TooLarge, Truncated};
use crate::format::read::Cursor;
use crate::format::{FormatError, FormatErrorKind, HashAlgo, Section};
use crate::ids::{Lsn, TimestampMs};
use crate::limits::{BLOCK_PREAMBLE_LEN, FILE_PREAMBLE_LEN, INDEX_ENTRY_LEN, INDEX_PREAMBLE_LEN, MAX_BLOCK_COUNT};
use bytes::{BufMut, Bytes};
use core::ops::Range;

const MAGIC: &[u8; 4] = b"PLIX";
const PREAMBLE_LEN_FIELD: u16 = 64;
const ENTRY_SIZE_FIELD: u32 = 64;
const RESERVED_LEN: usize = 40;

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockEntry {
    /// Absolute offset of the block's preamble.
    pub offset: u64,
    /// What the block's preamble says too.
    pub meta: BlockMeta,
}

impl BlockEntry {
    /// Absolute offset after the block's last stored byte.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(BLOCK_PREAMBLE_LEN as u64).saturating_add(u64::from(self.meta.stored_size))
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        let entry = Self { offset: cursor.u64()?, meta: BlockMeta::read(cursor)? };
        cursor.reserved::<8>()?;
        Ok(entry)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.put_u64(self.offset);
        self.meta.write(out);
        out.put_u64(0);
    }
}

/// A segment's parsed and checked block index, with its trailer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockIndex {
    /// The trailer the index was checked against.
    pub trailer: Trailer,
    /// One entry per block, in order of offset and LSN.
    pub entries: Vec<BlockEntry>,
}

impl BlockIndex {
    /// Reads and checks the index: `bytes` are exactly the region that `trailer` names.
    ///
    /// # Errors
    /// Another length, a field that breaks a rule of objlog formats 1.4 or 1.5, a wrong hash, or a disagreement with
    /// the trailer.
    pub fn decode(bytes: &[u8], trailer: &Trailer) -> Result<Self, FormatError> {
        let base = trailer.block_index_offset;
        let mut cursor = Cursor::new(bytes, Section::BlockIndex, base);
        let index_hash = read_preamble(&mut cursor, bytes.len(), trailer)?;
        check_hash(bytes, index_hash, trailer)?;
        let mut entries = Vec::with_capacity(bytes.len() / INDEX_ENTRY_LEN);
        let mut place = base.saturating_add(INDEX_PREAMBLE_LEN as u64);
        for _ in 0..trailer.block_count {
            let entry = BlockEntry::read(&mut cursor)?;
            entry.meta.check(Section::BlockIndex, place.saturating_add(META_OFFSET))?;
            check_successor(entries.last(), &entry, trailer, place)?;
            entries.push(entry);
            place = place.saturating_add(INDEX_ENTRY_LEN as u64);
        }
        check_end(&entries, trailer, place.saturating_sub(INDEX_ENTRY_LEN as u64))?;
        Ok(Self { trailer: *trailer, entries })
    }

    /// Position of the block that holds `lsn`.
    #[must_use]
    pub fn block_of(&self, lsn: Lsn) -> Option<usize> {
        if lsn < self.trailer.base_lsn || lsn > self.trailer.last_lsn {
            return None;
        }
        self.entries.partition_point(|entry| entry.meta.base_lsn <= lsn).checked_sub(1)
    }

    /// Position of the first block whose `max_timestamp` is at least `timestamp`.
    #[must_use]
    pub fn block_at_timestamp(&self, timestamp: TimestampMs) -> Option<usize> {
        let position = self.entries.partition_point(|entry| entry.meta.max_timestamp < timestamp);
        (position < self.entries.len()).then_some(position)
    }

    /// Byte range `from..to` of block `i`: its preamble and stored bytes. `None` when there is no such block.
    #[must_use]
    pub fn block_range(&self, i: usize) -> Option<Range<u64>> {
        self.entries.get(i).map(|entry| entry.offset..entry.end())
    }

    /// Checks the preamble at the start of `bytes`, which begin at block `i`, against the index, and returns the stored
    /// bytes after it (sharing the memory). More bytes may follow.
    ///
    /// # Errors
    /// No block `i`, too few bytes, an invalid preamble, or one that differs from the index.
    pub fn block_payload(&self, i: usize, bytes: &Bytes) -> Result<Bytes, FormatError> {
        let Some(entry) = self.entries.get(i) else {
            let detail = format!("block {i} of {}", self.entries.len());
            return Err(FormatError::new(Invalid, Section::BlockIndex, self.trailer.block_index_offset, detail));
        };
        let meta = BlockMeta::read_preamble(bytes, entry.offset)?;
        check_same(&meta, entry)?;
        let end = BLOCK_PREAMBLE_LEN.saturating_add(meta.stored_size as usize);
        if bytes.len() < end {
            let detail = format!("block {i} takes {end} bytes, but {} are there", bytes.len());
            return Err(FormatError::new(Truncated, Section::Block, entry.offset, detail));
        }
        Ok(bytes.slice(BLOCK_PREAMBLE_LEN..end))
    }

    /// Memory held, bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<Self>().saturating_add(self.entries.capacity().saturating_mul(size_of::<BlockEntry>()))
    }
}

/// Writes the index of `entries` behind `out`.
pub(super) fn write_index(out: &mut Vec<u8>, entries: &[BlockEntry], hash: HashAlgo) {
    let mut body = Vec::with_capacity(entries.len().saturating_mul(INDEX_ENTRY_LEN));
    for entry in entries {
        entry.write(&mut body);
    }
    out.reserve(INDEX_PREAMBLE_LEN.saturating_add(body.len()));
    out.put_slice(MAGIC);
    out.put_u16(PREAMBLE_LEN_FIELD);
    out.put_u16(0);
    out.put_u32(ENTRY_SIZE_FIELD);
    out.put_u32(u32::try_from(entries.len()).unwrap_or(u32::MAX));
    out.put_u64(hash.hash(&body));
    out.put_slice(&[0; RESERVED_LEN]);
    out.put_slice(&body);
}

/// Checks the preamble and that exactly the counted entries follow; returns the index hash.
fn read_preamble(cursor: &mut Cursor<'_>, len: usize, trailer: &Trailer) -> Result<u64, FormatError> {
    let fail = |kind, field: u64, detail: String| Err(error(kind, trailer, field, detail));
    let named = trailer.block_index_length;
    if len as u64 != u64::from(named) {
        let kind = if (len as u64) < u64::from(named) { Truncated } else { Invalid };
        return fail(kind, 0, format!("{len} bytes of an index of {named}"));
    }
    cursor.magic(MAGIC)?;
    cursor.fixed_u16(Invalid, "preamble_len", PREAMBLE_LEN_FIELD)?;
    cursor.fixed_u16(Invalid, "flags", 0)?;
    cursor.fixed_u32("entry_size", ENTRY_SIZE_FIELD)?;
    let entry_count = cursor.u32()?;
    let index_hash = cursor.u64()?;
    cursor.reserved::<RESERVED_LEN>()?;
    if entry_count == 0 {
        return fail(Invalid, 12, "entry_count is 0".into());
    }
    if entry_count > MAX_BLOCK_COUNT {
        return fail(TooLarge, 12, format!("entry_count {entry_count} is above {MAX_BLOCK_COUNT}"));
    }
    let wanted = super::trailer::index_length(entry_count);
    if len as u64 != wanted {
        return fail(Invalid, 12, format!("{entry_count} entries take {wanted} bytes, but the index has {len}"));
    }
    if entry_count != trailer.block_count {
        let detail = format!("entry_count is {entry_count}, but block_count is {}", trailer.block_count);
        return fail(Mismatch, 12, detail);
    }
    Ok(index_hash)
}

fn check_hash(bytes: &[u8], index_hash: u64, trailer: &Trailer) -> Result<(), FormatError> {
    let computed = trailer.hash.hash(bytes.get(INDEX_PREAMBLE_LEN..).unwrap_or_default());
    if computed == index_hash {
        return Ok(());
    }
    let detail = format!("index_hash is {index_hash:016x}, but the entries hash to {computed:016x}");
    Err(error(Integrity, trailer, 16, detail))
}

/// Checks that `entry`, itself `place` bytes from the start of the object, follows `previous` without a gap; the first
/// one must start where the segment does.
fn check_successor(
    previous: Option<&BlockEntry>,
    entry: &BlockEntry,
    trailer: &Trailer,
    place: u64,
) -> Result<(), FormatError> {
    let (kind, offset, base_lsn) = match previous {
        None => (Mismatch, FILE_PREAMBLE_LEN as u64, Some(trailer.base_lsn)),
        Some(previous) => (Invalid, previous.end(), previous.meta.last_lsn().checked_add(1)),
    };
    let fail = |kind, field: u64, detail: String| {
        Err(FormatError::new(kind, Section::BlockIndex, place.saturating_add(field), detail))
    };
    if entry.offset != offset {
        return fail(Invalid, 0, format!("block_offset is {}, not {offset}", entry.offset));
    }
    if Some(entry.meta.base_lsn) != base_lsn {
        return fail(kind, 24, format!("base_lsn {} does not continue the segment", entry.meta.base_lsn));
    }
    let min = entry.meta.min_timestamp;
    match previous {
        None if min != trailer.min_timestamp => {
            fail(kind, 32, format!("min_timestamp is {min}, but the trailer says {}", trailer.min_timestamp))
        }
        Some(previous) if min < previous.meta.max_timestamp => {
            fail(kind, 32, format!("min_timestamp {min} is below {} before it", previous.meta.max_timestamp))
        }
        _ => Ok(()),
    }
}

/// Checks that the last entry, `place` bytes from the start of the object, ends where the trailer says.
fn check_end(entries: &[BlockEntry], trailer: &Trailer, place: u64) -> Result<(), FormatError> {
    let fail = |field: u64, detail: String| {
        Err(FormatError::new(Mismatch, Section::BlockIndex, place.saturating_add(field), detail))
    };
    let Some(last) = entries.last() else {
        return fail(0, "the index is empty".into());
    };
    if last.end() != trailer.block_index_offset {
        let detail =
            format!("the last block ends at {}, the index starts at {}", last.end(), trailer.block_index_offset);
        return fail(0, detail);
    }
    // Blocks are contiguous from the trailer's base_lsn, so this is also the rule on the sum of record counts.
    if last.meta.last_lsn() != trailer.last_lsn {
        let detail =
            format!("the last block ends at LSN {}, the trailer says {}", last.meta.last_lsn(), trailer.last_lsn);
        return fail(16, detail);
    }
    if last.meta.max_timestamp != trailer.max_timestamp {
        let (block, segment) = (last.meta.max_timestamp, trailer.max_timestamp);
        return fail(40, format!("max_timestamp is {block}, but the trailer says {segment}"));
    }
    Ok(())
}

/// Checks that a block's preamble and its index entry say the same in all seven fields.
fn check_same(meta: &BlockMeta, entry: &BlockEntry) -> Result<(), FormatError> {
    let indexed = &entry.meta;
    let agreements = [
        (8, "stored_size", meta.stored_size == indexed.stored_size),
        (12, "raw_size", meta.raw_size == indexed.raw_size),
        (16, "record_count", meta.record_count == indexed.record_count),
        (24, "base_lsn", meta.base_lsn == indexed.base_lsn),
        (32, "min_timestamp", meta.min_timestamp == indexed.min_timestamp),
        (40, "max_timestamp", meta.max_timestamp == indexed.max_timestamp),
        (48, "block_hash", meta.block_hash == indexed.block_hash),
    ];
    match agreements.iter().find(|(_, _, agree)| !agree) {
        None => Ok(()),
        Some((field, name, _)) => {
            let offset = entry.offset.saturating_add(*field);
            let detail = format!("{name} differs between block preamble and index entry");
            Err(FormatError::new(Mismatch, Section::BlockPreamble, offset, detail))
        }
    }
}

fn error(kind: FormatErrorKind, trailer: &Trailer, field: u64, detail: String) -> FormatError {
    FormatError::new(kind, Section::BlockIndex, trailer.block_index_offset.saturating_add(field), detail)
}
