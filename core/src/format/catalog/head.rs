//! The head: the one mutable object of a partition's catalog (objlog formats 2.5).
use super::entry::{Entry, PageRef, SegmentEntry, Span, check_epochs, check_run, count, decode_run, hash};
use super::fill::Fill;
use super::page::check_child;
use super::rules::{Flaw, agree, require, require_kind};
use super::{CatalogLayout, LogIdentity, trailer};
use crate::format::read::Cursor;
use crate::format::{FormatError, FormatErrorKind, Section};
use crate::ids::{DataRootKey, Epoch, Generation, Lsn, Partition, StreamKey, WriterId};
use crate::limits::{
    CATALOG_TRAILER_LEN, HEAD_HEADER_LEN, LEAF_ENTRY_LEN, MAX_PAGE_ENTRIES, MAX_PAGE_LEVEL, MAX_SECTIONS, MIN_HEAD_LEN,
    MIN_INDEX_LIMIT, MIN_LEAF_LIMIT, PAGE_REF_LEN, SECTION_HEADER_LEN,
};
use bytes::Bytes;

const MAGIC: [u8; 4] = *b"PLCH";
const SECTION_MAGIC: [u8; 4] = *b"PLCS";
const VERSION: u16 = 1;
const SEGMENT_LAYOUT: u16 = 1;
const HAS_LAST_SEGMENT: u32 = 1;
const HEADER_LEN: u16 = 192;
const _: () = assert!(HEADER_LEN as usize == HEAD_HEADER_LEN);

const LAST_SEGMENT_AT: u64 = HEAD_HEADER_LEN as u64;
const ACTIVE_AT: u64 = LAST_SEGMENT_AT + LEAF_ENTRY_LEN as u64;

/// The one mutable object: what is committed, and who may commit.
///
/// Every rule of objlog formats 2.5 holds for a head that [`Head::decode`] or [`Head::initial`] made and that only
/// [`Head::takeover`], [`Head::append`] and [`trim`](super::trim()) changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Head {
    /// Whose catalog it is.
    pub identity: LogIdentity,
    /// Fan-out and hash of this catalog.
    pub layout: CatalogLayout,
    /// LSN of the next record; 2^64-1 when the partition is full.
    pub next_lsn: Lsn,
    /// First readable LSN; equal to `next_lsn` when nothing is readable.
    pub oldest_lsn: Lsn,
    /// Boundary of the last applied retention request, at most `next_lsn`.
    pub applied_retention_lsn: Lsn,
    /// Policy version of that request; 0 when there was none.
    pub applied_retention_version: u64,
    /// Counts claims; 0 before the first.
    pub writer_epoch: Epoch,
    /// The owner; zero before the first claim.
    pub writer_id: WriterId,
    /// Counts changes of the head.
    pub generation: Generation,
    /// Segments ever committed.
    pub segment_count: u64,
    /// Segments still readable.
    pub reachable_segment_count: u64,
    /// The last committed segment, kept even when retention took it.
    pub last_segment: Option<SegmentEntry>,
    /// Segments that are not in a leaf page yet; fewer than `layout.leaf_limit`.
    pub active: Vec<SegmentEntry>,
    /// References that are not in an index page yet, fewer than `layout.index_limit` each; `sections[0]` is level 1
    /// (references to leaf pages), and so on.
    pub sections: Vec<Vec<PageRef>>,
}

