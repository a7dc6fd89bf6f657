//! Every rule of records and blocks on its own (objlog formats, 1.2, 1.3, 1.8 and 1.9).
use crate::support::bulk_records;
use bucketlog_core::format::FormatErrorKind::{self, Invalid, Mismatch, TooLarge, Truncated};
use bucketlog_core::format::segment::{
    BlockBuilder, BlockCodec, BlockMeta, Codec, DecodedBlock, RawBlock, Record, RecordError,
};
use bucketlog_core::format::{FormatError, HashAlgo, Section};
use bucketlog_core::ids::{Lsn, TimestampMs};
use bucketlog_core::limits::{
    MAX_BLOCK_RAW_SIZE, MAX_HEADER_KEY_LEN, MAX_HEADER_VALUE_LEN, MAX_HEADERS, MAX_HEADERS_LEN, MAX_VALUE_LEN,
};
use bucketlog_fixtures::pbgen::json200;
use bytes::Bytes;

const HASH: HashAlgo = HashAlgo::Xxh64;

/// One encoded record.
fn encoded(time: i64, headers: &[u8], value_len: usize) -> Vec<u8> {
    let mut bytes = time.to_be_bytes().to_vec();
    bytes.extend(u32::try_from(headers.len()).expect("short").to_be_bytes());
    bytes.extend(u32::try_from(value_len).expect("short").to_be_bytes());
    bytes.extend(headers);
    bytes.resize(bytes.len() + value_len, b'v');
    bytes
}

/// Encoded headers with the given count and (key length, value length) pairs.
fn encoded_headers(count: u16, pairs: &[(u16, u16)]) -> Vec<u8> {
    let mut bytes = count.to_be_bytes().to_vec();
    for (key, value) in pairs {
        bytes.extend(key.to_be_bytes());
        bytes.extend(value.to_be_bytes());
        bytes.resize(bytes.len() + usize::from(*key) + usize::from(*value), b'h');
    }
    bytes
}

/// Opens a block with these bytes, all hashes and sizes right, and timestamps 100 to 200.
fn open_raw(bytes: Vec<u8>, record_count: u32) -> Result<DecodedBlock, FormatError> {
    let raw = RawBlock {
        bytes: bytes.into(),
        record_count,
        base_lsn: Lsn(0),
        min_timestamp: TimestampMs(100),
        max_timestamp: TimestampMs(200),
    };
    let mut codec = BlockCodec::new();
    let sealed = codec.seal(&raw, Codec::None, 0, HASH)?;
    codec.open(&sealed.meta, &sealed.stored, Codec::None, HASH, 128)
}

#[track_caller]
fn check_records(bytes: Vec<u8>, record_count: u32, wanted: Result<(), (FormatErrorKind, u64)>) {
    let result = open_raw(bytes, record_count).map(drop);
    if let Err(error) = &result {
        assert_eq!(error.section, Section::Record, "{error}");
    }
    assert_eq!(result.map_err(|error| (error.kind, error.offset)), wanted);
}

#[test]
fn records_fill_their_block_exactly() {
    let two = [encoded(150, b"", 20), encoded(150, b"", 20)].concat();
    check_records(two.clone(), 2, Ok(()));
    check_records(two.clone(), 1, Err((Invalid, 36)));
    check_records([two.clone(), vec![0]].concat(), 2, Err((Invalid, 72)));
    check_records(two.clone(), 3, Err((Truncated, 72)));
    check_records(two[..71].to_vec(), 2, Err((Truncated, 36)));
    check_records(two[..40].to_vec(), 2, Err((Truncated, 36)));
}

#[test]
fn timestamps_never_go_back_nor_leave_the_bounds() {
    let times = |times: &[i64]| times.iter().flat_map(|time| encoded(*time, b"", 0)).collect::<Vec<_>>();
    check_records(times(&[100, 100, 200]), 3, Ok(()));
    check_records(times(&[120, 130, 130]), 3, Ok(()));
    check_records(times(&[99, 130]), 2, Err((Invalid, 0)));
    check_records(times(&[130, 129]), 2, Err((Invalid, 16)));
    check_records(times(&[130, 201]), 2, Err((Invalid, 16)));
}

#[test]
fn values_have_at_most_four_mebibytes() {
    check_records(encoded(150, b"", MAX_VALUE_LEN), 1, Ok(()));
    check_records(encoded(150, b"", MAX_VALUE_LEN + 1), 1, Err((TooLarge, 12)));
}

