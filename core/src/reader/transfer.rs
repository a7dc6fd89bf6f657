//! The requests that a reader sends, and what their answers mean.
use super::loads::LoadKey;
use super::stock::{OpenSegment, SegmentName, Snapshot, Stock, Value};
use super::{ReadError, ReaderOptions};
use crate::boundary::{ByteRange, Fault, Get, GetReply, Key, RefusalKind};
use crate::format::catalog::{CatalogLayout, Head, Page, PageRef, SegmentEntry};
use crate::format::segment::{BlockIndex, Trailer, open_whole};
use crate::format::{FormatError, FormatErrorKind, Section};
use crate::ids::Lsn;
use crate::limits::{CATALOG_TRAILER_LEN, LEAF_ENTRY_LEN, MAX_HEAD_LEN, PAGE_HEADER_LEN, PAGE_REF_LEN};
use crate::mutant::mutant;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// Largest block index that is read, bytes (objlog formats 1.10).
const MAX_INDEX_LEN: u64 = 64 << 20;

/// One read of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Transfer {
    /// The head, by the request of this number.
    Head(u64),
    Page(PageRef),
    Segment(SegmentEntry),
    /// Some neighbouring blocks.
    Blocks(Arc<OpenSegment>, Range<usize>),
}

impl Transfer {
    /// The loads that it serves.
    pub(super) fn keys(&self) -> Vec<LoadKey> {
        match self {
            Self::Head(_) => vec![LoadKey::Head],
            Self::Page(reference) => vec![LoadKey::Page(reference.page_id)],
            Self::Segment(entry) => vec![LoadKey::Segment(SegmentName::from(entry))],
            Self::Blocks(segment, blocks) => {
                let name = SegmentName::from(&segment.entry);
                blocks.clone().map(|index| LoadKey::Block(name, index)).collect()
            }
        }
    }

    /// The load that it is begun for.
    pub(super) fn first_key(&self) -> LoadKey {
        match self {
            Self::Head(_) => LoadKey::Head,
            Self::Page(reference) => LoadKey::Page(reference.page_id),
            Self::Segment(entry) => LoadKey::Segment(SegmentName::from(entry)),
            Self::Blocks(segment, blocks) => LoadKey::Block(SegmentName::from(&segment.entry), blocks.start),
        }
    }

    fn object(&self, stock: &Stock) -> Key {
        match self {
            Self::Head(_) => stock.head_key(),
            Self::Page(reference) => stock.page_key(reference),
            Self::Segment(entry) => stock.segment_key(entry),
            Self::Blocks(segment, _) => stock.segment_key(&segment.entry),
        }
    }

    fn section(&self) -> Section {
        match self {
            Self::Head(_) => Section::HeadHeader,
            Self::Page(_) => Section::PageHeader,
            Self::Segment(_) => Section::SegmentTrailer,
            Self::Blocks(..) => Section::Block,
        }
    }

    /// The request, and which part of which size of object it expects; a head may have any size.
    pub(super) fn request(&self, stock: &Stock, options: &ReaderOptions) -> Get {
        let key = self.object(stock);
        match self.expected(options) {
            None => {
                let version = stock.snapshot.as_ref().and_then(|snapshot| snapshot.version.clone());
                Get { if_none_match: version, ..Get::new(key, ByteRange::All, MAX_HEAD_LEN as u64) }
            }
            Some((range, size)) if range == (0..size) => Get::new(key, ByteRange::All, size),
            Some((range, _)) => Get::new(key, ByteRange::FromTo(range.start, range.end), range.end - range.start),
        }
    }

    fn expected(&self, options: &ReaderOptions) -> Option<(Range<u64>, u64)> {
        match self {
            Self::Head(_) => None,
            Self::Page(reference) => {
                let size = page_len(reference);
                Some((0..size, size))
            }
            Self::Segment(entry) if comes_whole(entry, options) => Some((0..entry.size_bytes, entry.size_bytes)),
            Self::Segment(entry) => Some((entry.block_index_offset..entry.size_bytes, entry.size_bytes)),
            Self::Blocks(segment, blocks) => {
                let start = segment.index.block_range(blocks.start).map_or(0, |range| range.start);
                let end = segment.index.block_range(blocks.end - 1).map_or(0, |range| range.end);
                Some((start..end, segment.entry.size_bytes))
            }
        }
    }

