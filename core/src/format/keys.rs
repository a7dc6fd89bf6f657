//! Object keys: where everything of a log lies (objlog formats 3).
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic
)]
mod name;
mod stream;

pub use name::ObjectName;
pub use stream::{StreamId, StreamIdError};

use crate::format::HashAlgo;
use crate::format::catalog::{LogIdentity, PageRef};
use crate::ids::{DataRootKey, Epoch, Lsn, Partition, SegmentId, StreamKey};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// All keys of one partition. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogKeys(Arc<Inner>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Inner {
    stream: Option<StreamId>,
    identity: LogIdentity,
    /// `<catalog-prefix>/<root-dir>/`
    catalog_root: String,
    /// `<data-root>/segments/<root-dir>/`
    segments_root: String,
    head: String,
}

impl LogKeys {
    /// Catalog prefix when none is set: `objlog/catalog` (objlog formats 3, "Provider defaults").
    pub const DEFAULT_CATALOG_PREFIX: &str = "objlog/catalog";
    /// Data root when none is set: `objlog` (objlog formats 3, "Provider defaults").
    pub const DEFAULT_DATA_ROOT: &str = "objlog";

    /// With [`LogKeys::DEFAULT_CATALOG_PREFIX`] and [`LogKeys::DEFAULT_DATA_ROOT`].
    #[must_use]
    pub fn new(stream: &StreamId, partition: Partition) -> Self {
        Self::with_prefixes(Self::DEFAULT_CATALOG_PREFIX, Self::DEFAULT_DATA_ROOT, stream, partition)
    }

    /// With prefixes of one's own. Slashes at either end are dropped; an empty prefix puts the log at the bucket's top.
    #[must_use]
    pub fn with_prefixes(catalog_prefix: &str, data_root: &str, stream: &StreamId, partition: Partition) -> Self {
        Self::build(catalog_prefix, data_root, Some(stream), partition)
    }

    /// The keys of a catalog without a stream id, which only objlog's low-level catalog API makes.
    #[must_use]
    pub fn without_stream(catalog_prefix: &str, data_root: &str, partition: Partition) -> Self {
        Self::build(catalog_prefix, data_root, None, partition)
    }

    fn build(catalog_prefix: &str, data_root: &str, stream: Option<&StreamId>, partition: Partition) -> Self {
        let data_root = data_root.trim_matches('/');
        let id = stream.map_or("", StreamId::as_str);
        let stream_key = StreamKey(Sha256::digest(id).into());
        let data_root_key = DataRootKey(Sha256::digest(data_root).into());
        let bucket = bucket(id, partition);
        let streams = stream.map_or(String::new(), |_| format!("streams/{stream_key}/"));
        let root_dir = format!("{bucket:03x}/{streams}p{partition:08}/");
        let catalog_root = format!("{}{root_dir}", folder(catalog_prefix));
        Self(Arc::new(Inner {
            stream: stream.cloned(),
            identity: LogIdentity { partition, stream_key, data_root_key },
            head: format!("{catalog_root}{}", name::HEAD),
            segments_root: format!("{}segments/{root_dir}", folder(data_root)),
            catalog_root,
        }))
    }

    /// What every head and page of the log says of it.
    #[must_use]
    pub fn identity(&self) -> &LogIdentity {
        &self.0.identity
    }

    /// The partition.
    #[must_use]
    pub fn partition(&self) -> Partition {
        self.0.identity.partition
    }

    /// The stream; `None` only for [`LogKeys::without_stream`].
    #[must_use]
    pub fn stream(&self) -> Option<&StreamId> {
        self.0.stream.as_ref()
    }

    /// Key of the head.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.0.head
    }

    /// Key of a sealed page.
    #[must_use]
    pub fn page(&self, reference: &PageRef) -> String {
        name::page_key(&self.0.catalog_root, reference)
    }

    /// Key of a segment.
    #[must_use]
    pub fn segment(&self, base: Lsn, epoch: Epoch, id: &SegmentId) -> String {
        name::segment_key(&self.0.segments_root, base, epoch, id)
    }

    /// Key of the retention mailbox.
    #[must_use]
    pub fn retention(&self) -> String {
        [self.catalog_prefix(), name::RETENTION].concat()
    }

    /// Key of the state that reclaim keeps.
    #[must_use]
    pub fn gc_state(&self) -> String {
        [self.catalog_prefix(), name::GC_STATE].concat()
    }

    /// What every catalog key of the log starts with; ends with a slash.
    #[must_use]
    pub fn catalog_prefix(&self) -> &str {
        &self.0.catalog_root
    }

    /// What every segment key of the log starts with; ends with a slash. Listing it gives segments by base LSN.
    #[must_use]
    pub fn segments_prefix(&self) -> &str {
        &self.0.segments_root
    }

    /// What every page key of a level starts with; ends with a slash. Listing it gives pages by last LSN.
    #[must_use]
    pub fn pages_prefix(&self, level: u8) -> String {
        format!("{}pages/l{level:02}/", self.0.catalog_root)
    }

    /// What `key` names, if it is exactly as this log would write it.
    #[must_use]
    pub fn parse(&self, key: &str) -> Option<ObjectName> {
        if let Some(file) = key.strip_prefix(self.segments_prefix()) {
            return name::parse_segment(file);
        }
        name::parse_catalog(key.strip_prefix(self.catalog_prefix())?)
    }
}

/// Low 12 bits of CRC-32C over length, id and partition: 4,096 folders spread the load.
fn bucket(id: &str, partition: Partition) -> u64 {
    let len = u32::try_from(id.len()).unwrap_or(u32::MAX);
    let mut hash = HashAlgo::Crc32c.hasher();
    hash.update(&len.to_be_bytes());
    hash.update(id.as_bytes());
    hash.update(&partition.0.to_be_bytes());
    hash.finish() & 0xfff
}

/// The prefix as a folder: one slash at its end, none before it; nothing for nothing.
fn folder(prefix: &str) -> String {
    match prefix.trim_matches('/') {
        "" => String::new(),
        prefix => format!("{prefix}/"),
    }
}
