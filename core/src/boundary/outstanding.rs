//! Operations that wait for an answer.
use super::op::{Op, OpId, Request};
use super::{Command, Completion, Fault, MonoTime, Now, Outcome};
use crate::mutant::mutant;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Operations in flight, each with the note `W` that says what its answer is for, and answers not yet looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Outstanding<W> {
    next: u64,
    waiting: BTreeMap<OpId, (MonoTime, W)>,
    /// The first deadline among those waiting; every call of a machine asks for it.
    earliest: Option<MonoTime>,
    inbox: VecDeque<(W, Answer)>,
    cancelled: VecDeque<OpId>,
    late: u64,
}

/// What became of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    /// The driver answered.
    Outcome(Outcome),
    /// The deadline passed without an answer.
    Expired,
}

impl Answer {
    /// The answer to a request of kind `R`. Tickets make another kind impossible; it would count as no answer.
    pub(crate) fn to<R: Request>(self) -> Result<R::Reply, Fault> {
        let result = match self {
            Self::Outcome(outcome) => R::result(outcome),
            Self::Expired => None,
        };
        if result.is_none() && mutant("a timeout means not sent") {
            return Err(Fault::not_sent("no answer before the deadline"));
        }
        result.unwrap_or_else(|| Err(Fault::indeterminate("no answer before the deadline")))
    }
}

impl<W> Default for Outstanding<W> {
    fn default() -> Self {
        Self {
            next: 0,
            waiting: BTreeMap::new(),
            earliest: None,
            inbox: VecDeque::new(),
            cancelled: VecDeque::new(),
            late: 0,
        }
    }
}

impl<W: Clone> Outstanding<W> {
    /// Names a new operation that must be answered within `patience`.
    pub(crate) fn issue<R: Request>(&mut self, now: Now, patience: Duration, note: W, request: R) -> Op<R> {
        let id = OpId(self.next);
        self.next += 1;
        let deadline = now.mono.after(patience);
        self.waiting.insert(id, (deadline, note));
        self.earliest = Some(self.earliest.map_or(deadline, |earliest| earliest.min(deadline)));
        Op { id, deadline, request }
    }

    /// Records an answer; a late or repeated one is only counted.
    pub(crate) fn record(&mut self, completion: Completion) {
        match self.remove(completion.id) {
            Some(note) => self.inbox.push_back((note, Answer::Outcome(completion.outcome))),
            None => self.late += 1,
        }
    }

    /// Turns every operation past its deadline into an expired one, to be cancelled.
    pub(crate) fn expire(&mut self, now: Now) {
        if self.earliest.is_none_or(|earliest| earliest > now.mono) {
            return;
        }
        let expired: Vec<OpId> =
            self.waiting.iter().filter(|(_, (deadline, _))| *deadline <= now.mono).map(|(id, _)| *id).collect();
        for id in expired {
            if let Some(note) = self.remove(id) {
                self.inbox.push_back((note, Answer::Expired));
                self.cancelled.push_back(id);
            }
        }
    }

    /// The next answer to look at.
    pub(crate) fn next_answer(&mut self) -> Option<(W, Answer)> {
        self.inbox.pop_front()
    }

    /// The next operation whose answer no longer matters.
    pub(crate) fn next_cancel(&mut self) -> Option<Command> {
        self.cancelled.pop_front().map(Command::Cancel)
    }

    /// Stops waiting for every operation whose note matches.
    pub(crate) fn forget(&mut self, matches: impl Fn(&W) -> bool) {
        let forgotten: Vec<OpId> = self.waiting.iter().filter(|(_, (_, w))| matches(w)).map(|(id, _)| *id).collect();
        for id in forgotten {
            self.remove(id);
            self.cancelled.push_back(id);
        }
        self.inbox.retain(|(w, _)| !matches(w));
    }

    /// Earliest deadline of an operation in flight.
    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        self.earliest
    }

    /// Whether answers or cancellations wait to be looked at.
    pub(crate) fn has_news(&self) -> bool {
        !self.inbox.is_empty() || !self.cancelled.is_empty()
    }

    fn remove(&mut self, id: OpId) -> Option<W> {
        let (deadline, note) = self.waiting.remove(&id)?;
        if self.earliest == Some(deadline) {
            self.earliest = self.waiting.values().map(|(deadline, _)| *deadline).min();
        }
        Some(note)
    }

    /// What each operation that waits for an answer is for.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &W> {
        self.waiting.values().map(|(_, note)| note)
    }

    /// What each answer that was not looked at yet is for.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = &W> {
        self.inbox.iter().map(|(note, _)| note)
    }

    /// Number of operations that wait for an answer.
    pub(crate) fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    /// Answers that came too late or twice.
    pub(crate) fn late(&self) -> u64 {
        self.late
    }
}
