//! A store with one flaw, to show what the conformance suite catches.
use bucketlog_blocking::store::{Memory, Store};
use bucketlog_core::boundary::{
    ByteRange, Create, CreateReply, Delete, Fault, Get, GetReply, Key, List, ListReply, RefusalKind, Stat, StatReply,
    Swap, SwapCondition, SwapReply, Version,
};
use bytes::Bytes;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    CreateTruncates,
    CreateDropsLaterPieces,
    CreateOverwrites,
    CreateChecksThenActs,
    CreateForgetsEmptyObjects,
    SwapAbsentOverwrites,
    SwapNeverMatches,
    SwapIgnoresVersion,
    SwapRevives,
    SwapKeepsVersion,
    SwapIsTorn,
    DeleteOfMissingFails,
    DeleteDoesNothing,
    KeysFoldCase,
    MissingIsEmpty,
    RangeIsInclusive,
    RangePastTheEndIsEmpty,
    MaxLenIsIgnored,
    IfMatchIsIgnored,
    IfNoneMatchIsIgnored,
    StatIsStale,
    ListDescends,
    ListPrefixIsDirectory,
    ListAfterIsInclusive,
    ListHasNoMore,
    ListHasNoSizes,
}

/// Each flaw with a check that must catch it.
pub(crate) const FLAWS: &[(Flaw, &str)] = &[
    (Flaw::CreateTruncates, "create-is-read-back"),
    (Flaw::CreateDropsLaterPieces, "create-concatenates-pieces"),
    (Flaw::CreateOverwrites, "create-twice-is-refused"),
    (Flaw::CreateChecksThenActs, "racing-creates-have-one-winner"),
    (Flaw::CreateForgetsEmptyObjects, "zero-length-objects"),
    (Flaw::SwapAbsentOverwrites, "swap-absent"),
    (Flaw::SwapNeverMatches, "swap-matches"),
    (Flaw::SwapIgnoresVersion, "swap-with-stale-version-is-refused"),
    (Flaw::SwapIgnoresVersion, "racing-swaps-lose-no-update"),
    (Flaw::SwapIgnoresVersion, "swap-races-have-one-winner"),
    (Flaw::SwapRevives, "swap-of-missing-is-refused"),
    (Flaw::SwapKeepsVersion, "swap-changes-version"),
    (Flaw::SwapIsTorn, "reads-are-never-torn"),
    (Flaw::DeleteOfMissingFails, "delete-is-idempotent"),
    (Flaw::DeleteDoesNothing, "delete-frees-the-key"),
    (Flaw::KeysFoldCase, "odd-keys"),
    (Flaw::MissingIsEmpty, "missing-object-is-not-found"),
    (Flaw::RangeIsInclusive, "ranges"),
    (Flaw::RangePastTheEndIsEmpty, "range-past-the-end-is-invalid"),
    (Flaw::MaxLenIsIgnored, "max-len"),
    (Flaw::IfMatchIsIgnored, "if-match"),
    (Flaw::IfNoneMatchIsIgnored, "if-none-match"),
    (Flaw::StatIsStale, "stat"),
    (Flaw::ListDescends, "list-is-ascending"),
    (Flaw::ListPrefixIsDirectory, "list-prefix-is-text"),
    (Flaw::ListAfterIsInclusive, "list-after"),
    (Flaw::ListHasNoMore, "list-pages"),
    (Flaw::ListHasNoSizes, "list-tells-sizes"),
];

#[derive(Debug)]
pub(crate) struct Flawed {
    memory: Memory,
    flaw: Flaw,
    /// Makes the outcome of a race certain: its first requests meet here.
    meeting: Barrier,
    met: AtomicUsize,
    /// Size of a half-written object that nobody has read yet, else 0.
    half: AtomicU64,
}

const RACERS: usize = 16;

impl Flawed {
    pub(crate) fn new(flaw: Flaw) -> Self {
        let (met, half) = (AtomicUsize::new(0), AtomicU64::new(0));
        Self { memory: Memory::new(), flaw, meeting: Barrier::new(RACERS), met, half }
    }

    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == flaw
    }

    fn meet(&self) {
        if self.met.fetch_add(1, SeqCst) < RACERS {
            self.meeting.wait();
        }
    }

    fn exists(&self, key: &Key, until: Instant) -> bool {
        self.memory.stat(&Stat { key: key.clone() }, until).is_ok()
    }

    fn replace(&self, key: &Key, body: &Bytes, until: Instant) -> Result<SwapReply, Fault> {
        loop {
            let condition = match self.memory.stat(&Stat { key: key.clone() }, until) {
                Ok(reply) => SwapCondition::Matches(reply.meta.version.unwrap()),
                Err(_) => SwapCondition::Absent,
            };
            let swap = Swap { key: key.clone(), body: body.clone(), condition };
            match self.memory.swap(&swap, until) {
                Err(fault) if fault.refusal() == Some(&RefusalKind::Precondition) => {}
                other => return other,
            }
        }
    }

    /// The first half of the new state is visible until somebody has read it.
    fn tear(&self, swap: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        let half = swap.body.slice(..swap.body.len() / 2);
        self.half.store(half.len() as u64, SeqCst);
        let torn = self.memory.swap(&Swap { body: half, ..swap.clone() }, until)?;
        while self.half.load(SeqCst) != 0 && Instant::now() < until {
            thread::yield_now();
        }
        let condition = SwapCondition::Matches(torn.version.unwrap());
        self.memory.swap(&Swap { condition, ..swap.clone() }, until)
    }
}

