//! The whole driver with the real core over a store in memory, under random schedules: rivals that append, flush, give
//! up, drop and close, and readers beside them. `SHUTTLE_SCHEDULES` says how many; a failure prints how to replay it.
use crate::reader::{Freshness, ReadLimit, ReaderOptions};
use crate::store::Memory;
use crate::sync::thread;
use crate::writer::{Durability, PendingLimits, WriterOptions};
use crate::{Codec, Log, LogOptions, Lsn, Partition, Record, StreamId, TimestampMs, Writer};
use ::shuttle::future::block_on;
use ::shuttle::rand::{Rng, thread_rng};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

const PARTITION: Partition = Partition(0);

/// What somebody was told to be durable. The lock is never held across a point where the schedule may change.
#[derive(Clone, Default)]
struct Acknowledged(Arc<Mutex<BTreeMap<Lsn, Record>>>);

impl Acknowledged {
    fn add(&self, lsn: Lsn, record: &Record) {
        let known = self.0.lock().unwrap().insert(lsn, record.clone());
        assert!(known.is_none_or(|known| known == *record), "two records were acknowledged at {lsn}");
    }
}

fn choose(count: u32) -> u32 {
    thread_rng().gen_range(0..count)
}

fn check(course: impl Fn() + Send + Sync + 'static) {
    let schedules = std::env::var("SHUTTLE_SCHEDULES").map_or(300, |count| count.parse().expect("a number"));
    ::shuttle::check_random(course, schedules);
}

/// At least one thread, for futures execute nothing themselves.
fn log() -> Log {
    let threads = 1 + choose(2) as usize;
    let options = LogOptions { threads, cpu_threads: 1, max_uploads: 1, ..LogOptions::default() };
    Log::open(Arc::new(Memory::new()), StreamId::new("orders").unwrap(), options)
}

/// Small limits, so that appends meet back-pressure.
fn options() -> WriterOptions {
    let pending = PendingLimits { max_batches: 1, ..PendingLimits::default() };
    let mut options = WriterOptions { codec: Codec::None, pending, ..WriterOptions::default() };
    options.batch.max_records = 2;
    options
}

fn record(owner: u32, n: u32) -> Record {
    Record::new(TimestampMs(0), format!("{owner}/{n}"))
}

/// Waits on a thread of its own; however the writer ends, the wait does.
fn wait(durability: Durability, lsn: Lsn, record: Record, acknowledged: &Acknowledged) -> thread::JoinHandle<()> {
    let acknowledged = acknowledged.clone();
    let by_future = choose(2) == 0;
    thread::spawn(move || {
        let durable = if by_future { block_on(durability.into_future()) } else { durability.wait() };
        if durable.is_ok() {
            acknowledged.add(lsn, &record);
        }
    })
}

/// Does a few things with a writer, then ends it.
fn own(log: &Log, owner: u32, acknowledged: &Acknowledged) {
    let Ok(mut writer) = log.writer(PARTITION, options()) else { return };
    let (mut accepted, mut waits) = (Vec::new(), Vec::new());
    for n in 0..4 {
        let record = record(owner, n);
        match choose(5) {
            0 => {
                if let Ok(appended) = writer.append(record.clone()) {
                    accepted.push((appended.lsn, record.clone()));
                    waits.push(wait(appended.durability, appended.lsn, record, acknowledged));
                }
            }
            1 => {
                if let Ok(lsn) = writer.append_durable(record.clone()) {
                    acknowledged.add(lsn, &record);
                }
            }
            2 => {
                let mut context = Context::from_waker(Waker::noop());
                let _given_up = pin!(writer.append_durable_async(record)).poll(&mut context);
            }
            3 => {
                if writer.flush().is_ok() {
                    accepted.drain(..).for_each(|(lsn, record)| acknowledged.add(lsn, &record));
                }
            }
            _ => {
                if let Ok(batch) = writer.append_batch(vec![record.clone(), record.clone()]) {
                    accepted.push((batch.lsns.start, record.clone()));
                    waits.push(wait(batch.durability, batch.lsns.start, record, acknowledged));
                }
            }
        }
    }
    let ended = end(writer);
    if ended {
        accepted.drain(..).for_each(|(lsn, record)| acknowledged.add(lsn, &record));
    }
    waits.into_iter().for_each(|wait| wait.join().unwrap());
}

/// Ends a writer; whether everything it accepted is durable.
fn end(writer: Writer) -> bool {
    let committed = writer.committed();
    let last = writer.watermarks().accepted;
    let watch = thread::spawn(move || committed.wait_past(last).is_err());
    let closed = match choose(3) {
        0 => writer.close().is_ok(),
        1 => {
            drop(writer);
            false
        }
        _ => {
            let mut context = Context::from_waker(Waker::noop());
            let _given_up = pin!(writer.close_async()).poll(&mut context);
            false
        }
    };
    assert!(watch.join().unwrap(), "the watermark passed what was accepted");
    closed
}

/// Looks at the growing log a few times.
fn read(log: &Log) -> Vec<(Lsn, Record)> {
    let reader = log.reader(PARTITION, ReaderOptions::default()).unwrap();
    let (mut seen, mut next) = (Vec::new(), Lsn(0));
    for _ in 0..4 {
        if choose(3) == 0 {
            let mut context = Context::from_waker(Waker::noop());
            let _given_up = pin!(reader.fetch_async(next)).poll(&mut context);
        }
        let batch = reader.read(next, ReadLimit::records(2), Freshness::OnTail).unwrap();
        next = batch.next_lsn;
        seen.extend(batch.records);
    }
    seen
}

fn rivals() {
    let (log, acknowledged) = (log(), Acknowledged::default());
    let owners: Vec<_> = (0..2)
        .map(|owner| {
            let (log, acknowledged) = (log.clone(), acknowledged.clone());
            thread::spawn(move || own(&log, owner, &acknowledged))
        })
        .collect();
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let log = log.clone();
            thread::spawn(move || read(&log))
        })
        .collect();
    owners.into_iter().for_each(|owner| owner.join().unwrap());
    let seen: Vec<_> = readers.into_iter().map(|reader| reader.join().unwrap()).collect();

    let all: Vec<_> =
        log.reader(PARTITION, ReaderOptions::default()).unwrap().iter(Lsn(0)).map(Result::unwrap).collect();
    assert!(all.iter().zip(0..).all(|((lsn, _), n)| *lsn == Lsn(n)), "LSNs are not dense");
    for seen in seen {
        assert_eq!(seen[..], all[..seen.len()], "a reader saw what is not a prefix of the log");
    }
    let stored: BTreeMap<_, _> = all.into_iter().collect();
    for (lsn, record) in acknowledged.0.lock().unwrap().iter() {
        assert_eq!(stored.get(lsn), Some(record), "record {lsn} was acknowledged and is lost");
    }
}

#[test]
fn shuttle_rivals_and_readers_are_all_answered_and_lose_nothing() {
    check(rivals);
}
