//! What a reader already has: the head and the caches. Immutable objects are checked once, before they come here.
use super::lru::Lru;
use super::{ReadError, ReaderOptions};
use crate::boundary::{Key, Version};
use crate::format::FormatError;
use crate::format::catalog::{Head, Page, PageRef, SegmentEntry};
use crate::format::keys::LogKeys;
use crate::format::segment::{BlockIndex, DecodedBlock};
use crate::ids::{Epoch, Lsn, PageId, SegmentId};
use bytes::Bytes;
use std::sync::Arc;

/// Names one segment, as its object key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SegmentName {
    base: Lsn,
    epoch: Epoch,
    id: SegmentId,
}

impl From<&SegmentEntry> for SegmentName {
    fn from(entry: &SegmentEntry) -> Self {
        Self { base: entry.base_lsn, epoch: entry.writer_epoch, id: entry.segment_id }
    }
}

/// A segment whose trailer and index are checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct OpenSegment {
    /// The entry that it was checked against.
    pub(super) entry: SegmentEntry,
    /// Where its blocks lie.
    pub(super) index: BlockIndex,
    /// The whole object, if it came whole.
    pub(super) body: Option<Bytes>,
}

impl OpenSegment {
    fn size(&self) -> usize {
        self.index.size() + self.body.as_ref().map_or(0, Bytes::len)
    }
}

/// A head, and how old that knowledge is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Snapshot {
    pub(super) head: Arc<Head>,
    /// The store's token, where it tells; none for a head that does not exist yet.
    pub(super) version: Option<Version>,
    /// Whether there is such an object; a missing head reads as an empty partition.
    pub(super) stored: bool,
    /// Number of the request that confirmed it last.
    pub(super) request: u64,
}

/// Something that was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    Head(Snapshot),
    Page(Arc<Page>),
    Segment(Arc<OpenSegment>),
    Block(SegmentName, usize, Arc<DecodedBlock>),
}

/// Everything that a reader has at hand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stock {
    pub(super) keys: LogKeys,
    /// The newest head seen; never forgotten, so that an older one is recognised.
    pub(super) snapshot: Option<Snapshot>,
    /// Head requests sent so far.
    pub(super) head_requests: u64,
    pages: Lru<PageId, Arc<Page>>,
    segments: Lru<SegmentName, Arc<OpenSegment>>,
    blocks: Lru<(SegmentName, usize), Arc<DecodedBlock>>,
}

impl Stock {
    pub(super) fn new(keys: LogKeys, options: &ReaderOptions) -> Self {
        Self {
            keys,
            snapshot: None,
            head_requests: 0,
            pages: Lru::new(options.page_cache_bytes),
            segments: Lru::new(options.index_cache_bytes),
            blocks: Lru::new(options.block_cache_bytes),
        }
    }

    pub(super) fn page(&mut self, id: &PageId) -> Option<Arc<Page>> {
        self.pages.get(id)
    }

    pub(super) fn segment(&mut self, name: &SegmentName) -> Option<Arc<OpenSegment>> {
        self.segments.get(name)
    }

    pub(super) fn block(&mut self, name: SegmentName, index: usize) -> Option<Arc<DecodedBlock>> {
        self.blocks.get(&(name, index))
    }

    /// Puts something loaded into its place.
    pub(super) fn keep(&mut self, value: &Value) {
        match value {
            Value::Head(snapshot) => self.snapshot = Some(snapshot.clone()),
            Value::Page(page) => self.pages.put(page.reference.page_id, page.clone(), page.size()),
            Value::Segment(segment) => {
                self.segments.put(SegmentName::from(&segment.entry), segment.clone(), segment.size());
            }
            Value::Block(name, index, block) => self.blocks.put((*name, *index), block.clone(), block.size()),
        }
    }

    /// Bytes in the caches of pages, indexes and blocks.
    pub(super) fn used(&self) -> [usize; 3] {
        [self.pages.used(), self.segments.used(), self.blocks.used()]
    }

    pub(super) fn head_key(&self) -> Key {
        Key::from(self.keys.head())
    }

    pub(super) fn page_key(&self, reference: &PageRef) -> Key {
        Key::from(self.keys.page(reference))
    }

    pub(super) fn segment_key(&self, entry: &SegmentEntry) -> Key {
        Key::from(self.keys.segment(entry.base_lsn, entry.writer_epoch, &entry.segment_id))
    }

    pub(super) fn corrupt_head(&self, error: FormatError) -> ReadError {
        ReadError::Corrupt { key: self.head_key(), error }
    }

    pub(super) fn corrupt_page(&self, reference: &PageRef, error: FormatError) -> ReadError {
        ReadError::Corrupt { key: self.page_key(reference), error }
    }

    pub(super) fn corrupt_segment(&self, entry: &SegmentEntry, error: FormatError) -> ReadError {
        ReadError::Corrupt { key: self.segment_key(entry), error }
    }
}