fn is_for(key: &Key, check: &str) -> bool {
    key.as_str().contains(check)
}

fn same_version() -> Version {
    Version::from("the same")
}

impl Store for Flawed {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        let mut request = request.clone();
        match (self.flaw, request.range) {
            (Flaw::KeysFoldCase, _) => request.key = Key::from(request.key.as_str().to_lowercase()),
            (Flaw::RangeIsInclusive, ByteRange::FromTo(from, to)) => request.range = ByteRange::FromTo(from, to + 1),
            (Flaw::MaxLenIsIgnored, _) => request.max_len = u64::MAX,
            (Flaw::IfMatchIsIgnored, _) => request.if_match = None,
            (Flaw::IfNoneMatchIsIgnored, _) => request.if_none_match = None,
            _ => {}
        }
        let mut reply = self.memory.get(&request, until);
        if let Ok(GetReply::Found { total_size, .. }) = &reply {
            let _ = self.half.compare_exchange(*total_size, 0, SeqCst, SeqCst);
        }
        if self.is(Flaw::SwapIgnoresVersion) && is_for(&request.key, "racing-swaps") {
            self.meet();
        }
        let empty = || Ok(GetReply::Found { body: Bytes::new(), version: None, total_size: 10 });
        match (self.flaw, &mut reply) {
            (Flaw::MissingIsEmpty, Err(fault)) if fault.refusal() == Some(&RefusalKind::NotFound) => empty(),
            (Flaw::RangePastTheEndIsEmpty, Err(fault)) if fault.refusal() == Some(&RefusalKind::Invalid) => empty(),
            (Flaw::SwapKeepsVersion, Ok(GetReply::Found { version, .. })) => {
                *version = Some(same_version());
                reply
            }
            _ => reply,
        }
    }

    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        let mut reply = self.memory.stat(request, until)?;
        if self.is(Flaw::StatIsStale) {
            reply.meta.size = 5;
        }
        Ok(reply)
    }

    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        let mut request = request.clone();
        match (self.flaw, &request.after) {
            (Flaw::ListPrefixIsDirectory, _) if !request.prefix.as_str().ends_with('/') => {
                request.prefix = Key::from(format!("{}/", request.prefix));
            }
            (Flaw::ListAfterIsInclusive, Some(after)) if self.exists(after, until) => {
                // The greatest key below.
                let below = after.as_str().strip_suffix(char::is_alphanumeric).unwrap();
                request.after = Some(Key::from(below.to_owned()));
            }
            _ => {}
        }
        let mut reply = self.memory.list(&request, until)?;
        match self.flaw {
            Flaw::ListDescends => reply.objects.reverse(),
            Flaw::ListHasNoMore => reply.more = false,
            Flaw::ListHasNoSizes => reply.objects.iter_mut().for_each(|row| row.size = 0),
            _ => {}
        }
        Ok(reply)
    }

    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        match self.flaw {
            Flaw::DeleteDoesNothing => Ok(()),
            Flaw::DeleteOfMissingFails => {
                self.memory.stat(&Stat { key: request.key.clone() }, until)?;
                self.memory.delete(request, until)
            }
            _ => self.memory.delete(request, until),
        }
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        let mut request = request.clone();
        let whole = Bytes::from(request.body.concat());
        match self.flaw {
            Flaw::KeysFoldCase => request.key = Key::from(request.key.as_str().to_lowercase()),
            Flaw::CreateTruncates => request.body = vec![whole.slice(..whole.len().min(65_536))],
            Flaw::CreateDropsLaterPieces => request.body.truncate(1),
            Flaw::CreateForgetsEmptyObjects if whole.is_empty() => return Ok(CreateReply { version: None }),
            Flaw::CreateOverwrites => {
                return Ok(CreateReply { version: self.replace(&request.key, &whole, until)?.version });
            }
            Flaw::CreateChecksThenActs if !self.exists(&request.key, until) => {
                if is_for(&request.key, "racing-creates") {
                    self.meet();
                }
                return Ok(CreateReply { version: self.replace(&request.key, &whole, until)?.version });
            }
            _ => {}
        }
        self.memory.create(&request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        let replace = || self.replace(&request.key, &request.body, until);
        match (self.flaw, &request.condition) {
            (Flaw::SwapAbsentOverwrites, SwapCondition::Absent) => replace(),
            (Flaw::SwapNeverMatches, SwapCondition::Matches(_)) => {
                Err(Fault::refused(RefusalKind::Precondition, "never"))
            }
            (Flaw::SwapIgnoresVersion, SwapCondition::Matches(_)) if self.exists(&request.key, until) => replace(),
            (Flaw::SwapRevives, SwapCondition::Matches(_)) if !self.exists(&request.key, until) => replace(),
            (Flaw::SwapKeepsVersion, _) => replace().map(|_| SwapReply { version: Some(same_version()) }),
            (Flaw::SwapIsTorn, SwapCondition::Matches(_))
                if is_for(&request.key, "torn") && self.met.fetch_add(1, SeqCst) == 0 =>
            {
                self.tear(request, until)
            }
            _ => self.memory.swap(request, until),
        }
    }
}
