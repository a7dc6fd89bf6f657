//! Whatever the log looks like, a reader finds exactly its records; whatever is damaged, never another record.
use crate::reader_kit::{Log, World, ranged};
use bucketlog_core::format::segment::{Codec, Header, Record};
use bucketlog_core::ids::{Lsn, TimestampMs};
use bucketlog_core::reader::{Answer, Freshness, ReadError, ReadLimit, ReaderOptions};
use bytes::Bytes;
use proptest::prelude::*;

/// Shape of a record: milliseconds after the one before, headers, length of its value.
type Shape = (u8, u8, u8);

fn build(leaf: u32, index: u32, codec: Codec, segments: &[Vec<Vec<Shape>>]) -> Log {
    let mut log = Log::new(leaf, index, codec);
    let mut clock = 0;
    for segment in segments {
        let mut blocks = Vec::new();
        for block in segment {
            let records = block.iter().map(|(step, headers, len)| {
                clock += i64::from(*step);
                let headers = (0..*headers).map(|n| Header { key: Bytes::from(vec![n + 1]), value: Bytes::new() });
                let value = vec![*len; usize::from(*len)];
                Record { timestamp: TimestampMs(clock), headers: headers.collect(), value: value.into() }
            });
            blocks.push(records.collect());
        }
        log.commit(&blocks);
    }
    log
}

fn logs() -> impl Strategy<Value = Log> {
    let record = (prop_oneof![Just(0_u8), 0..4_u8], 0..3_u8, any::<u8>());
    let block = prop::collection::vec(record, 1..5);
    let segment = prop::collection::vec(block, 1..4);
    let segments = prop::collection::vec(segment, 0..24);
    let codec = prop_oneof![Just(Codec::None), Just(Codec::Zstd)];
    (1..5_u32, 2..5_u32, codec, segments)
        .prop_map(|(leaf, index, codec, segments)| build(leaf, index, codec, &segments))
}

fn options() -> impl Strategy<Value = ReaderOptions> {
    let cache = || prop_oneof![Just(0), Just(1500), Just(1 << 20)];
    let whole = prop_oneof![Just(0), Just(700), Just(1 << 20)];
    let prefetch = (prop_oneof![Just(1), Just(500), Just(1 << 24)], 0..6_usize);
    (cache(), cache(), cache(), whole, prefetch, prop_oneof![Just(0), Just(600), Just(1 << 22)], 0..4_usize).prop_map(
        |(page, index, block, whole, (prefetch_bytes, prefetch_count), merge_bytes, max_in_flight)| ReaderOptions {
            page_cache_bytes: page,
            index_cache_bytes: index,
            block_cache_bytes: block,
            whole_segment_max: whole,
            verify_segment_hash: true,
            prefetch_bytes,
            prefetch_count,
            merge_bytes,
            max_in_flight,
            ..ReaderOptions::default()
        },
    )
}

#[derive(Clone, Copy, Debug)]
enum Question {
    Read { from: u64, records: u32, bytes: u64 },
    Fetch(u64),
    Time { timestamp: i64, records: u32 },
    Trim(u64),
    Commit(usize),
}

fn questions() -> impl Strategy<Value = Vec<Question>> {
    let question = prop_oneof![
        4 => (0..260_u64, 1..300_u32, prop_oneof![Just(0), 1..3000_u64])
            .prop_map(|(from, records, bytes)| Question::Read { from, records, bytes }),
        4 => (0..260_u64).prop_map(Question::Fetch),
        4 => (-2..300_i64, 1..50_u32).prop_map(|(timestamp, records)| Question::Time { timestamp, records }),
        1 => (0..260_u64).prop_map(Question::Trim),
        1 => (1..4_usize).prop_map(Question::Commit),
    ];
    prop::collection::vec(question, 1..12)
}

/// The records from `from` on that fit the limits, as a caller may expect them.
fn within(log: &Log, from: usize, records: u32, bytes: u64) -> Vec<(Lsn, Record)> {
    let bytes = if bytes == 0 { u64::MAX } else { bytes };
    let mut used = 0;
    log.expected(from, log.records.len().min(from + records as usize))
        .into_iter()
        .enumerate()
        .take_while(|(place, (_, record))| {
            used += record.encoded_len();
            *place == 0 || used <= bytes
        })
        .map(|(_, record)| record)
        .collect()
}

