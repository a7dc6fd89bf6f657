//! How many requests a reader sends, and what its caches keep.
use crate::reader_kit::{Log, ranged};
use bucketlog_core::boundary::{ByteRange, Command, Machine};
use bucketlog_core::format::segment::Codec;
use bucketlog_core::ids::{Lsn, TimestampMs};
use bucketlog_core::reader::{Freshness, ReadError, ReadLimit, ReaderEvent, ReaderOptions};

/// 40 segments of two records in a tree of fan-out 3: two levels of pages and more.
fn deep_log() -> Log {
    let mut log = Log::new(3, 3, Codec::Zstd);
    log.commit_all(&[2; 40]);
    log
}

/// One segment of `blocks` blocks with four records each.
fn one_segment(blocks: usize) -> Log {
    let mut log = Log::new(4, 4, Codec::Zstd);
    let records = log.next_records(4 * blocks);
    log.commit(&records.chunks(4).map(<[_]>::to_vec).collect::<Vec<_>>());
    log
}

#[test]
fn a_cold_read_of_one_lsn_costs_the_head_its_pages_and_at_most_two_gets() {
    for (options, segment_gets) in [(ranged(), 2), (ReaderOptions::default(), 1)] {
        let mut world = deep_log().reader(options);
        assert_eq!(world.fetch(0).unwrap(), world.log.records[0]);
        let levels = world.log.head.sections.len();
        assert_eq!(levels, 3, "the log is deep enough");
        assert_eq!(world.requests(), [1, levels, segment_gets]);
    }
}

#[test]
fn a_neighbour_in_a_cached_block_costs_nothing_and_in_a_cached_index_one_get() {
    let mut world = one_segment(3).reader(ranged());
    world.fetch(0).unwrap();
    world.requests();
    assert_eq!(world.fetch(1).unwrap(), world.log.records[1]);
    assert_eq!(world.requests(), [0, 0, 0]);
    assert_eq!(world.fetch(5).unwrap(), world.log.records[5]);
    assert_eq!(world.requests(), [0, 0, 1]);
}

#[test]
fn index_and_trailer_come_in_one_range_and_a_small_segment_whole() {
    let mut world = one_segment(3).reader(ranged());
    world.fetch(4).unwrap();
    let entry = world.log.head.active[0];
    let ranges: Vec<ByteRange> = world.log.bucket.gets[1..].iter().map(|get| get.range).collect();
    assert_eq!(ranges[0], ByteRange::FromTo(entry.block_index_offset, entry.size_bytes));
    assert!(matches!(ranges[..], [_, ByteRange::FromTo(from, to)] if from > 64 && to < entry.block_index_offset));

    let mut world = one_segment(3).reader(ReaderOptions::default());
    world.fetch(4).unwrap();
    assert_eq!(world.log.bucket.gets[1].range, ByteRange::All);
    assert_eq!(world.decoded, 1, "only the block of the record is decoded");
}

/// E19 and H01.
#[test]
fn a_reader_only_reads_and_decodes() {
    let mut world = deep_log().reader(ranged());
    world.reader.read(Lsn(0), ReadLimit::default(), Freshness::Latest);
    world.reader.fetch(Lsn(70));
    world.reader.read_from_timestamp(TimestampMs(1050), ReadLimit::default());
    let before = world.log.bucket.objects.clone();
    let mut kinds = [0; 2];
    loop {
        let commands = world.poll();
        if commands.is_empty() {
            break;
        }
        for command in commands {
            match &command {
                Command::Get(_) => kinds[0] += 1,
                Command::DecodeBlock(_) => kinds[1] += 1,
                other => panic!("{other:?}"),
            }
            let completion = world.execute(command).unwrap();
            world.reader.complete(world.now, completion);
        }
    }
    assert_eq!(world.events.len(), 3);
    assert!(kinds[0] > 40 && kinds[1] == 40, "{kinds:?}");
    assert_eq!(world.log.bucket.objects, before);
}

/// H02.
#[test]
fn an_idle_reader_has_no_commands_and_no_deadline() {
    let mut world = deep_log().reader(ReaderOptions::default());
    assert!(world.poll().is_empty());
    assert_eq!(world.reader.deadline(), None);
    world.read(0, 100).unwrap();
    assert!(world.poll().is_empty());
    assert_eq!(world.reader.deadline(), None);
}

#[test]
fn freshness_decides_whether_the_head_is_read_again() {
    let mut world = deep_log().reader(ReaderOptions::default());
    world.head(Freshness::Cached).unwrap();
    assert_eq!(world.requests(), [1, 0, 0], "there is no head yet");
    world.head(Freshness::Cached).unwrap();
    world.read(79, 1).unwrap();
    assert_eq!(world.requests()[0], 0, "the cached head holds the position");
    world.read(80, 1).unwrap();
    assert_eq!(world.requests()[0], 1, "the position is the end of the cached head");
    let call = world.reader.read(Lsn(0), ReadLimit::default(), Freshness::Latest);
    world.wait(call).unwrap();
    assert_eq!(world.requests()[0], 1);
    let call = world.reader.read(Lsn(80), ReadLimit::default(), Freshness::Cached);
    world.wait(call).unwrap();
    assert_eq!(world.requests()[0], 0);
}

