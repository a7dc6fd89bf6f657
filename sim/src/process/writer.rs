//! A program that appends through the shipped writer, and holds it to its word.
use super::{Context, Excuses, has_failed_enough};
use crate::action::{Call, Kind};
use crate::check::{Violation, ensure};
use crate::news::News;
use crate::value::Value;
use bucketlog_core::boundary::{Command, Machine, MonoTime, SwapCondition};
use bucketlog_core::format::catalog::Head;
use bucketlog_core::format::keys::LogKeys;
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Epoch, Lsn};
use bucketlog_core::writer::{
    AppendReason, Fate, HaltCause, Halted, Status, Watermarks, Writer, WriterEvent, WriterOptions,
};
use bytes::Bytes;
use std::collections::VecDeque;
use std::time::Duration;

/// A writer and what its user knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WriterProcess {
    pub(crate) machine: Writer,
    /// Records accepted and not reported as durable, and when they were accepted; the first lies at `acked`.
    pending: VecDeque<(Value, MonoTime)>,
    acked: Lsn,
    asked: u32,
    last_swap: Option<(Bytes, SwapCondition)>,
    last_swap_at: MonoTime,
    /// Records that the user had cut, or that were cut since.
    cut: Lsn,
    /// What the last answer was for.
    answered: Option<Kind>,
    /// It began to take over from itself.
    is_renewing: bool,
    epoch: Epoch,
    /// Changes of the head before the writer began.
    moves_before: u32,
}

impl WriterProcess {
    pub(crate) fn open(keys: LogKeys, options: WriterOptions, site: u8, moves_before: u32) -> Result<Self, Violation> {
        let machine = Writer::open(keys, options, [site + 1; 32]);
        Ok(Self {
            machine: machine.map_err(|error| Violation::new("the writer's options are valid", error))?,
            pending: VecDeque::new(),
            acked: Lsn(0),
            asked: 0,
            last_swap: None,
            last_swap_at: MonoTime(0),
            cut: Lsn(0),
            answered: None,
            is_renewing: false,
            epoch: Epoch(0),
            moves_before,
        })
    }

    pub(super) fn offers(&self, appends: u8, offer: &mut dyn FnMut(Call)) {
        match self.machine.status() {
            Status::Open { .. } => {
                if self.asked < u32::from(appends) {
                    offer(Call::Append);
                    offer(Call::Batch);
                }
                let marks = self.machine.watermarks();
                if marks.accepted > marks.cut {
                    offer(Call::Cut);
                    offer(Call::Want);
                }
                offer(Call::Close);
                offer(Call::Abort);
            }
            Status::Opening | Status::Closing => offer(Call::Abort),
            _ => {}
        }
    }

    pub(super) fn call(&mut self, call: Call, context: &mut Context<'_>) -> Result<(), Violation> {
        let now = context.now;
        match call {
            Call::Append => return self.append(1, context),
            Call::Batch => return self.append(2 + u8::from(self.asked % 4 == 1), context),
            Call::Cut => self.machine.cut(now),
            Call::Want => self.machine.want_durable(self.machine.watermarks().accepted),
            Call::Close => {
                self.machine.close(now);
            }
            Call::Abort => self.machine.abort(),
            _ => {}
        }
        Ok(())
    }

    fn append(&mut self, count: u8, context: &mut Context<'_>) -> Result<(), Violation> {
        let value = |i| {
            let value = Value::new(context.site, self.asked + u32::from(i));
            if count > 1 { value.in_batch(i, count) } else { value }
        };
        let values: Vec<Value> = (0..count).map(value).collect();
        self.asked += u32::from(count);
        let record = |value: &Value| Record::new(context.now.wall, Bytes::copy_from_slice(&value.encode()));
        let accepted = if let [value] = values[..] {
            self.machine.append(context.now, record(&value)).map_err(|error| error.reason)
        } else {
            let batch = self.machine.append_batch(context.now, values.iter().map(record).collect());
            batch.map(|range| range.start).map_err(|error| error.reason)
        };
        match accepted {
            Ok(first) => {
                let expected = Lsn(self.acked.0 + self.pending.len() as u64);
                ensure(first == expected, "LSNs are given out densely", || format!("{first} for {expected}"))?;
                for (lsn, value) in (first.0..).map(Lsn).zip(values) {
                    self.pending.push_back((value, context.now.mono));
                    context.news.push(News::Accepted { site: context.site, lsn, value });
                }
            }
            Err(AppendReason::Full | AppendReason::TimestampOrder { .. }) => {
                context.news.push(News::Declined { site: context.site });
            }
            Err(AppendReason::TooLarge { max_records, .. }) if u32::from(count) > max_records => {
                context.news.push(News::Rule("batch too large"));
                context.news.push(News::Declined { site: context.site });
            }
            Err(reason) => return Err(Violation::new("an open writer takes valid records", reason)),
        }
        Ok(())
    }

