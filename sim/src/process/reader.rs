//! A program that follows the log through the shipped reader, and holds it to its word.
use super::{Context, Excuses, lookup};
use crate::action::Call;
use crate::check::log::Log;
use crate::check::{Violation, ensure};
use crate::news::News;
use crate::value::Value;
use bucketlog_core::boundary::{Command, Machine, MonoTime};
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::ids::{Generation, Lsn, TimestampMs};
use bucketlog_core::reader::{
    Answer, Batch, CallId, Freshness, ReadError, ReadLimit, Reader, ReaderEvent, ReaderOptions,
};

/// Calls that a reader has to answer at the same time, at most.
pub(crate) const MAX_CALLS: usize = 2;
/// Of a reader that has seen no head.
const NOTHING: (Generation, Lsn) = (Generation(0), Lsn(0));
/// Records per call: few, so that reads end within blocks and segments.
const RECORDS: u32 = 5;

/// A reader and what its user knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ReaderProcess {
    pub(crate) machine: Reader,
    calls: Vec<Asked>,
    asked: usize,
    /// Where to read on.
    cursor: Lsn,
    /// Chained hash of everything below the cursor, unless something was skipped.
    hash: Option<u64>,
    /// Generation and end of the newest head seen.
    newest: (Generation, Lsn),
}

