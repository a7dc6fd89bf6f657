//! catformat v1: the head, its sealed pages, and the write-once tree they form (objlog formats 2).
//!
//! The head is the only object that ever changes. Young segments stand in the head itself; a full leaf is sealed into
//! a page, a full section of references into a page one level up. So a commit costs one small swap, and now and then
//! a page before it; a lookup costs one page per level.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic
)]
mod entry;
mod fill;
mod head;
mod page;
mod rules;
mod trailer;
mod tree;
mod trim;

pub use entry::{PageRef, SegmentEntry};
pub use head::Head;
pub use page::{Page, PageEntries, SealedPage};
pub use tree::TreeError;
pub use trim::{Trim, TrimError, trim};

use crate::format::HashAlgo;
use crate::ids::{DataRootKey, Partition, StreamKey};
use crate::limits::{DEFAULT_INDEX_LIMIT, DEFAULT_LEAF_LIMIT, MAX_PAGE_ENTRIES, MIN_INDEX_LIMIT, MIN_LEAF_LIMIT};

/// Whose catalog it is; the same in every head and page of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogIdentity {
    /// The partition.
    pub partition: Partition,
    /// SHA-256 of the canonical stream id.
    pub stream_key: StreamKey,
    /// SHA-256 of the normalised data root.
    pub data_root_key: DataRootKey,
}

/// Fan-out and hash of a new catalog; afterwards they are read from the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CatalogLayout {
    /// Hash algorithm of head and pages.
    pub hash: HashAlgo,
    /// Segments per leaf page: 1 to 1,024, by default 128 (objlog formats 2.5).
    pub leaf_limit: u32,
    /// References per index page: 2 to 1,024, by default 128 (objlog formats 2.5).
    pub index_limit: u32,
}

impl CatalogLayout {
    /// The same layout with each fan-out moved into its legal range.
    #[must_use]
    pub fn clamped(self) -> Self {
        Self {
            leaf_limit: self.leaf_limit.clamp(MIN_LEAF_LIMIT, MAX_PAGE_ENTRIES),
            index_limit: self.index_limit.clamp(MIN_INDEX_LIMIT, MAX_PAGE_ENTRIES),
            ..self
        }
    }
}

impl Default for CatalogLayout {
    /// XXH64 and fan-out 128/128, as objlog's own providers do.
    fn default() -> Self {
        Self { hash: HashAlgo::default(), leaf_limit: DEFAULT_LEAF_LIMIT, index_limit: DEFAULT_INDEX_LIMIT }
    }
}

/// One step down the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Arrived.
    Segment(SegmentEntry),
    /// Ask this page.
    Page(PageRef),
    /// Nothing there.
    Missing,
}

/// Whether one very segment, not just its LSNs, is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// It is.
    Present,
    /// It is not: nothing, or another segment, stands at its base LSN.
    Absent,
    /// This page knows.
    Ask(PageRef),
}

impl Step {
    fn presence(self, segment: &SegmentEntry) -> Presence {
        match self {
            Self::Segment(found) if found == *segment => Presence::Present,
            Self::Segment(_) | Self::Missing => Presence::Absent,
            Self::Page(reference) => Presence::Ask(reference),
        }
    }
}
