//! One call: an explicit state, and a step that needs nothing but what is at hand.
use super::loads::{LoadKey, Want};
use super::seek::Seek;
use super::stock::{Snapshot, Stock, Value};
use super::window::Window;
use super::{Answer, Batch, Freshness, ReadError, ReadLimit, ReaderOptions};
use crate::boundary::MonoTime;
use crate::format::catalog::Head;
use crate::ids::{Lsn, TimestampMs};
use crate::mutant::mutant;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What the caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Goal {
    Head,
    Read { from: Lsn, limit: ReadLimit },
    Fetch { lsn: Lsn },
    ReadTime { timestamp: TimestampMs, limit: ReadLimit },
    FindTime { timestamp: TimestampMs },
}

impl Goal {
    /// The position asked for, if it is one.
    pub(super) fn position(self) -> Option<Lsn> {
        match self {
            Self::Read { from, .. } => Some(from),
            Self::Fetch { lsn } => Some(lsn),
            Self::Head | Self::ReadTime { .. } | Self::FindTime { .. } => None,
        }
    }

    /// Whether `head` is too old to hold all that is asked for.
    fn lies_beyond(self, head: &Head) -> bool {
        match self {
            Self::Head => true,
            Self::Read { from, .. } => from >= head.next_lsn,
            Self::Fetch { lsn } => lsn >= head.next_lsn && !mutant("a fetch trusts the head it has"),
            Self::ReadTime { timestamp, .. } | Self::FindTime { timestamp } => {
                // The last segment stays named when retention has passed it.
                let last = head.last_segment.filter(|_| head.oldest_lsn < head.next_lsn);
                last.is_none_or(|last| last.max_timestamp < timestamp)
            }
        }
    }
}

/// Result of one step.
#[derive(Debug)]
pub(super) enum Progress<T> {
    Ready(T),
    /// Nothing more can be done before one of these is loaded.
    Wait(Vec<Want>),
}

/// One call of a reader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) goal: Goal,
    freshness: Freshness,
    /// A head counts as read after the call if its request has a higher number.
    asked_at: u64,
    /// Why the call began anew: an object was missing or corrupt.
    first_failure: bool,
    /// The failure to report unless the newest head says that the position has expired meanwhile.
    verdict: Option<ReadError>,
    phase: Phase,
    /// Loads that the call is waiting for.
    pub(super) waiting: BTreeSet<LoadKey>,
    /// When the call was first looked at, and when its budget is spent.
    pub(super) time: Option<(MonoTime, MonoTime)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// A head that is new enough comes first.
    Head {
        failure: Option<ReadError>,
    },
    Seek {
        head: Arc<Head>,
        seek: Seek,
    },
    Collect {
        head: Arc<Head>,
        window: Window,
    },
}

impl Call {
    /// `asked_at`: number of head requests sent before the call.
    pub(super) fn new(goal: Goal, freshness: Freshness, asked_at: u64) -> Self {
        Self {
            goal,
            freshness,
            asked_at,
            first_failure: false,
            verdict: None,
            phase: Phase::Head { failure: None },
            waiting: BTreeSet::new(),
            time: None,
        }
    }

    /// Takes what one of its loads came to.
    pub(super) fn accept(&mut self, key: LoadKey, result: Result<Value, ReadError>, stock: &Stock) {
        self.waiting.remove(&key);
        match &mut self.phase {
            Phase::Head { failure } => *failure = result.err(),
            Phase::Seek { seek, .. } => seek.accept(key, result, stock),
            Phase::Collect { window, .. } => window.accept(key, result, stock),
        }
    }

    /// Goes on as far as possible.
    pub(super) fn step(&mut self, stock: &mut Stock, options: &ReaderOptions) -> Progress<Result<Answer, ReadError>> {
        loop {
            match self.advance(stock, options) {
                Ok(Progress::Ready(Some(answer))) => return Progress::Ready(Ok(answer)),
                Ok(Progress::Ready(None)) => {}
                Ok(Progress::Wait(wants)) => return Progress::Wait(wants),
                Err(error) => {
                    if let Some(error) = self.resist(error, stock) {
                        return Progress::Ready(Err(error));
                    }
                }
            }
        }
    }

    /// One state further: an answer, nothing yet but another state, or a wait.
    fn advance(&mut self, stock: &mut Stock, options: &ReaderOptions) -> Result<Progress<Option<Answer>>, ReadError> {
        match &mut self.phase {
            Phase::Head { failure: Some(error) } => Err(error.clone()),
            Phase::Head { failure: None } => match self.usable_head(stock) {
                Some(head) => self.enter(head).map(Progress::Ready),
                None => Ok(Progress::Wait(vec![Want::Head])),
            },
            Phase::Seek { head, seek } => match seek.step(head, stock)? {
                Progress::Wait(wants) => Ok(Progress::Wait(wants)),
                Progress::Ready(found) => Ok(Progress::Ready(self.found(found))),
            },
            Phase::Collect { head, window } => match window.step(head, stock, options)? {
                Progress::Wait(wants) => Ok(Progress::Wait(wants)),
                Progress::Ready(()) => {
                    let (records, next_lsn) = window.take();
                    let batch = Batch { records, next_lsn, head: head.clone() };
                    Ok(Progress::Ready(self.answer(batch)))
                }
            },
        }
    }

