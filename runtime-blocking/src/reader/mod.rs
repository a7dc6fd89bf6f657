//! The handle of a reader.
mod role;

pub use bucketlog_core::reader::{Batch, Freshness, ReadError, ReadLimit, ReaderOptions};

use crate::host::{Backend, Host};
use crate::sync::Arc;
use bucketlog_core::format::catalog::Head;
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Lsn, TimestampMs};
use bucketlog_core::reader::{Answer, CallId, Reader as Machine};
use role::{ReaderHost, ReaderRole};
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Reads one partition, straight from the store. Clones share its caches; any number of threads and tasks may use them
/// at once, and what several calls lack is loaded once.
///
/// Blocking calls load on the calling thread, with the log's threads beside it when several objects are needed. A
/// reader that is not asked does nothing.
///
/// A reader does not wait for news; to follow a log, ask again after a pause:
///
/// ```
/// use bucketlog_blocking::reader::{Freshness, ReadError, ReadLimit};
/// use bucketlog_blocking::{Lsn, Reader, Record};
/// use std::{thread, time::Duration};
///
/// /// Gives every record from `next` on to `handle`, until that returns false.
/// fn follow(reader: &Reader, mut next: Lsn, mut handle: impl FnMut(Lsn, Record) -> bool) -> Result<(), ReadError> {
///     loop {
///         let batch = reader.read(next, ReadLimit::default(), Freshness::OnTail)?;
///         if batch.records.is_empty() {
///             thread::sleep(Duration::from_millis(200)); // each look at the end is one small request
///         }
///         next = batch.next_lsn;
///         for (lsn, record) in batch.records {
///             if !handle(lsn, record) {
///                 return Ok(());
///             }
///         }
///     }
/// }
/// # use bucketlog_blocking::{Log, LogOptions, Partition, ReaderOptions, StreamId, WriterOptions, now, store::Memory};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let log = Log::open(std::sync::Arc::new(Memory::new()), StreamId::new("orders")?, LogOptions::default());
/// # let reader = log.reader(Partition(0), ReaderOptions::default())?;
/// # let mut writer = log.writer(Partition(0), WriterOptions::default())?;
/// # let follower = thread::spawn(move || follow(&reader, Lsn(0), |_, record| record.value != "last"));
/// # for value in ["first", "last"] { writer.append_durable(Record::new(now(), value))?; }
/// # follower.join().unwrap()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Reader {
    host: Arc<ReaderHost>,
}

impl Reader {
    pub(crate) fn new(backend: &Backend, keys: LogKeys, mut options: ReaderOptions, entropy: [u8; 32]) -> Self {
        options.metrics |= backend.has_sink();
        let role = ReaderRole::new(keys.head().into());
        Self { host: Host::new(backend, Machine::new(keys, options, entropy), role) }
    }

    /// The partition's head: where the log begins and ends, who owns it. A partition that nobody has written yet reads
    /// as an empty one (objlog protocols, section 2).
    ///
    /// # Errors
    /// As said at [`ReadError`].
    pub fn head(&self, freshness: Freshness) -> Result<Arc<Head>, ReadError> {
        self.wait(Ask::Head(freshness))
    }

    /// [`Reader::head`] for tasks.
    pub fn head_async(&self, freshness: Freshness) -> ReadFuture<Arc<Head>> {
        self.later(Ask::Head(freshness))
    }

    /// Reads records from `from` on, until `limit` or the end of the log. At the end the batch is empty; before an
    /// object that can't be read it may end early, and the next read fails.
    ///
    /// # Errors
    /// [`ReadError::Expired`] if `from` is below the oldest record, and as said at [`ReadError`].
    pub fn read(&self, from: Lsn, limit: ReadLimit, freshness: Freshness) -> Result<Batch, ReadError> {
        self.wait(Ask::Read(from, limit, freshness))
    }

    /// [`Reader::read`] for tasks.
    pub fn read_async(&self, from: Lsn, limit: ReadLimit, freshness: Freshness) -> ReadFuture<Batch> {
        self.later(Ask::Read(from, limit, freshness))
    }

    /// Reads one record.
    ///
    /// # Errors
    /// [`ReadError::Expired`] or [`ReadError::NotYet`] if `lsn` lies outside the log, and as said at [`ReadError`].
    pub fn fetch(&self, lsn: Lsn) -> Result<Record, ReadError> {
        self.wait(Ask::Fetch(lsn))
    }

    /// [`Reader::fetch`] for tasks.
    pub fn fetch_async(&self, lsn: Lsn) -> ReadFuture<Record> {
        self.later(Ask::Fetch(lsn))
    }

    /// Reads from the first record whose timestamp is `timestamp` or later.
    ///
    /// # Errors
    /// As said at [`ReadError`].
    pub fn read_from_timestamp(&self, timestamp: TimestampMs, limit: ReadLimit) -> Result<Batch, ReadError> {
        self.wait(Ask::ReadFromTimestamp(timestamp, limit))
    }

