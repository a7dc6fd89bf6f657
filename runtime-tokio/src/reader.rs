//! The handle of a reader.
pub use bucketlog_blocking::reader::{Batch, Freshness, ReadError, ReadLimit, ReaderOptions};
pub use bucketlog_core::format::catalog::Head;

use bucketlog_blocking::reader::{self as blocking, ReadFuture};
use bucketlog_blocking::{Lsn, Record, TimestampMs};
use futures_core::Stream;
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Reads one partition, through caches of pages, indexes and blocks that its clones share. Dropping the future of a call
/// gives the call up.
///
/// A reader does not wait for news; to follow a log, ask again after a pause.
#[derive(Clone, Debug)]
pub struct Reader {
    inner: blocking::Reader,
}

impl Reader {
    pub(crate) fn new(inner: blocking::Reader) -> Self {
        Self { inner }
    }

    /// The partition's head: where the log begins and ends, who owns it. A partition that nobody has written yet reads
    /// as an empty one (objlog protocols, section 2).
    ///
    /// # Errors
    /// As said at [`ReadError`].
    pub async fn head(&self, freshness: Freshness) -> Result<Arc<Head>, ReadError> {
        self.inner.head_async(freshness).await
    }

    /// Reads records from `from` on, until `limit` or the end of the log. At the end the batch is empty; before an object
    /// that can't be read it may end early, and the next read fails.
    ///
    /// # Errors
    /// [`ReadError::Expired`] if `from` is below the oldest record, and as said at [`ReadError`].
    pub async fn read(&self, from: Lsn, limit: ReadLimit, freshness: Freshness) -> Result<Batch, ReadError> {
        self.inner.read_async(from, limit, freshness).await
    }

    /// Reads one record.
    ///
    /// # Errors
    /// [`ReadError::Expired`] or [`ReadError::NotYet`] if `lsn` lies outside the log, and as said at [`ReadError`].
    pub async fn fetch(&self, lsn: Lsn) -> Result<Record, ReadError> {
        self.inner.fetch_async(lsn).await
    }

    /// Reads from the first record whose timestamp is `timestamp` or later.
    ///
    /// # Errors
    /// As said at [`ReadError`].
    pub async fn read_from_timestamp(&self, timestamp: TimestampMs, limit: ReadLimit) -> Result<Batch, ReadError> {
        self.inner.read_from_timestamp_async(timestamp, limit).await
    }

    /// Looks up the first record whose timestamp is `timestamp` or later; `None` if there is none.
    ///
    /// # Errors
    /// As said at [`ReadError`].
    pub async fn find_timestamp(&self, timestamp: TimestampMs) -> Result<Option<Lsn>, ReadError> {
        self.inner.find_timestamp_async(timestamp).await
    }

    /// All records from `from` to the end of the log, in order. The last item is an error if there is one.
    #[must_use]
    pub fn records(&self, from: Lsn) -> Records {
        Records { reader: self.inner.clone(), batch: VecDeque::new(), next: Some(from), call: None }
    }
}

/// Stream of [`Reader::records`].
#[derive(Debug)]
pub struct Records {
    reader: blocking::Reader,
    batch: VecDeque<(Lsn, Record)>,
    /// Where to read on; `None` after the end.
    next: Option<Lsn>,
    call: Option<ReadFuture<Batch>>,
}

impl Stream for Records {
    type Item = Result<(Lsn, Record), ReadError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { reader, batch, next, call } = &mut *self;
        loop {
            if let Some(item) = batch.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            let Some(from) = *next else { return Poll::Ready(None) };
            let read = || reader.read_async(from, ReadLimit::default(), Freshness::OnTail);
            let result = ready!(Pin::new(call.get_or_insert_with(read)).poll(context));
            (*call, *next) = (None, None);
            match result {
                Err(error) => return Poll::Ready(Some(Err(error))),
                Ok(read) if read.records.is_empty() => return Poll::Ready(None),
                Ok(read) => (*next, *batch) = (Some(read.next_lsn), read.records.into()),
            }
        }
    }
}
