//! A program that follows the log through the shipped reader, and holds it to its word.
use super::{Context, Excuses};
use crate::action::Call;
use crate::check::{Violation, ensure};
use crate::news::News;
use crate::value::Value;
use bucketlog_core::boundary::{Command, Machine, MonoTime};
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::ids::{Generation, Lsn};
use bucketlog_core::reader::{
    Answer, Batch, CallId, Freshness, ReadError, ReadLimit, Reader, ReaderEvent, ReaderOptions,
};

/// Calls that a reader has to answer at the same time, at most.
const MAX_CALLS: usize = 2;
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Asked {
    call: CallId,
    number: usize,
    from: Lsn,
    freshness: Freshness,
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
            newest: (Generation(0), Lsn(0)),
        }
    }

    pub(super) fn offers(&self, _appends: u8, offer: &mut dyn FnMut(Call)) {
        if self.calls.len() < MAX_CALLS {
            [Call::Read, Call::Latest, Call::Cached].into_iter().for_each(offer);
        }
    }

    pub(super) fn call(&mut self, call: Call, context: &mut Context<'_>) {
        let freshness = match call {
            Call::Read => Freshness::OnTail,
            Call::Latest => Freshness::Latest,
            Call::Cached => Freshness::Cached,
            _ => return,
        };
        let (from, tail) = (self.cursor, context.log.next_lsn());
        let call = self.machine.read(from, ReadLimit::records(RECORDS), freshness);
        let (is_headless, at) = (context.log.head().is_none(), context.now.mono);
        let (number, newest) = (self.asked, self.newest);
        self.calls.push(Asked { call, number, from, freshness, tail, newest, is_headless, at });
        self.asked += 1;
        context.news.push(News::Asked { site: context.site });
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
            match result {
                Ok(Answer::Batch(batch)) => self.read(asked, &batch, context)?,
                Ok(other) => return Err(Violation::new("a read is answered by records", format!("{other:?}"))),
                Err(error) => self.failed(asked, &error, context)?,
            }
        }
        Ok(())
    }

    fn read(&mut self, asked: Asked, batch: &Batch, context: &mut Context<'_>) -> Result<(), Violation> {
        let (tail, generation, from) = (batch.head.next_lsn, batch.head.generation, asked.from);
        ensure((generation, tail) >= asked.newest, "heads of a reader never go back", || generation)?;
        self.newest = self.newest.max((generation, tail));
        let end = Lsn(from.0 + batch.records.len() as u64);
        ensure(batch.next_lsn == end, "a batch says where it ends", || batch.next_lsn)?;
        ensure(end > from || from >= tail, "a read of what is there gives something", || from)?;
        ensure(end <= tail || end == from, "a read never passes the head", || end)?;
        if !context.excuses.estranged {
            ensure(tail <= context.log.next_lsn(), "a reader sees only what is committed", || tail)?;
            let is_fresh = asked.freshness != Freshness::Latest || tail >= asked.tail;
            let is_true = is_fresh || context.log.was_tampered_with();
            ensure(is_true, "a latest read sees all that was committed before it", || tail)?;
        }
        let is_gone = asked.is_headless && context.log.head().is_none() && asked.newest.0 > Generation(0);
        let is_told = asked.freshness != Freshness::Latest || !is_gone;
        ensure(is_told, "a reader that knows a head says that it is gone", || generation)?;
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
            is_latest: asked.freshness == Freshness::Latest,
        });
        Ok(())
    }

    fn failed(&mut self, asked: Asked, error: &ReadError, context: &mut Context<'_>) -> Result<(), Violation> {
        context.news.push(News::ReadFailed { site: context.site, error: error.to_string() });
        let is_true = match error {
            ReadError::Expired { oldest, .. } => {
                (self.cursor, self.hash) = (self.cursor.max(*oldest), None);
                // A head that was put back may begin earlier than the one that the reader saw.
                let has_begun_there = context.log.head().is_some_and(|head| *oldest <= head.oldest_lsn);
                asked.from < *oldest && (has_begun_there || context.log.was_tampered_with())
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
