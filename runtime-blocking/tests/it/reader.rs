use crate::world::{PARTITION, log_on, record, world, writer};
use bucketlog_blocking::reader::{Freshness, ReadLimit, ReaderOptions};
use bucketlog_blocking::store::{Counted, Memory};
use bucketlog_blocking::{Log, Reader, Record, error::ReadError};
use bucketlog_core::ids::{Lsn, TimestampMs};
use pollster::block_on;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;

fn reader(log: &Log) -> Reader {
    log.reader(PARTITION, ReaderOptions::default()).unwrap()
}

/// Records 1 to 9 in three segments.
fn written(log: &Log) {
    let mut writer = writer(log);
    for n in 1..=9 {
        writer.append(record(n)).unwrap();
        if n % 3 == 0 {
            writer.flush().unwrap();
        }
    }
    writer.close().unwrap();
}

fn stored(lsn: u8) -> (Lsn, Record) {
    (Lsn(lsn.into()), record(lsn + 1))
}

#[test]
fn reads_give_what_was_written() {
    let (_, log) = world();
    written(&log);
    let reader = reader(&log);
    assert_eq!(reader.head(Freshness::OnTail).unwrap().next_lsn, Lsn(9));
    assert_eq!(reader.fetch(Lsn(4)), Ok(record(5)));
    let batch = reader.read(Lsn(2), ReadLimit::records(4), Freshness::OnTail).unwrap();
    assert_eq!(batch.records, (2..6).map(stored).collect::<Vec<_>>());
    assert_eq!(reader.find_timestamp(TimestampMs(6)), Ok(Some(Lsn(5))));
    let batch = reader.read_from_timestamp(TimestampMs(9), ReadLimit::default()).unwrap();
    assert_eq!(batch.records, [(Lsn(8), record(9))]);
}

#[test]
fn reads_work_as_futures() {
    let (_, log) = world();
    written(&log);
    let reader = reader(&log);
    block_on(async {
        assert_eq!(reader.head_async(Freshness::Latest).await.unwrap().next_lsn, Lsn(9));
        assert_eq!(reader.fetch_async(Lsn(0)).await, Ok(record(1)));
        let batch = reader.read_async(Lsn(7), ReadLimit::default(), Freshness::OnTail).await.unwrap();
        assert_eq!(batch.next_lsn, Lsn(9));
        assert_eq!(reader.find_timestamp_async(TimestampMs(10)).await, Ok(None));
        let batch = reader.read_from_timestamp_async(TimestampMs(1), ReadLimit::records(1)).await.unwrap();
        assert_eq!(batch.records, [(Lsn(0), record(1))]);
    });
}

#[test]
fn the_iterator_ends_at_the_end_of_the_log() {
    let (_, log) = world();
    written(&log);
    let records: Result<Vec<_>, _> = reader(&log).iter(Lsn(1)).collect();
    assert_eq!(records.unwrap(), (1..9).map(stored).collect::<Vec<_>>());
}

#[test]
fn an_error_is_the_last_item() {
    let (_, log) = world();
    let mut writer = writer(&log);
    writer.append_durable(record(1)).unwrap();
    let mut items = reader(&log).iter(Lsn(0));
    assert!(matches!(items.next(), Some(Ok(_))));
    assert!(items.next().is_none() && items.next().is_none());
    assert!(matches!(reader(&log).fetch(Lsn(1)), Err(ReadError::NotYet { next: Lsn(1), .. })));
}

#[test]
fn a_reader_follows_the_writer() {
    let (_, log) = world();
    let reader = reader(&log);
    assert_eq!(reader.head(Freshness::OnTail).unwrap().next_lsn, Lsn(0));
    let mut writer = writer(&log);
    for n in 1..=5 {
        let lsn = writer.append_durable(record(n)).unwrap();
        assert_eq!(reader.fetch(lsn), Ok(record(n)));
    }
}

#[test]
fn clones_serve_many_threads_from_shared_caches() {
    let store = Arc::new(Counted::new(Memory::new()));
    let log = log_on(Arc::clone(&store) as _);
    written(&log);
    let reader = reader(&log);
    let before = store.counts();
    thread::scope(|scope| {
        for _ in 0..8 {
            let reader = reader.clone();
            scope.spawn(move || {
                for (lsn, record) in (0..9).map(stored) {
                    assert_eq!(reader.fetch(lsn), Ok(record));
                }
            });
        }
    });
    let used = store.counts() - before;
    assert_eq!((used.get, used.requests()), (4, 4), "one head and three segments");
}

#[test]
fn a_dropped_read_is_given_up() {
    let (_, log) = world();
    written(&log);
    let reader = reader(&log);
    {
        let mut context = Context::from_waker(Waker::noop());
        let _ = pin!(reader.fetch_async(Lsn(0))).poll(&mut context);
    }
    assert_eq!(reader.fetch(Lsn(0)), Ok(record(1)));
}