    /// [`Reader::read_from_timestamp`] for tasks.
    pub fn read_from_timestamp_async(&self, timestamp: TimestampMs, limit: ReadLimit) -> ReadFuture<Batch> {
        self.later(Ask::ReadFromTimestamp(timestamp, limit))
    }

    /// Looks up the first record whose timestamp is `timestamp` or later; `None` if there is none.
    ///
    /// # Errors
    /// As said at [`ReadError`].
    pub fn find_timestamp(&self, timestamp: TimestampMs) -> Result<Option<Lsn>, ReadError> {
        self.wait(Ask::FindTimestamp(timestamp))
    }

    /// [`Reader::find_timestamp`] for tasks.
    pub fn find_timestamp_async(&self, timestamp: TimestampMs) -> ReadFuture<Option<Lsn>> {
        self.later(Ask::FindTimestamp(timestamp))
    }

    /// All records from `from` to the end of the log, in order; blocks between batches. The last item is an error if
    /// there is one.
    #[must_use]
    pub fn iter(&self, from: Lsn) -> Records {
        Records { reader: self.clone(), batch: Vec::new().into_iter(), next: Some(from) }
    }

    fn wait<T: Reply>(&self, ask: Ask) -> Result<T, ReadError> {
        let mut call = None;
        let result = self.host.wait(|machine, role, _, waker| {
            let call = *call.get_or_insert_with(|| role.begin(machine, |machine| ask.issue(machine)));
            role.poll(call, waker)
        });
        result.map(in_kind)
    }

    fn later<T>(&self, ask: Ask) -> ReadFuture<T> {
        ReadFuture { host: Arc::clone(&self.host), ask, call: None, reply: PhantomData }
    }
}

/// A question to the machine.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Head(Freshness),
    Read(Lsn, ReadLimit, Freshness),
    Fetch(Lsn),
    ReadFromTimestamp(TimestampMs, ReadLimit),
    FindTimestamp(TimestampMs),
}

impl Ask {
    fn issue(self, machine: &mut Machine) -> CallId {
        match self {
            Self::Head(freshness) => machine.head(freshness),
            Self::Read(from, limit, freshness) => machine.read(from, limit, freshness),
            Self::Fetch(lsn) => machine.fetch(lsn),
            Self::ReadFromTimestamp(timestamp, limit) => machine.read_from_timestamp(timestamp, limit),
            Self::FindTimestamp(timestamp) => machine.find_timestamp(timestamp),
        }
    }
}

/// What a call is answered with.
trait Reply: Sized {
    fn of(answer: Answer) -> Option<Self>;
}

macro_rules! replies { ($($variant:ident => $reply:ty;)*) => { $(
    impl Reply for $reply {
        fn of(answer: Answer) -> Option<Self> {
            match answer { Answer::$variant(reply) => Some(reply), _ => None }
        }
    }
)* } }

replies! {
    Head => Arc<Head>;
    Batch => Batch;
    Record => Record;
    Position => Option<Lsn>;
}

fn in_kind<T: Reply>(answer: Answer) -> T {
    T::of(answer).expect("the machine answers each call in its kind")
}

/// Future of a call; it begins with the first poll, and dropping it gives the call up.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct ReadFuture<T> {
    host: Arc<ReaderHost>,
    ask: Ask,
    /// Under way.
    call: Option<CallId>,
    reply: PhantomData<fn() -> T>,
}

impl<T: Reply> Future for ReadFuture<T> {
    type Output = Result<T, ReadError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { host, ask, call, .. } = self.get_mut();
        let result = host.poll(context, |machine, role, _, waker| {
            let call = *call.get_or_insert_with(|| role.begin(machine, |machine| ask.issue(machine)));
            role.poll(call, waker)
        });
        if result.is_ready() {
            *call = None;
        }
        result.map_ok(in_kind)
    }
}

impl<T> Drop for ReadFuture<T> {
    fn drop(&mut self) {
        if let Some(call) = self.call {
            self.host.call(|machine, role, _| {
                machine.cancel(call);
                role.forget(call);
            });
        }
    }
}

/// Iterator of [`Reader::iter`].
#[derive(Debug)]
pub struct Records {
    reader: Reader,
    batch: std::vec::IntoIter<(Lsn, Record)>,
    /// Where to read on; `None` after the end.
    next: Option<Lsn>,
}

impl Iterator for Records {
    type Item = Result<(Lsn, Record), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.batch.next() {
                return Some(Ok(item));
            }
            match self.reader.read(self.next.take()?, ReadLimit::default(), Freshness::OnTail) {
                Err(error) => return Some(Err(error)),
                Ok(batch) if batch.records.is_empty() => return None,
                Ok(batch) => {
                    self.next = Some(batch.next_lsn);
                    self.batch = batch.records.into_iter();
                }
            }
        }
    }
}
