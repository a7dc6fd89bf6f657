//! The handle of a writer.
mod durability;
mod role;

pub use bucketlog_core::writer::{
    BatchPolicy, PartPolicy, PendingLimits, Status, TimestampPolicy, Watermarks, WriterOptions, WriterStats,
};
pub use durability::{AppendDurableFuture, Committed, CommittedFuture, Durability, DurabilityFuture, FlushFuture};

use crate::entropy::fresh_entropy;
use crate::error::{
    AppendDurableError, AppendError, AppendReason, BatchError, CloseError, DurabilityError, FlushError, OpenError,
};
use crate::host::{Backend, Host};
use crate::sync::Arc;
use crate::trace;
use bucketlog_core::boundary::Now;
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Epoch, Lsn, WriterId};
use bucketlog_core::writer::Writer as Machine;
use durability::{after, durable};
use role::{WriterHost, WriterRole};
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// An accepted record.
#[derive(Clone, Debug)]
pub struct Appended {
    /// Its position in the log, once it is durable.
    pub lsn: Lsn,
    /// Tells when it is durable.
    pub durability: Durability,
}

/// An accepted batch; a reader sees all of it or nothing.
#[derive(Clone, Debug)]
pub struct AppendedBatch {
    /// The positions of its records in the log, once it is durable.
    pub lsns: Range<Lsn>,
    /// Tells when it is durable.
    pub durability: Durability,
}

/// The owner of one partition: nobody else appends to it, and whoever claims it next fences this one.
///
/// Records are numbered as they are appended; they are durable when the committed watermark has passed them. What stays
/// in memory is bounded by [`PendingLimits`]. Blocking methods work for the writer on the calling thread while they
/// wait.
///
/// [`Writer::close`] is the graceful end. Dropping a writer aborts it: it never blocks and never panics, records that
/// are not durable yet are given up, and every handle that waits for them resolves.
///
/// A writer that was fenced hears of it at its next commit:
///
/// ```
/// use bucketlog_blocking::error::HaltCause;
/// use bucketlog_blocking::{Log, LogOptions, Partition, Record, StreamId, WriterOptions, now, store::Memory};
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = Log::open(Arc::new(Memory::new()), StreamId::new("orders")?, LogOptions::default());
/// let mut old = log.writer(Partition(0), WriterOptions::default())?;
/// old.append_durable(Record::new(now(), "first"))?;
///
/// let mut new = log.writer(Partition(0), WriterOptions::default())?;
/// new.append_durable(Record::new(now(), "second"))?;
///
/// // The first is accepted and fenced at its commit, the second is not accepted any more.
/// for late in ["too late", "much too late"] {
///     let error = old.append_durable(Record::new(now(), late)).unwrap_err();
///     let Some(HaltCause::Superseded { epoch, writer }) = error.halt_cause() else { return Err(error.into()) };
///     assert_eq!((*epoch, *writer), (new.epoch(), new.writer_id()));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Writer {
    host: Arc<WriterHost>,
}

impl Writer {
    /// Begins to claim a partition.
    pub(crate) fn claim(backend: &Backend, keys: LogKeys, mut options: WriterOptions) -> Result<Self, OpenError> {
        options.metrics |= backend.has_sink();
        let machine = Machine::open(keys, options, fresh_entropy()?)?;
        Ok(Self { host: Host::new(backend, machine, WriterRole::new()) })
    }

    /// Blocks until the claim is decided.
    pub(crate) fn opened(self) -> Result<Self, OpenError> {
        self.host.wait(poll_opened)?;
        Ok(self)
    }

    /// Appends a record. Blocks only while too much is pending.
    ///
    /// # Errors
    /// The record comes back with the reason, never [`AppendReason::Full`]; nothing changed.
    pub fn append(&mut self, record: Record) -> Result<Appended, AppendError> {
        match self.try_append(record) {
            Err(AppendError { record, reason: AppendReason::Full }) => {
                let mut record = Some(record);
                let lsn = self.host.wait(|machine, role, now, waker| {
                    role.wake_owner(waker);
                    poll_append(machine, now, &mut record)
                })?;
                Ok(self.appended(lsn))
            }
            result => result,
        }
    }

    /// Appends a record, or says at once why not. Never blocks.
    ///
    /// # Errors
    /// The record comes back with the reason; nothing changed. [`AppendReason::Full`] means that too much is pending.
    pub fn try_append(&mut self, record: Record) -> Result<Appended, AppendError> {
        let len = record.encoded_len();
        let lsn = self
            .host
            .call_unless(|machine| machine.appends_in_place(len), |machine, _, now| machine.append(now, record))?;
        Ok(self.appended(lsn))
    }