    /// The bytes of an immutable object, if they are as many as its description says.
    pub(super) fn body(&self, reply: GetReply, stock: &Stock, options: &ReaderOptions) -> Result<Bytes, ReadError> {
        let GetReply::Found { body, total_size, .. } = reply else {
            return Err(self.corrupt(stock, 0, not_modified()));
        };
        let (range, size) = self.expected(options).unwrap_or((0..total_size, total_size));
        let end = range.start.saturating_add(body.len() as u64);
        if total_size != size {
            let detail = format!("the object has {total_size} bytes, not {size}");
            return Err(self.corrupt(stock, total_size.min(size), detail));
        }
        if end != range.end {
            let detail = format!("bytes {}..{end} came instead of {}..{}", range.start, range.start, range.end);
            return Err(self.corrupt(stock, end.min(range.end), detail));
        }
        Ok(body)
    }

    /// What a fault says for good; `None` if another attempt may help.
    pub(super) fn refusal(&self, fault: &Fault, stock: &Stock) -> Option<ReadError> {
        let key = self.object(stock);
        match fault.refusal()? {
            RefusalKind::NotFound if matches!(self, Self::Head(_)) => Some(ReadError::HeadGone { key }),
            RefusalKind::NotFound => {
                let detail = "the object is gone although the log refers to it";
                let error = FormatError::new(FormatErrorKind::Missing, self.section(), 0, detail);
                Some(ReadError::Corrupt { key, error })
            }
            RefusalKind::Throttled(_) | RefusalKind::Conflict => None,
            // What is asked of an immutable object fits its description; a store that objects has another object.
            RefusalKind::Invalid if !matches!(self, Self::Head(_)) => {
                Some(self.corrupt(stock, 0, format!("the described bytes can't be read: {fault}")))
            }
            RefusalKind::Denied | RefusalKind::Unsupported | RefusalKind::Invalid | RefusalKind::Precondition => {
                Some(ReadError::Refused { key, fault: fault.clone() })
            }
        }
    }

    fn corrupt(&self, stock: &Stock, offset: u64, detail: String) -> ReadError {
        let error = FormatError::new(FormatErrorKind::Mismatch, self.section(), offset, detail);
        ReadError::Corrupt { key: self.object(stock), error }
    }
}

fn not_modified() -> String {
    "'not modified' came as the answer to an unconditional request".into()
}

fn page_len(reference: &PageRef) -> u64 {
    let entry_len = if reference.level == 0 { LEAF_ENTRY_LEN } else { PAGE_REF_LEN };
    (PAGE_HEADER_LEN + CATALOG_TRAILER_LEN) as u64 + u64::from(reference.entry_count) * entry_len as u64
}

fn comes_whole(entry: &SegmentEntry, options: &ReaderOptions) -> bool {
    entry.size_bytes <= options.whole_segment_max
}

/// Checks that an entry describes a segment that can be read at all, before anything is asked for.
pub(super) fn check_entry(entry: &SegmentEntry) -> Result<(), FormatError> {
    let length = u64::from(entry.block_index_length);
    let end = entry.block_index_offset.checked_add(length).and_then(|end| end.checked_add(Trailer::LEN as u64));
    let fail = |kind, detail| Err(FormatError::new(kind, Section::SegmentTrailer, 0, detail));
    if end != Some(entry.size_bytes) {
        let detail = format!(
            "an index of {length} bytes at {} and a trailer don't end at {}",
            entry.block_index_offset, entry.size_bytes
        );
        return fail(FormatErrorKind::Mismatch, detail);
    }
    if length > MAX_INDEX_LEN {
        return fail(
            FormatErrorKind::TooLarge,
            format!("the index has {length} bytes; at most {MAX_INDEX_LEN} are read"),
        );
    }
    Ok(())
}

