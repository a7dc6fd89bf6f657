//! catformat v1: the head, its sealed pages, and the write-once tree they form.
use crate::format::segment::{Codec, Trailer};
use crate::format::{FormatError, HashAlgo};
use crate::ids::{DataRootKey, Epoch, Generation, Lsn, PageId, Partition, SegmentId, StreamKey, TimestampMs, WriterId};
use bytes::Bytes;
use std::sync::Arc;

/// One committed segment (leaf entry, 128 B).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentEntry {
    pub base_lsn: Lsn,
    pub last_lsn: Lsn,
    pub min_timestamp: TimestampMs,
    pub max_timestamp: TimestampMs,
    pub record_count: u32,
    pub block_count: u32,
    pub size_bytes: u64,
    pub block_index_offset: u64,
    pub block_index_length: u32,
    pub codec: Codec,
    pub hash: HashAlgo,
    pub segment_hash: u64,
    pub trailer_hash: u64,
    pub writer_epoch: Epoch,
    pub segment_id: SegmentId,
    pub writer_tag: WriterId,
}
impl SegmentEntry {
    pub fn from_trailer(trailer: &Trailer, epoch: Epoch) -> Self {
        todo!()
    }
    /// The stored segment must say the same as its entry; partition comes from the head.
    pub fn check_trailer(&self, trailer: &Trailer, partition: Partition) -> Result<(), FormatError> {
        todo!()
    }
}

/// Reference to one sealed page (index entry, 80 B).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PageRef {
    pub level: u8,
    pub entry_count: u32,
    pub seq_lo: Lsn,
    pub seq_hi: Lsn,
    pub min_timestamp: TimestampMs,
    pub max_timestamp: TimestampMs,
    pub generation: Generation,
    pub page_id: PageId,
    pub segment_count: u64,
}

/// The entries of a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PageEntries {
    Leaf(Vec<SegmentEntry>),
    Index(Vec<PageRef>),
}

/// A sealed page. Invariant: consistent (decode and seal check every rule).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Page {
    /// What a parent would say of it (page_id computed, bounds, counts, generation, level).
    pub reference: PageRef,
    pub partition: Partition,
    pub hash: HashAlgo,
    pub writer_epoch: Epoch,
    pub stream_key: StreamKey,
    pub entries: PageEntries,
}
impl Page {
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        todo!()
    }
    /// A fetched page must match its reference and its parent's identity.
    pub fn check(&self, reference: &PageRef, parent_epoch: Epoch, identity: &LogIdentity) -> Result<(), FormatError> {
        todo!()
    }
    pub fn locate(&self, lsn: Lsn) -> Step {
        todo!()
    }
    pub fn locate_timestamp(&self, ts: TimestampMs) -> Step {
        todo!()
    }
    /// Memory held, bytes.
    pub fn size(&self) -> usize {
        todo!()
    }
}

/// A page to be stored before the head that refers to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SealedPage {
    pub reference: PageRef,
    pub bytes: Bytes,
}

/// Whose catalog it is; the same in every head and page of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogIdentity {
    pub partition: Partition,
    pub stream_key: StreamKey,
    pub data_root_key: DataRootKey,
}

/// Fan-out and hash of a new catalog; afterwards they are read from the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatalogLayout {
    pub hash: HashAlgo,
    /** 1..=1024, default 128 */
    pub leaf_limit: u32,
    /** 2..=1024, default 128 */
    pub index_limit: u32,
}

/// The one mutable object: what is committed, and who may commit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Head {
    pub identity: LogIdentity,
    pub layout: CatalogLayout,
    pub next_lsn: Lsn,
    pub oldest_lsn: Lsn,
    pub applied_retention_lsn: Lsn,
    pub applied_retention_version: u64,
    pub writer_epoch: Epoch,
    pub writer_id: WriterId,
    pub generation: Generation,
    pub segment_count: u64,
    pub reachable_segment_count: u64,
    pub last_segment: Option<SegmentEntry>,
    pub active: Vec<SegmentEntry>,
    /// sections[0] is level 1 (refs to leaf pages), and so on.
    pub sections: Vec<Vec<PageRef>>,
}
impl Head {
    /// A new partition that starts at `next_lsn` (epoch 0, generation 0).
    pub fn initial(identity: LogIdentity, layout: CatalogLayout, next_lsn: Lsn) -> Self {
        todo!()
    }
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        todo!()
    }
    /// Canonical bytes; decode(encode(h)) == h.
    pub fn encode(&self) -> Bytes {
        todo!()
    }
    pub fn check_identity(&self, identity: &LogIdentity) -> Result<(), FormatError> {
        todo!()
    }
    /// epoch + 1, generation + 1, new owner.
    pub fn takeover(&self, writer: WriterId) -> Result<Self, TreeError> {
        todo!()
    }
    /// One publish step, in place; sealed pages are pushed leaf first, then ascending levels. On error nothing changed.
    pub fn append(&mut self, entry: SegmentEntry, pages: &mut Vec<SealedPage>) -> Result<(), TreeError> {
        todo!()
    }
    pub fn locate(&self, lsn: Lsn) -> Step {
        todo!()
    }
    pub fn locate_timestamp(&self, ts: TimestampMs) -> Step {
        todo!()
    }
}

/// One step down the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Segment(SegmentEntry),
    Page(PageRef),
    Missing,
}

/// Why a head can't take a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    #[error("the generation counter is exhausted")]
    GenerationExhausted,
    #[error("the epoch counter is exhausted")]
    EpochExhausted,
    #[error("the partition is full: its last LSN is taken")]
    LsnExhausted,
    #[error("the segment starts at LSN {found}, the log goes on at {expected}")]
    NotContiguous { expected: Lsn, found: Lsn },
    #[error("the segment's first timestamp {found} is below the log's last {last}")]
    TimestampOrder { last: TimestampMs, found: TimestampMs },
    #[error("the segment was written under epoch {found}, the head's is {head}")]
    WrongEpoch { head: Epoch, found: Epoch },
    #[error("the segment names writer {found}, the head's is {head}")]
    WrongWriter { head: WriterId, found: WriterId },
    #[error("the segment entry is invalid: {0}")]
    InvalidEntry(FormatError),
    #[error("the catalog tree is full")]
    IndexFull,
    #[error("the writer id is zero")]
    ZeroWriter,
}

/// Result of one attempt to trim the tree.
#[derive(Debug)]
pub enum Trim {
    /// This page must be known first; ask again with it.
    NeedPage(PageRef),
    /// The new head and the rewritten pages (child first).
    Done { head: Head, pages: Vec<SealedPage> },
    /// Exact repeat of what the head already applied.
    Unchanged,
}

/// Retention (objlog protocol 9, formats 9.3-9.5). `pages` looks up already loaded, checked pages by id.
pub fn trim(
    head: &Head,
    policy_version: u64,
    before_lsn: Lsn,
    pages: &dyn Fn(&PageRef) -> Option<Arc<Page>>,
) -> Result<Trim, TrimError> {
    todo!()
}

/// Why a retention request can't be applied.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TrimError {/* Regression {..}, Tree(TreeError), Corrupt(FormatError) */}