    /// [`Writer::append`] for tasks: waits for room without blocking. Dropping the future while it is pending means
    /// that the record was not accepted.
    pub fn append_async(&mut self, record: Record) -> AppendFuture<'_> {
        AppendFuture { writer: self, record: Some(record) }
    }

    /// Appends all records or none, in one segment. Blocks only while too much is pending.
    ///
    /// # Errors
    /// All records come back with the reason and the position of its cause; nothing changed.
    pub fn append_batch(&mut self, records: Vec<Record>) -> Result<AppendedBatch, BatchError> {
        let mut records = Some(records);
        let result = match self.host.call(|machine, _, now| poll_append_batch(machine, now, &mut records)) {
            Poll::Ready(result) => result,
            Poll::Pending => self.host.wait(|machine, role, now, waker| {
                let result = poll_append_batch(machine, now, &mut records);
                role.wake_owner(waker.filter(|_| result.is_pending()));
                result
            }),
        };
        Ok(self.appended_batch(result?))
    }

    /// [`Writer::append_batch`] for tasks: waits for room without blocking. Dropping the future while it is pending means
    /// that none was accepted.
    pub fn append_batch_async(&mut self, records: Vec<Record>) -> AppendBatchFuture<'_> {
        AppendBatchFuture { writer: self, records: Some(records) }
    }

    /// Appends a record and blocks until it is durable.
    ///
    /// # Errors
    /// Whether the record was not accepted, or what is known of it.
    pub fn append_durable(&mut self, record: Record) -> Result<Lsn, AppendDurableError> {
        let (mut record, mut end, mut id) = (Some(record), None, None);
        self.host.wait(|machine, role, now, waker| {
            let end = match end {
                Some(end) => end,
                None => match poll_append(machine, now, &mut record) {
                    Poll::Ready(Ok(lsn)) => *end.insert(after(lsn)),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                    Poll::Pending => {
                        role.wake_owner(waker);
                        return Poll::Pending;
                    }
                },
            };
            role.poll_durable(machine, end, &mut id, waker).map(|outcome| durable(end, outcome))
        })
    }

    /// [`Writer::append_durable`] for tasks. Records are accepted in the order of the futures' first polls, those that
    /// find no room later. Dropping the future before its record was accepted leaves it out; after that it only drops
    /// the wait. Any number of such futures may be under way, and those that are share segments.
    pub fn append_durable_async(&mut self, record: Record) -> AppendDurableFuture {
        AppendDurableFuture::new(Arc::clone(&self.host), record)
    }

    /// Closes the current segment at once; the next record begins a new one.
    pub fn cut(&mut self) {
        self.host.call(|machine, _, now| machine.cut(now));
    }

    /// Blocks until everything accepted is durable, and returns the committed watermark it reached.
    ///
    /// # Errors
    /// What is known of the last accepted record when the writer has come to its end.
    pub fn flush(&mut self) -> Result<Lsn, FlushError> {
        let (mut end, mut id) = (None, None);
        let result = self.host.wait(|machine, role, now, waker| {
            let end = *end.get_or_insert_with(|| machine.flush(now));
            role.poll_durable(machine, end, &mut id, waker).map_ok(|()| end)
        });
        Ok(result?)
    }

    /// [`Writer::flush`] for tasks; covers what is accepted when it is polled first.
    pub fn flush_async(&mut self) -> FlushFuture {
        FlushFuture::new(Arc::clone(&self.host))
    }

    /// Accepts nothing more, makes everything accepted durable, and returns the LSN that the next writer begins with
    /// if nobody comes between.
    ///
    /// # Errors
    /// What is known of the last accepted record when the writer has come to another end.
    #[must_use = "whether everything is durable"]
    pub fn close(self) -> Result<Lsn, CloseError> {
        let mut end = None;
        self.host.wait(|machine, role, now, waker| poll_closed(machine, role, now, &mut end, waker))
    }

    /// [`Writer::close`] for tasks. Dropping the future aborts the writer.
    pub fn close_async(self) -> CloseFuture {
        CloseFuture { writer: self, end: None }
    }

    /// Gives up what is not durable yet, at once; the same as dropping the writer.
    pub fn abort(self) {
        drop(self);
    }

    /// How far records have come.
    #[must_use]
    pub fn watermarks(&self) -> Watermarks {
        self.host.look(|machine, _| machine.watermarks())
    }

    /// The committed watermark, to be observed from anywhere.
    #[must_use]
    pub fn committed(&self) -> Committed {
        Committed::new(Arc::clone(&self.host))
    }

    /// Where the writer stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.host.look(|machine, _| machine.status().clone())
    }

    /// Counters since the writer was opened.
    #[must_use]
    pub fn stats(&self) -> WriterStats {
        self.host.look(|machine, _| machine.stats())
    }

    /// Name of this incarnation, as it appears in the head.
    #[must_use]
    pub fn writer_id(&self) -> WriterId {
        self.host.look(|machine, _| machine.writer_id())
    }

    /// The epoch that this writer claimed last, also after another has fenced it. It grows when the writer takes over
    /// from itself to end an unknown outcome.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.host.look(|machine, _| machine.epoch())
    }

    fn appended_batch(&self, lsns: Range<Lsn>) -> AppendedBatch {
        AppendedBatch { durability: Durability::new(Arc::clone(&self.host), lsns.end), lsns }
    }

    fn appended(&self, lsn: Lsn) -> Appended {
        Appended { lsn, durability: Durability::new(Arc::clone(&self.host), after(lsn)) }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let unproven = self.host.call(|machine, _, _| abort(machine));
        if unproven > 0 {
            trace::given_up(unproven);
        }
    }
}

