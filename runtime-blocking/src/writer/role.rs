//! What a writer's host knows beside its machine.
use crate::error::{DurabilityError, Halted, WatchEnded};
use crate::host::{Help, Host, News, Role, WaiterId, Waiters};
use bucketlog_core::ids::Lsn;
use bucketlog_core::writer::{Writer as Machine, WriterEvent};
use std::task::{Poll, Waker};

pub(crate) type WriterHost = Host<WriterRole>;

/// Everyone who waits for a writer.
#[derive(Debug)]
pub(crate) struct WriterRole {
    committed: Lsn,
    ended: Option<End>,
    /// Those who wait for the committed watermark to reach a value.
    durable: Waiters<Lsn>,
    /// Those who have a record but no room for it.
    room: Waiters<()>,
    /// The owner, who waits for the claim, for room, or for the end.
    owner: Option<Waker>,
}

#[derive(Debug)]
enum End {
    Closed,
    Halted(Halted),
}

impl WriterRole {
    pub(super) fn new() -> Self {
        Self { committed: Lsn(0), ended: None, durable: Waiters::new(), room: Waiters::new(), owner: None }
    }

    pub(super) fn committed(&self) -> Lsn {
        self.committed
    }

    pub(super) fn halted(&self) -> Option<&Halted> {
        match &self.ended {
            Some(End::Halted(halted)) => Some(halted),
            Some(End::Closed) | None => None,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.ended, Some(End::Closed))
    }

    /// Has the owner woken at the next news.
    pub(super) fn wake_owner(&mut self, waker: Option<&Waker>) {
        if let Some(waker) = waker {
            self.owner = Some(waker.clone());
        }
    }

    /// Has one of many that append woken when there may be room.
    pub(super) fn wait_for_room(&mut self, id: &mut Option<WaiterId>, waker: Option<&Waker>) {
        if let Some(waker) = waker {
            self.room.register((), id, waker);
        }
    }

    /// What is known of the records below `end`.
    pub(super) fn outcome(&self, end: Lsn) -> Option<Result<(), DurabilityError>> {
        if self.committed >= end {
            return Some(Ok(()));
        }
        self.halted().map(|halted| Err(DurabilityError::new(halted.clone(), end)))
    }

    /// Whether everything below `end` is durable. Asks the machine to see to it.
    pub(super) fn poll_durable(
        &mut self,
        machine: &mut Machine,
        end: Lsn,
        id: &mut Option<WaiterId>,
        waker: Option<&Waker>,
    ) -> Poll<Result<(), DurabilityError>> {
        if let Some(outcome) = self.outcome(end) {
            return Poll::Ready(outcome);
        }
        machine.want_durable(end);
        self.register(end, id, waker);
        Poll::Pending
    }

    /// Whether the committed watermark has reached `end`.
    pub(super) fn poll_reached(
        &mut self,
        end: Lsn,
        id: &mut Option<WaiterId>,
        waker: Option<&Waker>,
    ) -> Poll<Result<Lsn, WatchEnded>> {
        if self.committed >= end {
            return Poll::Ready(Ok(self.committed));
        }
        if self.ended.is_some() {
            let cause = self.halted().map(|halted| halted.cause.clone());
            return Poll::Ready(Err(WatchEnded { committed: self.committed, cause }));
        }
        self.register(end, id, waker);
        Poll::Pending
    }

    /// Someone no longer waits.
    pub(super) fn forget(&mut self, end: Lsn, id: WaiterId) {
        self.durable.forget(end, id);
    }

    fn register(&mut self, end: Lsn, id: &mut Option<WaiterId>, waker: Option<&Waker>) {
        if let Some(waker) = waker {
            self.durable.register(end, id, waker);
        }
    }

    fn end(&mut self, end: End, news: &mut News) {
        self.ended = Some(end);
        self.durable.release_all(&mut news.wakers);
    }
}

impl Role for WriterRole {
    type Machine = Machine;
    const HELP: Help = Help::WhenAlone;

    fn on_event(&mut self, event: WriterEvent, news: &mut News) {
        match event {
            WriterEvent::Committed { next_lsn } => {
                self.committed = next_lsn;
                self.durable.release(next_lsn, &mut news.wakers);
                return;
            }
            WriterEvent::Metric(metric) => {
                news.metrics.push(metric);
                return;
            }
            WriterEvent::Opened { next_lsn, .. } => self.committed = next_lsn,
            WriterEvent::Closed { .. } => self.end(End::Closed, news),
            WriterEvent::Halted(halted) => {
                news.halted = Some(halted.clone());
                self.end(End::Halted(halted), news);
            }
            _ => {}
        }
        news.wakers.extend(self.owner.take());
        self.room.release_all(&mut news.wakers);
    }

    fn end(&mut self, machine: &mut Machine, news: &mut News) {
        news.given_up += super::abort(machine);
    }
}
