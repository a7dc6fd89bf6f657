//! Sealed, immutable pages (objlog formats 2.4).
use super::entry::{Entry, PageRef, SegmentEntry, Span, check_epochs, check_run, count, cover, decode_run, hash};
use super::fill::Fill;
use super::rules::{Flaw, agree, require, require_kind};
use super::{LogIdentity, Presence, Step, entry, trailer};
use crate::format::read::Cursor;
use crate::format::{FormatError, FormatErrorKind, HashAlgo, Section};
use crate::ids::{Epoch, Generation, Lsn, PageId, Partition, StreamKey, TimestampMs};
use crate::limits::{CATALOG_TRAILER_LEN, MAX_PAGE_ENTRIES, MAX_PAGE_LEVEL, PAGE_HEADER_LEN};
use bytes::Bytes;
use sha2::{Digest, Sha256};

const VERSION: u16 = 1;
const HEADER_LEN: u16 = 128;
const _: () = assert!(HEADER_LEN as usize == PAGE_HEADER_LEN);

/// The entries of a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PageEntries {
    /// Segments, in order of LSN.
    Leaf(Vec<SegmentEntry>),
    /// References to pages one level below, in order of LSN.
    Index(Vec<PageRef>),
}

/// A sealed page. Every rule holds: pages are made only by [`Page::decode`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    /// What a parent would say of the page; its id is computed from the bytes.
    pub reference: PageRef,
    /// The log's partition.
    pub partition: Partition,
    /// Hash algorithm of the page.
    pub hash: HashAlgo,
    /// Epoch of the commit that sealed the page.
    pub writer_epoch: Epoch,
    /// The log's stream.
    pub stream_key: StreamKey,
    /// Segments or references.
    pub entries: PageEntries,
}

