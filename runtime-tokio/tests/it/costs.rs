//! What each operation costs, counted at the server: as in the blocking driver.
use crate::s3::scripted;
use crate::world::{PARTITION, current_thread, log_on, options, record, writer};
use bucketlog_core::format::catalog::CatalogLayout;
use bucketlog_fixtures::servers::Scripted;
use bucketlog_tokio::reader::Freshness;
use bucketlog_tokio::writer::WriterOptions;
use bucketlog_tokio::{Lsn, ReaderOptions};
use std::sync::Arc;

/// Checks the requests since the last check: reads, creates and swaps, and nothing else.
#[track_caller]
fn check(server: &Scripted, expected: [usize; 3]) {
    let seen = server.take_seen();
    let count = |method: &str, head| {
        seen.iter().filter(|seen| seen.method == method && seen.target.contains("head.plc") == head).count()
    };
    let gets = count("GET", true) + count("GET", false);
    assert_eq!([gets, count("PUT", false), count("PUT", true)], expected);
    assert_eq!(expected.iter().sum::<usize>(), seen.len(), "nothing else was asked");
}

#[test]
fn h06_h07_opens_and_flushes_cost_what_they_cost_the_blocking_driver() {
    current_thread().block_on(async {
        let (server, store) = scripted();
        let log = log_on(Arc::new(store));
        let layout = CatalogLayout { leaf_limit: 2, index_limit: 2, ..CatalogLayout::default() };
        drop(writer(&log).await);
        check(&server, [1, 0, 1]);
        let mut writer = log.writer(PARTITION, WriterOptions { layout, ..options() }).await.unwrap();
        check(&server, [1, 0, 1]);
        for n in 0..3 {
            writer.append(record(n)).await.unwrap();
            writer.flush().await.unwrap();
            check(&server, [0, 1, 1]);
        }
    });
}

#[test]
fn h02_idle_handles_and_cached_reads_ask_nothing() {
    current_thread().block_on(async {
        let (server, store) = scripted();
        let log = log_on(Arc::new(store));
        let mut writer = writer(&log).await;
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        writer.append_durable(record(1)).await.unwrap();
        reader.fetch(Lsn(0)).await.unwrap();
        check(&server, [3, 1, 2]);
        writer.flush().await.unwrap();
        reader.fetch(Lsn(0)).await.unwrap();
        reader.head(Freshness::Cached).await.unwrap();
        writer.close().await.unwrap();
        check(&server, [0, 0, 0]);
    });
}
