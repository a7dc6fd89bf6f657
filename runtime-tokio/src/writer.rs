//! The handle of a writer.
pub use bucketlog_blocking::writer::{
    BatchPolicy, PartPolicy, PendingLimits, Status, TimestampPolicy, Watermarks, WriterOptions, WriterStats,
};

use bucketlog_blocking::error::{
    AppendDurableError, AppendError, BatchError, CloseError, DurabilityError, FlushError, WatchEnded,
};
use bucketlog_blocking::writer::{self as blocking, CommittedFuture, DurabilityFuture};
use bucketlog_blocking::{Epoch, Lsn, Record, WriterId};
use futures_core::Stream;
use std::future::{Future, IntoFuture};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

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
/// in memory is bounded by [`PendingLimits`].
///
/// [`Writer::close`] is the graceful end. Dropping a writer aborts it: it never blocks and never panics, records that
/// are not durable yet are given up, and every handle that waits for them resolves.
#[derive(Debug)]
pub struct Writer {
    inner: blocking::Writer,
}

impl Writer {
    pub(crate) fn new(inner: blocking::Writer) -> Self {
        Self { inner }
    }

    /// Appends a record. Waits only while too much is pending. Dropping the future while it is pending means that the
    /// record was not accepted.
    ///
    /// # Errors
    /// The record comes back with the reason, never [`AppendReason::Full`](crate::error::AppendReason::Full); nothing
    /// changed.
    pub async fn append(&mut self, record: Record) -> Result<Appended, AppendError> {
        self.inner.append_async(record).await.map(Appended::from)
    }

    /// Appends a record, or says at once why not.
    ///
    /// # Errors
    /// The record comes back with the reason; nothing changed. [`AppendReason::Full`](crate::error::AppendReason::Full)
    /// means that too much is pending.
    pub fn try_append(&mut self, record: Record) -> Result<Appended, AppendError> {
        self.inner.try_append(record).map(Appended::from)
    }

    /// Appends all records or none, in one segment. Waits only while too much is pending. Dropping the future while it is
    /// pending means that none was accepted.
    ///
    /// # Errors
    /// All records come back with the reason and the position of its cause; nothing changed.
    pub async fn append_batch(&mut self, records: Vec<Record>) -> Result<AppendedBatch, BatchError> {
        let blocking::AppendedBatch { lsns, durability } = self.inner.append_batch_async(records).await?;
        Ok(AppendedBatch { lsns, durability: Durability(durability) })
    }

    /// Appends a record and waits until it is durable. Records are accepted in the order of the futures' first polls, those
    /// that find no room later. Dropping the future before its record was accepted leaves it out; after that it only
    /// drops the wait. The future does not borrow the writer: any number may be under way, and those that are share
    /// segments.
    pub fn append_durable(
        &mut self,
        record: Record,
    ) -> impl Future<Output = Result<Lsn, AppendDurableError>> + Send + 'static + use<> {
        self.inner.append_durable_async(record)
    }

    /// Closes the current segment at once; the next record begins a new one.
    pub fn cut(&mut self) {
        self.inner.cut();
    }

    /// Waits until everything accepted is durable, and returns the committed watermark it reached. Dropping the future
    /// drops the wait; the records are stored all the same once it was polled.
    ///
    /// # Errors
    /// What is known of the last accepted record when the writer has come to its end.
    pub async fn flush(&mut self) -> Result<Lsn, FlushError> {
        self.inner.flush_async().await
    }

    /// Accepts nothing more, makes everything accepted durable, and returns the LSN that the next writer begins with if
    /// nobody comes between. Dropping the future aborts the writer.
    ///
    /// # Errors
    /// What is known of the last accepted record when the writer has come to another end.
    pub async fn close(self) -> Result<Lsn, CloseError> {
        self.inner.close_async().await
    }

    /// Gives up what is not durable yet, at once; the same as dropping the writer.
    pub fn abort(self) {
        drop(self);
    }

    /// How far records have come.
    #[must_use]
    pub fn watermarks(&self) -> Watermarks {
        self.inner.watermarks()
    }

    /// The committed watermark, to be observed from anywhere.
    #[must_use]
    pub fn committed(&self) -> Committed {
        Committed(self.inner.committed())
    }

    /// Where the writer stands.
    #[must_use]
    pub fn status(&self) -> Status {
        self.inner.status()
    }

    /// Counters since the writer was opened.
    #[must_use]
    pub fn stats(&self) -> WriterStats {
        self.inner.stats()
    }

    /// Name of this incarnation, as it appears in the head.
    #[must_use]
    pub fn writer_id(&self) -> WriterId {
        self.inner.writer_id()
    }

    /// The epoch that this writer claimed last, also after another has fenced it. It grows when the writer takes over
    /// from itself to end an unknown outcome.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.inner.epoch()
    }
}