impl Head {
    /// A partition without segments that starts at `next_lsn`, at epoch 0 and generation 0. Fan-outs outside their
    /// range are [clamped](CatalogLayout::clamped).
    #[must_use]
    pub fn initial(identity: LogIdentity, layout: CatalogLayout, next_lsn: Lsn) -> Self {
        Self {
            identity,
            layout: layout.clamped(),
            next_lsn,
            oldest_lsn: next_lsn,
            applied_retention_lsn: Lsn(0),
            applied_retention_version: 0,
            writer_epoch: Epoch(0),
            writer_id: WriterId([0; 16]),
            generation: Generation(0),
            segment_count: 0,
            reachable_segment_count: 0,
            last_segment: None,
            active: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Reads and checks a head, whatever its fan-out (objlog formats 9.1).
    ///
    /// # Errors
    /// The first broken rule of objlog formats 2.1 to 2.5, in their parse order: what is not understood (version,
    /// hash, segment layout) is reported before a hash that differs.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        if bytes.len() < MIN_HEAD_LEN {
            let detail = format!("a head has at least {MIN_HEAD_LEN} bytes, the object {}", bytes.len());
            return Err(FormatError::new(FormatErrorKind::Truncated, Section::HeadHeader, bytes.len() as u64, detail));
        }
        let (mut head, counts) = decode_header(&mut Cursor::new(bytes, Section::HeadHeader, 0))?;
        let body = trailer::open(bytes, head.layout.hash)?;
        head.check_header().map_err(in_header)?;
        let stored = body.get(HEAD_HEADER_LEN..).unwrap_or_default();
        head.decode_body(&mut Cursor::new(stored, Section::LastSegment, LAST_SEGMENT_AT), counts)?;
        head.check_nodes()?;
        Ok(head)
    }

