//! Faults over HTTP, through reqwest.
use crate::world::{PARTITION, current_thread, log_on, record, writer};
use bucketlog_blocking::store::s3::credentials::Keys;
use bucketlog_core::boundary::{
    ByteRange, Create, CreateReply, Fault, Get, GetReply, Key, Swap, SwapCondition, SwapReply,
};
use bucketlog_fixtures::servers::{ACCESS_KEY, Act, BUCKET, Conditions, Reply, SECRET_KEY, Scripted, seaweedfs};
use bucketlog_tokio::store::Store;
use bucketlog_tokio::store::s3::{S3, S3Options};
use bucketlog_tokio::{Log, LogOptions, Lsn, ReaderOptions, StreamId};
use bytes::Bytes;
use futures_util::TryStreamExt;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) fn options(endpoint: &str) -> S3Options {
    let keys = Keys::new(ACCESS_KEY, SECRET_KEY);
    S3Options { endpoint: Some(endpoint.to_owned()), ..S3Options::new(BUCKET, "us-east-1", keys) }
}

pub(crate) fn scripted() -> (Scripted, S3) {
    scripted_with(Conditions::Atomic, |options| options)
}

fn scripted_with(conditions: Conditions, change: impl FnOnce(S3Options) -> S3Options) -> (Scripted, S3) {
    let server = Scripted::with(conditions);
    let store = S3::open(change(options(&server.endpoint()))).unwrap();
    (server, store)
}

/// A client that soon loses patience with a server that is silent.
fn impatient(mut options: S3Options) -> S3Options {
    let little = Duration::from_millis(50);
    (options.timeouts.first_byte, options.timeouts.idle) = (little, little);
    options
}

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

async fn get(store: &S3, key: &str) -> Result<GetReply, Fault> {
    store.get(&Get::new(Key::from(key), ByteRange::All, 1 << 20), soon()).await
}

async fn create(store: &S3, key: &str) -> Result<CreateReply, Fault> {
    let body = ["one ", "two ", "three"].map(Bytes::from).to_vec();
    store.create(&Create { key: Key::from(key), body }, soon()).await
}

async fn swap(store: &S3, key: &str) -> Result<SwapReply, Fault> {
    let swap = Swap { key: Key::from(key), body: Bytes::from("a state"), condition: SwapCondition::Absent };
    store.swap(&swap, soon()).await
}

#[test]
fn g11_a_break_at_any_point_is_indeterminate_and_nothing_is_tried_again() {
    let mut acts = vec![Act::CutBeforeBody, Act::CutInBody, Act::ShortBody];
    for applied in [false, true] {
        acts.extend([Act::CutUnanswered { applied }, Act::Stall { applied }]);
    }
    current_thread().block_on(async {
        for act in acts {
            for (method, kind) in [("GET", 0), ("PUT", 1), ("PUT", 2)] {
                let (server, store) = scripted_with(Conditions::Atomic, impatient);
                create(&store, "there").await.unwrap();
                drop(server.take_seen());
                server.next(method, act.clone());
                let fault = match kind {
                    0 => get(&store, "there").await.err(),
                    1 => create(&store, "new").await.err(),
                    _ => swap(&store, "new").await.err(),
                };
                assert!(matches!(fault, Some(Fault::Indeterminate(_))), "{method} {act:?}: {fault:?}");
                assert_eq!(server.seen().len(), 1, "{method} {act:?}: exactly one attempt");
            }
        }
    });
}

#[test]
fn a20_server_errors_are_answered_by_one_attempt_and_redirects_are_not_followed() {
    current_thread().block_on(async {
        for status in [500, 502, 503, 504, 429, 408, 401, 403, 409, 301, 302, 303, 307, 308] {
            let elsewhere = Scripted::start();
            let (server, store) = scripted_with(Conditions::Atomic, impatient);
            let location = format!("{}/tests/a", elsewhere.endpoint());
            for method in ["GET", "PUT"] {
                let reply = Reply::status(status).with("retry-after", "0").with("location", location.clone());
                server.next(method, Act::Answer { applied: false, reply });
            }
            assert!(get(&store, "a").await.is_err() && create(&store, "a").await.is_err(), "{status}");
            assert_eq!((server.seen().len(), elsewhere.seen().len()), (2, 0), "{status}: one attempt each");
        }
    });
}