impl From<blocking::Appended> for Appended {
    fn from(blocking::Appended { lsn, durability }: blocking::Appended) -> Self {
        Self { lsn, durability: Durability(durability) }
    }
}

/// Tells when accepted records are durable: await it. It always resolves: also when the writer is fenced, aborted or
/// dropped.
///
/// Waiting asks the writer to store the records soon instead of when its batch is full; many that wait at a time share a
/// segment. Dropping the handle, or a wait, has no effect on the records.
#[derive(Clone, Debug)]
pub struct Durability(blocking::Durability);

impl Durability {
    /// Every record below this LSN is covered.
    #[must_use]
    pub fn end(&self) -> Lsn {
        self.0.end()
    }

    /// What is known now; `None` while the records are on their way.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<(), DurabilityError>> {
        self.0.outcome()
    }
}

impl IntoFuture for Durability {
    type Output = Result<(), DurabilityError>;
    type IntoFuture = DurabilityFuture;

    fn into_future(self) -> DurabilityFuture {
        self.0.into_future()
    }
}

/// The committed watermark of a writer, for any number of observers; it outlives the writer.
#[derive(Clone, Debug)]
pub struct Committed(blocking::Committed);

impl Committed {
    /// Every record below this LSN is durable.
    #[must_use]
    pub fn get(&self) -> Lsn {
        self.0.get()
    }

    /// Waits until the watermark is greater than `lsn`, that is, until record `lsn` is durable. Unlike a [`Durability`]
    /// this does not hurry the writer.
    ///
    /// # Errors
    /// The writer came to its end before.
    pub async fn past(&self, lsn: Lsn) -> Result<Lsn, WatchEnded> {
        self.0.past(lsn).await
    }

    /// The watermark now, and each time that it has advanced; advances that nobody looks at are seen as one. The last item
    /// is an error if the writer came to its end by anything but [`Writer::close`].
    #[must_use]
    pub fn advances(&self) -> Advances {
        Advances { committed: self.0.clone(), seen: None, next: None, ended: false }
    }
}

/// Stream of [`Committed::advances`].
#[derive(Debug)]
pub struct Advances {
    committed: blocking::Committed,
    seen: Option<Lsn>,
    next: Option<CommittedFuture>,
    ended: bool,
}

impl Stream for Advances {
    type Item = Result<Lsn, WatchEnded>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { committed, seen, next, ended } = &mut *self;
        if *ended {
            return Poll::Ready(None);
        }
        let Some(last) = *seen else {
            return Poll::Ready(Some(Ok(*seen.insert(committed.get()))));
        };
        // The watermark is the LSN after the last durable record: it has advanced once that one is durable.
        let result = std::task::ready!(Pin::new(next.get_or_insert_with(|| committed.past(last))).poll(context));
        *next = None;
        Poll::Ready(match result {
            Ok(lsn) => Some(Ok(*seen.insert(lsn))),
            Err(end) => {
                *ended = true;
                end.cause.is_some().then_some(Err(end))
            }
        })
    }
}
