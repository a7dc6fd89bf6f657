//! The two kinds of entries: committed segments and references to sealed pages (objlog formats 2.2 and 2.3).
use super::Step;
use super::fill::Fill;
use super::rules::{Flaw, agree, require};
use crate::format::read::Cursor;
use crate::format::segment::{Codec, Trailer};
use crate::format::{FormatError, FormatErrorKind, HashAlgo, Section};
use crate::ids::{Epoch, Generation, Lsn, PageId, Partition, SegmentId, TimestampMs, WriterId};
use crate::limits::{LEAF_ENTRY_LEN, MAX_PAGE_ENTRIES, MAX_PAGE_LEVEL, PAGE_REF_LEN};

/// One committed segment (leaf entry, 128 B; objlog formats 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentEntry {
    /// First record's LSN.
    pub base_lsn: Lsn,
    /// Last record's LSN, inclusive; at most 2^64-2.
    pub last_lsn: Lsn,
    /// First record's timestamp.
    pub min_timestamp: TimestampMs,
    /// Last record's timestamp.
    pub max_timestamp: TimestampMs,
    /// `last_lsn - base_lsn + 1`.
    pub record_count: u32,
    /// Blocks of the segment; at least 1.
    pub block_count: u32,
    /// Bytes of the whole object.
    pub size_bytes: u64,
    /// Where the block index starts, in bytes from the start of the object.
    pub block_index_offset: u64,
    /// Bytes of the block index.
    pub block_index_length: u32,
    /// Compression of the blocks.
    pub codec: Codec,
    /// Hash algorithm of the segment; may differ from the catalog's.
    pub hash: HashAlgo,
    /// Hash of everything before the segment's trailer.
    pub segment_hash: u64,
    /// Hash of the segment's trailer.
    pub trailer_hash: u64,
    /// Epoch under which the segment was written; part of its key.
    pub writer_epoch: Epoch,
    /// Random name of the segment; part of its key.
    pub segment_id: SegmentId,
    /// The writer that made it.
    pub writer_tag: WriterId,
}

impl SegmentEntry {
    /// The entry of a segment with this trailer, written under `epoch`.
    #[must_use]
    pub const fn from_trailer(trailer: &Trailer, epoch: Epoch) -> Self {
        Self {
            base_lsn: trailer.base_lsn,
            last_lsn: trailer.last_lsn,
            min_timestamp: trailer.min_timestamp,
            max_timestamp: trailer.max_timestamp,
            record_count: trailer.record_count,
            block_count: trailer.block_count,
            size_bytes: trailer.total_size,
            block_index_offset: trailer.block_index_offset,
            block_index_length: trailer.block_index_length,
            codec: trailer.codec,
            hash: trailer.hash,
            segment_hash: trailer.segment_hash,
            trailer_hash: trailer.trailer_hash,
            writer_epoch: epoch,
            segment_id: trailer.segment_id,
            writer_tag: trailer.writer_tag,
        }
    }

    /// A stored segment must say the same as its entry; the partition comes from the head.
    ///
    /// # Errors
    /// [`FormatErrorKind::Mismatch`] for the first of the 16 fields that differs (objlog formats 8); the offset is the
    /// field's in the trailer's object.
    pub fn check_trailer(&self, trailer: &Trailer, partition: Partition) -> Result<(), FormatError> {
        let base = trailer.total_size.saturating_sub(Trailer::LEN as u64);
        self.compare(trailer, partition).map_err(|flaw| flaw.within(Section::SegmentTrailer, base))
    }

