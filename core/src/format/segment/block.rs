//! A decompressed block and the records in it (objlog formats, 1.3).
use super::{BlockMeta, Header, Record};
use crate::format::FormatErrorKind::{Invalid, TooLarge, Truncated};
use crate::format::{FormatError, FormatErrorKind, Section};
use crate::ids::{Lsn, TimestampMs};
use crate::limits::{MAX_HEADER_KEY_LEN, MAX_HEADERS, MAX_HEADERS_LEN, MAX_VALUE_LEN, RECORD_FIXED_LEN};
use bytes::Bytes;

/// A decompressed, fully validated block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DecodedBlock {
    meta: BlockMeta,
    raw: Bytes,
    /// Where each record starts in `raw`.
    offsets: Vec<u32>,
}

impl DecodedBlock {
    /// Validates every record of a checked block in one walk.
    pub(super) fn parse(meta: BlockMeta, raw: Bytes) -> Result<Self, FormatError> {
        let offsets = walk(&meta, &raw)?;
        Ok(Self { meta, raw, offsets })
    }

    /// What the block's preamble says.
    #[must_use]
    pub fn meta(&self) -> &BlockMeta {
        &self.meta
    }

    /// Memory held, bytes. A block that was stored uncompressed shares the memory it was read into.
    #[must_use]
    pub fn size(&self) -> usize {
        let offsets = self.offsets.capacity().saturating_mul(size_of::<u32>());
        size_of::<Self>().saturating_add(self.raw.len()).saturating_add(offsets)
    }

    /// The record at `lsn`, sharing the block's memory; constant time. `None` when the block does not hold it.
    #[must_use]
    pub fn record(&self, lsn: Lsn) -> Option<Record> {
        let offset = *self.offsets.get(self.position(lsn)?)?;
        read_record(&self.raw, offset, lsn).map(|record| record.to_record())
    }

    /// All records, borrowed, in order of LSN. Allocates nothing.
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        Records { raw: &self.raw, offsets: self.offsets.iter(), next: self.meta.base_lsn }
    }

    /// The records from `lsn` on; all of them when the block starts later, none when it ends before.
    #[must_use]
    pub fn records_from(&self, lsn: Lsn) -> Records<'_> {
        let next = lsn.max(self.meta.base_lsn);
        let offsets = self.position(next).and_then(|position| self.offsets.get(position..)).unwrap_or_default();
        Records { raw: &self.raw, offsets: offsets.iter(), next }
    }

    /// LSN of the first record whose timestamp is at least `timestamp`; binary search.
    #[must_use]
    pub fn find_timestamp(&self, timestamp: TimestampMs) -> Option<Lsn> {
        let earlier = |offset: &u32| timestamp_at(&self.raw, *offset).is_some_and(|found| found < timestamp);
        let position = self.offsets.partition_point(earlier);
        if position == self.offsets.len() { None } else { self.meta.base_lsn.checked_add(position as u64) }
    }

    fn position(&self, lsn: Lsn) -> Option<usize> {
        lsn.0.checked_sub(self.meta.base_lsn.0).and_then(|n| usize::try_from(n).ok())
    }
}

/// Iterator over a block's records.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    raw: &'a Bytes,
    offsets: core::slice::Iter<'a, u32>,
    next: Lsn,
}

impl<'a> Iterator for Records<'a> {
    type Item = RecordRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<RecordRef<'a>> {
        let record = read_record(self.raw, *self.offsets.next()?, self.next)?;
        self.next = Lsn(self.next.0.saturating_add(1));
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }
}

impl ExactSizeIterator for Records<'_> {}

/// A record borrowed from a block.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    /// Position in the log.
    pub lsn: Lsn,
    /// Milliseconds since the Unix epoch.
    pub timestamp: TimestampMs,
    /// At most 4 MiB.
    pub value: &'a [u8],
    headers: &'a [u8],
    raw: &'a Bytes,
}

