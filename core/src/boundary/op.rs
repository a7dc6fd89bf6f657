//! Operations and the tickets that answer them.
use super::{Fault, MonoTime, Outcome};
use std::marker::PhantomData;

pub(crate) mod sealed {
    /// Only the core names requests.
    pub trait Sealed {}
}

/// Names one operation of one machine; never used again by that machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub(crate) u64);

/// A request and the one type that answers it.
pub trait Request: sealed::Sealed + Sized {
    /// The positive answer.
    type Reply;
    #[doc(hidden)]
    fn outcome(result: Result<Self::Reply, Fault>) -> Outcome;
    #[doc(hidden)]
    fn result(outcome: Outcome) -> Option<Result<Self::Reply, Fault>>;
}

/// A request with its ticket and deadline.
#[must_use = "an operation that is never answered is given up only at its deadline"]
#[derive(Debug)]
#[cfg_attr(feature = "model", derive(Clone, PartialEq, Eq, Hash))]
pub struct Op<R: Request> {
    pub(crate) id: OpId,
    pub(crate) deadline: MonoTime,
    pub(crate) request: R,
}

impl<R: Request> Op<R> {
    /// Name of the operation, for logs and [`super::Command::Cancel`].
    #[must_use]
    pub fn id(&self) -> OpId {
        self.id
    }

    /// When the core stops waiting and counts the operation as indeterminate.
    #[must_use]
    pub fn deadline(&self) -> MonoTime {
        self.deadline
    }

    /// What to do.
    #[must_use]
    pub fn request(&self) -> &R {
        &self.request
    }

    /// An operation that no machine of this crate issued, for tests of drivers.
    #[cfg(feature = "model")]
    #[doc(hidden)]
    pub fn scripted(id: u64, deadline: MonoTime, request: R) -> Self {
        Self { id: OpId(id), deadline, request }
    }

    /// Parts the request from its ticket, so that a body can move away.
    pub fn split(self) -> (R, Ticket<R>) {
        (self.request, Ticket { id: self.id, kind: PhantomData })
    }
}

/// The right to answer one operation, once.
#[must_use = "a ticket that is dropped leaves its operation unanswered until its deadline"]
#[derive(Debug)]
#[cfg_attr(feature = "model", derive(Clone, PartialEq, Eq, Hash))]
pub struct Ticket<R: Request> {
    id: OpId,
    kind: PhantomData<fn() -> R>,
}

impl<R: Request> Ticket<R> {
    /// Spends the ticket.
    pub fn done(self, result: Result<R::Reply, Fault>) -> Completion {
        Completion { id: self.id, outcome: R::outcome(result) }
    }
}

/// A spent ticket with its answer.
#[must_use = "hand it to the machine that issued the operation"]
#[derive(Debug)]
#[cfg_attr(feature = "model", derive(Clone, PartialEq, Eq, Hash))]
pub struct Completion {
    pub(crate) id: OpId,
    pub(crate) outcome: Outcome,
}

impl Completion {
    /// Name of the operation that this answers.
    #[must_use]
    pub fn id(&self) -> OpId {
        self.id
    }

    /// The answer, if it is one to a request of kind `R`, for tests of drivers.
    #[cfg(feature = "model")]
    #[doc(hidden)]
    #[must_use]
    pub fn answer<R: Request>(self) -> Option<Result<R::Reply, Fault>> {
        R::result(self.outcome)
    }
}