    fn compare(&self, trailer: &Trailer, partition: Partition) -> Result<(), Flaw> {
        agree("partition", 12, partition, trailer.partition)?;
        agree("codec", 16, self.codec.name(), trailer.codec.name())?;
        agree("hash algorithm", 18, self.hash.name(), trailer.hash.name())?;
        agree("base LSN", 24, self.base_lsn, trailer.base_lsn)?;
        agree("last LSN", 32, self.last_lsn, trailer.last_lsn)?;
        agree("min timestamp", 40, self.min_timestamp, trailer.min_timestamp)?;
        agree("max timestamp", 48, self.max_timestamp, trailer.max_timestamp)?;
        agree("record count", 56, self.record_count, trailer.record_count)?;
        agree("block count", 60, self.block_count, trailer.block_count)?;
        agree("block index offset", 64, self.block_index_offset, trailer.block_index_offset)?;
        agree("block index length", 72, self.block_index_length, trailer.block_index_length)?;
        agree("size", 80, self.size_bytes, trailer.total_size)?;
        agree("segment id", 96, self.segment_id, trailer.segment_id)?;
        agree("writer tag", 112, self.writer_tag, trailer.writer_tag)?;
        agree("segment hash", 128, self.segment_hash, trailer.segment_hash)?;
        agree("trailer hash", 136, self.trailer_hash, trailer.trailer_hash)
    }

    /// The rules of formats 2.2; flaws are placed by the field's offset in the entry.
    #[inline]
    pub(super) fn check(&self) -> Result<(), Flaw> {
        let (base, last) = (self.base_lsn, self.last_lsn);
        require(base <= last, 8, || format!("last LSN {last} is below the base LSN {base}"))?;
        require(last <= Lsn::MAX_RECORD, 8, || format!("last LSN {last} is past {}", Lsn::MAX_RECORD))?;
        let (min, max) = (self.min_timestamp, self.max_timestamp);
        require(min <= max, 24, || format!("max timestamp {max} is below the min timestamp {min}"))?;
        let (span, count) = (last.0.wrapping_sub(base.0).saturating_add(1), self.record_count);
        require(u64::from(count) == span, 32, || format!("record count {count}, the LSNs span {span}"))?;
        require(self.block_count > 0, 36, || "block count is 0".to_owned())?;
        require(self.size_bytes > 0, 40, || "size is 0".to_owned())?;
        require(self.block_index_length > 0, 56, || "block index length is 0".to_owned())?;
        require(self.writer_epoch.0 > 0, 80, || "writer epoch is 0".to_owned())?;
        require(!self.segment_id.is_zero(), 88, || "segment id is zero".to_owned())?;
        require(!self.writer_tag.is_zero(), 104, || "writer tag is zero".to_owned())
    }
}

/// Reference to one sealed page (index entry, 80 B; objlog formats 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageRef {
    /// Level of the page: 0 for a leaf, 1 to 63 for an index page.
    pub level: u8,
    /// Direct children, 1 to 1,024.
    pub entry_count: u32,
    /// First LSN below the page.
    pub seq_lo: Lsn,
    /// Last LSN below the page, inclusive.
    pub seq_hi: Lsn,
    /// First record's timestamp.
    pub min_timestamp: TimestampMs,
    /// Last record's timestamp.
    pub max_timestamp: TimestampMs,
    /// The commit that sealed the page; at least 1.
    pub generation: Generation,
    /// Content name, part of the page's key.
    pub page_id: PageId,
    /// Segments of the whole subtree.
    pub segment_count: u64,
}