impl<'a> RecordRef<'a> {
    /// The headers, in the order they were appended.
    #[must_use]
    pub fn headers(&self) -> Headers<'a> {
        let (count, rest) = match self.headers.split_first_chunk() {
            Some((count, rest)) => (u16::from_be_bytes(*count), rest),
            None => (0, self.headers),
        };
        Headers { rest, count }
    }

    /// An owned record that shares the block's memory; allocates only for headers.
    #[must_use]
    pub fn to_record(&self) -> Record {
        let share = |part| share(self.raw, part);
        let headers =
            self.headers().map(|header| Header { key: share(header.key), value: share(header.value) }).collect();
        Record { timestamp: self.timestamp, headers, value: share(self.value) }
    }
}

/// Iterator over a record's headers.
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    rest: &'a [u8],
    count: u16,
}

/// A header borrowed from a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeaderRef<'a> {
    /// 1 to 1,024 bytes.
    pub key: &'a [u8],
    /// 0 to 65,535 bytes.
    pub value: &'a [u8],
}

impl<'a> Iterator for Headers<'a> {
    type Item = HeaderRef<'a>;

    fn next(&mut self) -> Option<HeaderRef<'a>> {
        let (header, rest) = read_header(self.rest)?;
        self.count = self.count.checked_sub(1)?;
        self.rest = rest;
        Some(header)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.count), Some(usize::from(self.count)))
    }
}

impl ExactSizeIterator for Headers<'_> {}

/// `part` of `raw` as owned bytes, without a copy.
fn share(raw: &Bytes, part: &[u8]) -> Bytes {
    let (whole, inner) = (raw.as_ptr_range(), part.as_ptr_range());
    if whole.start <= inner.start && inner.end <= whole.end {
        raw.slice_ref(part)
    } else {
        Bytes::copy_from_slice(part)
    }
}

/// The record that starts at `offset` of a validated block.
#[inline]
fn read_record(raw: &Bytes, offset: u32, lsn: Lsn) -> Option<RecordRef<'_>> {
    let (fixed, rest) = raw.get(offset as usize..)?.split_first_chunk()?;
    let fixed = Fixed::read(fixed);
    let (headers, rest) = rest.split_at_checked(fixed.headers_len as usize)?;
    let value = rest.get(..fixed.value_len as usize)?;
    Some(RecordRef { lsn, timestamp: fixed.timestamp, value, headers, raw })
}

fn timestamp_at(raw: &[u8], offset: u32) -> Option<TimestampMs> {
    let timestamp = raw.get(offset as usize..)?.first_chunk()?;
    Some(TimestampMs(i64::from_be_bytes(*timestamp)))
}

/// A record's first 16 bytes.
struct Fixed {
    timestamp: TimestampMs,
    headers_len: u32,
    value_len: u32,
}

impl Fixed {
    #[inline]
    fn read(bytes: &[u8; RECORD_FIXED_LEN]) -> Self {
        let [t0, t1, t2, t3, t4, t5, t6, t7, h0, h1, h2, h3, v0, v1, v2, v3] = *bytes;
        Self {
            timestamp: TimestampMs(i64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7])),
            headers_len: u32::from_be_bytes([h0, h1, h2, h3]),
            value_len: u32::from_be_bytes([v0, v1, v2, v3]),
        }
    }
}

/// Checks every record and returns where each starts.
fn walk(meta: &BlockMeta, raw: &[u8]) -> Result<Vec<u32>, FormatError> {
    let mut offsets = Vec::with_capacity(meta.record_count as usize);
    let mut earliest = meta.min_timestamp;
    let mut rest = raw;
    for _ in 0..meta.record_count {
        let offset = raw.len().saturating_sub(rest.len());
        let Some((fixed, body)) = rest.split_first_chunk() else {
            return Err(error(Truncated, offset, || format!("record is cut after {} bytes", rest.len())));
        };
        let fixed = Fixed::read(fixed);
        check_fixed(&fixed, earliest..=meta.max_timestamp, offset)?;
        let len = (fixed.headers_len as usize).saturating_add(fixed.value_len as usize);
        let Some((body, next)) = body.split_at_checked(len) else {
            return Err(error(Truncated, offset, || format!("record is cut: {} bytes of {len} are there", body.len())));
        };
        if fixed.headers_len > 0 {
            check_headers(body, fixed.headers_len, offset.saturating_add(RECORD_FIXED_LEN))?;
        }
        // A block has at most 16 MiB.
        offsets.push(u32::try_from(offset).unwrap_or(u32::MAX));
        earliest = fixed.timestamp;
        rest = next;
    }
    if rest.is_empty() {
        return Ok(offsets);
    }
    let end = raw.len().saturating_sub(rest.len());
    Err(error(Invalid, end, || format!("{} bytes follow the last record", rest.len())))
}

