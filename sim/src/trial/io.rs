//! What a program acts through.
use super::machines::{Machines, SimLog, SimWriter, WriterSeat};
use super::node::Fuse;
use super::world::{Envelope, Shared};
use super::{CallId, Freshness, Program, ReadLimit};
use crate::check::Violation;
use bucketlog_core::boundary::Now;
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::Lsn;
use bucketlog_core::reader::Reader;
use bucketlog_core::writer::{AppendError, AppendReason, BatchError, Writer};
use bytes::Bytes;
use std::fmt;
use std::ops::Range;

/// The hands of a program while it handles an event: its disk, the network, its writers and readers.
///
/// What is kept and what is sent are *effects*: the program may die between any two of them. Requests to the bucket
/// leave after the event is handled; whether they arrive is for the world to decide.
pub struct Io<'a, P: Program> {
    pub(super) node: usize,
    pub(super) now: Now,
    pub(super) disk: &'a mut P::Disk,
    pub(super) fuse: &'a mut Fuse,
    pub(super) machines: &'a mut Machines,
    pub(super) shared: &'a mut Shared<P::Message>,
}

impl<P: Program> Io<'_, P> {
    /// This node, counted from 0.
    #[must_use]
    pub fn node(&self) -> usize {
        self.node
    }

    /// Nodes in all.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.shared.nodes
    }

    /// This node's clocks. The monotonic one counts from the beginning of its life; the wall clocks of two nodes differ
    /// and may step.
    #[must_use]
    pub fn now(&self) -> Now {
        self.now
    }

    /// What this node has kept.
    #[must_use]
    pub fn disk(&self) -> &P::Disk {
        self.disk
    }

    /// Changes what survives a crash: at once, as a whole or not at all. While the world comes to rest, every call counts
    /// as work: keep nothing where nothing has changed.
    pub fn keep(&mut self, change: impl FnOnce(&mut P::Disk)) {
        self.shared.is_busy = true;
        if self.fuse.lives_through_an_effect() {
            change(self.disk);
        }
    }

    /// Sends a message to a node, this one included. It may arrive at any later time, never, or more than once.
    pub fn send(&mut self, to: usize, message: P::Message) {
        self.shared.is_busy = true;
        if to >= self.shared.nodes {
            let detail = format!("node {} sent {message:?} to node {to}", self.node);
            self.shared.broken.get_or_insert(Violation::new("messages go to nodes that exist", detail));
        } else if self.fuse.lives_through_an_effect() {
            let from = self.node;
            self.shared.post(Envelope { from, to, message });
        }
    }

    /// Begins to claim a log, which fences its owner. [`Opened`](super::WriterEvent::Opened) or
    /// [`Halted`](super::WriterEvent::Halted) follows. A node may have several writers; they fence each other, too.
    pub fn open_writer(&mut self, log: SimLog) -> SimWriter {
        self.shared.is_busy = true;
        let (writer, entropy) = self.shared.next_writer();
        let keys = self.shared.bucket.keys(log);
        match Writer::open(keys, self.shared.writer_options.clone(), entropy) {
            Ok(machine) => {
                self.machines.writers.insert(writer, WriterSeat::new(machine, log));
            }
            Err(error) => {
                self.shared.broken.get_or_insert(Violation::new("the options of writers are valid", error));
            }
        }
        writer
    }

    /// The shipped machine behind a writer: its status, epoch and watermarks. `None` once it has ended.
    #[must_use]
    pub fn writer(&self, writer: SimWriter) -> Option<&Writer> {
        self.machines.writers.get(&writer).map(|seat| &seat.machine)
    }

    /// Appends a value with the time of this node; see [`Writer::append`].
    ///
    /// # Errors
    /// As the machine says; [`AppendReason::Closed`] if the writer has ended.
    pub fn append(&mut self, writer: SimWriter, value: impl Into<Bytes>) -> Result<Lsn, AppendError> {
        self.append_record(writer, Record::new(self.now.wall, value))
    }

    /// Appends a record with headers and a time of its own.
    ///
    /// # Errors
    /// As for [`Io::append`].
    pub fn append_record(&mut self, writer: SimWriter, record: Record) -> Result<Lsn, AppendError> {
        let Some(seat) = self.machines.writers.get_mut(&writer) else {
            return Err(AppendError { record, reason: AppendReason::Closed });
        };
        let lsn = seat.machine.append(self.now, record.clone())?;
        seat.pending.push_back(record);
        self.shared.is_busy = true;
        Ok(lsn)
    }

    /// Appends records all or nothing; see [`Writer::append_batch`].
    ///
    /// # Errors
    /// As the machine says; [`AppendReason::Closed`] if the writer has ended.
    pub fn append_batch(&mut self, writer: SimWriter, records: Vec<Record>) -> Result<Range<Lsn>, BatchError> {
        let Some(seat) = self.machines.writers.get_mut(&writer) else {
            return Err(BatchError { records, index: 0, reason: AppendReason::Closed });
        };
        let lsns = seat.machine.append_batch(self.now, records.clone())?;
        seat.pending.extend(records);
        self.shared.is_busy = true;
        Ok(lsns)
    }

    /// Asks a writer to bring everything accepted to an end; [`Committed`](super::WriterEvent::Committed) follows. Without
    /// it a batch is cut by its size or its linger time.
    pub fn flush(&mut self, writer: SimWriter) {
        if let Some(seat) = self.machines.writers.get_mut(&writer) {
            seat.machine.flush(self.now);
        }
    }

    /// Ends a writer gracefully; [`Closed`](super::WriterEvent::Closed) follows.
    pub fn close(&mut self, writer: SimWriter) {
        if let Some(seat) = self.machines.writers.get_mut(&writer) {
            self.shared.is_busy = true;
            seat.machine.close(self.now);
        }
    }

    /// Ends a writer at once; [`Halted`](super::WriterEvent::Halted) says what is known of its records.
    pub fn abort(&mut self, writer: SimWriter) {
        if let Some(seat) = self.machines.writers.get_mut(&writer) {
            self.shared.is_busy = true;
            seat.machine.abort();
        }
    }

    /// This program's reader of a log: the shipped machine, with all its calls. Their answers come as
    /// [`Event::Reader`](super::Event::Reader).
    pub fn reader(&mut self, log: SimLog) -> &mut Reader {
        let shared = &mut *self.shared;
        self.machines.readers.entry(log).or_insert_with(|| {
            let entropy = shared.entropy();
            Reader::new(shared.bucket.keys(log), shared.reader_options.clone(), entropy)
        })
    }

    /// Reads a log from `from` on; a short form of [`Reader::read`] on [`Io::reader`].
    pub fn read(&mut self, log: SimLog, from: Lsn, limit: ReadLimit, freshness: Freshness) -> CallId {
        self.reader(log).read(from, limit, freshness)
    }

    /// Says that the program has found itself in a state that must not be; the run fails with `rule`.
    pub fn complain(&mut self, rule: &'static str, detail: impl fmt::Display) {
        let node = self.node;
        self.shared.broken.get_or_insert_with(|| Violation::new(rule, format!("node {node}: {detail}")));
    }
}

impl<P: Program> fmt::Debug for Io<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Io").field("node", &self.node).field("now", &self.now).finish_non_exhaustive()
    }
}
