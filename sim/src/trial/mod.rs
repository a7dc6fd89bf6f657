//! Your own program under the faults that the core's machines are tried with.
//!
//! A [`Program`] is a plain state machine: it is told of [`Event`]s and acts through an [`Io`]. It appends through the
//! shipped [`Writer`](bucketlog_core::writer::Writer) and reads through the shipped
//! [`Reader`](bucketlog_core::reader::Reader); nothing of the log is re-modelled. A [`Trial`] runs several of them over
//! one simulated bucket: answers get lost, writes land after their sender gave up, programs crash between any two of
//! their effects and start again from their disk, freeze while others take over, and lose, repeat and reorder messages.
//! After every step the rules that you gave are checked. A seed names a run for ever; a run that breaks a rule is made
//! short and printed, with what to type to see it again.
//!
//! ```
//! use bucketlog_sim::trial::{Event, Io, Program, SimLog, SimWriter, Trial, WriterEvent};
//!
//! const LOG: SimLog = SimLog(0);
//!
//! /// Takes the log over as soon as it can, and appends two records in all.
//! #[derive(Debug, Default)]
//! struct Greeter(Option<SimWriter>);
//!
//! impl Program for Greeter {
//!     type Disk = u32; // records that are durable
//!     type Message = ();
//!
//!     fn handle(&mut self, event: Event<()>, io: &mut Io<'_, Self>) {
//!         match event {
//!             Event::Wake if self.0.is_none() && *io.disk() < 2 => self.0 = Some(io.open_writer(LOG)),
//!             Event::Writer(writer, WriterEvent::Opened { .. }) => {
//!                 let _ = io.append(writer, "hello");
//!                 io.flush(writer);
//!             }
//!             Event::Writer(writer, WriterEvent::Committed { .. }) => {
//!                 io.keep(|durable| *durable += 1);
//!                 io.close(writer);
//!             }
//!             Event::Writer(_, WriterEvent::Closed { .. } | WriterEvent::Halted(_)) => self.0 = None,
//!             _ => {}
//!         }
//!     }
//! }
//!
//! Trial::new(2, |_node, _io| Greeter::default())
//!     .always("what is durable is in the log", |world| {
//!         let believed: u32 = (0..world.nodes()).map(|node| *world.disk(node)).sum();
//!         let found = world.committed(LOG).len();
//!         if believed as usize <= found { Ok(()) } else { Err(format!("{believed} of {found}")) }
//!     })
//!     .run(0..50);
//! ```
//!
//! The guide `docs/failover.md` builds a test of a failover; `sim/examples/kv_replica.rs` is a replicated key-value store
//! with clients.
//!
//! What a program must not do: read a clock, draw random numbers, start threads, iterate over hash maps. A trial lives
//! through its first seed twice and says so if the two runs differ.
mod bucket;
mod failure;
mod io;
mod journal;
mod machines;
mod node;
mod offer;
mod perils;
mod recording;
mod rest;
mod search;
mod step;
mod world;

pub use bucketlog_core::reader::{Answer, Batch, CallId, Freshness, ReadError, ReadLimit, ReaderEvent};
pub use bucketlog_core::writer::{Halted, WriterEvent};
pub use failure::Failure;
pub use io::Io;
pub use machines::{SimLog, SimWriter};
pub use perils::Peril;
pub use recording::{TrialRecording, TrialRecordingError};
pub use search::{Tally, Trial};
pub use step::{Move, Step};
pub use world::World;

use std::fmt;

/// A program under test. It holds what a process holds in memory; a crash takes all of it.
pub trait Program: fmt::Debug + Sized {
    /// What survives a crash: the program's own disk. It begins with the default.
    type Disk: Clone + Default + fmt::Debug;
    /// What programs send each other; they may be lost, repeated and reordered.
    type Message: Clone + fmt::Debug;

    /// Something happened. The program does what it has to do about it and returns; whatever it waits for comes as
    /// another event. It must be deterministic.
    fn handle(&mut self, event: Event<Self::Message>, io: &mut Io<'_, Self>);
}

/// What a program is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<M> {
    /// Time has passed, a second or more: the moment to retry, to poll, to begin something. A program must need nothing
    /// else than wake-ups and answers to go on.
    Wake,
    /// A message arrived.
    Message {
        /// The node that sent it.
        from: usize,
        /// The message.
        message: M,
    },
    /// News of a writer that this program opened. After `Closed` and `Halted` its handle is of no more use.
    Writer(SimWriter, WriterEvent),
    /// News of this program's reader of a log.
    Reader(SimLog, ReaderEvent),
}
