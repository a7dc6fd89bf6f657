//! Every rule of a segment's layout on its own (objlog formats, 1.1, 1.2 and 1.4 to 1.6).
use crate::segment_kit::{Map, Region, open_all, write};
use bucketlog_core::format::FormatErrorKind::{
    self, Integrity, Invalid, Mismatch, TooLarge, Truncated, UnsupportedCodec, UnsupportedHash,
    UnsupportedRecordFormat, UnsupportedVersion,
};
use bucketlog_core::format::segment::{
    BlockBuilder, BlockCodec, Codec, Header, Record, SealedBlock, SegmentAssembler, SegmentHeader, Trailer, open_whole,
};
use bucketlog_core::format::{HashAlgo, Section};
use bucketlog_core::ids::{Lsn, Partition, SegmentId, TimestampMs, WriterId};
use bucketlog_core::limits::{MIN_SEGMENT_LEN, MIN_SHARED_PIECE_LEN};
use bytes::Bytes;
use std::{ops::Range, slice};

const HASH: HashAlgo = HashAlgo::Xxh64;
/// The first LSN of `sample`.
const BASE: u64 = 1000;

fn header(codec: Codec) -> SegmentHeader {
    SegmentHeader {
        partition: Partition(7),
        codec,
        hash: HASH,
        segment_id: SegmentId([0x10; 16]),
        writer_tag: WriterId([0x40; 16]),
        created: TimestampMs(1_776_263_000_000),
    }
}

fn numbered(records: impl IntoIterator<Item = Record>) -> Vec<(Lsn, Record)> {
    (BASE..).map(Lsn).zip(records).collect()
}

/// An uncompressed segment of three blocks with two records each; timestamps 100, 101, ..., 105.
fn sample() -> Vec<u8> {
    let records = numbered((100..106).map(|time| Record::new(TimestampMs(time), "four")));
    write(&header(Codec::None), &records, 40).to_bytes().to_vec()
}

fn map(object: &[u8]) -> Map {
    Map::of(&open_whole(&Bytes::copy_from_slice(object), true).expect("a valid sample"))
}

/// Writes `bytes` over a field of the sample, repairs all hashes, and expects an error of `kind` at the field.
#[track_caller]
fn check_field(region: Region, field: usize, bytes: &[u8], kind: FormatErrorKind) {
    check_field_at(region, field, bytes, kind, field);
}

/// The same for an error that is reported at another offset of the region.
#[track_caller]
fn check_field_at(region: Region, field: usize, bytes: &[u8], kind: FormatErrorKind, reported: usize) {
    let mut object = sample();
    let map = map(&object);
    let start = map.start(region);
    object[start + field..][..bytes.len()].copy_from_slice(bytes);
    map.repair_hashes(&mut object);
    let error = open_all(&Bytes::from(object), true).expect_err("a broken rule");
    let section = match region {
        Region::FilePreamble => Section::FilePreamble,
        Region::Block(_) => Section::BlockPreamble,
        Region::Index | Region::Entry(_) => Section::BlockIndex,
        Region::Trailer => Section::SegmentTrailer,
    };
    let wanted = (kind, section, (start + reported) as u64);
    assert_eq!((error.kind, error.section, error.offset), wanted, "{region:?}+{field}: {error}");
}

#[test]
fn magics_lengths_and_flags_are_fixed() {
    for region in [Region::FilePreamble, Region::Block(1), Region::Index, Region::Trailer] {
        check_field(region, 0, b"PLXX", Invalid);
    }
    check_field(Region::FilePreamble, 4, &[0, 3], UnsupportedVersion);
    check_field(Region::FilePreamble, 6, &[0, 65], Invalid);
    check_field(Region::FilePreamble, 8, &[1, 0, 0, 0], Invalid);
    check_field(Region::Block(1), 4, &[0, 65], Invalid);
    check_field(Region::Block(1), 6, &[1, 0], Invalid);
    check_field(Region::Index, 4, &[0, 65], Invalid);
    check_field(Region::Index, 6, &[1, 0], Invalid);
    check_field(Region::Index, 8, &[0, 0, 0, 80], Invalid);
    check_field(Region::Trailer, 4, &[0, 191], Invalid);
    check_field(Region::Trailer, 6, &[0, 1], UnsupportedVersion);
    check_field(Region::Trailer, 8, &[0, 0, 0, 1], Invalid);
}