    /// The head's canonical bytes: `decode(encode(h)) == h`.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(self.encoded_len());
        out.extend_from_slice(&self.header());
        match &self.last_segment {
            Some(segment) => segment.put(&mut out),
            None => out.extend_from_slice(&[0; LEAF_ENTRY_LEN]),
        }
        for segment in &self.active {
            segment.put(&mut out);
        }
        for (section, level) in self.sections.iter().zip(1..) {
            out.extend_from_slice(&section_header(level, count(section)));
            for reference in section {
                reference.put(&mut out);
            }
        }
        trailer::close(&mut out, self.layout.hash);
        out.into()
    }

    /// Bytes that [`Head::encode`] returns.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let sections = self.sections.iter().map(|section| section_len(section)).fold(0, usize::saturating_add);
        self.active.len().saturating_mul(LEAF_ENTRY_LEN).saturating_add(sections).saturating_add(MIN_HEAD_LEN)
    }

    /// The head must be the catalog of this very log.
    ///
    /// # Errors
    /// [`FormatErrorKind::Mismatch`] for the first part of the identity that differs.
    pub fn check_identity(&self, identity: &LogIdentity) -> Result<(), FormatError> {
        let compare = || {
            agree("partition", 12, identity.partition, self.identity.partition)?;
            agree("stream key", 112, identity.stream_key, self.identity.stream_key)?;
            agree("data root key", 144, identity.data_root_key, self.identity.data_root_key)
        };
        compare().map_err(in_header)
    }

    fn header(&self) -> [u8; HEAD_HEADER_LEN] {
        let mut bytes = [0; HEAD_HEADER_LEN];
        let mut fields = Fill::new(&mut bytes);
        fields.bytes(MAGIC);
        fields.u16(VERSION);
        fields.u16(HEADER_LEN);
        fields.u32(if self.last_segment.is_some() { HAS_LAST_SEGMENT } else { 0 });
        fields.u32(self.identity.partition.0);
        fields.u16(self.layout.hash.id());
        fields.u16(SEGMENT_LAYOUT);
        fields.u32(self.layout.leaf_limit);
        fields.u32(self.layout.index_limit);
        fields.u32(count(&self.active));
        fields.u32(u32::try_from(self.sections.len()).unwrap_or(u32::MAX));
        fields.reserved::<4>();
        fields.u64(self.next_lsn.0);
        fields.u64(self.oldest_lsn.0);
        fields.u64(self.applied_retention_lsn.0);
        fields.u64(self.applied_retention_version);
        fields.u64(self.writer_epoch.0);
        fields.u64(self.generation.0);
        fields.u64(self.segment_count);
        fields.bytes(self.writer_id.0);
        fields.bytes(self.identity.stream_key.0);
        fields.bytes(self.identity.data_root_key.0);
        fields.u64(self.reachable_segment_count);
        fields.reserved::<8>();
        bytes
    }

    /// The rules among the header's own fields that follow the hashes.
    fn check_header(&self) -> Result<(), Flaw> {
        let (next, oldest, applied) = (self.next_lsn, self.oldest_lsn, self.applied_retention_lsn);
        require(oldest <= next, 48, || format!("oldest LSN {oldest} is above the next LSN {next}"))?;
        require(applied <= next, 56, || format!("applied retention LSN {applied} is above the next LSN {next}"))?;
        require(self.applied_retention_version > 0 || applied == Lsn(0), 56, || {
            format!("applied retention LSN {applied} has no policy version")
        })?;
        require((self.writer_epoch.0 == 0) == self.writer_id.is_zero(), 72, || {
            format!("writer epoch {} and writer id {} must be zero together", self.writer_epoch, self.writer_id)
        })?;
        require(!self.identity.stream_key.is_zero(), 112, || "stream key is zero".to_owned())?;
        require(!self.identity.data_root_key.is_zero(), 144, || "data root key is zero".to_owned())?;
        let (reachable, lifetime) = (self.reachable_segment_count, self.segment_count);
        require(reachable <= lifetime, 176, || format!("{reachable} segments reachable, {lifetime} ever committed"))
    }

    fn decode_body(&mut self, fields: &mut Cursor<'_>, counts: Counts) -> Result<(), FormatError> {
        if counts.has_last_segment {
            self.last_segment = decode_run(fields, 1)?.pop();
        } else {
            fields.reserved::<LEAF_ENTRY_LEN>()?;
        }
        fields.enter(Section::ActiveEntries);
        self.active = decode_run(fields, counts.active)?;
        fields.enter(Section::HeadSection);
        for level in 1..=counts.levels {
            self.sections.push(decode_section(fields, level, self.layout.index_limit)?);
        }
        let (left, at) = (fields.remaining(), fields.offset());
        require(left == 0, at, || format!("{left} bytes are left before the trailer"))
            .map_err(|flaw| flaw.within(Section::HeadSection, 0))
    }

    /// The rules that bind header, last segment, active entries and sections together.
    fn check_nodes(&self) -> Result<(), FormatError> {
        let roots = self.check_roots()?;
        check_epochs(&self.active, self.writer_epoch, Section::ActiveEntries, ACTIVE_AT)?;
        match (&self.last_segment, roots) {
            (None, roots) => self.check_empty(roots).map_err(in_header),
            (Some(last), None) => {
                self.check_last(last)?;
                self.check_nothing_readable().map_err(in_header)
            }
            (Some(last), Some(roots)) => {
                self.check_last(last)?;
                self.check_readable(&roots).map_err(in_header)?;
                self.check_tail(last, &roots)
            }
        }
    }

    /// Roots follow one another, highest level first, active segments last. Returns what they cover.
    fn check_roots(&self) -> Result<Option<Span>, FormatError> {
        let mut covered = None;
        let mut end = self.encoded_len().saturating_sub(CATALOG_TRAILER_LEN) as u64;
        for (section, child_level) in self.sections.iter().zip(0..=MAX_PAGE_LEVEL).rev() {
            let start = end.saturating_sub(section.len().saturating_mul(PAGE_REF_LEN) as u64);
            for (reference, at) in section.iter().zip((start..).step_by(PAGE_REF_LEN)) {
                check_child(reference, child_level, self.generation)
                    .map_err(|flaw| flaw.within(Section::HeadSection, at))?;
            }
            covered = check_run(section, covered, Section::HeadSection, start)?;
            end = start.saturating_sub(SECTION_HEADER_LEN as u64);
        }
        check_run(&self.active, covered, Section::ActiveEntries, ACTIVE_AT)
    }

    fn check_empty(&self, roots: Option<Span>) -> Result<(), Flaw> {
        require(roots.is_none(), 8, || "the head leads to segments, but none was last".to_owned())?;
        require(self.segment_count == 0, 88, || format!("{} segments ever, but none was last", self.segment_count))?;
        self.check_nothing_readable()
    }

    fn check_nothing_readable(&self) -> Result<(), Flaw> {
        let (next, oldest) = (self.next_lsn, self.oldest_lsn);
        require(oldest == next, 48, || format!("oldest LSN {oldest} must be {next} when nothing is readable"))?;
        require(self.reachable_segment_count == 0, 176, || {
            format!("{} segments reachable, but the head leads to none", self.reachable_segment_count)
        })
    }

    fn check_readable(&self, roots: &Span) -> Result<(), Flaw> {
        let (oldest, first) = (self.oldest_lsn, roots.seq_lo);
        require(oldest == first, 48, || format!("oldest LSN {oldest}, but the first root starts at {first}"))?;
        let (reachable, computed) = (self.reachable_segment_count, roots.segment_count);
        require(reachable == computed, 176, || format!("{reachable} segments reachable, {computed} by the roots"))
    }

    fn check_last(&self, last: &SegmentEntry) -> Result<(), FormatError> {
        let in_last = |flaw: Flaw| flaw.within(Section::LastSegment, LAST_SEGMENT_AT);
        require(self.segment_count > 0, 88, || "there is a last segment, but the count is 0".to_owned())
            .map_err(in_header)?;
        let (next, end) = (self.next_lsn, last.last_lsn);
        require(end.checked_add(1) == Some(next), 8, || format!("last LSN {end}, but the head goes on at {next}"))
            .map_err(in_last)?;
        let (epoch, limit) = (last.writer_epoch, self.writer_epoch);
        require(epoch <= limit, 80, || format!("writer epoch {epoch} is above {limit} of the head")).map_err(in_last)
    }

    /// The roots end where the last segment does; in the active list it is the very same entry.
    fn check_tail(&self, last: &SegmentEntry, roots: &Span) -> Result<(), FormatError> {
        let in_last = |flaw: Flaw| flaw.within(Section::LastSegment, LAST_SEGMENT_AT);
        let (end, covered) = (last.last_lsn, roots.seq_hi);
        require(end == covered, 8, || format!("last LSN {end}, but the roots end at {covered}")).map_err(in_last)?;
        require(self.active.last().is_none_or(|active| active == last), 0, || {
            "differs from the last active segment".to_owned()
        })
        .map_err(in_last)
    }
}

