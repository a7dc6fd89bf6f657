//! The reader: head, lookup, reads by LSN and by timestamp, straight from the bucket.
//!
//! A [`Reader`] serves any number of calls at once on one partition. Each call is a small state of its own that looks
//! at what is at hand (the head, caches of pages, indexes and blocks) and names what it lacks. What several calls lack
//! is loaded once. The reader only ever reads: it issues [`Command::Get`], [`Command::DecodeBlock`] and
//! [`Command::Cancel`], never a write and never a list.
//!
//! A missing or corrupt page or segment sends the call back to a new head once: if retention has passed the position it
//! is [`ReadError::Expired`], if the head now leads elsewhere the call goes on there, else the object is
//! [`ReadError::HeadGone`] or [`ReadError::Corrupt`].
mod answer;
mod call;
mod error;
mod loads;
mod lru;
mod metrics;
mod options;
mod part;
mod seek;
mod stock;
mod transfer;
mod walk;
mod window;
mod work;

pub use answer::{Answer, Batch, CallId, Freshness, ReadLimit, ReaderEvent};
pub use error::ReadError;
pub use options::ReaderOptions;

use crate::boundary::{Command, Completion, Fault, Machine, MonoTime, Now, Outstanding};
use crate::entropy::Entropy;
use crate::format::keys::LogKeys;
use crate::ids::{Lsn, TimestampMs};
use crate::pace::{Hedge, Window};
use bytes::Bytes;
use call::{Call, Goal, Progress};
use loads::{Load, LoadKey, Loads, Want};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stock::{OpenSegment, Stock, Value};
use work::Work;

/// Reads one partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reader {
    options: ReaderOptions,
    entropy: Entropy,
    stock: Stock,
    next_call: u64,
    calls: BTreeMap<CallId, Call>,
    /// Calls that may be able to go on.
    ready: BTreeSet<CallId>,
    /// When the budget of each call is spent.
    deadlines: BTreeSet<(MonoTime, CallId)>,
    loads: Loads,
    outstanding: Outstanding<Work>,
    /// Requests that may be in flight at once.
    window: Window,
    hedge: Hedge<LoadKey>,
    throttles: u64,
    events: VecDeque<ReaderEvent>,
}

impl Reader {
    /// A reader that knows nothing yet and sends nothing before it is asked. `entropy`: fresh random bytes, for the
    /// jitter of pauses.
    #[must_use]
    pub fn new(keys: LogKeys, options: ReaderOptions, entropy: [u8; 32]) -> Self {
        Self {
            stock: Stock::new(keys, &options),
            window: Window::new(u32::try_from(options.max_in_flight).unwrap_or(u32::MAX)),
            hedge: Hedge::new(options.hedge),
            throttles: 0,
            options,
            entropy: Entropy::from_seed(entropy),
            next_call: 0,
            calls: BTreeMap::new(),
            ready: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            loads: Loads::default(),
            outstanding: Outstanding::default(),
            events: VecDeque::new(),
        }
    }

    /// Asks for the head; answered by [`Answer::Head`]. A missing head reads as an empty partition that begins at LSN 0
    /// (objlog protocols, section 2). Under [`Freshness::OnTail`] the head is read anew, as under
    /// [`Freshness::Latest`].
    pub fn head(&mut self, freshness: Freshness) -> CallId {
        self.call(Goal::Head, freshness)
    }

    /// Reads records from `from` on, across blocks and segments, until `limit` or the end of the log; answered by
    /// [`Answer::Batch`], which is empty if `from` is the end of the log or beyond. A batch may end early before an
    /// object that can't be read: the next read, which begins there, fails.
    ///
    /// Fails with [`ReadError::Expired`] if `from` is below the oldest record, and as said at [`ReadError`].
    pub fn read(&mut self, from: Lsn, limit: ReadLimit, freshness: Freshness) -> CallId {
        self.call(Goal::Read { from, limit: limit.or_default() }, freshness)
    }