#[test]
fn every_reserved_byte_must_be_zero() {
    let check = |region, reserved: &[Range<usize>]| {
        for byte in reserved.iter().cloned().flatten() {
            check_field(region, byte, &[1], Invalid);
        }
    };
    check(Region::FilePreamble, slice::from_ref(&(22..24)));
    check(Region::Block(0), &[20..24, 56..64]);
    check(Region::Block(2), &[20..24, 56..64]);
    check(Region::Index, slice::from_ref(&(24..64)));
    check(Region::Entry(0), &[20..24, 56..64]);
    check(Region::Entry(2), &[20..24, 56..64]);
    check(Region::Trailer, &[22..24, 76..80, 144..192]);
}

#[test]
fn unknown_ids_are_told_apart_and_reported_before_wrong_hashes() {
    let ids = [(16, UnsupportedCodec), (18, UnsupportedHash), (20, UnsupportedRecordFormat)];
    for (field, kind) in ids {
        check_field(Region::FilePreamble, field, &[0, 9], kind);
        let mut object = sample();
        let trailer = map(&object).start(Region::Trailer);
        object[trailer + field + 1] = 9;
        let error = open_all(&Bytes::from(object), true).expect_err("an unknown id");
        assert_eq!((error.kind, error.offset), (kind, (trailer + field) as u64));
    }
}

#[test]
fn trailer_fields_keep_their_rules() {
    let check = |field, bytes: &[u8], kind| check_field(Region::Trailer, field, bytes, kind);
    check(24, &u64::MAX.to_be_bytes(), Invalid);
    check(32, &u64::MAX.to_be_bytes(), Invalid);
    check(32, &(BASE - 1).to_be_bytes(), Invalid);
    check(48, &99_i64.to_be_bytes(), Invalid);
    check(56, &7_u32.to_be_bytes(), Invalid);
    check(60, &0_u32.to_be_bytes(), Invalid);
    check(60, &67_108_863_u32.to_be_bytes(), TooLarge);
    check(64, &127_u64.to_be_bytes(), Invalid);
    check(72, &0_u32.to_be_bytes(), Invalid);
    check(80, &u64::MAX.to_be_bytes(), Invalid);
    check_field_at(Region::Trailer, 60, &67_108_862_u32.to_be_bytes(), Invalid, 72);
    check_field_at(Region::Trailer, 64, &u64::MAX.to_be_bytes(), Invalid, 80);
}

#[test]
fn a_trailer_of_an_object_of_another_size_is_a_mismatch() {
    let object = sample();
    let trailer = &object[object.len() - Trailer::LEN..];
    let error = Trailer::decode(trailer, object.len() as u64 + 1).expect_err("another size");
    assert_eq!(error.kind, Mismatch);
    let short = Trailer::decode(&trailer[1..], object.len() as u64).expect_err("191 bytes");
    assert_eq!(short.kind, Truncated);
}

#[test]
fn preamble_and_trailer_must_agree() {
    for (field, bytes) in [(12, &[9; 4][..]), (16, &[0, 1]), (18, &[0, 0]), (24, &[0; 8]), (32, &[9; 16]), (48, &[9])] {
        check_field(Region::FilePreamble, field, bytes, Mismatch);
    }
}

#[test]
fn index_preamble_counts_exactly_the_blocks() {
    check_field(Region::Index, 12, &0_u32.to_be_bytes(), Invalid);
    check_field(Region::Index, 12, &2_u32.to_be_bytes(), Invalid);
    check_field(Region::Index, 12, &4_u32.to_be_bytes(), Invalid);
    check_field(Region::Index, 12, &67_108_863_u32.to_be_bytes(), TooLarge);
}

#[test]
fn index_entries_keep_the_limits_of_blocks() {
    for region in [Region::Entry(1), Region::Block(1)] {
        let check = |field, bytes: &[u8], kind| check_field(region, field, bytes, kind);
        check(8, &0_u32.to_be_bytes(), Invalid);
        check(8, &((20_u32 << 20) + 1).to_be_bytes(), TooLarge);
        check(12, &0_u32.to_be_bytes(), Invalid);
        check(12, &((16_u32 << 20) + 1).to_be_bytes(), TooLarge);
        check(16, &0_u32.to_be_bytes(), Invalid);
        // 40 raw bytes hold at most two records.
        check(16, &3_u32.to_be_bytes(), Invalid);
        check(16, &u32::MAX.to_be_bytes(), Invalid);
        check(24, &(u64::MAX - 1).to_be_bytes(), Invalid);
        check(32, &104_i64.to_be_bytes(), Invalid);
    }
}

