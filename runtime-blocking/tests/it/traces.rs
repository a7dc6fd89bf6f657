//! What operators read.
use crate::world::{record, stream, writer};
use bucketlog_blocking::store::Memory;
use bucketlog_blocking::{Log, LogOptions};
use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};
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
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        run(&Log::open(Arc::new(Memory::new()), stream(), LogOptions { threads: 0, ..LogOptions::default() }));
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