    /// Reads from the first record whose timestamp is `timestamp` or later; answered by [`Answer::Batch`]. A timestamp
    /// before the log's history begins with the oldest record; one after its end gives an empty batch at the end of the
    /// log. The head is read anew if no segment of the known one is as late as `timestamp`.
    pub fn read_from_timestamp(&mut self, timestamp: TimestampMs, limit: ReadLimit) -> CallId {
        self.call(Goal::ReadTime { timestamp, limit: limit.or_default() }, Freshness::OnTail)
    }

    /// Looks up the first record whose timestamp is `timestamp` or later; answered by [`Answer::Position`].
    pub fn find_timestamp(&mut self, timestamp: TimestampMs) -> CallId {
        self.call(Goal::FindTime { timestamp }, Freshness::OnTail)
    }

    /// Reads one record; answered by [`Answer::Record`]. The head is read anew if the known one ends at or below `lsn`.
    ///
    /// Fails with [`ReadError::Expired`] or [`ReadError::NotYet`] if `lsn` lies outside the log, and as said at
    /// [`ReadError`].
    pub fn fetch(&mut self, lsn: Lsn) -> CallId {
        self.call(Goal::Fetch { lsn }, Freshness::OnTail)
    }

    /// Gives a call up: it will not be answered, even if its answer waits to be polled. Loads that other calls wait for
    /// go on.
    pub fn cancel(&mut self, call: CallId) {
        self.end(call);
        self.events.retain(|event| !matches!(event, ReaderEvent::Done { call: done, .. } if *done == call));
    }

    /// Answers that came twice or too late, and were ignored.
    #[must_use]
    pub fn late_answers(&self) -> u64 {
        self.outstanding.late()
    }

    /// Requests that the store refused because there were too many.
    #[must_use]
    pub fn throttles(&self) -> u64 {
        self.throttles
    }

    /// Second requests for what took unusually long ([`ReaderOptions::hedge`]).
    #[must_use]
    pub fn hedges(&self) -> u64 {
        self.hedge.hedges()
    }

    /// Bytes held by the caches of pages, of indexes and small segments, and of decoded blocks.
    #[must_use]
    pub fn cached_bytes(&self) -> [usize; 3] {
        self.stock.used()
    }

    fn call(&mut self, goal: Goal, freshness: Freshness) -> CallId {
        let id = CallId(self.next_call);
        self.next_call += 1;
        self.calls.insert(id, Call::new(goal, freshness, self.stock.head_requests));
        self.ready.insert(id);
        id
    }

    /// Forgets a call and the loads that nobody else waits for.
    fn end(&mut self, id: CallId) -> Option<Call> {
        let call = self.calls.remove(&id)?;
        self.ready.remove(&id);
        if let Some((_, deadline)) = call.time {
            self.deadlines.remove(&(deadline, id));
        }
        self.leave(id, call.waiting.iter().copied());
        Some(call)
    }

    fn leave(&mut self, id: CallId, keys: impl Iterator<Item = LoadKey>) {
        let mut abandoned = false;
        for key in keys {
            abandoned |= self.loads.leave(key, id);
        }
        if abandoned {
            let loads = &self.loads;
            self.outstanding.forget(|work| !work.keys().iter().any(|key| loads.contains(*key)));
        }
    }

    /// Lets every call that may go on go on.
    fn settle(&mut self, now: MonoTime) {
        while let Some(id) = self.ready.pop_first() {
            let Some(call) = self.calls.get_mut(&id) else { continue };
            if call.time.is_none() {
                let deadline = now.after(self.options.budget);
                call.time = Some((now, deadline));
                self.deadlines.insert((deadline, id));
            }
            match call.step(&mut self.stock, &self.options) {
                Progress::Ready(result) => self.answer(id, result, now),
                Progress::Wait(wants) => self.wait(id, wants),
            }
        }
    }

    fn wait(&mut self, id: CallId, wants: Vec<Want>) {
        let wanted: BTreeSet<LoadKey> = wants.iter().map(Want::key).collect();
        let Some(call) = self.calls.get_mut(&id) else { return };
        let before = std::mem::replace(&mut call.waiting, wanted);
        for (place, want) in wants.into_iter().enumerate() {
            // A call goes on with the first; of the rest only pages are no records loaded ahead.
            let is_ahead = place > 0 && matches!(want, Want::Segment(_) | Want::Block(..));
            self.want(id, want, is_ahead);
        }
        let Some(call) = self.calls.get(&id) else { return };
        let left: Vec<LoadKey> = before.difference(&call.waiting).copied().collect();
        self.leave(id, left.into_iter());
    }

