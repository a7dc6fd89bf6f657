//! What operators read.
use crate::world::{PARTITION, options, record, stream, writer};
use bucketlog_blocking::error::{HaltCause, OpenError};
use bucketlog_blocking::store::{Memory, Store};
use bucketlog_blocking::writer::WriterOptions;
use bucketlog_blocking::{Log, LogOptions};
use bucketlog_core::boundary::{
    ByteRange, Create, CreateReply, Delete, Fault, Get, GetReply, Key, List, ListReply, Stat, StatReply, Swap,
    SwapReply,
};
use bucketlog_fixtures::servers::{Act, Reply};
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex, Once};
use std::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<(Level, String)>>>);

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().unwrap().push((*event.metadata().level(), line.0));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

/// What is traced on this thread, where a log without threads does all its work.
fn traced(run: impl FnOnce(&Log)) -> Vec<(Level, String)> {
    traced_on(Arc::new(Memory::new()), run)
}

fn traced_on(store: Arc<dyn Store>, run: impl FnOnce(&Log)) -> Vec<(Level, String)> {
    // Whether a place in the code traces at all is remembered from the first thread that comes by, which may be that of
    // another test: so there is a subscriber everywhere.
    static EVERYWHERE: Once = Once::new();
    EVERYWHERE.call_once(|| tracing::subscriber::set_global_default(Lines::default()).unwrap());
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        run(&Log::open(store, stream(), LogOptions { threads: 0, ..LogOptions::default() }));
    });
    lines.0.lock().unwrap().clone()
}

#[test]
fn a_dropped_writer_reports_what_it_gave_up() {
    let lines = traced(|log| {
        let mut writer = writer(log);
        writer.append_durable(record(1)).unwrap();
        writer.append(record(2)).unwrap();
        writer.append(record(3)).unwrap();
    });
    let warnings: Vec<_> = lines.iter().filter(|(level, _)| *level == Level::WARN).collect();
    assert!(matches!(warnings[..], [(_, line)] if line.contains("unproven=2")), "{lines:?}");
}

// I13
#[test]
fn a_lost_race_is_not_worth_a_warning() {
    let lines = traced(|log| {
        let mut old = writer(log);
        let new = writer(log);
        old.append(record(1)).unwrap();
        assert!(old.flush().is_err());
        new.close().unwrap();
    });
    assert!(lines.iter().any(|(_, line)| line.contains("took the log over")), "{lines:?}");
    assert!(lines.iter().all(|(level, _)| *level >= Level::DEBUG), "{lines:?}");
}

/// A store where a rival claims the log just before each swap.
#[derive(Debug)]
struct Raced {
    store: Arc<Memory>,
    rivals: Log,
}

impl Store for Raced {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        self.store.get(request, until)
    }
    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        self.store.stat(request, until)
    }
    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        self.store.list(request, until)
    }
    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        self.store.delete(request, until)
    }
    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        self.store.create(request, until)
    }
    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        writer(&self.rivals).close().unwrap();
        self.store.swap(request, until)
    }
}

// I13
#[test]
fn a_lost_claim_is_not_worth_a_warning() {
    let store = Arc::new(Memory::new());
    let without_threads = LogOptions { threads: 0, ..LogOptions::default() };
    let rivals = Log::open(Arc::clone(&store) as _, stream(), without_threads);
    let lines = traced_on(Arc::new(Raced { store, rivals }), |log| {
        let error = log.writer(PARTITION, WriterOptions { claim_attempts: 2, ..options() }).unwrap_err();
        assert!(matches!(error, OpenError::Claim(HaltCause::Contended { attempts: 2, .. })), "{error}");
    });
    assert!(lines.iter().any(|(_, line)| line.contains("the claim was lost 2 times")), "{lines:?}");
    assert!(lines.iter().all(|(level, _)| *level >= Level::DEBUG), "{lines:?}");
}

#[test]
fn e15_a_clock_that_differs_from_the_stores_is_shown_once_with_by_how_much() {
    let (server, store) = crate::s3::scripted();
    let store = Arc::new(store);
    let skewed = Reply::error(403, "RequestTimeTooSkewed").with("date", "Wed, 02 Jan 2030 03:04:05 GMT");
    for _ in 0..2 {
        server.next("GET", Act::Answer { applied: false, reply: skewed.clone() });
    }
    let get = Get::new(Key::from("a"), ByteRange::All, 1);
    let lines = traced_on(store.clone(), |_| {
        for _ in 0..3 {
            store.get(&get, crate::soon()).unwrap_err();
        }
    });
    let [(level, line)] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(*level, Level::WARN);
    assert!(line.contains("store_is_ahead_ms=") && line.contains("clock differs"), "{line}");
}
