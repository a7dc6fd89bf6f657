//! A memory store whose writes can be held up or refused, and handles over it.
use bucketlog_blocking::store::{Memory, Store};
use bucketlog_blocking::writer::WriterOptions;
use bucketlog_blocking::{Log, LogOptions, Writer};
use bucketlog_core::boundary::{
    Create, CreateReply, Delete, Fault, Get, GetReply, List, ListReply, Stat, StatReply, Swap, SwapReply,
};
use bucketlog_core::format::keys::StreamId;
use bucketlog_core::format::segment::{Codec, Record};
use bucketlog_core::ids::{Partition, TimestampMs};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

pub(crate) const PARTITION: Partition = Partition(0);

/// What becomes of a kind of request.
#[derive(Clone, Debug, Default)]
pub(crate) enum Conduct {
    /// It is executed.
    #[default]
    Execute,
    /// It waits until the conduct is another.
    Hold,
    /// It is answered with a fault.
    Fail(Fault),
}

#[derive(Debug, Default)]
struct Conducts {
    create: Conduct,
    swap: Conduct,
    held: usize,
}

/// A memory store that can be told to misbehave.
#[derive(Debug, Default)]
pub(crate) struct Unruly {
    store: Memory,
    conducts: Mutex<Conducts>,
    changed: Condvar,
}

impl Unruly {
    pub(crate) fn creates(&self, conduct: Conduct) {
        self.conducts.lock().unwrap().create = conduct;
        self.changed.notify_all();
    }

    pub(crate) fn swaps(&self, conduct: Conduct) {
        self.conducts.lock().unwrap().swap = conduct;
        self.changed.notify_all();
    }

    /// Returns once this many requests are held up.
    pub(crate) fn wait_held(&self, count: usize) {
        drop(self.changed.wait_while(self.conducts.lock().unwrap(), |conducts| conducts.held < count).unwrap());
    }

    fn pass(&self, conduct: impl Fn(&Conducts) -> &Conduct) -> Result<(), Fault> {
        let mut conducts = self.conducts.lock().unwrap();
        conducts.held += 1;
        self.changed.notify_all();
        conducts = self.changed.wait_while(conducts, |conducts| matches!(conduct(conducts), Conduct::Hold)).unwrap();
        conducts.held -= 1;
        match conduct(&conducts) {
            Conduct::Fail(fault) => Err(fault.clone()),
            _ => Ok(()),
        }
    }
}

impl Store for Unruly {
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
        self.pass(|conducts| &conducts.create)?;
        self.store.create(request, until)
    }
    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        self.pass(|conducts| &conducts.swap)?;
        self.store.swap(request, until)
    }
}

pub(crate) fn stream() -> StreamId {
    StreamId::new("orders").unwrap()
}

pub(crate) fn log_on(store: Arc<dyn Store>) -> Log {
    Log::open(store, stream(), LogOptions::default())
}

pub(crate) fn world() -> (Arc<Unruly>, Log) {
    let store = Arc::new(Unruly::default());
    (Arc::clone(&store), log_on(store))
}

pub(crate) fn options() -> WriterOptions {
    WriterOptions { codec: Codec::None, ..WriterOptions::default() }
}

pub(crate) fn writer(log: &Log) -> Writer {
    log.writer(PARTITION, options()).unwrap()
}

pub(crate) fn record(n: u8) -> Record {
    Record::new(TimestampMs(i64::from(n)), vec![n; 10])
}
