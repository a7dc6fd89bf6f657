//! Things being loaded. However many calls wait for one thing, it is loaded once.
use super::CallId;
use super::stock::{OpenSegment, SegmentName, Stock};
use crate::boundary::{Fault, Key, MonoTime};
use crate::format::catalog::{PageRef, SegmentEntry};
use crate::ids::PageId;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Names one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum LoadKey {
    Head,
    Page(PageId),
    /// Trailer and block index of a segment, or all of a small one.
    Segment(SegmentName),
    Block(SegmentName, usize),
}

/// One thing with all that is needed to load it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Want {
    Head,
    Page(PageRef),
    Segment(SegmentEntry),
    Block(Arc<OpenSegment>, usize),
}

impl Want {
    pub(super) fn key(&self) -> LoadKey {
        match self {
            Self::Head => LoadKey::Head,
            Self::Page(reference) => LoadKey::Page(reference.page_id),
            Self::Segment(entry) => LoadKey::Segment(SegmentName::from(entry)),
            Self::Block(segment, index) => LoadKey::Block(SegmentName::from(&segment.entry), *index),
        }
    }

    /// The object that it comes from.
    pub(super) fn object(&self, stock: &Stock) -> Key {
        match self {
            Self::Head => stock.head_key(),
            Self::Page(reference) => stock.page_key(reference),
            Self::Segment(entry) => stock.segment_key(entry),
            Self::Block(segment, _) => stock.segment_key(&segment.entry),
        }
    }
}

/// How far a load is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// A request is to be sent.
    Queued,
    /// A request is in flight.
    Asked,
    /// After a fault the next request has to wait.
    Resting(MonoTime),
    /// A block's stored bytes are here, to be decoded.
    Stored(Bytes),
    /// They are being decoded.
    Decoding,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Load {
    pub(super) want: Want,
    stage: Stage,
    /// Nobody waits for it now: it is loaded ahead.
    is_ahead: bool,
    waiters: BTreeSet<CallId>,
    /// Requests sent.
    pub(super) attempts: u32,
    /// What became of the last request that failed.
    pub(super) fault: Option<Fault>,
    /// When the first request was sent.
    pub(super) since: Option<MonoTime>,
}

/// All loads of one reader.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Loads {
    by_key: BTreeMap<LoadKey, Load>,
    /// What is waited for now comes before what is loaded ahead.
    queued: BTreeSet<(bool, LoadKey)>,
    stored: BTreeSet<LoadKey>,
    resting: BTreeSet<(MonoTime, LoadKey)>,
}

impl Loads {
    /// Lets `call` wait for a thing, which is loaded from now on if it isn't already. `stored`: the bytes of a block,
    /// where they are at hand; `is_ahead`: the call can go on without.
    pub(super) fn want(&mut self, want: Want, stored: Option<Bytes>, call: CallId, is_ahead: bool) {
        let key = want.key();
        if let Some(load) = self.by_key.get_mut(&key) {
            load.waiters.insert(call);
            if load.is_ahead && !is_ahead {
                load.is_ahead = false;
                if self.queued.remove(&(true, key)) {
                    self.queued.insert((false, key));
                }
            }
            return;
        }
        let waiters = BTreeSet::from([call]);
        let load = Load { want, stage: Stage::Asked, is_ahead, waiters, attempts: 0, fault: None, since: None };
        self.by_key.insert(key, load);
        self.enter(key, stored.map_or(Stage::Queued, Stage::Stored));
    }

    /// Ends the waiting of `call`. Returns whether nobody waits any more, so that the load is dropped.
    pub(super) fn leave(&mut self, key: LoadKey, call: CallId) -> bool {
        let Some(load) = self.by_key.get_mut(&key) else { return false };
        load.waiters.remove(&call);
        let abandoned = load.waiters.is_empty();
        if abandoned {
            self.remove(key);
        }
        abandoned
    }

    /// Ends a load. Returns it and the calls that waited for it.
    pub(super) fn finish(&mut self, key: LoadKey) -> Option<(Load, BTreeSet<CallId>)> {
        let mut load = self.remove(key)?;
        let waiters = std::mem::take(&mut load.waiters);
        Some((load, waiters))
    }

    pub(super) fn get(&self, key: LoadKey) -> Option<&Load> {
        self.by_key.get(&key)
    }

    pub(super) fn contains(&self, key: LoadKey) -> bool {
        self.by_key.contains_key(&key)
    }

