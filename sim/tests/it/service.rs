//! The simulated bucket behind the blocking driver's store trait.
use bucketlog_blocking::core::backoff::Backoff;
use bucketlog_blocking::store::{Store, conformance};
use bucketlog_blocking::{
    Log, LogOptions, Lsn, Partition, ReaderOptions, Record, StreamId, TimestampMs, Writer, WriterOptions,
};
use bucketlog_core::boundary::{ByteRange, Get, GetReply, Key, RefusalKind, Swap, SwapCondition};
use bucketlog_core::reader::ReadError;
use bucketlog_sim::action::How;
use bucketlog_sim::service::{Faults, FaultyStore};
use std::sync::Arc;
use std::time::{Duration, Instant};

const PARTITION: Partition = Partition(0);

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

fn open(store: &Arc<FaultyStore>) -> Log {
    Log::open(store.clone(), StreamId::new("orders").unwrap(), LogOptions::default())
}

fn quick() -> Backoff {
    Backoff { base: Duration::from_micros(50), max: Duration::from_millis(1) }
}

fn writer(log: &Log) -> Writer {
    log.writer(PARTITION, WriterOptions { backoff: quick(), ..WriterOptions::default() }).unwrap()
}

fn read_all(log: &Log) -> Vec<String> {
    let reader = log.reader(PARTITION, ReaderOptions { backoff: quick(), ..ReaderOptions::default() }).unwrap();
    let records = reader.iter(Lsn(0)).map(|item| item.unwrap().1.value);
    records.map(|value| String::from_utf8(value.to_vec()).unwrap()).collect()
}

fn append(writer: &mut Writer, number: u32) {
    writer.append(Record::new(TimestampMs(i64::from(number)), format!("order {number}"))).unwrap();
    writer.flush().unwrap();
}

#[test]
fn without_faults_the_store_conforms() {
    let report = conformance::check(&FaultyStore::new(1, Faults::none()), "some/prefix");
    assert!(report.passed(), "{report}");
}

#[test]
fn what_a_service_was_told_is_durable_is_in_the_log_whatever_the_faults() {
    let store = Arc::new(FaultyStore::new(5, Faults { lost: 150, astray: 150, ..Faults::default() }));
    let log = open(&store);
    let mut owner = writer(&log);
    for number in 0..100 {
        if number % 20 == 19 {
            // A second instance takes over.
            let heir = writer(&log);
            drop(std::mem::replace(&mut owner, heir));
        }
        append(&mut owner, number);
    }
    owner.close().unwrap();
    store.calm();
    let expected: Vec<_> = (0..100).map(|number| format!("order {number}")).collect();
    assert_eq!(read_all(&log), expected);
    for how in [How::Lost, How::Astray, How::NotSent, How::Conflict, How::Throttled, How::RetryAfter] {
        assert!(store.count(how) > 0, "{how} never happened: {store:?}");
    }
    assert!(store.late_arrivals() > 0, "{store:?}");
}

fn get(key: &str) -> Get {
    Get::new(Key::from(key), ByteRange::All, 1 << 20)
}

fn swap(body: &'static str, condition: SwapCondition) -> Swap {
    Swap { key: Key::from("log/head"), body: body.into(), condition }
}

/// What callers are told, request by request.
fn fates(seed: u64) -> Vec<bool> {
    let store = FaultyStore::new(seed, Faults::default());
    (0..200).map(|_| store.get(&get("log/head"), soon()).is_err_and(|fault| fault.refusal().is_none())).collect()
}

#[test]
fn a_seed_determines_the_fate_of_each_request() {
    assert_eq!(fates(3), fates(3));
    assert_ne!(fates(3), fates(4));
}

#[test]
fn requests_about_other_objects_change_no_fate() {
    let store = FaultyStore::new(3, Faults::default());
    let told: Vec<_> = (0..200)
        .map(|_| {
            let _ = store.get(&get("other/head"), soon());
            store.get(&get("log/head"), soon()).is_err_and(|fault| fault.refusal().is_none())
        })
        .collect();
    assert_eq!(told, fates(3));
}

#[test]
fn a_write_that_went_astray_lands_after_its_caller_was_told_that_nothing_is_known() {
    let landed = (0..40).filter(|seed| {
        let store = FaultyStore::new(*seed, Faults { astray: 1_000, lands_within: 3, ..Faults::none() });
        let told = store.swap(&swap("first", SwapCondition::Absent), soon()).unwrap_err();
        assert!(told.refusal().is_none(), "{told}");
        assert_eq!(store.late_arrivals(), 0, "it lands with a later request");
        let is_there = (0..3).map(|_| store.get(&get("log/head"), soon()).is_ok()).last();
        assert_eq!(is_there, Some(store.late_arrivals() == 1), "within three requests or never");
        is_there == Some(true)
    });
    let landed = landed.count();
    assert!((20..40).contains(&landed), "{landed} of 40 landed; one in four never does");
}

#[test]
fn calm_lands_what_is_astray_and_ends_all_faults() {
    let store = FaultyStore::new(1, Faults { astray: 1_000, lands_within: 1_000, ..Faults::none() });
    for number in 0..20 {
        let create = bucketlog_core::boundary::Create { key: Key::from(format!("a/{number}")), body: vec!["x".into()] };
        store.create(&create, soon()).unwrap_err();
    }
    store.calm();
    assert!(store.late_arrivals() > 5, "{store:?}");
    let later = store.swap(&swap("x", SwapCondition::Absent), soon());
    assert!(later.is_ok(), "{later:?}");
}

#[test]
fn reads_are_short_or_damaged_where_that_is_switched_on() {
    let read = |faults| {
        let store = FaultyStore::new(1, Faults::none());
        store.swap(&swap("0123456789", SwapCondition::Absent), soon()).unwrap();
        store.set_faults(faults);
        match store.get(&get("log/head"), soon()).unwrap() {
            GetReply::Found { body, .. } => body,
            GetReply::NotModified => unreachable!("nothing was asked for"),
        }
    };
    assert_eq!(read(Faults { short: 1_000, ..Faults::none() }), "01234");
    let flipped = read(Faults { flipped: 1_000, ..Faults::none() });
    assert!(flipped.len() == 10 && flipped != "0123456789", "{flipped:?}");
}

#[test]
fn a_loser_gets_a_500_where_that_is_switched_on() {
    let store = FaultyStore::new(1, Faults { server_error: 1_000, ..Faults::none() });
    store.swap(&swap("a", SwapCondition::Absent), soon()).unwrap();
    let fault = store.swap(&swap("b", SwapCondition::Absent), soon()).unwrap_err();
    assert!(fault.refusal().is_none(), "{fault}");
    store.calm();
    let fault = store.swap(&swap("b", SwapCondition::Absent), soon()).unwrap_err();
    assert_eq!(fault.refusal(), Some(&RefusalKind::Precondition));
}

#[test]
fn a_reader_refuses_an_older_head() {
    let store = Arc::new(FaultyStore::new(1, Faults::none()));
    let log = open(&store);
    let mut owner = writer(&log);
    append(&mut owner, 0);
    append(&mut owner, 1);
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    reader.fetch(Lsn(1)).unwrap();
    store.set_faults(Faults { old_head: 1_000, ..Faults::none() });
    let error = reader.fetch(Lsn(2)).unwrap_err();
    assert!(matches!(error, ReadError::RolledBack { .. }), "{error}");
    assert!(store.old_heads() > 0);
    store.calm();
    owner.close().unwrap();
}