/// What a call asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Goal {
    Read(Lsn, Freshness),
    Fetch(Lsn),
    FindTime(TimestampMs),
    ReadTime(TimestampMs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Asked {
    call: CallId,
    number: usize,
    goal: Goal,
    /// End of the log when the call was made.
    tail: Lsn,
    /// Newest head that the reader had shown when the call was made.
    newest: (Generation, Lsn),
    /// There was no head when the call was made.
    is_headless: bool,
    at: MonoTime,
}

impl ReaderProcess {
    pub(crate) fn new(keys: LogKeys, options: ReaderOptions, site: u8) -> Self {
        Self {
            machine: Reader::new(keys, options, [site + 1; 32]),
            calls: Vec::new(),
            asked: 0,
            cursor: Lsn(0),
            hash: Some(0),
            newest: NOTHING,
        }
    }

    pub(super) fn offers(&self, offer: &mut dyn FnMut(Call)) {
        if self.calls.len() < MAX_CALLS {
            let reads = [Call::Read, Call::Latest, Call::Cached];
            reads.into_iter().chain([Call::Fetch, Call::FindTime, Call::ReadTime]).for_each(offer);
        }
    }

    pub(super) fn call(&mut self, call: Call, context: &mut Context<'_>) {
        let goal = match call {
            Call::Read => Goal::Read(self.cursor, Freshness::OnTail),
            Call::Latest => Goal::Read(self.cursor, Freshness::Latest),
            Call::Cached => Goal::Read(self.cursor, Freshness::Cached),
            Call::Fetch => Goal::Fetch(self.somewhere(context.log)),
            Call::FindTime => Goal::FindTime(self.some_time(context)),
            Call::ReadTime => Goal::ReadTime(self.some_time(context)),
            _ => return,
        };
        let (limit, tail) = (ReadLimit::records(RECORDS), context.log.next_lsn());
        let call = match goal {
            Goal::Read(from, freshness) => self.machine.read(from, limit, freshness),
            Goal::Fetch(lsn) => self.machine.fetch(lsn),
            Goal::FindTime(time) => self.machine.find_timestamp(time),
            Goal::ReadTime(time) => self.machine.read_from_timestamp(time, limit),
        };
        let (is_headless, at) = (context.log.head().is_none(), context.now.mono);
        let (number, newest) = (self.asked, self.newest);
        self.calls.push(Asked { call, number, goal, tail, newest, is_headless, at });
        self.asked += 1;
        context.news.push(News::Asked { site: context.site });
    }

    /// A position in the log or just outside of it, another one for every call.
    fn somewhere(&self, log: &Log) -> Lsn {
        let mixed = (self.asked as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
        Lsn(mixed % (log.next_lsn().0 + 2))
    }

    /// The time of a record, or one next to it.
    fn some_time(&self, context: &Context<'_>) -> TimestampMs {
        let time = context.log.time(self.somewhere(context.log)).unwrap_or(context.now.wall);
        TimestampMs(time.0 + [-1, 0, 1][self.asked % 3])
    }

    pub(super) fn sent(command: &Command) -> Result<(), Violation> {
        ensure(matches!(command, Command::Get(_)), "a reader only reads", || format!("{command:?}"))
    }

    pub(super) fn digest(&mut self, context: &mut Context<'_>) -> Result<(), Violation> {
        while let Some(event) = self.machine.poll_event() {
            let ReaderEvent::Done { call, result } = event else { continue };
            let position = self.calls.iter().position(|asked| asked.call == call);
            let asked = position.map(|position| self.calls.remove(position));
            let asked = asked.ok_or_else(|| Violation::new("a call is answered once", format!("{call:?}")))?;
            match (asked.goal, result) {
                (Goal::Read(from, freshness), Ok(Answer::Batch(batch))) => {
                    self.read(asked, (from, freshness), &batch, context)?;
                }
                (Goal::ReadTime(time), Ok(Answer::Batch(batch))) => {
                    self.check_head(asked, &batch, context)?;
                    lookup::check_batch(time, asked.tail, &batch, context)?;
                }
                (Goal::Fetch(lsn), Ok(Answer::Record(record))) => lookup::check_record(lsn, &record, context)?,
                (Goal::FindTime(time), Ok(Answer::Position(found))) => {
                    lookup::check_position(time, asked.tail, found, context)?;
                }
                (_, Ok(other)) => {
                    return Err(Violation::new("an answer is of the kind of its call", format!("{other:?}")));
                }
                (_, Err(error)) => self.failed(asked, &error, context)?,
            }
        }
        Ok(())
    }

    fn check_head(&mut self, asked: Asked, batch: &Batch, context: &Context<'_>) -> Result<(), Violation> {
        let (tail, generation) = (batch.head.next_lsn, batch.head.generation);
        ensure((generation, tail) >= asked.newest, "heads of a reader never go back", || generation)?;
        self.newest = self.newest.max((generation, tail));
        let last = tail.0.checked_sub(1).filter(|_| !context.excuses.estranged);
        let last = last.and_then(|last| context.log.record(Lsn(last)));
        ensure(last.is_none_or(Value::ends_batch), "a batch is seen whole", || tail)
    }

    fn read(
        &mut self,
        asked: Asked,
        (from, freshness): (Lsn, Freshness),
        batch: &Batch,
        context: &mut Context<'_>,
    ) -> Result<(), Violation> {
        self.check_head(asked, batch, context)?;
        let tail = batch.head.next_lsn;
        let end = Lsn(from.0 + batch.records.len() as u64);
        ensure(batch.next_lsn == end, "a batch says where it ends", || batch.next_lsn)?;
        ensure(end > from || from >= tail, "a read of what is there gives something", || from)?;
        ensure(end <= tail || end == from, "a read never passes the head", || end)?;
        if !context.excuses.estranged {
            ensure(tail <= context.log.next_lsn(), "a reader sees only what is committed", || tail)?;
            let is_fresh = freshness != Freshness::Latest || tail >= asked.tail;
            let is_true = is_fresh || context.log.was_tampered_with();
            ensure(is_true, "a latest read sees all that was committed before it", || tail)?;
        }
        let is_gone = asked.is_headless && context.log.head().is_none() && asked.newest > NOTHING;
        let is_told = freshness != Freshness::Latest || !is_gone;
        ensure(is_told, "a reader that knows a head says that it is gone", || tail)?;
        let mut hash = self.hash.filter(|_| from == self.cursor);
        for (expected, (lsn, record)) in (from.0..).map(Lsn).zip(&batch.records) {
            let value = Value::decode(&record.value);
            let is_true = *lsn == expected && (context.excuses.estranged || value == context.log.record(*lsn));
            ensure(value.is_some() && is_true, "a reader sees the log's records, in order", || {
                format!("{value:?} at {lsn}")
            })?;
            hash = hash.and_then(|hash| value.map(|value| value.chain(hash)));
        }
        if from == self.cursor {
            (self.cursor, self.hash) = (end, hash);
        }
        context.news.push(News::Read {
            site: context.site,
            call: asked.number,
            from,
            next_lsn: end,
            tail,
            hash: hash.filter(|_| end == tail),
            is_latest: freshness == Freshness::Latest,
        });
        Ok(())
    }

    fn failed(&mut self, asked: Asked, error: &ReadError, context: &mut Context<'_>) -> Result<(), Violation> {
        context.news.push(News::ReadFailed { site: context.site, error: error.to_string() });
        let is_true = match error {
            ReadError::NotYet { requested, next } => {
                context.news.push(News::Rule("fetch of what is not yet written"));
                // The head was read after the call.
                let is_new = (asked.tail..=context.log.next_lsn()).contains(next);
                let is_fetch = asked.goal == Goal::Fetch(*requested);
                is_fetch && next <= requested && (is_new || context.log.was_tampered_with())
            }
            ReadError::Expired { requested, oldest, .. } => {
                match asked.goal {
                    Goal::Read(..) => (self.cursor, self.hash) = (self.cursor.max(*oldest), None),
                    _ => context.news.push(News::Rule("fetch of what has expired")),
                }
                // A head that was put back may begin earlier than the one that the reader saw.
                let has_begun_there = context.log.head().is_some_and(|head| *oldest <= head.oldest_lsn);
                requested < oldest && (has_begun_there || context.log.was_tampered_with())
            }
            ReadError::HeadGone { .. } => {
                context.news.push(News::Rule("a reader is told that the head is gone"));
                context.log.was_deleted()
            }
            ReadError::Unreachable { .. } => {
                context.news.push(News::Rule("a read ran out of time"));
                context.now.mono.since(asked.at) >= context.setup.reader().budget
            }
            ReadError::Corrupt { .. } => context.excuses.damage,
            ReadError::RolledBack { .. } => context.log.was_tampered_with(),
            _ => false,
        };
        ensure(is_true, "a read fails for a reason", || error)
    }

    pub(super) fn check_rest(&self, _excuses: Excuses) -> Result<(), Violation> {
        ensure(self.calls.is_empty(), "every call is answered", || format!("{:?}", self.calls))
    }
}