#[test]
fn an_unchanged_head_is_not_transferred_again() {
    let mut world = deep_log().reader(ReaderOptions::default());
    let first = world.head(Freshness::Latest).unwrap();
    assert_eq!(world.head(Freshness::Latest).unwrap(), first);
    assert!(world.log.bucket.gets[0].if_none_match.is_none());
    assert!(world.log.bucket.gets[1].if_none_match.is_some());
    world.log.commit_all(&[1]);
    assert_eq!(world.head(Freshness::Latest).unwrap().next_lsn, Lsn(81));
}

#[test]
fn two_calls_that_need_one_thing_load_it_once() {
    let mut world = deep_log().reader(ranged());
    let calls = [world.reader.fetch(Lsn(0)), world.reader.fetch(Lsn(1)), world.reader.fetch(Lsn(0))];
    for call in calls {
        world.wait(call).unwrap();
    }
    assert_eq!(world.requests(), [1, 3, 2]);
    assert_eq!(world.decoded, 1);
}

#[test]
fn a_call_never_uses_the_answer_to_a_head_request_that_was_sent_before_it() {
    let mut world = deep_log().reader(ReaderOptions::default());
    let early = world.reader.read(Lsn(80), ReadLimit::default(), Freshness::OnTail);
    let mut flying = world.poll();
    let Some(Command::Get(op)) = flying.pop() else { panic!("the head is asked for") };
    let (get, ticket) = op.split();
    let stale = world.log.bucket.get(&get);
    world.log.commit_all(&[1]);
    let late = world.reader.read(Lsn(80), ReadLimit::default(), Freshness::OnTail);
    assert!(world.poll().is_empty(), "one head request at a time");
    world.reader.complete(world.now, ticket.done(stale));
    let late = crate::reader_kit::batch(world.wait(late).unwrap());
    assert_eq!(late.records, world.log.expected(80, 81));
    let early = crate::reader_kit::batch(world.wait(early).unwrap());
    assert_eq!((early.records.len(), early.next_lsn), (0, Lsn(80)));
    assert_eq!(world.requests()[0], 2);
}

#[test]
fn a_read_loads_ahead_in_parallel_and_delivers_in_order() {
    let mut world = deep_log().reader(ranged());
    let call = world.reader.read(Lsn(60), ReadLimit::default(), Freshness::OnTail);
    let mut most = 0;
    let result = loop {
        let mut commands = world.poll();
        if let Some(result) = world.answer(call) {
            break result;
        }
        most = most.max(commands.len());
        commands.reverse();
        for command in commands {
            let completion = world.execute(command).unwrap();
            world.reader.complete(world.now, completion);
        }
    };
    assert_eq!(crate::reader_kit::batch(result.unwrap()).records, world.log.expected(60, 80));
    assert!(most >= 3, "{most} at once");
}

#[test]
fn commands_in_flight_are_bounded() {
    let mut world = deep_log().reader(ReaderOptions { max_in_flight: 3, ..ranged() });
    for lsn in 0..80 {
        world.reader.fetch(Lsn(lsn));
    }
    let mut flying = 0_usize;
    let mut waiting = Vec::new();
    loop {
        let commands = world.poll();
        flying += commands.len();
        waiting.extend(commands);
        assert!(flying <= 3);
        if waiting.is_empty() {
            break;
        }
        let command = waiting.remove(0);
        flying -= 1;
        let completion = world.execute(command).unwrap();
        world.reader.complete(world.now, completion);
    }
    let done = world.events.iter().filter(|event| matches!(event, ReaderEvent::Done { result: Ok(_), .. })).count();
    assert_eq!(done, 80);
}

#[test]
fn neighbouring_blocks_come_by_one_request_up_to_a_bound() {
    let mut world = one_segment(6).reader(ranged());
    let block = world.log.head.active[0].block_index_offset / 6;
    assert_eq!(world.read(0, 100).unwrap().records, world.log.expected(0, 24));
    assert_eq!(world.requests(), [1, 0, 2], "index and trailer, then all blocks");

    let mut world = one_segment(6).reader(ReaderOptions { merge_bytes: block * 2 + block / 2, ..ranged() });
    assert_eq!(world.read(0, 100).unwrap().records, world.log.expected(0, 24));
    assert_eq!(world.requests(), [1, 0, 4], "index and trailer, then three pairs of blocks");

    let mut world = one_segment(6).reader(ReaderOptions { merge_bytes: 0, ..ranged() });
    assert_eq!(world.read(0, 100).unwrap().records, world.log.expected(0, 24));
    assert_eq!(world.requests(), [1, 0, 7], "index and trailer, then one block at a time");
}

