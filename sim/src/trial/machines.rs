//! The machines that one program uses, and their requests in flight.
use super::Event;
use super::bucket::Bucket;
use crate::action::Kind;
use crate::check::{Violation, ensure};
use bucketlog_core::boundary::{Command, Completion, Key, Machine, MonoTime, Now, OpId};
use bucketlog_core::format::segment::{BlockCodec, Record};
use bucketlog_core::ids::Lsn;
use bucketlog_core::reader::Reader;
use bucketlog_core::writer::{Writer, WriterEvent};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Commands that one machine may ask for without any news in between.
const MAX_BURST: usize = 64;

/// A log of the simulated bucket, by its partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimLog(pub u32);

/// A writer that a program opened; none has the same in the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimWriter(pub(super) u32);

impl fmt::Display for SimLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log {}", self.0)
    }
}

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Writer(SimWriter),
    Reader(SimLog),
}

/// A request without an answer.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    pub(super) owner: Owner,
    pub(super) command: Command,
    pub(super) kind: Kind,
    pub(super) about: Key,
    /// Nobody waits for it any more.
    pub(super) given_up: bool,
}

/// A writer with what its user was promised.
#[derive(Debug)]
pub(super) struct WriterSeat {
    pub(super) machine: Writer,
    pub(super) log: SimLog,
    /// Records accepted and not reported as durable; the first lies at `acked`.
    pub(super) pending: VecDeque<Record>,
    acked: Lsn,
}

/// The machines of one incarnation of a program.
#[derive(Debug, Default)]
pub(super) struct Machines {
    pub(super) writers: BTreeMap<SimWriter, WriterSeat>,
    pub(super) readers: BTreeMap<SimLog, Reader>,
    pub(super) flights: Vec<Flight>,
}

impl WriterSeat {
    pub(super) fn new(machine: Writer, log: SimLog) -> Self {
        Self { machine, log, pending: VecDeque::new(), acked: Lsn(0) }
    }

    /// Holds the writer to its word.
    fn check(&mut self, event: &WriterEvent, bucket: &Bucket) -> Result<(), Violation> {
        match event {
            WriterEvent::Opened { next_lsn, .. } => self.acked = *next_lsn,
            WriterEvent::Committed { next_lsn } => {
                while self.acked < *next_lsn {
                    let (said, found) = (self.pending.pop_front(), bucket.record(self.log, self.acked));
                    let is_there = said.is_some() && said.as_ref().map(|said| &said.value) == found.map(|it| &it.value);
                    ensure(is_there, "what bucketlog calls committed is in the log", || self.acked)?;
                    self.acked.0 += 1;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Machines {
    fn machine(&mut self, owner: Owner) -> Option<AnyMachine<'_>> {
        match owner {
            Owner::Writer(id) => self.writers.get_mut(&id).map(|seat| AnyMachine::Writer(&mut seat.machine)),
            Owner::Reader(log) => self.readers.get_mut(&log).map(AnyMachine::Reader),
        }
    }

    fn owners(&self) -> Vec<Owner> {
        let writers = self.writers.keys().map(|id| Owner::Writer(*id));
        writers.chain(self.readers.keys().map(|log| Owner::Reader(*log))).collect()
    }

    /// When some machine wants to go on by itself.
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        let writers = self.writers.values().filter_map(|seat| seat.machine.deadline());
        writers.chain(self.readers.values().filter_map(Reader::deadline)).min()
    }

    /// Lets every machine run until it waits; what they send joins the flights, and `sent` is told.
    pub(super) fn poll(&mut self, now: Now, sent: &mut dyn FnMut(Kind, &Key)) -> Result<(), Violation> {
        for owner in self.owners() {
            for burst in 0.. {
                ensure(burst < MAX_BURST, "a machine asks for finitely many commands", || burst)?;
                let Some(command) = self.machine(owner).and_then(|mut machine| machine.poll_command(now)) else {
                    break;
                };
                self.take(owner, now, command, sent)?;
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        owner: Owner,
        now: Now,
        command: Command,
        sent: &mut dyn FnMut(Kind, &Key),
    ) -> Result<(), Violation> {
        match command {
            Command::Cancel(id) => self.give_up(owner, id),
            Command::EncodeBlock(_) | Command::DecodeBlock(_) => {
                if let Some(completion) = computed(command) {
                    self.complete(owner, now, completion);
                }
            }
            command => {
                let (kind, about) = crate::world::subject(&command)?;
                sent(kind, &about);
                self.flights.push(Flight { owner, command, kind, about, given_up: false });
            }
        }
        Ok(())
    }

    pub(super) fn complete(&mut self, owner: Owner, now: Now, completion: Completion) {
        if let Some(mut machine) = self.machine(owner) {
            machine.complete(now, completion);
        }
    }

    /// A read is over, a write may still land and even be answered.
    fn give_up(&mut self, owner: Owner, id: OpId) {
        let is_it = |flight: &Flight| flight.owner == owner && flight.command.id() == id;
        self.flights.retain(|flight| flight.kind.is_write() || !is_it(flight));
        self.flights.iter_mut().filter(|flight| is_it(flight)).for_each(|flight| flight.given_up = true);
    }

    /// The next news of any machine; a writer that ended is gone with them.
    pub(super) fn poll_event<M>(&mut self, bucket: &Bucket) -> Result<Option<Event<M>>, Violation> {
        for (id, seat) in &mut self.writers {
            if let Some(event) = seat.machine.poll_event() {
                let id = *id;
                seat.check(&event, bucket)?;
                if matches!(event, WriterEvent::Closed { .. } | WriterEvent::Halted(_)) {
                    self.forget(id);
                }
                return Ok(Some(Event::Writer(id, event)));
            }
        }
        let readers = &mut self.readers;
        Ok(readers.iter_mut().find_map(|(log, reader)| Some(Event::Reader(*log, reader.poll_event()?))))
    }

    fn forget(&mut self, id: SimWriter) {
        self.writers.remove(&id);
        let owner = Owner::Writer(id);
        self.flights.retain(|flight| flight.kind.is_write() || flight.owner != owner);
        self.flights.iter_mut().filter(|flight| flight.owner == owner).for_each(|flight| flight.given_up = true);
    }
}

/// Does the work of a computing command at once.
pub(super) fn computed(command: Command) -> Option<Completion> {
    match command {
        Command::EncodeBlock(op) => {
            let (encode, ticket) = op.split();
            Some(ticket.done(Ok(encode.run(&mut BlockCodec::new()))))
        }
        Command::DecodeBlock(op) => {
            let (decode, ticket) = op.split();
            Some(ticket.done(Ok(decode.run(&mut BlockCodec::new()))))
        }
        _ => None,
    }
}

enum AnyMachine<'a> {
    Writer(&'a mut Writer),
    Reader(&'a mut Reader),
}

impl AnyMachine<'_> {
    fn poll_command(&mut self, now: Now) -> Option<Command> {
        match self {
            Self::Writer(writer) => writer.poll_command(now),
            Self::Reader(reader) => reader.poll_command(now),
        }
    }

    fn complete(&mut self, now: Now, completion: Completion) {
        match self {
            Self::Writer(writer) => writer.complete(now, completion),
            Self::Reader(reader) => reader.complete(now, completion),
        }
    }
}
