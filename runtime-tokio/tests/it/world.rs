//! A memory store whose writes can be held up, and logs over it.
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, Create, CreateReply, CreateUpload, CreateUploadReply, Delete, DeleteMany,
    DeleteManyReply, Fault, Get, GetReply, List, ListReply, ListUploads, ListUploadsReply, RefusalKind, Stat,
    StatReply, Swap, SwapReply, UploadPart, UploadPartReply,
};
use bucketlog_tokio::store::{Attempt, Memory, Store};
use bucketlog_tokio::writer::PendingLimits;
use bucketlog_tokio::{Codec, Log, LogOptions, Partition, Record, StreamId, TimestampMs, Writer, WriterOptions};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

pub(crate) const PARTITION: Partition = Partition(0);

/// A memory store that holds its creates and swaps up while told to, and can panic once.
#[derive(Debug)]
pub(crate) struct Held {
    store: Memory,
    open: watch::Sender<bool>,
    waiting: watch::Sender<usize>,
    panics: AtomicUsize,
}

impl Held {
    pub(crate) fn new() -> Arc<Self> {
        let panics = AtomicUsize::new(0);
        Arc::new(Self { store: Memory::new(), open: watch::Sender::new(true), waiting: watch::Sender::new(0), panics })
    }

    pub(crate) fn hold(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn release(&self) {
        self.open.send_replace(true);
    }

    /// The next write panics.
    pub(crate) fn panic_once(&self) {
        self.panics.store(1, SeqCst);
    }

    /// Ends once so many writes are held up.
    pub(crate) async fn until_held(&self, count: usize) {
        self.waiting.subscribe().wait_for(|waiting| *waiting >= count).await.unwrap();
    }

    async fn pass(&self) {
        assert!(self.panics.swap(0, SeqCst) == 0, "as asked");
        self.waiting.send_modify(|waiting| *waiting += 1);
        self.open.subscribe().wait_for(|open| *open).await.unwrap();
        self.waiting.send_modify(|waiting| *waiting -= 1);
    }
}

macro_rules! reads { ($($method:ident($request:ty) -> $reply:ty;)*) => { $(
    fn $method<'a>(&'a self, request: &'a $request, until: Instant) -> Attempt<'a, $reply> {
        Store::$method(&self.store, request, until)
    }
)* } }

macro_rules! writes { ($($method:ident($request:ty) -> $reply:ty;)*) => { $(
    fn $method<'a>(&'a self, request: &'a $request, until: Instant) -> Attempt<'a, $reply> {
        Box::pin(async move {
            self.pass().await;
            Store::$method(&self.store, request, until).await
        })
    }
)* } }

macro_rules! no_parts { ($($method:ident($request:ty) -> $reply:ty;)*) => { $(
    fn $method<'a>(&'a self, _: &'a $request, _: Instant) -> Attempt<'a, $reply> {
        Box::pin(async { Err(Fault::refused(RefusalKind::Unsupported, "whole objects only")) })
    }
)* } }

impl Store for Held {
    reads! {
        get(Get) -> GetReply;
        stat(Stat) -> StatReply;
        list(List) -> ListReply;
        delete(Delete) -> ();
        delete_many(DeleteMany) -> DeleteManyReply;
    }
    writes! {
        create(Create) -> CreateReply;
        swap(Swap) -> SwapReply;
    }
    no_parts! {
        create_upload(CreateUpload) -> CreateUploadReply;
        upload_part(UploadPart) -> UploadPartReply;
        complete_upload(CompleteUpload) -> CreateReply;
        abort_upload(AbortUpload) -> ();
        list_uploads(ListUploads) -> ListUploadsReply;
    }
}

pub(crate) fn log_on(store: Arc<dyn Store>) -> Log {
    let options = LogOptions { prove_store: false, ..LogOptions::default() };
    Log::open(store, StreamId::new("tests").unwrap(), options).unwrap()
}

pub(crate) fn options() -> WriterOptions {
    WriterOptions { codec: Codec::None, ..WriterOptions::default() }
}

/// Room for one record at a time.
pub(crate) fn tight() -> WriterOptions {
    let mut options = options();
    (options.batch.max_records, options.batch.max_bytes) = (1, 100);
    options.pending = PendingLimits { max_batches: 1, max_bytes: 100 };
    options
}

pub(crate) async fn writer(log: &Log) -> Writer {
    log.writer(PARTITION, options()).await.unwrap()
}

pub(crate) fn record(n: u64) -> Record {
    Record::new(TimestampMs(0), format!("record {n}"))
}

pub(crate) fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Runs a test on both kinds of runtimes.
pub(crate) fn on_both<F: Future<Output = ()>>(test: impl Fn() -> F) {
    current_thread().block_on(test());
    multi_thread().block_on(test());
}