    /// Watches the swaps for rows of the rule book.
    pub(super) fn sent(&mut self, command: &Command, context: &mut Context<'_>) -> Result<(), Violation> {
        ensure(
            !matches!(command, Command::Stat(_) | Command::List(_) | Command::ListUploads(_) | Command::Delete(_)),
            "a writer neither lists nor deletes",
            || format!("{command:?}"),
        )?;
        let Command::Swap(op) = command else { return Ok(()) };
        let (body, condition) = (op.request().body.clone(), op.request().condition.clone());
        let is_opening = *self.machine.status() == Status::Opening;
        let interval = context.setup.writer().commit_interval;
        if !is_opening && !interval.is_zero() {
            let waited = context.now.mono.since(self.last_swap_at);
            ensure(waited >= interval, "commits keep their distance", || format!("{waited:?}"))?;
            context.news.push(News::Rule("commit paced"));
        }
        self.last_swap_at = context.now.mono;
        let rule = match &self.last_swap {
            Some((last, on)) if *last == body && *on == condition && is_opening => "claim repeated",
            Some(_) if is_opening => "claim rebuilt",
            Some((last, on)) if *last == body && *on == condition && self.is_renewing => "self-takeover repeated",
            Some((last, on)) if *last == body && *on == condition => "repeat",
            Some((last, _)) if *last == body => "rebase",
            Some((_, on)) if *on == condition => {
                self.is_renewing = true;
                "self-takeover begun"
            }
            _ => "first attempt",
        };
        context.news.push(News::Rule(rule));
        self.last_swap = Some((body, condition));
        Ok(())
    }

    pub(super) fn answered(&mut self, kind: Kind) {
        self.answered = Some(kind);
    }

    pub(super) fn digest(&mut self, context: &mut Context<'_>) -> Result<(), Violation> {
        let mut has_committed = false;
        while let Some(event) = self.machine.poll_event() {
            match event {
                WriterEvent::Opened { epoch, next_lsn, .. } => self.opened(epoch, next_lsn, context)?,
                WriterEvent::EpochRenewed { epoch } => self.renewed(epoch, context)?,
                WriterEvent::Committed { next_lsn } => {
                    has_committed = true;
                    self.committed(next_lsn, context)?;
                }
                WriterEvent::Closed { next_lsn } => {
                    let is_all = self.pending.is_empty() && next_lsn == self.acked;
                    ensure(is_all, "a closed writer has committed everything", || next_lsn)?;
                    context.news.push(News::Closed { site: context.site });
                }
                WriterEvent::Halted(halted) => self.halted(&halted, has_committed, context)?,
                _ => {}
            }
        }
        self.answered = None;
        self.check_age(context)?;
        let Watermarks { accepted, cut, uploaded, committed } = self.machine.watermarks();
        ensure(accepted >= cut && cut >= uploaded && uploaded >= committed, "watermarks are in order", || {
            format!("{accepted} {cut} {uploaded} {committed}")
        })
    }

    /// Where batches age, an old one is cut as soon as nothing is before it.
    fn check_age(&mut self, context: &mut Context<'_>) -> Result<(), Violation> {
        let Some(max_age) = context.setup.writer().batch.max_age else { return Ok(()) };
        let marks = self.machine.watermarks();
        let record = |lsn: Lsn| self.pending.get(usize::try_from(lsn.0.checked_sub(self.acked.0)?).ok()?);
        let age = |lsn| record(lsn).map_or(Duration::ZERO, |(_, at)| context.now.mono.since(*at));
        if marks.cut > self.cut && age(self.cut) >= max_age {
            context.news.push(News::Rule("cut by age"));
        }
        let is_open = matches!(self.machine.status(), Status::Open { .. });
        let waits = is_open && marks.cut == marks.committed && age(marks.cut) >= max_age;
        self.cut = marks.cut;
        ensure(!waits, "an old batch is cut", || marks.cut)
    }

    fn is_by_read(&self) -> bool {
        self.answered == Some(Kind::Get)
    }