/// Aborts a writer that has not come to its end. Gives how many records were accepted and are not durable.
fn abort(machine: &mut Machine) -> u64 {
    if matches!(machine.status(), Status::Closed | Status::Halted(_)) {
        return 0;
    }
    let watermarks = machine.watermarks();
    machine.abort();
    watermarks.accepted.0 - watermarks.committed.0
}

fn poll_opened(
    machine: &mut Machine,
    role: &mut WriterRole,
    _: Now,
    waker: Option<&Waker>,
) -> Poll<Result<(), OpenError>> {
    match machine.status() {
        Status::Opening => {
            role.wake_owner(waker);
            Poll::Pending
        }
        Status::Halted(halted) => Poll::Ready(Err(OpenError::Claim(halted.cause.clone()))),
        _ => Poll::Ready(Ok(())),
    }
}

/// Appends; pending is back-pressure, and leaves the record where it was.
fn poll_append(machine: &mut Machine, now: Now, record: &mut Option<Record>) -> Poll<Result<Lsn, AppendError>> {
    let mine = record.take().expect("nobody asks again once the record is gone");
    match machine.append(now, mine) {
        Err(AppendError { record: back, reason: AppendReason::Full }) => {
            *record = Some(back);
            Poll::Pending
        }
        result => Poll::Ready(result),
    }
}

/// [`poll_append`] for a batch.
fn poll_append_batch(
    machine: &mut Machine,
    now: Now,
    records: &mut Option<Vec<Record>>,
) -> Poll<Result<Range<Lsn>, BatchError>> {
    match machine.append_batch(now, records.take().unwrap_or_default()) {
        Err(BatchError { records: back, reason: AppendReason::Full, .. }) => {
            *records = Some(back);
            Poll::Pending
        }
        result => Poll::Ready(result),
    }
}

fn poll_closed(
    machine: &mut Machine,
    role: &mut WriterRole,
    now: Now,
    end: &mut Option<Lsn>,
    waker: Option<&Waker>,
) -> Poll<Result<Lsn, CloseError>> {
    let end = *end.get_or_insert_with(|| machine.close(now));
    if role.is_closed() {
        return Poll::Ready(Ok(end));
    }
    if let Some(halted) = role.halted() {
        let halted = halted.clone();
        let all_durable = halted.proven >= end;
        return Poll::Ready(if all_durable { Ok(end) } else { Err(DurabilityError::new(halted, end).into()) });
    }
    role.wake_owner(waker);
    Poll::Pending
}

/// Future of [`Writer::append_async`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct AppendFuture<'w> {
    writer: &'w mut Writer,
    record: Option<Record>,
}

impl Future for AppendFuture<'_> {
    type Output = Result<Appended, AppendError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { writer, record } = self.get_mut();
        let result = writer.host.poll(context, |machine, role, now, waker| {
            role.wake_owner(waker);
            poll_append(machine, now, record)
        });
        result.map_ok(|lsn| writer.appended(lsn))
    }
}

/// Future of [`Writer::append_batch_async`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct AppendBatchFuture<'w> {
    writer: &'w mut Writer,
    records: Option<Vec<Record>>,
}

impl Future for AppendBatchFuture<'_> {
    type Output = Result<AppendedBatch, BatchError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { writer, records } = self.get_mut();
        let result = writer.host.poll(context, |machine, role, now, waker| {
            let result = poll_append_batch(machine, now, records);
            role.wake_owner(waker.filter(|_| result.is_pending()));
            result
        });
        result.map_ok(|lsns| writer.appended_batch(lsns))
    }
}

/// Future of [`Writer::close_async`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct CloseFuture {
    writer: Writer,
    end: Option<Lsn>,
}

impl Future for CloseFuture {
    type Output = Result<Lsn, CloseError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { writer, end } = self.get_mut();
        writer.host.poll(context, |machine, role, now, waker| poll_closed(machine, role, now, end, waker))
    }
}

/// Future of [`Log::writer_async`](crate::Log::writer_async). Dropping it gives the claim up, which may fence the
/// present owner all the same.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct OpenFuture(Result<Option<Writer>, OpenError>);

impl OpenFuture {
    pub(crate) fn new(claim: Result<Writer, OpenError>) -> Self {
        Self(claim.map(Some))
    }
}

impl Future for OpenFuture {
    type Output = Result<Writer, OpenError>;

    /// # Panics
    /// When it is polled again after it was ready.
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.get_mut().0 {
            Err(error) => Poll::Ready(Err(error.clone())),
            Ok(claim) => {
                let writer = claim.as_ref().expect("a future is not polled after it was ready");
                let result = writer.host.poll(context, poll_opened);
                result.map(|opened| {
                    let writer = claim.take().expect("present, as above");
                    opened.map(|()| writer)
                })
            }
        }
    }
}
