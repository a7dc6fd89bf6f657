//! What each operation costs, counted at the store beneath the public handles: H01, H02, H06, H07 and E19.
use crate::world::{Conduct, PARTITION, Unruly, log_on, options, record, writer};
use bucketlog_blocking::reader::{Freshness, ReadLimit, ReaderOptions};
use bucketlog_blocking::store::{Counted, Counts, Memory};
use bucketlog_blocking::writer::WriterOptions;
use bucketlog_blocking::{Log, Reader};
use bucketlog_core::format::catalog::CatalogLayout;
use bucketlog_core::ids::{Lsn, TimestampMs};
use std::sync::Arc;
use std::thread;

type Store = Arc<Counted<Memory>>;

fn counted() -> (Store, Log) {
    let store = Arc::new(Counted::new(Memory::new()));
    (Arc::clone(&store), log_on(store))
}

/// A catalog that is deep after a few segments.
fn narrow() -> WriterOptions {
    WriterOptions { layout: CatalogLayout { leaf_limit: 2, index_limit: 2, ..CatalogLayout::default() }, ..options() }
}

/// Checks the requests made since `before`, by kind: reads, creates and swaps, and nothing else.
#[track_caller]
fn check(store: &Store, before: Counts, [get, create, swap]: [u64; 3]) {
    let made = store.counts() - before;
    let expected =
        Counts { get, create, swap, bytes_in: made.bytes_in, bytes_out: made.bytes_out, ..Counts::default() };
    assert_eq!(made, expected);
}

/// A partition of eight segments, each of 16 records in several blocks, under several levels of pages.
fn deep() -> (Store, Log) {
    let (store, log) = counted();
    let mut writer = log.writer(PARTITION, WriterOptions { block_bytes: 100, ..narrow() }).unwrap();
    for n in 0..8 * 16 {
        writer.append(record(n)).unwrap();
        if n % 16 == 15 {
            writer.flush().unwrap();
        }
    }
    writer.close().unwrap();
    (store, log)
}

/// A reader that takes no segment whole, however small.
fn ranged(log: &Log) -> Reader {
    log.reader(PARTITION, ReaderOptions { whole_segment_max: 0, ..ReaderOptions::default() }).unwrap()
}

#[test]
fn h06_an_open_or_takeover_is_one_get_and_one_swap() {
    let (store, log) = counted();
    let _first = writer(&log);
    check(&store, Counts::default(), [1, 0, 1]);
    let before = store.counts();
    let _second = writer(&log);
    check(&store, before, [1, 0, 1]);
}

#[test]
fn h07_the_flush_of_a_small_batch_is_one_create_and_one_swap() {
    let (store, log) = counted();
    let mut writer = writer(&log);
    let before = store.counts();
    writer.append(record(1)).unwrap();
    writer.append(record(2)).unwrap();
    writer.flush().unwrap();
    check(&store, before, [0, 1, 1]);
}

#[test]
fn h07_pages_are_added_where_a_leaf_or_an_index_is_sealed() {
    let (store, log) = counted();
    let mut writer = log.writer(PARTITION, narrow()).unwrap();
    for pages in [0, 1, 0, 2, 0, 1, 0, 3] {
        let before = store.counts();
        writer.append(record(1)).unwrap();
        writer.flush().unwrap();
        check(&store, before, [0, 1 + pages, 1]);
    }
}

#[test]
fn h07_segments_that_wait_for_a_swap_share_the_next_one() {
    const WAITING: u64 = 5;
    let store = Arc::new(Counted::new(Unruly::default()));
    let log = log_on(Arc::clone(&store) as _);
    let mut writer = writer(&log);
    let before = store.counts();
    store.inner().swaps(Conduct::Hold);
    for _ in 0..=WAITING {
        writer.append(record(1)).unwrap();
        writer.cut();
        store.inner().wait_held(1);
    }
    while writer.watermarks().uploaded <= Lsn(WAITING) {
        thread::yield_now();
    }
    store.inner().swaps(Conduct::Execute);
    assert_eq!(writer.flush(), Ok(Lsn(WAITING + 1)));
    let made = store.counts() - before;
    assert_eq!((made.create, made.swap, made.requests()), (1 + WAITING, 2, 1 + WAITING + 2));
}

#[test]
fn a_cold_read_of_one_lsn_is_the_head_its_pages_and_at_most_two_gets() {
    let (store, log) = deep();
    let whole = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    for (reader, segment) in [(ranged(&log), 2), (whole, 1)] {
        let before = store.counts();
        assert_eq!(reader.fetch(Lsn(1)), Ok(record(1)));
        let pages = reader.head(Freshness::Cached).unwrap().sections.len() as u64;
        assert!(pages >= 3, "the catalog is deep");
        check(&store, before, [1 + pages + segment, 0, 0]);
    }
}

#[test]
fn a_neighbour_in_a_cached_block_is_free_and_in_a_cached_index_one_get() {
    let (store, log) = deep();
    let reader = ranged(&log);
    reader.fetch(Lsn(0)).unwrap();
    for (lsn, get) in [(1, 0), (6, 1), (7, 0), (0, 0)] {
        let before = store.counts();
        assert_eq!(reader.fetch(Lsn(lsn)), Ok(record(u8::try_from(lsn).unwrap())), "LSN {lsn}");
        check(&store, before, [get, 0, 0]);
    }
}

#[test]
fn h01_nothing_is_ever_listed_deleted_or_asked_for_its_size() {
    let (store, log) = deep();
    let reader = ranged(&log);
    assert_eq!(reader.iter(Lsn(0)).count(), 128);
    reader.read_from_timestamp(TimestampMs(77), ReadLimit::records(3)).unwrap();
    reader.find_timestamp(TimestampMs(1000)).unwrap();
    reader.head(Freshness::Latest).unwrap();
    let mut old = writer(&log);
    let mut new = writer(&log);
    old.append(record(200)).unwrap();
    assert!(old.flush().is_err(), "it was fenced");
    new.append_durable(record(201)).unwrap();
    new.append(record(202)).unwrap();
    drop((old, new));
    let made = store.counts();
    assert_eq!((made.list, made.delete, made.stat), (0, 0, 0));
}

#[test]
fn h02_an_idle_writer_or_reader_makes_no_request() {
    let (store, log) = counted();
    let mut writer = writer(&log);
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    writer.append_durable(record(1)).unwrap();
    reader.fetch(Lsn(0)).unwrap();
    let before = store.counts();
    writer.flush().unwrap();
    reader.head(Freshness::Cached).unwrap();
    reader.fetch(Lsn(0)).unwrap();
    writer.close().unwrap();
    drop((reader, log));
    check(&store, before, [0, 0, 0]);
}

#[test]
fn e19_readers_never_write() {
    let (store, log) = deep();
    let before = store.counts();
    let unwritten = log.reader(bucketlog_core::ids::Partition(9), ReaderOptions::default()).unwrap();
    assert_eq!(unwritten.iter(Lsn(0)).count(), 0);
    assert!(unwritten.fetch(Lsn(0)).is_err());
    let reader = ranged(&log);
    assert_eq!(reader.iter(Lsn(0)).count(), 128);
    assert!(reader.fetch(Lsn(500)).is_err());
    let made = store.counts() - before;
    assert_eq!((made.get, made.bytes_in), (made.requests(), 0));
}
