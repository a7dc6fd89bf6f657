//! The last 192 bytes of a segment (objlog formats, 1.6).
use super::Codec;
use super::preamble::{CommonFields, VERSION, write_common_fields};
use crate::format::FormatErrorKind::{Integrity, Invalid, Mismatch, TooLarge, Truncated, UnsupportedVersion};
use crate::format::read::Cursor;
use crate::format::{FormatError, FormatErrorKind, HashAlgo, Section};
use crate::ids::{Lsn, Partition, SegmentId, TimestampMs, WriterId};
use crate::limits::{INDEX_ENTRY_LEN, INDEX_PREAMBLE_LEN, MAX_BLOCK_COUNT, MIN_BLOCK_INDEX_OFFSET, TRAILER_LEN};
use bytes::BufMut;

const MAGIC: &[u8; 4] = b"PLFT";
const TRAILER_LEN_FIELD: u16 = 192;
/// Where `trailer_hash` lies.
const HASH_OFFSET: usize = 136;
/// Length of the reserved bytes at the end.
const RESERVED_LEN: usize = 48;

/// Last 192 bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trailer {
    /// The log the segment belongs to.
    pub partition: Partition,
    /// Compression of every block.
    pub codec: Codec,
    /// Algorithm of every hash in the segment.
    pub hash: HashAlgo,
    /// LSN of the first record.
    pub base_lsn: Lsn,
    /// LSN of the last record.
    pub last_lsn: Lsn,
    /// Lowest timestamp of the segment, the first block's.
    pub min_timestamp: TimestampMs,
    /// Highest timestamp of the segment, the last block's.
    pub max_timestamp: TimestampMs,
    /// Number of records.
    pub record_count: u32,
    /// Number of blocks.
    pub block_count: u32,
    /// Absolute offset of the block index.
    pub block_index_offset: u64,
    /// Bytes of the block index: 64 + 64 per block.
    pub block_index_length: u32,
    /// Bytes of the whole object.
    pub total_size: u64,
    /// Advisory: writer's clock at segment start.
    pub created: TimestampMs,
    /// Random name of the segment.
    pub segment_id: SegmentId,
    /// Incarnation of the writer.
    pub writer_tag: WriterId,
    /// Hash of everything before the trailer.
    pub segment_hash: u64,
    /// Hash of the trailer with this field zero.
    pub trailer_hash: u64,
}

impl Trailer {
    /// Length of a trailer, bytes.
    pub const LEN: usize = TRAILER_LEN;

    /// Reads the trailer: `bytes` are the last 192 of an object of `object_size` bytes.
    ///
    /// Unknown ids are reported before broken rules, and both before a wrong hash (objlog formats, 1.6).
    ///
    /// # Errors
    /// Another length, or a field that breaks a rule of objlog formats 1.6.
    pub fn decode(bytes: &[u8], object_size: u64) -> Result<Self, FormatError> {
        let base = object_size.saturating_sub(TRAILER_LEN as u64);
        if bytes.len() != TRAILER_LEN || object_size < TRAILER_LEN as u64 {
            let detail = format!("{} bytes of an object of {object_size}, not {TRAILER_LEN}", bytes.len());
            let kind = if bytes.len() > TRAILER_LEN { Invalid } else { Truncated };
            return Err(FormatError::new(kind, Section::SegmentTrailer, base, detail));
        }
        let trailer = Self::read(&mut Cursor::new(bytes, Section::SegmentTrailer, base), base)?;
        trailer.check_records(base)?;
        trailer.check_layout(base, object_size)?;
        trailer.check_hash(base)?;
        Ok(trailer)
    }

    /// Number of bytes before the trailer, all of them covered by the segment hash.
    #[must_use]
    pub fn body_len(&self) -> u64 {
        self.block_index_offset.saturating_add(u64::from(self.block_index_length))
    }

    fn read(cursor: &mut Cursor<'_>, base: u64) -> Result<Self, FormatError> {
        cursor.magic(MAGIC)?;
        cursor.fixed_u16(Invalid, "trailer_len", TRAILER_LEN_FIELD)?;
        cursor.fixed_u16(UnsupportedVersion, "version", VERSION)?;
        cursor.fixed_u32("flags", 0)?;
        let common = CommonFields::read(cursor)?;
        let (last_lsn, min_timestamp, max_timestamp) = (cursor.u64()?, cursor.i64()?, cursor.i64()?);
        let (record_count, block_count) = (cursor.u32()?, cursor.u32()?);
        let (block_index_offset, block_index_length) = (cursor.u64()?, cursor.u32()?);
        cursor.reserved::<4>()?;
        let (total_size, created) = (cursor.u64()?, cursor.i64()?);
        let (segment_id, writer_tag) = (cursor.array()?, cursor.array()?);
        let (segment_hash, trailer_hash) = (cursor.u64()?, cursor.u64()?);
        cursor.reserved::<RESERVED_LEN>()?;
        let (codec, hash) = common.check(Section::SegmentTrailer, base)?;
        Ok(Self {
            partition: common.partition,
            codec,
            hash,
            base_lsn: common.base_lsn,
            last_lsn: Lsn(last_lsn),
            min_timestamp: TimestampMs(min_timestamp),
            max_timestamp: TimestampMs(max_timestamp),
            record_count,
            block_count,
            block_index_offset,
            block_index_length,
            total_size,
            created: TimestampMs(created),
            segment_id: SegmentId(segment_id),
            writer_tag: WriterId(writer_tag),
            segment_hash,
            trailer_hash,
        })
    }