#[test]
fn only_blocks_within_the_limits_are_loaded() {
    let mut world = one_segment(6).reader(ReaderOptions { merge_bytes: 0, ..ranged() });
    assert_eq!(world.read(2, 4).unwrap().records, world.log.expected(2, 6));
    assert_eq!((world.requests(), world.decoded), ([1, 0, 3], 2));

    let record_len = world.log.records[0].encoded_len();
    let limit = ReadLimit { records: 1000, bytes: record_len * 8 };
    let call = world.reader.read(Lsn(8), limit, Freshness::OnTail);
    let batch = crate::reader_kit::batch(world.wait(call).unwrap());
    assert_eq!((batch.records, batch.next_lsn), (world.log.expected(8, 16), Lsn(16)));
    assert_eq!((world.requests(), world.decoded), ([0, 0, 2], 4));
}

#[test]
fn a_record_above_the_byte_limit_is_delivered_alone() {
    let mut world = one_segment(2).reader(ReaderOptions::default());
    let call = world.reader.read(Lsn(3), ReadLimit { records: 10, bytes: 1 }, Freshness::OnTail);
    let batch = crate::reader_kit::batch(world.wait(call).unwrap());
    assert_eq!((batch.records, batch.next_lsn), (world.log.expected(3, 4), Lsn(4)));
}

#[test]
fn a_limit_of_zero_stands_for_the_default() {
    let mut world = one_segment(500).reader(ReaderOptions::default());
    let call = world.reader.read(Lsn(0), ReadLimit { records: 0, bytes: 0 }, Freshness::OnTail);
    assert_eq!(crate::reader_kit::batch(world.wait(call).unwrap()).records.len(), 1024);
}

#[test]
fn caches_stay_within_their_budgets_and_nothing_depends_on_them() {
    for budget in [0, 600, 5000] {
        let options = ReaderOptions {
            page_cache_bytes: budget,
            index_cache_bytes: budget,
            block_cache_bytes: budget,
            ..ReaderOptions::default()
        };
        for options in [options.clone(), ReaderOptions { whole_segment_max: 0, prefetch_count: 1, ..options }] {
            let mut world = deep_log().reader(options);
            for from in [0_u8, 33, 7, 79] {
                let wanted = world.log.expected(from.into(), 80.min(usize::from(from) + 30));
                assert_eq!(world.read(from.into(), 30).unwrap().records, wanted);
                assert_eq!(world.read_time(1000 + i64::from(from), 1).unwrap().records[0].0, Lsn(from.into()));
                assert!(world.reader.cached_bytes().iter().all(|used| *used <= budget));
            }
        }
    }
}

#[test]
fn values_share_the_memory_of_their_block() {
    let mut log = Log::new(4, 4, Codec::None);
    log.commit_all(&[3]);
    let mut world = log.reader(ReaderOptions::default());
    let first = world.read(0, 3).unwrap();
    let again = world.read(0, 3).unwrap();
    for ((_, a), (_, b)) in first.records.iter().zip(&again.records) {
        assert_eq!(a.value.as_ptr(), b.value.as_ptr());
    }
}

#[test]
fn metrics_are_told_only_on_request() {
    let mut world = deep_log().reader(ReaderOptions::default());
    world.read(0, 10).unwrap();
    assert!(world.events.is_empty());

    let mut world = deep_log().reader(ReaderOptions { metrics: true, ..ReaderOptions::default() });
    world.read(0, 4).unwrap();
    let _ = world.fetch(100);
    world.read_time(0, 1).unwrap();
    world.head(Freshness::Cached).unwrap();
    let told: Vec<(&str, u64, bool)> = world
        .events
        .iter()
        .filter_map(|event| match event {
            ReaderEvent::Metric(metric) => Some((metric.name, metric.records, metric.failed)),
            _ => None,
        })
        .filter(|(name, ..)| *name != "reader.segment_read")
        .collect();
    let wanted = [
        ("reader.catalog_refresh", 0, false),
        ("reader.read", 4, false),
        ("reader.catalog_refresh", 0, false),
        ("reader.fetch", 0, true),
        ("reader.timestamp_read", 1, false),
        ("reader.head", 0, false),
    ];
    assert_eq!(told, wanted);
}

#[test]
fn a_position_outside_the_log_has_its_own_error() {
    let mut log = deep_log();
    log.trim(10);
    let mut world = log.reader(ReaderOptions::default());
    let expired = |requested| ReadError::Expired { requested: Lsn(requested), oldest: Lsn(10), next: Lsn(80) };
    assert_eq!(world.read(9, 1).unwrap_err(), expired(9));
    assert_eq!(world.fetch(3).unwrap_err(), expired(3));
    assert_eq!(world.fetch(80).unwrap_err(), ReadError::NotYet { requested: Lsn(80), next: Lsn(80) });
    for from in [80, 81, u64::MAX] {
        let batch = world.read(from, 1).unwrap();
        assert_eq!((batch.records.len(), batch.next_lsn), (0, Lsn(from)));
    }
    assert_eq!(world.read_time(0, 1).unwrap().records, world.log.expected(10, 11));
    let end = world.read_time(2000, 1).unwrap();
    assert_eq!((end.records.len(), end.next_lsn), (0, Lsn(80)));
}
