//! What the handles promise, on both kinds of runtimes.
use crate::world::{Held, PARTITION, current_thread, log_on, multi_thread, on_both, options, record, tight, writer};
use bucketlog_blocking::metrics::MetricsSink;
use bucketlog_tokio::error::HaltCause;
use bucketlog_tokio::initialize::InitializeOptions;
use bucketlog_tokio::reader::{Freshness, ReadError, ReadLimit};
use bucketlog_tokio::store::{Memory, open_url};
use bucketlog_tokio::writer::{PartPolicy, WriterOptions};
use bucketlog_tokio::{Log, LogOptions, Lsn, OpenLogError, Partition, ReaderOptions, Record, StreamId, TimestampMs};
use futures_util::future::join_all;
use futures_util::{StreamExt, TryStreamExt};
use std::sync::Arc;

#[test]
fn records_are_appended_made_durable_and_read() {
    on_both(|| async {
        let log = log_on(Arc::new(Memory::new()));
        let mut writer = writer(&log).await;
        for n in 0..5 {
            assert_eq!(writer.append(record(n)).await.unwrap().lsn, Lsn(n));
        }
        assert_eq!(writer.append_batch((5..8).map(record).collect()).await.unwrap().lsns, Lsn(5)..Lsn(8));
        assert_eq!(writer.flush().await, Ok(Lsn(8)));
        assert_eq!(writer.append_durable(record(8)).await, Ok(Lsn(8)));
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        let records: Vec<_> = reader.records(Lsn(0)).try_collect().await.unwrap();
        assert_eq!(records, (0..9).map(|n| (Lsn(n), record(n))).collect::<Vec<_>>());
        assert_eq!(reader.fetch(Lsn(3)).await, Ok(record(3)));
        assert!(matches!(reader.fetch(Lsn(9)).await, Err(ReadError::NotYet { .. })));
        assert_eq!(reader.find_timestamp(TimestampMs(0)).await, Ok(Some(Lsn(0))));
        assert_eq!(reader.head(Freshness::Latest).await.unwrap().next_lsn, Lsn(9));
        let batch = reader.read(Lsn(7), ReadLimit::default(), Freshness::Cached).await.unwrap();
        assert_eq!((batch.records.len(), batch.next_lsn), (2, Lsn(9)));
        assert_eq!(writer.close().await, Ok(Lsn(9)));
    });
}

#[test]
fn a_thousand_appends_under_way_share_segments() {
    on_both(|| async {
        let log = log_on(Arc::new(Memory::new()));
        let mut writer = writer(&log).await;
        let appends: Vec<_> = (0..1000).map(|n| writer.append_durable(record(n))).collect();
        let lsns: Vec<_> = join_all(appends).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(lsns, (0..1000).map(Lsn).collect::<Vec<_>>());
        assert!(writer.stats().segments < 100, "{:?}", writer.stats());
    });
}

#[test]
fn blocks_are_compressed_and_large_segments_go_up_in_parts() {
    on_both(|| async {
        let log = log_on(Arc::new(Memory::new()));
        let parts = Some(PartPolicy { threshold_bytes: 5 << 20, part_bytes: 5 << 20, parallel: 2 });
        let mut writer = log.writer(PARTITION, WriterOptions { parts, ..options() }).await.unwrap();
        let large = |n: u8| Record::new(TimestampMs(0), vec![n; 3 << 20]);
        for n in 0..4 {
            writer.append(large(n)).await.unwrap();
        }
        writer.flush().await.unwrap();
        let mut compressed = log.writer(PARTITION, WriterOptions::default()).await.unwrap();
        compressed.append_durable(large(4)).await.unwrap();
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        let records: Vec<_> = reader.records(Lsn(0)).try_collect().await.unwrap();
        assert_eq!(records, (0..5).map(|n| (Lsn(n.into()), large(n))).collect::<Vec<_>>());
    });
}

#[test]
fn an_older_writer_is_fenced_and_told_by_whom() {
    on_both(|| async {
        let log = log_on(Arc::new(Memory::new()));
        let (mut old, new) = (writer(&log).await, writer(&log).await);
        let error = old.append_durable(record(0)).await.unwrap_err();
        let Some(HaltCause::Superseded { epoch, writer }) = error.halt_cause() else { panic!("{error}") };
        assert_eq!((*epoch, *writer), (new.epoch(), new.writer_id()));
    });
}

