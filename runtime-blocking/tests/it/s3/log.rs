//! Writers and readers over HTTP, through faults.
use super::{impatient, options, scripted, scripted_with};
use crate::world::{PARTITION, log_on, record, writer};
use bucketlog_blocking::reader::ReaderOptions;
use bucketlog_blocking::store::s3::S3;
use bucketlog_blocking::writer::WriterOptions;
use bucketlog_blocking::{Log, LogOptions, StreamId};
use bucketlog_core::ids::Lsn;
use bucketlog_fixtures::servers::{Act, Conditions, Reply, Scripted, seaweedfs};
use std::sync::Arc;

fn log_with(change: bool) -> (Scripted, Log) {
    let (server, store) = if change { scripted_with(Conditions::Atomic, impatient) } else { scripted() };
    (server, log_on(Arc::new(store)))
}

/// Appends ten records, each made durable while the next PUT meets an act, and reads them all again.
#[track_caller]
fn check(acts: &[Act]) {
    let (server, log) = log_with(true);
    let mut writer = writer(&log);
    for n in 0..10 {
        for act in acts {
            server.next("PUT", act.clone());
        }
        writer.append(record(n)).unwrap();
        writer.flush().unwrap_or_else(|error| panic!("{acts:?}: {error:?}"));
    }
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    let read: Vec<_> = reader.iter(Lsn(0)).map(|item| item.unwrap()).collect();
    let expected: Vec<_> = (0..10).map(|n| (Lsn(n.into()), record(n))).collect();
    assert_eq!(read, expected, "{acts:?}: no record lost, none twice");
}

#[test]
fn a_writer_goes_through_writes_whose_answers_are_lost() {
    check(&[Act::CutUnanswered { applied: true }]);
    check(&[Act::CutUnanswered { applied: false }, Act::CutUnanswered { applied: true }]);
    check(&[Act::Twice]);
}

#[test]
fn a13_a_writer_learns_the_token_where_no_answer_carries_one() {
    check(&[Act::Without("etag"), Act::Without("etag")]);
}

#[test]
fn b04_a_writer_resolves_server_errors_whether_or_not_the_write_was_applied() {
    for applied in [false, true] {
        check(&[Act::Answer { applied, reply: Reply::error(500, "UnknownError") }]);
    }
}

#[test]
fn b01_a_writer_repeats_what_met_a_conflict() {
    check(&[Act::Answer { applied: false, reply: Reply::error(409, "ConditionalRequestConflict") }]);
}

#[test]
fn g10_a_reader_repeats_a_read_that_ended_early_or_stalled() {
    let (server, log) = log_with(true);
    let mut writer = writer(&log);
    writer.append_durable(record(1)).unwrap();
    for act in [Act::ShortBody, Act::StallInBody, Act::CutBeforeBody, Act::CutUnanswered { applied: false }] {
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        server.next("GET", act.clone());
        assert_eq!(reader.fetch(Lsn(0)), Ok(record(1)), "{act:?}");
    }
}

#[test]
fn a_log_on_seaweedfs_is_written_taken_over_and_read() {
    let Some(server) = seaweedfs() else { return };
    let store = Arc::new(S3::open(options(&server.endpoint())).unwrap());
    let log = Log::open(store, StreamId::new("s3/takeover").unwrap(), LogOptions::default());
    let mut first = writer(&log);
    first.append_durable(record(1)).unwrap();
    let mut second = writer(&log);
    first.append(record(9)).unwrap();
    assert!(first.flush().is_err(), "it was fenced");
    second.append_durable(record(2)).unwrap();
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    let read: Vec<_> = reader.iter(Lsn(0)).map(|item| item.unwrap().1).collect();
    assert_eq!(read, [record(1), record(2)]);
}

#[test]
fn b09_a_server_that_ignores_conditions_is_refused_at_open() {
    let (_server, store) = scripted_with(Conditions::Ignored, |options| options);
    let log = Log::open(Arc::new(store), StreamId::new("s3/ignored").unwrap(), LogOptions::default());
    let error = log.writer(PARTITION, WriterOptions::default()).unwrap_err();
    assert!(error.to_string().contains("ignores conditions"), "{error}");
}