#[test]
fn the_largest_sizes_of_a_block_are_within_the_limits() {
    check_field_at(Region::Block(1), 8, &(20_u32 << 20).to_be_bytes(), Mismatch, 8);
    check_field_at(Region::Block(1), 12, &(16_u32 << 20).to_be_bytes(), Mismatch, 12);
}

#[test]
fn index_entries_continue_each_other_and_the_trailer() {
    check_field(Region::Entry(0), 0, &65_u64.to_be_bytes(), Invalid);
    check_field(Region::Entry(0), 24, &(BASE + 1).to_be_bytes(), Mismatch);
    check_field(Region::Entry(0), 32, &99_i64.to_be_bytes(), Mismatch);
    check_field(Region::Entry(1), 0, &169_u64.to_be_bytes(), Invalid);
    check_field(Region::Entry(1), 24, &(BASE + 3).to_be_bytes(), Invalid);
    check_field(Region::Entry(1), 32, &100_i64.to_be_bytes(), Invalid);
    check_field_at(Region::Entry(2), 8, &41_u32.to_be_bytes(), Mismatch, 0);
    check_field_at(Region::Entry(2), 16, &1_u32.to_be_bytes(), Mismatch, 16);
    check_field(Region::Entry(2), 40, &106_i64.to_be_bytes(), Mismatch);
}

#[test]
fn a_block_preamble_repeats_its_index_entry() {
    let fields: [(usize, &[u8]); 6] = [
        (8, &41_u32.to_be_bytes()),
        (12, &41_u32.to_be_bytes()),
        (16, &1_u32.to_be_bytes()),
        (24, &(BASE + 3).to_be_bytes()),
        (32, &101_i64.to_be_bytes()),
        (40, &104_i64.to_be_bytes()),
    ];
    for (field, bytes) in fields {
        check_field(Region::Block(1), field, bytes, Mismatch);
    }
}

/// Flips one bit without repairing hashes.
#[test]
fn each_hash_guards_its_bytes() {
    let object = sample();
    let map = map(&object);
    let (block, index, trailer) = (map.start(Region::Block(1)), map.start(Region::Index), map.start(Region::Trailer));
    let check = |place: usize, verify: bool, section, offset: usize| {
        let mut object = object.clone();
        object[place] ^= 1;
        let error = open_all(&Bytes::from(object), verify).expect_err("a changed bit");
        assert_eq!((error.kind, error.section, error.offset), (Integrity, section, offset as u64), "byte {place}");
    };
    check(block + 64 + 20, false, Section::Block, block + 64);
    check(block + 64 + 20, true, Section::SegmentTrailer, trailer + 128);
    check(index + 64 + 40, false, Section::BlockIndex, index + 16);
    check(index + 16, false, Section::BlockIndex, index + 16);
    check(trailer + 88, false, Section::SegmentTrailer, trailer + 136);
    check(trailer + 128, false, Section::SegmentTrailer, trailer + 136);
}

#[test]
fn the_smallest_segment_has_464_bytes_and_cut_ones_are_refused() {
    let object = write(&header(Codec::None), &numbered([Record::default()]), 1).to_bytes();
    assert_eq!(object.len(), MIN_SEGMENT_LEN);
    assert!(open_all(&object, true).is_ok());
    for len in 0..object.len() {
        assert!(open_whole(&object.slice(..len), false).is_err(), "{len} bytes");
    }
}

#[test]
fn a_payload_that_is_cut_is_truncated() {
    let object = Bytes::from(sample());
    let index = open_whole(&object, true).expect("valid");
    let range = index.block_range(1).expect("a block");
    let (from, to) = (usize::try_from(range.start).expect("small"), usize::try_from(range.end).expect("small"));
    for to in from..to {
        assert_eq!(index.block_payload(1, &object.slice(from..to)).expect_err("cut").kind, Truncated);
    }
    assert_eq!(index.block_payload(1, &object.slice(from..to)).expect("whole"), object.slice(from + 64..to));
    assert_eq!(index.block_payload(3, &object).expect_err("no such block").kind, Invalid);
}

fn sealed(base: u64, times: Range<i64>, codec: Codec) -> SealedBlock {
    let mut builder = BlockBuilder::new(Lsn(base), 0);
    for time in times {
        builder.push(&Record::new(TimestampMs(time), "value"));
    }
    BlockCodec::new().seal(&builder.finish(), codec, 3, HASH).expect("valid")
}

