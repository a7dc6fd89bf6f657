use crate::world::{Conduct, PARTITION, crowded, options, record, stream, world, writer};
use bucketlog_blocking::error::{AppendReason, DurabilityError, HaltCause, OpenError, WatchEnded};
use bucketlog_blocking::metrics::{Metric, MetricsSink};
use bucketlog_blocking::store::Memory;
use bucketlog_blocking::writer::{Appended, Status, Watermarks, WriterOptions};
use bucketlog_blocking::{Header, Log, LogOptions, Record, Writer};
use bucketlog_core::boundary::{Fault, RefusalKind};
use bucketlog_core::ids::{Epoch, Lsn, TimestampMs};
use bucketlog_core::limits::{MAX_HEADER_KEY_LEN, MAX_HEADERS, MAX_VALUE_LEN};
use bytes::Bytes;
use futures_util::future::join_all;
use pollster::block_on;
use std::error::Error;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread;

fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// One record that is being stored when this returns: its swap is held up.
fn in_doubt(store: &crate::world::Unruly, writer: &mut Writer) -> Appended {
    store.swaps(Conduct::Hold);
    let appended = writer.append(record(1)).unwrap();
    writer.cut();
    store.wait_held(1);
    appended
}

#[test]
fn appended_records_are_durable_after_a_flush() {
    let (_, log) = world();
    let mut writer = writer(&log);
    let first = writer.append(record(1)).unwrap();
    let second = writer.append(record(2)).unwrap();
    assert_eq!((first.lsn, second.lsn), (Lsn(0), Lsn(1)));
    assert_eq!(second.durability.outcome(), None);
    assert_eq!(writer.flush(), Ok(Lsn(2)));
    assert_eq!(second.durability.outcome(), Some(Ok(())));
    let all = Watermarks { accepted: Lsn(2), cut: Lsn(2), uploaded: Lsn(2), committed: Lsn(2) };
    assert_eq!(writer.watermarks(), all);
}

#[test]
fn waiting_for_a_record_stores_it_without_a_flush() {
    let (_, log) = world();
    let mut writer = writer(&log);
    let appended = writer.append(record(1)).unwrap();
    assert_eq!(appended.durability.wait(), Ok(()));
    let appended = writer.append(record(2)).unwrap();
    assert_eq!(block_on(appended.durability.into_future()), Ok(()));
    assert_eq!(writer.append_durable(record(3)).unwrap(), Lsn(2));
}

#[test]
fn a_batch_is_one_range() {
    let (_, log) = world();
    let mut writer = writer(&log);
    let batch = writer.append_batch(vec![record(1), record(2), record(3)]).unwrap();
    assert_eq!(batch.lsns, Lsn(0)..Lsn(3));
    assert_eq!(batch.durability.wait(), Ok(()));
    let error = writer.append_batch(vec![record(4), record(1)]).unwrap_err();
    assert_eq!((error.index, error.records.len()), (1, 2));
    assert_eq!(writer.watermarks().accepted, Lsn(3));
}

#[test]
fn many_tasks_share_segments() {
    let (_, log) = world();
    let mut writer = writer(&log);
    let appends: Vec<_> = (0..100).map(|_| writer.append_durable_async(record(1))).collect();
    let mut lsns: Vec<_> = block_on(join_all(appends)).into_iter().map(Result::unwrap).collect();
    lsns.sort();
    assert_eq!(lsns, (0..100).map(Lsn).collect::<Vec<_>>());
    assert!(writer.stats().segments < 100, "{:?}", writer.stats());
}

#[test]
fn everything_works_as_futures() {
    let (_, log) = world();
    block_on(async {
        let mut writer = log.writer_async(PARTITION, options()).await.unwrap();
        let committed = writer.committed();
        let appended = writer.append_async(record(1)).await.unwrap();
        appended.durability.await.unwrap();
        assert_eq!(committed.past(Lsn(0)).await, Ok(Lsn(1)));
        writer.append_async(record(2)).await.unwrap();
        assert_eq!(writer.flush_async().await, Ok(Lsn(2)));
        writer.append_async(record(3)).await.unwrap();
        assert_eq!(writer.close_async().await, Ok(Lsn(3)));
        assert_eq!(committed.get(), Lsn(3));
    });
}

#[test]
fn a_closed_writer_has_stored_everything_and_ends_its_watch() {
    let (_, log) = world();
    let mut writer = writer(&log);
    let committed = writer.committed();
    writer.append(record(1)).unwrap();
    assert_eq!(writer.close(), Ok(Lsn(1)));
    assert_eq!(committed.wait_past(Lsn(0)), Ok(Lsn(1)));
    assert_eq!(committed.wait_past(Lsn(1)), Err(WatchEnded { committed: Lsn(1), cause: None }));
}