#[test]
fn the_watermark_is_a_stream_that_ends_with_the_writer() {
    on_both(|| async {
        let log = log_on(Arc::new(Memory::new()));
        let mut writer = writer(&log).await;
        let mut advances = writer.committed().advances();
        assert_eq!(advances.next().await, Some(Ok(Lsn(0))));
        for n in 0..3 {
            writer.append_durable(record(n)).await.unwrap();
            assert_eq!(advances.next().await, Some(Ok(Lsn(n + 1))));
        }
        let mut unaware = writer.committed().advances();
        writer.close().await.unwrap();
        assert_eq!(advances.next().await, None);
        assert_eq!(unaware.next().await, Some(Ok(Lsn(3))));
        assert_eq!(unaware.next().await, None);
    });
}

#[test]
fn a_dropped_writer_ends_the_watermark_with_its_cause() {
    on_both(|| async {
        let log = log_on(Arc::new(Memory::new()));
        let writer = writer(&log).await;
        let mut advances = writer.committed().advances();
        advances.next().await;
        drop(writer);
        let end = advances.next().await.unwrap().unwrap_err();
        assert_eq!((end.cause, advances.next().await), (Some(HaltCause::Aborted), None));
    });
}

#[test]
fn an_append_waits_for_room() {
    on_both(|| async {
        let store = Held::new();
        let log = log_on(store.clone());
        let mut writer = log.writer(PARTITION, tight()).await.unwrap();
        store.hold();
        while writer.try_append(record(0)).is_ok() {}
        let release = async {
            store.until_held(1).await;
            store.release();
        };
        let (appended, ()) = tokio::join!(writer.append(record(1)), release);
        assert!(appended.is_ok());
        assert!(writer.append_batch(vec![record(2)]).await.is_ok());
    });
}

#[test]
fn a_store_that_panics_loses_nothing() {
    on_both(|| async {
        let store = Held::new();
        let log = log_on(store.clone());
        let mut writer = writer(&log).await;
        store.panic_once();
        assert_eq!(writer.append_durable(record(0)).await, Ok(Lsn(0)));
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        assert_eq!(reader.fetch(Lsn(0)).await, Ok(record(0)));
    });
}

#[test]
fn a_partition_can_begin_anywhere() {
    on_both(|| async {
        let log = log_on(Arc::new(Memory::new()));
        let partition = Partition(7);
        log.initialize_partition(partition, Lsn(1000), &InitializeOptions::default()).await.unwrap();
        let mut writer = log.writer(partition, options()).await.unwrap();
        assert_eq!(writer.append_durable(record(0)).await, Ok(Lsn(1000)));
    });
}

#[test]
fn handles_are_used_from_outside_of_the_runtime_that_works_for_them() {
    let runtime = multi_thread();
    let options = LogOptions { runtime: Some(runtime.handle().clone()), ..LogOptions::default() };
    let log = Log::open(Arc::new(Memory::new()), StreamId::new("outside").unwrap(), options).unwrap();
    // Another runtime waits; it does no work for the log.
    current_thread().block_on(async {
        let mut writer = writer(&log).await;
        assert_eq!(writer.append_durable(record(0)).await, Ok(Lsn(0)));
    });
}

#[test]
fn a_log_needs_a_runtime() {
    let opened = Log::open(Arc::new(Memory::new()), StreamId::new("nowhere").unwrap(), LogOptions::default());
    assert!(matches!(opened, Err(OpenLogError::NoRuntime)));
}

#[test]
fn a_directory_holds_what_another_log_reads() {
    let directory = tempfile::tempdir().unwrap();
    on_both(|| async {
        let stream = || StreamId::new("directory").unwrap();
        let log = Log::open_dir(directory.path(), stream()).unwrap();
        let mut writer = writer(&log).await;
        let lsn = writer.append_durable(record(1)).await.unwrap();
        let url = format!("file://{}", directory.path().display());
        let again = Log::open(open_url(&url).unwrap(), stream(), LogOptions::default()).unwrap();
        let reader = again.reader(PARTITION, ReaderOptions::default()).unwrap();
        assert_eq!(reader.fetch(lsn).await, Ok(record(1)));
    });
}

#[test]
fn a_sink_hears_of_commits() {
    #[derive(Debug, Default)]
    struct Names(std::sync::Mutex<Vec<&'static str>>);
    impl MetricsSink for Names {
        fn record(&self, metric: &bucketlog_core::metric::Metric) {
            self.0.lock().unwrap().push(metric.name);
        }
    }
    on_both(|| async {
        let names = Arc::new(Names::default());
        let options = LogOptions { metrics: Some(names.clone()), ..LogOptions::default() };
        let log = Log::open(Arc::new(Memory::new()), StreamId::new("metrics").unwrap(), options).unwrap();
        writer(&log).await.append_durable(record(0)).await.unwrap();
        assert!(names.0.lock().unwrap().contains(&"writer.segment_publish"));
    });
}