fn ask(world: &mut World, question: Question) {
    let (oldest, next) = (world.log.head.oldest_lsn, world.log.head.next_lsn);
    match question {
        Question::Read { from, records, bytes } => {
            let limit = ReadLimit { records, bytes };
            let call = world.reader.read(Lsn(from), limit, Freshness::Latest);
            let answer = world.wait(call);
            if Lsn(from) < oldest {
                assert_eq!(answer.unwrap_err(), ReadError::Expired { requested: Lsn(from), oldest, next });
                return;
            }
            let Answer::Batch(batch) = answer.unwrap() else { panic!("a batch") };
            let place = usize::try_from(from).unwrap();
            let wanted = if Lsn(from) < next { within(&world.log, place, records, bytes) } else { Vec::new() };
            assert_eq!(batch.next_lsn, Lsn(from + wanted.len() as u64));
            assert_eq!(batch.records, wanted);
        }
        Question::Fetch(lsn) => {
            world.head(Freshness::Latest).unwrap();
            let answer = world.fetch(lsn);
            let requested = Lsn(lsn);
            if requested < oldest {
                assert_eq!(answer, Err(ReadError::Expired { requested, oldest, next }));
            } else if requested >= next {
                assert_eq!(answer, Err(ReadError::NotYet { requested, next }));
            } else {
                assert_eq!(answer.unwrap(), world.log.records[usize::try_from(lsn).unwrap()]);
            }
        }
        Question::Time { timestamp, records } => {
            world.head(Freshness::Latest).unwrap();
            let first = usize::try_from(oldest.0).unwrap();
            let late = |record: &Record| record.timestamp.0 >= timestamp;
            let place = world.log.records[first..].iter().position(late).map(|place| first + place);
            let call = world.reader.find_timestamp(TimestampMs(timestamp));
            assert_eq!(world.wait(call), Ok(Answer::Position(place.map(|place| Lsn(place as u64)))));
            let batch = world.read_time(timestamp, records).unwrap();
            let wanted = place.map_or_else(Vec::new, |place| within(&world.log, place, records, 0));
            assert_eq!(batch.next_lsn, place.map_or(next, |place| Lsn((place + wanted.len()) as u64)));
            assert_eq!(batch.records, wanted);
            assert_eq!(batch.head.next_lsn, next);
        }
        Question::Trim(before) => {
            if Lsn(before) > world.log.head.applied_retention_lsn {
                world.log.trim(before);
            }
        }
        Question::Commit(count) => {
            let last = world.log.records.last().map_or(TimestampMs(0), |record| record.timestamp);
            let records = (0..count).map(|i| Record::new(last, vec![7; i])).collect();
            world.log.commit(&[records]);
        }
    }
}

proptest! {
    #[test]
    fn a_reader_answers_as_the_records_say(log in logs(), options in options(), questions in questions()) {
        let mut world = log.reader(options);
        for question in questions {
            ask(&mut world, question);
        }
    }
}

/// Reads all, one record, and by timestamp; every answer must be right or a typed error.
fn probe(world: &mut World, what: &str) {
    let count = world.log.records.len();
    let mut at = 0;
    while at < count {
        match world.read(at as u64, 5) {
            Ok(batch) => {
                let end = usize::try_from(batch.next_lsn.0).unwrap();
                assert!(end > at && end <= count, "{what}: {at}..{end}");
                assert_eq!(batch.records, world.log.expected(at, end), "{what}");
                at = end;
            }
            Err(error) => {
                assert!(is_damage(&error), "{what}: {error}");
                at += 1;
            }
        }
    }
    match world.fetch(3) {
        Ok(record) => assert_eq!(record, world.log.records[3], "{what}"),
        Err(error) => assert!(is_damage(&error), "{what}: {error}"),
    }
    match world.read_time(1004, 2) {
        Ok(batch) => assert_eq!(batch.records, world.log.expected(4, 4 + batch.records.len()), "{what}"),
        Err(error) => assert!(is_damage(&error), "{what}: {error}"),
    }
}

fn is_damage(error: &ReadError) -> bool {
    matches!(error, ReadError::Corrupt { .. } | ReadError::HeadGone { .. })
}

#[test]
fn no_flipped_byte_of_any_object_gives_a_wrong_record() {
    let mut log = Log::new(2, 2, Codec::None);
    for _ in 0..3 {
        let blocks = log.next_records(4).chunks(2).map(<[_]>::to_vec).collect::<Vec<_>>();
        log.commit(&blocks);
    }
    let mut damaged = 0;
    for (key, (bytes, _)) in &log.bucket.objects {
        for offset in 0..bytes.len() {
            let mut bytes = bytes.to_vec();
            bytes[offset] ^= 1 << (offset % 8);
            for options in [ReaderOptions::default(), ranged()] {
                let mut world = log.reader(options);
                world.log.bucket.put(key, bytes.clone().into());
                probe(&mut world, &format!("byte {offset} of {key}"));
                damaged += 1;
            }
        }
    }
    assert!(damaged > 4000, "{damaged}");
}
