//! What holds for all segments, and for all bytes.
use crate::segment_kit::{Map, open_all, sealed, write};
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::segment::{
    BlockCodec, BlockIndex, BlockMeta, Codec, FilePreamble, Header, Record, SegmentAssembler, SegmentHeader, Trailer,
    open_whole,
};
use bucketlog_core::ids::{Lsn, Partition, SegmentId, TimestampMs, WriterId};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

fn bytes(len: std::ops::Range<usize>) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), len).prop_map(Bytes::from)
}

fn headers() -> impl Strategy<Value = Vec<Header>> {
    let header = (bytes(1..40), bytes(0..40)).prop_map(|(key, value)| Header { key, value });
    prop_oneof![3 => Just(Vec::new()), 1 => vec(header, 1..5)]
}

fn records() -> impl Strategy<Value = Vec<(Lsn, Record)>> {
    let start = (0..=u64::MAX - 20, any::<i64>());
    let record = (0_i64..3, headers(), bytes(0..300));
    (start, vec(record, 1..20)).prop_map(|((base, mut timestamp), records)| {
        let records = records.into_iter().map(|(step, headers, value)| {
            timestamp = timestamp.saturating_add(step);
            Record { timestamp: TimestampMs(timestamp), headers, value }
        });
        (base..).map(Lsn).zip(records).collect()
    })
}

fn header() -> impl Strategy<Value = SegmentHeader> {
    let codec = prop_oneof![Just(Codec::None), Just(Codec::Zstd)];
    let hash = prop_oneof![Just(HashAlgo::Crc32c), Just(HashAlgo::Xxh64)];
    (any::<u32>(), codec, hash, any::<[u8; 16]>(), any::<[u8; 16]>(), any::<i64>()).prop_map(
        |(partition, codec, hash, segment_id, writer_tag, created)| SegmentHeader {
            partition: Partition(partition),
            codec,
            hash,
            segment_id: SegmentId(segment_id),
            writer_tag: WriterId(writer_tag),
            created: TimestampMs(created),
        },
    )
}

/// Walks everything that an accepted object offers.
fn use_all(object: &Bytes) {
    let Ok((index, blocks)) = open_all(object, false) else { return };
    for (i, block) in blocks.iter().enumerate() {
        for record in block.records() {
            assert_eq!(block.record(record.lsn), Some(record.to_record()));
            assert_eq!(index.block_of(record.lsn), Some(i));
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(header in header(), records in records(), target in 1_usize..2000) {
        let written = write(&header, &records, target);
        let object = written.to_bytes();
        prop_assert_eq!(object.len() as u64, written.trailer.total_size);
        let (index, blocks) = open_all(&object, true).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(index.trailer, written.trailer);
        let read: Vec<_> = blocks.iter().flat_map(|b| b.records()).map(|r| (r.lsn, r.to_record())).collect();
        prop_assert_eq!(&read, &records);
        for (lsn, record) in &records {
            let found = index.block_of(*lsn).and_then(|i| blocks[i].record(*lsn));
            prop_assert_eq!(found.as_ref(), Some(record));
            let first = records.iter().find(|(_, r)| r.timestamp >= record.timestamp).map(|(lsn, _)| *lsn);
            let block = index.block_at_timestamp(record.timestamp).map(|i| &blocks[i]);
            prop_assert_eq!(block.and_then(|block| block.find_timestamp(record.timestamp)), first);
        }
    }

    #[test]
    fn another_header_changes_only_preamble_and_trailer(one in header(), two in header(), records in records()) {
        let two = SegmentHeader { codec: one.codec, hash: one.hash, ..two };
        let (one, two) = (write(&one, &records, 500).to_bytes(), write(&two, &records, 500).to_bytes());
        prop_assert_eq!(one.len(), two.len());
        prop_assert_eq!(&one[64..one.len() - 192], &two[64..two.len() - 192]);
    }

    #[test]
    fn an_object_taken_in_parts_is_the_same_object(
        header in header(),
        records in records(),
        part in 1..3_000_u64,
        blocks_at_once in 1..4_usize,
    ) {
        let whole = write(&header, &records, 500).to_bytes();
        let (mut assembler, mut parts) = (SegmentAssembler::new(header.clone()), Vec::new());
        for blocks in sealed(&header, &records, 500).chunks(blocks_at_once) {
            blocks.iter().for_each(|block| assembler.push(block).expect("blocks in order"));
            while let Some(pieces) = assembler.take(part) {
                prop_assert_eq!(pieces.iter().map(Bytes::len).sum::<usize>() as u64, part);
                parts.extend(pieces);
            }
        }
        let rest = assembler.finish().expect("a segment with blocks");
        parts.extend(rest.pieces);
        prop_assert_eq!(parts.concat(), whole);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in bytes(0..700), object_size in any::<u64>(), lsn in any::<u64>()) {
        let _ = FilePreamble::decode(&bytes);
        let _ = Trailer::decode(&bytes, object_size);
        let _ = open_whole(&bytes, true);
        for (codec, hash) in [(Codec::None, HashAlgo::Crc32c), (Codec::Zstd, HashAlgo::Xxh64)] {
            let size = u32::try_from(bytes.len()).expect("short");
            let meta = BlockMeta {
                stored_size: size,
                raw_size: size,
                record_count: size / 40,
                base_lsn: Lsn(lsn),
                min_timestamp: TimestampMs(i64::MIN),
                max_timestamp: TimestampMs(i64::MAX),
                block_hash: hash.hash(&bytes),
            };
            let _ = BlockCodec::new().open(&meta, &bytes, codec, hash, object_size);
        }
    }

    #[test]
    fn damaged_segments_never_panic(
        header in header(),
        records in records(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        repair in any::<bool>(),
    ) {
        let object = write(&header, &records, 300).to_bytes();
        let index = open_whole(&object, false).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let map = Map::of(&index);
        let mut damaged = object.to_vec();
        for (place, byte) in damage {
            let place = place.index(damaged.len());
            damaged[place] = byte;
        }
        if repair {
            map.repair_hashes(&mut damaged);
        }
        let damaged = Bytes::from(damaged);
        use_all(&damaged);
        let tail = damaged.slice(usize::try_from(index.trailer.block_index_offset).expect("small")..);
        let _ = BlockIndex::decode(&tail[..tail.len() - 192], &index.trailer);
        for i in 0..=index.entries.len() {
            let _ = index.block_payload(i, &tail);
        }
    }

    #[test]
    fn every_changed_byte_is_noticed(
        header in header(),
        records in records(),
        place in any::<prop::sample::Index>(),
        flip in 1_u8..,
    ) {
        let object = write(&header, &records, 300).to_bytes();
        let mut damaged = object.to_vec();
        let place = place.index(damaged.len());
        damaged[place] ^= flip;
        prop_assert!(open_all(&Bytes::from(damaged), true).is_err(), "byte {} may change unnoticed", place);
    }
}
