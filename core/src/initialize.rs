//! Creating a partition that begins at a chosen LSN, as a migration does.
use crate::backoff::Backoff;
use crate::boundary::{
    ByteRange, Command, Completion, Fault, Get, GetReply, Key, Machine, MonoTime, Now, Outstanding, RefusalKind, Swap,
    SwapCondition, SwapReply,
};
use crate::entropy::Entropy;
use crate::format::FormatError;
use crate::format::catalog::{CatalogLayout, Head};
use crate::format::keys::LogKeys;
use crate::ids::Lsn;
use crate::limits::MAX_HEAD_LEN;
use crate::mutant::mutant;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// Creates the head of a partition unless there is one (objlog protocol 2).
///
/// A partition need not be created: the first writer that opens it does, at LSN 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Initialize {
    keys: LogKeys,
    key: Key,
    bytes: Bytes,
    budget: Duration,
    entropy: Entropy,
    outstanding: Outstanding<Note>,
    step: Step,
    /// An attempt to create the head may have landed.
    unresolved: bool,
    /// The head is known to have been there.
    has_been_there: bool,
    failures: u32,
    since: Option<MonoTime>,
    event: Option<Result<Initialized, InitializeError>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Create { at: MonoTime },
    Read { at: MonoTime },
    Out,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Note {
    Create,
    Read,
}

/// The head that is now there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Initialized {
    /// Whether the head that was found is the very one that this call made or would have made.
    pub created: bool,
    /// The head.
    pub head: Arc<Head>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InitializeError {
    /// 2^64-1 is the end of a full partition, not a place to begin.
    #[error("a partition can't begin at LSN 2^64-1, which no record can have")]
    LsnExhausted,
    /// The head that is there is damaged or belongs to another stream.
    #[error("object {key} is damaged: {error}")]
    Corrupt {
        /// Key of the head.
        key: Arc<str>,
        /// The broken rule.
        error: FormatError,
    },
    /// The head was there during the call and was deleted.
    #[error("the head {key} is gone")]
    HeadGone {
        /// Key of the head.
        key: Arc<str>,
    },
    /// The store refused, or gave no usable answer within the budget; `maybe` tells whether the head may exist now.
    #[error("creating {key} failed after {attempts} attempts: {fault}")]
    Store {
        /// Key of the head.
        key: Arc<str>,
        /// Attempts made.
        attempts: u32,
        /// The last failure.
        fault: Fault,
        /// Whether the head may exist: it was seen to, or an attempt may have landed or may yet land.
        maybe: bool,
    },
}

impl Initialize {
    const PATIENCE: Duration = Duration::from_secs(30);

    /// Begins to create the partition at `next_lsn`; gives up when `budget` is spent.
    ///
    /// # Errors
    /// [`InitializeError::LsnExhausted`] for 2^64-1.
    pub fn new(
        keys: LogKeys,
        layout: CatalogLayout,
        next_lsn: Lsn,
        budget: Duration,
        entropy: [u8; 32],
    ) -> Result<Self, InitializeError> {
        if next_lsn == Lsn::EXHAUSTED {
            return Err(InitializeError::LsnExhausted);
        }
        Ok(Self {
            key: keys.head().into(),
            bytes: Head::initial(*keys.identity(), layout, next_lsn).encode(),
            keys,
            budget,
            entropy: Entropy::from_seed(entropy),
            outstanding: Outstanding::default(),
            step: Step::Create { at: MonoTime(0) },
            unresolved: false,
            has_been_there: false,
            failures: 0,
            since: None,
            event: None,
        })
    }

    fn created(&mut self, now: Now, result: Result<SwapReply, Fault>) {
        match result {
            Err(fault) if fault.refusal() == Some(&RefusalKind::Precondition) && mutant("a 412 is a head of ours") => {
                self.finish(self.check(&self.bytes));
            }
            // The head is there now, whoever made it.
            Ok(_) => self.is_there(now),
            Err(fault) if fault.refusal() == Some(&RefusalKind::Precondition) => self.is_there(now),
            Err(fault) => {
                let is_unknown = matches!(fault, Fault::Indeterminate(_));
                self.unresolved |= is_unknown && !mutant("an initialiser that gives up has no doubt");
                self.again(now, fault, |at| Step::Create { at });
            }
        }
    }

