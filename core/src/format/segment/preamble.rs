//! The first 64 bytes of a segment (objlog formats, 1.1), and the fields the trailer repeats.
use super::{Codec, Trailer};
use crate::format::FormatErrorKind::{
    Invalid, Mismatch, UnsupportedCodec, UnsupportedHash, UnsupportedRecordFormat, UnsupportedVersion,
};
use crate::format::read::Cursor;
use crate::format::{FormatError, HashAlgo, Section};
use crate::ids::{Lsn, Partition, SegmentId, TimestampMs, WriterId};
use crate::limits::FILE_PREAMBLE_LEN;
use bytes::BufMut;

const MAGIC: &[u8; 4] = b"PLSG";
const PREAMBLE_LEN_FIELD: u16 = 64;
/// The only version of the segment format this crate reads and writes.
pub(super) const VERSION: u16 = 2;
const RECORD_FORMAT: u16 = 1;

/// Everything about a segment that is known before its first block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SegmentHeader {
    /// The log the segment belongs to.
    pub partition: Partition,
    /// Compression of every block.
    pub codec: Codec,
    /// Algorithm of every hash in the segment.
    pub hash: HashAlgo,
    /// Random name of the segment.
    pub segment_id: SegmentId,
    /// Incarnation of the writer, the head's owner.
    pub writer_tag: WriterId,
    /// Advisory: writer's clock at segment start.
    pub created: TimestampMs,
}

/// First 64 bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FilePreamble {
    /// The log the segment belongs to.
    pub partition: Partition,
    /// Compression of every block.
    pub codec: Codec,
    /// Algorithm of every hash in the segment.
    pub hash: HashAlgo,
    /// LSN of the segment's first record.
    pub base_lsn: Lsn,
    /// Random name of the segment.
    pub segment_id: SegmentId,
    /// Incarnation of the writer.
    pub writer_tag: WriterId,
}

impl FilePreamble {
    /// Reads the preamble from the first 64 of `bytes`; more bytes may follow.
    ///
    /// # Errors
    /// Fewer than 64 bytes, or a field that breaks a rule of objlog formats 1.1.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(bytes, Section::FilePreamble, 0);
        cursor.magic(MAGIC)?;
        cursor.fixed_u16(UnsupportedVersion, "version", VERSION)?;
        cursor.fixed_u16(Invalid, "preamble_len", PREAMBLE_LEN_FIELD)?;
        cursor.fixed_u32("flags", 0)?;
        let common = CommonFields::read(&mut cursor)?;
        let (segment_id, writer_tag) = (SegmentId(cursor.array()?), WriterId(cursor.array()?));
        let (codec, hash) = common.check(Section::FilePreamble, 0)?;
        let (partition, base_lsn) = (common.partition, common.base_lsn);
        Ok(Self { partition, codec, hash, base_lsn, segment_id, writer_tag })
    }

    /// Checks that the trailer of the same segment repeats every field.
    ///
    /// # Errors
    /// [`Mismatch`] at the first field that differs.
    pub fn check_trailer(&self, trailer: &Trailer) -> Result<(), FormatError> {
        let agreements = [
            (12, "partition", self.partition == trailer.partition),
            (16, "codec", self.codec == trailer.codec),
            (18, "hash_algo", self.hash == trailer.hash),
            (24, "base_lsn", self.base_lsn == trailer.base_lsn),
            (32, "segment_uuid", self.segment_id == trailer.segment_id),
            (48, "writer_tag", self.writer_tag == trailer.writer_tag),
        ];
        match agreements.iter().find(|(_, _, agree)| !agree) {
            None => Ok(()),
            Some((offset, field, _)) => {
                let detail = format!("{field} differs between file preamble and trailer");
                Err(FormatError::new(Mismatch, Section::FilePreamble, *offset, detail))
            }
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FILE_PREAMBLE_LEN);
        out.put_slice(MAGIC);
        out.put_u16(VERSION);
        out.put_u16(PREAMBLE_LEN_FIELD);
        out.put_u32(0);
        write_common_fields(&mut out, self.partition, self.codec, self.hash, self.base_lsn);
        out.put_slice(&self.segment_id.0);
        out.put_slice(&self.writer_tag.0);
        out
    }
}

/// Bytes 12 to 32, the same in preamble and trailer, before their ids are looked up.
pub(super) struct CommonFields {
    pub(super) partition: Partition,
    pub(super) base_lsn: Lsn,
    codec: u16,
    hash: u16,
    record_format: u16,
}

impl CommonFields {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        let partition = Partition(cursor.u32()?);
        let (codec, hash, record_format) = (cursor.u16()?, cursor.u16()?, cursor.u16()?);
        cursor.reserved::<2>()?;
        Ok(Self { partition, base_lsn: Lsn(cursor.u64()?), codec, hash, record_format })
    }

    /// Looks the ids up and checks the base LSN; `base` is the absolute offset of the preamble or trailer.
    pub(super) fn check(&self, section: Section, base: u64) -> Result<(Codec, HashAlgo), FormatError> {
        let error = |kind, field: u64, detail| FormatError::new(kind, section, base.saturating_add(field), detail);
        let codec = Codec::from_id(self.codec)
            .ok_or_else(|| error(UnsupportedCodec, 16, format!("codec is {}; 0 and 1 are known", self.codec)))?;
        let hash = HashAlgo::from_id(self.hash)
            .ok_or_else(|| error(UnsupportedHash, 18, format!("hash_algo is {}; 0 and 1 are known", self.hash)))?;
        if self.record_format != RECORD_FORMAT {
            let detail = format!("record_format is {}; {RECORD_FORMAT} is known", self.record_format);
            return Err(error(UnsupportedRecordFormat, 20, detail));
        }
        if self.base_lsn > Lsn::MAX_RECORD {
            let detail = format!("base_lsn {} is above {}", self.base_lsn, Lsn::MAX_RECORD);
            return Err(error(Invalid, 24, detail));
        }
        Ok((codec, hash))
    }
}

pub(super) fn write_common_fields(
    out: &mut Vec<u8>,
    partition: Partition,
    codec: Codec,
    hash: HashAlgo,
    base_lsn: Lsn,
) {
    out.put_u32(partition.0);
    out.put_u16(codec.id());
    out.put_u16(hash.id());
    out.put_u16(RECORD_FORMAT);
    out.put_u16(0);
    out.put_u64(base_lsn.0);
}