#[inline]
fn check_fixed(
    fixed: &Fixed,
    timestamps: core::ops::RangeInclusive<TimestampMs>,
    offset: usize,
) -> Result<(), FormatError> {
    if fixed.headers_len as usize > MAX_HEADERS_LEN {
        let detail = || format!("headers_len {} is above {MAX_HEADERS_LEN}", fixed.headers_len);
        return Err(error(TooLarge, offset.saturating_add(8), detail));
    }
    if fixed.value_len as usize > MAX_VALUE_LEN {
        let detail = || format!("value_len {} is above {MAX_VALUE_LEN}", fixed.value_len);
        return Err(error(TooLarge, offset.saturating_add(12), detail));
    }
    if !timestamps.contains(&fixed.timestamp) {
        let (earliest, latest) = timestamps.into_inner();
        let detail = || format!("timestamp {} is not within {earliest}..={latest}", fixed.timestamp);
        return Err(error(Invalid, offset, detail));
    }
    Ok(())
}

/// Checks the first `headers_len` bytes of `body`, which lie `offset` bytes from the start of the block.
fn check_headers(body: &[u8], headers_len: u32, offset: usize) -> Result<(), FormatError> {
    let Some((count, mut rest)) = body.get(..headers_len as usize).and_then(|headers| headers.split_first_chunk())
    else {
        return Err(error(Invalid, offset, || format!("headers_len {headers_len} leaves no room for a header count")));
    };
    let count = u16::from_be_bytes(*count);
    if count == 0 {
        return Err(error(Invalid, offset, || "header_count is 0 in non-empty headers".into()));
    }
    if usize::from(count) > MAX_HEADERS {
        return Err(error(TooLarge, offset, || format!("header_count {count} is above {MAX_HEADERS}")));
    }
    let place = |rest: &[u8]| offset.saturating_add((headers_len as usize).saturating_sub(rest.len()));
    for index in 0..count {
        let Some((header, next)) = read_header(rest) else {
            return Err(error(Invalid, place(rest), || format!("header {index} of {count} passes the headers' end")));
        };
        if header.key.is_empty() {
            return Err(error(Invalid, place(rest), || format!("the key of header {index} is empty")));
        }
        if header.key.len() > MAX_HEADER_KEY_LEN {
            let detail = || format!("key_len {} of header {index} is above {MAX_HEADER_KEY_LEN}", header.key.len());
            return Err(error(TooLarge, place(rest), detail));
        }
        rest = next;
    }
    if rest.is_empty() {
        return Ok(());
    }
    Err(error(Invalid, place(rest), || format!("{} bytes follow the last header", rest.len())))
}

/// The header at the start of `bytes`, and what follows it.
fn read_header(bytes: &[u8]) -> Option<(HeaderRef<'_>, &[u8])> {
    let (key_len, rest) = bytes.split_first_chunk()?;
    let (value_len, rest) = rest.split_first_chunk()?;
    let (key, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*key_len)))?;
    let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*value_len)))?;
    Some((HeaderRef { key, value }, rest))
}

#[cold]
fn error(kind: FormatErrorKind, offset: usize, detail: impl FnOnce() -> String) -> FormatError {
    FormatError::new(kind, Section::Record, offset as u64, detail())
}
