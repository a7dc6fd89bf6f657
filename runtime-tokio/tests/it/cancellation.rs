//! Every future may be dropped at any moment: each test drops one after 0, 1, 2, ... polls until it is never dropped.
use crate::world::{Held, PARTITION, current_thread, log_on, options, record, tight};
use bucketlog_tokio::reader::{Freshness, ReadLimit};
use bucketlog_tokio::store::Memory;
use bucketlog_tokio::{Log, Lsn, ReaderOptions, Record};
use futures_util::TryStreamExt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// Polls a future so many times at most, each time after everything else has gone on; its output, unless it was dropped.
async fn poll_times<F: Future>(future: F, times: usize) -> Option<F::Output> {
    let mut future = pin!(future);
    for _ in 0..times {
        let polled = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        if let Poll::Ready(output) = polled {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// The log, read from outside.
async fn records(log: &Log) -> Vec<(Lsn, Record)> {
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    reader.records(Lsn(0)).try_collect().await.unwrap()
}

/// Calls `check` with 0, 1, 2, ... polls until the future that it drops came to its end.
fn at_every_poll<F: Future<Output = bool>>(check: impl Fn(usize) -> F) {
    let runtime = current_thread();
    for polls in 0.. {
        assert!(polls < 1000, "a future that never ends");
        if runtime.block_on(check(polls)) {
            assert!(polls > 0, "the last run dropped nothing");
            return;
        }
    }
}

#[test]
fn a_dropped_open_leaves_a_log_that_can_be_opened() {
    at_every_poll(|polls| async move {
        let log = log_on(Arc::new(Memory::new()));
        let opened = poll_times(log.writer(PARTITION, options()), polls).await;
        let ended = opened.is_some();
        drop(opened);
        let mut writer = log.writer(PARTITION, options()).await.unwrap();
        assert_eq!(writer.append_durable(record(0)).await, Ok(Lsn(0)));
        ended
    });
}

#[test]
fn a_dropped_append_is_not_in_the_log() {
    at_every_poll(|polls| async move {
        let store = Held::new();
        let log = log_on(store.clone());
        let mut writer = log.writer(PARTITION, tight()).await.unwrap();
        store.hold();
        let mut expected = Vec::new();
        while writer.try_append(record(0)).is_ok() {
            expected.push(record(0));
        }
        // The store goes on while the append waits for room.
        let release = async {
            tokio::task::yield_now().await;
            store.release();
        };
        let (appended, ()) = tokio::join!(poll_times(writer.append(record(1)), polls), release);
        expected.extend(appended.as_ref().map(|_| record(1)));
        writer.append_durable(record(2)).await.unwrap();
        expected.push(record(2));
        let found: Vec<_> = records(&log).await.into_iter().map(|(_, record)| record).collect();
        assert_eq!(found, expected, "dropped after {polls} polls");
        appended.is_some()
    });
}

#[test]
fn a_dropped_batch_is_in_the_log_as_a_whole_or_not_at_all() {
    at_every_poll(|polls| async move {
        let store = Held::new();
        let log = log_on(store.clone());
        let mut narrow = tight();
        narrow.batch.max_records = 2;
        let mut writer = log.writer(PARTITION, narrow).await.unwrap();
        store.hold();
        let mut before = 0;
        while writer.try_append(record(0)).is_ok() {
            before += 1;
        }
        let release = async {
            tokio::task::yield_now().await;
            store.release();
        };
        let (appended, ()) = tokio::join!(poll_times(writer.append_batch(vec![record(1), record(1)]), polls), release);
        writer.append_durable(record(2)).await.unwrap();
        let found = records(&log).await;
        assert_eq!(found.len(), before + 1 + if appended.is_some() { 2 } else { 0 }, "dropped after {polls} polls");
        appended.is_some()
    });
}

#[test]
fn a_dropped_wait_for_durability_changes_nothing() {
    at_every_poll(|polls| async move {
        let log = log_on(Arc::new(Memory::new()));
        let mut writer = log.writer(PARTITION, options()).await.unwrap();
        let durable = poll_times(writer.append_durable(record(0)), polls).await;
        let accepted = u64::from(polls > 0);
        assert_eq!(writer.watermarks().accepted, Lsn(accepted), "accepted with the first poll");
        let waited = poll_times(writer.flush(), polls).await;
        writer.append_durable(record(1)).await.unwrap();
        assert_eq!(records(&log).await.len() as u64, accepted + 1, "dropped after {polls} polls");
        durable.is_some() && waited.is_some()
    });
}

#[test]
fn a_dropped_close_is_an_abort() {
    at_every_poll(|polls| async move {
        let log = log_on(Arc::new(Memory::new()));
        let mut writer = log.writer(PARTITION, options()).await.unwrap();
        writer.append_durable(record(0)).await.unwrap();
        let appended = writer.append(record(1)).await.unwrap();
        let closed = poll_times(writer.close(), polls).await;
        let proven = appended.durability.outcome().expect("every handle resolves");
        let mut next = log.writer(PARTITION, options()).await.unwrap();
        let lsn = next.append_durable(record(2)).await.unwrap();
        let found = records(&log).await;
        assert_eq!(found.len() as u64, lsn.0 + 1, "dense");
        assert!(proven.is_err() || found[1] == (Lsn(1), record(1)), "what was said to be durable is there");
        assert_eq!(closed.is_some(), closed.is_some_and(|end| end == Ok(Lsn(2))));
        proven.is_ok() && polls > 1 && found.len() == 3
    });
}

#[test]
fn a_dropped_read_leaves_a_reader_that_works() {
    at_every_poll(|polls| async move {
        let log = log_on(Arc::new(Memory::new()));
        log.writer(PARTITION, options()).await.unwrap().append_durable(record(0)).await.unwrap();
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        let read = poll_times(reader.read(Lsn(0), ReadLimit::default(), Freshness::OnTail), polls).await;
        assert_eq!(reader.fetch(Lsn(0)).await, Ok(record(0)));
        let listed = poll_times(reader.records(Lsn(0)).try_collect::<Vec<_>>(), polls).await;
        assert_eq!(reader.fetch(Lsn(0)).await, Ok(record(0)));
        read.is_some() && listed.is_some()
    });
}

#[test]
fn a_dropped_shutdown_goes_on_when_asked_again() {
    at_every_poll(|polls| async move {
        let store = Held::new();
        let log = log_on(store.clone());
        let mut writer = log.writer(PARTITION, options()).await.unwrap();
        store.hold();
        let appended = writer.append(record(0)).await.unwrap();
        writer.cut();
        store.until_held(1).await;
        assert!(poll_times(log.shutdown(), 1).await.is_none(), "a request is under way");
        store.release();
        let ended = poll_times(log.shutdown(), polls).await;
        log.shutdown().await;
        assert!(appended.durability.await.is_err());
        ended.is_some()
    });
}