    fn is_there(&mut self, now: Now) {
        self.has_been_there = true;
        self.step = Step::Read { at: now.mono };
    }

    fn read(&mut self, now: Now, result: Result<GetReply, Fault>) {
        match result {
            Ok(GetReply::Found { body, total_size, .. }) if body.len() as u64 != total_size => {
                self.again(now, Fault::indeterminate("the body ended early"), |at| Step::Read { at });
            }
            Ok(GetReply::Found { body, .. }) => self.finish(self.check(&body)),
            Ok(GetReply::NotModified) => self.again(now, Fault::indeterminate("not modified"), |at| Step::Read { at }),
            Err(fault)
                if fault.refusal() == Some(&RefusalKind::NotFound)
                    && self.has_been_there
                    && !mutant("an initialiser creates a deleted head again") =>
            {
                self.finish(Err(InitializeError::HeadGone { key: self.key.as_str().into() }));
            }
            Err(fault) if fault.refusal() == Some(&RefusalKind::NotFound) => {
                self.again(now, fault, |at| Step::Create { at });
            }
            Err(fault) => self.again(now, fault, |at| Step::Read { at }),
        }
    }

    fn check(&self, body: &Bytes) -> Result<Initialized, InitializeError> {
        let corrupt = |error| InitializeError::Corrupt { key: self.key.as_str().into(), error };
        let head = Head::decode(body).map_err(corrupt)?;
        head.check_identity(self.keys.identity()).map_err(corrupt)?;
        let created = *body == self.bytes || mutant("every head that is found was created by this call");
        Ok(Initialized { created, head: Arc::new(head) })
    }

    fn again(&mut self, now: Now, fault: Fault, next: impl Fn(MonoTime) -> Step) {
        self.failures += 1;
        let spent = self.since.is_some_and(|since| now.mono.since(since) >= self.budget);
        if fault.is_final() || spent {
            let maybe = self.unresolved || self.has_been_there;
            let (key, attempts) = (self.key.as_str().into(), self.failures);
            return self.finish(Err(InitializeError::Store { key, attempts, fault, maybe }));
        }
        let delay = Backoff::default().delay(self.failures, &fault, &mut self.entropy);
        self.step = next(now.mono.after(delay));
    }

    fn finish(&mut self, result: Result<Initialized, InitializeError>) {
        self.step = Step::Done;
        self.event = Some(result);
    }
}

impl Machine for Initialize {
    type Event = Result<Initialized, InitializeError>;

    fn complete(&mut self, _now: Now, completion: Completion) {
        self.outstanding.record(completion);
    }

    fn poll_command(&mut self, now: Now) -> Option<Command> {
        self.since.get_or_insert(now.mono);
        self.outstanding.expire(now);
        while let Some((note, answer)) = self.outstanding.next_answer() {
            match note {
                Note::Create => self.created(now, answer.to::<Swap>()),
                Note::Read => self.read(now, answer.to::<Get>()),
            }
        }
        match self.step {
            Step::Create { at } if at <= now.mono => {
                self.step = Step::Out;
                let (key, body) = (self.key.clone(), self.bytes.clone());
                let swap = Swap { key, body, condition: SwapCondition::Absent };
                Some(Command::Swap(self.outstanding.issue(now, Self::PATIENCE, Note::Create, swap)))
            }
            Step::Read { at } if at <= now.mono => {
                self.step = Step::Out;
                let get = Get::new(self.key.clone(), ByteRange::All, MAX_HEAD_LEN as u64);
                Some(Command::Get(self.outstanding.issue(now, Self::PATIENCE, Note::Read, get)))
            }
            _ => self.outstanding.next_cancel(),
        }
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        self.event.take()
    }

    fn deadline(&self) -> Option<MonoTime> {
        if self.outstanding.has_news() {
            return Some(MonoTime(0));
        }
        match self.step {
            Step::Create { at } | Step::Read { at } => Some(at),
            Step::Out => self.outstanding.deadline(),
            Step::Done => None,
        }
    }
}
