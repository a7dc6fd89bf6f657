//! Creating a partition that begins at a chosen LSN.
pub use bucketlog_core::initialize::{InitializeError, Initialized};

use crate::entropy::{EntropyError, fresh_entropy};
use crate::host::{Backend, Help, Host, News, Role};
use crate::sync::Arc;
use bucketlog_core::boundary::Fault;
use bucketlog_core::format::catalog::CatalogLayout;
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::ids::Lsn;
use bucketlog_core::initialize::Initialize as Machine;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Options of [`Log::initialize_partition`](crate::Log::initialize_partition).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitializeOptions {
    /// Fan-out and hash of the catalog.
    pub layout: CatalogLayout,
    /// How long it may take. Default 5 min.
    pub budget: Duration,
}

impl Default for InitializeOptions {
    fn default() -> Self {
        Self { layout: CatalogLayout::default(), budget: Duration::from_secs(300) }
    }
}

/// Why a partition was not created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InitializePartitionError {
    /// No random bytes for the jitter of pauses.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The attempt failed.
    #[error(transparent)]
    Initialize(#[from] InitializeError),
}

type Outcome = Result<Initialized, InitializeError>;
type InitializeHost = Host<Waiting>;

#[derive(Debug)]
struct Waiting {
    head: Arc<str>,
    outcome: Option<Outcome>,
    waker: Option<Waker>,
}

impl Role for Waiting {
    type Machine = Machine;
    const HELP: Help = Help::Always;

    fn on_event(&mut self, outcome: Outcome, news: &mut News) {
        self.outcome.get_or_insert(outcome);
        news.wakers.extend(self.waker.take());
    }

    fn end(&mut self, _: &mut Machine, news: &mut News) {
        let (key, fault) = (Arc::clone(&self.head), Fault::not_sent("the log was shut down"));
        self.on_event(Err(InitializeError::Store { key, attempts: 0, fault, maybe: true }), news);
    }
}

impl Waiting {
    fn poll(&mut self, waker: Option<&Waker>) -> Poll<Result<Initialized, InitializePartitionError>> {
        if let Some(outcome) = self.outcome.take() {
            return Poll::Ready(outcome.map_err(InitializePartitionError::from));
        }
        self.waker = waker.cloned();
        Poll::Pending
    }
}

/// Future of [`Log::initialize_partition_async`](crate::Log::initialize_partition_async). Dropping it gives up; the
/// partition may be created all the same.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct InitializeFuture(Result<Arc<InitializeHost>, InitializePartitionError>);

impl InitializeFuture {
    pub(crate) fn new(backend: &Backend, keys: LogKeys, next_lsn: Lsn, options: &InitializeOptions) -> Self {
        Self(begin(backend, keys, next_lsn, options))
    }

    /// Blocks until it is done.
    pub(crate) fn wait(self) -> Result<Initialized, InitializePartitionError> {
        self.0?.wait(|_, role, _, waker| role.poll(waker))
    }
}

impl Future for InitializeFuture {
    type Output = Result<Initialized, InitializePartitionError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &self.0 {
            Ok(host) => host.poll(context, |_, role, _, waker| role.poll(waker)),
            Err(error) => Poll::Ready(Err(error.clone())),
        }
    }
}

fn begin(
    backend: &Backend,
    keys: LogKeys,
    next_lsn: Lsn,
    options: &InitializeOptions,
) -> Result<Arc<InitializeHost>, InitializePartitionError> {
    let head = Arc::from(keys.head());
    let machine = Machine::new(keys, options.layout, next_lsn, options.budget, fresh_entropy()?)?;
    Ok(Host::new(backend, machine, Waiting { head, outcome: None, waker: None }))
}