#[test]
fn encoded_headers_keep_their_rules() {
    let check = |headers: &[u8], wanted: Result<(), (FormatErrorKind, u64)>| {
        check_records(encoded(150, headers, 4), 1, wanted.map_err(|(kind, offset)| (kind, 16 + offset)));
    };
    check(&encoded_headers(1, &[(1, 0)]), Ok(()));
    check(&encoded_headers(1, &[(1024, 65_535)]), Ok(()));
    check(&encoded_headers(64, &[(1, 1); 64]), Ok(()));
    check(&[0], Err((Invalid, 0)));
    check(&encoded_headers(0, &[]), Err((Invalid, 0)));
    check(&encoded_headers(0, &[(1, 1)]), Err((Invalid, 0)));
    check(&encoded_headers(65, &[(1, 1); 65]), Err((TooLarge, 0)));
    check(&encoded_headers(2, &[(1, 1), (0, 1)]), Err((Invalid, 8)));
    check(&encoded_headers(1, &[(1025, 0)]), Err((TooLarge, 2)));
    check(&encoded_headers(2, &[(1, 1)]), Err((Invalid, 8)));
    check(&encoded_headers(1, &[(1, 1), (1, 1)]), Err((Invalid, 8)));
    check(&encoded_headers(1, &[(9, 9)])[..23], Err((Invalid, 2)));
}

#[test]
fn encoded_headers_have_at_most_256_kibibytes() {
    // 2 for the count, then 4 headers of 4 + 1 + 65,535 bytes are 18 above 262,144.
    let fill = |last: u16| encoded_headers(4, &[(1, 65_535), (1, 65_535), (1, 65_535), (1, last)]);
    assert_eq!(fill(65_517).len(), MAX_HEADERS_LEN);
    check_records(encoded(150, &fill(65_517), 0), 1, Ok(()));
    check_records(encoded(150, &fill(65_518), 0), 1, Err((TooLarge, 8)));
}

#[test]
fn a_record_is_validated_against_every_limit() {
    let record = || Record::new(TimestampMs(0), "");
    let of = |len: usize| Bytes::from(vec![0; len]);
    let many = |count: usize| (0..count).fold(record(), |record, _| record.with_header("k", "v"));
    let wide = |last: usize| {
        let last = [MAX_HEADER_VALUE_LEN, MAX_HEADER_VALUE_LEN, MAX_HEADER_VALUE_LEN, last];
        last.into_iter().fold(record(), |record, len| record.with_header("k", of(len)))
    };
    assert_eq!(Record::new(TimestampMs(0), of(MAX_VALUE_LEN)).validate(), Ok(()));
    assert_eq!(many(MAX_HEADERS).validate(), Ok(()));
    assert_eq!(record().with_header(of(MAX_HEADER_KEY_LEN), of(MAX_HEADER_VALUE_LEN)).validate(), Ok(()));
    assert_eq!(wide(65_517).validate(), Ok(()));

    let check = |record: &Record, wanted: RecordError| assert_eq!(record.validate(), Err(wanted));
    let max = MAX_VALUE_LEN as u64;
    check(&Record::new(TimestampMs(0), of(MAX_VALUE_LEN + 1)), RecordError::ValueTooLarge { len: max + 1, max });
    check(&many(65), RecordError::TooManyHeaders { count: 65, max: 64 });
    check(&many(2).with_header("", "v"), RecordError::HeaderKeyEmpty { index: 2 });
    let long_key = RecordError::HeaderKeyTooLarge { index: 0, len: 1025, max: 1024 };
    check(&record().with_header(of(1025), ""), long_key);
    let long_value = RecordError::HeaderValueTooLarge { index: 0, len: 65_536, max: 65_535 };
    check(&record().with_header("k", of(65_536)), long_value);
    check(&wide(65_518), RecordError::HeadersTooLarge { len: 262_145, max: 262_144 });
}

#[test]
fn a_record_joins_a_block_up_to_the_target_and_the_first_one_always() {
    let mut builder = BlockBuilder::new(Lsn(0), 0);
    assert!(builder.fits(u64::MAX, 0));
    builder.push(&Record::new(TimestampMs(0), "four"));
    assert_eq!((builder.len(), builder.record_count(), builder.is_empty()), (20, 1, false));
    assert!(builder.fits(20, 40));
    assert!(!builder.fits(21, 40));
    assert!(builder.fits(u64::from(MAX_BLOCK_RAW_SIZE) - 20, usize::MAX));
    assert!(!builder.fits(u64::from(MAX_BLOCK_RAW_SIZE) - 19, usize::MAX));
}

#[test]
fn encoded_len_is_what_a_block_grows_by() {
    let plain = Record::new(TimestampMs(-1), "value");
    for record in [plain.clone(), plain.with_header("key", "").with_header("k", "v")] {
        let mut builder = BlockBuilder::new(Lsn(0), 0);
        builder.push(&record);
        assert_eq!(builder.len() as u64, record.encoded_len());
    }
}

#[test]
fn blocks_end_at_16_mebibytes() {
    let full = |extra| {
        let mut bytes = (0..3).flat_map(|_| encoded(150, b"", MAX_VALUE_LEN - 16)).collect::<Vec<_>>();
        bytes.extend(encoded(150, b"", MAX_VALUE_LEN - 16 + extra));
        bytes
    };
    assert_eq!(open_raw(full(0), 4).expect("16 MiB").records().len(), 4);
    let error = open_raw(full(1), 4).expect_err("one byte more");
    assert_eq!((error.kind, error.section), (TooLarge, Section::Block));
}

