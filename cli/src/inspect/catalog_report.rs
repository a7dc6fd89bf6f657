//! The reports of heads and pages. Field names are those of the golden data that every implementation can compare with.
use super::object::sha256;
use crate::args::LogArgs;
use crate::json::{Text, hash};
use bucketlog_core::format::catalog::{Head, Page, PageEntries, PageRef, SegmentEntry};
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::ids::{DataRootKey, Epoch, Generation, Lsn, PageId, Partition, SegmentId, StreamKey, WriterId};
use serde::Serialize;

/// A head.
#[derive(Serialize)]
pub(crate) struct HeadReport {
    kind: &'static str,
    size: usize,
    sha256: String,
    partition: u32,
    stream_key: Text<StreamKey>,
    data_root_key: Text<DataRootKey>,
    hash: &'static str,
    leaf_limit: u32,
    index_limit: u32,
    active_count: usize,
    active_ranges: Vec<String>,
    applied_retention_lsn: Text<Lsn>,
    applied_retention_version: Text<u64>,
    generation: Text<Generation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_segment: Option<SegmentRow>,
    level_count: usize,
    next_lsn: Text<Lsn>,
    oldest_lsn: Text<Lsn>,
    reachable_segment_count: Text<u64>,
    sections: Vec<SectionRow>,
    segment_count: Text<u64>,
    writer_epoch: Text<Epoch>,
    writer_id: Text<WriterId>,
    active: Vec<SegmentRow>,
}

impl HeadReport {
    pub(crate) fn new(head: &Head, bytes: &[u8], log: &LogArgs) -> Self {
        let identity = &head.identity;
        let names = Names::new(log, identity.stream_key, identity.partition, Some(identity.data_root_key));
        Self {
            kind: "head",
            size: bytes.len(),
            sha256: sha256(bytes),
            partition: identity.partition.0,
            stream_key: Text(identity.stream_key),
            data_root_key: Text(identity.data_root_key),
            hash: head.layout.hash.name(),
            leaf_limit: head.layout.leaf_limit,
            index_limit: head.layout.index_limit,
            active_count: head.active.len(),
            active_ranges: head.active.iter().map(|entry| format!("{}-{}", entry.base_lsn, entry.last_lsn)).collect(),
            applied_retention_lsn: Text(head.applied_retention_lsn),
            applied_retention_version: Text(head.applied_retention_version),
            generation: Text(head.generation),
            last_segment: head.last_segment.as_ref().map(|entry| SegmentRow::new(entry, &names)),
            level_count: head.sections.len(),
            next_lsn: Text(head.next_lsn),
            oldest_lsn: Text(head.oldest_lsn),
            reachable_segment_count: Text(head.reachable_segment_count),
            sections: (1..)
                .zip(&head.sections)
                .map(|(level, section)| SectionRow::new(level, section, &names))
                .collect(),
            segment_count: Text(head.segment_count),
            writer_epoch: Text(head.writer_epoch),
            writer_id: Text(head.writer_id),
            active: head.active.iter().map(|entry| SegmentRow::new(entry, &names)).collect(),
        }
    }
}

#[derive(Serialize)]
struct SectionRow {
    entries: Vec<PageRow>,
    level: u32,
}

impl SectionRow {
    fn new(level: u32, section: &[PageRef], names: &Names) -> Self {
        Self { entries: section.iter().map(|reference| PageRow::new(reference, names)).collect(), level }
    }
}

/// A leaf or index page.
#[derive(Serialize)]
pub(super) struct PageReport {
    kind: &'static str,
    size: usize,
    sha256: String,
    partition: u32,
    stream_key: Text<StreamKey>,
    hash: &'static str,
    writer_epoch: Text<Epoch>,
    #[serde(flatten)]
    header: PageRow,
    entries: PageEntryRows,
}