    fn want(&mut self, id: CallId, want: Want, is_ahead: bool) {
        let key = want.key();
        let stored = match &want {
            Want::Head | Want::Page(_) => Ok(None),
            Want::Segment(entry) => {
                transfer::check_entry(entry).map(|()| None).map_err(|error| self.stock.corrupt_segment(entry, error))
            }
            Want::Block(segment, index) => self.resident(segment, *index).transpose(),
        };
        match stored {
            Ok(stored) => self.loads.want(want, stored, id, is_ahead),
            Err(error) => self.hand_over(id, key, Err(error)),
        }
    }

    /// The stored bytes of a block whose segment is wholly in memory.
    fn resident(&self, segment: &OpenSegment, index: usize) -> Option<Result<Bytes, ReadError>> {
        let body = segment.body.as_ref()?;
        Some(transfer::stored_block(&self.stock, segment, index, body, 0))
    }

    fn hand_over(&mut self, id: CallId, key: LoadKey, result: Result<Value, ReadError>) {
        if let Some(call) = self.calls.get_mut(&id) {
            call.accept(key, result, &self.stock);
            self.ready.insert(id);
        }
    }

    fn answer(&mut self, id: CallId, result: Result<Answer, ReadError>, now: MonoTime) {
        if let Some(call) = self.end(id)
            && self.options.metrics
        {
            let metric = metrics::of_call(&call, &result, self.stock.keys.partition(), now);
            self.events.push_back(ReaderEvent::Metric(metric));
        }
        self.events.push_back(ReaderEvent::Done { call: id, result });
    }

    /// Answers the calls whose budget is spent.
    fn expire_calls(&mut self, now: MonoTime) {
        while let Some((deadline, id)) = self.deadlines.first().copied()
            && deadline <= now
        {
            self.deadlines.pop_first();
            let partial = self.calls.get_mut(&id).and_then(Call::partial);
            let result = partial.map_or_else(|| Err(self.out_of_reach(id)), Ok);
            self.answer(id, result, now);
        }
    }

    /// What a call is waiting for, as an error; a load that is known to have trouble says more than another.
    fn out_of_reach(&self, id: CallId) -> ReadError {
        let waiting = self.calls.get(&id).into_iter().flat_map(|call| &call.waiting);
        let loads: Vec<&Load> = waiting.filter_map(|key| self.loads.get(*key)).collect();
        let load = loads.iter().find(|load| load.fault.is_some()).or(loads.first());
        let fault = load.and_then(|load| load.fault.clone());
        ReadError::Unreachable {
            key: load.map_or_else(|| self.stock.head_key(), |load| load.want.object(&self.stock)),
            attempts: load.map_or(0, |load| load.attempts),
            fault: fault.unwrap_or_else(|| Fault::indeterminate("no answer within the budget of the call")),
        }
    }
}

impl Machine for Reader {
    type Event = ReaderEvent;

    fn complete(&mut self, _now: Now, completion: Completion) {
        self.outstanding.record(completion);
    }

    fn poll_command(&mut self, now: Now) -> Option<Command> {
        self.outstanding.expire(now);
        while let Some((work, answer)) = self.outstanding.next_answer() {
            self.absorb(&work, answer, now.mono);
        }
        self.settle(now.mono);
        self.expire_calls(now.mono);
        self.loads.wake(now.mono);
        self.outstanding.next_cancel().or_else(|| self.issue(now))
    }

    fn poll_event(&mut self) -> Option<ReaderEvent> {
        self.events.pop_front()
    }

    fn deadline(&self) -> Option<MonoTime> {
        let call = self.deadlines.first().map(|(deadline, _)| *deadline);
        [self.outstanding.deadline(), self.loads.deadline(), self.hedge.deadline(), call].into_iter().flatten().min()
    }
}