impl PageRef {
    #[inline]
    fn check(&self) -> Result<(), Flaw> {
        let (level, count, segments) = (self.level, self.entry_count, self.segment_count);
        require(level <= MAX_PAGE_LEVEL, 0, || format!("level {level} is above {MAX_PAGE_LEVEL}"))?;
        require((1..=MAX_PAGE_ENTRIES).contains(&count), 4, || {
            format!("entry count {count} is outside 1..={MAX_PAGE_ENTRIES}")
        })?;
        let (lo, hi) = (self.seq_lo, self.seq_hi);
        require(lo <= hi, 16, || format!("last LSN {hi} is below the first LSN {lo}"))?;
        require(hi <= Lsn::MAX_RECORD, 16, || format!("last LSN {hi} is past {}", Lsn::MAX_RECORD))?;
        let (min, max) = (self.min_timestamp, self.max_timestamp);
        require(min <= max, 32, || format!("max timestamp {max} is below the min timestamp {min}"))?;
        require(self.generation.0 > 0, 40, || "generation is 0".to_owned())?;
        require(!self.page_id.is_zero(), 48, || "page id is zero".to_owned())?;
        require(segments >= u64::from(count), 64, || {
            format!("segment count {segments} is below the entry count {count}")
        })?;
        require(level > 0 || segments == u64::from(count), 64, || {
            format!("segment count {segments} of a leaf differs from its entry count {count}")
        })?;
        let span = hi.0.wrapping_sub(lo.0).saturating_add(1);
        require(segments <= span, 64, || format!("segment count {segments} is above the {span} LSNs spanned"))
    }
}

/// What an entry, or a run of them, covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) seq_lo: Lsn,
    pub(super) seq_hi: Lsn,
    pub(super) min_timestamp: TimestampMs,
    pub(super) max_timestamp: TimestampMs,
    pub(super) segment_count: u64,
}

impl Span {
    /// Both, side by side; sums can't pass 2^64-1 while every count is at most the LSNs it spans.
    pub(super) fn join(self, next: Self) -> Self {
        Self {
            seq_hi: next.seq_hi,
            max_timestamp: next.max_timestamp,
            segment_count: self.segment_count.saturating_add(next.segment_count),
            ..self
        }
    }

    /// `self` goes on where `previous` ends, neither in LSN nor in time before it. Returns the two together.
    pub(super) fn after(self, previous: Option<Self>, lsn_at: u64, time_at: u64) -> Result<Self, Flaw> {
        let Some(previous) = previous else { return Ok(self) };
        let (end, start) = (previous.seq_hi, self.seq_lo);
        require(end.checked_add(1) == Some(start), lsn_at, || format!("first LSN {start} does not follow LSN {end}"))?;
        let (last, first) = (previous.max_timestamp, self.min_timestamp);
        require(last <= first, time_at, || format!("min timestamp {first} is below {last} of the entry before"))?;
        Ok(previous.join(self))
    }
}

/// What pages and sections do with either kind of entry.
pub(super) trait Entry: Copy {
    /// Bytes of one entry.
    const LEN: usize;
    /// Magic of the pages that hold such entries.
    const PAGE_MAGIC: [u8; 4];
    /// Offset of the entry's first LSN.
    const LSN_AT: u64;
    /// Offset of the entry's first timestamp.
    const TIME_AT: u64;

    /// Decodes and checks the entry at the cursor where it is to lie: entries are large, and moves of them cost.
    fn decode(fields: &mut Cursor<'_>, out: &mut Vec<Self>) -> Result<(), FormatError>;
    fn put(&self, out: &mut Vec<u8>);
    fn span(&self) -> Span;
    fn step(&self) -> Step;
}

impl Entry for SegmentEntry {
    const LEN: usize = LEAF_ENTRY_LEN;
    const PAGE_MAGIC: [u8; 4] = *b"PLCL";
    const LSN_AT: u64 = 0;
    const TIME_AT: u64 = 16;

