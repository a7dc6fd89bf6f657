//! A replicated key-value store over one log, and the test of its failover.
//!
//! Replicas apply puts from the log. Whichever replica a client turns to takes the log over, so there is one owner at a
//! time and fencing sees to it. Clients number their puts and repeat a put until it is acknowledged, with another
//! replica if need be; a put may therefore be in the log twice, and is applied once.
//!
//! ```text
//! cargo run --release -p bucketlog-sim --example kv_replica -- sound
//! cargo run --release -p bucketlog-sim --example kv_replica -- acks-early
//! cargo run --release -p bucketlog-sim --example kv_replica -- applies-twice
//! ```
use bucketlog_sim::trial::{
    Answer, Batch, Event, Freshness, Io, Program, ReadLimit, ReaderEvent, SimLog, SimWriter, Trial, World, WriterEvent,
};
use std::collections::{BTreeMap, VecDeque};

use bucketlog_core::ids::Lsn;
use bucketlog_core::writer::Status;

const LOG: SimLog = SimLog(0);
const REPLICAS: usize = 3;
const CLIENTS: usize = 2;
/// Puts that each client makes, one after the other.
const PUTS: u64 = 4;
/// Wake-ups without an acknowledgement after which a client turns to the next replica.
const PATIENCE: usize = 4;

/// What is wrong with the replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// A put is acknowledged when the writer has taken it, before it is durable.
    AcksEarly,
    /// A put that is in the log twice is applied twice.
    AppliesTwice,
}

/// The client's key gets the value `number`: the request id is both together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Put {
    client: u8,
    number: u64,
}

impl Put {
    fn encode(self) -> Vec<u8> {
        [&[self.client][..], &self.number.to_be_bytes()].concat()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (client, number) = bytes.split_first()?;
        Some(Self { client: *client, number: u64::from_be_bytes(number.try_into().ok()?) })
    }
}

/// What clients and replicas say to each other.
#[derive(Clone, Debug)]
pub enum Message {
    /// A client asks.
    Put(Put),
    /// A replica answers: the put is durable.
    Done(Put),
}

/// The value of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    value: u64,
    /// Puts that were applied to it.
    puts: u64,
}

/// A replica keeps nothing on a disk of its own: the log is its disk.
#[derive(Debug)]
pub struct Replica {
    flaw: Flaw,
    entries: BTreeMap<u8, Entry>,
    /// Where to read on.
    next: Lsn,
    is_reading: bool,
    writer: Option<SimWriter>,
    /// Puts that wait for the writer to open.
    queue: VecDeque<Put>,
    /// Puts that were appended and are not durable yet.
    pending: BTreeMap<Lsn, Put>,
}

/// A client keeps the number of puts that were acknowledged.
#[derive(Debug)]
pub struct Client {
    replica: usize,
    tries: usize,
}

/// What runs on a node.
#[derive(Debug)]
pub enum Node {
    /// On the first nodes.
    Replica(Replica),
    /// On the others.
    Client(Client),
}

impl Program for Node {
    type Disk = u64;
    type Message = Message;

    fn handle(&mut self, event: Event<Message>, io: &mut Io<'_, Self>) {
        match self {
            Self::Replica(replica) => replica.handle(event, io),
            Self::Client(client) => client.handle(&event, io),
        }
    }
}

impl Client {
    fn handle(&mut self, event: &Event<Message>, io: &mut Io<'_, Node>) {
        let wanted = Put { client: client_of(io.node()), number: io.disk() + 1 };
        match event {
            Event::Wake if wanted.number <= PUTS => {
                self.tries += 1;
                if self.tries.is_multiple_of(PATIENCE) {
                    self.replica = (self.replica + 1) % REPLICAS;
                }
                io.send(self.replica, Message::Put(wanted));
            }
            Event::Message { message: Message::Done(put), .. } if *put == wanted => {
                self.tries = 0;
                io.keep(|acknowledged| *acknowledged += 1);
            }
            _ => {}
        }
    }
}

impl Replica {
    fn new(flaw: Flaw) -> Self {
        Self {
            flaw,
            entries: BTreeMap::new(),
            next: Lsn(0),
            is_reading: false,
            writer: None,
            queue: VecDeque::new(),
            pending: BTreeMap::new(),
        }
    }

    fn handle(&mut self, event: Event<Message>, io: &mut Io<'_, Node>) {
        match event {
            Event::Wake => self.read(io),
            Event::Message { message: Message::Put(put), .. } => self.take(put, io),
            Event::Writer(writer, event) if Some(writer) == self.writer => self.hear(&event, io),
            Event::Reader(_, ReaderEvent::Done { result, .. }) => {
                self.is_reading = false;
                if let Ok(Answer::Batch(batch)) = result {
                    self.apply(&batch);
                }
            }
            _ => {}
        }
    }

    fn read(&mut self, io: &mut Io<'_, Node>) {
        if !self.is_reading {
            self.is_reading = true;
            io.read(LOG, self.next, ReadLimit::default(), Freshness::OnTail);
        }
    }

    fn apply(&mut self, batch: &Batch) {
        self.next = batch.next_lsn;
        for put in batch.records.iter().filter_map(|(_, record)| Put::decode(&record.value)) {
            let entry = self.entries.entry(put.client).or_default();
            if put.number > entry.value || self.flaw == Flaw::AppliesTwice {
                *entry = Entry { value: put.number, puts: entry.puts + 1 };
            }
        }
    }