    fn check_records(&self, base: u64) -> Result<(), FormatError> {
        let invalid = |field, detail| Err(error(Invalid, base, field, detail));
        if self.last_lsn < self.base_lsn || self.last_lsn > Lsn::MAX_RECORD {
            let (first, last, most) = (self.base_lsn, self.last_lsn, Lsn::MAX_RECORD);
            return invalid(32, format!("last_lsn {last} is not within {first}..={most}"));
        }
        if self.max_timestamp < self.min_timestamp {
            let (min, max) = (self.min_timestamp, self.max_timestamp);
            return invalid(48, format!("max_timestamp {max} is below min_timestamp {min}"));
        }
        let span = self.last_lsn.0.saturating_sub(self.base_lsn.0).saturating_add(1);
        if u64::from(self.record_count) != span {
            return invalid(56, format!("record_count is {}, but the LSNs span {span}", self.record_count));
        }
        Ok(())
    }

    fn check_layout(&self, base: u64, object_size: u64) -> Result<(), FormatError> {
        if self.block_count == 0 {
            return Err(error(Invalid, base, 60, "block_count is 0".into()));
        }
        if self.block_count > MAX_BLOCK_COUNT {
            let detail = format!("block_count {} is above {MAX_BLOCK_COUNT}", self.block_count);
            return Err(error(TooLarge, base, 60, detail));
        }
        if self.block_index_offset < MIN_BLOCK_INDEX_OFFSET {
            let detail = format!("block_index_offset {} is below {MIN_BLOCK_INDEX_OFFSET}", self.block_index_offset);
            return Err(error(Invalid, base, 64, detail));
        }
        let index_length = index_length(self.block_count);
        if u64::from(self.block_index_length) != index_length {
            let detail = format!("block_index_length is {}, not {index_length}", self.block_index_length);
            return Err(error(Invalid, base, 72, detail));
        }
        let end = self.block_index_offset.checked_add(index_length).and_then(|n| n.checked_add(TRAILER_LEN as u64));
        if end != Some(self.total_size) {
            let detail = format!("total_size {} is not where the trailer ends", self.total_size);
            return Err(error(Invalid, base, 80, detail));
        }
        if self.total_size != object_size {
            let detail = format!("total_size is {}, but the object has {object_size} bytes", self.total_size);
            return Err(error(Mismatch, base, 80, detail));
        }
        Ok(())
    }

    fn check_hash(&self, base: u64) -> Result<(), FormatError> {
        let computed = self.compute_hash();
        if computed == self.trailer_hash {
            return Ok(());
        }
        let detail = format!("trailer_hash is {:016x}, but the trailer hashes to {computed:016x}", self.trailer_hash);
        Err(error(Integrity, base, HASH_OFFSET as u64, detail))
    }

    /// The trailer with its own hash filled in.
    pub(super) fn sealed(mut self) -> Self {
        self.trailer_hash = self.compute_hash();
        self
    }

    /// Hash of the encoded trailer with `trailer_hash` zero. Every byte is a field or known, so fields suffice.
    fn compute_hash(&self) -> u64 {
        self.hash.hash(&Self { trailer_hash: 0, ..*self }.encode())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(TRAILER_LEN);
        out.put_slice(MAGIC);
        out.put_u16(TRAILER_LEN_FIELD);
        out.put_u16(VERSION);
        out.put_u32(0);
        write_common_fields(&mut out, self.partition, self.codec, self.hash, self.base_lsn);
        out.put_u64(self.last_lsn.0);
        out.put_i64(self.min_timestamp.0);
        out.put_i64(self.max_timestamp.0);
        out.put_u32(self.record_count);
        out.put_u32(self.block_count);
        out.put_u64(self.block_index_offset);
        out.put_u32(self.block_index_length);
        out.put_u32(0);
        out.put_u64(self.total_size);
        out.put_i64(self.created.0);
        out.put_slice(&self.segment_id.0);
        out.put_slice(&self.writer_tag.0);
        out.put_u64(self.segment_hash);
        out.put_u64(self.trailer_hash);
        out.put_slice(&[0; RESERVED_LEN]);
        out
    }
}

/// Bytes of the index of `block_count` blocks.
pub(super) fn index_length(block_count: u32) -> u64 {
    (INDEX_ENTRY_LEN as u64).saturating_mul(u64::from(block_count)).saturating_add(INDEX_PREAMBLE_LEN as u64)
}

fn error(kind: FormatErrorKind, base: u64, field: u64, detail: String) -> FormatError {
    FormatError::new(kind, Section::SegmentTrailer, base.saturating_add(field), detail)
}