    #[inline]
    fn decode(fields: &mut Cursor<'_>, out: &mut Vec<Self>) -> Result<(), FormatError> {
        let start = fields.offset();
        // A cursor of its own, whose length the compiler knows.
        let bytes = fields.chunk::<LEAF_ENTRY_LEN>()?;
        let fields = &mut Cursor::new(bytes, fields.section(), start);
        let entry = Self {
            base_lsn: Lsn(fields.u64()?),
            last_lsn: Lsn(fields.u64()?),
            min_timestamp: TimestampMs(fields.i64()?),
            max_timestamp: TimestampMs(fields.i64()?),
            record_count: fields.u32()?,
            block_count: fields.u32()?,
            size_bytes: fields.u64()?,
            block_index_offset: fields.u64()?,
            block_index_length: fields.u32()?,
            codec: codec(fields)?,
            hash: hash(fields)?,
            segment_hash: fields.u64()?,
            trailer_hash: fields.u64()?,
            writer_epoch: Epoch(fields.u64()?),
            segment_id: SegmentId(fields.array()?),
            writer_tag: WriterId(fields.array()?),
        };
        fields.reserved::<8>()?;
        entry.check().map_err(|flaw| flaw.within(fields.section(), start))?;
        out.push(entry);
        Ok(())
    }

    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        let mut bytes = [0; LEAF_ENTRY_LEN];
        let mut fields = Fill::new(&mut bytes);
        fields.u64(self.base_lsn.0);
        fields.u64(self.last_lsn.0);
        fields.i64(self.min_timestamp.0);
        fields.i64(self.max_timestamp.0);
        fields.u32(self.record_count);
        fields.u32(self.block_count);
        fields.u64(self.size_bytes);
        fields.u64(self.block_index_offset);
        fields.u32(self.block_index_length);
        fields.u16(self.codec.id());
        fields.u16(self.hash.id());
        fields.u64(self.segment_hash);
        fields.u64(self.trailer_hash);
        fields.u64(self.writer_epoch.0);
        fields.bytes(self.segment_id.0);
        fields.bytes(self.writer_tag.0);
        fields.reserved::<8>();
        out.extend_from_slice(&bytes);
    }

    fn span(&self) -> Span {
        Span {
            seq_lo: self.base_lsn,
            seq_hi: self.last_lsn,
            min_timestamp: self.min_timestamp,
            max_timestamp: self.max_timestamp,
            segment_count: 1,
        }
    }

    fn step(&self) -> Step {
        Step::Segment(*self)
    }
}

impl Entry for PageRef {
    const LEN: usize = PAGE_REF_LEN;
    const PAGE_MAGIC: [u8; 4] = *b"PLCX";
    const LSN_AT: u64 = 8;
    const TIME_AT: u64 = 24;

    #[inline]
    fn decode(fields: &mut Cursor<'_>, out: &mut Vec<Self>) -> Result<(), FormatError> {
        let start = fields.offset();
        // A cursor of its own, as above.
        let bytes = fields.chunk::<PAGE_REF_LEN>()?;
        let fields = &mut Cursor::new(bytes, fields.section(), start);
        let level = fields.u8()?;
        fields.reserved::<3>()?;
        let entry = Self {
            level,
            entry_count: fields.u32()?,
            seq_lo: Lsn(fields.u64()?),
            seq_hi: Lsn(fields.u64()?),
            min_timestamp: TimestampMs(fields.i64()?),
            max_timestamp: TimestampMs(fields.i64()?),
            generation: Generation(fields.u64()?),
            page_id: PageId(fields.array()?),
            segment_count: fields.u64()?,
        };
        fields.reserved::<8>()?;
        entry.check().map_err(|flaw| flaw.within(fields.section(), start))?;
        out.push(entry);
        Ok(())
    }

    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        let mut bytes = [0; PAGE_REF_LEN];
        let mut fields = Fill::new(&mut bytes);
        fields.u8(self.level);
        fields.reserved::<3>();
        fields.u32(self.entry_count);
        fields.u64(self.seq_lo.0);
        fields.u64(self.seq_hi.0);
        fields.i64(self.min_timestamp.0);
        fields.i64(self.max_timestamp.0);
        fields.u64(self.generation.0);
        fields.bytes(self.page_id.0);
        fields.u64(self.segment_count);
        fields.reserved::<8>();
        out.extend_from_slice(&bytes);
    }

    fn span(&self) -> Span {
        Span {
            seq_lo: self.seq_lo,
            seq_hi: self.seq_hi,
            min_timestamp: self.min_timestamp,
            max_timestamp: self.max_timestamp,
            segment_count: self.segment_count,
        }
    }

    fn step(&self) -> Step {
        Step::Page(*self)
    }
}

