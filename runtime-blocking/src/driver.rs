//! For authors of runtimes: something other than this crate's threads executes the commands of its handles.
//!
//! Handles, their futures and who waits for whom stay as they are; a [`Driver`] is what lies beneath them. It is handed
//! commands, executes each as it likes, once, and gives every answer to the machine that the command is for
//! ([`Driven::complete`]). What follows from an answer comes to [`Driver::submit`] before that call returns.
//! [`Log::driven_by`](crate::Log::driven_by) makes a log over one; `bucketlog-tokio` is one.
//!
//! ```
//! use bucketlog_blocking::core::boundary::{Command, Fault, MonoTime, Now, OpId};
//! use bucketlog_blocking::driver::{Driven, Driver, MachineId};
//! use bucketlog_blocking::{Log, LogOptions, Partition, ReaderOptions, StreamId, now};
//! use std::sync::{Arc, Weak};
//!
//! /// Has no store to ask and says so.
//! #[derive(Debug)]
//! struct Nowhere(std::time::Instant);
//!
//! impl Driver for Nowhere {
//!     fn now(&self) -> Now {
//!         Now { mono: MonoTime::default().after(self.0.elapsed()), wall: now() }
//!     }
//!     fn add(&self, _: MachineId, _: Weak<dyn Driven>) {}
//!     fn remove(&self, _: MachineId) {}
//!     fn submit(&self, machine: &Arc<dyn Driven>, commands: Vec<Command>) {
//!         let machine = Arc::clone(machine);
//!         std::thread::spawn(move || {
//!             machine.end();
//!             for command in commands {
//!                 let _ = command.fail(Fault::not_sent("nowhere to go")).map(|answer| machine.complete(answer));
//!             }
//!         });
//!     }
//!     fn cancel(&self, _: MachineId, _: OpId) {}
//!     fn set_timer(&self, _: MachineId, _: MonoTime, _: Option<MonoTime>) {}
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let driver = Arc::new(Nowhere(std::time::Instant::now()));
//! let log = Log::driven_by(driver, StreamId::new("orders")?, LogOptions::default());
//! let reader = log.reader(Partition(0), ReaderOptions::default())?;
//! assert!(reader.fetch(bucketlog_blocking::Lsn(0)).is_err());
//! # Ok(())
//! # }
//! ```
pub use crate::host::HostId as MachineId;
use bucketlog_core::boundary::{Command, Completion, MonoTime, Now, OpId};
use std::fmt::Debug;
use std::sync::{Arc, Weak};

pub(crate) mod sealed {
    /// Only this crate's handles have machines.
    pub trait Sealed {}
}

/// Executes commands and keeps time. No method may block: they are called by whoever uses a handle, on any thread, also
/// outside the runtime and while handles are dropped.
///
/// None is called under a lock of a machine, so calling a [`Driven`] from within one is allowed; a driver that holds a
/// lock of its own lets go of it first.
pub trait Driver: Debug + Send + Sync {
    /// The moment, by the clocks that deadlines are set by.
    fn now(&self) -> Now;

    /// There is a new machine. It can't be upgraded before this returns.
    fn add(&self, machine: MachineId, driven: Weak<dyn Driven>);

    /// A machine is gone, and with it its deadline.
    fn remove(&self, machine: MachineId);

    /// Sees to it that each command is executed, in one attempt, and answered, now or later, whatever happens. A command
    /// that can't be executed is answered too ([`Command::fail`]).
    ///
    /// Holding the machine until the answer was handed in keeps it alive although its handle is gone: what was begun by
    /// then still tells what became of it.
    fn submit(&self, machine: &Arc<dyn Driven>, commands: Vec<Command>);

    /// The answer to this command no longer matters. A hint: the command is to be answered all the same, at once if it
    /// has not started.
    fn cancel(&self, machine: MachineId, op: OpId);

    /// Has the machine polled ([`Driven::poll`]) when `due`, in place of the deadline it had.
    fn set_timer(&self, machine: MachineId, due: MonoTime, instead_of: Option<MonoTime>);
}

/// A machine, as its driver sees it.
pub trait Driven: sealed::Sealed + Send + Sync {
    /// Its name among the machines of a log.
    fn id(&self) -> MachineId;

    /// Hands an answer in, wakes those whom it concerns, and submits what follows.
    fn complete(&self, answer: Completion);

    /// Polls the machine: its deadline has come.
    fn poll(&self);

    /// Nothing will be executed any more: a writer aborts, every call is answered, nobody waits for ever. After it no new
    /// command comes, but for machines that a caller uses all the same; a driver that has ended ends those again.
    fn end(&self);
}