#[test]
fn a_log_without_threads_serves_blocking_callers() {
    let log = Log::open(Arc::new(Memory::new()), stream(), LogOptions { threads: 0, ..LogOptions::default() });
    let mut writer = writer(&log);
    writer.append(record(1)).unwrap();
    assert_eq!(writer.close(), Ok(Lsn(1)));
}

// E18
#[test]
fn a_fence_resolves_every_waiter_and_names_the_new_owner() {
    let (store, log) = world();
    let mut old = writer(&log);
    old.append_durable(record(1)).unwrap();
    let new = writer(&log);
    let new_id = new.writer_id();
    let appended = old.append(record(2)).unwrap();
    let (waiting, committed) = (appended.durability.clone(), old.committed());
    store.creates(Conduct::Hold);
    thread::scope(|scope| {
        let waiter = scope.spawn(|| waiting.wait());
        let watcher = scope.spawn(|| committed.wait_past(Lsn(1)));
        store.wait_held(1);
        store.creates(Conduct::Execute);
        let Err(DurabilityError::NotCommitted(halted)) = waiter.join().unwrap() else { panic!("it was not fenced") };
        assert_eq!(halted.cause, HaltCause::Superseded { epoch: Epoch(2), writer: new_id });
        assert_eq!((halted.proven, halted.maybe, halted.accepted), (Lsn(1), Lsn(1), Lsn(2)));
        assert_eq!(watcher.join().unwrap(), Err(WatchEnded { committed: Lsn(1), cause: Some(halted.cause) }));
    });
    assert_eq!((old.epoch(), new.epoch()), (Epoch(1), Epoch(2)));
    assert!(old.flush().is_err() && old.close().is_err());
    assert!(matches!(new.status(), Status::Open { epoch: Epoch(2), .. }));
}

// E18
#[test]
fn dropping_a_writer_resolves_every_waiter() {
    let (store, log) = world();
    let mut writer = writer(&log);
    let doubtful = in_doubt(&store, &mut writer);
    let unproposed = writer.append(record(2)).unwrap();
    let committed = writer.committed();
    let task = doubtful.durability.clone().into_future();
    thread::scope(|scope| {
        let waiters = [&doubtful, &unproposed].map(|appended| scope.spawn(|| appended.durability.wait()));
        let watcher = scope.spawn(|| committed.wait_past(Lsn(0)));
        drop(writer);
        let [first, second] = waiters.map(|waiter| waiter.join().unwrap());
        assert!(matches!(first, Err(DurabilityError::Indeterminate(_))), "{first:?}");
        assert!(matches!(second, Err(DurabilityError::NotCommitted(_))), "{second:?}");
        let ended = WatchEnded { committed: Lsn(0), cause: Some(HaltCause::Aborted) };
        assert_eq!(watcher.join().unwrap(), Err(ended));
        assert!(matches!(block_on(task), Err(DurabilityError::Indeterminate(_))));
    });
    store.swaps(Conduct::Execute);
}

// E18
#[test]
fn a_refusal_for_good_resolves_a_flush_with_its_cause() {
    let (store, log) = world();
    let mut writer = writer(&log);
    writer.append(record(1)).unwrap();
    store.creates(Conduct::Fail(Fault::refused(RefusalKind::Denied, "no permission to write")));
    let error = writer.flush().unwrap_err();
    assert!(matches!(error.0.halt_cause(), HaltCause::Refused { .. }), "{error}");
    assert!(error.source().is_none() && error.to_string().contains("no permission to write"), "{error}");
    let error = writer.append(record(2)).unwrap_err();
    assert!(matches!(error.halt_cause(), Some(HaltCause::Refused { .. })), "{error}");
}

#[test]
fn back_pressure_hands_the_record_back() {
    let (store, log) = world();
    let mut writer = crowded(&store, &log);
    let error = writer.try_append(record(7)).unwrap_err();
    assert_eq!((error.reason, error.record), (AppendReason::Full, record(7)));
    store.creates(Conduct::Execute);
}

#[test]
fn an_append_waits_for_room() {
    let (store, log) = world();
    let mut writer = crowded(&store, &log);
    let accepted = writer.watermarks().accepted;
    store.wait_held(1);
    thread::scope(|scope| {
        let appended = scope.spawn(|| {
            let appended = writer.append(record(7)).unwrap();
            writer.flush().unwrap();
            appended.lsn
        });
        store.creates(Conduct::Execute);
        assert_eq!(appended.join().unwrap(), accepted);
    });
}