    /// Notes that a request for it goes out.
    pub(super) fn asked(&mut self, key: LoadKey, now: MonoTime) {
        self.enter(key, Stage::Asked);
        if let Some(load) = self.by_key.get_mut(&key) {
            load.attempts += 1;
            load.since.get_or_insert(now);
        }
    }

    /// The bytes of a block have come.
    pub(super) fn stored(&mut self, key: LoadKey, bytes: Bytes) {
        self.enter(key, Stage::Stored(bytes));
    }

    /// Takes the first block that can be decoded.
    pub(super) fn next_decodable(&mut self) -> Option<(Want, Bytes)> {
        let key = *self.stored.first()?;
        let want = self.by_key.get(&key)?.want.clone();
        match self.enter(key, Stage::Decoding)? {
            Stage::Stored(bytes) => Some((want, bytes)),
            _ => None,
        }
    }

    /// Notes a fault that another request may overcome, and when that may be sent.
    pub(super) fn set_back(&mut self, key: LoadKey, fault: &Fault, until: MonoTime) {
        let Some(load) = self.by_key.get_mut(&key) else { return };
        load.fault = Some(fault.clone());
        // A twin may have failed before, and was asked to wait longer.
        let until = if let Stage::Resting(longer) = load.stage { until.max(longer) } else { until };
        self.enter(key, Stage::Resting(until));
    }

    /// Wakes the loads that have rested long enough.
    pub(super) fn wake(&mut self, now: MonoTime) {
        while let Some((until, key)) = self.resting.first().copied()
            && until <= now
        {
            self.enter(key, Stage::Queued);
        }
    }

    /// The first thing to be requested; nothing that is loaded ahead unless `may_look_ahead`.
    pub(super) fn next_queued(&self, may_look_ahead: bool) -> Option<&Want> {
        let (_, key) = self.queued.first().filter(|(is_ahead, _)| may_look_ahead || !is_ahead)?;
        self.by_key.get(key).map(|load| &load.want)
    }

    /// Whether nobody waits for it now.
    pub(super) fn is_ahead(&self, key: LoadKey) -> bool {
        self.by_key.get(&key).is_some_and(|load| load.is_ahead)
    }

    /// The queued blocks that follow `first` without a gap and end within `bytes`.
    pub(super) fn queued_run(&self, segment: &OpenSegment, first: usize, bytes: u64) -> Range<usize> {
        let name = SegmentName::from(&segment.entry);
        let mut end = first + 1;
        let start = segment.index.block_range(first).map_or(0, |range| range.start);
        while let Some(range) = segment.index.block_range(end)
            && range.end.saturating_sub(start) <= bytes
            && self.is_queued(LoadKey::Block(name, end))
        {
            end += 1;
        }
        first..end
    }

    fn is_queued(&self, key: LoadKey) -> bool {
        self.by_key.get(&key).is_some_and(|load| load.stage == Stage::Queued)
    }

    /// When the next rest ends.
    pub(super) fn deadline(&self) -> Option<MonoTime> {
        self.resting.first().map(|(until, _)| *until)
    }

    /// Moves a load to another stage. Returns the stage it left.
    fn enter(&mut self, key: LoadKey, stage: Stage) -> Option<Stage> {
        let load = self.by_key.get_mut(&key)?;
        match &stage {
            Stage::Queued => drop(self.queued.insert((load.is_ahead, key))),
            Stage::Stored(_) => drop(self.stored.insert(key)),
            Stage::Resting(until) => drop(self.resting.insert((*until, key))),
            Stage::Asked | Stage::Decoding => {}
        }
        let (left, is_ahead) = (std::mem::replace(&mut load.stage, stage), load.is_ahead);
        self.unlist(key, &left, is_ahead);
        Some(left)
    }

    fn unlist(&mut self, key: LoadKey, stage: &Stage, is_ahead: bool) {
        match stage {
            Stage::Queued => drop(self.queued.remove(&(is_ahead, key))),
            Stage::Stored(_) => drop(self.stored.remove(&key)),
            Stage::Resting(until) => drop(self.resting.remove(&(*until, key))),
            Stage::Asked | Stage::Decoding => {}
        }
    }

    fn remove(&mut self, key: LoadKey) -> Option<Load> {
        let load = self.by_key.remove(&key)?;
        self.unlist(key, &load.stage, load.is_ahead);
        Some(load)
    }
}