/// How many of each follow the header.
#[derive(Clone, Copy, Debug)]
struct Counts {
    has_last_segment: bool,
    active: u32,
    levels: u8,
}

/// Reads the header and checks everything that comes before the trailer's hashes.
fn decode_header(fields: &mut Cursor<'_>) -> Result<(Head, Counts), FormatError> {
    let (magic, version, header_len) = (fields.array::<4>()?, fields.u16()?, fields.u16()?);
    check_preface(magic, version, header_len).map_err(in_header)?;
    let flags = fields.u32()?;
    let partition = Partition(fields.u32()?);
    let hash = hash(fields)?;
    let segment_layout = fields.u16()?;
    let (leaf_limit, index_limit) = (fields.u32()?, fields.u32()?);
    let (active, levels) = (fields.u32()?, fields.u32()?);
    fields.reserved::<4>()?;
    let (next_lsn, oldest_lsn, applied_retention_lsn) = (Lsn(fields.u64()?), Lsn(fields.u64()?), Lsn(fields.u64()?));
    let applied_retention_version = fields.u64()?;
    let (writer_epoch, generation) = (Epoch(fields.u64()?), Generation(fields.u64()?));
    let segment_count = fields.u64()?;
    let writer_id = WriterId(fields.array()?);
    let (stream_key, data_root_key) = (StreamKey(fields.array()?), DataRootKey(fields.array()?));
    let reachable_segment_count = fields.u64()?;
    fields.reserved::<8>()?;
    check_layout(flags, segment_layout, leaf_limit, index_limit).map_err(in_header)?;
    let levels = check_counts(active, leaf_limit, levels).map_err(in_header)?;
    let head = Head {
        identity: LogIdentity { partition, stream_key, data_root_key },
        layout: CatalogLayout { hash, leaf_limit, index_limit },
        next_lsn,
        oldest_lsn,
        applied_retention_lsn,
        applied_retention_version,
        writer_epoch,
        writer_id,
        generation,
        segment_count,
        reachable_segment_count,
        last_segment: None,
        active: Vec::new(),
        sections: Vec::new(),
    };
    Ok((head, Counts { has_last_segment: flags == HAS_LAST_SEGMENT, active, levels }))
}