#[test]
fn tasks_wait_for_room_and_give_up_by_being_dropped() {
    let (store, log) = world();
    let mut writer = crowded(&store, &log);
    let accepted = writer.watermarks().accepted;
    assert!(poll_once(pin!(writer.append_async(record(7)))).is_pending());
    assert!(poll_once(pin!(writer.append_durable_async(record(8)))).is_pending());
    assert_eq!(writer.watermarks().accepted, accepted);
    let appends = [writer.append_durable_async(record(9)), writer.append_durable_async(record(9))];
    let mut appends = pin!(join_all(appends));
    assert!(poll_once(appends.as_mut()).is_pending());
    store.creates(Conduct::Execute);
    let mut lsns = block_on(appends).into_iter().map(Result::unwrap).collect::<Vec<_>>();
    lsns.sort();
    assert_eq!(lsns, [accepted, Lsn(accepted.0 + 1)]);
}

#[test]
fn dropping_a_wait_leaves_the_record_accepted() {
    let (store, log) = world();
    let mut writer = writer(&log);
    store.swaps(Conduct::Hold);
    assert!(poll_once(pin!(writer.append_durable_async(record(1)))).is_pending());
    store.swaps(Conduct::Execute);
    assert_eq!(writer.flush(), Ok(Lsn(1)));
}

// J07
#[test]
fn waiting_for_room_ends_when_the_writer_halts() {
    let (store, log) = world();
    let mut writer = crowded(&store, &log);
    store.wait_held(1);
    thread::scope(|scope| {
        let append = scope.spawn(|| writer.append(record(7)));
        store.creates(Conduct::Fail(Fault::refused(RefusalKind::Denied, "no")));
        let error = append.join().unwrap().unwrap_err();
        assert!(matches!(error.reason, AppendReason::Halted(_)) && error.record == record(7));
    });
}

#[test]
fn a_failed_claim_says_why() {
    let (store, log) = world();
    store.swaps(Conduct::Fail(Fault::refused(RefusalKind::Denied, "no")));
    let error = log.writer(PARTITION, options()).unwrap_err();
    assert!(matches!(error, OpenError::Claim(HaltCause::Refused { .. })), "{error}");
    let error = log.writer(PARTITION, WriterOptions { level: 99, ..options() }).unwrap_err();
    assert!(matches!(error, OpenError::Options(_)), "{error}");
}

#[test]
fn metrics_reach_the_sink() {
    #[derive(Debug, Default)]
    struct Names(Mutex<Vec<&'static str>>);
    impl MetricsSink for Names {
        fn record(&self, metric: &Metric) {
            self.0.lock().unwrap().push(metric.name);
        }
    }
    let names = Arc::new(Names::default());
    let metrics = Some(Arc::clone(&names) as Arc<dyn MetricsSink>);
    let log = Log::open(Arc::new(Memory::new()), stream(), LogOptions { metrics, ..LogOptions::default() });
    let mut writer = writer(&log);
    writer.append_durable(record(1)).unwrap();
    writer.close().unwrap();
    let names = names.0.lock().unwrap();
    for name in ["writer.append", "writer.cut", "writer.segment_publish", "writer.close"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
}

// J09
#[test]
fn a_record_that_breaks_a_rule_is_handed_back_and_the_writer_goes_on() {
    let (_, log) = world();
    let mut writer = writer(&log);
    writer.append(record(5)).unwrap();
    let too_large = Record::new(TimestampMs(5), vec![0; MAX_VALUE_LEN + 1]);
    let long_key = Header { key: vec![0; MAX_HEADER_KEY_LEN + 1].into(), value: Bytes::new() };
    let header_too_large = Record { headers: vec![long_key], ..record(5) };
    let crowd = vec![Header { key: "k".into(), value: Bytes::new() }; MAX_HEADERS + 1];
    let too_many_headers = Record { headers: crowd, ..record(5) };
    for bad in [too_large, header_too_large, too_many_headers] {
        let error = writer.append(bad.clone()).unwrap_err();
        assert!(matches!(error.reason, AppendReason::Record(_)), "{error}");
        assert_eq!(error.record, bad);
    }
    let error = writer.append(record(4)).unwrap_err();
    assert_eq!(error.reason, AppendReason::TimestampOrder { last: TimestampMs(5), found: TimestampMs(4) });
    assert_eq!(writer.append_durable(record(5)).unwrap(), Lsn(1));
}
