//! Segments written by the original programs, read and written again.
use crate::segment_kit::{open_all, write};
use crate::support::{
    bulk_records, golden, hash, id, json, number, number32, records_dump_sha256, sha256_hex, text, timestamp,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use bucketlog_core::format::segment::{BlockIndex, Codec, DecodedBlock, Header, Record, SegmentHeader};
use bucketlog_core::format::{FormatError, FormatErrorKind, HashAlgo};
use bucketlog_core::ids::{Lsn, Partition, SegmentId, WriterId};
use bucketlog_fixtures::pbgen::{json200, semi1k};
use bytes::Bytes;
use serde_json::{Value, json};
use std::path::Path;

#[test]
fn golden_segments_are_read_and_written_like_the_original_does() {
    let Some(folder) = golden("objlog") else { return };
    let vectors = json(&folder.join("segments.json"));
    let vectors = vectors["vectors"].as_array().expect("vectors");
    assert!(!vectors.is_empty());
    for vector in vectors {
        check(&folder, vector);
    }
}

#[test]
fn published_segments_are_read_and_written_like_the_original_does() {
    let Some(folder) = golden("objlog") else { return };
    let folder = folder.join("corpus-segformat-v2");
    let manifest = json(&folder.join("manifest.json"));
    let vectors = manifest["vectors"].as_array().expect("vectors");
    assert_eq!(vectors.len(), 2);
    for vector in vectors {
        check(&folder, &published_as_golden(vector));
    }
}

#[test]
fn damaged_segments_get_the_verdict_of_the_original_reader() {
    let Some(folder) = golden("objlog") else { return };
    let verdicts = json(&folder.join("bad.json"));
    let segments = verdicts.as_array().expect("list").iter().filter(|damaged| text(damaged, "kind") == "segment");
    let mut count = 0;
    for damaged in segments {
        let name = text(damaged, "file");
        let object = Bytes::from(std::fs::read(folder.join(name)).expect("damaged object"));
        check_verdict(name, text(damaged, "reader_error"), open_all(&object, false));
        if let Some(error) = damaged["reader_error_with_segment_hash"].as_str() {
            check_verdict(name, error, open_all(&object, true));
        }
        count += 1;
    }
    assert!(count > 0);
}

/// Compares with the kind that the original reader's message speaks of; an empty message accepts.
#[track_caller]
fn check_verdict(name: &str, original: &str, ours: Result<(BlockIndex, Vec<DecodedBlock>), FormatError>) {
    use FormatErrorKind::{Integrity, Invalid, Mismatch, UnsupportedVersion};
    let ours = ours.map(drop).map_err(|error| error.kind);
    let wanted = match original {
        "" => Ok(()),
        text if text.contains("does not match") => Err(Mismatch),
        text if text.contains("integrity mismatch") || text.contains("segment hash") => Err(Integrity),
        text if text.contains("unsupported version") => Err(UnsupportedVersion),
        text if text.contains("invalid segment") => Err(Invalid),
        text => panic!("unknown verdict on {name}: {text}"),
    };
    assert_eq!(ours, wanted, "{name}: {original}");
}

/// Everything a vector says.
#[track_caller]
fn check(folder: &Path, vector: &Value) {
    let name = text(vector, "name");
    let object = Bytes::from(std::fs::read(folder.join(text(vector, "file"))).expect("segment"));
    assert_eq!(sha256_hex(&object), text(vector, "sha256"), "{name}");

    let (index, blocks) = open_all(&object, true).unwrap_or_else(|error| panic!("{name}: {error}"));
    check_trailer(name, &index, &vector["options"], &vector["trailer"]);
    check_blocks(name, &index, &vector["blocks"]);
    let records: Vec<(Lsn, Record)> =
        blocks.iter().flat_map(DecodedBlock::records).map(|record| (record.lsn, record.to_record())).collect();
    check_records(name, &records, vector);
    check_timestamp_lookups(name, &index, &blocks, vector);
    check_lsn_reads(name, &index, &blocks, vector);
    check_written_again(name, &object, &records, vector);
}

fn check_trailer(name: &str, index: &BlockIndex, options: &Value, wanted: &Value) {
    let trailer = &index.trailer;
    assert_eq!(trailer.partition, Partition(number32(options, "partition")), "{name}");
    assert_eq!(trailer.codec.name(), text(options, "codec"), "{name}");
    assert_eq!(trailer.hash.name(), text(options, "hash"), "{name}");
    assert_eq!(trailer.created, timestamp(options, "created_unix_ms"), "{name}");
    assert_eq!(trailer.segment_id, SegmentId(id(options, "segment_uuid")), "{name}");
    assert_eq!(trailer.writer_tag, WriterId(id(options, "writer_tag")), "{name}");
    assert_eq!(trailer.base_lsn, Lsn(number(wanted, "base_lsn")), "{name}");
    assert_eq!(trailer.last_lsn, Lsn(number(wanted, "last_lsn")), "{name}");
    assert_eq!(trailer.min_timestamp, timestamp(wanted, "min_timestamp_ms"), "{name}");
    assert_eq!(trailer.max_timestamp, timestamp(wanted, "max_timestamp_ms"), "{name}");
    assert_eq!(trailer.record_count, number32(wanted, "record_count"), "{name}");
    assert_eq!(trailer.block_count, number32(wanted, "block_count"), "{name}");
    assert_eq!(trailer.block_index_offset, number(wanted, "block_index_offset"), "{name}");
    assert_eq!(trailer.block_index_length, number32(wanted, "block_index_length"), "{name}");
    assert_eq!(trailer.total_size, number(wanted, "total_size"), "{name}");
    assert_eq!(trailer.segment_hash, hash(wanted, "segment_hash"), "{name}");
    assert_eq!(trailer.trailer_hash, hash(wanted, "trailer_hash"), "{name}");
}

fn check_blocks(name: &str, index: &BlockIndex, wanted: &Value) {
    let wanted = wanted.as_array().expect("blocks");
    assert_eq!(index.entries.len(), wanted.len(), "{name}");
    for (entry, wanted) in index.entries.iter().zip(wanted) {
        let meta = &entry.meta;
        assert_eq!(entry.offset, number(wanted, "offset"), "{name}");
        assert_eq!(meta.stored_size, number32(wanted, "stored_size"), "{name}");
        assert_eq!(meta.raw_size, number32(wanted, "raw_size"), "{name}");
        assert_eq!(meta.record_count, number32(wanted, "record_count"), "{name}");
        assert_eq!(meta.base_lsn, Lsn(number(wanted, "base_lsn")), "{name}");
        assert_eq!(meta.min_timestamp, timestamp(wanted, "min_timestamp_ms"), "{name}");
        assert_eq!(meta.max_timestamp, timestamp(wanted, "max_timestamp_ms"), "{name}");
        assert_eq!(meta.block_hash, hash(wanted, "block_hash"), "{name}");
    }
}

fn check_records(name: &str, records: &[(Lsn, Record)], vector: &Value) {
    if let Some(wanted) = vector["records"].as_array() {
        let wanted: Vec<(Lsn, Record)> =
            wanted.iter().map(|record| (Lsn(number(record, "lsn")), inline_record(record))).collect();
        assert_eq!(records, wanted, "{name}");
    }
    if let Some(wanted) = vector["records_dump_sha256"].as_str() {
        let dump = records_dump_sha256(records.iter().map(|(lsn, record)| (*lsn, record)));
        assert_eq!(dump, wanted, "{name}");
    }
    let generated = match name.split('-').next() {
        Some("json200") => bulk_records(json200(), records.len()),
        Some("semi1k") => bulk_records(semi1k(), records.len()),
        _ => return,
    };
    assert!(records.iter().map(|(_, record)| record).eq(&generated), "{name}");
}

fn check_timestamp_lookups(name: &str, index: &BlockIndex, blocks: &[DecodedBlock], vector: &Value) {
    for lookup in vector["timestamp_lookups"].as_array().into_iter().flatten() {
        let at = timestamp(lookup, "timestamp_ms");
        let found = index.block_at_timestamp(at).and_then(|i| blocks[i].find_timestamp(at));
        let wanted = lookup["found"].as_bool().expect("found").then(|| Lsn(number(lookup, "lsn")));
        assert_eq!(found, wanted, "{name} at {at}");
    }
}

/// The first record at or after an LSN, and the one range that must be read for it.
fn check_lsn_reads(name: &str, index: &BlockIndex, blocks: &[DecodedBlock], vector: &Value) {
    for read in vector["lsn_reads_after_open"].as_array().into_iter().flatten() {
        let from = Lsn(number(read, "from_lsn"));
        let block = index.block_of(from.max(index.trailer.base_lsn)).expect("block");
        let first = blocks[block].records_from(from).next().map(|record| record.lsn);
        assert_eq!(first, Some(Lsn(number(read, "first_lsn"))), "{name} from {from}");
        let range = index.block_range(block).expect("range");
        assert_eq!(json!([[range.start, range.end - range.start]]), read["range_reads"], "{name} from {from}");
    }
}

fn check_written_again(name: &str, object: &Bytes, records: &[(Lsn, Record)], vector: &Value) {
    let options = &vector["options"];
    let target = usize::try_from(number(options, "target_block_size")).expect("a size");
    let written = write(&header(options), records, target);
    let again = written.to_bytes();
    if vector["byte_stable"] == true {
        assert_eq!(sha256_hex(&again), sha256_hex(object), "{name}");
        return;
    }
    let (index, blocks) = open_all(&again, true).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(index.trailer, written.trailer, "{name}");
    let original = open_all(object, false).expect("opened before").1;
    assert_eq!(blocks.len(), original.len(), "{name}");
    for (ours, theirs) in blocks.iter().zip(&original) {
        assert!(ours.records().map(|r| (r.lsn, r.to_record())).eq(theirs.records().map(|r| (r.lsn, r.to_record()))));
    }
}

fn header(options: &Value) -> SegmentHeader {
    SegmentHeader {
        partition: Partition(number32(options, "partition")),
        codec: if text(options, "codec") == "none" { Codec::None } else { Codec::Zstd },
        hash: if text(options, "hash") == "crc32c" { HashAlgo::Crc32c } else { HashAlgo::Xxh64 },
        segment_id: SegmentId(id(options, "segment_uuid")),
        writer_tag: WriterId(id(options, "writer_tag")),
        created: timestamp(options, "created_unix_ms"),
    }
}

fn inline_record(record: &Value) -> Record {
    let bytes = |value: &Value, field| Bytes::from(BASE64_STANDARD.decode(text(value, field)).expect("base64"));
    let headers = record["headers"].as_array().into_iter().flatten();
    Record {
        timestamp: timestamp(record, "timestamp_ms"),
        headers: headers
            .map(|header| Header { key: bytes(header, "key_base64"), value: bytes(header, "value_base64") })
            .collect(),
        value: bytes(record, "value_base64"),
    }
}

/// A vector of the published manifest in the shape of the golden ones.
fn published_as_golden(vector: &Value) -> Value {
    let (writer, segment) = (&vector["writer"], &vector["segment_ref"]);
    let mut trailer = segment.clone();
    trailer["total_size"] = segment["size_bytes"].clone();
    json!({
        "name": vector["name"],
        "file": vector["file"],
        "sha256": vector["file_sha256"],
        "byte_stable": vector["writer_byte_stable"],
        "options": {
            "partition": segment["partition"],
            "codec": segment["codec"]["name"],
            "hash": segment["hash_algorithm"]["name"],
            "created_unix_ms": writer["created_unix_ms"],
            "segment_uuid": writer["segment_uuid"],
            "writer_tag": writer["writer_tag"],
            "target_block_size": writer["target_block_size"],
        },
        "trailer": trailer,
        "blocks": vector["blocks"],
        "records": vector["records"],
    })
}