fn check_preface(magic: [u8; 4], version: u16, header_len: u16) -> Result<(), Flaw> {
    require(magic == MAGIC, 0, || format!("magic must be \"PLCH\", found \"{}\"", magic.escape_ascii()))?;
    require_kind(FormatErrorKind::UnsupportedVersion, version == VERSION, 4, || {
        format!("head version must be {VERSION}, found {version}")
    })?;
    require(header_len == HEADER_LEN, 6, || format!("header length must be {HEADER_LEN}, found {header_len}"))
}

fn check_layout(flags: u32, segment_layout: u16, leaf_limit: u32, index_limit: u32) -> Result<(), Flaw> {
    require(flags & !HAS_LAST_SEGMENT == 0, 8, || format!("unknown flags in {flags:#010x}"))?;
    require_kind(FormatErrorKind::UnsupportedLayout, segment_layout == SEGMENT_LAYOUT, 18, || {
        format!("segment layout must be {SEGMENT_LAYOUT}, found {segment_layout}")
    })?;
    require((MIN_LEAF_LIMIT..=MAX_PAGE_ENTRIES).contains(&leaf_limit), 20, || {
        format!("leaf limit {leaf_limit} is outside {MIN_LEAF_LIMIT}..={MAX_PAGE_ENTRIES}")
    })?;
    require((MIN_INDEX_LIMIT..=MAX_PAGE_ENTRIES).contains(&index_limit), 24, || {
        format!("index limit {index_limit} is outside {MIN_INDEX_LIMIT}..={MAX_PAGE_ENTRIES}")
    })
}

fn check_counts(active: u32, leaf_limit: u32, levels: u32) -> Result<u8, Flaw> {
    require(active < leaf_limit, 28, || format!("{active} active segments, the leaf limit is {leaf_limit}"))?;
    require(levels <= u32::from(MAX_SECTIONS), 32, || format!("{levels} levels, at most {MAX_SECTIONS} are possible"))?;
    Ok(u8::try_from(levels).unwrap_or(MAX_SECTIONS))
}

fn decode_section(fields: &mut Cursor<'_>, level: u8, index_limit: u32) -> Result<Vec<PageRef>, FormatError> {
    let start = fields.offset();
    let in_section = |flaw: Flaw| flaw.within(Section::HeadSection, start);
    let (magic, found_level) = (fields.array::<4>()?, fields.u8()?);
    require(magic == SECTION_MAGIC, 0, || format!("magic must be \"PLCS\", found \"{}\"", magic.escape_ascii()))
        .map_err(in_section)?;
    require(found_level == level, 4, || format!("level must be {level} here, found {found_level}"))
        .map_err(in_section)?;
    fields.reserved::<3>()?;
    let entries = fields.u32()?;
    require(entries < index_limit, 8, || format!("{entries} entries, the index limit is {index_limit}"))
        .map_err(in_section)?;
    fields.reserved::<4>()?;
    decode_run(fields, entries)
}

fn section_header(level: u8, entries: u32) -> [u8; SECTION_HEADER_LEN] {
    let mut bytes = [0; SECTION_HEADER_LEN];
    let mut fields = Fill::new(&mut bytes);
    fields.bytes(SECTION_MAGIC);
    fields.u8(level);
    fields.reserved::<3>();
    fields.u32(entries);
    fields.reserved::<4>();
    bytes
}

fn section_len(section: &[PageRef]) -> usize {
    section.len().saturating_mul(PAGE_REF_LEN).saturating_add(SECTION_HEADER_LEN)
}

fn in_header(flaw: Flaw) -> FormatError {
    flaw.within(Section::HeadHeader, 0)
}