impl Page {
    /// Reads and checks a page.
    ///
    /// # Errors
    /// The first broken rule of objlog formats 2.1 to 2.4, in their parse order: what is not understood (version,
    /// hash, codec) is reported before a hash that differs.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let header = Header::decode(bytes)?;
        let body = trailer::open(bytes, header.hash)?;
        header.check_level()?;
        let start = PAGE_HEADER_LEN as u64;
        let stored = body.get(PAGE_HEADER_LEN..).unwrap_or_default();
        let mut fields = Cursor::new(stored, Section::PageEntries, start);
        let entries = if header.is_leaf {
            let segments = decode_run::<SegmentEntry>(&mut fields, header.entry_count)?;
            header.check_cover(check_run(&segments, None, Section::PageEntries, start)?)?;
            check_epochs(&segments, header.writer_epoch, Section::PageEntries, start)?;
            PageEntries::Leaf(segments)
        } else {
            let references = decode_run::<PageRef>(&mut fields, header.entry_count)?;
            header.check_children(&references, start)?;
            header.check_cover(check_run(&references, None, Section::PageEntries, start)?)?;
            PageEntries::Index(references)
        };
        Ok(Self {
            reference: header.reference(page_id(body)),
            partition: header.partition,
            hash: header.hash,
            writer_epoch: header.writer_epoch,
            stream_key: header.stream_key,
            entries,
        })
    }

    /// A fetched page must be the one that its parent means: same log, every field of the reference, and an epoch
    /// that is not above the parent's (the head's for a root, the parent page's below; formats 2.4).
    ///
    /// # Errors
    /// [`FormatErrorKind::Mismatch`] for the first field that differs.
    pub fn check(&self, reference: &PageRef, parent_epoch: Epoch, identity: &LogIdentity) -> Result<(), FormatError> {
        self.compare(reference, parent_epoch, identity).map_err(in_header)
    }

    fn compare(&self, expected: &PageRef, parent_epoch: Epoch, identity: &LogIdentity) -> Result<(), Flaw> {
        let found = &self.reference;
        agree("partition", 12, identity.partition, self.partition)?;
        agree("stream key", 80, identity.stream_key, self.stream_key)?;
        agree("level", 16, expected.level, found.level)?;
        agree("entry count", 20, expected.entry_count, found.entry_count)?;
        agree("first LSN", 32, expected.seq_lo, found.seq_lo)?;
        agree("last LSN", 40, expected.seq_hi, found.seq_hi)?;
        agree("min timestamp", 48, expected.min_timestamp, found.min_timestamp)?;
        agree("max timestamp", 56, expected.max_timestamp, found.max_timestamp)?;
        agree("generation", 64, expected.generation, found.generation)?;
        agree("segment count", 112, expected.segment_count, found.segment_count)?;
        agree("page id", 0, expected.page_id, found.page_id)?;
        require_kind(FormatErrorKind::Mismatch, self.writer_epoch <= parent_epoch, 72, || {
            format!("writer epoch {} is above {parent_epoch} of the parent", self.writer_epoch)
        })
    }

    /// One step towards the segment that holds `lsn`; [`Step::Missing`] outside the page.
    #[must_use]
    pub fn locate(&self, lsn: Lsn) -> Step {
        match &self.entries {
            PageEntries::Leaf(segments) => entry::locate(segments, lsn),
            PageEntries::Index(references) => entry::locate(references, lsn),
        }
    }

    /// One step towards the earliest segment with a record at or after `timestamp`; [`Step::Missing`] past the page's
    /// last.
    #[must_use]
    pub fn locate_timestamp(&self, timestamp: TimestampMs) -> Step {
        match &self.entries {
            PageEntries::Leaf(segments) => entry::locate_timestamp(segments, timestamp),
            PageEntries::Index(references) => entry::locate_timestamp(references, timestamp),
        }
    }

    /// Whether this very segment is below the page.
    #[must_use]
    pub fn presence(&self, segment: &SegmentEntry) -> Presence {
        self.locate(segment.base_lsn).presence(segment)
    }

    /// Memory held, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        let entries = match &self.entries {
            PageEntries::Leaf(segments) => segments.capacity().saturating_mul(size_of::<SegmentEntry>()),
            PageEntries::Index(references) => references.capacity().saturating_mul(size_of::<PageRef>()),
        };
        size_of::<Self>().saturating_add(entries)
    }
}

/// A page to be stored before the head that refers to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SealedPage {
    /// What the parent says of the page; names its key.
    pub reference: PageRef,
    /// The object.
    pub bytes: Bytes,
}

/// What every page sealed by one commit has in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seal {
    pub(super) identity: LogIdentity,
    pub(super) hash: HashAlgo,
    pub(super) generation: Generation,
    pub(super) writer_epoch: Epoch,
}

impl Seal {
    /// Encodes a page of checked entries: those of a leaf when `level` is 0, references of the level below otherwise.
    pub(super) fn page<E: Entry>(&self, level: u8, entries: &[E]) -> SealedPage {
        let covered = cover(entries);
        let mut bytes = Vec::with_capacity(page_len::<E>(entries.len()));
        bytes.extend_from_slice(&self.header::<E>(level, count(entries), &covered));
        for entry in entries {
            entry.put(&mut bytes);
        }
        let page_id = page_id(&bytes);
        trailer::close(&mut bytes, self.hash);
        let reference = reference(level, count(entries), &covered, self.generation, page_id);
        SealedPage { reference, bytes: bytes.into() }
    }

