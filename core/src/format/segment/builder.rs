//! Collecting records into one uncompressed block.
use super::Record;
use crate::ids::{Lsn, TimestampMs};
use crate::limits::MAX_BLOCK_RAW_SIZE;
use bytes::{BufMut, Bytes};

/// The uncompressed content of one block, in order of LSN.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RawBlock {
    /// The encoded records, 1 byte to 16 MiB.
    pub bytes: Bytes,
    /// Number of records.
    pub record_count: u32,
    /// LSN of the first record; the others follow without gaps.
    pub base_lsn: Lsn,
    /// Timestamp of the first record.
    pub min_timestamp: TimestampMs,
    /// Timestamp of the last record.
    pub max_timestamp: TimestampMs,
}

/// Collects records into one raw block. Timestamps must not go back (the caller's policy decided that already).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockBuilder {
    bytes: Vec<u8>,
    record_count: u32,
    base_lsn: Lsn,
    min_timestamp: TimestampMs,
    max_timestamp: TimestampMs,
}

impl BlockBuilder {
    /// An empty block whose first record gets `base_lsn`, with room for `capacity` raw bytes before it reallocates.
    #[must_use]
    pub fn new(base_lsn: Lsn, capacity: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(capacity),
            record_count: 0,
            base_lsn,
            min_timestamp: TimestampMs::default(),
            max_timestamp: TimestampMs::default(),
        }
    }

    /// Number of raw bytes so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no record was pushed yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.record_count == 0
    }

    /// Number of records so far.
    #[must_use]
    pub fn record_count(&self) -> u32 {
        self.record_count
    }

    /// Whether a record of `record_len` encoded bytes belongs into this block: it does when the block stays within
    /// `target` raw bytes (at most 16 MiB), and always when the block is empty (objlog formats, 1.9).
    #[must_use]
    pub fn fits(&self, record_len: u64, target: usize) -> bool {
        let target = (target as u64).min(u64::from(MAX_BLOCK_RAW_SIZE));
        self.is_empty() || (self.bytes.len() as u64).saturating_add(record_len) <= target
    }

    /// Appends a record that [`Record::validate`] accepts and whose timestamp is not below the last one's.
    ///
    /// This is the hot path and checks nothing again; a block made against these rules is refused by every reader.
    pub fn push(&mut self, record: &Record) {
        debug_assert_eq!(record.validate(), Ok(()));
        debug_assert!(self.is_empty() || record.timestamp >= self.max_timestamp);
        let headers_len = record.headers_len();
        self.bytes.reserve(usize::try_from(record.encoded_len()).unwrap_or(usize::MAX));
        self.bytes.extend_from_slice(&fixed_part(record, headers_len));
        if headers_len > 0 {
            self.push_headers(record);
        }
        self.bytes.extend_from_slice(&record.value);

        if self.is_empty() {
            self.min_timestamp = record.timestamp;
        }
        self.max_timestamp = record.timestamp;
        self.record_count = self.record_count.saturating_add(1);
    }

    /// The finished block; copies nothing.
    #[must_use]
    pub fn finish(self) -> RawBlock {
        RawBlock {
            bytes: self.bytes.into(),
            record_count: self.record_count,
            base_lsn: self.base_lsn,
            min_timestamp: self.min_timestamp,
            max_timestamp: self.max_timestamp,
        }
    }

    fn push_headers(&mut self, record: &Record) {
        self.bytes.put_u16(u16_len(record.headers.len()));
        for header in &record.headers {
            self.bytes.put_u16(u16_len(header.key.len()));
            self.bytes.put_u16(u16_len(header.value.len()));
            self.bytes.extend_from_slice(&header.key);
            self.bytes.extend_from_slice(&header.value);
        }
    }
}

/// The record's first 16 bytes: timestamp i64, headers_len u32, value_len u32 (objlog formats, 1.3).
fn fixed_part(record: &Record, headers_len: u64) -> [u8; 16] {
    let timestamp = u128::from(record.timestamp.0.cast_unsigned()) << 64;
    let headers_len = u128::from(headers_len & u64::from(u32::MAX)) << 32;
    let value_len = (record.value.len() as u128) & u128::from(u32::MAX);
    (timestamp | headers_len | value_len).to_be_bytes()
}

/// A length within the limits that `Record::validate` checked.
fn u16_len(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}