impl PageReport {
    pub(super) fn new(page: &Page, bytes: &[u8], log: &LogArgs) -> Self {
        let names = Names::new(log, page.stream_key, page.partition, None);
        let (kind, entries) = match &page.entries {
            PageEntries::Leaf(segments) => {
                let rows = segments.iter().map(|entry| SegmentRow::new(entry, &names)).collect();
                ("leaf_page", PageEntryRows::Leaf(rows))
            }
            PageEntries::Index(references) => {
                let rows = references.iter().map(|reference| PageRow::new(reference, &names)).collect();
                ("index_page", PageEntryRows::Index(rows))
            }
        };
        Self {
            kind,
            size: bytes.len(),
            sha256: sha256(bytes),
            partition: page.partition.0,
            stream_key: Text(page.stream_key),
            hash: page.hash.name(),
            writer_epoch: Text(page.writer_epoch),
            header: PageRow::new(&page.reference, &names),
            entries,
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum PageEntryRows {
    Leaf(Vec<SegmentRow>),
    Index(Vec<PageRow>),
}

/// A reference to a page, or what a page says of itself.
#[derive(Serialize)]
struct PageRow {
    entry_count: u32,
    generation: Text<Generation>,
    key: String,
    level: u8,
    max_timestamp_ms: i64,
    min_timestamp_ms: i64,
    page_id: Text<PageId>,
    segment_count: Text<u64>,
    seq_hi: Text<Lsn>,
    seq_lo: Text<Lsn>,
}

impl PageRow {
    fn new(reference: &PageRef, names: &Names) -> Self {
        Self {
            entry_count: reference.entry_count,
            generation: Text(reference.generation),
            key: names.page(reference),
            level: reference.level,
            max_timestamp_ms: reference.max_timestamp.0,
            min_timestamp_ms: reference.min_timestamp.0,
            page_id: Text(reference.page_id),
            segment_count: Text(reference.segment_count),
            seq_hi: Text(reference.seq_hi),
            seq_lo: Text(reference.seq_lo),
        }
    }
}

/// A committed segment.
#[derive(Serialize)]
struct SegmentRow {
    base_lsn: Text<Lsn>,
    block_count: u32,
    block_index_length: u32,
    block_index_offset: Text<u64>,
    codec: &'static str,
    hash: &'static str,
    last_lsn: Text<Lsn>,
    max_timestamp_ms: i64,
    min_timestamp_ms: i64,
    record_count: u32,
    segment_hash: String,
    segment_uuid: Text<SegmentId>,
    size_bytes: Text<u64>,
    trailer_hash: String,
    uri: String,
    writer_epoch: Text<Epoch>,
    writer_tag: Text<WriterId>,
}

impl SegmentRow {
    fn new(entry: &SegmentEntry, names: &Names) -> Self {
        Self {
            base_lsn: Text(entry.base_lsn),
            block_count: entry.block_count,
            block_index_length: entry.block_index_length,
            block_index_offset: Text(entry.block_index_offset),
            codec: entry.codec.name(),
            hash: entry.hash.name(),
            last_lsn: Text(entry.last_lsn),
            max_timestamp_ms: entry.max_timestamp.0,
            min_timestamp_ms: entry.min_timestamp.0,
            record_count: entry.record_count,
            segment_hash: hash(entry.segment_hash),
            segment_uuid: Text(entry.segment_id),
            size_bytes: Text(entry.size_bytes),
            trailer_hash: hash(entry.trailer_hash),
            uri: names.segment(entry),
            writer_epoch: Text(entry.writer_epoch),
            writer_tag: Text(entry.writer_tag),
        }
    }
}

/// Keys of the objects that an object refers to.
///
/// A head or page knows its stream and data root only by their hashes. So keys are whole when the command line names
/// the stream (and the data root) that the hashes belong to, and otherwise start inside the partition's folder.
struct Names {
    keys: LogKeys,
    whole_pages: bool,
    whole_segments: bool,
}

impl Names {
    fn new(log: &LogArgs, stream: StreamKey, partition: Partition, data_root: Option<DataRootKey>) -> Self {
        let named = log.stream.as_ref().map(|id| log.keys_of(id, partition));
        if let Some(keys) = named.filter(|keys| keys.identity().stream_key == stream) {
            let whole_segments = data_root.is_none_or(|found| found == keys.identity().data_root_key);
            return Self { keys, whole_pages: true, whole_segments };
        }
        Self { keys: LogKeys::without_stream("", "", partition), whole_pages: false, whole_segments: false }
    }

    fn page(&self, reference: &PageRef) -> String {
        let key = self.keys.page(reference);
        if self.whole_pages { key } else { without(self.keys.catalog_prefix(), &key) }
    }

    fn segment(&self, entry: &SegmentEntry) -> String {
        let key = self.keys.segment(entry.base_lsn, entry.writer_epoch, &entry.segment_id);
        if self.whole_segments { key } else { without(self.keys.segments_prefix(), &key) }
    }
}

fn without(prefix: &str, key: &str) -> String {
    key.strip_prefix(prefix).unwrap_or(key).to_owned()
}
