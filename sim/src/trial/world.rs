//! The world of a trial: nodes, a bucket, and messages under way.
use super::bucket::{Bucket, Stray};
use super::io::Io;
use super::journal::Journal;
use super::machines::{Flight, SimLog, SimWriter};
use super::node::{InShort, Node, is_progress};
use super::step::{Move, Step};
use super::{Event, Program};
use crate::action::{How, Kind};
use crate::check::{Violation, ensure};
use crate::setup::Setup;
use crate::world::{RETRY_AFTER, damaged};
use bucketlog_core::boundary::{Completion, Fault, Key, RefusalKind};
use bucketlog_core::format::segment::Record;
use bucketlog_core::reader::ReaderOptions;
use bucketlog_core::writer::WriterOptions;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

/// Events that a program may get one after the other without anything new from outside.
const MAX_EVENTS: usize = 1_000;
/// Messages under way; the oldest is lost.
const MAX_MESSAGES: usize = 64;
/// How much later a node wakes up.
const NAP: Duration = Duration::from_secs(1);
const MINUTE_MS: i64 = 60_000;
const HOUR: Duration = Duration::from_secs(3_600);

/// How a program begins, for the first time or after a crash.
pub(super) type Start<P> = Rc<dyn Fn(usize, &mut Io<'_, P>) -> P>;

/// A message under way.
#[derive(Clone, Debug)]
pub(super) struct Envelope<M> {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) message: M,
}

/// What all nodes share.
#[derive(Debug)]
pub(super) struct Shared<M> {
    pub(super) bucket: Bucket,
    pub(super) nodes: usize,
    pub(super) messages: Vec<Envelope<M>>,
    pub(super) writer_options: WriterOptions,
    pub(super) reader_options: ReaderOptions,
    /// Something happened that is more than waiting.
    pub(super) is_busy: bool,
    /// A program found a rule broken.
    pub(super) broken: Option<Violation>,
    pub(super) journal: Journal,
    machines: u32,
}

/// A simulated world, as rules look at it: everything at once, which no program can.
pub struct World<P: Program> {
    pub(super) nodes: Vec<Node<P>>,
    pub(super) shared: Shared<P::Message>,
    start: Start<P>,
}

impl<M> Shared<M> {
    /// Fresh entropy: no two machines of a run have the same.
    pub(super) fn entropy(&mut self) -> [u8; 32] {
        self.machines += 1;
        let mut entropy = [0x5e; 32];
        entropy[..4].copy_from_slice(&self.machines.to_le_bytes());
        entropy
    }

    pub(super) fn next_writer(&mut self) -> (SimWriter, [u8; 32]) {
        let entropy = self.entropy();
        (SimWriter(self.machines), entropy)
    }

    pub(super) fn post(&mut self, envelope: Envelope<M>) {
        if self.messages.len() == MAX_MESSAGES {
            self.messages.remove(0);
        }
        self.messages.push(envelope);
    }

    fn note(&mut self, what: fmt::Arguments<'_>) {
        self.journal.note(what);
    }
}

impl<P: Program> World<P> {
    pub(super) fn new(
        nodes: usize,
        start: Start<P>,
        setup: Setup,
        options: (WriterOptions, ReaderOptions),
        journal: Journal,
    ) -> Result<Self, Violation> {
        let shared = Shared {
            bucket: Bucket::new(setup)?,
            nodes,
            messages: Vec::new(),
            writer_options: options.0,
            reader_options: options.1,
            is_busy: false,
            broken: None,
            journal,
            machines: 0,
        };
        Ok(Self { nodes: (0..nodes).map(Node::new).collect(), shared, start })
    }

    /// Number of nodes, dead ones included.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The program that runs on a node; `None` if it is dead, or if there is no such node.
    #[must_use]
    pub fn program(&self, node: usize) -> Option<&P> {
        self.nodes.get(node)?.program.as_ref()
    }

    /// All programs that run, with their nodes.
    pub fn programs(&self) -> impl Iterator<Item = (usize, &P)> {
        self.nodes.iter().enumerate().filter_map(|(number, node)| Some((number, node.program.as_ref()?)))
    }