    fn take(&mut self, put: Put, io: &mut Io<'_, Node>) {
        if self.entries.get(&put.client).is_some_and(|entry| put.number <= entry.value) {
            return io.send(node_of(put.client), Message::Done(put));
        }
        self.queue.push_back(put);
        match self.writer {
            None => self.writer = Some(io.open_writer(LOG)),
            Some(_) => self.append(io),
        }
    }

    fn append(&mut self, io: &mut Io<'_, Node>) {
        let Some(writer) = self.writer else { return };
        if !io.writer(writer).is_some_and(|machine| matches!(machine.status(), Status::Open { .. })) {
            return;
        }
        while let Some(put) = self.queue.pop_front() {
            // A put that is refused is not acknowledged, and comes again.
            if let Ok(lsn) = io.append(writer, put.encode()) {
                self.pending.insert(lsn, put);
                if self.flaw == Flaw::AcksEarly {
                    io.send(node_of(put.client), Message::Done(put));
                }
            }
        }
        io.flush(writer);
    }

    fn hear(&mut self, event: &WriterEvent, io: &mut Io<'_, Node>) {
        match event {
            WriterEvent::Opened { .. } => self.append(io),
            WriterEvent::Committed { next_lsn } => {
                let rest = self.pending.split_off(next_lsn);
                for put in std::mem::replace(&mut self.pending, rest).into_values() {
                    io.send(node_of(put.client), Message::Done(put));
                }
            }
            // Fenced, most likely. Whether the pending puts are in the log does not matter: their clients ask again.
            WriterEvent::Halted(_) => {
                self.writer = None;
                self.queue.clear();
                self.pending.clear();
            }
            _ => {}
        }
    }
}

fn node_of(client: u8) -> usize {
    REPLICAS + usize::from(client)
}

fn client_of(node: usize) -> u8 {
    u8::try_from(node - REPLICAS).unwrap_or(u8::MAX)
}

fn clients() -> impl Iterator<Item = (u8, usize)> {
    (0..).zip(REPLICAS..REPLICAS + CLIENTS)
}

fn replicas(world: &World<Node>) -> impl Iterator<Item = (usize, &Replica)> {
    world.programs().filter_map(|(number, node)| match node {
        Node::Replica(replica) => Some((number, replica)),
        Node::Client(_) => None,
    })
}

fn ensure(holds: bool, detail: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(detail()) }
}

fn acknowledged_is_in_the_log(world: &World<Node>) -> Result<(), String> {
    let log = world.committed(LOG);
    clients().try_for_each(|(client, node)| {
        let acknowledged = *world.disk(node);
        let found = log.iter().filter_map(|record| Put::decode(&record.value)).filter(|put| put.client == client);
        let last = found.map(|put| put.number).max().unwrap_or(0);
        ensure(acknowledged <= last, || format!("client {client} was told {acknowledged}, the log has {last}"))
    })
}

/// Values are numbers of puts: they are equal if each put was applied once and in order.
fn applied_once(world: &World<Node>) -> Result<(), String> {
    replicas(world).try_for_each(|(node, replica)| {
        let odd = replica.entries.iter().find(|(_, entry)| entry.value != entry.puts);
        ensure(odd.is_none(), || format!("replica {node}: {odd:?}"))
    })
}

fn all_is_done(world: &World<Node>) -> Result<(), String> {
    replicas(world).try_for_each(|(node, replica)| {
        let has_all = |client| replica.entries.get(&client).is_some_and(|entry| entry.value == PUTS);
        let is_done = clients().all(|(client, node)| has_all(client) && *world.disk(node) == PUTS);
        ensure(is_done, || format!("replica {node} has {:?}", replica.entries))
    })
}

/// Three replicas with a flaw, or without, and two clients.
pub fn trial(flaw: Flaw) -> Trial<Node> {
    Trial::new(REPLICAS + CLIENTS, move |node, _io| match node {
        0..REPLICAS => Node::Replica(Replica::new(flaw)),
        _ => Node::Client(Client { replica: node % REPLICAS, tries: 0 }),
    })
    .always("no acknowledged put is lost", acknowledged_is_in_the_log)
    .always("every put is applied once", applied_once)
    .at_rest("replicas converge on all puts", all_is_done)
}

fn main() {
    let flaw = match std::env::args().nth(1).as_deref() {
        None | Some("sound") => Flaw::None,
        Some("acks-early") => Flaw::AcksEarly,
        Some("applies-twice") => Flaw::AppliesTwice,
        Some(other) => return eprintln!("no such variant: {other}"),
    };
    let tally = trial(flaw).run(0..2_000);
    println!("{} runs, {} steps, no rule broken", tally.runs, tally.steps);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_replicas_lose_nothing_and_converge() {
        let tally = trial(Flaw::None).run(0..300);
        for word in ["crash", "fuse", "restart", "freeze", "thaw", "land", "lose", "repeat", "lost", "astray", "503"] {
            assert!(tally.count(word) > 100, "{word} happened {} times", tally.count(word));
        }
    }

    #[test]
    fn a_put_that_is_acknowledged_before_it_is_durable_is_found_lost() {
        let failure = trial(Flaw::AcksEarly).search(0..300).unwrap_err();
        assert_eq!(failure.violation.rule, "no acknowledged put is lost");
        assert!(failure.recording.steps.len() <= 20, "{failure}");
    }

    #[test]
    fn a_put_that_is_applied_twice_is_found() {
        let failure = trial(Flaw::AppliesTwice).search(0..300).unwrap_err();
        assert_eq!(failure.violation.rule, "every put is applied once");
    }
}