    fn usable_head(&self, stock: &Stock) -> Option<Arc<Head>> {
        let Snapshot { head, request, .. } = stock.snapshot.as_ref()?;
        let usable = match self.freshness {
            Freshness::Cached => true,
            Freshness::OnTail => *request > self.asked_at || !self.goal.lies_beyond(head),
            Freshness::Latest => *request > self.asked_at || mutant("a latest read is served from the cache"),
        };
        usable.then(|| head.clone())
    }

    /// Begins the work under a head, or ends it if the head alone is the answer.
    fn enter(&mut self, head: Arc<Head>) -> Result<Option<Answer>, ReadError> {
        let verdict = self.verdict.take();
        if let Some(requested) = self.goal.position().filter(|lsn| *lsn < head.oldest_lsn) {
            if mutant("what has expired is not yet written") {
                return Err(ReadError::NotYet { requested, next: head.next_lsn });
            }
            return Err(ReadError::Expired { requested, oldest: head.oldest_lsn, next: head.next_lsn });
        }
        if let Some(verdict) = verdict {
            return Err(verdict);
        }
        match self.goal {
            Goal::Head => return Ok(Some(Answer::Head(head))),
            Goal::Read { from, .. } if from >= head.next_lsn => return Ok(Some(empty(from, head))),
            Goal::Fetch { lsn } if lsn >= head.next_lsn => {
                return Err(ReadError::NotYet { requested: lsn, next: head.next_lsn });
            }
            Goal::Read { from, limit } => self.collect(head, from, limit),
            Goal::Fetch { lsn }
                if lsn.0.saturating_add(1) < head.next_lsn.0 && mutant("fetch returns the neighbour") =>
            {
                let next = Lsn(lsn.0.saturating_add(1));
                self.collect(head, next, ReadLimit::records(1));
            }
            Goal::Fetch { lsn } => self.collect(head, lsn, ReadLimit::records(1)),
            Goal::ReadTime { timestamp, .. } | Goal::FindTime { timestamp } => {
                self.phase = Phase::Seek { head, seek: Seek::new(timestamp) };
            }
        }
        Ok(None)
    }

    fn collect(&mut self, head: Arc<Head>, from: Lsn, limit: ReadLimit) {
        let window = Window::new(&head, from, limit, None);
        self.phase = Phase::Collect { head, window };
    }

    /// The search by timestamp is over; the same head serves the reading.
    fn found(&mut self, found: Option<Lsn>) -> Option<Answer> {
        let Goal::ReadTime { limit, .. } = self.goal else { return Some(Answer::Position(found)) };
        let Phase::Seek { head, seek } = std::mem::replace(&mut self.phase, Phase::Head { failure: None }) else {
            return None;
        };
        let Some(from) = found else { return Some(empty(head.next_lsn, head)) };
        let window = Window::new(&head, from, limit, seek.into_part());
        self.phase = Phase::Collect { head, window };
        None
    }

    fn answer(&self, mut batch: Batch) -> Option<Answer> {
        match self.goal {
            Goal::Fetch { .. } => batch.records.pop().map(|(_, record)| Answer::Record(record)),
            _ => Some(Answer::Batch(batch)),
        }
    }

    /// Decides about a failure: the first time a missing or corrupt object sends the call back to a new head, the
    /// second time only the question is left whether the position has expired (objlog protocols, section 8). Returns
    /// the failure if it is final.
    fn resist(&mut self, error: ReadError, stock: &Stock) -> Option<ReadError> {
        if let Some(verdict) = self.verdict.take() {
            return Some(verdict);
        }
        if !error.may_be_outdated() {
            return Some(error);
        }
        if self.first_failure {
            if matches!(self.phase, Phase::Head { .. }) {
                return Some(error);
            }
            self.verdict = Some(error);
        }
        self.first_failure = true;
        self.freshness = Freshness::Latest;
        self.asked_at = stock.head_requests;
        self.phase = Phase::Head { failure: None };
        None
    }

    /// Records that were delivered before the budget was spent.
    pub(super) fn partial(&mut self) -> Option<Answer> {
        let Phase::Collect { head, window } = &mut self.phase else { return None };
        if !window.has_records() {
            return None;
        }
        let (records, next_lsn) = window.take();
        let batch = Batch { records, next_lsn, head: head.clone() };
        self.answer(batch)
    }
}

fn empty(next_lsn: Lsn, head: Arc<Head>) -> Answer {
    Answer::Batch(Batch { records: Vec::new(), next_lsn, head })
}