    /// What a node has kept, also while it is dead.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn disk(&self, node: usize) -> &P::Disk {
        &self.nodes[node].disk
    }

    /// Everything that is committed to a log, from LSN 0 on: read with the shipped reader after every change of the
    /// head, without faults.
    #[must_use]
    pub fn committed(&self, log: SimLog) -> &[Record] {
        self.shared.bucket.committed(log)
    }

    /// Starts every node that is dead.
    pub(super) fn start_all(&mut self) -> Result<(), Violation> {
        (0..self.nodes.len())
            .try_for_each(|node| self.step(Step::Move { what: Move::Restart, subject: node }).map(|_| ()))
    }

    /// Does one step; `false` if it is impossible now, and nothing changed.
    pub(super) fn step(&mut self, step: Step) -> Result<bool, Violation> {
        match step {
            Step::Answer { node, kind, nth, how } => {
                let Some(position) = self.position(node, kind, nth) else { return Ok(false) };
                let is_possible = self.may_answer(node, position, how);
                if is_possible {
                    self.answer(node, position, how)?;
                }
                Ok(is_possible)
            }
            Step::Move { what, subject } => {
                let is_possible = self.may_move(what, subject);
                if is_possible {
                    self.go(what, subject)?;
                }
                Ok(is_possible)
            }
        }
    }

    fn position(&self, node: usize, kind: Kind, nth: usize) -> Option<usize> {
        let flights = self.nodes.get(node)?.machines.flights.iter().enumerate();
        flights.filter(|(_, flight)| flight.kind == kind).map(|(position, _)| position).nth(nth)
    }

    pub(super) fn answer(&mut self, node: usize, position: usize, how: How) -> Result<(), Violation> {
        let flight = self.nodes[node].machines.flights.remove(position);
        let Flight { owner, kind, .. } = flight;
        let about = short(&flight.about);
        self.shared.note(format_args!("{node} < {kind} {about} {how}"));
        let completion = self.fate(node, flight, how)?;
        let found = &mut self.nodes[node];
        if let Some(completion) = completion {
            found.machines.complete(owner, found.now, completion);
        }
        if found.is_awake() { self.tell(node, None) } else { Ok(()) }
    }

    fn fate(&mut self, node: usize, flight: Flight, how: How) -> Result<Option<Completion>, Violation> {
        let Flight { command, kind, .. } = flight;
        let bucket = &mut self.shared.bucket;
        Ok(match how {
            How::Done => bucket.reach(&command)?.answer(command),
            How::Short | How::Flipped => damaged(bucket.reach(&command)?, how).answer(command),
            How::Lost => {
                bucket.reach(&command)?;
                command.fail(Fault::indeterminate("the answer was lost"))
            }
            How::Mute => {
                bucket.reach(&command)?;
                None
            }
            How::Astray => {
                bucket.stray(Stray { node, command: command.clone(), kind });
                command.fail(Fault::indeterminate("the connection was reset"))
            }
            How::Dropped => {
                bucket.stray(Stray { node, command, kind });
                None
            }
            How::ServerError => command.fail(Fault::indeterminate("internal error [status 500]")),
            How::NotSent => command.fail(Fault::not_sent("no route")),
            How::Conflict => command.fail(Fault::refused(RefusalKind::Conflict, "409")),
            How::Throttled => command.fail(Fault::refused(RefusalKind::Throttled(None), "503")),
            How::RetryAfter => command.fail(Fault::refused(RefusalKind::Throttled(Some(RETRY_AFTER)), "429")),
        })
    }

    fn go(&mut self, what: Move, subject: usize) -> Result<(), Violation> {
        match what {
            Move::Land => self.land(subject),
            Move::Deliver | Move::Repeat | Move::Lose => self.carry(what, subject),
            Move::Restart => self.start(subject),
            Move::Crash => {
                self.crash(subject);
                Ok(())
            }
            Move::Wake => {
                self.nodes[subject].pass(NAP);
                self.tell(subject, Some(Event::Wake))
            }
            Move::Thaw => {
                let node = &mut self.nodes[subject];
                node.is_frozen = false;
                node.pass(HOUR);
                self.tell(subject, Some(Event::Wake))
            }
            Move::Tick => {
                let node = &mut self.nodes[subject];
                let due = node.machines.deadline().unwrap_or(node.now.mono);
                node.pass(due.since(node.now.mono));
                self.tell(subject, None)
            }
            Move::Freeze => {
                self.nodes[subject].is_frozen = true;
                Ok(())
            }
            Move::Fuse => {
                self.nodes[subject].fuse.light();
                Ok(())
            }
            Move::ClockBack | Move::ClockAhead => {
                let step = if what == Move::ClockBack { -MINUTE_MS } else { MINUTE_MS };
                self.nodes[subject].now.wall.0 += step;
                self.tell(subject, None)
            }
        }
    }

    fn land(&mut self, position: usize) -> Result<(), Violation> {
        let Some(Stray { node, command, kind }) = self.shared.bucket.take_stray(position) else { return Ok(()) };
        let reply = self.shared.bucket.reach(&command)?;
        let verdict = if reply.fault().is_none() { "done" } else { "refused" };
        self.shared.note(format_args!("{node} * {kind} {verdict}, late"));
        Ok(())
    }

    fn carry(&mut self, what: Move, position: usize) -> Result<(), Violation> {
        let Envelope { from, to, message } = match what {
            Move::Repeat => self.shared.messages[position].clone(),
            _ => self.shared.messages.remove(position),
        };
        if what == Move::Lose || !self.nodes[to].is_awake() {
            self.shared.note(format_args!("{from} x {to}: {message:?}"));
            return Ok(());
        }
        self.tell(to, Some(Event::Message { from, message }))
    }

    fn start(&mut self, node: usize) -> Result<(), Violation> {
        let start = Rc::clone(&self.start);
        self.nodes[node].with(node, &mut self.shared, |program, io| *program = Some(start(node, io)));
        self.tell(node, None)
    }

    pub(super) fn crash(&mut self, node: usize) {
        self.shared.note(format_args!("{node} dies"));
        let found = &mut self.nodes[node];
        (found.program, found.is_frozen, found.fuse) = (None, false, super::node::Fuse::default());
        for Flight { command, kind, .. } in std::mem::take(&mut found.machines).flights {
            self.shared.bucket.stray(Stray { node, command, kind });
        }
    }

    /// Lets a node handle an event and whatever follows from it, until it waits.
    fn tell(&mut self, node: usize, event: Option<Event<P::Message>>) -> Result<(), Violation> {
        let mut next = event;
        for round in 0.. {
            ensure(round < MAX_EVENTS, "a program that hears nothing new comes to rest", || format!("node {node}"))?;
            if let Some(event) = next.take() {
                self.shared.note(format_args!("{node} ! {}", InShort(&event)));
                self.shared.is_busy |= is_progress(&event);
                let shared = &mut self.shared;
                self.nodes[node].with(node, shared, |program, io| {
                    program.iter_mut().for_each(|program| program.handle(event.clone(), io));
                });
            }
            if let Some(violation) = self.shared.broken.take() {
                return Err(violation);
            }
            if self.nodes[node].fuse.is_blown() {
                self.crash(node);
                return Ok(());
            }
            next = self.run(node)?;
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Lets the machines of a node run until they wait, and gives their first news.
    fn run(&mut self, node: usize) -> Result<Option<Event<P::Message>>, Violation> {
        let Node { machines, now, .. } = &mut self.nodes[node];
        let journal = &mut self.shared.journal;
        machines.poll(*now, &mut |kind, about| journal.note(format_args!("{node} > {kind} {}", short(about))))?;
        machines.poll_event(&self.shared.bucket)
    }
}

impl<P: Program> fmt::Debug for World<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// What a request is about, for people: long names of objects by their beginning and end.
fn short(key: &Key) -> String {
    let name = key.as_str().rsplit('/').next().unwrap_or_default();
    match (name.split_once('-'), name.len().checked_sub(12).and_then(|from| name.get(from..))) {
        (Some((class, rest)), Some(end)) if rest.len() > end.len() => format!("{class}-..{end}"),
        _ => name.to_owned(),
    }
}