#[test]
fn an_assembler_refuses_blocks_out_of_order_and_stays_usable() {
    let mut assembler = SegmentAssembler::new(header(Codec::None));
    let mut push = |block: &SealedBlock| assembler.push(block).map_err(|error| error.kind);
    let first = sealed(10, 100..102, Codec::None);
    assert_eq!(push(&first), Ok(()));
    assert_eq!(push(&first), Err(Invalid));
    assert_eq!(push(&sealed(13, 101..103, Codec::None)), Err(Invalid));
    assert_eq!(push(&sealed(12, 100..103, Codec::None)), Err(Invalid));
    assert_eq!(push(&sealed(12, 101..103, Codec::Zstd)), Err(Mismatch));
    let cut = SealedBlock { stored: first.stored.slice(1..), ..sealed(12, 101..103, Codec::None) };
    assert_eq!(push(&cut), Err(Mismatch));
    assert_eq!(push(&sealed(12, 101..103, Codec::None)), Ok(()));
    let segment = assembler.finish().expect("two blocks");
    let (index, _) = open_all(&segment.to_bytes(), true).expect("valid");
    assert_eq!((index.trailer.last_lsn, index.trailer.record_count), (Lsn(13), 4));
}

#[test]
fn a_segment_has_at_least_one_block() {
    let error = SegmentAssembler::new(header(Codec::None)).finish().expect_err("no block");
    assert_eq!(error.kind, Invalid);
}

#[test]
fn small_pieces_are_merged_and_large_blocks_shared() {
    let one = |len: usize| numbered([Record::new(TimestampMs(0), vec![7; len - 16])]);
    let small = write(&header(Codec::None), &one(MIN_SHARED_PIECE_LEN - 1), 1);
    assert_eq!(small.pieces.len(), 1);

    let mut builder = BlockBuilder::new(Lsn(BASE), MIN_SHARED_PIECE_LEN);
    builder.push(&one(MIN_SHARED_PIECE_LEN)[0].1);
    let block = BlockCodec::new().seal(&builder.finish(), Codec::None, 3, HASH).expect("valid");
    let mut assembler = SegmentAssembler::new(header(Codec::None));
    assembler.push(&block).expect("first");
    let segment = assembler.finish().expect("a block");
    assert_eq!(segment.pieces.iter().map(Bytes::len).collect::<Vec<_>>(), [128, MIN_SHARED_PIECE_LEN, 320]);
    assert_eq!(segment.pieces[1].as_ptr(), block.stored.as_ptr());
    assert!(open_all(&segment.to_bytes(), true).is_ok());
}

#[test]
fn lookups_outside_a_segment_find_nothing() {
    let (index, blocks) = open_all(&Bytes::from(sample()), true).expect("valid");
    assert_eq!(index.block_of(Lsn(BASE - 1)), None);
    assert_eq!(index.block_of(Lsn(BASE + 6)), None);
    assert_eq!(index.block_at_timestamp(TimestampMs(106)), None);
    assert_eq!(index.block_range(3), None);
    assert_eq!(blocks[1].record(Lsn(BASE + 1)), None);
    assert_eq!(blocks[1].record(Lsn(BASE + 4)), None);
    assert_eq!(blocks[1].find_timestamp(TimestampMs(104)), None);
}

#[test]
fn iteration_starts_at_the_wanted_record() {
    let (_, blocks) = open_all(&Bytes::from(sample()), true).expect("valid");
    let lsns = |from: u64| blocks[1].records_from(Lsn(from)).map(|record| record.lsn.0 - BASE).collect::<Vec<_>>();
    assert_eq!(lsns(0), [2, 3]);
    assert_eq!(lsns(BASE + 2), [2, 3]);
    assert_eq!(lsns(BASE + 3), [3]);
    assert!(lsns(BASE + 4).is_empty());
    assert!(lsns(u64::MAX).is_empty());
}

#[test]
fn borrowed_and_owned_headers_are_the_same() {
    let record =
        Record::new(TimestampMs(100), "value").with_header("a", "1").with_header("a", "").with_header("b", "2");
    let object = write(&header(Codec::Zstd), &numbered([record.clone()]), 1).to_bytes();
    let (_, blocks) = open_all(&object, true).expect("valid");
    let borrowed = blocks[0].records().next().expect("a record");
    assert_eq!(borrowed.headers().len(), 3);
    let owned = |key: &[u8], value: &[u8]| Header { key: key.to_vec().into(), value: value.to_vec().into() };
    assert!(borrowed.headers().map(|header| owned(header.key, header.value)).eq(record.headers.clone()));
    assert_eq!(borrowed.to_record(), record);
}