/// What the answer to head request `request` says.
pub(super) fn read_head(stock: &Stock, request: u64, reply: GetReply) -> Result<Snapshot, ReadError> {
    let (body, version) = match reply {
        GetReply::NotModified => {
            return match &stock.snapshot {
                Some(known) => Ok(Snapshot { request, ..known.clone() }),
                None => Err(Transfer::Head(request).corrupt(stock, 0, not_modified())),
            };
        }
        GetReply::Found { body, version, total_size } if body.len() as u64 == total_size => (body, version),
        GetReply::Found { body, total_size, .. } => {
            let detail = format!("{} of {total_size} bytes came", body.len());
            return Err(Transfer::Head(request).corrupt(stock, body.len() as u64, detail));
        }
    };
    let head = Head::decode(&body).map_err(|error| stock.corrupt_head(error))?;
    head.check_identity(stock.keys.identity()).map_err(|error| stock.corrupt_head(error))?;
    match &stock.snapshot {
        Some(_) if mutant("a reader takes an older head") => {
            Ok(Snapshot { head: Arc::new(head), version, stored: true, request })
        }
        // Two heads of one generation: the known one was put back, and somebody went on from there.
        Some(known)
            if known.stored
                && (head.generation < known.head.generation
                    || (head.generation == known.head.generation
                        && head != *known.head
                        && !mutant("heads of one generation are not compared"))) =>
        {
            Err(ReadError::RolledBack { seen: known.head.generation, found: head.generation })
        }
        _ => Ok(Snapshot { head: Arc::new(head), version, stored: true, request }),
    }
}

/// A head that is missing reads as an empty partition, unless it was there before.
pub(super) fn read_missing_head(stock: &Stock, request: u64) -> Result<Snapshot, ReadError> {
    if stock.snapshot.as_ref().is_some_and(|known| known.stored) {
        return Err(ReadError::HeadGone { key: stock.head_key() });
    }
    let head = Head::initial(*stock.keys.identity(), CatalogLayout::default(), Lsn(0));
    Ok(Snapshot { head: Arc::new(head), version: None, stored: false, request })
}

/// Decodes a page. Whether it is the page that its parent means is checked at every use.
pub(super) fn read_page(stock: &Stock, reference: &PageRef, body: &Bytes) -> Result<Value, ReadError> {
    let page = Page::decode(body).map_err(|error| stock.corrupt_page(reference, error))?;
    if page.reference.page_id != reference.page_id {
        let detail = format!("page_id is {}, not {}", page.reference.page_id, reference.page_id);
        let error = FormatError::new(FormatErrorKind::Integrity, Section::PageHeader, 0, detail);
        return Err(stock.corrupt_page(reference, error));
    }
    Ok(Value::Page(Arc::new(page)))
}

/// Opens a segment from its index and trailer, or from the whole of it.
pub(super) fn read_segment(
    stock: &Stock,
    entry: &SegmentEntry,
    body: Bytes,
    options: &ReaderOptions,
) -> Result<Value, ReadError> {
    let opened = if comes_whole(entry, options) {
        open_whole(&body, options.verify_segment_hash).map(|index| (index, Some(body)))
    } else {
        open_end(entry, stock, &body).map(|index| (index, None))
    };
    opened
        .and_then(|(index, body)| {
            entry.check_trailer(&index.trailer, stock.keys.partition())?;
            Ok(Value::Segment(Arc::new(OpenSegment { entry: *entry, index, body })))
        })
        .map_err(|error| stock.corrupt_segment(entry, error))
}

fn open_end(entry: &SegmentEntry, stock: &Stock, body: &Bytes) -> Result<BlockIndex, FormatError> {
    let index_len = body.len().saturating_sub(Trailer::LEN);
    let (index, trailer) = body.split_at(index_len);
    let trailer = Trailer::decode(trailer, entry.size_bytes)?;
    entry.check_trailer(&trailer, stock.keys.partition())?;
    BlockIndex::decode(index, &trailer)
}

/// The stored bytes of block `index` in `body`, which begins at byte `start` of the segment.
pub(super) fn stored_block(
    stock: &Stock,
    segment: &OpenSegment,
    index: usize,
    body: &Bytes,
    start: u64,
) -> Result<Bytes, ReadError> {
    let range = segment.index.block_range(index).unwrap_or(start..start);
    let at = |offset: u64| usize::try_from(offset.saturating_sub(start)).unwrap_or(usize::MAX).min(body.len());
    segment
        .index
        .block_payload(index, &body.slice(at(range.start)..at(range.end)))
        .map_err(|error| stock.corrupt_segment(&segment.entry, error))
}