    fn opened(&mut self, epoch: Epoch, next_lsn: Lsn, context: &mut Context<'_>) -> Result<(), Violation> {
        context.news.push(News::Rule(if self.is_by_read() { "claim found by read" } else { "claim won" }));
        context.news.push(News::Opened { site: context.site, epoch, next_lsn });
        if context.setup.proves_store() {
            let last = self.last_swap.as_ref().map(|(_, condition)| condition);
            ensure(last == Some(&SwapCondition::Absent), "who proves the store asks it to refuse a create", || epoch)?;
            context.news.push(News::Rule("store proved"));
        }
        ensure(self.epoch == Epoch(0), "a writer opens once", || epoch)?;
        (self.acked, self.epoch) = (next_lsn, epoch);
        self.check_epoch(context, Some(next_lsn))
    }

    fn renewed(&mut self, epoch: Epoch, context: &mut Context<'_>) -> Result<(), Violation> {
        let rule = if self.is_by_read() { "self-takeover found by read" } else { "self-takeover won" };
        context.news.push(News::Rule(rule));
        context.news.push(News::Renewed { site: context.site, epoch });
        ensure(epoch > self.epoch, "epochs of a writer grow", || epoch)?;
        (self.epoch, self.is_renewing) = (epoch, false);
        self.check_epoch(context, None)
    }

    fn check_epoch(&self, context: &Context<'_>, next_lsn: Option<Lsn>) -> Result<(), Violation> {
        if context.excuses.estranged {
            return Ok(());
        }
        let claim = context.log.claim(self.epoch);
        let is_mine = claim.is_some_and(|claim| {
            claim.writer == self.machine.writer_id() && next_lsn.is_none_or(|next| next == claim.next_lsn)
        });
        ensure(is_mine, "who says that an epoch is open owns it", || format!("epoch {}: {claim:?}", self.epoch))
    }

    fn committed(&mut self, next_lsn: Lsn, context: &mut Context<'_>) -> Result<(), Violation> {
        if self.is_by_read() {
            let rule = if self.is_renewing { "committed by read in a self-takeover" } else { "committed by read" };
            context.news.push(News::Rule(rule));
        }
        self.is_renewing = false;
        context.news.push(News::Committed { site: context.site, next_lsn });
        self.check_whole(next_lsn)?;
        ensure(next_lsn > self.acked, "durability moves forward", || next_lsn)?;
        while self.acked < next_lsn {
            let value = self.pending.pop_front().map(|(value, _)| value);
            let found = context.log.record(self.acked);
            let is_there = value.is_some() && (context.excuses.estranged || value == found);
            ensure(is_there, "what is acknowledged is in the log", || {
                format!("{value:?} was acknowledged at {}, where {found:?} is", self.acked)
            })?;
            self.acked.0 += 1;
        }
        Ok(())
    }

    fn halted(&mut self, halted: &Halted, committed: bool, context: &mut Context<'_>) -> Result<(), Violation> {
        let Halted { cause, proven, maybe, accepted } = halted;
        let (proven, maybe, accepted) = (*proven, *maybe, *accepted);
        context.news.push(News::Halted { site: context.site, cause: cause.clone(), proven, maybe, accepted });
        self.check_cause(cause, context)?;
        ensure(proven == self.acked, "all that is proven was reported", || proven)?;
        let is_gone = matches!(cause, HaltCause::HeadGone { .. });
        ensure(maybe == proven || context.excuses.doubt || is_gone, "no doubt without a cause", || halted)?;
        ensure(
            !is_gone || maybe >= self.proposed_end(),
            "what is proposed to a head that is gone is in doubt",
            || halted,
        )?;
        ensure(proven <= maybe && maybe <= accepted, "the bounds of a halt are in order", || halted)?;
        let end = Lsn(self.acked.0 + self.pending.len() as u64);
        ensure(accepted == end, "a halt accounts for every record", || halted)?;
        if let Some(rule) = rule_of(halted, committed, context.excuses) {
            context.news.push(News::Rule(rule));
        }
        self.check_whole(maybe)?;
        for (lsn, (value, _)) in (self.acked.0..).map(Lsn).zip(self.pending.drain(..)) {
            match halted.fate(lsn) {
                Fate::NotCommitted => context.log.never(value)?,
                Fate::Committed => return Err(Violation::new("all that is proven was reported", lsn)),
                Fate::Indeterminate => {}
            }
        }
        Ok(())
    }