#[test]
fn g09_nobody_listens_is_not_sent() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    current_thread().block_on(async {
        for endpoint in [format!("http://{nobody}"), "http://no-such-host.invalid".to_owned()] {
            let store = S3::open(options(&endpoint)).unwrap();
            let fault = get(&store, "a").await.unwrap_err();
            assert!(matches!(fault, Fault::NotSent(_)), "{endpoint}: {fault:?}");
            assert!(!format!("{fault:?} {fault}").contains("X-Amz"), "no signature in {fault:?}");
        }
    });
}

#[test]
fn bodies_in_pieces_arrive_whole_and_connections_are_used_again() {
    current_thread().block_on(async {
        let (server, store) = scripted();
        create(&store, "a").await.unwrap();
        let GetReply::Found { body, .. } = get(&store, "a").await.unwrap() else { panic!("it is there") };
        assert_eq!(body, "one two three");
        let connections: std::collections::BTreeSet<_> = server.seen().iter().map(|seen| seen.connection).collect();
        assert_eq!(connections.len(), 1);
    });
}

/// Appends ten records, each made durable while the next PUT meets an act, and reads them all again.
async fn check_log(acts: &[Act]) {
    let (server, store) = scripted_with(Conditions::Atomic, impatient);
    let log = log_on(Arc::new(store));
    let mut writer = writer(&log).await;
    for n in 0..10 {
        for act in acts {
            server.next("PUT", act.clone());
        }
        writer.append(record(n)).await.unwrap();
        writer.flush().await.unwrap_or_else(|error| panic!("{acts:?}: {error:?}"));
    }
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    let read: Vec<_> = reader.records(Lsn(0)).try_collect().await.unwrap();
    assert_eq!(read, (0..10).map(|n| (Lsn(n), record(n))).collect::<Vec<_>>(), "{acts:?}: none lost, none twice");
}

#[test]
fn b01_b04_a13_a_writer_goes_through_lost_answers_errors_and_missing_tokens() {
    current_thread().block_on(async {
        check_log(&[Act::CutUnanswered { applied: true }]).await;
        check_log(&[Act::CutUnanswered { applied: false }, Act::CutUnanswered { applied: true }]).await;
        check_log(&[Act::Twice]).await;
        check_log(&[Act::Without("etag"), Act::Without("etag")]).await;
        for applied in [false, true] {
            check_log(&[Act::Answer { applied, reply: Reply::error(500, "UnknownError") }]).await;
        }
        let conflict = Reply::error(409, "ConditionalRequestConflict");
        check_log(&[Act::Answer { applied: false, reply: conflict }]).await;
    });
}

#[test]
fn g10_a_reader_repeats_a_read_that_ended_early_or_stalled() {
    current_thread().block_on(async {
        let (server, store) = scripted_with(Conditions::Atomic, impatient);
        let log = log_on(Arc::new(store));
        writer(&log).await.append_durable(record(1)).await.unwrap();
        for act in [Act::ShortBody, Act::StallInBody, Act::CutBeforeBody, Act::CutUnanswered { applied: false }] {
            let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
            server.next("GET", act.clone());
            assert_eq!(reader.fetch(Lsn(0)).await, Ok(record(1)), "{act:?}");
        }
    });
}

#[test]
fn b09_a_server_that_ignores_conditions_is_refused_at_open() {
    current_thread().block_on(async {
        let (_server, store) = scripted_with(Conditions::Ignored, |options| options);
        let log = Log::open(Arc::new(store), StreamId::new("s3/ignored").unwrap(), LogOptions::default()).unwrap();
        let error = log.writer(PARTITION, crate::world::options()).await.unwrap_err();
        assert!(error.to_string().contains("ignores conditions"), "{error}");
    });
}

#[test]
fn s3_a_log_on_seaweedfs_is_written_taken_over_and_read() {
    let Some(server) = seaweedfs() else { return };
    current_thread().block_on(async {
        let store = Arc::new(S3::open(options(&server.endpoint())).unwrap());
        let log = Log::open(store, StreamId::new("s3/tokio").unwrap(), LogOptions::default()).unwrap();
        let mut first = writer(&log).await;
        first.append_durable(record(1)).await.unwrap();
        let mut second = writer(&log).await;
        assert!(first.append_durable(record(9)).await.is_err(), "it was fenced");
        second.append_durable(record(2)).await.unwrap();
        let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
        let read: Vec<_> = reader.records(Lsn(0)).map_ok(|(_, record)| record).try_collect().await.unwrap();
        assert_eq!(read, [record(1), record(2)]);
    });
}
