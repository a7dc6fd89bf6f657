//! Runs any number of machines on a few threads, and on the threads of those who wait for them.
//!
//! * A [`Pool`] owns what is shared: the store, the worker threads, the queue of commands, the limits, the timers.
//! * A [`Host`] owns one machine. Everything that touches the machine takes its lock for a moment, polls the machine, and
//!   acts on what came out after the lock is released: nothing slow ever happens under it.
//! * A blocking caller executes its machine's commands on its own thread ([`Host::wait`]); a worker that finished a
//!   command goes on with what follows from it. So a lone caller of a fast store never changes threads.
//! * A [`Backend`] is the pool, or a driver of another runtime in its place ([`crate::driver`]), which nobody helps.
//! * A thread that has nothing to do sleeps without a timeout. The exception is one worker, while any deadline is set.
mod backend;
mod execute;
mod hosted;
mod lanes;
#[cfg(all(test, loom))]
mod loom;
mod park;
mod pool;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod timers;
mod waiters;

pub(crate) use backend::Backend;
pub(crate) use hosted::{Help, Host, News, Role};
pub(crate) use pool::{Limits, Pool};
pub(crate) use waiters::{WaiterId, Waiters};

/// Names one machine of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(u64);
