//! A memory store whose writes can be held up or refused, and handles over it.
use bucketlog_blocking::store::{Memory, Store};
use bucketlog_blocking::writer::{PendingLimits, WriterOptions};
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
    /// The store's code panics once; after that, requests are executed.
    PanicOnce,
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

    fn pass(&self, of: impl Fn(&mut Conducts) -> &mut Conduct) -> Result<(), Fault> {
        let mut conducts = self.conducts.lock().unwrap();
        conducts.held += 1;
        self.changed.notify_all();
        conducts = self.changed.wait_while(conducts, |conducts| matches!(of(conducts), Conduct::Hold)).unwrap();
        conducts.held -= 1;
        let conduct = of(&mut conducts);
        match conduct.clone() {
            Conduct::Execute | Conduct::Hold => Ok(()),
            Conduct::Fail(fault) => Err(fault),
            Conduct::PanicOnce => {
                *conduct = Conduct::Execute;
                drop(conducts);
                panic!("as asked")
            }
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
        self.pass(|conducts| &mut conducts.create)?;
        self.store.create(request, until)
    }
    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        self.pass(|conducts| &mut conducts.swap)?;
        self.store.swap(request, until)
    }
}

pub(crate) fn stream() -> StreamId {
    StreamId::new("orders").unwrap()
}

pub(crate) fn log_on(store: Arc<dyn Store>) -> Log {
    Log::open(store, stream(), LogOptions { prove_store: false, ..LogOptions::default() })
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

/// Options under which every record is a segment and only one segment may wait to be stored.
pub(crate) fn tight() -> WriterOptions {
    let pending = PendingLimits { max_batches: 1, ..PendingLimits::default() };
    let mut options = WriterOptions { pending, ..options() };
    options.batch.max_records = 1;
    options
}

/// A writer that has no room before creates are executed again.
pub(crate) fn crowded(store: &Unruly, log: &Log) -> Writer {
    let mut writer = log.writer(PARTITION, tight()).unwrap();
    store.creates(Conduct::Hold);
    while writer.try_append(record(1)).is_ok() {}
    writer
}