    /// What is said below a position is said of whole batches.
    fn check_whole(&self, end: Lsn) -> Result<(), Violation> {
        let count = usize::try_from(end.0.saturating_sub(self.acked.0)).unwrap_or(usize::MAX);
        let last = count.checked_sub(1).and_then(|last| self.pending.get(last));
        ensure(last.is_none_or(|(value, _)| value.ends_batch()), "a batch has one fate", || end)
    }

    /// End of what the last swap proposed, whatever became of it.
    fn proposed_end(&self) -> Lsn {
        let head = self.last_swap.as_ref().filter(|_| self.epoch > Epoch(0)).map(|(body, _)| Head::decode(body));
        head.and_then(Result::ok).map_or(Lsn(0), |head| head.next_lsn)
    }

    /// Nobody stops without a reason.
    fn check_cause(&self, cause: &HaltCause, context: &Context<'_>) -> Result<(), Violation> {
        let excuses = context.excuses;
        let is_true = match cause {
            HaltCause::Superseded { epoch, .. } if *epoch <= self.epoch => false,
            HaltCause::Superseded { epoch, writer } | HaltCause::Contended { epoch, writer, .. } => {
                // A late claim of its own may have put its name into the place of a head that was deleted.
                let is_late = matches!(cause, HaltCause::Contended { .. }) && context.log.was_deleted();
                let is_rival = *writer != self.machine.writer_id() || is_late;
                // A head that an initialiser made has no owner.
                let owns = *epoch == Epoch(0) || context.log.claim(*epoch).is_some_and(|claim| claim.writer == *writer);
                is_rival && (owns || context.log.was_tampered_with()) && self.has_lost_enough(cause, context)
            }
            HaltCause::Unreachable { attempts, .. } => has_failed_enough(*attempts, excuses.hardship.since, context),
            HaltCause::Aborted => true,
            HaltCause::RetentionPassed { oldest } => {
                context.log.head().is_some_and(|head| head.oldest_lsn >= *oldest && *oldest > self.acked)
            }
            HaltCause::Corrupt { .. } | HaltCause::KeyCollision { .. } => excuses.damage,
            HaltCause::HeadGone { .. } | HaltCause::HeadRolledBack { .. } | HaltCause::ForeignCommit { .. } => {
                context.log.was_tampered_with()
            }
            _ => false,
        };
        ensure(is_true, "nobody halts without a reason", || cause)
    }

    /// Every race that a claim loses is won by somebody, who changes the head.
    fn has_lost_enough(&self, cause: &HaltCause, context: &Context<'_>) -> bool {
        let HaltCause::Contended { attempts, .. } = cause else { return true };
        let allowed = context.setup.writer().claim_attempts;
        *attempts >= allowed && context.log.moves() - self.moves_before >= *attempts
    }

    pub(super) fn check_rest(&self, excuses: Excuses) -> Result<(), Violation> {
        let rests = match self.machine.status() {
            Status::Open { .. } => self.pending.is_empty() || excuses.estranged,
            Status::Closed | Status::Halted(_) => true,
            _ => false,
        };
        ensure(rests, "at rest everything accepted is committed", || {
            format!("{:?} with {} records", self.machine.status(), self.pending.len())
        })?;
        ensure(self.pending.is_empty() || excuses.estranged, "every record meets its fate", || self.acked)
    }

    /// Asks the writer to bring everything to an end.
    pub(crate) fn flush(&mut self, context: &Context<'_>) {
        self.machine.flush(context.now);
    }
}

/// The row of the rule book behind a halt.
fn rule_of(halted: &Halted, has_committed: bool, excuses: Excuses) -> Option<&'static str> {
    Some(match halted.cause {
        HaltCause::Superseded { .. } if has_committed => "committed, then superseded",
        HaltCause::Superseded { .. } if excuses.doubt && halted.accepted > halted.proven => "lost after a doubt",
        HaltCause::Superseded { .. } => "superseded without a doubt",
        HaltCause::RetentionPassed { .. } => "retention passed",
        HaltCause::HeadRolledBack { .. } => "older head refused",
        HaltCause::HeadGone { .. } if halted.maybe > halted.proven => "head gone, commit in doubt",
        HaltCause::HeadGone { .. } => "head gone",
        HaltCause::Unreachable { .. } if halted.maybe > halted.proven => "budget spent, commit in doubt",
        HaltCause::Unreachable { .. } => "budget spent",
        HaltCause::Contended { .. } => "races lost",
        HaltCause::Aborted if halted.maybe > halted.proven => "aborted in doubt",
        _ => return None,
    })
}
