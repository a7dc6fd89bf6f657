//! Object keys (objlog formats 3).
use crate::format::catalog::{LogIdentity, PageRef};
use crate::ids::{Epoch, Lsn, Partition, SegmentId};

/// A canonical stream id: valid, without leading or trailing slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(std::sync::Arc<str>);
impl StreamId {
    /// From raw bytes or text: strips slashes, checks every rule.
    pub fn new(id: impl AsRef<[u8]>) -> Result<Self, StreamIdError> {
        todo!()
    }
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum StreamIdError {/* NotUtf8, Empty, TooLong, Control(char), EmptySegment, DotSegment */}

/// All keys of one partition. Cheap to clone (Arc inside).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogKeys {/* private */}
impl LogKeys {
    /// Default prefixes of the providers: root `objlog`: catalog prefix `objlog/catalog`, data root `objlog`.
    pub fn new(stream: &StreamId, partition: Partition) -> Self {
        todo!()
    }
    pub fn with_prefixes(catalog_prefix: &str, data_root: &str, stream: &StreamId, partition: Partition) -> Self {
        todo!()
    }
    pub fn identity(&self) -> &LogIdentity {
        todo!()
    }
    pub fn partition(&self) -> Partition {
        todo!()
    }
    pub fn head(&self) -> &str {
        todo!()
    }
    pub fn page(&self, reference: &PageRef) -> String {
        todo!()
    }
    pub fn segment(&self, base: Lsn, epoch: Epoch, id: &SegmentId) -> String {
        todo!()
    }
    pub fn retention(&self) -> String {
        todo!()
    }
    pub fn gc_state(&self) -> String {
        todo!()
    }
}

/// What a key names, parsed strictly; prefix-independent parsing of the last components is enough for `inspect`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectName {
    Head,
    Page { level: u8, seq_hi: Lsn, seq_lo: Lsn, generation: crate::ids::Generation, page_id: crate::ids::PageId },
    Segment { base_lsn: Lsn, epoch: Epoch, segment_id: SegmentId },
    Retention,
    GcState,
}
