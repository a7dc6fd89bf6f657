//! What each operation costs, counted at the server: as `requests` counts at the store.
use super::scripted;
use crate::world::{PARTITION, log_on, options, record, writer};
use bucketlog_blocking::Log;
use bucketlog_blocking::reader::{Freshness, ReaderOptions};
use bucketlog_blocking::writer::WriterOptions;
use bucketlog_core::format::catalog::CatalogLayout;
use bucketlog_core::ids::Lsn;
use bucketlog_fixtures::servers::Scripted;
use std::sync::Arc;

fn world() -> (Scripted, Log) {
    let (server, store) = scripted();
    (server, log_on(Arc::new(store)))
}

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
fn h06_an_open_or_takeover_is_one_get_and_one_swap_over_http() {
    let (server, log) = world();
    let _first = writer(&log);
    check(&server, [1, 0, 1]);
    let _second = writer(&log);
    check(&server, [1, 0, 1]);
}

#[test]
fn h07_the_flush_of_a_small_batch_is_one_create_and_one_swap_over_http() {
    let (server, log) = world();
    let mut writer = writer(&log);
    check(&server, [1, 0, 1]);
    for n in 0..3 {
        writer.append(record(n)).unwrap();
        writer.flush().unwrap();
        check(&server, [0, 1, 1]);
    }
}

#[test]
fn h07_pages_are_added_where_they_are_sealed_over_http() {
    let (server, log) = world();
    let layout = CatalogLayout { leaf_limit: 2, index_limit: 2, ..CatalogLayout::default() };
    let mut writer = log.writer(PARTITION, WriterOptions { layout, ..options() }).unwrap();
    check(&server, [1, 0, 1]);
    for pages in [0, 1, 0, 2, 0, 1, 0, 3] {
        writer.append(record(1)).unwrap();
        writer.flush().unwrap();
        check(&server, [0, 1 + pages, 1]);
    }
}

#[test]
fn h02_idle_handles_and_cached_reads_ask_nothing_over_http() {
    let (server, log) = world();
    let mut writer = writer(&log);
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    writer.append_durable(record(1)).unwrap();
    reader.fetch(Lsn(0)).unwrap();
    check(&server, [3, 1, 2]);
    writer.flush().unwrap();
    reader.fetch(Lsn(0)).unwrap();
    reader.head(Freshness::Cached).unwrap();
    writer.close().unwrap();
    check(&server, [0, 0, 0]);
}

#[test]
fn a_cold_read_of_a_small_segment_is_the_head_and_one_get_over_http() {
    let (server, log) = world();
    let mut writer = writer(&log);
    writer.append_durable(record(1)).unwrap();
    drop(server.take_seen());
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    reader.fetch(Lsn(0)).unwrap();
    check(&server, [2, 0, 0]);
}
