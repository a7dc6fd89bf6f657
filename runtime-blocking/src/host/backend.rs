//! Who executes a host's commands: the threads of this crate, or another runtime's driver.
use super::hosted::{Host, Role};
use super::pool::{Permit, Pool};
use super::{HostId, pool};
use crate::driver::{Driven, Driver};
use crate::metrics::MetricsSink;
use crate::sync::{Arc, Weak};
use bucketlog_core::boundary::{Command, MonoTime, Now, OpId};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Shared by all machines of a log.
#[derive(Clone, Debug)]
pub(crate) enum Backend {
    Threads(Pool),
    Foreign(Arc<Foreign>),
}

pub(crate) struct Foreign {
    driver: Arc<dyn Driver>,
    sink: Option<Arc<dyn MetricsSink>>,
    hosts: AtomicU64,
}

impl From<&Pool> for Backend {
    fn from(pool: &Pool) -> Self {
        Self::Threads(pool.clone())
    }
}

impl From<&Self> for Backend {
    fn from(backend: &Self) -> Self {
        backend.clone()
    }
}

impl Backend {
    pub(crate) fn foreign(driver: Arc<dyn Driver>, sink: Option<Arc<dyn MetricsSink>>) -> Self {
        Self::Foreign(Arc::new(Foreign { driver, sink, hosts: AtomicU64::new(0) }))
    }

    /// Whether anybody wants metrics.
    pub(crate) fn has_sink(&self) -> bool {
        self.sink().is_some()
    }

    pub(super) fn sink(&self) -> Option<&dyn MetricsSink> {
        match self {
            Self::Threads(pool) => pool.sink(),
            Self::Foreign(foreign) => foreign.sink.as_deref(),
        }
    }

    pub(super) fn now(&self) -> Now {
        match self {
            Self::Threads(pool) => pool.clock().now(),
            Self::Foreign(foreign) => foreign.driver.now(),
        }
    }

    /// A name for a new machine.
    pub(super) fn add<R: Role>(&self, host: &Weak<Host<R>>) -> HostId {
        match self {
            Self::Threads(pool) => pool.name(),
            Self::Foreign(foreign) => {
                let id = HostId(foreign.hosts.fetch_add(1, Relaxed) + 1);
                let driven: Weak<dyn Driven> = host.clone();
                foreign.driver.add(id, driven);
                id
            }
        }
    }

    /// A machine is gone. The pool finds that out itself.
    pub(super) fn remove(&self, host: HostId) {
        if let Self::Foreign(foreign) = self {
            foreign.driver.remove(host);
        }
    }

    pub(super) fn submit<R: Role>(&self, host: Arc<Host<R>>, commands: VecDeque<Command>) {
        match self {
            Self::Threads(pool) => {
                let host: Arc<dyn pool::Driven> = host;
                pool.submit(&host, commands);
            }
            Self::Foreign(foreign) => {
                let host: Arc<dyn Driven> = host;
                foreign.driver.submit(&host, commands.into());
            }
        }
    }

    /// Takes a command back that has not started; another's driver answers it itself.
    pub(super) fn withdraw(&self, host: HostId, op: OpId) -> Option<Command> {
        match self {
            Self::Threads(pool) => pool.withdraw(host, op),
            Self::Foreign(foreign) => {
                foreign.driver.cancel(host, op);
                None
            }
        }
    }

    /// Has `host` polled when `due`, in place of the deadline it had.
    pub(super) fn set_timer<R: Role>(
        &self,
        id: HostId,
        due: MonoTime,
        instead_of: Option<MonoTime>,
        host: &Weak<Host<R>>,
    ) {
        match self {
            Self::Threads(pool) => pool.set_timer(id, due, instead_of, host.clone()),
            Self::Foreign(foreign) => foreign.driver.set_timer(id, due, instead_of),
        }
    }

    /// Lets a waiting caller execute `command` on its own thread, if the limits allow.
    pub(super) fn admit_caller(&self, command: &Command) -> Option<Permit<'_>> {
        self.pool()?.admit_caller(command)
    }

    /// Lets a worker go straight on with `command`, if the limits allow and nobody else's work waits.
    pub(super) fn admit_worker(&self, command: &Command) -> Option<Permit<'_>> {
        self.pool()?.admit_worker(command)
    }

    /// Gives a waiting caller a queued command of its machine, unless another thread works for that machine.
    pub(super) fn reclaim(&self, host: HostId, in_flight: usize) -> Option<(Command, Permit<'_>)> {
        self.pool()?.reclaim(host, in_flight)
    }

    /// Callers help threads, not other runtimes.
    fn pool(&self) -> Option<&Pool> {
        match self {
            Self::Threads(pool) => Some(pool),
            Self::Foreign(_) => None,
        }
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.driver.fmt(f)
    }
}
