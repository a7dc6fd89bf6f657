//! A node: a program with its disk, its clocks and its machines.
use super::io::Io;
use super::machines::{Machines, SimWriter};
use super::world::Shared;
use super::{Answer, Event, Program, ReaderEvent, WriterEvent};
use bucketlog_core::boundary::{MonoTime, Now};
use bucketlog_core::ids::TimestampMs;
use std::fmt;
use std::time::Duration;

/// Effects that a node which is going to die may have until then, at most.
const MAX_FUSE: u8 = 3;

/// When a node dies in the middle of handling an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fuse {
    left: Option<u8>,
    is_blown: bool,
}

impl Fuse {
    /// Lights the fuse, or makes it longer.
    pub(super) fn light(&mut self) {
        self.left = Some(self.left.map_or(0, |left| (left + 1).min(MAX_FUSE)));
    }

    pub(super) fn is_blown(self) -> bool {
        self.is_blown
    }

    /// Whether the effect that is about to be takes place.
    pub(super) fn lives_through_an_effect(&mut self) -> bool {
        match self.left {
            None => true,
            Some(0) => {
                self.is_blown = true;
                false
            }
            Some(left) => {
                self.left = Some(left - 1);
                true
            }
        }
    }
}

/// Runs, stands still, or is dead (`program` is none).
#[derive(Debug)]
pub(super) struct Node<P: Program> {
    pub(super) program: Option<P>,
    pub(super) disk: P::Disk,
    pub(super) machines: Machines,
    pub(super) now: Now,
    pub(super) is_frozen: bool,
    pub(super) fuse: Fuse,
}

impl<P: Program> Node<P> {
    /// A dead node that never lived.
    pub(super) fn new(number: usize) -> Self {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        // Clocks have nothing in common: neither their origin nor, within seconds, the time of day.
        let now = Now {
            mono: MonoTime(1 + u64::from(number) * 1_000_000_007),
            wall: TimestampMs(1_700_000_000_000 - i64::from(number) * 700),
        };
        Self {
            program: None,
            disk: P::Disk::default(),
            machines: Machines::default(),
            now,
            is_frozen: false,
            fuse: Fuse::default(),
        }
    }

    /// Whether events reach it.
    pub(super) fn is_awake(&self) -> bool {
        self.program.is_some() && !self.is_frozen
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now.mono = self.now.mono.after(time);
        self.now.wall.0 += i64::try_from(time.as_millis()).unwrap_or(0);
    }

    /// Lends the program, if there is one, and its hands.
    pub(super) fn with<T>(
        &mut self,
        node: usize,
        shared: &mut Shared<P::Message>,
        act: impl FnOnce(&mut Option<P>, &mut Io<'_, P>) -> T,
    ) -> T {
        let Self { program, disk, machines, now, fuse, .. } = self;
        act(program, &mut Io { node, now: *now, disk, fuse, machines, shared })
    }
}

/// Whether an event shows that the world is still at work.
pub(super) fn is_progress<M>(event: &Event<M>) -> bool {
    match event {
        Event::Wake | Event::Writer(_, WriterEvent::Metric(_)) => false,
        Event::Message { .. } | Event::Writer(..) => true,
        Event::Reader(_, ReaderEvent::Done { result, .. }) => match result {
            Ok(Answer::Batch(batch)) => !batch.records.is_empty(),
            Ok(_) => false,
            Err(_) => true,
        },
        Event::Reader(..) => false,
    }
}

/// An event in a few words.
pub(super) struct InShort<'a, M>(pub(super) &'a Event<M>);

impl<M: fmt::Debug> fmt::Display for InShort<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Event::Wake => write!(f, "wake"),
            Event::Message { from, message } => write!(f, "from {from}: {message:?}"),
            Event::Writer(SimWriter(id), event) => match event {
                WriterEvent::Opened { epoch, next_lsn, .. } => {
                    write!(f, "writer {id} opened epoch {epoch} at {next_lsn}")
                }
                WriterEvent::EpochRenewed { epoch } => write!(f, "writer {id} renewed as epoch {epoch}"),
                WriterEvent::Committed { next_lsn } => write!(f, "writer {id} committed below {next_lsn}"),
                WriterEvent::Closed { next_lsn } => write!(f, "writer {id} closed at {next_lsn}"),
                WriterEvent::Halted(halted) => write!(f, "writer {id} halted: {halted}"),
                other => write!(f, "writer {id}: {other:?}"),
            },
            Event::Reader(log, ReaderEvent::Done { result, .. }) => match result {
                Ok(Answer::Batch(batch)) => {
                    let from = batch.next_lsn.0 - batch.records.len() as u64;
                    write!(f, "read {from}..{} of {log}, which ends at {}", batch.next_lsn, batch.head.next_lsn)
                }
                Ok(other) => write!(f, "read of {log}: {other:?}"),
                Err(error) => write!(f, "read of {log} failed: {error}"),
            },
            Event::Reader(log, other) => write!(f, "reader of {log}: {other:?}"),
        }
    }
}
