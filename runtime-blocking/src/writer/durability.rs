//! Waiting for records to become durable.
use super::poll_append;
use super::role::WriterHost;
use crate::error::{AppendDurableError, DurabilityError, FlushError, WatchEnded};
use crate::host::WaiterId;
use crate::sync::Arc;
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::Lsn;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Tells when accepted records are durable. It always resolves: also when the writer is fenced, aborted or dropped.
///
/// Waiting, on a thread or as a future, asks the writer to store the records soon instead of when its batch is full;
/// many that wait at a time share a segment. Dropping the handle, or a wait, has no effect on the records.
#[derive(Clone, Debug)]
pub struct Durability {
    host: Arc<WriterHost>,
    end: Lsn,
}

impl Durability {
    pub(super) fn new(host: Arc<WriterHost>, end: Lsn) -> Self {
        Self { host, end }
    }

    /// Every record below this LSN is covered.
    #[must_use]
    pub fn end(&self) -> Lsn {
        self.end
    }

    /// Blocks until the records are durable, or never will be provably so. The thread works for the writer meanwhile.
    ///
    /// # Errors
    /// What is known of the last of the records when the writer has come to its end.
    pub fn wait(&self) -> Result<(), DurabilityError> {
        let mut id = None;
        self.host.wait(|machine, role, _, waker| role.poll_durable(machine, self.end, &mut id, waker))
    }

    /// What is known now; `None` while the records are on their way.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<(), DurabilityError>> {
        self.host.look(|_, role| role.outcome(self.end))
    }
}

impl IntoFuture for Durability {
    type Output = Result<(), DurabilityError>;
    type IntoFuture = DurabilityFuture;

    fn into_future(self) -> DurabilityFuture {
        DurabilityFuture(Waiting { host: self.host, end: Some(self.end), id: None })
    }
}

/// Future of a [`Durability`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct DurabilityFuture(Waiting);

impl Future for DurabilityFuture {
    type Output = Result<(), DurabilityError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Waiting { host, end, id } = &mut self.0;
        let end = end.unwrap_or_default();
        let result = host.poll_unless(
            |role| role.outcome(end),
            context,
            |machine, role, _, waker| role.poll_durable(machine, end, id, waker),
        );
        self.0.finished(result)
    }
}

/// Future of [`Writer::append_durable_async`](super::Writer::append_durable_async).
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct AppendDurableFuture {
    waiting: Waiting,
    /// Until it is accepted.
    record: Option<Record>,
    room: Option<WaiterId>,
}

impl AppendDurableFuture {
    pub(super) fn new(host: Arc<WriterHost>, record: Record) -> Self {
        Self { waiting: Waiting { host, end: None, id: None }, record: Some(record), room: None }
    }
}

impl Future for AppendDurableFuture {
    type Output = Result<Lsn, AppendDurableError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { waiting: Waiting { host, end, id }, record, room } = &mut *self;
        let accepted = *end;
        let result = host.poll_unless(
            |role| accepted.and_then(|end| role.outcome(end).map(|outcome| durable(end, outcome))),
            context,
            |machine, role, now, waker| {
                let end = match *end {
                    Some(end) => end,
                    None => match poll_append(machine, now, record) {
                        Poll::Ready(Ok(lsn)) => *end.insert(after(lsn)),
                        Poll::Ready(Err(error)) => return Poll::Ready(Err(error.into())),
                        Poll::Pending => {
                            role.wait_for_room(room, waker);
                            return Poll::Pending;
                        }
                    },
                };
                role.poll_durable(machine, end, id, waker).map(|outcome| durable(end, outcome))
            },
        );
        self.waiting.finished(result)
    }
}

/// The outcome of one record whose LSN is the last below `end`.
pub(super) fn durable(end: Lsn, outcome: Result<(), DurabilityError>) -> Result<Lsn, AppendDurableError> {
    let lsn = Lsn(end.0 - 1);
    outcome.map(|()| lsn).map_err(|error| AppendDurableError::NotDurable { lsn, error })
}

/// Future of a flush; the first poll cuts what was accepted until then. Dropping it only drops the wait.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct FlushFuture(Waiting);

impl FlushFuture {
    pub(super) fn new(host: Arc<WriterHost>) -> Self {
        Self(Waiting { host, end: None, id: None })
    }
}

impl Future for FlushFuture {
    type Output = Result<Lsn, FlushError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Waiting { host, end, id } = &mut self.0;
        let result = host.poll(context, |machine, role, now, waker| {
            let end = *end.get_or_insert_with(|| machine.flush(now));
            role.poll_durable(machine, end, id, waker).map_ok(|()| end)
        });
        self.0.finished(result).map_err(FlushError)
    }
}

/// The committed watermark of a writer, for any number of observers; it outlives the writer.
#[derive(Clone, Debug)]
pub struct Committed(Arc<WriterHost>);

impl Committed {
    pub(super) fn new(host: Arc<WriterHost>) -> Self {
        Self(host)
    }

    /// Every record below this LSN is durable.
    #[must_use]
    pub fn get(&self) -> Lsn {
        self.0.look(|_, role| role.committed())
    }

    /// Blocks until the watermark is greater than `lsn`, that is, until record `lsn` is durable. Unlike
    /// [`Durability::wait`] this does not hurry the writer.
    ///
    /// # Errors
    /// The writer came to its end before.
    pub fn wait_past(&self, lsn: Lsn) -> Result<Lsn, WatchEnded> {
        let mut id = None;
        self.0.wait(|_, role, _, waker| role.poll_reached(after(lsn), &mut id, waker))
    }

    /// [`Committed::wait_past`] as a future.
    pub fn past(&self, lsn: Lsn) -> CommittedFuture {
        CommittedFuture(Waiting { host: Arc::clone(&self.0), end: Some(after(lsn)), id: None })
    }
}

/// The bound that is reached when `lsn` is durable.
pub(super) fn after(lsn: Lsn) -> Lsn {
    Lsn(lsn.0.saturating_add(1))
}

/// Future of [`Committed::past`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct CommittedFuture(Waiting);

impl Future for CommittedFuture {
    type Output = Result<Lsn, WatchEnded>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Waiting { host, end, id } = &mut self.0;
        let end = end.unwrap_or_default();
        let result = host.poll(context, |_, role, _, waker| role.poll_reached(end, id, waker));
        self.0.finished(result)
    }
}

/// A task's place among those who wait for the committed watermark.
#[derive(Debug)]
struct Waiting {
    host: Arc<WriterHost>,
    /// Unknown until a flush began.
    end: Option<Lsn>,
    id: Option<WaiterId>,
}

impl Waiting {
    /// Whoever is answered was taken out before.
    fn finished<T>(&mut self, result: Poll<T>) -> Poll<T> {
        if result.is_ready() {
            self.id = None;
        }
        result
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let (Some(end), Some(id)) = (self.end, self.id.take()) {
            self.host.look(|_, role| role.forget(end, id));
        }
    }
}