    fn header<E: Entry>(&self, level: u8, entry_count: u32, covered: &Span) -> [u8; PAGE_HEADER_LEN] {
        let mut bytes = [0; PAGE_HEADER_LEN];
        let mut fields = Fill::new(&mut bytes);
        fields.bytes(E::PAGE_MAGIC);
        fields.u16(VERSION);
        fields.u16(HEADER_LEN);
        fields.reserved::<4>();
        fields.u32(self.identity.partition.0);
        fields.u8(level);
        fields.reserved::<1>();
        fields.u16(self.hash.id());
        fields.u32(entry_count);
        fields.u32(entry_size::<E>());
        fields.reserved::<4>();
        fields.u64(covered.seq_lo.0);
        fields.u64(covered.seq_hi.0);
        fields.i64(covered.min_timestamp.0);
        fields.i64(covered.max_timestamp.0);
        fields.u64(self.generation.0);
        fields.u64(self.writer_epoch.0);
        fields.bytes(self.identity.stream_key.0);
        fields.u64(covered.segment_count);
        fields.reserved::<8>();
        bytes
    }
}

/// A page's first 128 bytes.
#[derive(Debug)]
struct Header {
    is_leaf: bool,
    partition: Partition,
    level: u8,
    hash: HashAlgo,
    entry_count: u32,
    covered: Span,
    generation: Generation,
    writer_epoch: Epoch,
    stream_key: StreamKey,
}

impl Header {
    /// Reads the header and checks everything that comes before the trailer's hashes, the page's size included.
    fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Cursor::new(bytes, Section::PageHeader, 0);
        let magic = fields.array::<4>()?;
        let is_leaf = magic == SegmentEntry::PAGE_MAGIC;
        require(is_leaf || magic == PageRef::PAGE_MAGIC, 0, || {
            format!("magic must be \"PLCL\" or \"PLCX\", found \"{}\"", magic.escape_ascii())
        })
        .map_err(in_header)?;
        let version = fields.u16()?;
        require_kind(FormatErrorKind::UnsupportedVersion, version == VERSION, 4, || {
            format!("page version must be {VERSION}, found {version}")
        })
        .map_err(in_header)?;
        let header_len = fields.u16()?;
        require(header_len == HEADER_LEN, 6, || format!("header length must be {HEADER_LEN}, found {header_len}"))
            .map_err(in_header)?;
        fields.reserved::<4>()?;
        let partition = Partition(fields.u32()?);
        let level = fields.u8()?;
        fields.reserved::<1>()?;
        let hash = hash(&mut fields)?;
        let (entry_count, found_size) = (fields.u32()?, fields.u32()?);
        fields.reserved::<4>()?;
        let (seq_lo, seq_hi) = (Lsn(fields.u64()?), Lsn(fields.u64()?));
        let (min_timestamp, max_timestamp) = (TimestampMs(fields.i64()?), TimestampMs(fields.i64()?));
        let (generation, writer_epoch) = (Generation(fields.u64()?), Epoch(fields.u64()?));
        let stream_key = StreamKey(fields.array()?);
        let segment_count = fields.u64()?;
        fields.reserved::<8>()?;
        let covered = Span { seq_lo, seq_hi, min_timestamp, max_timestamp, segment_count };
        let header =
            Self { is_leaf, partition, level, hash, entry_count, covered, generation, writer_epoch, stream_key };
        header.check_fields(found_size).map_err(in_header)?;
        header.check_size(bytes.len())?;
        Ok(header)
    }

    fn check_fields(&self, found_size: u32) -> Result<(), Flaw> {
        let (count, size) = (self.entry_count, self.entry_size());
        require((1..=MAX_PAGE_ENTRIES).contains(&count), 20, || {
            format!("entry count {count} is outside 1..={MAX_PAGE_ENTRIES}")
        })?;
        require(found_size == size, 24, || format!("entry size must be {size}, found {found_size}"))?;
        require(self.generation.0 > 0, 64, || "generation is 0".to_owned())?;
        require(self.writer_epoch.0 > 0, 72, || "writer epoch is 0".to_owned())?;
        require(!self.stream_key.is_zero(), 80, || "stream key is zero".to_owned())
    }

    fn check_size(&self, found: usize) -> Result<(), FormatError> {
        let entries = usize::try_from(self.entry_count).unwrap_or(usize::MAX);
        let expected = if self.is_leaf { page_len::<SegmentEntry>(entries) } else { page_len::<PageRef>(entries) };
        if found == expected {
            return Ok(());
        }
        let kind = if found < expected { FormatErrorKind::Truncated } else { FormatErrorKind::Invalid };
        let detail = format!("{} entries make {expected} bytes, the object has {found}", self.entry_count);
        Err(FormatError::new(kind, Section::PageHeader, found.min(expected) as u64, detail))
    }

    fn check_level(&self) -> Result<(), FormatError> {
        let (level, legal) = (self.level, if self.is_leaf { 0..=0 } else { 1..=MAX_PAGE_LEVEL });
        require(legal.contains(&level), 16, || format!("level {level} is outside {legal:?}")).map_err(in_header)
    }

    /// References of an index page: one level below, sealed no later than the page.
    fn check_children(&self, references: &[PageRef], start: u64) -> Result<(), FormatError> {
        for (child, at) in references.iter().zip((start..).step_by(PageRef::LEN)) {
            check_child(child, self.level.saturating_sub(1), self.generation)
                .map_err(|flaw| flaw.within(Section::PageEntries, at))?;
        }
        Ok(())
    }

    /// The header says of the entries what they say themselves.
    fn check_cover(&self, entries: Option<Span>) -> Result<(), FormatError> {
        let (found, entries) = (self.covered, entries.unwrap_or_default());
        let compare = || {
            same("first LSN", 32, found.seq_lo, entries.seq_lo)?;
            same("last LSN", 40, found.seq_hi, entries.seq_hi)?;
            same("min timestamp", 48, found.min_timestamp, entries.min_timestamp)?;
            same("max timestamp", 56, found.max_timestamp, entries.max_timestamp)?;
            same("segment count", 112, found.segment_count, entries.segment_count)
        };
        compare().map_err(in_header)
    }

    fn entry_size(&self) -> u32 {
        if self.is_leaf { entry_size::<SegmentEntry>() } else { entry_size::<PageRef>() }
    }

    fn reference(&self, page_id: PageId) -> PageRef {
        reference(self.level, self.entry_count, &self.covered, self.generation, page_id)
    }
}