/// `count` entries in a row; the size is checked before anything is allocated.
pub(super) fn decode_run<E: Entry>(fields: &mut Cursor<'_>, count: u32) -> Result<Vec<E>, FormatError> {
    let (start, section) = (fields.offset(), fields.section());
    let len = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(E::LEN);
    let mut run = Cursor::new(fields.take(len)?, section, start);
    let mut entries = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
    for _ in 0..count {
        E::decode(&mut run, &mut entries)?;
    }
    Ok(entries)
}

/// Checks that entries follow one another; `start` is the offset of the first. Returns what they cover together.
pub(super) fn check_run<E: Entry>(
    entries: &[E],
    previous: Option<Span>,
    section: Section,
    start: u64,
) -> Result<Option<Span>, FormatError> {
    entries.iter().zip((start..).step_by(E::LEN)).try_fold(previous, |previous, (entry, at)| {
        let span = entry.span().after(previous, E::LSN_AT, E::TIME_AT);
        span.map(Some).map_err(|flaw| flaw.within(section, at))
    })
}

/// Segments are listed in order of epoch, none above `limit`; `start` is the offset of the first.
pub(super) fn check_epochs(
    segments: &[SegmentEntry],
    limit: Epoch,
    section: Section,
    start: u64,
) -> Result<(), FormatError> {
    let mut lowest = Epoch(0);
    for (segment, at) in segments.iter().zip((start..).step_by(LEAF_ENTRY_LEN)) {
        let epoch = segment.writer_epoch;
        require(epoch >= lowest, 80, || format!("writer epoch {epoch} is below {lowest} of the entry before"))
            .and_then(|()| {
                require(epoch <= limit, 80, || format!("writer epoch {epoch} is above {limit} of the object"))
            })
            .map_err(|flaw| flaw.within(section, at))?;
        lowest = epoch;
    }
    Ok(())
}

/// What the entries cover together; nothing for none.
pub(super) fn cover<E: Entry>(entries: &[E]) -> Span {
    entries.iter().map(Entry::span).reduce(Span::join).unwrap_or_default()
}

/// Number of entries; a node never holds more than 1,024.
pub(super) fn count<E: Entry>(entries: &[E]) -> u32 {
    u32::try_from(entries.len()).unwrap_or(u32::MAX)
}

/// The entry that covers `lsn`.
pub(super) fn locate<E: Entry>(entries: &[E], lsn: Lsn) -> Step {
    let first = entries.partition_point(|entry| entry.span().seq_hi < lsn);
    entries.get(first).filter(|entry| entry.span().seq_lo <= lsn).map_or(Step::Missing, Entry::step)
}

/// The first entry with a record at or after `timestamp`.
pub(super) fn locate_timestamp<E: Entry>(entries: &[E], timestamp: TimestampMs) -> Step {
    let first = entries.partition_point(|entry| entry.span().max_timestamp < timestamp);
    entries.get(first).map_or(Step::Missing, Entry::step)
}

/// The codec id at the cursor.
fn codec(fields: &mut Cursor<'_>) -> Result<Codec, FormatError> {
    let (at, id) = (fields.offset(), fields.u16()?);
    Codec::from_id(id)
        .ok_or_else(|| fields.error(FormatErrorKind::UnsupportedCodec, at, format!("codec id {id} is unknown")))
}

/// The hash id at the cursor.
pub(super) fn hash(fields: &mut Cursor<'_>) -> Result<HashAlgo, FormatError> {
    let (at, id) = (fields.offset(), fields.u16()?);
    HashAlgo::from_id(id)
        .ok_or_else(|| fields.error(FormatErrorKind::UnsupportedHash, at, format!("hash id {id} is unknown")))
}
