//! The report of a segment. Field names are those of the golden data that every implementation can compare with.
use super::object::{Segment, sha256};
use crate::json::{RecordRow, Text, hash};
use bucketlog_core::format::segment::{BlockEntry, Trailer};
use bucketlog_core::ids::{Lsn, SegmentId, WriterId};
use serde::{Serialize, Serializer};

/// A segment.
#[derive(Serialize)]
pub(super) struct SegmentReport<'a> {
    kind: &'static str,
    size: usize,
    sha256: String,
    options: SegmentOptions,
    trailer: TrailerRow,
    blocks: Vec<BlockRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Records<'a>>,
    records_dump_sha256: String,
}

impl<'a> SegmentReport<'a> {
    pub(super) fn new(segment: &'a Segment, bytes: &[u8], records: bool) -> Self {
        Self {
            kind: "segment",
            size: bytes.len(),
            sha256: sha256(bytes),
            options: SegmentOptions::new(&segment.index.trailer),
            trailer: TrailerRow::new(&segment.index.trailer),
            blocks: segment.index.entries.iter().map(BlockRow::new).collect(),
            records: records.then_some(Records(segment)),
            records_dump_sha256: segment.records_dump_sha256(),
        }
    }
}

/// What the writer of the segment was told.
#[derive(Serialize)]
struct SegmentOptions {
    codec: &'static str,
    created_unix_ms: i64,
    hash: &'static str,
    partition: u32,
    segment_uuid: Text<SegmentId>,
    writer_tag: Text<WriterId>,
}

impl SegmentOptions {
    fn new(trailer: &Trailer) -> Self {
        Self {
            codec: trailer.codec.name(),
            created_unix_ms: trailer.created.0,
            hash: trailer.hash.name(),
            partition: trailer.partition.0,
            segment_uuid: Text(trailer.segment_id),
            writer_tag: Text(trailer.writer_tag),
        }
    }
}

#[derive(Serialize)]
struct TrailerRow {
    base_lsn: Text<Lsn>,
    block_count: u32,
    block_index_length: u32,
    block_index_offset: Text<u64>,
    last_lsn: Text<Lsn>,
    max_timestamp_ms: i64,
    min_timestamp_ms: i64,
    record_count: u32,
    segment_hash: String,
    total_size: Text<u64>,
    trailer_hash: String,
}

impl TrailerRow {
    fn new(trailer: &Trailer) -> Self {
        Self {
            base_lsn: Text(trailer.base_lsn),
            block_count: trailer.block_count,
            block_index_length: trailer.block_index_length,
            block_index_offset: Text(trailer.block_index_offset),
            last_lsn: Text(trailer.last_lsn),
            max_timestamp_ms: trailer.max_timestamp.0,
            min_timestamp_ms: trailer.min_timestamp.0,
            record_count: trailer.record_count,
            segment_hash: hash(trailer.segment_hash),
            total_size: Text(trailer.total_size),
            trailer_hash: hash(trailer.trailer_hash),
        }
    }
}

#[derive(Serialize)]
struct BlockRow {
    base_lsn: Text<Lsn>,
    block_hash: String,
    max_timestamp_ms: i64,
    min_timestamp_ms: i64,
    offset: Text<u64>,
    raw_size: u32,
    record_count: u32,
    stored_size: u32,
}

impl BlockRow {
    fn new(block: &BlockEntry) -> Self {
        let meta = &block.meta;
        Self {
            base_lsn: Text(meta.base_lsn),
            block_hash: hash(meta.block_hash),
            max_timestamp_ms: meta.max_timestamp.0,
            min_timestamp_ms: meta.min_timestamp.0,
            offset: Text(block.offset),
            raw_size: meta.raw_size,
            record_count: meta.record_count,
            stored_size: meta.stored_size,
        }
    }
}

/// The records one by one: together their rows would take many times the segment's memory.
struct Records<'a>(&'a Segment);

impl Serialize for Records<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.records().map(|record| RecordRow::of_ref(&record)))
    }
}
