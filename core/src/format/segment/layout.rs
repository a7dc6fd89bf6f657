//! The block preamble, and the fields it shares with its index entry (objlog formats, 1.2 and 1.5).
use crate::format::FormatErrorKind::{Invalid, TooLarge};
use crate::format::read::Cursor;
use crate::format::{FormatError, Section};
use crate::ids::{Lsn, TimestampMs};
use crate::limits::{MAX_BLOCK_RAW_SIZE, MAX_BLOCK_STORED_SIZE, MIN_RECORD_SIZE};
use bytes::BufMut;

const MAGIC: &[u8; 4] = b"PLBK";
const PREAMBLE_LEN_FIELD: u16 = 64;
/// Where the shared fields start in a block preamble, and in an index entry.
pub(super) const META_OFFSET: u64 = 8;

/// What a block's preamble and its index entry both say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockMeta {
    /// Bytes stored after the preamble: 1 byte to 20 MiB.
    pub stored_size: u32,
    /// Bytes after decompression: 1 byte to 16 MiB.
    pub raw_size: u32,
    /// Number of records: 1 to `raw_size` / 16.
    pub record_count: u32,
    /// LSN of the first record.
    pub base_lsn: Lsn,
    /// Lower bound of the records' timestamps; a writer stores the first record's.
    pub min_timestamp: TimestampMs,
    /// Upper bound of the records' timestamps; a writer stores the last record's.
    pub max_timestamp: TimestampMs,
    /// Hash of the stored bytes.
    pub block_hash: u64,
}

impl BlockMeta {
    /// LSN of the last record of a checked block.
    #[must_use]
    pub fn last_lsn(&self) -> Lsn {
        Lsn(self.base_lsn.0.saturating_add(u64::from(self.record_count.saturating_sub(1))))
    }

    /// Checks the fields on their own; `base` is the absolute offset of the first of them.
    pub(super) fn check(&self, section: Section, base: u64) -> Result<(), FormatError> {
        let fail =
            |kind, field: u64, detail: String| Err(FormatError::new(kind, section, base.saturating_add(field), detail));
        if self.stored_size == 0 {
            return fail(Invalid, 0, "stored_size is 0".into());
        }
        if self.stored_size > MAX_BLOCK_STORED_SIZE {
            return fail(TooLarge, 0, format!("stored_size {} is above {MAX_BLOCK_STORED_SIZE}", self.stored_size));
        }
        if self.raw_size == 0 {
            return fail(Invalid, 4, "raw_size is 0".into());
        }
        if self.raw_size > MAX_BLOCK_RAW_SIZE {
            return fail(TooLarge, 4, format!("raw_size {} is above {MAX_BLOCK_RAW_SIZE}", self.raw_size));
        }
        if self.record_count == 0 {
            return fail(Invalid, 8, "record_count is 0".into());
        }
        let most = self.raw_size / MIN_RECORD_SIZE;
        if self.record_count > most {
            let (count, raw) = (self.record_count, self.raw_size);
            return fail(
                Invalid,
                8,
                format!("record_count {count} is above {most}, the most that {raw} bytes can hold"),
            );
        }
        let last = self.base_lsn.checked_add(u64::from(self.record_count.saturating_sub(1)));
        if last.is_none_or(|last| last > Lsn::MAX_RECORD) {
            let (base, count) = (self.base_lsn, self.record_count);
            return fail(Invalid, 16, format!("{count} records from LSN {base} pass the last LSN {}", Lsn::MAX_RECORD));
        }
        if self.min_timestamp > self.max_timestamp {
            let (min, max) = (self.min_timestamp, self.max_timestamp);
            return fail(Invalid, 24, format!("min_timestamp {min} is above max_timestamp {max}"));
        }
        Ok(())
    }

    /// Reads the 48 shared bytes.
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, FormatError> {
        let (stored_size, raw_size, record_count) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        cursor.reserved::<4>()?;
        Ok(Self {
            stored_size,
            raw_size,
            record_count,
            base_lsn: Lsn(cursor.u64()?),
            min_timestamp: TimestampMs(cursor.i64()?),
            max_timestamp: TimestampMs(cursor.i64()?),
            block_hash: cursor.u64()?,
        })
    }

    /// Writes the 48 shared bytes.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.put_u32(self.stored_size);
        out.put_u32(self.raw_size);
        out.put_u32(self.record_count);
        out.put_u32(0);
        out.put_u64(self.base_lsn.0);
        out.put_i64(self.min_timestamp.0);
        out.put_i64(self.max_timestamp.0);
        out.put_u64(self.block_hash);
    }

    /// Reads a block preamble that lies `base` bytes from the start of the object.
    pub(super) fn read_preamble(bytes: &[u8], base: u64) -> Result<Self, FormatError> {
        let mut cursor = Cursor::new(bytes, Section::BlockPreamble, base);
        cursor.magic(MAGIC)?;
        cursor.fixed_u16(Invalid, "preamble_len", PREAMBLE_LEN_FIELD)?;
        cursor.fixed_u16(Invalid, "flags", 0)?;
        let meta = Self::read(&mut cursor)?;
        cursor.reserved::<8>()?;
        meta.check(Section::BlockPreamble, base.saturating_add(META_OFFSET))?;
        Ok(meta)
    }

    /// Writes a block preamble.
    pub(super) fn write_preamble(&self, out: &mut Vec<u8>) {
        out.put_slice(MAGIC);
        out.put_u16(PREAMBLE_LEN_FIELD);
        out.put_u16(0);
        self.write(out);
        out.put_u64(0);
    }
}