/// The rules for a reference inside a node of the tree: of the level below, and sealed no later than the node.
pub(super) fn check_child(child: &PageRef, level: u8, generation: Generation) -> Result<(), Flaw> {
    require(child.level == level, 0, || format!("level must be {level} here, found {}", child.level))?;
    require(child.generation <= generation, 40, || {
        format!("generation {} is above {generation} of the object", child.generation)
    })
}

fn same<T: Copy + PartialEq + std::fmt::Display>(name: &str, at: u64, header: T, entries: T) -> Result<(), Flaw> {
    require(header == entries, at, || format!("{name} is {header} in the header, {entries} by the entries"))
}

fn in_header(flaw: Flaw) -> FormatError {
    flaw.within(Section::PageHeader, 0)
}

fn reference(level: u8, entry_count: u32, covered: &Span, generation: Generation, page_id: PageId) -> PageRef {
    PageRef {
        level,
        entry_count,
        seq_lo: covered.seq_lo,
        seq_hi: covered.seq_hi,
        min_timestamp: covered.min_timestamp,
        max_timestamp: covered.max_timestamp,
        generation,
        page_id,
        segment_count: covered.segment_count,
    }
}

/// First half of SHA-256 over everything before the trailer.
fn page_id(body: &[u8]) -> PageId {
    let digest: [u8; 32] = Sha256::digest(body).into();
    let mut id = [0; 16];
    for (to, from) in id.iter_mut().zip(digest) {
        *to = from;
    }
    PageId(id)
}

fn page_len<E: Entry>(entries: usize) -> usize {
    entries.saturating_mul(E::LEN).saturating_add(const { PAGE_HEADER_LEN + CATALOG_TRAILER_LEN })
}

fn entry_size<E: Entry>() -> u32 {
    u32::try_from(E::LEN).unwrap_or_default()
}
