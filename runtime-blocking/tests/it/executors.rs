//! The futures need no particular executor: one course of events, run under each.
use crate::world::{PARTITION, options, record, world};
use bucketlog_blocking::initialize::InitializeOptions;
use bucketlog_blocking::reader::{Freshness, ReadLimit, ReaderOptions};
use bucketlog_blocking::{Log, Lsn};
use futures_util::future::join_all;

/// Every future of the crate once, with several of a kind under way at a time.
async fn every_future(log: Log) {
    let initialized = log.initialize_partition_async(PARTITION, Lsn(5), &InitializeOptions::default()).await;
    assert!(initialized.unwrap().created);
    let mut old = log.writer_async(PARTITION, options()).await.unwrap();
    let committed = old.committed();
    let appended = old.append_async(record(1)).await.unwrap();
    let appends: Vec<_> = (0..20).map(|_| old.append_durable_async(record(2))).collect();
    let mut lsns: Vec<_> = join_all(appends).await.into_iter().map(Result::unwrap).collect();
    lsns.sort();
    assert_eq!(lsns, (6..26).map(Lsn).collect::<Vec<_>>());
    assert_eq!(appended.durability.await, Ok(()));
    assert!(committed.past(Lsn(25)).await.is_ok());
    assert_eq!(old.flush_async().await, Ok(Lsn(26)));

    let new = log.writer_async(PARTITION, options()).await.unwrap();
    old.append_async(record(3)).await.unwrap();
    assert!(old.flush_async().await.is_err(), "it was fenced");
    assert!(committed.past(Lsn(26)).await.is_err());
    assert_eq!(new.close_async().await, Ok(Lsn(26)));

    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    assert_eq!(reader.head_async(Freshness::Latest).await.unwrap().next_lsn, Lsn(26));
    assert_eq!(reader.fetch_async(Lsn(5)).await, Ok(record(1)));
    assert_eq!(reader.find_timestamp_async(record(2).timestamp).await, Ok(Some(Lsn(6))));
    let fetched = join_all((6..26).map(|lsn| reader.fetch_async(Lsn(lsn)))).await;
    assert!(fetched.into_iter().all(|fetched| fetched == Ok(record(2))));
    let batch = reader.read_async(Lsn(5), ReadLimit::records(3), Freshness::OnTail).await.unwrap();
    assert_eq!(batch.next_lsn, Lsn(8));
    let later = reader.read_from_timestamp_async(record(2).timestamp, ReadLimit::records(1)).await.unwrap();
    assert_eq!(later.records, [(Lsn(6), record(2))]);
}

#[test]
fn under_pollster() {
    pollster::block_on(every_future(world().1));
}

#[test]
fn under_smol() {
    smol::block_on(smol::spawn(every_future(world().1)));
}

#[test]
fn under_async_std() {
    async_std::task::block_on(async_std::task::spawn(every_future(world().1)));
}

#[test]
fn under_tokio_on_one_thread() {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(every_future(world().1));
}

#[test]
fn under_tokio_on_several_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(runtime.spawn(every_future(world().1))).unwrap();
}