#[test]
fn blocks_that_no_reader_accepts_are_not_sealed() {
    let block = |base: u64, count, len: usize, min, max| RawBlock {
        bytes: Bytes::from(vec![0; len]),
        record_count: count,
        base_lsn: Lsn(base),
        min_timestamp: TimestampMs(min),
        max_timestamp: TimestampMs(max),
    };
    let seal = |block: RawBlock| BlockCodec::new().seal(&block, Codec::Zstd, 3, HASH).map(drop).map_err(|e| e.kind);
    assert_eq!(seal(block(u64::MAX - 2, 2, 32, 0, 0)), Ok(()));
    assert_eq!(seal(block(u64::MAX - 1, 2, 32, 0, 0)), Err(Invalid));
    assert_eq!(seal(block(u64::MAX, 1, 32, 0, 0)), Err(Invalid));
    assert_eq!(seal(block(0, 0, 32, 0, 0)), Err(Invalid));
    assert_eq!(seal(block(0, 3, 47, 0, 0)), Err(Invalid));
    assert_eq!(seal(block(0, 1, 0, 0, 0)), Err(Invalid));
    assert_eq!(seal(block(0, 1, 16, 1, 0)), Err(Invalid));
}

#[test]
fn every_zstd_level_from_1_to_19_is_read_again() {
    let mut builder = BlockBuilder::new(Lsn(0), 0);
    for record in &bulk_records(json200(), 300) {
        builder.push(record);
    }
    let raw = builder.finish();
    let mut codec = BlockCodec::new();
    let mut open = |level| {
        let sealed = codec.seal(&raw, Codec::Zstd, level, HASH)?;
        codec.open(&sealed.meta, &sealed.stored, Codec::Zstd, HASH, 0)
    };
    for level in (1..=19).rev() {
        assert_eq!(open(level).expect("a level of the range").records().len(), 300);
    }
    assert_eq!(open(0).expect_err("below").kind, Invalid);
    assert_eq!(open(20).expect_err("above").kind, Invalid);
}

#[test]
fn uncompressed_blocks_are_never_copied() {
    let mut builder = BlockBuilder::new(Lsn(0), 100);
    builder.push(&Record::new(TimestampMs(0), "value").with_header("key", "other"));
    let raw = builder.finish();
    let mut codec = BlockCodec::new();
    let sealed = codec.seal(&raw, Codec::None, 3, HASH).expect("valid");
    let block = codec.open(&sealed.meta, &sealed.stored, Codec::None, HASH, 0).expect("valid");
    let record = block.record(Lsn(0)).expect("the record");
    let memory = raw.bytes.as_ptr_range();
    for part in [&sealed.stored, &record.value, &record.headers[0].key, &record.headers[0].value] {
        assert!(memory.contains(&part.as_ptr()));
    }
}

/// Opens zstd bytes as a block of one record.
fn open_zstd(stored: Vec<u8>, raw_size: usize) -> Result<DecodedBlock, FormatError> {
    let size = |len: usize| u32::try_from(len).expect("short");
    let meta = BlockMeta {
        stored_size: size(stored.len()),
        raw_size: size(raw_size),
        record_count: 1,
        base_lsn: Lsn(0),
        min_timestamp: TimestampMs(100),
        max_timestamp: TimestampMs(200),
        block_hash: HASH.hash(&stored),
    };
    BlockCodec::new().open(&meta, &stored.into(), Codec::Zstd, HASH, 128)
}

#[test]
fn frames_decompress_to_exactly_the_raw_size() {
    let raw = encoded(150, b"", 1 << 20);
    let frame = zstd::bulk::compress(&raw, 3).expect("zstd");
    assert!(open_zstd(frame.clone(), raw.len()).is_ok());
    assert_eq!(open_zstd(frame.clone(), raw.len() - 1).expect_err("a bomb").kind, Invalid);
    assert_eq!(open_zstd(frame.clone(), raw.len() + 1).expect_err("too little").kind, Mismatch);
    assert_eq!(open_zstd(frame[1..].to_vec(), raw.len()).expect_err("no frame").kind, Invalid);
    assert_eq!(open_zstd(frame[..frame.len() - 1].to_vec(), raw.len()).expect_err("a cut frame").kind, Invalid);
}

#[test]
fn frames_without_content_size_with_large_windows_or_in_pieces_are_read() {
    use zstd::stream::Encoder;
    let raw = encoded(150, b"", 100_000);
    let mut streamed = Encoder::new(Vec::new(), 3).expect("zstd");
    streamed.include_contentsize(false).expect("zstd");
    streamed.window_log(23).expect("zstd");
    std::io::copy(&mut raw.as_slice(), &mut streamed).expect("zstd");
    let streamed = streamed.finish().expect("zstd");
    // Frame header: no content size, and a window descriptor of 8 MiB (objlog formats, 1.8).
    assert_eq!(streamed[4..6], [0x00, 0x68]);
    let (left, right) = raw.split_at(50_000);
    let pieces = [left, right].map(|part| zstd::bulk::compress(part, 3).expect("zstd")).concat();
    for stored in [streamed, pieces] {
        let block = open_zstd(stored, raw.len()).expect("readable");
        assert_eq!(block.records().next().map(|record| record.value.len()), Some(100_000));
    }
}
